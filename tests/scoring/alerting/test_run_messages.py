import re
from dataclasses import replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from scoring.alerting.all_clear import LateNight, Unfinished, all_clear_message, late_message
from scoring.alerting.blocks import readable
from scoring.alerting.messages import Message, OutboxMessage, RouteFilter
from scoring.alerting.run_messages import (
    FlowFailure,
    FlowState,
    KeptDay,
    RefusedFile,
    ReviewedQuery,
    ReviewedTestRun,
    expired_message,
    failure_message,
    kept_message,
    quiet_message,
    refused_message,
    review_message,
)
from scoring.chat.shrinkage import Loss
from tests.scoring.alerting.slack_rules import assert_taken_by_slack

SEOUL = ZoneInfo("Asia/Seoul")
QUERIES = tuple(
    ReviewedQuery(f"Q-{number}", f"질의 {number} 010-1234-5678", number / 10, ("정확성 2점 이하",))
    for number in range(8)
)
RUN = ReviewedTestRun(
    name="plan_agent_1.csv",
    input_sha256="ab" * 32,
    rubric="aqb-1.2",
    rubric_version="1",
    rubric_title="채용 에이전트 품질 평가",
    agent_types=("plan",),
    rows_in=120,
    rejected=0,
    queries=120,
    flagged=8,
    over_budget=0,
    judge_failed=0,
    reasons=(("정확성 2점 이하", 8), ("실패하거나 빈 응답 있음", 3)),
    worst=QUERIES,
    review_list="data/reports/test-runs/plan_agent_1-abababab/review.csv",
    report="data/reports/test-runs/plan_agent_1-abababab/report.md",
    run_id="0f3a",
)
FLOW = FlowFailure(
    run_name="nightly 2026-03-13",
    run_id="0f3a",
    state="failed",
    error="StorageError",
    reason="cannot write: No space left on device <!channel> 010-1234-5678",
    step="write 2026-03-13",
    tries=3,
    max_tries=3,
    rerun="aqb nightly --date 2026-03-13",
)


def only(found: list[Message]) -> Message:
    (message,) = found
    assert_taken_by_slack(message)
    return message


def test_test_run_is_one_message_with_counts_by_reason_and_the_worst_queries() -> None:
    message = only(review_message(RouteFilter(), RUN))
    text = readable(message.blocks)
    assert (message.kind, message.level) == ("review", "warning")
    assert message.keys == ("aqb-1.2|" + "ab" * 32,)
    for part in (
        "수기 확인할 질의 8개",
        "질의 120개 중 8개",
        "- 정확성 2점 이하 8개",
        "- 실패하거나 빈 응답 있음 3개",
        RUN.review_list,
    ):
        assert part in text
    assert text.count("`Q-") == 5
    assert "010" not in text


def test_run_that_nobody_has_to_look_at_is_no_message() -> None:
    assert review_message(RouteFilter(), replace(RUN, flagged=0, reasons=(), worst=())) == []


def test_questions_that_the_judge_did_not_answer_are_reported_with_what_to_do_first() -> None:
    text = readable(only(review_message(RouteFilter(), replace(RUN, judge_failed=3))).blocks)
    assert "질문 3개는 판정에 실패했습니다." in text
    assert "먼저 aqb doctor로 판정 모델을 확인하고 다시 채점하세요." in text
    alone = only(review_message(RouteFilter(), replace(RUN, flagged=0, reasons=(), worst=(), judge_failed=3)))
    assert "질문 3개는 판정에 실패했습니다." in readable(alone.blocks)


def test_judge_over_budget_is_reported_even_if_nothing_is_flagged() -> None:
    run = replace(RUN, flagged=0, reasons=(), worst=(), over_budget=17)
    text = readable(only(review_message(RouteFilter(), run)).blocks)
    assert "판정 예산이 다해 질문 17개를 묻지 못했습니다." in text
    assert "aqb score" in text


def test_message_names_what_got_worse_and_says_what_to_do() -> None:
    run = replace(RUN, flagged=0, reasons=(), worst=(), worse=("정확성", "안정성"))
    message = only(review_message(RouteFilter(), run))
    assert message.text.startswith("🟡 Warning · 테스트 결과에서 나빠진 지표: 정확성, 안정성 · ")
    assert "할 일  보고서의 '지난 실행과 비교'에서 가장 나빠진 질의부터 확인하세요." in readable(message.blocks)


def test_notification_says_how_many_executions_failed() -> None:
    run = replace(RUN, outage="실행 120건 중 66건(55%)이 실패하거나 빈 응답입니다", outage_todo="고치세요.")
    assert "실행 120건 중 66건(55%)이 실패" in only(review_message(RouteFilter(), run)).text[:80]


def test_rejected_rows_are_reported_even_if_nothing_is_flagged() -> None:
    message = only(review_message(RouteFilter(), replace(RUN, flagged=0, reasons=(), worst=(), rejected=108)))
    text = readable(message.blocks)
    assert "테스트 결과에서 거부한 행 108건" in message.text
    assert "행 120건 중 108건을 읽지 못해 채점하지 않았습니다." in text
    assert RUN.report in text
    assert "사람이 확인" not in text
    assert RUN.review_list not in text


def test_rejected_rows_stand_beside_flagged_queries() -> None:
    text = readable(only(review_message(RouteFilter(), replace(RUN, rejected=1))).blocks)
    assert "수기 확인할 질의 8개" in text
    assert "행 120건 중 1건을 읽지 못해" in text


def test_queries_of_a_message_are_called_what_they_are_ordered_by() -> None:
    """A query without verdicts loses fewer points than one with a higher total."""
    totals = (1.71, 2.63, 2.43)
    worst = tuple(ReviewedQuery(f"Q-{total}", "몇 명이야?", total, ("정확성 2점 이하",)) for total in totals)
    text = readable(only(review_message(RouteFilter(), replace(RUN, worst=worst))).blocks)
    assert re.findall(r"^.*질의$|Q-[0-9.]+", text, re.MULTILINE) == [
        "점수를 가장 많이 잃은 질의",
        "Q-1.71",
        "Q-2.63",
        "Q-2.43",
    ]


def test_query_without_a_total_says_so() -> None:
    run = replace(RUN, worst=(ReviewedQuery("Q-1", None, None, ("정확성을 채점할 수 없는 응답 있음",)),))
    assert "`Q-1` 종합 점수 없음 · 질의 없음" in readable(only(review_message(RouteFilter(), run)).blocks)


def test_served_report_is_a_link() -> None:
    run = replace(RUN, report_url="https://aqb.example.com/r.html")
    assert "보고서  열기 <https://aqb.example.com/r.html>" in readable(only(review_message(RouteFilter(), run)).blocks)


@pytest.mark.parametrize(
    ("route", "hears"),
    [
        (RouteFilter(), True),
        (RouteFilter(agent_types=frozenset({"plan", "move"})), True),
        (RouteFilter(agent_types=frozenset({"move"})), False),
        (RouteFilter(rubrics=frozenset({"aqb-1.2"})), True),
        (RouteFilter(rubrics=frozenset({"ola-monitoring"})), False),
        (RouteFilter(levels=frozenset({"critical"})), False),
        (RouteFilter(tenants=frozenset({"a"})), False),
    ],
)
def test_route_hears_of_the_runs_it_asked_for(route: RouteFilter, hears: bool) -> None:
    assert bool(review_message(route, RUN)) is hears


@pytest.mark.parametrize("page", ["answer-an-alert.md", "answer-an-alert.ko.md"])
@pytest.mark.parametrize(
    "of_run",
    [
        *({"flagged": 8}, {"rejected": 1}, {"over_budget": 1}, {"judge_failed": 1}),
        *({"worse": ("정확성",)}, {"outage": "실행의 절반이 실패함"}),
    ],
    ids=lambda of_run: str(*of_run),
)
def test_every_headline_about_a_test_run_stands_in_the_guide_of_those_who_get_it(
    page: str, of_run: dict[str, Any]
) -> None:
    message = only(review_message(RouteFilter(), replace(RUN, **{"flagged": 0, **of_run})))
    headline = re.sub(" [0-9]+[건개]$|: .+", "", message.text.split(" · ")[1])
    assert f"\n| {headline} |" in Path("docs/how-to", page).read_text(encoding="utf-8")


def test_files_that_cannot_be_read_are_reported_to_those_who_have_test_runs() -> None:
    """Whoever hears of the chats of one tenant cannot fix them, and the default route takes what nobody hears."""
    files = [RefusedFile("plan_agent_x.csv", "ab", "empty", "빈 파일입니다.")]
    of_tenant, of_agent = RouteFilter(tenants=frozenset({"t1"})), RouteFilter(agent_types=frozenset({"move"}))
    assert refused_message(of_tenant, files) == []
    assert "plan_agent_x.csv" in readable(only(refused_message(of_agent, files)).blocks)
    assert "빈 파일입니다." in readable(only(refused_message(RouteFilter(others=(of_tenant,)), files)).blocks)
    assert refused_message(RouteFilter(others=(of_tenant, of_agent)), files) == []


def test_failed_flow_says_what_where_and_how_to_run_it_again() -> None:
    message = only(failure_message(FLOW))
    text = readable(message.blocks)
    assert (message.kind, message.level, message.keys) == ("failure", "critical", ("flow|0f3a|failed",))
    for part in (
        "🔴 Critical · nightly 2026-03-13 실패",
        "오류  `StorageError` cannot write: No space left on device <!channel> [전화번호]",
        "단계  write 2026-03-13",
        "시도  3번 중 3번째, 더 시도하지 않습니다",
        "`aqb nightly --date 2026-03-13`",
        "실행 0f3a",
    ):
        assert part in text
    assert "<" not in message.text


@pytest.mark.parametrize(
    ("state", "level"), [("failed", "critical"), ("crashed", "critical"), ("cancelled", "warning")]
)
def test_cancelled_flow_is_no_emergency(state: FlowState, level: str) -> None:
    assert only(failure_message(replace(FLOW, state=state))).level == level


def test_flow_that_died_before_its_first_step_says_so() -> None:
    text = readable(only(failure_message(replace(FLOW, step=None, tries=1, max_tries=2, reason=""))).blocks)
    assert "단계에 들어가기 전이나 그 사이" in text
    assert "2번 중 1번째, 다시 시도합니다" in text
    assert "오류  `StorageError`\n" in text


def test_flow_that_is_run_once_says_nothing_of_tries() -> None:
    assert "시도  " not in readable(only(failure_message(replace(FLOW, tries=1, max_tries=1))).blocks)


def test_quiet_week_is_one_line_with_its_last_day_as_key() -> None:
    message = only(quiet_message(date(2026, 3, 2), date(2026, 3, 8), 7, 3_745))
    assert (message.kind, message.level, message.keys) == ("quiet", "info", ("quiet|2026-03-08",))
    assert "채점한 날 7일, 행 3,745건" in readable(message.blocks)


def test_kept_day_names_three_losses_and_counts_the_others() -> None:
    losses = tuple(Loss(f"t{number}", 400, number) for number in range(5))
    text = readable(only(kept_message([KeptDay(date(2026, 3, 13), losses, "c")])).blocks)
    assert "; 테넌트 t2 채점한 400행 → 지금 원본에 2행 외 2곳" in text
    assert "t3" not in text


def test_dead_letters_are_listed_all() -> None:
    written = datetime(2026, 3, 1, 23, tzinfo=UTC)
    messages = [OutboxMessage(n, "ops", "page", "critical", "", f"알림 {n}", [], written) for n in range(301)]
    parts = expired_message(messages, ["dead|300"], SEOUL)
    for part in parts:
        assert_taken_by_slack(part)
    text = "\n".join(readable(part.blocks) for part in parts)
    assert all(f"알림 {n}\n" in text for n in range(300))
    assert "포기한 알림 300건" in text
    assert "3월 2일(월)" in text
    assert "`aqb alerts --revive`" in text


def test_without_dead_letters_there_is_nothing_to_say() -> None:
    assert expired_message([], (), SEOUL) == []


def test_late_night_of_several_services_says_what_became_of_each_and_what_explains_the_others() -> None:
    absent = LateNight(date(2026, 3, 13), time(7), "absent", last_day=date(2026, 3, 12))
    running = replace(absent, state="running", started=datetime(2026, 3, 13, 16, tzinfo=UTC), run_id="a1")
    text = readable(only(late_message({"one": absent, "two": running, "three": absent}, SEOUL)).blocks)
    assert "서비스  one, three\n이 밤의 실행  없음\n" in text
    assert "서비스  two\n이 밤의 실행  3월 14일(토) 01:00에 시작, 아직 끝나지 않음\n" in text
    assert "할 일  아직 돌고 있습니다." in text
    assert late_message({}, SEOUL) == []


def test_all_clear_names_a_run_that_failed_several_times_once() -> None:
    night = date(2026, 3, 13)
    over = {
        Unfinished("nightly", night, night, f"run-{number}"): datetime(2026, 3, 14, 1, number, tzinfo=UTC)
        for number in range(3)
    }
    (message,) = all_clear_message(over, SEOUL)
    assert message.text == "🟢 해소 · 3월 13일(금) 야간 실행"
    assert "3월 13일(금) 야간 실행 · 3월 14일(토) 10:00부터 3번 알림" in readable(message.blocks)
    assert len(message.keys) == 3
