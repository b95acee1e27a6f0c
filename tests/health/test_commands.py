"""What pages, messages and docstrings tell people to run is there: each `aqb` command, with its options."""

import re

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from flows.cli.app import app
from tests.health.test_house import FILES, ROOT

_AQB = get_command(app)
_ENDINGS = {".md", ".py", ".toml", ".html", ".service", ".yaml"}
_TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in FILES
    if path.suffix in _ENDINGS and path.name != "CHANGELOG.md" and path.relative_to(ROOT).parts[0] != "tests"
}
# Code of a line, the beginning of a line, the examples of commands.
_SAID = re.compile(
    r"(?:`|^ *(?:Example: |as-aqb )?)(?:[A-Z_]+=\S+ )*(?:as-aqb |\.venv/bin/)?aqb (-?[a-z][^`\n#|]*)", re.M
)


def unknown_part(said: str) -> str:
    """The first command or option that there is not; '' where all are there."""
    command, path = _AQB, ""
    options = {"--help"}
    words = iter(re.split(r"[\s,;:)\"']+", said))
    for word in words:
        options |= {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        if word.startswith("--") and word.partition("=")[0].rstrip(".") not in options:
            return f"{path} {word}".strip()
        if not path and word == "--service":
            next(words)
        elif isinstance(command, TyperGroup) and re.fullmatch("[a-z][a-z-]+", word):
            if not (found := command.commands.get(word)):
                return f"{path} {word}".strip()
            command, path = found, f"{path} {word}".strip()
    return ""


def test_every_command_that_people_are_told_is_there_with_its_options() -> None:
    said = [(name, words) for name, text in _TEXTS.items() for words in _SAID.findall(text)]
    assert len(said) > 300
    assert sorted({f"{name}: {part}" for name, words in said if (part := unknown_part(words))}) == []


@pytest.mark.parametrize(
    ("said", "unknown"),
    [
        ("prune --before DAY", "prune --before"),
        ("alerts snoze RULE", "alerts snoze"),
        ("nightli", "nightli"),
        ("--service support rows ROW_ID", ""),
        ("runs --last 5", ""),
    ],
)
def test_command_or_option_that_is_not_there_is_seen(said: str, unknown: str) -> None:
    assert unknown_part(said) == unknown
