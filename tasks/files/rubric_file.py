"""Rubrics by the names of the TOML files that define them. Source: SPEC 13."""

from collections.abc import Iterable
from pathlib import Path

from scoring.catalog import (
    row_rubric,
    row_rubric_of_text,
    rubric_of,
    rubric_of_text,
    testrun_rubric_of_text,
    testrun_rubrics,
)
from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from scoring.testruns.rubric import AnyTestRunRubric, TestRunRubric

ENDING = ".toml"


def chosen_row_rubric(chosen: str) -> RowRubric:
    """The row rubric with an id, or in a file, whose name ends in `.toml`.

    Raises:
        UsageError: there is no such rubric or file, or the file is wrong; names line, column and remedy.
    """
    return row_rubric_of_text(_text_of(chosen), chosen) if chosen.endswith(ENDING) else row_rubric(chosen)


def chosen_testrun_rubric(chosen: str) -> AnyTestRunRubric:
    """The test-run rubric with an id, or in a file.

    Raises:
        UsageError: as `chosen_row_rubric`, or the rubric is one for chat rows.
    """
    if chosen.endswith(ENDING):
        return testrun_rubric_of_text(_text_of(chosen), chosen)
    found = rubric_of(chosen)
    if not isinstance(found, TestRunRubric):
        fix = f"use one of: {', '.join(testrun_rubrics())}, or the path of a rubric file"
        raise UsageError(f"rubric '{chosen}' scores chat rows, not test runs", fix=fix)
    return found


def testrun_rubrics_in_files(names: Iterable[str]) -> dict[str, AnyTestRunRubric]:
    """The test-run rubrics of those names that are files, which end in `.toml`.

    Raises:
        UsageError: as `rubric_of_file`, or a file defines a rubric of chat rows.
    """
    return {name: testrun_rubric_of_text(_text_of(name), name) for name in names if name.endswith(ENDING)}


def rubric_of_file(path: str) -> RowRubric | AnyTestRunRubric:
    """The rubric that a TOML file defines.

    Raises:
        UsageError: the file cannot be read, or is wrong; names line, column and remedy.
    """
    return rubric_of_text(_text_of(path), path)


def _text_of(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError("no UTF-8", where=f"{path}, line {line}, column 1", fix="save it as UTF-8") from error
    except (OSError, ValueError) as error:  # a name that no file can have
        what = getattr(error, "strerror", None) or "no name of a file"
        raise UsageError(f"cannot be read: {what}", where=path, fix="name a rubric file") from error
    return text
