"""The available channels, one module each, which is called like the `format` of a destination."""

from importlib import import_module
from typing import cast

from tasks.alerts.channel import Channel
from tasks.config.alerts import AlertsSettings, Destination


def open_channel(destination: Destination, secret: str, alerts: AlertsSettings) -> Channel:
    """The channel of a destination; it has a `problem` if the secret is missing or wrong."""
    module = import_module(f"{__name__}.{destination.format}")
    return cast("Channel", module.open_channel(destination, secret, alerts))
