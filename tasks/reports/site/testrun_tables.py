"""The test runs of a warehouse as the site shows them: summaries of all, executions and queries of one at a time."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.catalog import testrun_rubric_of_summary
from scoring.stats.run_scores import TOTAL, TOTAL_TITLE
from scoring.testruns.executions import AGENT_TITLES, AgentType
from scoring.testruns.history import before_of, new_set, orders_of_scoring
from scoring.testruns.page_parts import PageParts
from scoring.testruns.rubric import AnyTestRunRubric
from scoring.testruns.scoring import epochs_of
from tasks.files.report_paths import TESTRUNS, WORKBOOK, testrun_page_name
from tasks.testruns.trusted_metrics import read_trust, untrusted_metrics
from tasks.testruns.warehouse import QUERIES, QUERIES_SCHEMA, SCORES, SCORES_SCHEMA, SUMMARIES, SUMMARIES_SCHEMA
from tasks.warehouse import Warehouse, table_rows

Row = Mapping[str, Any]

RUN_FILES = {
    "report.md": "보고서(Markdown)",
    WORKBOOK: "점수 워크북(Excel)",
    "review.csv": "수기 확인 목록(CSV)",
}
"""The files of a report folder that people take home, and what they call them."""


def report_files(folder: Path) -> list[str]:
    """Those that a report folder has."""
    return [name for name in RUN_FILES if (folder / name).is_file()]


@dataclass(frozen=True)
class PublishedTestRun:
    """One scored file under one rubric: what `summary.json` says of it. `rubric` is None for one that is gone.

    `untrusted` are the metrics that people's labels do not bear out.
    """

    day: date
    name: str
    sha256: str
    rubric_id: str
    rubric: AnyTestRunRubric | None
    rubric_version: str
    executions: int
    queries: int
    summary: Mapping[str, Any]
    ran_at: str
    agents: str
    test_set: str
    untrusted: Sequence[str] = ()

    @property
    def page(self) -> str:
        """Its page in the folder of test runs."""
        return testrun_page_name(self.name, self.sha256, self.rubric_id)

    @property
    def set_page(self) -> str:
        """The page of its test set in the folder of test runs."""
        return f"set-{self.test_set}-{self.rubric_id}.html"

    @property
    def when(self) -> str:
        """When it ran, else the day of scoring; in the order of time."""
        return self.ran_at or str(self.day)

    @property
    def when_text(self) -> str:
        """When it ran, to the minute, or the day of scoring where nothing tells (Korean)."""
        return self.ran_at[:16].replace("T", " ") or f"{self.day}(채점일)"

    @property
    def agent_title(self) -> str:
        """What people call its agents; of agents of your own the title of their rubric."""
        names = [AGENT_TITLES[AgentType(name)] for name in filter(None, self.agents.split(", "))]
        return f"{'·'.join(names)} 에이전트" if names else self.rubric_title

    @property
    def rubric_title(self) -> str:
        """What people call its rubric; the id of one that is no longer there."""
        return self.rubric.title if self.rubric else self.rubric_id

    @cached_property
    def means(self) -> Mapping[str, Mapping[str, Any]]:
        """Metric -> the figures of its mean in the set; the total is among them, but where several agents have one."""
        totals, of_set = self.parts.totals, dict(self.summary["set"])
        return ({TOTAL: {"mean": totals[0].total}} if len(totals) == 1 else {}) | of_set

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Metric -> title: the total, those of the rubric in its order, then what only the summary knows."""
        known = {TOTAL: TOTAL_TITLE} if TOTAL in self.means else {}
        known |= {metric.name: metric.title for metric in self.rubric.metrics} if self.rubric else {}
        return known | {name: self.figure_titles.get(name, name) for name in self.means if name not in known}

    @property
    def figure_titles(self) -> Mapping[str, str]:
        """What the rubric calls the figures beside the metrics."""
        return self.rubric.figure_titles if self.rubric else {}

    @cached_property
    def parts(self) -> PageParts:
        """What only the rubric knows of the summary."""
        return self.rubric.page_parts(self.summary) if self.rubric else PageParts()

    def code_title(self, code: str) -> str:
        """A code of the data quality or of the manual review in Korean."""
        return self.rubric.code_titles.get(code, code) if self.rubric else code


@dataclass(frozen=True)
class ShownTestRun:
    """A run with what its page shows beside its rows: the files of its report folder by their names, and the page of
    the run that it is compared with, '' for none."""

    run: PublishedTestRun
    files: Sequence[str]
    before: str

    @property
    def name(self) -> str:
        """Its page, seen from the first page."""
        return f"{TESTRUNS}/{self.run.page}"

    @property
    def set_name(self) -> str:
        """The page of its test set, seen from the first page."""
        return f"{TESTRUNS}/{self.run.set_page}"

    @property
    def content(self) -> tuple[object, ...]:
        """All that its page shows beside its rows, in values that say what they are."""
        known = self.run.rubric.version if self.run.rubric else ""
        of_run = {one.name: getattr(self.run, one.name) for one in fields(self.run)}
        return (of_run | {"rubric": known}, *self.files, self.before)


def read_testruns(warehouse: Warehouse, span: int) -> list[PublishedTestRun]:
    """The runs of the last `span` days that have any, those that ran last first; a file scored again counts once, as of
    its last day."""
    summaries = table_rows(warehouse, SUMMARIES, SUMMARIES_SCHEMA, warehouse.days(SUMMARIES)[-span:]).collect()
    trust = read_trust(warehouse)
    runs: dict[tuple[str, str], PublishedTestRun] = {}
    for row in summaries.sort("score_date", "input_name", "input_sha256", "rubric").iter_rows(named=True):
        summary = json.loads(row["summary"])
        rubric = testrun_rubric_of_summary(summary)
        runs[row["input_sha256"], row["rubric"]] = PublishedTestRun(
            day=row["score_date"],
            name=row["input_name"],
            sha256=row["input_sha256"],
            rubric_id=row["rubric"],
            rubric=rubric,
            rubric_version=row["rubric_version"],
            executions=row["executions"],
            queries=row["queries"],
            summary=summary,
            ran_at=row["ran_at"] or "",
            agents=row["agent_type"] or "",
            test_set=row["test_set"] or new_set(row["input_sha256"]),
            untrusted=untrusted_metrics(trust, rubric, epochs_of(summary)) if rubric else (),
        )
    by_name = sorted(runs.values(), key=lambda run: (run.name, run.rubric_id))
    return sorted(by_name, key=order_of_runs(by_name), reverse=True)


def order_of_runs(runs: Iterable[PublishedTestRun]) -> Callable[[PublishedTestRun], tuple[str, int]]:
    """The key that brings runs into the order in which they ran, or were scored on a day on which they ran."""
    befores: dict[str, dict[str, str]] = defaultdict(dict)
    for run in runs:
        befores[run.rubric_id][run.sha256] = before_of(run.summary)
    orders = {rubric_id: orders_of_scoring(of_rubric) for rubric_id, of_rubric in befores.items()}
    return lambda run: (run.when, orders[run.rubric_id][run.sha256])


def executions_of(warehouse: Warehouse, run: PublishedTestRun) -> list[Row]:
    """A row per execution in the order of the file; `own` is parsed, `scores` by metric."""
    return _rows(warehouse, SCORES, SCORES_SCHEMA, run, "own")


def queries_of(warehouse: Warehouse, run: PublishedTestRun) -> list[Row]:
    """A row per query in the order of the file; `columns` is parsed, `scores` by metric."""
    return _rows(warehouse, QUERIES, QUERIES_SCHEMA, run, "columns")


def _rows(warehouse: Warehouse, table: str, schema: pa.Schema, run: PublishedTestRun, parsed: str) -> list[Row]:
    mine = (pl.col("input_sha256") == run.sha256) & (pl.col("rubric") == run.rubric_id)
    rows = table_rows(warehouse, table, schema, [run.day]).filter(mine).collect().iter_rows(named=True)
    return [
        {**row, parsed: json.loads(row[parsed]), "scores": {score["metric"]: score for score in row["scores"]}}
        for row in rows
    ]
