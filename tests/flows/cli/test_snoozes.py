"""`aqb alerts snooze`, `snoozed`, `unsnooze`, `accept` as people call them, up to what Slack gets."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tasks.state.alert_choices import AlertChoices
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.state import opened
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import Command

STATE = "sqlite:///data/state.db"
LATER = "2999-12-31"


@pytest.fixture
def scored(aqb: Command, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A scored day of six refusals in sixteen answers, of which Slack knows nothing."""
    rows = [best(number) for number in range(10)] + [refused(number) for number in range(10, 16)]
    write_rows(Path("data/chat_rows/a.jsonl"), rows)
    assert aqb("nightly", "--date", DAY).exit_code == 0
    monkeypatch.setenv("SLACK_WEBHOOK_URL", slack.webhook())
    return aqb


def test_snooze_is_listed_kept_quiet_and_ended_early(
    scored: Command, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scored("alerts", "snooze", "answer_failed", "--until", LATER, "--why", "새 프롬프트", "--who", "kim")
    assert (made.exit_code, made.err) == (0, "")
    assert "reported all the same from twice its rate on: 75.0% of the rows" in made.out
    (listed,) = json.loads(scored("alerts", "snoozed", "--json").out)
    assert (listed["rule"], listed["tenant_id"], listed["until"], listed["who"]) == ("answer_failed", "*", LATER, "kim")
    made_on = datetime.fromisoformat(listed["made_at"]).astimezone(ZoneInfo("Pacific/Kiritimati")).date()
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AQB_TIME_ZONE", "Pacific/Kiritimati")
        assert f"(kim, {made_on})" in scored("alerts", "snoozed").out
    shown = scored("alerts", "--date", DAY, "--dry-run").out
    assert "일시 중지  답변 실패" in shown
    assert "Critical · 답변 실패" not in shown
    assert scored("alerts", "unsnooze", "답변 실패").out == "answer_failed is reported again\n"
    assert scored("alerts", "snoozed").out == "nothing is snoozed\n"
    assert "Critical · 답변 실패" in scored("alerts", "--date", DAY, "--dry-run").out
    assert slack.posted == []


def test_snooze_of_a_rule_without_a_rate_says_that_it_holds_to_its_end(scored: Command) -> None:
    for rule in ("no_rows", "few_rows", "행이 하나도 없음"):  # the last one is the title of messages about a tenant
        made = scored("alerts", "snooze", rule, "--until", LATER, "--why", "점검", "--who", "kim")
        assert "it is quiet until then, whatever comes" in made.out


def test_snooze_of_an_outage_names_no_rate_above_all_rows(aqb: Command) -> None:
    write_rows(Path("data/chat_rows/a.jsonl"), [refused(number) for number in range(16)])
    assert aqb("nightly", "--date", DAY).exit_code == 0
    made = aqb("alerts", "snooze", "answer_failed", "--until", LATER, "--why", "장애", "--who", "kim")
    assert f"this rise is quiet up to {LATER}; a new one after it is not" in made.out
    assert "200" not in made.out


def test_accept_keeps_the_last_scored_day_with_who_and_why(scored: Command) -> None:
    accepted = scored("alerts", "accept", "answer_failed", "--tenant", "t1", "--why", "새 에이전트", "--who", "kim")
    assert accepted.out == f"accepted answer_failed of t1: usual from {DAY} on\n"
    with opened(AlertChoices, STATE) as choices:
        (row,) = choices.acceptances()
    assert (row.rule, row.tenant_id, row.day, row.why, row.who) == (
        *("answer_failed", "t1", DAY, "새 에이전트", "kim"),
    )


WITHOUT_EFFECT = (
    (("snooze", "nope", "--until", LATER, "--why", "x"), "the rules: answer_failed (답변 실패), "),
    (("snooze", "weak_answer", "--until", str(date.today() - timedelta(days=2)), "--why", "x"), "is over"),
    (("snooze", "weak_answer", "--until", LATER, "--why", " "), "needs a reason"),
    (("snooze", "weak_answer", "--until", LATER), "Missing option '--why'"),
    (("snooze", "weak_answer", "--until", LATER, "--why", "x", "--tenant", "t9"), "the tenants: "),
    (("unsnooze", "nope"), "the rules: answer_failed"),
    (("unsnooze", "weak_answer"), "what is snoozed: nothing"),
    (("accept", "nope"), "the rules: answer_failed"),
    *((("accept", rule), "has no rate") for rule in ("no_rows", "few_rows", "rows_rejected", "kpi_failure_rate")),
)
"""What is refused, and what the refusal says."""


def test_snooze_refuses_what_would_be_without_effect(scored: Command) -> None:
    for arguments, said in WITHOUT_EFFECT:
        refusal = scored("alerts", *arguments)
        assert (refusal.exit_code, said in refusal.err) == (2, True), refusal


def test_snooze_asks_for_a_name_where_the_account_has_none(scored: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
    nameless = scored("alerts", "snooze", "answer_failed", "--until", LATER, "--why", "왜")
    assert nameless.exit_code == 2
    assert "--who: your account has no name here" in nameless.err
    assert scored("alerts", "snoozed").out == "nothing is snoozed\n"


def test_snooze_before_anything_is_scored_says_so(aqb: Command) -> None:
    nothing = aqb("alerts", "snooze", "weak_answer", "--until", LATER, "--why", "x")
    assert nothing.exit_code == 1
    assert "no day has been scored yet" in nothing.err
