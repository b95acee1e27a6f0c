"""Intraday runs: today so far, paged once, and nothing at all where today has no rows yet."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from tasks.config.settings import MonitoringSettings, Settings
from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.flows import nightly
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import alerts_to

NEXT_DAY = DAY + timedelta(days=1)
ROWS = [best(number) for number in range(60)]
FEW = 20
"""Refusals that page where the day is looked at once, and do not where it is looked at every minute."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "source" / "a.jsonl", ROWS)


@pytest.fixture
def settings(tmp_path: Path, source: Path, slack: FakeSlack) -> Settings:
    return settings_in(tmp_path, alerts=alerts_to(slack))


def pages(slack: FakeSlack) -> list[str]:
    return [text for text in slack.texts() if text.startswith("🔴 Critical")]


def test_intraday_pages_once_whatever_comes_later_that_day_and_that_night(
    settings: Settings, source: Path, slack: FakeSlack
) -> None:
    failing = [refused(number) for number in range(60, 100)]  # the first 30 page one rule, all of them two
    nightly(settings, DAY, "intraday")
    assert slack.posted == []
    write_rows(source, [*ROWS, *failing[:30]])
    nightly(settings, DAY, "intraday")
    paged = pages(slack)
    assert paged
    assert "잠정" in slack.posted[0].shown
    write_rows(source, [*ROWS, *failing])
    nightly(settings, DAY, "intraday")
    nightly(settings, DAY)
    assert pages(slack) == paged
    assert slack.refused == []


def test_intraday_without_rows_so_far_leaves_no_day_and_tells_nobody(settings: Settings, slack: FakeSlack) -> None:
    outcome = nightly(settings, NEXT_DAY, "intraday")
    assert (outcome.own.outcome, outcome.own.failed, outcome.problems) == (None, False, ())
    assert not Path(settings.warehouse, "monitoring_kpis").exists()
    with opened(RunLedger, settings.state_url) as ledger:
        assert ledger.of_day(NEXT_DAY) == []
    assert slack.posted == []


def test_intraday_reads_no_file_that_has_not_changed_since_the_day_began(settings: Settings, source: Path) -> None:
    source.write_text("no rows at all")
    os.utime(source, (0, 0))
    assert nightly(settings, DAY, "intraday").problems == ()


def test_intraday_of_a_source_that_is_not_there_is_left_to_the_night(settings: Settings) -> None:
    gone = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    assert nightly(gone, DAY, "intraday").problems == ()


def test_intraday_looks_share_what_a_day_may_page_falsely(settings: Settings, source: Path, slack: FakeSlack) -> None:
    one_look = settings.model_copy(update={"alerts": settings.alerts.model_copy(update={"intraday_looks": 1})})
    all_looks = settings.model_copy(update={"alerts": settings.alerts.model_copy(update={"intraday_looks": 1440})})
    write_rows(source, [*ROWS, *(refused(60 + number) for number in range(FEW))])
    nightly(all_looks, DAY, "intraday")
    assert pages(slack) == []
    nightly(one_look, DAY, "intraday")
    assert len(pages(slack)) == 1
