"""The `[agreement]` section of the settings."""

from pydantic import Field

from tasks.config.section import Section


class AgreementSettings(Section):
    """When a metric may be believed without a look."""

    trusted_from: float = Field(default=0.6, ge=-1, le=1)
    """A metric is trusted when the lower bound of its linear weighted kappa with people reaches this."""
