"""Generated pages say what the code says."""

import re

from docs.generators.documents import ROOT, documents
from docs.generators.reference import settings_page


def test_no_generated_page_is_stale() -> None:
    stale = [
        str(path.relative_to(ROOT))
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make docs`"


def test_every_setting_says_what_it_does() -> None:
    rows = [line.strip("|") for line in settings_page().splitlines() if line.startswith("| `")]
    assert rows
    assert [row for row in rows if not all(cell.strip() for cell in re.split(r"(?<!\\)\|", row))] == []
