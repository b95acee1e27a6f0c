"""Parts of a source's rows, each scored independently, in any process.

    Part  --score_part-->  ScoredPart

A `Part` can be pickled: it names rows, rubric and a folder, and holds none of the rows. Its result is counts and sums,
which are small, and files in that folder. Scoring a part again replaces the files, so it can be retried; the outcome of
all parts depends only on the rows and their order, not on the boundaries of parts (`tasks/chat/local_engine.py` merges
it).

Source: SPEC 14.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from scoring.chat.day_content import DayContent, day_contents
from scoring.chat.kpis import KPI_KEYS, Measure, Quotient, crosstab_sums, kpi_sums, merged_sums
from scoring.chat.rows import FileFailure, RowBatch
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText, ScoredBatch, score_together, with_kept_texts
from scoring.days import Window
from tasks.chat.engine import ScoringOutcome
from tasks.chat.sources import RowStream
from tasks.chat.time_sorted_rows import TimeSortedRows

ANSWER_HASH = "_answer_hash"
_SUMS_BEFORE_MERGE = 64
_SMALL_BYTES = 2_000_000
_TOGETHER_BYTES = 12_000_000


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows of one source that are scored together.

    `rows` is a section of a file or some whole files; a source that cannot be split is one part, which stays in its
    process. `folder` belongs to the part: it is replaced, and the caller removes it. With `counts_content` the outcome
    includes the part's content of the window.
    """

    rows: RowStream
    rubric: RowRubric
    window: Window | None
    time_zone: str
    keep_text: KeepText
    folder: Path
    counts_content: bool


@dataclass(kw_only=True)
class ScoredPart(ScoringOutcome):
    """The result of a part: counts, sums, and the rows in files of its folder; the first rejected are not selected yet.

    `undated_by_file` counts the rejected rows whose day is unknown, by file and code.
    """

    keep_text: KeepText
    scored: TimeSortedRows
    excluded: TimeSortedRows
    rejected_folder: Path
    outside_by_file: Counter[str] = field(default_factory=Counter)
    undated_by_file: dict[str, Counter[str]] = field(default_factory=dict)
    kpi_sums: list[pl.DataFrame] = field(default_factory=list)
    crosstab_sums: list[pl.DataFrame] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rubric, which the caller has: it is larger than the rest."""
        return {name: value for name, value in vars(self).items() if name != "rubric"}

    @property
    def files(self) -> set[str]:
        """The files that it has read, including those that failed."""
        return {*self.rows_by_file, *(failure.file for failure in self.failures)}

    def note(self, batch: RowBatch) -> None:
        """Records a batch's information on its file and days."""
        rows_in = batch.rows.height + len(batch.rejects)
        self.counts.rows_in += rows_in
        self.rows_by_file[batch.file] += rows_in
        self.outside_by_file[batch.file] += batch.outside_window
        self.naive_timestamps += batch.naive_timestamps
        if self.content is not None:
            one_day = pl.lit(None, pl.Date)
            self.content += sum((found for _, found in day_contents(batch.rows, one_day)), DayContent())

    def take(self, scored: ScoredBatch) -> None:
        """Adds scored rows to counts, sums and files."""
        rejected = scored.rejected
        self.counts.scored += scored.scored.height
        self.counts.excluded += scored.excluded.height
        self.counts.rejected += rejected.height
        self.excluded_by_reason.update(scored.excluded["reason"])
        self.rejected_by_code.update(rejected["code"])
        if rejected.height:
            undated = rejected.filter(pl.col("column").is_null() | (pl.col("column") == "timestamp"))
            for file, code in undated.select("file", "code").iter_rows():
                self.undated_by_file.setdefault(file, Counter())[code] += 1
            rejected.write_parquet(self.rejected_folder / f"{self.counts.rejected:012}.parquet")
        self._take_sums(scored)
        self._stage(scored)

    def close(self) -> None:
        """Writes the buffered rows to the folder."""
        self.scored.spill()
        self.excluded.spill()
        self._merge_sums()

    def _take_sums(self, scored: ScoredBatch) -> None:
        totals: list[Measure | Quotient] = [*self.rubric.measures, *self.rubric.quotients]
        self.kpi_sums.append(kpi_sums(scored.scored, totals, count_as="rows"))
        if scored.excluded.height:
            self.kpi_sums.append(kpi_sums(scored.excluded, self.rubric.excluded_measures, count_as="excluded"))
        self.crosstab_sums.append(crosstab_sums(scored.scored, self.rubric.crosstab))
        if len(self.crosstab_sums) >= _SUMS_BEFORE_MERGE:
            self._merge_sums()

    def _merge_sums(self) -> None:
        if self.crosstab_sums:
            self.kpi_sums = [merged_sums(self.kpi_sums, KPI_KEYS)]
            self.crosstab_sums = [merged_sums(self.crosstab_sums, self.rubric.crosstab.keys)]

    def _stage(self, scored: ScoredBatch) -> None:
        names = [name for name in self.rubric.scores_schema.names if name in scored.scored.columns]
        rows = with_kept_texts(
            self.rubric, scored.scored.with_columns(pl.col("llm_response").hash().alias(ANSWER_HASH)), self.keep_text
        )
        self.scored.add(rows.select(*names, "row_key", ANSWER_HASH))
        self.excluded.add(scored.excluded.select(self.rubric.excluded_schema.names))


def score_part(part: Part, on_progress: Callable[[int], None] = lambda rows: None) -> ScoredPart:
    """Scores the rows of a part into its folder, after removing the files of an earlier attempt.

    `on_progress` is called with the number of rows read so far.

    Raises:
        OSError: the folder cannot be written.
    """
    shutil.rmtree(part.folder, ignore_errors=True)
    rejected_folder = part.folder / "rejected"
    rejected_folder.mkdir(parents=True)
    outcome = ScoredPart(
        rubric=part.rubric,
        keep_text=part.keep_text,
        scored=TimeSortedRows(part.folder / "scored"),
        excluded=TimeSortedRows(part.folder / "excluded"),
        rejected_folder=rejected_folder,
        content=DayContent() if part.counts_content else None,
    )
    for batches in _small_ones_together(_noted(part, outcome, on_progress)):
        outcome.take(score_together(part.rubric, batches, part.time_zone))
        del batches  # before the next ones are read
    outcome.close()
    outcome.counts.check()
    return outcome


def _noted(part: Part, outcome: ScoredPart, on_progress: Callable[[int], None]) -> Iterator[RowBatch]:
    """The batches of a part with rows to score or to reject, after each has been recorded in `outcome`.

    Most files of a folder hold other days.
    """
    for batch in part.rows.batches(part.window):
        if isinstance(batch, FileFailure):
            outcome.failures.append(batch)
        else:
            outcome.note(batch)
            on_progress(outcome.counts.rows_in)
            if batch.rows.height or batch.rejects:
                yield batch
        del batch


def _small_ones_together(batches: Iterable[RowBatch]) -> Iterator[Sequence[RowBatch]]:
    """The same batches in order, small ones grouped: scoring takes as long for one row as for thousands.

    A batch whose other rows were left out is not delayed: its few rows may hold the memory of all of them.
    """
    waiting, size = list[RowBatch](), 0
    for batch in batches:
        size += (this := int(batch.rows.estimated_size()))
        if batch.rows.height < batch.rows_in or this > _SMALL_BYTES:
            if waiting:
                yield waiting
            yield [batch]
            waiting, size = [], 0
        else:
            waiting.append(batch)
            if size > _TOGETHER_BYTES:
                yield waiting
                waiting, size = [], 0
        del batch
    if waiting:
        yield waiting
