"""The routes of the settings with what they need to be reached: secrets from the environment or from Prefect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from prefect.blocks.system import Secret

from scoring.alerting.default_route import DefaultFilter
from scoring.alerting.routing import RouteFilter
from tasks.slack.posting import BotPost, Post, WebhookPost
from tasks.slack.settings import DEFAULT_ROUTE, AlertsSettings, Destination


@dataclass(frozen=True)
class Subscription:
    """Who hears what, and where. Without a `post` it cannot be reached, and `problem` says why."""

    name: str
    filter: RouteFilter
    destination: Destination
    post: Post | None
    problem: str = ""

    @property
    def is_wanted(self) -> bool:
        """Whether messages are kept for it. Nobody has asked for the default route until its secret is there."""
        return self.post is not None or self.name != DEFAULT_ROUTE


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
        post = post_of(destination, alerts.api_url)
        if isinstance(post, str):
            found.append(Subscription(name, filters[name], destination, None, post))
        else:
            found.append(Subscription(name, filters[name], destination, post))
    return found


def post_of(destination: Destination, api_url: str) -> Post | str:
    """How to post to a destination, or why that is not possible. No secret stands in the reason."""
    if destination.uses_bot:
        token = _secret(destination.bot_token_env, destination.bot_token_secret_block)
        if token.startswith("xox") and token.isascii() and token.isprintable():
            return BotPost(token, destination.channel, api_url)
        return f"{_source(destination)} holds no bot token"
    url = _secret(destination.webhook_env, destination.webhook_secret_block)
    if _is_address(url):
        return WebhookPost(url)
    return f"{_source(destination)} holds no address of a webhook"


def _secret(variable: str, block: str) -> str:
    """The value of an environment variable or a Prefect Secret block; empty where there is none."""
    if variable:
        return os.environ.get(variable, "").strip()
    try:
        loaded = cast("Secret[str]", Secret.load(block, _sync=True))  # type: ignore[call-arg]
    except ValueError:  # how Prefect says that there is no such block
        return ""
    return loaded.get().strip()


def _source(destination: Destination) -> str:
    variable = destination.webhook_env or destination.bot_token_env
    block = destination.webhook_secret_block or destination.bot_token_secret_block
    return f"environment variable {variable}" if variable else f"Prefect Secret block {block}"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isascii()
    except ValueError:
        return False
