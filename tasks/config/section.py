"""What every section of the settings is: frozen, without unknown names, each setting described where it stands."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _of_this_machine(place: str) -> str:
    if "://" in place:
        raise ValueError("give a folder of this machine: buckets and other addresses cannot be written as one")
    return place


# An empty variable, as a script with a misspelt name sets it, must not mean the working folder.
LocalFolder = Annotated[str, Field(min_length=1), AfterValidator(_of_this_machine)]


class Section(BaseModel):
    """A section of `aqb.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
