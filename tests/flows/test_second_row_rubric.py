"""A second row rubric in a folder of its own goes every way that chat rows go, with no line of it in the product."""

import csv
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from tests.builders.chat_rows import DAY, plain, write_rows
from tests.builders.site import page
from tests.builders.toy_row_rubric import toy_row_rubric
from tests.flows.conftest import Command, done

WARM = "네, 안녕하세요. 문의해 주셔서 감사합니다. 요청하신 내용을 자세히 안내해 드리겠습니다. 천천히 읽어 주세요."
NEXT_DAY = DAY + timedelta(days=1)
SETTINGS = """
[monitoring]
rubric = "toy-chat"
source = "rows"
"""


@pytest.fixture
def toy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy rubric as the one that scores chat rows, and two days of rows."""
    (folder / "aqb.toml").write_text(SETTINGS, encoding="utf-8")
    for day in range(2):
        minutes = [day * 24 * 60 + minute for minute in range(4)]
        rows = [
            plain(minutes[0], llm_response=WARM),
            plain(minutes[1], llm_response="몰라요", tenant_id="t2"),
            plain(minutes[2], llm_response="네, 알겠습니다. 준비할게요.", session_id="s2"),
            plain(minutes[3], llm_response=None, output_tokens=0.0),
        ]
        write_rows(folder / "rows" / f"{day}.jsonl", rows)
    with toy_row_rubric(folder / "rubrics", monkeypatch):
        yield


@pytest.mark.usefixtures("toy")
def test_second_row_rubric_scores_files_into_tables_summary_and_report(aqb: Command) -> None:
    out = done(aqb, "score", "rows", "--out", "out", "--also", "xlsx")
    assert "toy-chat 7" in out
    scores = pl.read_parquet("out/scores.parquet")
    assert scores["joy"].to_list() == [100.0, 0.0, 55.0] * 2
    assert scores["delight"].to_list() == ["BEST", "SAD", "FINE"] * 2
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert summary["distributions"]["delight"] == {"BEST": 2, "FINE": 2, "SAD": 2}
    assert set(summary["set"]) == {"politeness", "depth", "joy"}
    report = Path("out/report.md").read_text(encoding="utf-8")
    for text in (
        "# 장난감 상담",
        "## 말투 등급 × 내용 등급",
        "| 말투 \\ 내용 | 많 자세함 | 적 짧음 |",
        "| 온 따뜻함 | 2 | 2 |",
        "아주 좋음",
        "모른다고 함",
        "무뚝뚝한 답변",
        "답변이 없음",
    ):
        assert text in report
    assert "답변이 없음: 2건" in report
    assert "(숫자만 다른 질문, 낱말 하나뿐인 질문)" in report
    assert "Critical" not in report
    book = openpyxl.load_workbook("out/scores.xlsx")
    crossed = [row[:3] for row in book["등급표"].values][:3]
    assert crossed == [("말투 등급 × 내용 등급", "많 자세함", "적 짧음"), ("온 따뜻함", 2, 2), ("냉 차가움", 0, 2)]
    left_out = [("시각", "테넌트", "까닭"), ("2026-02-13 12:03:00", "t1", "답변이 없음")]
    assert [*book["제외한 행"].values][:2] == left_out
    titles, *rows = book["행"].values
    assert {row[titles.index("만족 등급")] for row in rows} == {"♥ 아주 좋음", "♡ 괜찮음", "✕ 아쉬움"}


@pytest.mark.usefixtures("toy")
def test_second_row_rubric_is_run_by_night_drawn_alerted_and_explained(aqb: Command) -> None:
    for day in (DAY, NEXT_DAY):
        done(aqb, "nightly", "--date", str(day))
    done(aqb, "report")
    day_page, first_page = page(Path("data/reports/monitoring"), f"{NEXT_DAY}.html"), page(Path("data/reports"))
    for text in (
        "말투 등급 × 내용 등급",
        "따뜻한 답변 비율",
        "모른다고 함",
        "무뚝뚝한 답변",
        "말투 0(냉 차가움) · 내용 0(적 짧음)",
        "인사말",
    ):
        assert text in day_page.text
    assert "말투 냉 차가움 · 내용 적 짧음" in first_page.text
    done(aqb, "report", "--week", str(DAY))
    (week,) = Path("data/reports").glob("*-week-*.md")
    assert "괄호의 비율" not in week.read_text(
        encoding="utf-8"
    )  # no rate of this rubric should stay low: there are none
    assert {"trend-warm_rate", "trend-mean_joy", "shares-delight", "bars-manner"} <= set(
        first_page.charts | day_page.charts
    )
    assert day_page.all("span", **{"class": "grade missed"})
    messages = done(aqb, "alerts", "--date", str(DAY), "--dry-run")
    assert "무뚝뚝한 답변" in messages
    assert "무뚝뚝한 답변" in done(aqb, "alerts", "--preview", "7d")
    (row_id,) = pl.read_parquet(f"data/warehouse/monitoring_scores/{DAY}.parquet").filter(pl.col("mishap") == "shrug")[
        "row_id"
    ]
    explained = done(aqb, "rows", row_id)
    words = ("말투 0점(냉 차가움)", "모른다고 함 (shrug)", "무뚝뚝한 답변 (curt)", "인사말 0점")
    for text in ("만족 0.0점 = 등급 ✕ (아쉬움 · 다시 읽기)", *words):
        assert text in explained
    period = ("--from", str(DAY), "--to", str(NEXT_DAY))
    done(aqb, "golden", *period, "--out", "golden.csv")
    with Path("golden.csv").open(encoding="utf-8-sig", newline="") as file:
        golden = list(csv.DictReader(file))
    assert [(row["joy"], row["llm_response"], row["same_template"]) for row in golden] == [("100.0", WARM, "2")]
    assert golden[0]["template"] == golden[0]["user_input"] == plain()["user_input"]
    Path("labels.csv").write_text(f"row_id,metric,label\n{row_id},delight,SAD\n", encoding="utf-8")
    agreed = done(aqb, "agreement", "labels.csv")
    assert "만족 등급" in agreed
    assert "| 사람 \\ 점수 | SAD |\n|---|---|\n| SAD | 1 |" in agreed
    assert aqb("thresholds", *period).exit_code == 2


@pytest.mark.usefixtures("toy")
def test_second_row_rubric_is_printed_as_sql(aqb: Command) -> None:
    query = done(aqb, "sql", "--source", "project.dataset.view")
    assert "AS politeness" in query
    assert "'toy-chat' AS rubric" in query
    assert "q_score" not in query
