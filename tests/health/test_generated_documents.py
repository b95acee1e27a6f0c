"""Generated pages say what the code says."""

from __future__ import annotations

from flows.documents import ROOT, documents


def test_no_generated_page_is_stale() -> None:
    stale = [
        str(path.relative_to(ROOT))
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make docs`"
