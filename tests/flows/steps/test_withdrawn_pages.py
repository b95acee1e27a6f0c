"""Nobody is left with a page that is no longer true, and no message is dropped for want of a secret."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.steps.alerts import announce_days, notify_days, notify_night
from tasks.config.alerts import AlertsSettings, Destination
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.state.run_ledger import BACKFILL, NIGHTLY, RunLedger
from tests.builders.alert_days import kpi_row, met
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.builders.flows import nightly
from tests.builders.kpi_tables import write_kpis
from tests.builders.nights import night
from tests.builders.settings import settings_in
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA, alerts_to

NEXT_DAY = DAY + timedelta(days=1)


@pytest.fixture
def settings(tmp_path: Path, slack: FakeSlack) -> Settings:
    """A source with a day of refusals and one without rows after it, and a route that hears everything."""
    write_rows(tmp_path / "source" / "a.jsonl", [best(0), refused(1), plain(2, llm_response=None), plain(3)])
    return settings_in(tmp_path, alerts=alerts_to(slack))


def test_page_about_a_day_without_rows_is_withdrawn_by_the_run_that_finds_them(
    settings: Settings, slack: FakeSlack, tmp_path: Path
) -> None:
    nightly(settings, DAY)
    nightly(settings, NEXT_DAY)
    assert "이날 행이 하나도 없음" in slack.posted[-1].text
    write_rows(tmp_path / "source" / "late.jsonl", [best(24 * 60 + number) for number in range(12)])
    nightly(settings, NEXT_DAY)
    assert slack.posted[-1].text.startswith("🟢 해소 · 2월 14일(토) 긴급 알림을 거둠 · 이날 행이 하나도 없음")
    assert "2월 14일(토)에 12행이 들어와 있음" in slack.posted[-1].shown
    reported = len(slack.posted)
    nightly(settings, NEXT_DAY)
    assert (len(slack.posted), slack.refused) == (reported, [])


def test_default_route_of_the_settings_without_its_secret_keeps_messages_and_is_named(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is mistyped in the environment is no wish to be left alone."""
    alerts = AlertsSettings(default=Destination(webhook_env=QA), api_url=slack.api_url)
    named = settings.model_copy(update={"alerts": alerts})
    address = os.environ[QA]
    monkeypatch.delenv(QA)
    (problem,) = nightly(named, DAY).problems
    assert problem.startswith(f"alerts: route default: environment variable {QA} holds no address")
    assert slack.posted == []
    monkeypatch.setenv(QA, address)
    assert nightly(named, DAY).problems == ()
    assert len(slack.posted) == 1


def test_end_of_a_page_about_late_rows_is_reported_though_its_day_was_scored_before(
    settings: Settings, slack: FakeSlack
) -> None:
    """The rows of the tenth day come when the two after it are scored: the page and its end come in one night."""
    usual, risen = ({"*": met(kpi_row({"answer_failed": count}))} for count in (20, 90))
    days = [DAY + timedelta(number) for number in range(13)]

    def scored_night(context: Context, scored: Sequence[date], rows: Mapping[date, dict[str, dict[str, Any]]]) -> None:
        write_kpis(context.warehouse, {day: [*rows.get(day, usual).values()] for day in scored})  # type: ignore[arg-type]
        announce_days(context, [*rows, *scored[-1:]] if rows else scored[-1:])

    with Context(settings) as context:
        for number in range(9, 12):
            scored_night(context, days[: number + 1], {})
        assert [one.text for one in slack.posted if "급증" in one.text or "해소" in one.text] == []
        before = len(slack.posted)
        scored_night(context, days, {days[9]: risen})
        page, over = [one.text for one in slack.posted[before:]]
        assert "급증" in page
        assert f"{days[10].day}일" in over
        assert "해소" in over
        scored_night(context, days, {days[9]: risen})
        assert len(slack.posted) == before + 2


@pytest.mark.parametrize("kind", [NIGHTLY, BACKFILL])
def test_end_of_a_page_on_a_day_that_was_scored_days_later_is_reported(
    settings: Settings, slack: FakeSlack, kind: str
) -> None:
    """The machine was off from the day after the page on; the days without it are no news, but that it is over is."""
    usual, risen = (met(kpi_row({"answer_failed": count})) for count in (20, 90))
    days = [DAY + timedelta(number) for number in range(20)]
    paged, last = days[10], days[-1]
    with Context(settings) as context:
        ledger = RunLedger(context.state)
        write_kpis(context.warehouse, {day: [risen if day == paged else usual] for day in days[:11]})  # type: ignore[arg-type]
        notify_days(context, [days[9]])
        notify_days(context, [paged])
        assert "급증" in slack.posted[-1].text
        write_kpis(context.warehouse, {day: [usual] for day in days[11:]})  # type: ignore[arg-type]
        for day in days[11:]:
            run = replace(night(day, kind=NIGHTLY if day == last else kind), rows_in=535, scored=535)
            ledger.save(run)
        for _ in range(2):
            assert notify_night(context, last) == ()
        over = [one.text for one in slack.posted if "해소" in one.text]
        assert len(over) == 1
        assert f"{days[11].day}일" in over[0]
