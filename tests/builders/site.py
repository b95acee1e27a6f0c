"""Warehouses made by hand or from the samples, and what a built site says: for tests of the report site."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scoring.alerting.snoozes import Snooze
from scoring.catalog import TestRunChoices, plan_of
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText
from scoring.testruns.scoring import score_testrun
from tasks.chat.tables import write_alerts
from tasks.reports.site.build import SPAN_DAYS, BuiltSite, build_pages
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import RUBRIC, write_rows
from tests.builders.scored_days import write_scored_day

SAMPLE_RUNS = sorted(Path("tasks/samples/inbox").resolve().iterdir())


def write_day(
    warehouse: FolderWarehouse,
    day: date,
    rows: Iterable[Mapping[str, Any]],
    rubric: RowRubric = RUBRIC,
    apart: timedelta = timedelta(minutes=1),
    keep_text: KeepText = "flagged",
) -> None:
    """Scores rows as those of one day, from noon on."""
    noon = datetime.combine(day, time(3), UTC)
    timed = [{**row, "timestamp": (noon + n * apart).isoformat()} for n, row in enumerate(rows)]
    with TemporaryDirectory() as folder:
        source = write_rows(Path(folder) / "rows.jsonl", timed)
        outcome, _ = write_scored_day(warehouse, day, source, rubric, keep_text)
    write_alerts(warehouse, day, rubric, outcome.counts.rejected)


def of_version(version: str) -> RowRubric:
    """The rubric under another version."""
    return replace(RUBRIC, version=version)


def write_run(warehouse: FolderWarehouse, path: Path, day: date, rubric: str = "") -> None:
    """Scores one test-run file without a judge."""
    plan = plan_of(read_testrun_file(path), TestRunChoices(rubric=rubric), {})
    scored = score_testrun(plan, {})
    write_testrun(warehouse, day, scored, place_of(warehouse, day, scored))


def build(warehouse: FolderWarehouse, folder: Path, span: int = SPAN_DAYS, snoozes: Sequence[Snooze] = ()) -> BuiltSite:
    """The site in `folder`."""
    return build_pages(warehouse, RUBRIC, folder, "Asia/Seoul", span, snoozes=snoozes)


@dataclass
class Page(HTMLParser):
    """A page as a browser reads it: its text, its elements by name, its links with their texts, its scripts."""

    path: Path
    text: str = ""
    title: str = ""
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)
    styles: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.source = self.path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.elements.append((tag, named))
        if tag == "a":
            self.links.append(("", named["href"] or ""))
        self._data_of = str(named["id"]) if named.get("type") == "application/json" else ""
        self._open.append("data" if self._data_of else tag)
        {"script": self.scripts, "style": self.styles}.get(self._open[-1], []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._open.pop()
        elif tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "data":
            self.data[self._data_of] = self.data.get(self._data_of, "") + data
        elif inside == "script":
            self.scripts[-1] += data
        elif inside == "style":
            self.styles[-1] += data
        else:
            self.title += data if inside == "title" else ""
            self.text += data + " "
            if "a" in self._open:
                text, href = self.links.pop()
                self.links.append((text + data, href))

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """The attributes of every element of that name that has these."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [found for name, found in self.elements if name == tag and wanted.items() <= found.items()]

    @property
    def charts(self) -> dict[str, Any]:
        """The data of the charts."""
        return dict(json.loads(self.data["chart-data"]))

    @property
    def rows(self) -> dict[str, Any]:
        """The columns of the listed rows."""
        return dict(json.loads(self.data["row-data"]))

    @cached_property
    def ids(self) -> set[str]:
        """Every anchor of the page."""
        return {found["id"] for _, found in self.elements if found.get("id")}  # type: ignore[misc]


def sources(folder: Path) -> dict[str, str]:
    """Every page by its name as it is written."""
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}


def page(folder: Path, name: str = "index.html") -> Page:
    """One page of a built site."""
    return Page(folder / name)


def pages(folder: Path) -> dict[str, Page]:
    """Every page by its name."""
    return {path.relative_to(folder).as_posix(): Page(path) for path in sorted(folder.rglob("*.html"))}
