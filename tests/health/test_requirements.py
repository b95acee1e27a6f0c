"""What code and documents cite as their source stands in the pages of `docs/requirements.md`, and the other way round.

A clause is a heading that begins with its citation (`seed 002, 10.1: alert rules`), or the first cell of a row of its
section's table (`M9`).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.health.test_house import FILES, ROOT

INDEX = ROOT / "docs" / "requirements.md"
PAGES = sorted((ROOT / "docs" / "requirements").glob("*.md"))
CITING = [
    path
    for path in FILES
    if path.suffix in {".py", ".md", ".toml", ".sql"} and path not in {INDEX, *PAGES, Path(__file__)}
]
_CLAUSE = r"(?:[0-9]{1,2}(?:[.-][0-9])?(?: \([0-9]\)| M[0-9]{1,2})?|[가-힣]{2,}(?: [가-힣]{2,})*)"
_REMARK = r"(?: \((?![0-9]\))[^()]*\))"  # SPEC 2 (long layout); `(3)` is no remark
_CITATION = re.compile(rf"\b(SPEC|[Ss]eed 00[0-9],) ({_CLAUSE}(?:{_REMARK}?(?:, | and | to |·|와 ){_CLAUSE})*)")
_LISTED = re.compile(rf"{_REMARK}|({_CLAUSE})")
_PART = re.compile(r"(?: \([0-9]\)| M[0-9]+|[.-][0-9])$")  # of a clause that holds others
_LINE_END = re.compile(r"\s*\n[ \t]*(?:(?:#+|--) )?")  # a citation may go on in the next line of a comment
_NOT_HERE = r"\bHOUSE\b|\bissue clause\b"  # documents that nobody explains
_OTHER_FORM = (
    r"\bseeds 00|\bseed 00[0-9] \([0-9]|\bseed 00[0-9], (?![{0-9가-힣])"  # `{`: a test that fills the clause in
    r"|(?<!\()\bseed 003, [0-9-]+\)|\(00[0-9], "
)


def clauses(page: str) -> dict[str, str]:
    """Citation -> text of the section that holds it, without the sections below it."""
    found = {}
    for section in re.split(r"^(?=#+ )", page, flags=re.MULTILINE):
        if heading := re.match(r"#+ (SPEC [0-9.]+|seed 00[0-9], [^:\n]+)(?:: |\n)", section):
            found[heading[1]] = section
            found.update(
                {f"{heading[1]} {row}": section for row in re.findall(r"^\| (M[0-9]+) \|", section, re.MULTILINE)}
            )
    return found


def citations(text: str) -> Iterator[str]:
    """The clauses that a text cites, each in the form of its heading; a document alone is none."""
    for document, listed in _CITATION.findall(_LINE_END.sub(" ", text)):
        yield from (f"{document.replace('Seed', 'seed')} {clause}" for clause in _LISTED.findall(listed) if clause)


def with_above(clause: str) -> list[str]:
    """A clause and those that hold it: `seed 002, 4.2 (1)`, `seed 002, 4.2`, `seed 002, 4`."""
    above = _PART.sub("", clause)
    return [clause] if above == clause else [clause, *with_above(above)]


def cited(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Clause -> the files that cite it."""
    places: dict[str, list[str]] = {}
    for path in paths:
        for clause in citations(path.read_text(encoding="utf-8")):
            places.setdefault(clause, []).append(str(path.relative_to(ROOT)))
    return places


DECLARED = {clause: section for page in PAGES for clause, section in clauses(page.read_text(encoding="utf-8")).items()}


def test_every_citation_has_its_clause() -> None:
    assert {clause: places for clause, places in cited(CITING).items() if clause not in DECLARED} == {}


def test_every_clause_is_cited_by_code_or_listed_as_cited_by_nothing() -> None:
    listed = INDEX.read_text(encoding="utf-8").split("## Cited by nothing")[1].split("\n## ")[0]
    code = [path for path in CITING if path.suffix != ".md"]
    needed = {held for clause in cited(code) for held in with_above(clause)}
    assert sorted(DECLARED.keys() - needed) == sorted(re.findall(r"`([^`]+)`", listed))


def test_every_clause_leads_to_what_does_it() -> None:
    """By itself, by the clause that holds it, or by all that it holds."""
    leading = {clause for clause, section in DECLARED.items() if re.search(r"\]\(\.\./(?!requirements)", section)}
    holding = {above for clause in leading for above in with_above(clause)}
    assert [clause for clause in DECLARED if clause not in holding and not leading & {*with_above(clause)}] == []


def test_citations_have_one_form() -> None:
    other = re.compile(f"{_NOT_HERE}|{_OTHER_FORM}")
    texts = {path: _LINE_END.sub(" ", path.read_text(encoding="utf-8")) for path in [*CITING, INDEX, *PAGES]}
    found = {str(path.relative_to(ROOT)): other.findall(text) for path, text in texts.items()}
    assert {path: forms for path, forms in found.items() if forms} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Source: SPEC 1.3 and 1.4.", ["SPEC 1.3", "SPEC 1.4"]),
        ("Source: SPEC 2 (What an execution used) and 3.3 (mapping grade).", ["SPEC 2", "SPEC 3.3"]),
        ("Source: seed 000, 2.4 to 2.6; SPEC 3.3, 7.", ["seed 000, 2.4", "seed 000, 2.6", "SPEC 3.3", "SPEC 7"]),
        ("seed 002, 5.2 (1) P50", ["seed 002, 5.2 (1)"]),
        ("Seed 002, 1.2 M14; SPEC 1.3", ["seed 002, 1.2 M14", "SPEC 1.3"]),
        ("정확성 (seed 003, 2-2와 2-3)", ["seed 003, 2-2", "seed 003, 2-3"]),
        ("Source: seed 004,\n    의도 충족 and 일관성; SPEC 7", ["seed 004, 의도 충족", "seed 004, 일관성", "SPEC 7"]),
        ("Source: seed 003; SPEC 3.1", ["SPEC 3.1"]),
    ],
)
def test_citations_are_read_in_every_form_that_the_page_allows(text: str, expected: list[str]) -> None:
    assert list(citations(text)) == expected
