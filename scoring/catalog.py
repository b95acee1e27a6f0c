"""The rubrics there are, found by folder: adding one edits nothing that exists."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import scoring.rubrics
from scoring.errors import UsageError
from scoring.rubric import RowRubric


@cache
def rubrics() -> dict[str, RowRubric]:
    """Every rubric by its id, in the order of the ids."""
    found = [
        import_module(f"scoring.rubrics.{module.name}").RUBRIC for module in iter_modules(scoring.rubrics.__path__)
    ]
    return {rubric.id: rubric for rubric in sorted(found, key=lambda rubric: rubric.id)}


def rubric(rubric_id: str) -> RowRubric:
    """The rubric of that id.

    Raises:
        UsageError: there is none; lists those that exist.
    """
    try:
        return rubrics()[rubric_id]
    except KeyError:
        raise UsageError(f"there is no rubric '{rubric_id}'", fix=f"use one of: {', '.join(rubrics())}") from None
