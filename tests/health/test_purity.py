"""`scoring/` reads no clock, chance, environment, file or network. Libraries are import-linter's to watch."""

import ast
import re
from pathlib import Path

import pytest

SCORING = Path(__file__).parents[2] / "scoring"
IMPURE_MODULES = {
    "asyncio", "glob", "io", "locale", "logging", "multiprocessing", "os", "pathlib", "platform", "random",
    "secrets", "shutil", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time",
    "urllib.request", "uuid",
}  # fmt: skip
IMPURE_BUILTINS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
# The clock of datetime, and the readers and writers of Polars, pandas and pyarrow.
IMPURE_METHODS = re.compile(r"now|today|utcnow|(?:read|scan|sink|write)_\w+")


def impurities(source: str) -> list[str]:
    """What `source` imports or calls that reaches outside its arguments, in order of the lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, alias.name) for alias in names if is_impure_module(alias.name)]
            case ast.ImportFrom(module=str(module), names=names):
                full_names = [module, *(f"{module}.{alias.name}" for alias in names)]
                found += [(node.lineno, name) for name in full_names if is_impure_module(name)]
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_BUILTINS:
                found.append((node.lineno, f"{name}()"))
            case ast.Call(func=ast.Attribute(attr=name)) if IMPURE_METHODS.fullmatch(name):
                found.append((node.lineno, f".{name}()"))
    return [f"line {line}: {what}" for line, what in sorted(set(found))]


def is_impure_module(name: str) -> bool:
    return name in IMPURE_MODULES or name.split(".")[0] in IMPURE_MODULES


def test_scoring_depends_on_its_arguments_alone() -> None:
    found = {str(path): impurities(path.read_text(encoding="utf-8")) for path in SCORING.rglob("*.py")}
    assert found
    assert {path: impure for path, impure in found.items() if impure} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path as p",
        "from random import choice",
        "from urllib import request",
        "from urllib.request import urlopen",
        "def f():\n    import pathlib",
        "open('a')",
        "datetime.now(UTC)",
        "date.today()",
        "pl.scan_parquet('a')",
        "frame.write_csv('a')",
    ],
)
def test_every_way_out_of_scoring_is_seen(source: str) -> None:
    assert len(impurities(source)) >= 1


@pytest.mark.parametrize(
    "source",
    ["from urllib.parse import urlsplit", "from datetime import datetime", "rows.select('time')", "now = 1"],
)
def test_pure_code_is_left_alone(source: str) -> None:
    assert impurities(source) == []
