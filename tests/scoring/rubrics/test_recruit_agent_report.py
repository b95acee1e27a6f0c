"""recruit-agent: its report and README."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from docs.generators.testrun_rubric_readme import testrun_rubric_readme
from scoring.judging.requests import Verdict, VerdictStatus
from scoring.rubrics.recruit_agent import RUBRIC
from scoring.rubrics.recruit_agent.formulas import RecruitQuery
from scoring.testruns.executions import Execution, Round
from tasks.reports.testrun_folder import testrun_report

OPTIONS = RUBRIC.chosen({})
EXPECTED = "@check assistantMessageContains=조회; formType=LINK"
HOSTILE = "a | b\nc <script>alert(1)</script> `x` **y** # z"


def run(room: int = 1, message: str = "조회합니다", **fields: Any) -> Execution:
    raw = {"assistantMessage": message, "dataUIList": [{"uiValue": {"formType": "LINK"}}], "responseTimeSec": 6}
    defaults = {"query_id": "Q-1", "round": Round(room, 1), "query_text": "보여 줘", "expected_text": EXPECTED}
    return Execution(**{**defaults, "raw_json": json.dumps(raw), **fields})


def query(*executions: Execution, status: VerdictStatus = VerdictStatus.OK, **options: str) -> RecruitQuery:
    answer = {"intent_verdict": "GOOD", "intent_label": "VIEW"} if status is VerdictStatus.OK else {}
    requests = RUBRIC.requests(executions, OPTIONS)
    verdicts = {asked.key: Verdict(status, answer, HOSTILE) for asked in requests}
    return RUBRIC.score_query(executions, RUBRIC.chosen(options), verdicts)


def reported(*queries: RecruitQuery, name: str = "plan_agent_sample.csv", **options: str) -> str:
    chosen = RUBRIC.chosen(options)
    return testrun_report(RUBRIC, name, queries, RUBRIC.summarise(queries, chosen), chosen)


def test_headings_stand_in_order() -> None:
    report = reported(query(run(1), run(2), status=VerdictStatus.REFUSED))
    assert re.findall(r"^##? .*", report, re.MULTILINE) == [
        "# 채용 에이전트 스코어링 보고서",
        "## 지표별 점수",
        "## 분포",
        "## 실패와 빈 응답",
        "## 통과하지 못한 체크",
        "## 점수를 가장 많이 잃은 질의",
        "## 수기 확인 대상 (1개)",
        "## 데이터 상태",
    ]
    assert "- 질의 1개, 실행 2건, 회차(방/반복) 1/1, 2/1\n" in report


def test_queries_that_failed_throughout_give_no_agreement_of_intents_alone() -> None:
    failed = query(run(1, query_id="Q-2", error="timeout"), run(2, query_id="Q-2", error="timeout"))
    unjudged = query(run(1), run(2), status=VerdictStatus.NO_JUDGE)
    assert "의도 일치율 100.0%" in reported(failed)
    assert "의도 일치율 –, 화면 구성 일치율 100.0%" in reported(failed, unjudged)


@pytest.mark.parametrize(
    "criteria", ['{"accuracyChecks": [{"path": "error", ', '{“accuracyChecks”: [{"path": "error"}]}']
)
def test_criteria_that_are_no_json_are_told_beside_the_checks_that_could_be_read(criteria: str) -> None:
    found = query(run(1, criteria_json=criteria))
    assert found.scores["accuracy"].points == 5
    assert "JSON으로 읽을 수 없음" in reported(found)


def test_every_metric_stands_with_its_rounds_and_n() -> None:
    report = reported(query(run(1), run(2)))
    for line in (
        "| 의도 충족 | 4.00 | 4.00 | 4.00 | 2건 |",
        "| 정확성 | 5.00 | 5.00 | 5.00 | 2건 |",
        "| 응답 속도 (기본) | 4.00 | 4.00 | 4.00 | 2건 |",
        "| 응답 속도 (다중 도구) | – | – | – | 0건 |",
        "| 일관성 |  |  | 5.00 | 질의 1개 |",
    ):
        assert line in report
    assert "종합 점수 4.60 (가중치의 100%를 채점함)" in report


def test_run_without_a_judge_carries_one_notice() -> None:
    report = reported(query(run(1), run(2), status=VerdictStatus.NO_JUDGE))
    assert report.count("\n> ") == 1
    assert "가중치의 70%를 채점함" in report
    assert "수기 확인" not in report


def test_without_a_judge_the_report_says_whose_zeros_the_distribution_counts() -> None:
    report = reported(query(run(1), run(2, error="timeout"), status=VerdictStatus.NO_JUDGE))
    assert "| 0점 | FAILED: 관계없는 답변이거나 응답하지 못함 | 0 | 1 | 1 | 50.0% |" in report
    assert "실패하거나 빈 응답은 판정 없이 0점" in report


def test_executions_without_a_time_stand_among_the_zeros_of_speed_as_what_they_are() -> None:
    report = reported(query(run(1), run(2, raw_json=json.dumps({"assistantMessage": "조회합니다"}))))
    assert "| 0점 | 20초 초과, 응답 시간 없음 | 0 | 1 | 1 | 50.0% |" in report


def test_without_total_the_report_shows_none() -> None:
    report = reported(query(run(), weighted_total="off"), weighted_total="off")
    assert "종합" not in report


def test_flagged_queries_are_listed_with_their_reason() -> None:
    report = reported(query(run(), status=VerdictStatus.OVER_BUDGET))
    assert "| 보여 줘 | 판정 예산이 다해 판정하지 못한 실행 | Q-1 |" in report
    assert "점수표에 있습니다" not in report


def test_report_says_how_many_queries_its_lists_leave_out() -> None:
    queries = [query(run(query_id=f"Q-{n}"), status=VerdictStatus.OVER_BUDGET) for n in range(23)]
    report = reported(*queries)
    worst, flagged = report[report.index("## 점수를 가장 많이") :].split("## 수기 확인 대상 (23개)")
    assert (worst.count("| Q-"), "나머지 13개는 점수표에 있습니다." in worst) == (10, True)
    assert (flagged.count("| Q-"), "나머지 3개는 점수표에 있습니다." in flagged) == (20, True)


def test_every_status_of_a_judge_has_a_title() -> None:
    for status in VerdictStatus:
        assert reported(query(run(), status=status))


def test_texts_cannot_break_the_markdown() -> None:
    failed = run(query_id=HOSTILE, query_text=HOSTILE, error=HOSTILE)
    report = reported(
        query(failed), query(run(query_id="Q-2", expected_text=f"@check {HOSTILE}\n@check a=b")), name=HOSTILE
    )
    assert not re.search(r"(?<!\\)<script", report)
    for block in re.findall(r"(?:^\|.*\n)+", report, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block


def test_readme_shows_every_table_and_column() -> None:
    readme = testrun_rubric_readme(RUBRIC)
    for row in (
        "| PERFECT | 5 |",
        "| CLARIFY | 되묻기 |",
        "| 50초 초과 60초 이하 | 1 |",
        "| accuracy | 30% |",
        "| 누락 | 0 |",
    ):
        assert row in readme
    for column in (*RUBRIC.own_columns, *RUBRIC.query_columns):
        assert f"| {column.name} |" in readme


def test_headline_says_the_total_or_why_there_is_none() -> None:
    def headline(*queries: RecruitQuery) -> list[str]:
        return list(RUBRIC.headline(queries, RUBRIC.summarise(queries, OPTIONS)))

    assert headline(query(run(1), run(2))) == [
        "질의 1개의 실행 2건을 채점했고 종합 점수는 4.60점(5점 만점)입니다.",
        "통과하지 못한 체크도, 실패하거나 빈 응답도 없습니다.",
        "점수를 가장 많이 잃은 '보여 줘'부터 확인하세요.",
    ]
    unjudged = headline(query(run(1), run(2), status=VerdictStatus.NO_JUDGE))
    assert unjudged[0] == (
        "질의 1개의 실행 2건을 채점했고 종합 점수는 4.71점(5점 만점, 의도 충족·일관성 없이 가중치의 70%만 채점), "
        "의도 충족은 질의 1개 중 1개 미판정입니다."
    )


def test_headline_without_a_total_says_in_its_first_sentence_why() -> None:
    summary = RUBRIC.summarise([query(run(1), run(2))], OPTIONS)
    missing = {"weighted_total": {"mean": None, "missing": "가중치의 50%만 채점"}}
    said = RUBRIC.headline([query(run(1), run(2))], replace(summary, set={**summary.set, **missing}))[0]
    assert said.endswith("정확성은 회차 점수의 평균 5.00점(5점 만점), 종합 점수는 없음(가중치의 50%만 채점)입니다.")


def test_headline_sends_to_queries_without_a_verdict_where_no_points_were_lost() -> None:
    raw = {"assistantMessage": "조회합니다", "dataUIList": [{"uiValue": {"formType": "LINK"}}], "responseTimeSec": 5}
    unread = query(run(1, raw_json=json.dumps(raw)), run(2, raw_json=json.dumps(raw)), status=VerdictStatus.INVALID)
    todo = RUBRIC.headline([unread], RUBRIC.summarise([unread], OPTIONS))[-1]
    assert todo == "수기 확인이 필요한 질의 1개를 '보여 줘'부터 확인하세요."


def test_headline_sends_to_the_budget_before_the_queries_that_it_left_open() -> None:
    slow = query(run(1, message="모름"), run(2, message="모름"), status=VerdictStatus.OVER_BUDGET)
    todo = RUBRIC.headline([slow], RUBRIC.summarise([slow], OPTIONS))[-1]
    assert todo == "판정 예산이 다해 점수 2개가 비었습니다. judge.max_usd나 judge.max_tokens를 늘리고 다시 채점하세요."


def test_queries_that_lost_most_points_come_first() -> None:
    fine, slow = query(run(1)), query(run(1, query_id="Q-2", query_text="느린 질의", message="모름"))
    report = reported(fine, slow)
    worst = report[report.index("## 점수를 가장 많이 잃은 질의") :]
    assert worst.index("느린 질의") < worst.index("보여 줘")


def test_empty_answer_is_the_reason_of_a_query_not_the_checks_that_fail_on_it() -> None:
    empty = json.dumps({"assistantMessage": "", "dataUIList": [], "responseTimeSec": 6})
    (row,) = [line for line in reported(query(run(1), run(2, raw_json=empty))).splitlines() if line.endswith("| Q-1 |")]
    assert "2/1 빈 응답: 답변 메시지와 dataUIList가 모두 비어 있음 |" in row
    assert "formType" not in row
