"""Rubric files that are wrong: where their error points, and what it says."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scoring.errors import UsageError

STARTERS = Path(__file__).parents[2] / "flows" / "cli"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def assert_refused(read: Callable[[str, str], object], text: str, at: str, what: str, fix: str) -> None:
    """The text is refused at the place where `at` stands, and the error says `what` is wrong and has `fix` in it."""
    with pytest.raises(UsageError) as refused:
        read(text, "my.toml")
    assert what in refused.value.what
    assert refused.value.fix
    assert fix in refused.value.fix
    place = re.fullmatch(r"my\.toml, line ([0-9]+), column ([0-9]+)", refused.value.where)
    assert place
    assert text.splitlines()[int(place[1]) - 1][int(place[2]) - 1 :].startswith(at), refused.value.where
