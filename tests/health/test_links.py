"""Every link of the documents leads somewhere: to a file of the project, and to a heading that the file has."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.health.test_house import FILES, ROOT

PAGES = [path for path in FILES if path.suffix == ".md"]
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: +\"[^\"]*\")?\)|<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")
# Where code, settings and services send people: `docs/...md`, also below the folder of an installation.
_NAMED_PAGE = re.compile(r"(?<![\w-])docs/[\w/-]+\.md")
_NAMED_PLACE = re.compile(r"`((?:benchmarks|deployments|docs|flows|scoring|tasks|tests)/[\w/.-]*\w)`")


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as GitHub makes them: the second of two equal ones ends in `-1`."""
    found: list[str] = []
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        shown = re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", heading).lower()
        found.append(re.sub(r"[^\w\- ]", "", shown).replace(" ", "-"))
    return {f"{slug}-{before}" if (before := found[:at].count(slug)) else slug for at, slug in enumerate(found)}


def relative_links(text: str) -> Iterator[tuple[str, str]]:
    """Path and anchor of every link that stays in the project; either may be empty. Code holds no links."""
    for markdown, html in _LINK.findall(_CODE.sub("", _FENCED.sub("", text))):
        if not _ELSEWHERE.match(target := markdown or html):
            path, _, anchor = unquote(target).partition("#")
            yield path, anchor


def broken_links(page: Path, root: Path = ROOT) -> list[str]:
    """The relative links of a page that lead nowhere, or out of `root`."""
    broken = []
    for path, anchor in relative_links(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        there = target.is_relative_to(root) and target.exists()
        if not there or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(f"{path}#{anchor}" if anchor else path)
    return broken


def test_every_relative_link_and_anchor_resolves() -> None:
    assert {str(page.relative_to(ROOT)): broken for page in PAGES if (broken := broken_links(page))} == {}


def test_every_page_that_code_and_settings_name_is_there() -> None:
    texts = [path for path in FILES if path.suffix in {".py", ".toml", ".yaml", ".service", ".env"}]
    named = {name for path in texts for name in _NAMED_PAGE.findall(path.read_text(encoding="utf-8"))}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_every_place_of_the_code_that_a_page_names_is_there() -> None:
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which tells of places that were
    named = {(page.name, name) for page in pages for name in _NAMED_PLACE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert [place for place in sorted(named) if not (ROOT / place[1]).exists()] == []


@pytest.mark.parametrize(
    "link",
    ["[](gone.md)", "[](page.md#gone)", "[](#gone)", "![](gone.png)", '<img src="gone.png" alt="">', "[](../)"],
)
def test_link_that_leads_nowhere_is_seen(tmp_path: Path, link: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n[](page.md#page)\n{link}\n", encoding="utf-8")
    assert len(broken_links(page, tmp_path)) == 1


def test_anchors_are_those_of_github() -> None:
    text = "# What's new?\n\n## `aqb score` and 표\n\n## A\n\n## A\n\n```sh\n# no heading\n```\n"
    assert anchors(text) == {"whats-new", "aqb-score-and-표", "a", "a-1"}
