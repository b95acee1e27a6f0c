"""What every page is made of: data that cannot become code, a policy that allows our scripts alone, verdicts."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.reports.site.pages import FOLDER, embedded
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import SAMPLE_RUNS, build, pages, write_day, write_run

VENDOR = FOLDER / "vendor"


@given(st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none()))
def test_embedded_data_means_nothing_to_html_and_the_same_to_json(data: dict[str, object]) -> None:
    text = str(embedded(data))
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == data


def test_number_that_json_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded({"value": float("nan")})


def test_policy_allows_what_is_in_the_page_and_nothing_else(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [best()])
    build(warehouse, tmp_path / "site")
    for found in pages(tmp_path / "site").values():
        (meta,) = found.all("meta", **{"http-equiv": "Content-Security-Policy"})
        rules = dict(rule.strip().split(" ", 1) for rule in (meta["content"] or "").split(";"))
        assert rules["default-src"] == "'none'"
        assert "unsafe" not in (meta["content"] or "")
        assert sorted(rules["script-src"].split()) == sorted(map(hashed, found.scripts))
        assert rules["style-src"].split() == [hashed(style) for style in found.styles]
        assert not re.search(r'\s(?:style|on\w+)="', found.source.split("</style>")[1].split("<script")[0])


def test_no_page_asks_the_network_for_anything(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [best()])
    build(warehouse, tmp_path / "site")
    for found in pages(tmp_path / "site").values():
        addresses = [
            value for _, attributes in found.elements for name, value in attributes.items() if name in ("src", "href")
        ]
        assert [address for address in addresses if re.match(r"(?:https?:)?//", address or "")] == []


def test_headings_follow_one_another_in_korean_pages(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [best(), refused()])
    for path in SAMPLE_RUNS:
        write_run(warehouse, path, DAY)
    build(warehouse, tmp_path / "site")
    for name, found in pages(tmp_path / "site").items():
        levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1, name
        assert levels.count(1) == 1, name
        assert all(after - before <= 1 for before, after in pairwise(levels)), name
        assert found.all("html", lang="ko")


def hashed(text: str) -> str:
    """The source expression of an inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_vendored_files_are_those_of_the_note() -> None:
    note = (VENDOR / "README.md").read_text(encoding="utf-8")
    files = sorted(VENDOR.glob("*.js"))
    assert files
    for file in files:
        assert f"| `{file.name}` |" in note
        assert sha256(file.read_bytes()).hexdigest() in note
    assert "Permission to use, copy, modify" in (VENDOR / "LICENSES.txt").read_text(encoding="utf-8")
