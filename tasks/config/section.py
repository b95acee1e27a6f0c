"""What every section of the settings is: frozen, without unknown names, each setting described where it stands."""

from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _of_this_machine(place: str) -> str:
    if "://" in place:
        raise ValueError("give a folder of this machine: buckets and other addresses cannot be written as one")
    return place


# An empty variable, as a script with a misspelt name sets it, must not mean the working folder.
Place = Annotated[str, Field(min_length=1)]
LocalFolder = Annotated[Place, AfterValidator(_of_this_machine)]


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of zones, a name that is too long
        raise ValueError(f"{name[:80]!r} is no time zone; use a name such as Asia/Seoul or UTC") from None
    return name


Zone = Annotated[str, AfterValidator(_known_zone)]


class Section(BaseModel):
    """A section of `aqb.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
