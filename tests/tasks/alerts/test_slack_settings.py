"""Routes in the settings: what is refused, who is held when, and that no secret can stand there."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from scoring.alerting.block_kit import block_kit
from scoring.alerting.blocks import header, paragraph, plain, readable
from scoring.alerting.messages import Message, fact_key, with_mention
from scoring.errors import UsageError
from tasks.config.alerts import DEFAULT_ROUTE, Destination
from tasks.config.settings import load_settings
from tests.fakes.slack_limits import block_problems

SEOUL = "Asia/Seoul"


def at(hour: int, minute: int = 0) -> datetime:
    """An instant of 13 February 2026 by Seoul's clocks (UTC+9)."""
    return datetime(2026, 2, 12 if hour < 9 else 13, (hour - 9) % 24, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "now", "waits"),
    [
        ("22:00-08:00", at(21, 59), False),
        ("22:00-08:00", at(22), True),
        ("22:00-08:00", at(7, 59), True),
        ("22:00-08:00", at(8), False),
        ("12:30-13:00", at(12, 29), False),
        ("12:30-13:00", at(12, 30), True),
        ("12:30-13:00", at(12, 59), True),
        ("12:30-13:00", at(13), False),
        ("", at(2), False),
    ],
)
def test_warnings_wait_for_the_end_of_the_quiet_hours(hours: str, now: datetime, waits: bool) -> None:
    destination = Destination(webhook_env="HOOK", quiet_hours=hours)
    assert destination.holds("warning", now, SEOUL) is waits
    assert not destination.holds("critical", now, SEOUL)


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ('name = "a"\nwebhook_env = "https://hooks.example/T/B/hidden"', "name of an environment variable"),
        ('name = "a"\nwebhook_secret_block = "https://hooks.example/T/B/hidden"', "name of a Prefect Secret block"),
        ('name = "a"', "exactly one of"),
        ('name = "a"\nwebhook_env = "A"\nbot_token_env = "B"\nchannel = "C1"', "exactly one of"),
        ('name = "a"\nbot_token_env = "B"', "a bot needs a channel"),
        ('name = "a"\nwebhook_env = "A"\nchannel = "C1"', "a webhook has its own"),
        ('name = "a"\nwebhook_env = "A"\nquiet_hours = "22-08"', "two different times"),
        ('name = "a"\nwebhook_env = "A"\nquiet_hours = "08:00-08:00"', "two different times"),
        ('name = "a"\nwebhook_env = "A"\nmention = "@channel"', "use <@U123>"),
        ('name = "a"\nwebhook_env = "A"\nlevels = ["fatal"]', "'critical' or 'warning'"),
        ('name = "default"\nwebhook_env = "A"', "a name of its own"),
        ('name = "a"\nwebhook_env = "A"\nformat = "teams"', "there is no such format"),
        ('name = "a"\nbot_token_env = "A"\nchannel = "C1"\nformat = "json"', "posts to Slack alone"),
        ('name = "a"\nwebhook_env = "A"\n[[alerts.route]]\nname = "a"\nwebhook_env = "B"', "a name of its own"),
    ],
)
def test_wrong_route_is_refused_and_nothing_secret_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("aqb.toml").write_text(f"[[alerts.route]]\n{route}\n")
    with pytest.raises(UsageError) as refused:
        load_settings()
    assert said in str(refused.value)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("setting", ["AQB_ALERTS__REPORTS_URL", "AQB_WEB__URL"])
@pytest.mark.parametrize("url", ["https://qa:hidden@reports.example", "https://reports.example/aqb?sig=hidden"])
def test_links_of_messages_hold_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(setting, url)
    with pytest.raises(UsageError, match="every message shows it") as refused:
        load_settings()
    assert "hidden" not in str(refused.value)
    monkeypatch.setenv(setting, "https://reports.example:8443/aqb")
    settings = load_settings()
    assert "https://reports.example:8443/aqb" in (settings.alerts.reports_url, settings.web.url)


def test_another_language_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AQB_ALERTS__LOCALE", "en")
    with pytest.raises(UsageError, match="'ko'"):
        load_settings()


def test_without_settings_there_is_the_default_route_alone() -> None:
    assert list(load_settings().alerts.destinations()) == [DEFAULT_ROUTE]


def message(level: str, key: str = "k") -> Message:
    return Message("page", level, (key,), "text", [header("머리"), *paragraph([plain("몸")])])  # type: ignore[arg-type]


def test_critical_messages_call_people_below_the_header() -> None:
    called = with_mention(message("critical"), "<@U1> <!subteam^S2> <!here>")
    assert readable(called.blocks).split() == ["머리", "@U1", "@S2", "@here", "몸"]
    assert block_problems({"text": called.text, "blocks": list(map(block_kit, called.blocks))}) == []


@pytest.mark.parametrize(
    "other",
    [message("warning"), message("info"), message("critical", "k#2/3"), replace(message("critical"), kind="digest")],
)
def test_other_messages_digests_and_later_parts_call_nobody(other: Message) -> None:
    assert with_mention(other, "<!here>") == other


@pytest.mark.parametrize("key", ["k#1/12", fact_key("r", "1", "answer_failed", date(2026, 2, 13), "team#2/kr")])
def test_first_part_of_several_calls_whatever_a_tenant_is_called(key: str) -> None:
    assert len(with_mention(message("critical", key), "<!here>").blocks) == 3
