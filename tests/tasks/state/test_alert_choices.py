from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from scoring.alerting.snoozes import Snooze
from tasks.state.alert_choices import Acceptance, AlertChoices
from tests.builders.state import opened

NOW = datetime(2026, 3, 14, 0, 0, 0, 5, tzinfo=UTC)
TODAY = date(2026, 3, 14)
MADE = Snooze("answer_failed", "*", TODAY, "새 프롬프트", "kim", NOW, {"*": 0.125, "t1": 0.25, None: 0.0})


@pytest.fixture
def choices(state_url: str) -> Iterator[AlertChoices]:
    with opened(AlertChoices, state_url) as opened_choices:
        yield opened_choices


def test_snooze_comes_back_as_it_was_made_until_its_last_day(choices: AlertChoices) -> None:
    choices.snooze(MADE)
    assert choices.snoozes(TODAY) == [MADE]
    assert choices.snoozes(TODAY + timedelta(days=1)) == []


def test_snooze_replaces_the_one_of_its_rule_and_tenant_alone(choices: AlertChoices) -> None:
    others = [replace(MADE, tenant_id=None), replace(MADE, tenant_id="t1"), replace(MADE, rule="weak_answer")]
    for one in (MADE, *others, later := replace(MADE, until=TODAY + timedelta(days=7), why="아직")):
        choices.snooze(one)
    assert choices.snoozes(TODAY) == [*others, later]


@pytest.mark.parametrize("tenant", ["*", "t1", None])
def test_snooze_can_be_ended_once(choices: AlertChoices, tenant: str | None) -> None:
    choices.snooze(replace(MADE, tenant_id=tenant))
    assert not choices.end_snooze("weak_answer", tenant, NOW)
    assert not choices.end_snooze(MADE.rule, "t9", NOW)
    assert choices.end_snooze(MADE.rule, tenant, NOW)
    assert choices.snoozes(TODAY) == []
    assert not choices.end_snooze(MADE.rule, tenant, NOW)


def test_acceptances_come_back_in_their_order(choices: AlertChoices) -> None:
    first = Acceptance("answer_failed", "*", TODAY, "새 에이전트", "kim", NOW)
    second = replace(first, day=TODAY + timedelta(days=1), tenant_id=None)
    for one in (first, second):
        choices.accept(one)
    assert choices.acceptances() == [first, second]
