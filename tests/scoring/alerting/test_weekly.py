"""The message on Mondays: what the week was, beside the week before."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.decision import WatchedDays
from scoring.alerting.growth import Grown, Growth
from scoring.alerting.judge_messages import ModelEnd
from scoring.alerting.messages import Message, RouteFilter, fact_key
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import AlertPolicy
from scoring.alerting.weekly import Week, weekly_message
from scoring.chat.kpis import KpisByDay
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, kpi_row, met
from tests.builders.alert_messages import MADE
from tests.scoring.alerting.slack_rules import assert_taken_by_slack

SUNDAY = FIRST_DAY + timedelta(13)
MADE_AT = datetime(2026, 3, 12, tzinfo=UTC)


def week(*weeks: dict[str, int], tenants: tuple[str | None, ...] = ("*",), **changes: Any) -> Week:
    """Weeks of equal days on which rules fired so often, the last one the week that is reported."""
    kpis = {}
    for number in range(7 * len(weeks)):
        day = SUNDAY - timedelta(7 * len(weeks) - 1 - number)
        named = {"score_date": day, "rubric": RUBRIC.id, "rubric_version": RUBRIC.version}
        kpis[day] = [met(kpi_row(weeks[number // 7], tenant=tenant)) | named for tenant in tenants]
    return Week(SUNDAY, RUBRIC, kpis, **changes)


def message_of(found: Week, route: RouteFilter | None = None) -> Message:
    (message,) = weekly_message(found, route or RouteFilter())
    assert_taken_by_slack(message)
    return message


def test_weekly_message_pools_the_week_and_stands_it_beside_the_one_before() -> None:
    message = message_of(week({"answer_failed": 20}, {"answer_failed": 20}))
    text = readable(message.blocks)
    assert text.startswith("⚪ 안내 · 3월 9일(월)~3월 15일(일) 주간 요약\n")
    assert "전체  채점 3,745건(7일), 앞 주 3,745건(7일)" in text
    assert (
        "🟢 실패율 0.0% (95% 구간 0.0~0.1%) · 목표 3% 이하 · 달성 · n=3,745\n  앞 주 0.0%, 달라졌다고 할 수 없음"
        in text
    )
    assert "알림 규칙  앞 주와 달라졌다고 할 만한 것이 없음" in text
    assert (message.kind, message.level, message.keys) == (
        "weekly",
        "info",
        (f"weekly|ola-monitoring@{RUBRIC.version}|2026-03-15",),
    )


def test_weekly_message_says_what_another_version_has_scored() -> None:
    """A version that began on Sunday has one day: the others were scored, too."""
    usual = {"answer_failed": 20}
    found = week(usual, usual, usual)
    of_version = {
        day: [{**row, "rubric_version": RUBRIC.version if day == SUNDAY else "0"} for row in rows]
        for day, rows in found.kpis.items()
    }
    text = readable(message_of(replace(found, kpis=of_version)).blocks)
    assert "전체  채점 535건(1일), 앞 주는 없음" in text
    assert "다른 채점 기준이나 버전으로 채점한 이 주 3,210건(6일), 앞 주 3,745건(7일)은 넣지 않음" in text
    assert "넣지 않음" not in readable(message_of(found).blocks)


def test_weekly_message_names_what_called_people_on_a_day_though_the_week_is_as_usual() -> None:
    found = week({"answer_failed": 20}, {"answer_failed": 20}, {"answer_failed": 20}, {"answer_failed": 20})
    wednesday = SUNDAY - timedelta(4)
    risen = {**found.kpis, wednesday: [{**found.kpis[wednesday][0], "alert_answer_failed": 60}]}
    text = readable(message_of(replace(found, watched=WatchedDays(RUBRIC, risen, AlertPolicy()))).blocks)
    assert "3월 11일(수) 긴급 알림  답변 실패 · 급증, 평소의 3.0배" in text
    assert "긴급 알림" not in readable(
        message_of(replace(found, watched=WatchedDays(RUBRIC, found.kpis, AlertPolicy()))).blocks
    )


def test_weekly_message_names_the_pages_that_were_sent_whatever_their_days_say_now() -> None:
    """A backfill that tells nobody may have made a day an outage, or one that paged as usual."""
    found = week(*[{"answer_failed": 20}] * 4)
    tuesday, wednesday = SUNDAY - timedelta(5), SUNDAY - timedelta(4)
    risen = {**found.kpis, wednesday: [{**found.kpis[wednesday][0], "alert_answer_failed": 60}]}
    found = replace(found, watched=WatchedDays(RUBRIC, risen, AlertPolicy()))

    def reported(*pages: str) -> str:
        (message,) = weekly_message(found, RouteFilter(), (), pages)
        return readable(message.blocks)

    def page(day: date, tenant: str | None = "*") -> str:
        return fact_key(RUBRIC.id, RUBRIC.version, "answer_failed", day, tenant)

    assert "긴급 알림" not in reported()
    of_other_rules = fact_key(RUBRIC.id, "0", "rule_of_an_earlier_version", wednesday, "*")
    assert "긴급 알림" not in reported(of_other_rules)
    of_wednesday = reported(page(wednesday))
    assert "3월 11일(수) 긴급 알림  답변 실패 · 급증, 평소의 3.0배" in of_wednesday
    assert of_wednesday.count("긴급 알림  ") == 1
    of_tuesday = reported(page(tuesday, "t1"), page(SUNDAY - timedelta(7)))
    assert "3월 10일(화) 긴급 알림  답변 실패(테넌트 t1) · 다시 채점해 보니 평소 범위" in of_tuesday
    assert of_tuesday.count("긴급 알림  ") == 1
    assert "3월 10일(화) 긴급 알림  답변 실패 · 다시 채점해 보니 평소 범위" in reported(page(tuesday))


def test_weekly_message_gives_the_rise_of_a_rule_that_was_sent_with_a_page() -> None:
    """Warnings whose rows are mostly those of a page are part of it: they have not become usual since."""
    usual = {"answer_failed": 20, "weak_answer": 20}
    found, wednesday = week(usual, usual, usual, usual), SUNDAY - timedelta(4)
    row = {**found.kpis[wednesday][0], "alert_answer_failed": 60, "alert_weak_answer": 60}
    risen = WatchedDays(RUBRIC, {**found.kpis, wednesday: [row]}, AlertPolicy())
    pages = [fact_key(RUBRIC.id, RUBRIC.version, rule, wednesday, "*") for rule in usual]
    (message,) = weekly_message(replace(found, watched=risen), RouteFilter(), (), pages)
    text = readable(message.blocks)
    assert (
        "3월 11일(수) 긴급 알림  답변 실패 · 급증, 평소의 3.0배; 합리적 질문에 부족한 답변 · 급증, 평소의 3.0배" in text
    )
    assert "평소 범위" not in text


def test_weekly_message_names_of_a_page_what_it_named_and_not_what_the_whole_day_made_rise() -> None:
    usual = {"answer_failed": 20, "final_failed": 6, "weak_answer": 20}
    found, wednesday = week(usual, usual, usual, usual), SUNDAY - timedelta(4)
    shared = {"alerts_answer_failed_and_final_failed": 18}
    row = {**found.kpis[wednesday][0], "alert_answer_failed": 60, "alert_final_failed": 30, "alert_weak_answer": 30}
    risen = WatchedDays(RUBRIC, {**found.kpis, wednesday: [row | shared]}, AlertPolicy())
    pages = [fact_key(RUBRIC.id, RUBRIC.version, rule, wednesday, "*") for rule in ("weak_answer", "answer_failed")]
    (message,) = weekly_message(replace(found, watched=risen), RouteFilter(), (), pages)
    (line,) = (one for one in readable(message.blocks).split("\n") if "긴급 알림  " in one)
    of_warning = "합리적 질문에 부족한 답변 · 다시 채점해 보니 30/535건(5.6%), 평소 범위보다 많음"
    assert line == f"3월 11일(수) 긴급 알림  답변 실패 · 급증, 평소의 3.0배; {of_warning}"


def test_weekly_message_of_a_week_with_two_days_calls_nothing_unchanged() -> None:
    found = week({"answer_failed": 20}, {"answer_failed": 60})
    two = {day: rows for day, rows in found.kpis.items() if day not in [SUNDAY - timedelta(back) for back in range(5)]}
    text = readable(message_of(replace(found, last=SUNDAY, kpis=two)).blocks)
    assert "알림 규칙  비교할 날이 모자람" in text
    assert "달라졌다고 할 만한 것이 없음" not in text


def test_weekly_message_of_a_tenant_without_rows_at_the_end_compares_it_with_the_week_before_alone() -> None:
    """A customer who rests on weekends has no row of Sunday: the week before is that of the calendar nevertheless."""
    found = week(*[{"answer_failed": 20}] * 3, tenants=("*", "t1"))
    weekend = (SUNDAY, SUNDAY - timedelta(1))
    at_rest = {
        day: [one for one in rows if day not in weekend or one["tenant_id"] == "*"] for day, rows in found.kpis.items()
    }
    text = readable(message_of(replace(found, kpis=at_rest), RouteFilter(tenants=frozenset({"t1"}))).blocks)
    assert "테넌트 t1  채점 2,675건(5일), 앞 주 3,745건(7일)" in text


def test_week_of_an_outage_names_its_day_and_what_the_others_had() -> None:
    """One day of seven that fails whole is neither a quiet week nor a reason to say nothing about the other six."""
    found = week(*[{"answer_failed": 22}] * 4)
    thursday = SUNDAY - timedelta(3)

    def outage(kpis: KpisByDay) -> KpisByDay:
        failed = {"alert_answer_failed": 535, "failure_rate": 1.0}
        rates = {day: [{**row, "failure_rate": 22 / 535} for row in rows] for day, rows in kpis.items()}
        return {**rates, thursday: [{**row, **failed} for row in rates[thursday]]}

    watched = WatchedDays(RUBRIC, outage(found.kpis), AlertPolicy())
    text = readable(message_of(replace(found, kpis=outage(found.kpis), watched=watched)).blocks)
    assert "⚪ 실패율 17.8%" in text
    assert "· 하루가 크게 달라 판단 보류 ·" in text
    assert "3월 12일(목) 하루가 100.0%, 다른 날들은 4.1%(미달)\n  앞 주 4.1%, 달라졌다고 할 수 없음" in text
    assert "알림 규칙  아래 긴급 알림의 규칙을 빼면 앞 주와 달라졌다고 할 만한 것이 없음" in text
    after = replace(found, last=SUNDAY + timedelta(7), kpis=_a_week_later(outage(found.kpis)))
    assert "앞 주 17.8% (3월 12일(목) 하루가 100.0%, 다른 날들은 4.1%(미달))" in readable(message_of(after).blocks)


def _a_week_later(kpis: KpisByDay) -> KpisByDay:
    """The same days and a usual week after them."""
    usual = kpis[SUNDAY]
    days = [SUNDAY + timedelta(number) for number in range(1, 8)]
    return {**kpis, **{day: [{**row, "score_date": day} for row in usual] for day in days}}


def test_weekly_message_names_the_rule_that_changed_most_and_what_grew_in_it() -> None:
    grown = Grown("failure_type", "refused_advice", 120, 20.0, 0.9, 0.8, 1.0)
    growth = {("answer_failed", "*"): Growth((grown,))}
    before, this = {"answer_failed": 20, "weak_answer": 8}, {"answer_failed": 45, "weak_answer": 10}
    text = readable(message_of(week(before, this, growth=growth)).blocks)
    assert "가장 달라진 것  답변 실패 3.7% → 8.4%, 올라감 (95% 구간 +3.4~+5.9%p) · 주로 거절: 투자 자문(법률)" in text


def test_title_of_a_week_names_the_target_that_is_missed_by_more_than_before() -> None:
    worse = readable(MADE["weekly"]().blocks).splitlines()[0]
    assert worse == "⚪ 안내 · 3월 9일(월)~3월 15일(일) 주간 요약 · 실패율 5.0% → 8.8%"
    assert of_failures(45, 45).endswith("주간 요약")  # missed as before
    assert of_failures(2, 12).endswith("주간 요약")  # worse, and met


def of_failures(before: int, this: int) -> str:
    """The title of a week with so many failed answers a day."""
    found = week({"answer_failed": before}, {"answer_failed": this})
    kpis = {
        day: [{**row, "failure_rate": row["alert_answer_failed"] / row["rows"]} for row in rows]
        for day, rows in found.kpis.items()
    }
    return readable(message_of(replace(found, kpis=kpis)).blocks).splitlines()[0]


@pytest.mark.parametrize(("tenant", "shown"), [("*", True), ("t1", True), ("t2", False)])
def test_weekly_message_shows_what_is_snoozed_and_until_when(tenant: str, shown: bool) -> None:
    made = Snooze("answer_failed", tenant, SUNDAY + timedelta(4), "새 프롬프트를 넣는 중", "kim", MADE_AT)
    over = replace(made, rule="weak_answer", until=SUNDAY - timedelta(1))
    found = week({"answer_failed": 20}, tenants=("*", "t1"), snoozes=(made, over))
    text = readable(message_of(found, RouteFilter(tenants=frozenset({"t1"}))).blocks)
    assert ("답변 실패" in text and "3월 19일(목)까지, 이유: 새 프롬프트를 넣는 중 (kim)" in text) is shown
    assert "합리적 질문에 부족한 답변: " not in text


def test_weekly_message_says_where_a_rate_fell() -> None:
    text = readable(message_of(week({"final_failed": 30}, {"final_failed": 4})).blocks)
    assert "가장 달라진 것  종합 등급 F 5.6% → 0.7%, 내려감" in text


def test_weekly_message_names_a_target_that_surely_fell_where_no_rule_surely_changed() -> None:
    """Of six rules none is sure of a week whose days differ this much; the one KPI is."""
    found = week({}, {})
    counts = [36, 31, 34, 31, 26, 30, 28, 34, 38, 70, 66, 62, 44, 42]
    for rows, count in zip(found.kpis.values(), counts, strict=True):
        rows[0].update(kpi_row({"answer_failed": count}))  # type: ignore[attr-defined]
    message = message_of(found)
    assert "주간 요약 · 실패율 5.8% → 9.5%" in message.text
    assert "가장 달라진 것  실패율 5.8% → 9.5%" in readable(message.blocks)


def test_weekly_message_compares_the_rules_of_a_rubric_without_targets() -> None:
    without = replace(RUBRIC, quotients=tuple(replace(kpi, target=None) for kpi in RUBRIC.quotients))
    text = readable(message_of(replace(week({"final_failed": 30}, {"final_failed": 4}), rubric=without)).blocks)
    assert "가장 달라진 것  종합 등급 F 5.6% → 0.7%, 내려감" in text


def test_weekly_message_counts_days_without_a_scored_row_apart() -> None:
    found = week({}, {})
    days = {day: [{**row, "rows": 0} for row in rows] if day == SUNDAY else rows for day, rows in found.kpis.items()}
    assert "채점 3,210건(6일, 채점한 행이 없는 날 1일), 앞 주 3,745건(7일)" in readable(
        message_of(replace(found, kpis=days)).blocks
    )


def test_weekly_message_without_a_week_before_compares_nothing() -> None:
    text = readable(message_of(week({"answer_failed": 20})).blocks)
    assert "채점 3,745건(7일), 앞 주는 없음" in text
    assert "가장 달라진 것" not in text


def test_weekly_message_does_not_compare_two_rubric_versions() -> None:
    found = week({"answer_failed": 20}, {"answer_failed": 60})
    for day, rows in found.kpis.items():
        if day <= SUNDAY - timedelta(7):
            rows[0]["rubric_version"] = "0"  # type: ignore[index]
    assert "앞 주는 없음" in readable(message_of(found).blocks)


@pytest.mark.parametrize(
    ("route", "shown"),
    [
        (RouteFilter(), ["전체"]),
        (RouteFilter(tenants=frozenset({"b", ""})), ["테넌트 없는 행", "테넌트 b"]),
        (RouteFilter(tenants=frozenset({"nobody"})), []),
        (RouteFilter(levels=frozenset({"critical"})), []),
        (RouteFilter(rubrics=frozenset({"aqb-1.2"})), []),
        (RouteFilter(agent_types=frozenset({"move"})), []),
    ],
)
def test_weekly_message_goes_to_routes_that_ask_for_chat_rows(route: RouteFilter, shown: list[str]) -> None:
    found = weekly_message(week({}, {}, tenants=("*", None, "a", "b")), route)
    text = "".join(readable(message.blocks) for message in found)
    assert [name for name in ("전체", "테넌트 없는 행", "테넌트 a", "테넌트 b") if f"{name}  채점" in text] == shown


def test_weekly_message_is_reported_once() -> None:
    found = week({}, {})
    assert weekly_message(found, RouteFilter(), message_of(found).keys) == []


def test_weekly_message_says_that_the_model_that_judges_is_shut_down_soon() -> None:
    found = week({"answer_failed": 20}, judge_end=ModelEnd("gpt-old", SUNDAY + timedelta(40)))
    text = readable(message_of(found).blocks)
    assert f"gpt-old의 종료일은 {SUNDAY + timedelta(40)}입니다(40일 남음)" in text
    assert "aqb judge switch MODEL --dry-run" in text
    over = readable(message_of(replace(found, judge_end=ModelEnd("gpt-old", SUNDAY))).blocks)
    assert "이미 종료됨" in over
    assert "종료" not in readable(message_of(replace(found, judge_end=None)).blocks)
