"""The routes of the settings with what they need to be reached: secrets from the environment or from Prefect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from prefect.blocks.system import Secret

from scoring.alerting.default_route import DefaultFilter
from scoring.alerting.routing import RouteFilter
from tasks.alerts.slack.posting import BotPost, Post, WebhookPost
from tasks.config.alerts import DEFAULT_ROUTE, AlertsSettings, Destination


@dataclass(frozen=True)
class Subscription:
    """Who hears what, and where. Without a `post` it cannot be reached, and `problem` says why.

    Messages are kept for what `is_wanted`. Nobody has asked for the default route until its secret is there.
    """

    name: str
    filter: RouteFilter
    destination: Destination
    post: Post | None
    problem: str
    is_wanted: bool


def subscriptions(alerts: AlertsSettings) -> list[Subscription]:
    """Every route, the default one last."""
    filters = {
        route.name: RouteFilter(
            frozenset(route.levels), frozenset(route.rubrics), frozenset(route.tenants), frozenset(route.agent_types)
        )
        for route in alerts.route
    }
    filters[DEFAULT_ROUTE] = DefaultFilter(others=tuple(filters.values()))
    found = []
    for name, destination in alerts.destinations().items():
        secret = _secret(destination)
        post = _post(destination, secret, alerts.api_url)
        found.append(
            Subscription(
                name,
                filters[name],
                destination,
                post=None if isinstance(post, str) else post,
                problem=post if isinstance(post, str) else "",
                is_wanted=bool(secret) or name != DEFAULT_ROUTE,
            )
        )
    return found


def _post(destination: Destination, secret: str, api_url: str) -> Post | str:
    """How to post to a destination, or why that is not possible. The secret does not stand in the reason."""
    if destination.uses_bot:
        if secret.startswith("xox") and secret.isascii() and secret.isprintable():
            return BotPost(secret, destination.channel, api_url)
        return f"{_source(destination)} holds no bot token"
    if _is_address(secret):
        return WebhookPost(secret)
    return f"{_source(destination)} holds no address of a webhook"


def _secret(destination: Destination) -> str:
    """The value of the environment variable or the Prefect Secret block; empty where there is none."""
    variable, block = _names(destination)
    if variable:
        return os.environ.get(variable, "").strip()
    try:
        loaded = cast("Secret[str]", Secret.load(block, _sync=True))  # type: ignore[call-arg]
    except ValueError:  # how Prefect says that there is no such block
        return ""
    return loaded.get().strip()


def _source(destination: Destination) -> str:
    variable, block = _names(destination)
    return f"environment variable {variable}" if variable else f"Prefect Secret block {block}"


def _names(destination: Destination) -> tuple[str, str]:
    """The variable or the block that holds the secret; the other name is empty."""
    return (
        destination.webhook_env or destination.bot_token_env,
        destination.webhook_secret_block or destination.bot_token_secret_block,
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isascii()
    except ValueError:
        return False
