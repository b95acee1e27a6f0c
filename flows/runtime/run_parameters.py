"""What a deployed flow asks of people: Prefect makes a form of the parameters, with the `Args` of the docstring."""

from typing import Annotated

from pydantic.json_schema import SkipJsonSchema

from flows.runtime.logs import configure_logs
from tasks.config.settings import Settings, load_settings, refuse_masked

GivenSettings = Annotated[Settings | None, SkipJsonSchema()]
"""Settings given by a caller in Python; no form shows them. None: the flow reads `aqb.toml` and the environment."""


def settings_of_flow(given: Settings | None) -> Settings:
    """The settings of a flow that starts; its log lines go where these say.

    Raises:
        UsageError: settings are wrong, or were kept by Prefect and this folder lacks their passwords and keys.
    """
    settings = given or load_settings()
    refuse_masked(settings)
    configure_logs(settings.log_format)
    return settings
