"""`aqb compare`, `aqb thresholds`, `aqb agreement` and `aqb review`, as people and builds call them."""

import html
import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import openpyxl
import pytest

from tasks.config.settings import load_settings, settings_of_service
from tasks.context import Context
from tasks.review.review_tab import SHEET
from tasks.warehouse import open_warehouse, table_rows
from tasks.warehouse.tables import SCORES
from tests.builders import chat_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.flows.conftest import Command, Finished

INJECTION = "<script>alert(1)</script></title><img src=x onerror=alert(1)>"


@pytest.fixture
def runs(folder: Path) -> Path:
    """Forty queries: of the ten that passed in `base` all fail in `candidate`; Q39 is only in `base`."""
    base = [plan_row(f"Q{place}", question=INJECTION) for place in range(40)]
    candidate = [plan_row(f"Q{place}", passes=place >= 10, question=INJECTION) for place in range(39)]
    scored_folder(folder / "base", base)
    scored_folder(folder / "candidate", candidate)
    return folder


def test_comparison_without_a_condition_succeeds(runs: Path, aqb: Command) -> None:
    finished = aqb("compare", "base", "candidate")
    assert finished.exit_code == 0
    assert "| 정확성 | 5.00 | 3.72 | −1.28 |" in finished.out
    assert "나빠진 질의 (10개)" in finished.out
    (missing,) = [line for line in finished.out.splitlines() if "기준에만 있어 비교하지 않은 질의 1개: " in line]
    assert "Q39" not in missing, "people know questions by their text"


def test_two_runs_without_a_common_query_say_so_first(folder: Path, aqb: Command) -> None:
    scored_folder(folder / "base", [plan_row("Q1", question="공고를 올려줘")])
    scored_folder(folder / "other", [plan_row("Q2", question="면접을 잡아줘")])
    title, said = aqb("compare", "base", "other").out.split("\n\n")[:2]
    assert title.startswith("# 테스트 비교: ")
    assert said.splitlines()[0] == "두 실행에 함께 있는 질의가 없어 비교하지 못했습니다."
    assert "후보에만 있어 비교하지 않은 질의 1개: 면접을 잡아줘" in aqb("compare", "base", "other").out


@pytest.mark.parametrize(
    ("condition", "exit_code"),
    [("accuracy < -0.1", 1), ("accuracy.high < -0.1", 1), ("accuracy < -2", 0), ("consistency < 0", 1)],
)
def test_condition_that_holds_fails_the_build(runs: Path, aqb: Command, condition: str, exit_code: int) -> None:
    finished = aqb("compare", "base", "candidate", "--fail-if", "accuracy < -4.9", "--fail-if", condition)
    assert finished.exit_code == exit_code
    assert (f"failed: {condition}: " in finished.err) is bool(exit_code)


def test_json_has_every_changed_query(runs: Path, aqb: Command) -> None:
    document = json.loads(aqb("compare", "base", "candidate", "--json").out)
    assert len(document["worse"]) == 10
    assert document["metrics"]["accuracy"]["n"] == 39
    assert document["metrics"]["accuracy"]["finding"] == "worse"
    assert document["metrics"]["consistency"]["difference"] is None


def test_comparison_says_why_a_query_is_worse_and_shows_both_answers(runs: Path, aqb: Command) -> None:
    aqb("compare", "base", "candidate", "--out", "c.html")
    page, told = (runs / "c.html").read_text(encoding="utf-8"), aqb("compare", "base", "candidate").out
    reason = '1/1 체크 1개 중 통과한 것이 없어 0점: 답변에 "평가기간" 언급이 없음'
    assert f"의도 충족·정확성(후보): {reason}" in told
    assert reason in html.unescape(page)
    first = page[page.index('<article class="change card">') : page.index("</article>")]
    base, candidate = first[first.index('class="sides"') :].split("<h4>후보</h4>")
    assert "평가기간을 바꿀 수 있어요." in base
    assert "무엇을 도와드릴까요?" in candidate


def test_every_output_of_a_comparison_begins_with_one_verdict(runs: Path, aqb: Command) -> None:
    for ending in ("md", "html", "json"):
        aqb("compare", "base", "candidate", "--out", f"c.{ending}")
    sentences = json.loads((runs / "c.json").read_text(encoding="utf-8"))["headline"]
    assert sentences[0] == "짝지은 질의 39개 가운데 답변이 나빠진 질의 10개, 좋아진 질의 0개입니다."
    assert sentences[1] == "나빠진 지표는 의도 충족 −1.28, 정확성 −1.28, 안정성 −1.28입니다."
    assert len(sentences) == 3
    for text in ((runs / "c.md").read_text(encoding="utf-8"), aqb("compare", "base", "candidate").out):
        assert all(sentence in text.replace("\\", "") for sentence in sentences[:2])
    page = (runs / "c.html").read_text(encoding="utf-8")
    assert [html.unescape(said) for said in re.findall(r'<p class="lead">([^<]*)</p>', page)] == sentences


def test_comparison_without_the_workbooks_does_without_answers(runs: Path, aqb: Command) -> None:
    (runs / "base" / "scores.xlsx").unlink()
    assert aqb("compare", "base", "candidate", "--out", "c.html").exit_code == 0
    assert "답변 나란히 보기" not in (runs / "c.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["md", "html", "json"])
def test_ending_of_the_file_says_its_format(runs: Path, aqb: Command, ending: str) -> None:
    assert aqb("compare", "base", "candidate", "--out", f"c.{ending}").exit_code == 0
    text = (runs / f"c.{ending}").read_text(encoding="utf-8")
    assert text.startswith({"md": "# 테스트 비교", "html": "<!doctype html>", "json": "{"}[ending])


def test_what_people_asked_stays_text_in_the_page(runs: Path, aqb: Command) -> None:
    aqb("compare", "base", "candidate", "--out", "c.html")
    page = (runs / "c.html").read_text(encoding="utf-8")
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("</title>") == 1
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]


def test_agreement_of_a_service_leaves_out_exported_labels_of_others(aqb: Command, folder: Path) -> None:
    services = (f'[[monitoring.service]]\nname = "{name}"\nsource = "a"\n' for name in ("hiring", "support"))
    (folder / "aqb.toml").write_text("".join(services), encoding="utf-8")

    def agree(service: str, grade: str) -> Finished:
        lines = [f"{row_id},final_grade,{grade}" for row_id in rows_of[service]]
        (folder / "labels.csv").write_text("\n".join(["row_id,metric,label", *lines]), encoding="utf-8")
        return aqb("--service", service, "agreement", "labels.csv")

    rows_of = {}
    for number, name in enumerate(("hiring", "support")):
        rows = chat_rows.write_rows(folder / f"{name}.jsonl", [chat_rows.plain(number), chat_rows.refused(number)])
        with Context(settings_of_service(load_settings(), name)) as context:
            write_scored_day(context.warehouse, chat_rows.DAY, rows)
            scores = table_rows(context.warehouse, SCORES, chat_rows.RUBRIC.scores_schema).collect()
        rows_of[name] = scores["row_id"].to_list()
        assert agree(name, "STAR").exit_code == 0
    assert aqb("review", "labels", "--out", "every.csv").exit_code == 0
    assert agree("support", "A").exit_code == 0
    agreed = aqb("--service", "hiring", "agreement", "every.csv", "--json")
    assert agreed.exit_code == 0, agreed.err
    document = json.loads(agreed.out)
    assert (document["metrics"][0]["n"], document["unpaired"]) == (2, 2)
    assert aqb("review", "labels", "--out", "last.csv").exit_code == 0
    said = [line for line in (folder / "last.csv").read_text(encoding="utf-8").splitlines() if "STAR" in line]
    assert len(said) == 2, "an export does not undo what was said after it"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["base", "nowhere"], 1, "nowhere: no scored test run"),
        (["base", "candidate", "--fail-if", "accurcy < 0"], 2, "use one of: intent, accuracy"),
        (["base", "candidate", "--fail-if", "accuracy is bad"], 2, "is no condition"),
        (["base", "candidate", "--out", "c.txt"], 2, ".md, .html, .json"),
    ],
)
def test_wrong_comparison_says_what_to_do(
    runs: Path, aqb: Command, arguments: list[str], exit_code: int, said: str
) -> None:
    finished = aqb("compare", *arguments)
    assert finished.exit_code == exit_code
    assert said in finished.err


def test_chat_rows_have_no_queries_to_compare(runs: Path, aqb: Command) -> None:
    chat_rows.write_rows(runs / "rows.jsonl", [chat_rows.plain()])
    aqb("score", "rows.jsonl", "--out", "chats")
    finished = aqb("compare", "chats", "base")
    assert finished.exit_code == 2
    assert "chat rows" in finished.err


@pytest.fixture
def scored_day(folder: Path) -> None:
    rows = [chat_rows.refused(0), *(chat_rows.plain(minute) for minute in range(1, 5))]
    source = chat_rows.write_rows(folder / "rows.jsonl", rows)
    write_scored_day(open_warehouse("data/warehouse"), chat_rows.DAY, source)


@pytest.mark.usefixtures("scored_day")
def test_thresholds_stand_beside_what_the_rows_say(folder: Path, aqb: Command) -> None:
    finished = aqb("thresholds", "--from", "2026-02-13", "--to", "2026-02-14")
    assert finished.exit_code == 0
    assert "채점한 행 5건, 실패 유형이 있는 행 1건 (20.0%, 95% 구간 3.6~62.4%)" in finished.out
    assert "| 1\\~30 | 124 | 111 | 89.5% | 1 | 1 | 100.0% |" in finished.out
    assert "판단할 만큼 행이 모이지 않았습니다" in finished.out


@pytest.mark.usefixtures("scored_day")
def test_thresholds_are_read_by_programs_too(folder: Path, aqb: Command) -> None:
    finished = aqb("thresholds", "--from", "2026-02-13", "--to", "2026-02-13", "--json", "--out", "t.md")
    document = json.loads(finished.out)
    assert (document["rows"], document["failed"]) == (5, 1)
    assert {one["verdict"] for one in document["thresholds"]} == {"too_few", "unknown"}
    assert (folder / "t.md").read_text(encoding="utf-8").startswith("# 기준값 점검: 2026-02-13 ~ 2026-02-13")


@pytest.mark.parametrize(
    ("first", "last", "code", "said"),
    [
        ("2026-02-13", "2026-02-12", 2, "swap the two days"),
        ("2026-02-13", "2026-02-14", 1, "score these days first: aqb backfill --from 2026-02-13 --to 2026-02-14"),
        ("2026-02-15", "2026-02-15", 1, "no scored rows from 2026-02-15 to 2026-02-15"),
    ],
)
def test_thresholds_need_days_with_rows(aqb: Command, first: str, last: str, code: int, said: str) -> None:
    open_warehouse("data/warehouse").replace_day(SCORES, date(2026, 2, 15), chat_rows.RUBRIC.scores_schema, [])
    finished = aqb("thresholds", "--from", first, "--to", last)
    assert (finished.exit_code, finished.out) == (code, "")
    assert said in finished.err


@pytest.fixture
def reviewed(runs: Path, aqb: Command) -> Callable[[int], Path]:
    """Exports the review of `candidate`, gives every asked verdict these points, and imports it."""

    def review(points: int) -> Path:
        assert aqb("review", "export", "candidate", "--out", "review.xlsx", "--audit", "100%").exit_code == 0
        book = openpyxl.load_workbook("review.xlsx")
        for validation in book[SHEET].data_validations.dataValidation:
            for row, column in (cell for cells in validation.sqref.ranges for cell in cells.cells):
                book[SHEET].cell(row, column).value = points
        book.save("review.xlsx")
        assert aqb("review", "import", "review.xlsx", "--out", "labels.csv", "--reviewer", "kim").exit_code == 0
        return runs / "labels.csv"

    return review


@pytest.mark.usefixtures("runs")
def test_review_that_nobody_has_filled_makes_no_labels(aqb: Command, folder: Path) -> None:
    assert aqb("review", "export", "candidate", "--out", "review.xlsx").exit_code == 0
    finished = aqb("review", "import", "review.xlsx", "--out", "labels.csv")
    assert finished.exit_code == 2
    assert "no yellow cell is filled with points yet" in finished.err
    assert not (folder / "labels.csv").exists()


def test_review_becomes_labels_and_agreement(reviewed: Callable[[int], Path], aqb: Command) -> None:
    labels = reviewed(5)
    finished = aqb("agreement", labels, "--run", "candidate")
    assert finished.exit_code == 0
    assert r"| 정확성 | 전체 | 39 | 39 | 74.4% (59\~85%) | 74.4% (59\~85%) |" in finished.out
    document = json.loads(aqb("agreement", labels, "--run", "candidate", "--json").out)
    accuracy = next(one for one in document["metrics"] if one["metric"] == "accuracy")
    assert (accuracy["n"], accuracy["exact"], accuracy["trusted"]) == (39, 29, False)
    assert accuracy["confusion"] == [{"label": 5, "score": 0, "n": 10}, {"label": 5, "score": 5, "n": 29}]
    assert open_warehouse("data/warehouse").read("agreements") is not None
    kept = aqb("review", "import", "review.xlsx", "--run", "candidate", "--reviewer", "kim")
    assert kept.out == "78 labels, 0 of them new: kept\n"  # those of `aqb agreement` are kept
    assert aqb("review", "labels", "--out", "every.csv").exit_code == 0
    again = aqb("agreement", "every.csv", "--run", "candidate", "--json")
    assert json.loads(again.out) == document


@pytest.mark.parametrize("command", [("agreement",), ("review", "import")], ids=" ".join)
def test_labels_of_a_test_run_ask_for_its_folder(
    reviewed: Callable[[int], Path], aqb: Command, command: tuple[str, ...]
) -> None:
    finished = aqb(*command, reviewed(5))
    assert finished.exit_code == 2
    assert "these are labels of a test run\n  -> name its folder: --run " in finished.err


def test_export_of_all_labels_is_kept_as_a_whole_and_counted_so_whatever_run_is_named(
    reviewed: Callable[[int], Path], aqb: Command, folder: Path
) -> None:
    assert aqb("agreement", reviewed(5), "--run", "candidate").exit_code == 0
    assert aqb("review", "labels", "--out", "every.csv").exit_code == 0
    header, *lines = (folder / "every.csv").read_text(encoding="utf-8").splitlines()
    sha256 = lines[0].split(",")[header.split(",").index("input_sha256")]
    of_another_run = [line.replace(sha256, "0" * 64) for line in lines]
    (folder / "every.csv").write_text("\n".join([header, *lines, *of_another_run]), encoding="utf-8")
    kept = aqb("review", "import", "every.csv", "--run", "candidate")
    assert kept.out == "156 labels, 78 of them new: kept\n"


def test_agreement_of_a_run_is_that_of_all_services(
    reviewed: Callable[[int], Path], aqb: Command, folder: Path
) -> None:
    labels = reviewed(5)
    (folder / "aqb.toml").write_text('[[monitoring.service]]\nname = "hiring"\nsource = "a"\n', encoding="utf-8")
    assert aqb("--service", "hiring", "agreement", labels, "--run", "candidate").exit_code == 0
    assert open_warehouse("data/warehouse").read("agreements") is not None


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["review", "export", "candidate", "--out", "review.xls"], 2, "end its name in .xlsx"),
        (["review", "export", "candidate", "--out", "r.xlsx", "--audit", "many"], 2, "for example --audit 5%"),
        (["review", "import", "base/plan_agent_made.csv", "--out", "labels.csv"], 1, "missing: metric, label"),
        (["review", "import", "missing.xlsx", "--out", "labels.csv"], 1, "missing.xlsx: cannot be read: No such file"),
        (["review", "labels", "--out", "labels.txt"], 2, "end its name in .csv"),
        (["agreement", "nowhere.csv"], 1, "nowhere.csv"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_wrong_review_says_what_to_do(aqb: Command, arguments: list[str], exit_code: int, said: str) -> None:
    finished = aqb(*arguments)
    assert finished.exit_code == exit_code
    assert said in finished.err
