"""Figures that people read are rounded half away from zero; Python's formats round half to even, and binary."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.health.test_house import ROOT

PLACES = ("scoring", "tasks/reports")
ROUNDS = re.compile(r"\.(?:\d+|\{.*\})[eEfFgGn%]")
# What is no score, with the reason why Python may round it.
ALLOWED = {
    "scoring/stats/fail_conditions.py": "a signed difference in a build log, beside the limit that it broke",
    "scoring/rubrics/ola_monitoring/evidence.py": "a quantile that is a whole percent by its definition",
}


def rounding_formats(source: str) -> Iterator[str]:
    """The format specs of f-strings, `format` and `%` that round a number, and calls of `round` with digits."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = ast.unparse(node.format_spec)
            if ROUNDS.search(spec):
                yield spec
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "round":
            if len(node.args) + len(node.keywords) > 1:
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\{[^{}]*:[^{}]*\.\d+[eEfFgGn%]\}|%\.\d+[eEfFgG]", node.value)


@pytest.mark.parametrize(
    "source",
    ['f"{x:.2f}"', 'f"{x:,.1f}"', 'f"{x:.0%}"', 'f"{x:.{n}f}"', '"{:.2f}".format(x)', '"%.1f" % x', "round(x, 1)"],
)
def test_format_that_rounds_is_found(source: str) -> None:
    assert list(rounding_formats(source))


@pytest.mark.parametrize("source", ['f"{x:,}"', 'f"{x:g}"', 'f"{x}점"', '"1.5f"', "round(x)"])
def test_format_that_rounds_nothing_is_not(source: str) -> None:
    assert not list(rounding_formats(source))


def test_no_score_is_rounded_by_a_format() -> None:
    found = {
        module.relative_to(ROOT).as_posix(): formats
        for place in PLACES
        for module in (ROOT / place).rglob("*.py")
        if (formats := list(rounding_formats(module.read_text(encoding="utf-8"))))
    }
    assert {path: formats for path, formats in found.items() if path not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "an exception that nobody needs any more"


def test_no_template_rounds() -> None:
    templates = [*(ROOT / "tasks/reports").rglob("*.html"), *(ROOT / "tasks/reports").rglob("*.md")]
    assert templates
    assert [path.name for path in templates if re.search(r"%\.\d+f|\|\s*round", path.read_text(encoding="utf-8"))] == []
