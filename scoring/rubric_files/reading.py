"""Reads a rubric file into validated tables, with the positions of its values: errors name the line."""

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
LONGEST_LINE = 20_000
"""Maximum characters of a line: `tomllib` takes quadratic time in the length of a line."""

_LONG_NUMBER = re.compile("[0-9][0-9_]{4300,}")  # Python makes none of it
_PLACE = re.compile(r" \(at (?:(line [0-9]+, column [0-9]+)|end of document)\)$")
_EXPECTED = {
    "model_type": "a table",
    "dict_type": "a table",
    "tuple_type": "an array",
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
}
_File = TypeVar("_File", bound=BaseModel)


class RubricText:
    """The text of a rubric file, called `name` in errors."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text.removeprefix("\ufeff").replace("\r\n", "\n")  # editors on Windows write a byte-order mark
        self._name = name
        if len(text) > MOST_CHARACTERS:
            raise self._wrong(f"{len(text):,} characters", "line 1, column 1", f"write at most {MOST_CHARACTERS:,}")
        for number, line in enumerate(self._text.split("\n"), start=1):
            if len(line) > LONGEST_LINE:
                what = f"a line of {len(line):,} characters"
                raise self._wrong(what, f"line {number}, column 1", f"write at most {LONGEST_LINE:,}")
        try:
            self._tables = tomllib.loads(self._text)
            self._spans = spans_of(self._text)
        except (ValueError, RecursionError) as error:
            raise self._no_toml(error) from None

    @property
    def text(self) -> str:
        """The content of the file."""
        return self._text

    @property
    def kind(self) -> object:
        """What the file scores, as it declares; by default chat rows, unless it has metrics and no columns."""
        is_testrun = "metrics" in self._tables and "columns" not in self._tables
        return self._tables.get("kind", "testrun" if is_testrun else "chat")

    def file(self, model: type[_File]) -> _File:
        """The tables of the file, validated by `model`.

        Raises:
            UsageError: a key is missing, unknown or of the wrong type; gives line, column and remedy.
        """
        try:
            return model.model_validate(self._tables)
        except ValidationError as error:
            raise self._misshapen(self._cause(error.errors()), model) from None

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Converts a rule error in this block to an error at `path`.

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
        """The error for the value at `path`; `offset` is a character position in its text."""
        span = self._spans[self._known(path)]
        at = span.start if offset is None else place_in_string(self._text, span, offset)
        return self._wrong(what, line_and_column(self._text, at), fix)

    def _wrong(self, what: str, place: str, fix: str) -> UsageError:
        return UsageError(what, where=f"{self._name}, {place}", fix=fix)

    def _no_toml(self, error: Exception) -> UsageError:
        what = "tables within tables too deep to follow" if isinstance(error, RecursionError) else str(error)
        if not isinstance(error, tomllib.TOMLDecodeError) and (number := _LONG_NUMBER.search(self._text)):
            what = f"a number of {len(number.group()):,} digits (at {line_and_column(self._text, number.start())})"
        found = _PLACE.search(what)
        place = (found and found[1]) or line_and_column(self._text, len(self._text) if found else 0)
        return self._wrong(f"no TOML: {_PLACE.sub('', what)}", place, "correct it; texts stand in quotes")

    def _known(self, path: Path) -> Path:
        return nearest(self._spans, path)

    def _cause(self, problems: list[ErrorDetails]) -> list[ErrorDetails]:
        """The error to report: a misspelt key (its correct name is reported missing), else the first, innermost one.

        For a value of alternative types there is an error for each type.
        """
        paths = [self._known(problem["loc"]) for problem in problems]
        around = {path[:length] for path in paths for length in range(len(path))}

        def importance(place: tuple[Path, ErrorDetails]) -> tuple[bool, bool, int]:
            path, problem = place
            return problem["type"] != "extra_forbidden", path in around, self._spans[path].start

        cause, _ = min(zip(paths, problems, strict=True), key=importance)
        return [problem for path, problem in zip(paths, problems, strict=True) if path == cause]

    def _misshapen(self, problems: list[ErrorDetails], model: type[BaseModel]) -> UsageError:
        if isinstance(problems[0]["input"], str):  # for a text that may be a number or a code, report the invalid code
            problems = [one for one in problems if one["type"].startswith("string_")] or problems
        else:  # for a table that may be a text, report the missing or unknown keys
            problems = [one for one in problems if one["type"] == "value_error"] or problems
        problem = problems[0]
        path, key = problem["loc"], problem["loc"][-1] if problem["loc"] else ""
        match problem["type"]:
            case "extra_forbidden" if isinstance(key, str):
                near = get_close_matches(key, _keys_of(model), n=1)
                fix = f"did you mean {near[0]}?" if near else "leave it out, or see `aqb rubrics schema`"
                if near == [key]:
                    fix = "move it to its table: a table goes on until the next [header]"
                return self.wrong(path, f"there is no key {key} here", fix)
            case "missing" if isinstance(key, str):
                if len(path) == 1 and (header := _header_of(model, key)):
                    return self.wrong(path, f"the table {key} is missing", f"add {header}, as `aqb rubrics new` has it")
                return self.wrong(path, f"the key {key} is missing", f"add {key} = ... to this table")
            case "too_long":
                most = problem["ctx"]["max_length"]
                what = f"{'.'.join(map(str, path))}: more entries than the {most} that there may be"
                return self.wrong(path, what, f"keep the {most} that matter most")
        kinds = [_EXPECTED.get(one["type"], "") for one in problems]
        what = f"expected {' or '.join(dict.fromkeys(kinds))}" if all(kinds) else problem["msg"]
        what = what.removeprefix("Value error, ")
        fix = _signs_of(problem["ctx"]["pattern"]) if problem["type"] == "string_pattern_mismatch" else "correct it"
        return self.wrong(path, f"{'.'.join(map(str, self._known(path)))}: {what}", f"{fix}; see `aqb rubrics schema`")


def _signs_of(pattern: str) -> str:
    """What a name of this pattern is written in."""
    letters, joint = "Latin letters" if "A-Z" in pattern else "small Latin letters", "-" if "-]" in pattern else "_"
    return f"write it in {letters}, digits and {joint}, a letter first"


def _keys_of(model: type[BaseModel]) -> list[str]:
    """All allowed keys of the file's tables."""
    schema = model.model_json_schema()
    return sorted({key for table in (schema, *schema["$defs"].values()) for key in table["properties"]})


def _header_of(model: type[BaseModel], key: str) -> str:
    """The header of a table: `[crosstab]`, or `[kpis.NAME]` if it contains tables; '' for a value."""
    shape = model.model_json_schema()["properties"][key]
    if "$ref" in shape:
        return f"[{key}]"
    return f"[{key}.NAME]" if shape.get("type") == "object" else ""
