"""What the pages of test runs say."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote
from uuid import UUID

import pytest

from tasks.files.report_paths import ReportPaths
from tasks.reports.site.pages import page as page_of
from tasks.reports.site.testrun_charts import latency_charts, metric_intervals
from tasks.reports.site.testrun_history import runs_by_set, values_of_set
from tasks.reports.site.testrun_pages import testrun_values
from tasks.reports.site.testrun_tables import executions_of, queries_of, read_testruns
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import SAMPLE_RUNS, Page, build, page, sources, write_run
from tests.builders.testruns import (
    LONG_HEADER,
    WIDE_HEADER,
    crowded_rows,
    long_row,
    raw,
    toy_rubric,
    wide_row,
    write_csv,
)

HOSTILE = "</title></script><script>alert(1)</script>"


def testrun_page(site: Path, beginning: str) -> Page:
    (path,) = (site / "test-runs").glob(f"{beginning}*.html")
    return Page(path)


def test_run_shows_what_its_summary_holds(warehouse: FolderWarehouse, site: Path) -> None:
    for path in SAMPLE_RUNS:
        write_run(warehouse, path, DAY)
    build(warehouse, site)
    (run,) = [run for run in read_testruns(warehouse, 60) if run.name.startswith("resume")]
    found = testrun_page(site, "resume")
    summary = run.summary
    accuracy = summary["set"]["accuracy"]["mean"]
    assert f"정확성 {accuracy:.2f}" in found.text
    for row in found.charts["rounds"]["set"]:
        assert row["mean"] in [figures.get("mean") for figures in summary["set"].values()]
    assert "판정 모델을 쓰지 않음 27" in found.text
    assert "실패하거나 빈 응답 있음" in found.text
    assert (
        "TTFT 1초 이하인 응답 (지원자 관리 에이전트) 45.5% 판단 보류(n 35 이상이어야 달성 가능) ▲ 90% 이상 "
        "21.3~72.0% 5 / 11" in found.text
    )
    assert "판단 보류(n 73 이상이어야 달성 가능) ▲ 95% 이상 20.8~93.9% 2 / 3" in found.text


def test_slow_filters_are_no_failures(warehouse: FolderWarehouse, site: Path) -> None:
    (path,) = (path for path in SAMPLE_RUNS if path.name.startswith("resume"))
    write_run(warehouse, path, DAY)
    build(warehouse, site)
    text = testrun_page(site, "resume").text
    headings = ["가장 느린 필터 조합 필터 조합별 평균 응답 시간", "가장 많이 실패한 것"]
    slowest, failed = (text.index(heading) for heading in headings)
    assert slowest < failed
    assert "평균 응답 시간" not in text[failed : text.index("수기 확인 대상")]


def test_times_stand_in_the_bands_that_scored_them(warehouse: FolderWarehouse, site: Path) -> None:
    (path,) = (path for path in SAMPLE_RUNS if path.name.startswith("plan"))
    write_run(warehouse, path, DAY)
    build(warehouse, site)
    (run,) = read_testruns(warehouse, 60)
    (chart,) = (chart for chart in testrun_page(site, "plan").charts.values() if chart["kind"] == "latency")
    assert (chart["cuts"], chart["points"]) == ([5, 8, 10, 15, 20], [5, 4, 3, 2, 1, 0])
    for row in executions_of(warehouse, run):
        if row["latency_s"] is not None and row["scores"]["speed"]["score"] is not None:
            band = sum(row["latency_s"] > cut for cut in chart["cuts"])
            assert chart["points"][band] == row["scores"]["speed"]["score"]


def test_what_fails_most_stands_first(warehouse: FolderWarehouse, site: Path) -> None:
    (path,) = (path for path in SAMPLE_RUNS if path.name.startswith("plan"))
    write_run(warehouse, path, DAY)
    build(warehouse, site)
    text = testrun_page(site, "plan").text
    causes = text[text.index("통과하지 못한 체크") : text.index("수기 확인 대상")]
    assert causes.index("기대 SELECT") < causes.index("assistantMessage")
    assert "앞 조건" not in causes


def test_mean_of_equal_scores_claims_no_certainty(warehouse: FolderWarehouse, site: Path, tmp_path: Path) -> None:
    rows = [LONG_HEADER, *(long_row(f"Q{n}", "1/1", 기대결과="@check formType=SELECT") for n in range(4))]
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", rows), DAY)
    build(warehouse, site)
    (accuracy,) = (row for row in testrun_page(site, "plan").charts["rounds"]["set"] if row["metric"] == "정확성")
    assert (accuracy["mean"], accuracy["low"], accuracy["high"]) == (0.0, None, None)


def test_query_to_review_is_linked_where_the_page_shows_it(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    failed = {"1차 답변 raw": "", "1차 답변": "", "1차 응답 상태": "실패"}
    rows = [WIDE_HEADER, *(wide_row(f"A{n}", **failed) for n in range(502))]
    write_run(warehouse, write_csv(tmp_path / "resume_agent_x.csv", rows), DAY)
    build(warehouse, site)
    found = testrun_page(site, "resume")
    links = [unquote(a["href"] or "") for a in found.all("a") if (a["href"] or "").startswith("#query-")]
    assert "수기 확인 대상 502개" in found.text
    assert [link for link in links if link.removeprefix("#") not in found.ids] == []
    assert len(set(links)) == 500


def test_queries_to_review_stand_in_the_order_of_what_they_lost(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    first, second = ({f"{n}차 답변 raw": "", f"{n}차 답변": "", f"{n}차 응답 상태": "실패"} for n in (1, 2))
    rows = [
        WIDE_HEADER,
        wide_row("A1", 질의="한 번 실패", **first),
        wide_row("A2", 질의="두 번 실패", **first | second),
    ]
    write_run(warehouse, write_csv(tmp_path / "resume_agent_x.csv", rows), DAY)
    build(warehouse, site)
    text = testrun_page(site, "resume").text
    review = text[text.index("수기 확인 대상") : text.index("질의와 답변")]
    assert review.index("두 번 실패") < review.index("한 번 실패")


def test_list_of_runs_leads_to_every_page(warehouse: FolderWarehouse, site: Path) -> None:
    for path in SAMPLE_RUNS:
        write_run(warehouse, path, DAY)
    build(warehouse, site)
    for name, folder in (("test-runs/index.html", site / "test-runs"), ("index.html", site)):
        links = [unquote(a["href"] or "") for a in page(site, name).all("a") if "_sample-" in (a["href"] or "")]
        assert len(set(links)) == 3
        assert all((folder / link).is_file() for link in links)


def test_file_scored_again_counts_once_with_its_last_day(warehouse: FolderWarehouse, site: Path) -> None:
    for offset in range(2):
        write_run(warehouse, SAMPLE_RUNS[0], DAY + timedelta(days=offset))
    build(warehouse, site)
    (run,) = read_testruns(warehouse, 60)
    assert run.day == DAY + timedelta(days=1)
    assert len(list((site / "test-runs").glob("*_sample*.html"))) == 1


def test_report_and_workbook_are_linked_where_they_lie_beside_the_page(warehouse: FolderWarehouse, site: Path) -> None:
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    (run,) = read_testruns(warehouse, 60)
    build(warehouse, site)
    assert "점수 워크북" not in testrun_page(site, "plan").text
    folder = ReportPaths(site).testrun_folder(run.name, run.sha256)
    folder.mkdir()
    (folder / "scores.xlsx").touch()
    build(warehouse, site)
    (link,) = (a for a in testrun_page(site, "plan").all("a") if (a["href"] or "").endswith(".xlsx"))
    assert (site / "test-runs" / unquote(link["href"] or "")).is_file()


def test_texts_of_a_run_that_look_like_code_stay_texts(warehouse: FolderWarehouse, site: Path, tmp_path: Path) -> None:
    rows = [
        LONG_HEADER,
        long_row(HOSTILE, "1/1", 질의=f"{HOSTILE} 010-1234-5678", 오류=HOSTILE, 기대결과="@check formType=SELECT"),
    ]
    write_run(warehouse, write_csv(tmp_path / "plan_agent_<b>한글.csv", rows), DAY)
    build(warehouse, site)
    found = testrun_page(site, "plan")
    assert found.path.name.startswith("plan_agent__b_한글-")
    assert len(found.scripts) == 4  # filter, two of the library, our charts
    assert "alert" not in found.title
    assert HOSTILE in found.text
    assert all("1234-5678" not in source for source in sources(site).values())


def test_rubric_that_nobody_has_told_the_site_of_has_its_page(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    path = write_csv(tmp_path / "any.csv", [LONG_HEADER, long_row(), long_row("Q2", **{"Raw JSON": raw("짧다")})])
    with pytest.MonkeyPatch.context() as patch, toy_rubric(tmp_path, patch):
        write_run(warehouse, path, DAY, "toy")
        build(warehouse, site)
        known = testrun_page(site, "any").text
        assert "길이 2.50" in known
    build(warehouse, site)  # the rubric is gone, its scores are not
    assert "length 2.50" in testrun_page(site, "any").text


def test_summary_of_a_page_is_that_of_the_warehouse(warehouse: FolderWarehouse) -> None:
    write_run(warehouse, SAMPLE_RUNS[0], DAY)
    (run,) = read_testruns(warehouse, 60)
    stored = warehouse.read("test_run_summaries")
    assert stored is not None
    assert run.summary == json.loads(stored.collect()["summary"][0])


# --- Answers, checks and charts of any size --------------------------------------------------------------------------


def test_page_shows_what_was_expected_answered_and_checked_in_both_rounds(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    check = "@check assistantMessageContains=평가기간; formType=SELECT"
    offer = [{"uiValue": {"formType": "ACTION"}}]
    rows = [
        LONG_HEADER,
        long_row(round_="1/1", **{"기대결과": check, "Raw JSON": raw("평가기간을 바꿔요", dataUIList=offer)}),
        long_row(round_="2/1", **{"기대결과": check, "Raw JSON": raw("010-1234-5678로 전화하세요")}),
    ]
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", rows), DAY)
    build(warehouse, site)
    text = testrun_page(site, "plan").text
    shown = text[text.index("질의와 답변") :]
    assert f"기대한 결과 {check}" in shown
    first, second = shown[shown.index("회차 1/1") :].split("회차 2/1")
    assert "평가기간을 바꿔요" in first
    assert "통과: @check assistantMessageContains=평가기간" in first
    assert 'formType=SELECT: 맞는 항목이 없음 (실제: "ACTION")' in first
    assert '"formType": "ACTION"' in first[first.index("Raw JSON") :]
    assert "로 전화하세요" in second
    assert "1234" not in second


def test_first_sentences_of_the_report_stand_on_the_page(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", crowded_rows(4)), DAY)
    build(warehouse, site)
    (run,) = read_testruns(warehouse, 60)
    text = testrun_page(site, "plan").text
    assert len(run.summary["headline"]) == 3
    assert all(sentence in text for sentence in run.summary["headline"])


def test_questions_are_named_by_their_text_and_link_to_their_answers(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", crowded_rows(8)), DAY)
    build(warehouse, site)
    found = testrun_page(site, "plan")
    causes = found.text[found.text.index("통과하지 못한 체크") : found.text.index("수기 확인 대상")]
    assert "기대 SELECT, 실제 ACTION" in causes
    assert "평가기간을 1일로 바꾸고" in causes
    assert str(UUID(int=1)) not in causes
    assert f"query-{UUID(int=1)}" in found.ids


def test_cause_of_many_queries_counts_those_that_it_does_not_list(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", crowded_rows(96)), DAY)
    build(warehouse, site)
    causes = testrun_page(site, "plan").text.split("통과하지 못한 체크")[1].split("수기 확인 대상")[0]
    assert re.findall("외 ([0-9]+)개", causes)[:2] == ["22", "4"]  # two are seen, 18 more when it is opened


def test_what_is_wrong_with_the_test_set_stands_on_the_page_with_its_queries(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    rows = [plan_row("q1", question="$공고명$ 평가기간 바꿔줘"), plan_row("q2"), plan_row("q3")]
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", [LONG_HEADER, *rows]), DAY)
    build(warehouse, site)
    found = testrun_page(site, "plan").text
    checked = found[found.index("테스트 세트 점검") :]
    assert re.search(r"채우지 않은 자리 표시가 있는 질의 1 \$공고명\$ \$공고명\$ 평가기간 바꿔줘", checked)
    assert "ID만 다르고 질의와 기대 결과가 같은 질의 2 평가기간 바꿔줘" in checked


@pytest.mark.long
@pytest.mark.parametrize("executions", [10, 262, 2_000, 10_000])
def test_chart_of_response_times_and_a_page_hold_at_any_size(
    executions: int, warehouse: FolderWarehouse, tmp_path: Path
) -> None:
    most = min(executions, 40)
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", crowded_rows(most, slowest_s=600.0)), DAY)
    (run,) = read_testruns(warehouse, 60)
    rounds, queries = (
        [{**row, "query_id": f"{row['query_id']}-{copy}"} for row in rows for copy in range(-(-executions // most))]
        for rows in (executions_of(warehouse, run), queries_of(warehouse, run))
    )
    (chart,) = latency_charts(run, rounds)
    assert sum(one["n"] for one in chart.data["bins"]) == len(rounds) >= executions
    assert len(chart.data["bins"]) <= 48
    box = [chart.data["box"][name] for name in ("p5", "p25", "p50", "p75", "p95")]
    assert box == sorted(box)
    assert box[-1] <= chart.data["end"]
    values = testrun_values(run, rounds, queries, metric_intervals(run, rounds, queries), [])
    text = page_of("run.html", root="../", section="runs", **values)
    assert len(text.encode()) < 1_500_000
    assert ("답변과 체크는 그중" in text) == (executions >= 2_000)


def test_one_answer_of_ten_minutes_does_not_press_the_others_together(
    warehouse: FolderWarehouse, tmp_path: Path
) -> None:
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", crowded_rows(40, slowest_s=600.0)), DAY)
    (run,) = read_testruns(warehouse, 60)
    (chart,) = latency_charts(run, executions_of(warehouse, run))
    assert chart.data["end"] < 30
    assert chart.data["names"][0] in chart.summary  # the same median, whether drawn or read aloud
    assert "눈금 밖 1건은 오른쪽 끝 막대" in chart.note


def test_bars_of_response_times_stand_in_the_band_that_scores_them(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", crowded_rows(40, slowest_s=10.1)), DAY)
    (run,) = read_testruns(warehouse, 60)
    (chart,) = latency_charts(run, executions_of(warehouse, run))
    cuts, bins = chart.data["cuts"], chart.data["bins"]
    assert not [one for one in bins for cut in cuts if one["low"] < cut < one["high"]]
    by_band = [sum(one["n"] for one in bins if low < one["high"] <= high) for low, high in pairwise([0, *cuts, 1e9])]
    assert [f"{count}" for count in by_band] == [row[2] for row in chart.table.rows]
    assert sum(map(bool, by_band)) > 1


# --- History ---------------------------------------------------------------------------------------------------------


def write_plan_run(warehouse: FolderWarehouse, folder: Path, day: str, passing: int) -> None:
    rows = [plan_row(f"Q{n}", question=f"평가기간을 {n}일로 바꿔줘", passes=n < passing) for n in range(40)]
    write_run(warehouse, write_csv(folder / f"plan_agent_{day}.csv", [LONG_HEADER, *rows]), DAY)


def test_test_set_has_a_page_with_its_runs_in_the_order_in_which_they_ran(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    for day, passing in (("20260302", 20), ("20260301", 40), ("20260303", 30)):
        write_plan_run(warehouse, tmp_path, day, passing)
    build(warehouse, site)
    (path,) = (site / "test-runs").glob("set-*.html")
    found = Page(path)
    points = found.charts["history-accuracy"]["points"]
    assert [point["value"] for point in points] == [5.0, 2.5, 3.75]
    assert found.charts["history-accuracy"]["days"] == ["3/1", "3/2", "3/3"]
    assert points[0]["low"] is None  # all scores are equal
    assert points[1]["low"] < 2.5 < points[1]["high"]
    links = {a["href"] for a in found.all("a")}
    assert {unquote(point["href"]) for point in points} <= {unquote(link or "") for link in links}
    assert "0~5점, 띠는 95% 구간" in found.text


def test_test_set_speaks_of_no_bands_where_none_are_drawn(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    for day in ("20260301", "20260302"):
        write_plan_run(warehouse, tmp_path, day, passing=40)
    build(warehouse, site)
    (path,) = (site / "test-runs").glob("set-*.html")
    found = Page(path)
    assert {point["low"] for chart in found.charts.values() for point in chart["points"]} == {None}
    assert "지표별 이력 0~5점" in found.text
    assert "띠는" not in found.source


def test_page_compares_its_run_with_the_one_before(warehouse: FolderWarehouse, site: Path, tmp_path: Path) -> None:
    for day, passing in (("20260301", 40), ("20260302", 20)):
        write_plan_run(warehouse, tmp_path, day, passing)
    build(warehouse, site)
    found = testrun_page(site, "plan_agent_20260302")
    assert f"2026-03-02 실행 · {DAY} 채점" in found.text
    assert "정확성 5.00 2.50 −2.50" in found.text
    assert "평균 시간으로 매기는 지표는 세트 평균과 조금 다를 수 있고" in found.text
    assert any((a["href"] or "").startswith("plan_agent_20260301") for a in found.all("a"))
    assert ("답변이 나빠진 질의 20개", "#worse") in found.links
    assert "좋아진 질의 0개" in found.text
    (listed,) = (details for details in found.all("details") if details.get("id"))
    assert (listed["id"], "open" in listed) == ("worse", False)
    inside = found.source[found.source.index('<details id="worse"') :].split("</details>")[0]
    assert inside.count('href="#query-') == 20
    assert "비교할 지난 실행이 아직 없습니다" in testrun_page(site, "plan_agent_20260301").text


def test_agents_stand_with_better_worse_or_why_it_cannot_be_told(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    for day, passing in (("20260301", 40), ("20260302", 20)):
        write_plan_run(warehouse, tmp_path, day, passing)
    write_run(warehouse, next(path for path in SAMPLE_RUNS if path.name.startswith("url")), DAY)
    build(warehouse, site)
    text = page(site, "test-runs/index.html").text
    told = "지난 실행(plan_agent_20260301.csv, 2026-03-01)보다 답변이 나빠진 질의 20개"
    assert f"실행 에이전트 plan_agent_20260302.csv 나빠짐 ■ {told}" in text
    assert "이동 에이전트 url_agent_sample.csv 첫 실행 같은 테스트 세트의 지난 실행이 없음" in text


def test_line_breaks_where_the_rules_changed(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    write_plan_run(warehouse, tmp_path, "20260301", 40)
    write_plan_run(warehouse, tmp_path, "20260302", 20)
    runs = read_testruns(warehouse, 60)
    (changed,) = runs_by_set([replace(runs[0], rubric_version="3"), *runs[1:]])
    charts = {chart.id: chart.data for chart in values_of_set(changed, {})["charts"]}
    assert [point["segment"] for point in charts["history-accuracy"]["points"]] == [0, 1]
