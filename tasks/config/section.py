"""The base of all settings sections: frozen, no unknown names, a description for each setting."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from scoring.days import is_time_zone

# One letter may be a drive.
_PREFIX = re.compile(r"[a-z][a-z0-9+.-]+:(?!//)", re.IGNORECASE)


def _of_this_machine(place: str) -> str:
    if "://" in place:
        raise ValueError("give a folder of this machine: buckets and other addresses cannot be written as one")
    return place


def _without_prefix(place: str) -> str:
    if match := _PREFIX.match(place):
        folder = place.removeprefix(match[0]) or "data/warehouse"
        raise ValueError(
            f"{match[0]!r} begins no address: write a folder alone ({folder!r}; {'./' + place!r} if that is its name) "
            "or bigquery://project/dataset"
        )
    return place


# An empty variable, such as from a script with a misspelt name, must not mean the working directory.
Place = Annotated[str, Field(min_length=1)]
FolderOrAddress = Annotated[Place, AfterValidator(_without_prefix)]
LocalFolder = Annotated[Place, AfterValidator(_of_this_machine)]


def _known_zone(name: str) -> str:
    if not is_time_zone(name):
        raise ValueError(f"{name[:80]!r} is no time zone; use a name such as Asia/Seoul or UTC")
    return name


Zone = Annotated[str, AfterValidator(_known_zone)]


def matching(pattern: str, problem: str) -> AfterValidator:
    """Refuses texts of another form, without repeating them: what stands in the place of a name may be a secret."""

    def checked(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(problem)
        return text

    return AfterValidator(checked)


Variable = Annotated[
    str,
    matching(
        r"([A-Za-z_][A-Za-z0-9_]*)?",
        "give the name of an environment variable, such as SLACK_WEBHOOK_QA, not its value",
    ),
]


class Section(BaseModel):
    """A section of `aqb.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """In Python True equals 1."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError(f"{str(value).lower()} is no value of it")
        return value
