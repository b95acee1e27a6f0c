"""plan-agent: the seed's report template, the ticked check list, the prompt for scoring by hand, the README."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from docs.generators.testrun_rubric_readme import testrun_rubric_readme
from scoring.rubrics.plan_agent import RUBRIC
from scoring.rubrics.plan_agent.formulas import PlanQuery
from scoring.rubrics.plan_agent.report import CRITERIA
from scoring.rubrics.plan_agent.summary import PlanSummary
from scoring.testruns.executions import Execution, Round
from tasks.reports.testrun_folder import testrun_report

OPTIONS = RUBRIC.chosen({})
EXPECTED = 'assistantMessage에 "기간"이 언급되어 있는가\ndataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가'
GOOD = {"assistantMessage": "기간 안내", "dataUIList": [{"uiValue": {"formType": "SELECT"}}], "responseTimeSec": 4}
BAD = {"assistantMessage": "모르겠습니다", "dataUIList": [{"uiValue": {"formType": "LINK"}}], "responseTimeSec": 9}
EMPTY = {"assistantMessage": "", "responseTimeSec": 1}
HOSTILE = "a | b\nc <script>alert(1)</script> `x` **y** # z"


def query(query_id: str, *raws: Any, **fields: Any) -> PlanQuery:
    executions = [
        Execution(
            **{
                "query_id": query_id,
                "round": Round(room, 1),
                "query_text": f"질의 {query_id}",
                "raw_json": json.dumps(raw),
                "expected_text": EXPECTED,
                **fields,
            }
        )
        for room, raw in enumerate(raws, 1)
    ]
    return RUBRIC.score_query(executions, OPTIONS, {})


def reported(*queries: PlanQuery, name: str = "plan_agent_sample.csv") -> str:
    return testrun_report(RUBRIC, name, queries, summary_of(queries), OPTIONS)


def summary_of(queries: Sequence[PlanQuery]) -> PlanSummary:
    return RUBRIC.summarise(queries, OPTIONS)


def ticks(report: str) -> list[str]:
    return re.findall(r"^- \[([ x])\]", report, re.MULTILINE)


def line_with(report: str, text: str) -> str:
    return next(line for line in report.splitlines() if text in line)


def test_report_is_the_seeds_template() -> None:
    report = reported(query("Q-1", GOOD, BAD), query("Q-2", GOOD, GOOD))
    assert report.startswith(
        """# 실행 에이전트 스코어링 리포트
- 데이터: plan_agent_sample.csv
- 총 항목: 4
- 실행: 1/1, 2/1

## 산출 기준
- 의도/정확성: F 기대조건 + R 체크패스율 0~5 매핑
- 안정성: error/empty 0점
- 일관성: same-pass/fail(3점이상/미만) 기준
- 속도: 단일 루브릭(responseTimeSec)

## 지표별 점수
1) 의도 충족 — 1/1: 5.00, 2/1: 2.50, 세트: 3.75
2) 정확성 — 1/1: 5.00, 2/1: 2.50, 세트: 3.75
3) 일관성 — 2.50
4) 응답 속도 (단일) — 1/1: 4.00초 / 5.00, 2/1: 6.50초 / 4.00, 세트: 5.25초 / 4.50
5) 안정성 — 3.75
"""
    )


def test_headings_stand_in_the_seeds_order() -> None:
    report = reported(query("Q-1", GOOD, BAD))
    expected = [
        "# 실행 에이전트 스코어링 리포트",
        "## 산출 기준",
        "## 지표별 점수",
        "## 분포/첨언",
        "- 0~5 점수 분포",
        "- 속도 분포",
        "- 안정성 실패(에러) 패턴",
        "- 정성 인사이트 Top 패턴",
        "## 운영 체크리스트",
    ]
    lines = report.splitlines()
    assert [line for line in lines if line in expected] == expected


def test_score_is_shown_rounded_half_away_from_zero() -> None:
    queries = [query(f"Q-{number}", GOOD if number < 401 else BAD) for number in range(800)]
    assert summary_of(queries).set["accuracy"]["mean"] == 2.50625
    queries += [query(f"R-{number}", BAD) for number in range(200)]
    assert summary_of(queries).set["accuracy"]["mean"] == 2.005
    assert "정확성 — 1/1: 2.01," in reported(*queries)


def test_faultless_run_ticks_every_line() -> None:
    report = reported(query("Q-1", GOOD, {**GOOD, "responseTimeSec": 8}))
    assert ticks(report) == ["x"] * 5
    assert "모든 체크를 통과했고 느린 응답도 없습니다." in report
    assert "안정성 0점인 실행이 없습니다." in report


def test_query_missing_from_a_round_unticks_the_mapping() -> None:
    report = reported(query("Q-1", GOOD, GOOD), query("Q-2", GOOD))
    assert ticks(report)[0] == " "
    assert "2개 중 1개가 1/1, 2/1 가운데 일부에 없음(질의 Q-2)" in report


def test_single_round_unticks_the_mapping() -> None:
    report = reported(query("Q-1", GOOD))
    assert ticks(report)[0] == " "
    assert "회차가 1/1 하나뿐이라 비교할 것이 없음" in report


def test_missing_recorded_scores_are_counted() -> None:
    report = reported(query("Q-1", GOOD, GOOD, recorded_score=4.0), query("Q-2", GOOD, GOOD))
    assert "LLM 점수 미기록 2건 / 전체 4건" in report
    assert ticks(report)[1] == "x"


def test_items_that_cannot_be_scored_untick_the_second_line() -> None:
    assert ticks(reported(query("Q-1", GOOD, GOOD, expected_text="")))[1] == " "


def test_low_scores_untick_the_third_line_with_their_pattern() -> None:
    report = reported(query("Q-1", GOOD, BAD), query("Q-2", GOOD, EMPTY))
    assert ticks(report)[2] == " "
    assert "채점 4건 중 0~2점 2건(50.0%), 실패·빈 응답 1건, 이 구간에서 미통과가 많은 체크: " in report
    assert "formType(기대 SELECT, 실제 LINK) 1건" in report


@pytest.mark.parametrize(("seconds", "tick"), [(8, "x"), (8.01, " ")])
def test_more_than_eight_seconds_unticks_the_fourth_line(seconds: float, tick: str) -> None:
    assert ticks(reported(query("Q-1", GOOD, {**GOOD, "responseTimeSec": seconds})))[3] == tick


@pytest.mark.parametrize(("failures", "executions", "tick"), [(1, 100, " "), (1, 101, "x"), (0, 5, "x")])
def test_one_failure_in_a_hundred_unticks_the_fifth_line(failures: int, executions: int, tick: str) -> None:
    raws = [EMPTY] * failures + [GOOD] * (executions - failures)
    assert ticks(reported(query("Q-1", *raws)))[4] == tick


def test_failures_are_grouped_by_cause() -> None:
    failed = [query(f"Q-{number}", GOOD, error="timeout") for number in range(4)]
    report = reported(*failed, query("Q-9", EMPTY))
    assert "| 실행 실패: timeout | 4 | 질의 Q-0 · 질의 Q-1 · 질의 Q-2 외 1개 |" in report
    assert "| 빈 응답: 답변 메시지와 dataUIList가 모두 비어 있음 | 1 | 질의 Q-9 |" in report


def test_insights_name_the_checks_and_queries_with_their_counts() -> None:
    report = reported(query("Q-1", BAD, BAD), query("Q-2", GOOD, BAD))
    assert "  - formType: 기대 SELECT, 실제 LINK 3건(같은 체크 4개 중 75.0%, 질의 2개)" in report
    assert "\n\n많은 것부터입니다.\n" in report
    assert "  - 모든 회차에서 3점 미만인 질의 1개: 질의 Q-1" in report
    assert "  - 회차 사이에 통과와 미통과가 갈린 질의 1개: 질의 Q-2" in report
    assert "  - 응답 시간이 있는 실행 4건 중 8초를 넘긴 실행 3건(75.0%), 모든 회차가 느린 질의 1개." in report


def test_low_queries_are_listed_with_the_reason_of_the_worst_round() -> None:
    line = line_with(reported(query("Q-1", GOOD, BAD)), "| 질의 Q-1 | 5점 | 0점 |")
    assert "불일치" in line
    assert 'assistantMessage: 답변에 "기간" 언급이 없음 외 1가지' in line
    assert line.endswith("| Q-1 |")


@pytest.mark.parametrize(("rounds", "others"), [((BAD, BAD), 1), ((BAD, EMPTY), 2), ((GOOD, EMPTY), 0)])
def test_low_queries_count_the_causes_of_all_their_low_rounds(rounds: Sequence[Any], others: int) -> None:
    report = reported(query("Q-1", *rounds))
    line = line_with(report[report.index("## 0~2점이 있는") :], "| 질의 Q-1 |")
    assert re.findall("외 ([0-9]+)가지", line) == ([str(others)] if others else [])


FAILED = {"error": "timeout"}


@pytest.mark.parametrize(
    ("raws", "causes"),
    [
        ((EMPTY, EMPTY, FAILED), "'빈 응답: 답변 메시지와 dataUIList가 모두 비어 있음' 2건입니다."),
        (
            (EMPTY, FAILED),
            "'빈 응답: 답변 메시지와 dataUIList가 모두 비어 있음', "
            "'실행 실패: Raw JSON의 error: timeout' 각 1건입니다.",
        ),
        ((EMPTY, BAD), "모두 비어 있음' 1건이며, assistantMessage 체크도 1건을 통과하지 못했습니다."),
    ],
)
def test_headline_tells_all_causes_that_are_as_frequent(raws: Sequence[Any], causes: str) -> None:
    queries = [query("Q-1", *raws)]
    assert RUBRIC.headline(queries, summary_of(queries))[1].endswith(causes)


def test_low_queries_are_listed_by_the_points_they_lost() -> None:
    report = reported(query("Q-1", GOOD, BAD), query("Q-2", EMPTY, BAD), query("Q-3", GOOD, GOOD))
    low = report[report.index("## 0~2점이 있는 질의 (2개)") : report.index("## 8초를 넘긴")]
    assert low.index("질의 Q-2") < low.index("질의 Q-1")


def test_low_queries_that_lost_as_much_are_listed_in_the_order_of_the_workbook() -> None:
    said = "\n".join(f'assistantMessage에 "{word}"이 언급되어 있는가' for word in ("기간", "지역", "직무", "연차"))
    one_low, both_low = (
        query(name, *({"assistantMessage": text} for text in texts), expected_text=said)
        for name, texts in (("Q-1", ("기간 지역 직무", "모름")), ("Q-2", ("기간", "지역")))
    )
    assert one_low.points["accuracy"] == both_low.points["accuracy"] == 2
    assert [row["query_id"] for row in RUBRIC.worst_first(map(RUBRIC.query_row, (both_low, one_low)))] == ["Q-1", "Q-2"]
    low = reported(both_low, one_low).partition("## 0~2점이 있는 질의 (2개)")[2]
    assert low.index("질의 Q-1") < low.index("질의 Q-2")


def test_stability_below_five_says_how_much_of_it_are_answers_without_a_passed_check() -> None:
    report = reported(query("Q-1", GOOD, BAD), query("Q-2", GOOD, EMPTY))
    assert "실패하거나 빈 응답 1건뿐 아니라 통과한 체크가 하나도 없는 응답 1건도 0점입니다." in report


@pytest.mark.parametrize(
    ("raws", "zeros"),
    [
        ([GOOD, GOOD], ""),
        ([GOOD, EMPTY], "실패하거나 빈 응답 1건이 0점입니다. "),
        ([GOOD, BAD], "통과한 체크가 하나도 없는 응답 1건이 0점입니다. "),
    ],
)
def test_report_names_no_cause_of_instability_that_did_not_happen(raws: Sequence[Any], zeros: str) -> None:
    line = line_with(reported(query("Q-1", *raws)), "회차별 안정성")
    assert line.partition("2/1: ")[2].partition(". ")[2] == f"{zeros}총 가중치 합산은 하지 않습니다."


def test_headline_says_what_happened_what_matters_and_what_to_do() -> None:
    queries = [query("Q-1", GOOD, BAD), query("Q-2", BAD, BAD)]
    assert RUBRIC.headline(queries, summary_of(queries)) == [
        "질의 2개의 실행 4건을 채점했고 정확성은 회차 점수의 평균 1.25점(5점 만점)입니다: "
        "비교한 질의 2개 중 모두 통과 0, 모두 미통과 1, 회차마다 엇갈림 1.",
        '가장 큰 원인은 assistantMessage(답변에 "기간" 언급이 없음) 3건(질의 2개)입니다.',
        "정확성에서 2점 이하를 받은 질의 2개를 '질의 Q-2'부터 확인하세요.",
    ]


def test_headline_names_failures_where_they_cost_more_than_checks() -> None:
    queries = [query("Q-1", EMPTY, BAD), query("Q-2", EMPTY, GOOD)]
    assert RUBRIC.headline(queries, summary_of(queries))[1].startswith(
        "가장 큰 문제는 실패하거나 빈 응답 2건(실행 4건 중)이고, 가장 잦은 원인은 '빈 응답:"
    )


def test_headline_of_a_faultless_run_has_nothing_to_do() -> None:
    queries = [query("Q-1", GOOD, GOOD)]
    assert RUBRIC.headline(queries, summary_of(queries))[1:] == [
        "통과하지 못한 체크도, 실패하거나 빈 응답도 없습니다.",
        "2점 이하를 받은 질의가 없어 확인할 것이 없습니다.",
    ]


def test_headline_of_one_round_says_that_consistency_is_unknown() -> None:
    queries = [query("Q-1", GOOD), query("Q-2", GOOD)]
    first, _, todo = RUBRIC.headline(queries, summary_of(queries))
    assert first == (
        "질의 2개의 실행 2건을 채점했고 정확성은 평균 5.00점(5점 만점)이며, 회차가 하나뿐이라 일관성은 알 수 없습니다."
    )
    assert todo == "2점 이하를 받은 질의는 없습니다. 같은 질의를 한 회차 더 실행해 일관성을 확인하세요."


def test_headline_says_how_many_executions_accuracy_is_of() -> None:
    queries = [query("Q-1", GOOD, GOOD), query("Q-2", GOOD, GOOD, expected_text="")]
    assert (
        "정확성은 회차 점수의 평균 5.00점(5점 만점, 채점한 실행 2건)입니다"
        in RUBRIC.headline(queries, summary_of(queries))[0]
    )


@pytest.mark.parametrize(
    ("seconds", "todo"),
    [
        (10, "2점 이하를 받은 질의가 없어 확인할 것이 없습니다."),
        (10.01, "응답 속도에서 2점 이하를 받은 질의 1개를 '질의 Q-0'부터 확인하세요."),
        (15.01, "응답 속도에서 2점 이하를 받은 질의 2개를 '질의 Q-0'부터 확인하세요."),
    ],
)
def test_headline_of_right_but_slow_answers_sends_to_the_slow_ones(seconds: float, todo: str) -> None:
    queries = [query(f"Q-{wait}", GOOD, {**GOOD, "responseTimeSec": seconds + wait}) for wait in (-1, 0)]
    assert RUBRIC.headline(queries, summary_of(queries))[2] == todo


def test_headline_of_a_file_without_checks_says_what_to_write() -> None:
    queries = [query("A", GOOD, expected_text="")]
    assert RUBRIC.headline(queries, summary_of(queries))[1:] == [
        "실패하거나 빈 응답은 없습니다.",
        "기대결과에 체크 항목을 적어 다시 채점하세요.",
    ]


def test_agreement_with_recorded_scores_is_reported() -> None:
    report = reported(query("Q-1", GOOD, BAD, recorded_score=1.0))
    assert "비교한 항목 2건 중 완전 일치 0건(0.0%), 1점 이내 1건(50.0%)" in report
    assert "평균 차이(규칙 점수 - LLM 점수)는 +1.50점" in report


def test_round_without_times_shows_a_dash() -> None:
    assert "1/1: –초 / –" in reported(query("Q-1", {**GOOD, "responseTimeSec": None}))


def test_run_of_nothing_but_failures_can_be_reported() -> None:
    report = reported(query("Q-1", GOOD, GOOD, error="timeout"))
    assert "2) 정확성 — 1/1: 0.00, 2/1: 0.00, 세트: 0.00" in report


def test_report_says_how_many_unread_expectations_it_leaves_out() -> None:
    unread = [query(f"Q-{n}", GOOD, expected_text=f"{n}번 문장") for n in range(23)]
    report = reported(*unread)
    assert report.count("체크 항목의 형식이 아님") == 20
    assert report.endswith("\n\n그 밖에 3개가 있습니다.\n")


def test_texts_cannot_break_the_markdown() -> None:
    hostile = query(HOSTILE, BAD, BAD, query_text=HOSTILE, error=HOSTILE, category=HOSTILE)
    unchecked = query(
        "Q-2", BAD, BAD, query_text=HOSTILE, expected_text=f'{HOSTILE}\nassistantMessage에 "{HOSTILE}" 언급'
    )
    report = reported(hostile, unchecked, name=HOSTILE)
    assert not re.search(r"(?<!\\)<script", report)
    for block in re.findall(r"(?:^\|.*\n)+", report, re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(columns) == 1, block
    headings = [line for line in report.splitlines() if line.startswith("#")]
    assert all(heading.startswith(("# 실행", "## ", "### 규칙")) for heading in headings)


def test_prompt_is_built_from_the_constants() -> None:
    assert RUBRIC.prompt is not None
    prompt = RUBRIC.prompt()
    for line in (
        "- 1: 5점", "- 0.75 이상 1 미만: 4점", "- 0.25 미만: 1점", "- 0 (하나도 통과하지 못함): 0점",
        "- 5초 이하: 5점", "- 15초 초과 20초 이하: 1점", "- 20초 초과: 0점", "# 실행 에이전트 스코어링 리포트",
    ):  # fmt: skip
        assert line in prompt
    assert "{" not in prompt


def test_who_scores_by_hand_reads_which_ratio_earns_which_points() -> None:
    assert dict(CRITERIA["accuracy"]) == {
        "5": "통과율 1",
        "4": "통과율 0.75 이상 1 미만",
        "3": "통과율 0.5 이상 0.75 미만",
        "2": "통과율 0.25 이상 0.5 미만",
        "1": "통과율 0.25 미만",
        "0": "통과율 0, 실패, 빈 응답",
    }


def test_readme_shows_every_band_and_column() -> None:
    readme = testrun_rubric_readme(RUBRIC)
    assert readme.startswith("# plan-agent: ")
    for row in (
        "| 0.5 이상 0.75 미만 | 3 |",
        "| 8초 초과 10초 이하 | 3 |",
        "| 체크 항목 없음 | NULL (no_checks) |",
    ):
        assert row in readme
    for column in (*RUBRIC.own_columns, *RUBRIC.query_columns):
        assert f"| {column.name} |" in readme
