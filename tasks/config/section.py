"""What every section of the settings is: frozen, without unknown names, each setting described where it stands."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of `aqb.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
