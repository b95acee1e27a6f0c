"""Generated pages say what the code says."""

import json
import re
from pathlib import Path
from tempfile import gettempdir

from benchmarks.__main__ import RESULTS
from benchmarks.report import renewed
from docs.generators.documents import ROOT, documents
from docs.generators.notebook import NOTEBOOK
from docs.generators.reference import settings_page


def test_no_generated_page_is_stale() -> None:
    stale = [
        str(path.relative_to(ROOT))
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make docs`"


def test_notebook_shows_tables_and_a_picture_and_no_folder_of_a_machine() -> None:
    shown = [output for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] for output in cell.get("outputs", [])]
    assert {kind for output in shown for kind in output["data"]} == {"text/html", "image/svg+xml", "text/plain"}
    assert [folder for folder in (str(ROOT), str(Path.home()), gettempdir()) if folder in json.dumps(shown)] == []


def test_every_setting_says_what_it_does() -> None:
    rows = [line.strip("|") for line in settings_page().splitlines() if line.startswith("| `")]
    assert rows
    assert [row for row in rows if not all(cell.strip() for cell in re.split(r"(?<!\\)\|", row))] == []


def test_page_of_benchmarks_keeps_what_was_not_measured_and_what_was_written_by_hand() -> None:
    page = RESULTS.read_text(encoding="utf-8")
    _, _, before = page.partition("<!-- rule_engine -->")
    _, _, after = renewed(page, {"growth": "## Growth\n\nnew"}).partition("<!-- rule_engine -->")
    kept, _, rest = after.partition("## Growth\n\nnew")
    assert before.startswith(kept) and before.endswith(rest) and "<!-- large -->" in rest and "<!-- by_hand -->" in rest
