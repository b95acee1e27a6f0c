"""The page of the judge: what judged and when, whether it is still the same, and what was found out about it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

from scoring.alerting.judge_messages import ModelEnd
from scoring.catalog import rubric_title
from scoring.judging.anchors import Anchor
from scoring.judging.audit import AuditPart, AuditRate
from scoring.judging.requests import VerdictStatus
from scoring.stats.agreement import Pair, agreements
from scoring.testruns.two_judges import MetricShift
from tasks.judge.verdict_store import Judgement
from tasks.judge_quality.anchor_table import write_anchors
from tasks.judge_quality.audit import Audit, write_audit
from tasks.judge_quality.switch import Switch, write_switch
from tasks.reports.site.build import build_pages
from tasks.testruns.trusted_metrics import Measured, write_agreements
from tasks.testruns.warehouse import DAY_JUDGEMENTS_SCHEMA, JUDGEMENTS, judgement_frame
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import RUBRIC, refused
from tests.builders.site import SAMPLE_RUNS, Page, build, page, pages, write_day, write_run

DAY = date(2026, 3, 2)
EVIL = "judge-1<script>alert(1)</script>"
TITLE = rubric_title("aqb-1.2")
ANCHOR = Anchor("", "aqb-1.2", "1", "semantic", {"query": "010-1234-5678 지원자는?"}, {"score": 5}, "judge-1", "e1")
ANCHORS = [replace(ANCHOR, key=f"{number:03d}") for number in range(100)]
JUDGED = Judgement("", "semantic", "aqb-1.2", "1", "2", "judge-1", "0" * 64, VerdictStatus.OK, usd=0.0005)


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    """A run that nobody has judged."""
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    return warehouse


def write_judgements(warehouse: FolderWarehouse, day: date, model: str, epoch: str, count: int) -> None:
    judged = [replace(JUDGED, key=str(number), model_answered=model, epoch=epoch) for number in range(count)]
    of_run = {"score_date": pl.lit(day), "input_name": pl.lit("a.csv"), "input_sha256": pl.lit(epoch)}
    warehouse.replace_day(JUDGEMENTS, day, DAY_JUDGEMENTS_SCHEMA, [judgement_frame(judged).with_columns(**of_run)])


def write_nights(warehouse: FolderWarehouse, agreed: Sequence[int], model: str = "judge-1", epoch: str = "e1") -> None:
    for place, count in enumerate(agreed):
        answers = [
            replace(JUDGED, key=one.key, model_answered=model, epoch=epoch, answer={"score": 5 if n < count else 0})
            for n, one in enumerate(ANCHORS)
        ]
        write_anchors(warehouse, DAY + timedelta(place), ANCHORS, answers)


def judge_page(warehouse: FolderWarehouse, folder: Path, end: ModelEnd | None = None) -> Page:
    build_pages(warehouse, RUBRIC, folder, "Asia/Seoul", judge_end=end)
    return page(folder, "judge.html")


def test_menu_is_the_same_on_every_page_whether_somebody_judges_or_not(
    warehouse: FolderWarehouse, tmp_path: Path
) -> None:
    write_day(warehouse, DAY, [refused()])
    build(warehouse, tmp_path / "site")
    assert "판정 모델에 물은 것이 없습니다" in page(tmp_path / "site", "judge.html").text
    write_judgements(warehouse, DAY, EVIL, "e1", 3)
    build(warehouse, tmp_path / "site")
    menus = {tuple(text for text, _ in one.links[2:7]) for one in pages(tmp_path / "site").values()}
    assert menus == {("현황", "날짜별", "알림", "테스트 런", "판정 모델")}
    assert "판정 모델에 물은 것이 없습니다" not in page(tmp_path / "site", "judge.html").text


def test_judge_page_tells_two_epochs_apart(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    write_judgements(warehouse, DAY, EVIL, "e1", 3)
    write_judgements(warehouse, DAY + timedelta(1), "judge-2", "e2", 5)
    shown = judge_page(warehouse, tmp_path / "site")
    assert f"{EVIL} 답변의 질 {TITLE} 2026-03-02 2026-03-02 3 e1" in shown.text
    assert f"judge-2 답변의 질 {TITLE} 2026-03-03 2026-03-03 5 e2" in shown.text
    assert "<script>alert" not in shown.source
    assert "앵커를 물은 적이 없습니다" in shown.text


def test_judge_page_shows_the_night_in_which_the_judge_changed(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    write_nights(warehouse, [95] * 10 + [78])
    shown = judge_page(warehouse, tmp_path / "site", ModelEnd("judge-1", date(2026, 4, 20)))
    anchors = shown.charts["anchors"]
    assert [point["value"] for point in anchors["points"]] == [0.95] * 10 + [0.78]
    assert [change["day"] for change in anchors["changes"]] == ["2026-03-12"]
    assert "판정 모델: 바뀐 것으로 보임" in shown.text
    assert "78개(78.0%)에 저장된 판정과 같은 답을 했습니다" in shown.text
    assert "[전화번호] 지원자는?" in shown.text
    assert "010-1234-5678" not in shown.source
    assert "judge-1의 종료일은 2026-04-20입니다" in shown.text
    assert "최근 11일에 쓴 비용입니다. 앵커: 0.5500 USD" in shown.text


def test_judge_page_shows_people_audit_and_switch(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    pairs = [Pair("semantic", None, number, number % 5 + 0.0, number % 5 + 0.0) for number in range(50)]
    (found,) = agreements(pairs)
    measured = [Measured("1", (found,), {"semantic": epoch}) for epoch in ("e1", "e2")]
    write_agreements(warehouse, DAY, "aqb-1.2", measured, 0.6)
    rates = [
        AuditRate(AuditPart.INJECTION, "begging", "점수 구걸", fenced, 20, hits)
        for fenced, hits in ((True, 1), (False, 2))
    ]
    write_audit(warehouse, DAY, Audit("judge-1", ("judge-1",), ("e1",), tuple(rates), 40, 0, 0.1, None))
    shift = MetricShift("aqb-1.2", "semantic", "의도 충족", 2.0, 2.0, found)
    write_switch(warehouse, DAY, Switch("judge-1", "judge-2", 50, (shift,), (), {}, ("e1", "e2"), None))
    shown = judge_page(warehouse, tmp_path / "site")
    for epoch in ("e1", "e2"):
        assert f"의도 충족 {TITLE} 2026-03-02 50 100.0% 1.00 (1.00~1.00) 신뢰 ● {epoch}" in shown.text
    assert "주입: 점수 구걸 5% (1/20, 1~24%) 10% (2/20, 3~30%)" in shown.text
    assert "아무것도 증명하지 못합니다" in shown.text
    assert "의도 충족 (aqb-1.2) 50 2.00 2.00 0.00" in shown.text
    assert "최근 1일에 쓴 비용입니다. 점검: 0.1000 USD, 모델 비교: 가격이나 사용량을 몰라 계산하지 못함" in shown.text
