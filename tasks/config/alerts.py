"""The `[alerts]` section of the settings: who is notified of what, where and when. It only names secrets."""

import re
from datetime import date, datetime, time
from importlib.util import find_spec
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator, model_validator

from scoring.testruns.executions import AgentType
from tasks.config.connections import is_http_address
from tasks.config.secrets import MessageUrl, Url, is_masked
from tasks.config.section import Section, Variable, matching

DEFAULT_ROUTE = "default"
DEFAULT_WEBHOOK = "SLACK_WEBHOOK_URL"
"""The environment variable with the webhook that is used if no route is set."""

_Block = Annotated[
    str,
    matching(  # Prefect's syntax for names of blocks
        "[a-z0-9-]*", "give the name of a Prefect Secret block, such as slack-webhook-qa, not its value"
    ),
]
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_Time = Annotated[str, matching(_TIME, 'give a time of the day, such as "07:00"')]
_MENTION = re.compile(r"<(?:@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!here|!channel)>")


class Destination(Section):
    """Where messages go: a webhook, or a bot's channel. Secrets come from the environment or a Prefect Secret block."""

    webhook_env: Variable = ""
    """The environment variable with the webhook's address."""

    webhook_secret_block: _Block = ""
    """Or the Prefect Secret block with the address."""

    bot_token_env: Variable = ""
    """Or the environment variable with a bot's token; then `channel` is required."""

    bot_token_secret_block: _Block = ""
    """Or the Prefect Secret block with the token."""

    format: str = "slack"
    """The webhook's message format: slack, or json (docs/alerts-webhook.md) for any other receiver."""

    channel: str = ""
    """The id of the bot's channel, such as C0123456789; the messages of one day form one thread."""

    mention: str = ""
    """Who is mentioned in Critical messages except digests: <@U123>, <!subteam^S123>, <!here>; separated by blanks."""

    quiet_hours: str = ""
    """Quiet hours in which Warnings are held back, in the `time_zone`: "22:00-08:00"."""

    @property
    def uses_bot(self) -> bool:
        """Whether a bot posts, not a webhook."""
        return bool(self.bot_token_env or self.bot_token_secret_block)

    def holds(self, level: str, now: datetime, time_zone: str) -> bool:
        """Whether a message of this level must wait for the end of the quiet hours."""
        if level == "critical" or not self.quiet_hours:
            return False
        start, end = map(time.fromisoformat, self.quiet_hours.split("-"))
        clock = now.astimezone(ZoneInfo(time_zone)).time()
        return start <= clock < end if start < end else clock >= start or clock < end

    @field_validator("format")
    @classmethod
    def _names_a_channel(cls, name: str) -> str:
        if not (name.isidentifier() and find_spec(f"tasks.alerts.channels.{name}")):
            raise ValueError("there is no such format; use slack or json")
        return name

    @field_validator("mention")
    @classmethod
    def _calls_somebody(cls, mention: str) -> str:
        if not all(_MENTION.fullmatch(one) for one in mention.split()):
            raise ValueError("use <@U123>, <!subteam^S123>, <!here> or <!channel>, with blanks between several")
        return mention

    @field_validator("quiet_hours")
    @classmethod
    def _two_times(cls, hours: str) -> str:
        if hours and (not re.fullmatch(f"{_TIME}-{_TIME}", hours) or hours[:5] == hours[6:]):
            raise ValueError('give two different times of the day, such as "22:00-08:00"')
        return hours

    @model_validator(mode="after")
    def _one_way(self) -> "Destination":
        ways = (self.webhook_env, self.webhook_secret_block, self.bot_token_env, self.bot_token_secret_block)
        if sum(map(bool, ways)) != 1:
            raise ValueError(
                "give exactly one of webhook_env, webhook_secret_block, bot_token_env, bot_token_secret_block"
            )
        if self.uses_bot != bool(self.channel):
            raise ValueError("a bot needs a channel, and a webhook has its own")
        if self.uses_bot and self.format != "slack":
            raise ValueError("a bot posts to Slack alone: give a webhook for another format")
        return self


class Route(Destination):
    """A subscription: which messages go where. An omitted filter matches everything."""

    name: str
    """The route's identity in stored messages; a renamed route is a new subscriber."""

    levels: tuple[Literal["critical", "warning"], ...] = ()
    """Levels that it receives: critical, warning; empty: both."""

    rubrics: tuple[str, ...] = ()
    """Ids of the rubrics that it receives; empty: all."""

    tenants: tuple[str, ...] = ()
    """Tenants whose chat rows it receives ("": rows without one); then it receives no test runs; empty: all."""

    agent_types: tuple[AgentType, ...] = ()
    """Agents whose test runs it receives (move, plan, applicant_management); then it receives no chat rows; empty: all.
    """


class WatchSettings(Section):
    """The deadline that `aqb watch` checks."""

    due: _Time = "07:00"
    """The time of day, in the `time_zone`, by which a nightly run of the day before must be completed."""


class HeartbeatSettings(Section):
    """The external service that is notified of each nightly run (dead man's switch)."""

    url: SecretStr = SecretStr("")
    """Pinged at start (`/start`), success and failure (`/fail`) of the nightly flow, in the format of healthchecks.io.
    """

    @field_validator("url")
    @classmethod
    def _an_address(cls, url: SecretStr) -> SecretStr:
        secret = url.get_secret_value()
        if secret and not is_masked(url) and not (is_http_address(secret) and secret.isascii()):
            # the address is a secret, so the error does not repeat it
            raise ValueError("give an http or https address, such as https://hc-ping.com/UUID")
        return url


class AlertsSettings(Section):
    """Alerts: sent once, to every route that matches them. Without a webhook nothing is sent."""

    route: tuple[Route, ...] = ()
    """The subscriptions; several may match."""

    default: Destination = Destination(webhook_env=DEFAULT_WEBHOOK)
    """Receives what no route matches; without routes, everything. While SLACK_WEBHOOK_URL is unset, nobody does, unless
    the settings name a destination here: then messages wait for its secret.
    """

    false_pages_per_year: float = Field(default=1.0, gt=0, le=365)
    """The allowed number of false pages a year, over all rules and tenants. A lower number also delays true pages."""

    days_off: tuple[date, ...] = ()
    """Further days off, such as temporary holidays; weekends and Korean holidays are built in."""

    intraday_looks: int = Field(default=24, ge=1, le=1440)
    """Intraday runs per day. They share half of the allowed false pages; the nightly run has the other half."""

    dry_run: bool = False
    """Whether runs only log the messages instead of sending them."""

    weekly: bool = True
    """Whether routes receive the KPIs of the week on Mondays, compared with the week before, with the largest changes.
    """

    all_quiet_weekly: bool = False
    """Whether a route without messages for a week receives a message that says so, on Mondays."""

    watch: WatchSettings = WatchSettings()

    heartbeat: HeartbeatSettings = HeartbeatSettings()

    reports_url: MessageUrl = ""
    """The URL at which the folder `reports` is served; empty: messages name the file."""

    locale: Literal["ko"] = "ko"
    """The language of the messages; only Korean is available."""

    api_url: Url = "https://slack.com/api/"
    """The API address for bots, for a proxy in front of Slack."""

    @field_validator("route")
    @classmethod
    def _different_names(cls, routes: tuple[Route, ...]) -> tuple[Route, ...]:
        names = [route.name for route in routes]
        if len(set(names)) < len(names) or not all(names) or DEFAULT_ROUTE in names:
            raise ValueError(f"every route needs a name of its own, other than '{DEFAULT_ROUTE}'")
        return routes

    def destinations(self) -> dict[str, Destination]:
        """Every destination by the name of its route."""
        return {route.name: route for route in self.route} | {DEFAULT_ROUTE: self.default}
