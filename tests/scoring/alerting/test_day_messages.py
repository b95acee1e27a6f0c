import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.facts import AlertFact, monitoring_facts
from scoring.alerting.growth import TEMPLATE, Grown
from scoring.alerting.messages import Example, Message, RouteFilter, fact_key
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import ROWS_REJECTED
from scoring.chat.templates import WORD
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import (
    FIRST_DAY,
    Facts,
    KpiRow,
    counted,
    day_digest,
    days_of_facts,
    kpi_row,
    met,
)
from tests.builders.alert_messages import MADE
from tests.scoring.alerting.slack_rules import assert_taken_by_slack, inlines

SNAPSHOTS = Path(__file__).parents[2] / "cases" / "alerting"
DAYS = 8
LAST = FIRST_DAY + timedelta(DAYS - 1)
EVERYTHING = RouteFilter()
USUAL = {"answer_failed": 20, "final_failed": 4, "weak_answer": 6}


def facts_of(*last: KpiRow, before: Sequence[KpiRow] = ()) -> Facts:
    """A week of usual days, of these rows each, and a last one."""
    usual = list(before) or [met(kpi_row(USUAL))]
    rows = [usual] * (DAYS - 1) + [list(last)]
    return days_of_facts((FIRST_DAY + timedelta(number), of_day) for number, of_day in enumerate(rows))


def messages_of(
    facts: Facts,
    route: RouteFilter = EVERYTHING,
    day: date = LAST,
    known: Sequence[str] = (),
    **digest: Any,
) -> list[Message]:
    found = day_messages(day_digest(day, facts, kpi_row(USUAL), **digest), route, known)
    for message in found:
        assert_taken_by_slack(message)
    return found


def today(**counts: int) -> KpiRow:
    return met(kpi_row(USUAL | counts))


def kinds(found: Sequence[Message]) -> list[str]:
    return [message.kind for message in found]


@pytest.mark.parametrize("name", MADE)
def test_message_reads_as_it_did(name: str) -> None:
    """A changed wording is looked at first: see tests/fakes/slack_page.py."""
    message = MADE[name]()
    assert_taken_by_slack(message)
    shown = f"{message.text}\n\n{readable(message.blocks)}\n"
    snapshot = (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")
    assert shown == snapshot.replace("ola-monitoring 버전 1 ", f"ola-monitoring 버전 {RUBRIC.version} ")


def test_day_like_the_others_says_nothing() -> None:
    assert messages_of(facts_of(today())) == []


def test_rule_that_triples_has_a_page_of_its_own_and_no_digest() -> None:
    (page,) = messages_of(facts_of(today(answer_failed=60)))
    assert (page.kind, page.level) == ("page", "critical")
    assert page.keys == (f"ola-monitoring@{RUBRIC.version}|answer_failed|2026-03-09|*",)
    assert readable(page.blocks[:1]) == "🔴 Critical · 답변 실패 · 급증, 평소의 3.0배"


def test_warning_that_triples_stands_in_the_digest() -> None:
    (digest,) = messages_of(facts_of(today(weak_answer=18)))
    assert (digest.kind, digest.level) == ("digest", "warning")


def test_digest_names_what_was_paged_and_what_goes_on_in_one_line_each() -> None:
    page, digest = messages_of(facts_of(today(answer_failed=60, weak_answer=18)))
    assert kinds([page, digest]) == ["page", "digest"]
    lines = readable(digest.blocks).splitlines()
    place = lines.index("긴급 알림  답변 실패 60/535건(11.2%, 평소 3.7%)")
    assert lines[place + 1] == "평소 수준  종합 등급 F 4/535건(0.7%, 평소 0.7%)"
    assert digest.keys == (f"ola-monitoring@{RUBRIC.version}|weak_answer|2026-03-09|*",)


def test_two_rules_page_apart_and_three_at_once_are_one_event() -> None:
    two = messages_of(facts_of(today(answer_failed=60, final_failed=30)))
    assert kinds(two) == ["page", "page"]
    (event,) = messages_of(facts_of(today(answer_failed=60, final_failed=30, llm_blocked=20)))
    assert readable(event.blocks[:1]) == "🔴 Critical · 답변 실패 · 급증, 평소의 3.0배 · 외 2가지"
    assert len(event.keys) == 3


def test_rule_with_the_rows_of_a_page_is_reported_with_it_and_in_no_digest() -> None:
    counts = {"answer_failed": 38, "final_failed": 28}
    assert kinds(messages_of(facts_of(today(**counts)))) == ["page", "digest"]
    (page,) = messages_of(facts_of(today(**counts) | {"alerts_answer_failed_and_final_failed": 27}))
    assert page.kind == "page"
    assert [key.split("|")[1] for key in page.keys] == ["final_failed", "answer_failed"]
    assert "답변 실패 · 급증, 평소의 1.9배\n38/535건" in readable(page.blocks)


def test_day_without_rows_pages() -> None:
    (page,) = messages_of(facts_of(kpi_row({}, rows=0)))
    assert "행이 하나도 들어오지 않았습니다. · 평소 535행 (비교한 4일 535행)" in readable(page.blocks)
    assert f"`aqb nightly --date {LAST}`" in readable(page.blocks)


@pytest.mark.parametrize("kind", ["nightly", "intraday"])
def test_day_of_which_no_row_could_be_read_pages_that_rows_came(kind: str) -> None:
    facts = facts_of(kpi_row({}, rows=0))
    facts[LAST] = monitoring_facts(RUBRIC, LAST, [kpi_row({}, rows=0)], {}, {}, rejected=300)
    (page,) = messages_of(facts, kind=kind)
    said = readable(page.blocks)
    assert "이날 행을 하나도 읽지 못함" in said
    assert "300행이 들어왔지만 하나도 읽지 못했습니다." in said
    assert "거부한 까닭은 rejected 테이블에 줄마다 있습니다." in said
    assert "들어오지 않았습니다" not in said


def test_rise_in_the_first_days_is_reported_against_these_days() -> None:
    facts = counted([4, 4, 4, 60], "final_failed")
    (page,) = messages_of(facts, day=FIRST_DAY + timedelta(3))
    assert re.search(r"급증, 평소의 1\d\.\d배", readable(page.blocks))
    assert re.search(r"평소 0\.8% \(.*%\), 지난 3일에서 어림", readable(page.blocks))


def test_first_day_has_no_usual_rate() -> None:
    (page,) = messages_of(counted([60], "final_failed"), day=FIRST_DAY)
    assert "비교할 지난 날이 없음" in readable(page.blocks)
    assert "평소" not in readable(page.blocks)


def test_digest_names_a_rule_that_is_reported_in_a_page_with_the_page() -> None:
    counts = {"answer_failed": 38, "final_failed": 28, "weak_answer": 18}
    page, digest = messages_of(facts_of(today(**counts) | {"alerts_answer_failed_and_final_failed": 27}))
    assert kinds([page, digest]) == ["page", "digest"]
    reported = [line for line in readable(digest.blocks).splitlines() if line.startswith(("긴급 알림", "계속"))]
    assert len(reported) == 1
    assert re.match("긴급 알림  .*답변 실패 38/535건.*", reported[0])
    assert "종합 등급 F 28/535건" in reported[0]


def test_rejected_rows_are_compared_with_no_day_and_say_how_to_score_again() -> None:
    facts = facts_of(today())
    rejected = AlertFact(ROWS_REJECTED, "warning", "읽지 못해 거부한 행", ALL_TENANTS, 4, 539)
    facts[LAST].append(rejected)
    (digest,) = messages_of(facts)
    assert "4/539건 (0.7%, 95% 구간 0.3~1.9%)\n" in readable(digest.blocks)
    assert f"`aqb nightly --date {LAST}`" in readable(digest.blocks)


def test_what_a_route_was_notified_of_is_no_news() -> None:
    facts = facts_of(today(answer_failed=60, weak_answer=18))
    page, digest = messages_of(facts)
    assert kinds(messages_of(facts, known=page.keys)) == ["digest"]
    assert kinds(messages_of(facts, known=digest.keys)) == ["page"]
    assert messages_of(facts, known=[f"{key}#{part}/2" for key in (*page.keys, *digest.keys) for part in (1, 2)]) == []


def test_only_what_is_new_since_the_last_run_is_reported() -> None:
    facts = facts_of(today(weak_answer=18, very_short_answer=3))
    (digest,) = messages_of(facts, known=[fact_key("ola-monitoring", RUBRIC.version, "weak_answer", LAST, "*")])
    assert digest.keys == (f"ola-monitoring@{RUBRIC.version}|very_short_answer|2026-03-09|*",)


def test_intraday_run_pages_and_calls_itself_provisional() -> None:
    (page,) = messages_of(facts_of(today(answer_failed=60, weak_answer=18)), kind="intraday")
    assert page.kind == "page"
    assert "지금까지, 잠정 집계" in readable(page.blocks)


def test_intraday_run_does_not_mind_that_nobody_has_come_yet() -> None:
    assert messages_of(facts_of(kpi_row({}, rows=0)), kind="intraday") == []


def with_growth(facts: Facts, rule: str, *grown: Grown) -> Facts:
    """The same facts, with this made most of the rise of a rule on the last day."""
    facts[LAST] = [replace(fact, grown=grown) if fact.rule == rule else fact for fact in facts[LAST]]
    return facts


@pytest.mark.parametrize(
    ("column", "value", "name"),
    [
        ("failure_type", "refused_advice", "거절: 투자 자문(법률)"),
        ("failure_type", None, "실패 유형 없는 행"),
        ("question_category", "target_price", "목표주가 질문"),
        ("tenant_id", "small", "테넌트 small"),
        ("tenant_id", None, "테넌트 없는 행"),
        ("tenant_id", "", "빈 테넌트"),
        (TEMPLATE, "{종목} 목표주가", "'{종목} 목표주가' 형태의 질문"),
        (TEMPLATE, WORD, "낱말 하나뿐인 질문"),
        (TEMPLATE, "", "글자가 없는 질문"),
        (TEMPLATE, "제 메일은 hong@naver.com", "'제 메일은 [이메일]' 형태의 질문"),
    ],
)
def test_page_names_what_grew_most(column: str, value: str | None, name: str) -> None:
    grown = Grown(column, value, 36, 4.2, 0.8, 0.66, 0.94)
    (page,) = messages_of(with_growth(facts_of(today(answer_failed=60)), "answer_failed", grown))
    assert readable(page.blocks[:1]) == f"🔴 Critical · 답변 실패 · 급증, 평소의 3.0배 · 주로 {name}"
    assert f"주로  {name} 36건, 앞선 날들의 비율로는 4건 · 증가분의 80% (95% 구간 66~94%)" in readable(page.blocks)


def test_page_of_the_first_day_says_nothing_of_what_would_be_usual() -> None:
    grown = Grown("tenant_id", "small", 36, 0.0, 0.8, 0.66, 0.94)
    facts = counted([60], "final_failed")
    facts[FIRST_DAY] = [replace(fact, grown=(grown,)) for fact in facts[FIRST_DAY]]
    (page,) = messages_of(facts, day=FIRST_DAY)
    assert "주로  테넌트 small 36건 · 해당한 행의 80% (95% 구간 66~94%)" in readable(page.blocks)
    assert "평소" not in readable(page.blocks)


def test_page_names_how_rows_failed_before_what_is_no_surer() -> None:
    short = Grown("question_category", "target_price", 38, 10, 0.93, 0.66, 1.0)
    failure = Grown("failure_type", "not_understood", 30, 3, 0.91, 0.57, 1.0)
    tenant = Grown("tenant_id", "narae", 31, 6, 0.84, 0.52, 1.0)
    (page,) = messages_of(with_growth(facts_of(today(answer_failed=60)), "answer_failed", short, failure, tenant))
    named = re.findall(r"주로  (\S+(?: \S+)*?) \d+건", readable(page.blocks))
    assert named == ["질문을 이해하지 못함", "테넌트 narae", "목표주가 질문"]
    assert "주로 질문을 이해하지 못함, 테넌트 narae" in readable(page.blocks[:1])
    separated = replace(failure, high=0.6)
    (page,) = messages_of(with_growth(facts_of(today(answer_failed=60)), "answer_failed", short, separated))
    assert "주로 목표주가 질문" in readable(page.blocks[:1])


def test_row_id_links_to_its_place_on_the_page_of_the_day() -> None:
    facts = facts_of(today(answer_failed=60))
    ids = [row_id for fact in facts[LAST] for row_id in fact.row_ids if fact.rule == "answer_failed"]
    examples = {row_id: Example(row_id, None, "답변", None, 1.0) for row_id in ids}
    urls = {row_id: f"https://aqb.example.com/monitoring/{LAST}.html#row-{row_id}" for row_id in ids[1:]}
    (page,) = messages_of(facts, examples=examples, row_urls=urls)
    assert {one["text"]: one.get("url") for one in inlines(page) if one["type"] == "link"} == urls
    assert ids[0] in [one["text"] for one in inlines(page) if one["type"] == "code"]


@pytest.mark.parametrize(("counts", "kind"), [({"answer_failed": 60}, "page"), ({"weak_answer": 18}, "digest")])
def test_figures_lead_to_the_rows_of_each_incident_where_they_are_served(counts: dict[str, int], kind: str) -> None:
    (rule,) = counts
    url = f"https://aqb.example.com/rows?alert={rule}"
    urls = {(rule, "*"): url, ("llm_blocked", "*"): "https://aqb.example.com/rows?alert=llm_blocked"}
    (message,) = messages_of(facts_of(today(**counts)), rows_urls=urls)
    assert message.kind == kind
    assert [one["url"] for one in inlines(message) if one["type"] == "link"] == [url]


def test_examples_take_turns_between_the_rules_of_one_message() -> None:
    facts = facts_of(today(answer_failed=60, final_failed=30, llm_blocked=20))
    examples = {row_id: Example(row_id, None, "a", None, 1.0) for fact in facts[LAST] for row_id in fact.row_ids}
    (event,) = messages_of(facts, examples=examples)
    shown = [one["text"] for one in inlines(event) if one["type"] == "code" and one["text"] in examples]
    rules = ["answer_failed", "llm_blocked", "final_failed"]
    assert [one.split("-")[0] for one in shown] == [*rules, *rules[:2]]


@pytest.mark.parametrize("own", ["weak", ""])
def test_examples_of_a_page_are_not_those_of_the_digest_of_its_day(own: str) -> None:
    facts = facts_of(today(answer_failed=60, weak_answer=18))
    ids = [*next(fact.row_ids for fact in facts[LAST] if fact.rule == "answer_failed")[:3], *filter(None, [own])]
    facts[LAST] = [replace(one, row_ids=tuple(ids)) if one.rule == "weak_answer" else one for one in facts[LAST]]
    _, digest = messages_of(facts, examples={row_id: Example(row_id, None, "a", None, 1.0) for row_id in ids})
    assert [row_id for row_id in ids if row_id in readable(digest.blocks)] == [*filter(None, [own])]
    assert ("긴급 알림의 예시와 같은 행입니다." in readable(digest.blocks)) == (not own)


def test_examples_show_a_template_once() -> None:
    facts = facts_of(today(answer_failed=60))
    ids = {row_id for fact in facts[LAST] for row_id in fact.row_ids}
    companies = dict(zip(sorted(ids), ["하늘전자", "가온뜰", "새솔미", "모란재"] * 5, strict=False))
    examples = {one: Example(one, f"{name} 목표주가", "거절", None, 1.0) for one, name in companies.items()}
    (page,) = messages_of(facts, examples=examples)
    assert readable(page.blocks).count("목표주가") == 1


def tenants(**last: int) -> Facts:
    """Two tenants: `big` as usual, `small` with these rules on the last day."""
    big, small = met(kpi_row(USUAL, tenant="big")), met(kpi_row({"answer_failed": 1}, rows=60, tenant="small"))
    total = met(kpi_row(USUAL | {"answer_failed": 21}))
    changed = small | {f"alert_{rule}": count for rule, count in last.items()}
    both = total | {f"alert_{rule}": USUAL.get(rule, 0) + count for rule, count in last.items()}
    return facts_of(both, big, changed, before=[total, big, small])


def test_small_tenant_in_trouble_pages_though_all_together_are_as_usual() -> None:
    (page,) = messages_of(tenants(answer_failed=12))
    assert readable(page.blocks[:1]) == "🔴 Critical · 답변 실패 · 급증, 평소의 10.1배 (테넌트 small)"
    assert "테넌트 small  12/60건 (20.0%, 95% 구간 11.8~31.8%) · 평소 2.0% (" in readable(page.blocks)
    assert page.keys == (f"ola-monitoring@{RUBRIC.version}|answer_failed|2026-03-09|'small'",)


def test_page_about_all_tenants_says_who_they_are() -> None:
    (page,) = messages_of(tenants(answer_failed=40))
    (line,) = [line for line in readable(page.blocks).splitlines() if line.startswith("테넌트 small")]
    assert re.fullmatch(r"테넌트 small 40/60건\(66.7%, 평소 [0-9.]+%\)", line)  # the other one is as usual
    assert page.keys == (f"ola-monitoring@{RUBRIC.version}|answer_failed|2026-03-09|*",)


def test_page_gives_the_command_for_those_who_know_the_cause() -> None:
    (of_one,) = messages_of(tenants(answer_failed=12))
    assert "알고 있는 일이면  `aqb alerts snooze '답변 실패' --tenant small --until 2026-03-16 --why 이유`" in readable(
        of_one.blocks
    )
    (of_all,) = messages_of(facts_of(today(answer_failed=60)))
    assert "알고 있는 일이면  `aqb alerts snooze '답변 실패' --until 2026-03-16 --why 이유`" in readable(of_all.blocks)


def test_route_hears_of_its_own_tenants_alone() -> None:
    facts = tenants(answer_failed=40)
    (page,) = messages_of(facts, RouteFilter(tenants=frozenset({"small"})))
    assert page.keys == (f"ola-monitoring@{RUBRIC.version}|answer_failed|2026-03-09|'small'",)
    assert messages_of(facts, RouteFilter(tenants=frozenset({"big"}))) == []


def test_route_of_a_tenant_hears_of_a_day_without_rows() -> None:
    assert kinds(messages_of(facts_of(kpi_row({}, rows=0)), RouteFilter(tenants=frozenset({"small"})))) == ["page"]


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (RouteFilter(), ["page", "digest"]),
        (RouteFilter(levels=frozenset({"critical"})), ["page"]),
        (RouteFilter(levels=frozenset({"warning"})), ["digest"]),
        (RouteFilter(rubrics=frozenset({"ola-monitoring"})), ["page", "digest"]),
        (RouteFilter(rubrics=frozenset({"aqb-1.2"})), []),
        (RouteFilter(agent_types=frozenset({"move"})), []),
    ],
)
def test_route_hears_what_it_asked_for(route: RouteFilter, expected: list[str]) -> None:
    assert kinds(messages_of(facts_of(today(answer_failed=60, weak_answer=18)), route)) == expected


def test_tenant_may_have_any_name() -> None:
    keys = {fact_key("r", "1", "rule", LAST, name) for name in ("*", None, "", "-", "None", "a|b", "'*'", "a#1/2")}
    assert len(keys) == 8


_tenants = st.text(min_size=1, max_size=80).filter(lambda name: name != ALL_TENANTS)  # its rows are rejected


@given(st.text(max_size=300), st.one_of(st.none(), st.text(max_size=300)), _tenants)
def test_hostile_texts_are_only_text(question: str, answer: str | None, tenant: str) -> None:
    row = met(kpi_row({"answer_failed": 9}, tenant=tenant))
    total = met(kpi_row(USUAL | {"answer_failed": 60}))
    facts = facts_of(total, row, before=[met(kpi_row(USUAL)), met(kpi_row({"answer_failed": 1}, tenant=tenant))])
    ids = {row_id for fact in facts[LAST] for row_id in fact.row_ids}
    examples = {row_id: Example(row_id, question, answer, None, 1.0) for row_id in ids}
    (page,) = messages_of(facts, examples=examples)
    assert {inline["type"] for inline in inlines(page)} == {"text", "bold", "code"}


def test_text_of_forty_thousand_signs_is_cut_with_a_note() -> None:
    facts = facts_of(today(answer_failed=60))
    ids = {row_id for fact in facts[LAST] for row_id in fact.row_ids}
    examples = {
        row_id: Example(row_id, f"{sign} <!channel> 010-1234-5678 " * 1_600, "가" * 40_000, None, 1.0)
        for row_id, sign in zip(sorted(ids), "가나다라마" * 9, strict=False)
    }
    (page,) = messages_of(facts, examples=examples)
    text = readable(page.blocks)
    assert text.count("… 외 39,900자") == 5
    assert "010" not in text


def test_texts_that_are_not_kept_are_called_so() -> None:
    facts = facts_of(today(answer_failed=60))
    ids = {row_id for fact in facts[LAST] for row_id in fact.row_ids}
    (page,) = messages_of(facts, examples={row_id: Example(row_id, None, None, None, 1.0) for row_id in ids})
    assert readable(page.blocks).count("(저장하지 않음)") == 10


def test_hundred_tenants_in_trouble_are_reported_in_full() -> None:
    small = [met(kpi_row({"answer_failed": 0}, rows=30, tenant=f"t{number}")) for number in range(100)]
    bad = [row | {"alert_answer_failed": 9} for row in small]
    crowded = met(kpi_row({"answer_failed": 1_500}, rows=9_000))
    facts = facts_of(crowded, *bad, before=[crowded, *small])
    parts = messages_of(facts)
    assert len(parts) > 1
    text = "\n".join(readable(part.blocks) for part in parts)
    assert "🔴 Critical · 답변 실패 · 테넌트 100곳이 평소를 벗어남, 900/3,000건 (1/" in text
    assert all(f"테넌트 t{number}  9/30건" in text for number in range(100))
