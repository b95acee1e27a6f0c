"""A rubric file as tables of known shape, and where each of its values stands: what is wrong is said with its line."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scoring.errors import RuleError, UsageError
from scoring.rubric_files.places import Path, line_and_column, nearest, place_in_string, spans_of
from scoring.rules.tokens import ConditionError

MOST_CHARACTERS = 500_000

_PLACE = re.compile(r" \(at (?:(line [0-9]+, column [0-9]+)|end of document)\)$")
_File = TypeVar("_File", bound=BaseModel)


class RubricText:
    """The text of a rubric file, called `name` in errors."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._name = name
        if len(text) > MOST_CHARACTERS:
            raise self._wrong(f"{len(text):,} characters", "line 1, column 1", f"write at most {MOST_CHARACTERS:,}")
        try:
            self._tables = tomllib.loads(self._text)
            self._spans = spans_of(self._text)
        except (ValueError, RecursionError) as error:
            raise self._no_toml(error) from None

    @property
    def text(self) -> str:
        """The file as it is read."""
        return self._text

    @property
    def kind(self) -> object:
        """What the file scores, as it says; where it says nothing, chat rows unless it has metrics."""
        return self._tables.get("kind", "testrun" if "metrics" in self._tables else "chat")

    def file(self, model: type[_File]) -> _File:
        """The tables of the file, in the shape of `model`.

        Raises:
            UsageError: a key is missing, unknown or of another kind; says line, column and remedy.
        """
        try:
            return model.model_validate(self._tables)
        except ValidationError as error:
            first = min(error.errors(), key=self._importance)
            raise self._misshapen(first, model) from None

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Says of a rule that is wrong in this block that it stands at `path`.

        Raises:
            UsageError: with line, column and remedy.
        """
        try:
            yield
        except RuleError as error:
            raise self.wrong(
                path, error.what, error.fix, error.offset if isinstance(error, ConditionError) else None
            ) from None

    def wrong(self, path: Path, what: str, fix: str, offset: int | None = None) -> UsageError:
        """The error of what stands at `path`; `offset` is a character of the text there."""
        span = self._spans[self._known(path)]
        at = span.start if offset is None else place_in_string(self._text, span, offset)
        return self._wrong(what, line_and_column(self._text, at), fix)

    def _wrong(self, what: str, place: str, fix: str) -> UsageError:
        return UsageError(what, where=f"{self._name}, {place}", fix=fix)

    def _no_toml(self, error: Exception) -> UsageError:
        what = "tables within tables too deep to follow" if isinstance(error, RecursionError) else str(error)
        found = _PLACE.search(what)
        place = (found and found[1]) or line_and_column(self._text, len(self._text) if found else 0)
        return self._wrong(f"no TOML: {_PLACE.sub('', what)}", place, "correct it; texts stand in quotes")

    def _known(self, path: Path) -> Path:
        return nearest(self._spans, path)

    def _importance(self, problem: ErrorDetails) -> tuple[bool, int]:
        """A misspelt key is first, which is missing under its right name; else what stands first is."""
        return problem["type"] != "extra_forbidden", self._spans[self._known(problem["loc"])].start

    def _misshapen(self, problem: ErrorDetails, model: type[BaseModel]) -> UsageError:
        path, key = problem["loc"], str(problem["loc"][-1]) if problem["loc"] else ""
        match problem["type"]:
            case "extra_forbidden":
                near = get_close_matches(key, _keys_of(model), n=1)
                fix = f"did you mean {near[0]}?" if near else "leave it out, or see `aqb rubrics schema`"
                return self.wrong(path, f"there is no key {key} here", fix)
            case "missing":
                return self.wrong(path, f"the key {key} is missing", f"add {key} = ... to this table")
        what = problem["msg"].removeprefix("Value error, ")
        return self.wrong(
            path, f"{'.'.join(map(str, self._known(path)))}: {what}", "correct it; see `aqb rubrics schema`"
        )


def _keys_of(model: type[BaseModel]) -> list[str]:
    """Every key that a table of the file may have."""
    schema = model.model_json_schema()
    return sorted({key for table in (schema, *schema["$defs"].values()) for key in table["properties"]})
