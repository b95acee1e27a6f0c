"""Two runs of which one part of a metric got better and another worse: every output of a comparison says so."""

import csv
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.stats.comparison import Comparison
from scoring.stats.fail_conditions import conditions
from scoring.testruns.change_wording import change_parts, change_text, standing
from scoring.testruns.scoring import score_testrun
from tasks.reports.markdown.comparison import (
    comparison_headline,
    comparison_json,
    comparison_markdown,
    comparison_page,
)
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.read_folder import read_scored_folder
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import Page, build
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, raw, wide_row, write_csv

RIGHT, OTHER = ([{"uiValue": {"filterType": name}}] for name in ("PATRIOT", "NATIONALITY"))
SAID = (
    "정확성 점수는 판단 보류지만 목표별로는 결과 정확도(정답 수치) 나빠짐(질의 38개, 84.2% → 68.4%), "
    "도구 사용 정확도(필터/datakey) 좋아짐(질의 40개, 67.5% → 87.5%)"
)


def applicant_rows(
    wrong_tools: Collection[int],
    wrong_numbers: Collection[int],
    *,
    slow: Collection[int] = (),
    failed: Collection[int] = (),
    unknown_numbers: Collection[int] = (38, 39),
) -> list[list[str]]:
    """Forty queries in two rooms by number. Even ones have the wrong number in the first room only."""
    rows = [[*WIDE_HEADER, "ttft(초)"]]
    for n in range(40):
        cells = {"질의": f"{n}번 공고에 보훈 지원자가 몇 명이야?", "기대 필터": "보훈"}
        cells["정답 수치"] = "" if n in unknown_numbers else "5"
        for room in (1, 2):
            message = f"{7 if n in wrong_numbers and (room == 1 or n % 2) else 5}명입니다."
            cells[f"{room}차 답변"] = message
            cells[f"{room}차 답변 raw"] = raw(message, dataUIList=OTHER if n in wrong_tools else RIGHT)
            if n in failed:
                cells |= {f"{room}차 답변": "", f"{room}차 답변 raw": "", f"{room}차 응답 상태": "에러"}
        rows.append([*wide_row(f"A{n}", **cells), "3" if n in slow else "0.5"])
    return rows


BEFORE = applicant_rows(wrong_tools=range(13), wrong_numbers=range(13, 21))
AFTER = applicant_rows(wrong_tools=range(5), wrong_numbers=range(13, 29))


def scored_into(folder: Path, *runs: list[list[str]], agent: str = "resume") -> list[Path]:
    """The report folders of runs that the inbox scored one after another."""
    warehouse, reports = FolderWarehouse(folder / "warehouse"), []
    for day, rows in enumerate(runs, start=10):
        path = write_csv(folder / f"{agent}_agent_202603{day}.csv", rows)
        scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices(), {}), {})
        place = place_of(warehouse, DAY, scored)
        write_testrun(warehouse, DAY, scored, place)
        reports.append(folder / str(day))
        write_testrun_folder(reports[-1], scored, path, place=place)
    return reports


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two runs the second uses better filters and says worse numbers."""
    folder = tmp_path_factory.mktemp("rates")
    scored_into(folder, BEFORE, AFTER)
    build(FolderWarehouse(folder / "warehouse"), folder / "site")
    return folder


def compared(base: Path, candidate: Path) -> Comparison:
    before, after = read_scored_folder(base), read_scored_folder(candidate)
    return before.rubric.compare(before.run_scores(), after.run_scores(), before.titles)


def summary_of(report: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((report / "summary.json").read_text("utf-8"))
    return summary


def table_of(text: str) -> list[list[str]]:
    """The rows of the table of the rates in a report."""
    lines = text[text.index("### 목표별 비율") :].splitlines()[4:]
    return [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]


def counted_by_hand(file: Path) -> "pd.Series[float]":
    """The share of right filters and of right numbers by query, out of the cells of the file."""
    with file.open(encoding="utf-8", newline="") as rows:
        cells = pd.DataFrame(csv.DictReader(rows))
    rooms = pd.concat([cells[["ID", "정답 수치"]].assign(raw=cells[f"{room}차 답변 raw"]) for room in (1, 2)])
    tools = rooms["raw"].str.contains("PATRIOT").groupby(rooms["ID"]).mean()
    known = rooms[rooms["정답 수치"] != ""]
    numbers = known["raw"].str.contains("5명").groupby(known["ID"]).mean()
    return pd.Series({"tool_accuracy_rate": tools.mean(), "result_accuracy_rate": numbers.mean()})


def test_comparison_says_first_which_part_got_worse_and_which_better(folder: Path) -> None:
    found = compared(folder / "10", folder / "11")
    assert next(one.difference.finding for one in found.metrics if one.metric == "accuracy" and one.difference) == (
        "unclear"
    )
    said = comparison_headline(found)
    assert said[0] == f"{SAID}입니다."
    assert said[2].startswith("점수가 나빠졌는지 좋아졌는지 판단 보류: ")


def test_shares_are_those_of_the_answers_in_the_files(folder: Path) -> None:
    changes = {one.metric: one for one in compared(folder / "10", folder / "11").rates}
    for file, side in (("resume_agent_20260310.csv", "base"), ("resume_agent_20260311.csv", "candidate")):
        for name, share in counted_by_hand(folder / file).items():
            assert getattr(changes[str(name)], side) == pytest.approx(share)
    assert [(one.difference.n, one.difference.finding) for one in changes.values() if one.difference] == [
        (40, "unclear"),
        (40, "better"),
        (38, "worse"),
    ]


def test_shares_are_those_of_the_targets_where_all_queries_have_as_many_executions(folder: Path) -> None:
    for one in compared(folder / "10", folder / "11").rates:
        for day, share in (("10", one.base), ("11", one.candidate)):
            target = summary_of(folder / day)["agents"]["applicant_management"]["targets"][one.metric]
            assert (target["title"], target["rate"]) == (one.title, pytest.approx(share))


def test_terminal_and_page_show_the_rates_below_the_metrics(folder: Path) -> None:
    found = compared(folder / "10", folder / "11")
    text = comparison_markdown(found, [])
    assert text.index("## 지표별 차이") < text.index("### 목표별 비율") < text.index("## 답변이 나빠진 질의")
    assert [[row[0], *row[1:4], *row[5:]] for row in table_of(text)[1:]] == [
        ["도구 사용 정확도(필터/datakey)", "67.5%", "87.5%", "+20.0%p", "40", "좋아짐"],
        ["결과 정확도(정답 수치)", "84.2%", "68.4%", "−15.8%p", "38", "나빠짐"],
    ]
    (folder / "comparison.html").write_text(comparison_page(found, [], {}), "utf-8")
    page = Page(folder / "comparison.html").text
    assert f"{SAID}입니다." in page
    assert "결과 정확도(정답 수치) 84.2% 68.4% −15.8%p" in page
    rates = json.loads(comparison_json(found, []))["rates"]
    assert rates["tool_accuracy_rate"]["difference"] == pytest.approx(0.2)


def test_inbox_says_the_same_in_report_and_page(folder: Path) -> None:
    change = summary_of(folder / "11")["change"]
    assert SAID in change_text(change)
    assert standing({"change": change})[0] == "엇갈림"
    report = (folder / "11" / "report.md").read_text("utf-8")
    assert SAID in report.splitlines()[0].replace("\\", "")
    assert [row[3] for row in table_of(report)] == ["0.0%p", "+20.0%p", "−15.8%p"]
    (path,) = (folder / "site" / "test-runs").glob("resume_agent_20260311*.html")
    text = Page(path).text
    assert "목표별 비율 목표 지난 실행 이번 실행 차이 95% 구간 질의 판단 TTFT" in text
    opening = summary_of(folder / "11")["headline"][0]
    assert opening.endswith("%만 채점)입니다.")
    assert opening in text  # with the score at its end, whatever there is to say of the run before


def test_rates_change_no_query(folder: Path) -> None:
    found = compared(folder / "10", folder / "11")
    assert {one.query_id for one in found.worse} == {f"A{n}" for n in range(21, 29)}
    assert {one.query_id for one in found.better} == {f"A{n}" for n in range(5, 13)}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("result_accuracy_rate.high < 0", "result_accuracy_rate.high < 0: it is -0."),
        ("result_accuracy_rate < -0.2", ""),
        ("tool_accuracy_rate.high < 0", ""),
    ],
)
def test_build_may_fail_by_a_rate(folder: Path, condition: str, said: str) -> None:
    (one,) = conditions([condition], ["result_accuracy_rate", "tool_accuracy_rate"])
    assert (one.failure(compared(folder / "10", folder / "11")) or "").startswith(said)
    assert bool(one.failure(compared(folder / "10", folder / "11"))) is bool(said)


def test_summary_of_an_earlier_version_claims_nothing_of_rates(folder: Path) -> None:
    change = summary_of(folder / "11")["change"]
    del change["rates"]
    assert "목표" not in change_text(change)
    assert standing({"change": change})[0] == "판단 보류"
    shown = change_parts(change)
    assert [table for table in shown["change_tables"] if table.caption == "목표별 비율"] == []
    assert "목표별" not in shown["change_reading"]


def test_numbers_without_a_ground_truth_have_no_rate(tmp_path: Path) -> None:
    unknown = {"unknown_numbers": range(40)}
    base, candidate = scored_into(
        tmp_path, applicant_rows(range(13), (), **unknown), applicant_rows(range(5), range(13, 29), **unknown)
    )
    found = compared(base, candidate)
    assert [row[0] for row in table_of(comparison_markdown(found, []))] == [
        "TTFT 1초 이하인 응답",
        "도구 사용 정확도(필터/datakey)",
    ]
    assert [one.difference for one in found.rates if one.metric == "result_accuracy_rate"] == [None]
    # Of these queries filters alone are the accuracy: it says itself that they got better.
    assert comparison_headline(found)[1].startswith("좋아진 지표는 정확성 ")


def test_identical_runs_claim_nothing_and_a_slower_first_token_is_said_though_no_score_has_it(tmp_path: Path) -> None:
    base, again, slower = scored_into(
        tmp_path,
        BEFORE,
        [*BEFORE[:1], *reversed(BEFORE[1:])],
        applicant_rows(range(13), range(13, 21), slow=range(20)),
    )
    same = "두 실행에서 질의 40개의 점수가 모두 같습니다."
    assert comparison_headline(compared(base, again)) == [same]
    slow = "지표로 채점하지 않은 TTFT 1초 이하인 응답 나빠짐(질의 40개, 100.0% → 50.0%)"
    assert comparison_headline(compared(base, slower)) == [f"{slow}입니다.", same]
    change = summary_of(slower)["change"]
    assert (
        change_text(change)
        == f"{slow}; 지난 실행(resume_agent_20260311.csv, 2026-03-11)과 질의 40개의 점수가 모두 같음"
    )
    assert standing({"change": change})[0] == "나빠짐"


def test_of_an_outage_no_rate_is_compared(tmp_path: Path) -> None:
    base, candidate = scored_into(tmp_path, BEFORE, applicant_rows((), (), failed=range(20)))
    found = compared(base, candidate)
    assert found.outage == "candidate"
    assert "목표별" not in comparison_markdown(found, [])
    assert summary_of(candidate)["change"]["rates"] == []
    assert "목표별" not in (candidate / "report.md").read_text("utf-8")


def test_rubric_without_rates_shows_nothing_new(tmp_path: Path) -> None:
    runs = [
        [LONG_HEADER, *(plan_row(f"Q{n}", question=f"{n}일로 바꿔줘", passes=n < passing) for n in range(40))]
        for passing in (40, 20)
    ]
    base, candidate = scored_into(tmp_path, *runs, agent="plan")
    assert "목표별" not in comparison_markdown(compared(base, candidate), [])
    assert summary_of(candidate)["change"]["rates"] == []
    assert "목표별" not in (candidate / "report.md").read_text("utf-8")
