"""The routes of the settings with their channels: secrets come from the environment or from Prefect."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from scoring.alerting.messages import RouteFilter
from scoring.errors import UsageError
from tasks.alerts.channel import Channel
from tasks.alerts.channels import open_channel
from tasks.alerts.day_messages import route_filters
from tasks.config.alerts import DEFAULT_WEBHOOK, AlertsSettings, Destination
from tasks.config.secret_places import Secret, secret_of

if TYPE_CHECKING:
    from prefect.blocks.system import Secret as SecretBlock

_UNSET_DEFAULT = Destination(webhook_env=DEFAULT_WEBHOOK)


@dataclass(frozen=True)
class Subscription:
    """A route: its filter, and the destination of its messages. `problem` is why it is unreachable, `origin` the source
    of its secret.

    Messages are kept for it if it `is_wanted`: the default route is not until its secret is set, or the settings name
    its destination.
    """

    name: str
    filter: RouteFilter
    destination: Destination
    channel: Channel
    problem: str
    is_wanted: bool
    origin: str

    @property
    def receiver(self) -> str:
        """The receiver of its messages, in a sentence."""
        return "Slack" if self.destination.format == "slack" else "the receiver"


def subscriptions(alerts: AlertsSettings, *, with_prefect: bool = True) -> list[Subscription]:
    """All routes, the default one last. Without Prefect a route with a Secret block has a problem and no secret."""
    filters = route_filters(alerts)
    found = []
    for name, destination in alerts.destinations().items():
        variable = destination.webhook_env or destination.bot_token_env
        block = destination.webhook_secret_block or destination.bot_token_secret_block
        is_asked = bool(variable) or with_prefect
        secret, broken = _secret_of(variable, block, is_asked=is_asked)
        channel = open_channel(destination, secret.value, alerts)
        why = channel.problem if is_asked else "is read by runs alone"
        problem = broken or (f"{secret.origin} {why}" if why else "")
        is_wanted = bool(secret.value or broken) or destination != _UNSET_DEFAULT or not is_asked
        found.append(Subscription(name, filters[name], destination, channel, problem, is_wanted, secret.origin))
    return found


def wanted_routes(alerts: AlertsSettings, *, with_prefect: bool = True) -> list[Subscription]:
    """The routes for which messages are kept."""
    return [one for one in subscriptions(alerts, with_prefect=with_prefect) if one.is_wanted]


def _secret_of(variable: str, block: str, *, is_asked: bool) -> tuple[Secret, str]:
    """The secret of a route, and why it cannot be read."""
    if not variable:
        return Secret(_stored_secret(block) if is_asked else "", f"Prefect Secret block {block}"), ""
    try:
        return secret_of(variable), ""
    except UsageError as error:
        return Secret("", variable), str(error)


def _stored_secret(block: str) -> str:
    """The value of a Prefect Secret block; empty if there is none."""
    from prefect.blocks.system import Secret as SecretBlock  # seconds of imports that most routes do not need

    try:
        loaded = cast("SecretBlock[str]", SecretBlock.load(block, _sync=True))  # type: ignore[call-arg]
    except ValueError:  # Prefect raises it if there is no such block
        return ""
    return loaded.get().strip()
