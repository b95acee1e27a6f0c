"""The pages of the last build: the inputs of each, and what other pages need of it.

They are stored beside the site, so that a page with unchanged inputs is not written and its rows are not read again.
The file may be removed at any time.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.files.atomic import write_text
from tasks.files.report_paths import ReportPaths


class KeptPages:
    """The pages of a folder by name, relative to the first page."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, ReportPaths(folder).site_state
        self._known = _read(self._path)
        self._wanted: Mapping[str, str | None] = {}
        self.written = 0

    def __len__(self) -> int:
        return len(self._known)

    def is_as_made_from(self, name: str, inputs: str | None) -> bool:
        """Whether a page exists and was written from these inputs, as far as is known."""
        return inputs is not None and self._known.get(name, {}).get("inputs") == inputs and self._is_there(name)

    def are_all_there(self) -> bool:
        """Whether no page of the last build is missing."""
        return all(map(self._is_there, self._known))

    def begin(self, wanted: Mapping[str, str | None]) -> None:
        """Forgets all pages but those that are `wanted` with unchanged inputs.

        A build that dies has then left no page that is taken for another.
        """
        current = {name: self._known[name] for name, of in wanted.items() if self.is_as_made_from(name, of)}
        if self._known and current != self._known:
            self._known = current
            self.keep()
        self._known, self._wanted = current, wanted

    def lacks(self, name: str) -> bool:
        """Whether a wanted page is still to be made."""
        return name not in self._known

    def write(self, name: str, text: str, summary: Any = None) -> None:
        """Writes a page unless it is unchanged; `summary` (JSON) is what other pages need of it."""
        self.written += write_changed(self._folder / name, text)
        self._known[name] = {"inputs": self._wanted[name], "summary": summary}

    def replace(self, name: str, old: str, new: str, summary: Any) -> bool:
        """Replaces a part of a page that is otherwise as it should be; False where the page has no such part."""
        text = (self._folder / name).read_bytes().decode()
        if old in text:
            self.write(name, text.replace(old, new, 1), summary)
        return old in text

    def summary(self, name: str) -> Any:
        """The stored summary of a page; None for one that is still to be written."""
        return self._known.get(name, {}).get("summary")

    def keep(self) -> None:
        """Stores the state."""
        write_text(self._path, json.dumps(self._known, ensure_ascii=False, separators=(",", ":")))

    def _is_there(self, name: str) -> bool:
        return (self._folder / name).is_file()


def write_changed(path: Path, text: str) -> bool:
    """Writes a page unless it is unchanged."""
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    write_text(path, text)
    return True


def _read(path: Path) -> dict[str, Any]:
    """The stored state of the last build; empty if it is missing or damaged."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: page for name, page in known.items() if isinstance(page, dict)} if isinstance(known, dict) else {}
