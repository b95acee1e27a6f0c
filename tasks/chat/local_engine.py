"""Scores chat rows of a source in one streaming pass: each row is scored, excluded or rejected.

The pass processes the rows in parts (`tasks/chat/parts.py`), sequentially or in several processes. It keeps sums and
counts in memory and the rows themselves in a staging folder, from which the tables are written in the order of time.
Memory depends on the length of the period and the number of processes, not on the number or size of the rows.
"""

import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType

import polars as pl
import polars.selectors as cs

from scoring.chat.day_content import DayContent
from scoring.chat.erasure import without_sessions
from scoring.chat.kpi_figures import KpiIntervals, with_figures
from scoring.chat.kpis import ALL_TENANTS, crosstab_table, kpi_table
from scoring.chat.row_ids import SOURCE_ID, TEXTS, TIE_BREAK, TOKENS, repeated_rows, row_keys, with_row_ids
from scoring.chat.rows import FileFailure
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText, copied, excluded_rows
from scoring.chat.shrinkage import RowsByTenant, rows_by_tenant
from scoring.days import Window, day_window
from scoring.inputs import REJECTED_SCHEMA
from tasks.chat.engine import Counts, KpiTables, ScoringOutcome
from tasks.chat.parts import ANSWER_HASH, Part, ScoredPart, score_part
from tasks.chat.sources import ChatRowSource, RowStream
from tasks.chat.tables import CROSSTAB, EXCLUDED, KPIS
from tasks.chat.time_sorted_rows import TimeSortedRows
from tasks.chat.worker_processes import in_workers
from tasks.files.atomic import writable
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import REJECTED, SCORES

_SOURCE_ID = cs.by_name(SOURCE_ID.name, require_all=False)  # a rubric may omit it
_UNKNOWN: KpiIntervals = MappingProxyType({})
_FIRST_REJECTED = 20
_FRAMES_AHEAD = 4  # the writer takes several of them at once, for a row group

PART_BYTES = 96_000_000
"""Size of a part before compression: a third of a second of work, and the Parquet texts in a worker's memory."""


@dataclass(kw_only=True)
class ScoredRows(ScoringOutcome):
    """The outcome of all parts: counts, sums, and the rows in their staging folder.

    With `several_cores` independent work runs in two threads.
    """

    source: ChatRowSource
    window: Window | None
    scored: TimeSortedRows
    excluded: TimeSortedRows
    several_cores: bool = False
    _outside_by_file: Counter[str] = field(default_factory=Counter)
    _undated_by_file: dict[str, Counter[str]] = field(default_factory=dict)
    _of_other_days: set[str] = field(default_factory=set)
    """Files whose rejected rows are reported with other days."""
    _rejected_folders: list[Path] = field(default_factory=list)
    _kpi_sums: list[pl.DataFrame] = field(default_factory=list)
    _crosstab_sums: list[pl.DataFrame] = field(default_factory=list)

    def add(self, part: ScoredPart) -> None:
        """Adds the next part, in the order of the rows. Later rows of a file that failed are left out."""
        if {failure.file for failure in self.failures} & part.files:
            return
        self.counts += part.counts
        self.failures += part.failures
        self.naive_timestamps += part.naive_timestamps
        self.excluded_by_reason.update(part.excluded_by_reason)
        self.rejected_by_code.update(part.rejected_by_code)
        if self.content is not None and part.content is not None:
            self.content += part.content
        self.rows_by_file.update(part.rows_by_file)
        self._outside_by_file.update(part.outside_by_file)
        for file, codes in part.undated_by_file.items():
            self._undated_by_file.setdefault(file, Counter()).update(codes)
        self.scored.extend(part.scored)
        self.excluded.extend(part.excluded)
        self._rejected_folders.append(part.rejected_folder)
        self._kpi_sums += part.kpi_sums
        self._crosstab_sums += part.crosstab_sums

    def close(self) -> None:
        """Leaves undated rows to the days of their file, if it has days and none of them is scored here.

        Each of these days reports them once. Otherwise every night that reads the file would fail because of them.
        """
        broken_off = {failure.file for failure in self.failures}
        for file, codes in self._undated_by_file.items():
            undated = codes.total()
            if file not in broken_off and self._outside_by_file[file] and self.rows_by_file[file] == undated:
                self._of_other_days.add(file)
                self.counts += Counts(rows_in=-undated, rejected=-undated)
                self.rejected_by_code -= codes
                del self.rows_by_file[file]
        located = (row for rejected in self.rejected_frames() for row in rejected.drop_nulls("line").to_dicts())
        self.first_rejected = [*islice(located, _FIRST_REJECTED)]
        self.counts.check()

    def kpis(self, kpi_intervals: KpiIntervals = _UNKNOWN, days: Sequence[date | None] = ()) -> pl.DataFrame:
        """The KPI table, also for `days` without rows; their intervals require the written scores."""
        return self._kpis(self._kpi_sums, kpi_intervals, days)

    def rows_by_tenant(self) -> RowsByTenant:
        """The numbers of scored and of excluded rows of a day by tenant; `*` is all of them together."""
        return rows_by_tenant(kpi_table(self._kpi_sums, (), ()).iter_rows(named=True))

    def crosstab(self) -> pl.DataFrame:
        """The cross table."""
        return self._identified(crosstab_table(self._crosstab_sums, self.rubric.crosstab))

    def kpi_tables(self, kpi_intervals: KpiIntervals = _UNKNOWN) -> KpiTables:
        """KPIs and cross table of all days, and the KPIs of all rows together."""
        no_day = {"score_date": pl.lit(None, pl.Date), "tenant_id": pl.lit("")}
        pooled = self._kpis([part.with_columns(**no_day) for part in self._kpi_sums], kpi_intervals, [None])
        period = pooled.row(by_predicate=pl.col("tenant_id") == ALL_TENANTS, named=True)
        return KpiTables(self.kpis(kpi_intervals), self.crosstab(), period)

    def score_frames(self) -> Iterator[pl.DataFrame]:
        """The columns of the score table in the order of (`timestamp`, `row_id`); counts the repeated rows."""
        return _ahead(self._ordered_scores()) if self.several_cores else self._ordered_scores()

    def _ordered_scores(self) -> Iterator[pl.DataFrame]:
        self.repeated = 0
        for bucket in self.scored.buckets():
            rows = with_row_ids(bucket.with_columns(copied(pl.col(text)) for text in TEXTS), self._in_tie_order)
            self.repeated += repeated_rows(rows)
            yield self._identified(rows).select(self.rubric.scores_schema.names)

    def excluded_frames(self) -> Iterator[pl.DataFrame]:
        """The columns of the excluded table, in the order of time."""
        for bucket in self.excluded.buckets():
            yield excluded_rows(self.rubric, bucket)

    def rejected_frames(self) -> Iterator[pl.DataFrame]:
        """The rejected rows (`REJECTED_COLUMNS`), in the order of reading; columns are named as in their file."""
        called = pl.col("column").replace(dict(self.source.reading.names))
        for folder in self._rejected_folders:
            for path in sorted(folder.glob("*.parquet")):
                yield (
                    pl.read_parquet(path, glob=False)
                    .filter(~pl.col("file").is_in(self._of_other_days))
                    .with_columns(called)
                )

    def _in_tie_order(self, repeated: pl.DataFrame) -> pl.DataFrame:
        """Rows with duplicate keys in the order of tokens and answer text, independent of the input order.

        The staged rows have only a hash of the answer. If that is needed (equal key, equal tokens, another answer of
        the same length), the answers are read from the source again.
        """
        same = ["row_key", *TOKENS]
        undecided = repeated.filter(pl.col(ANSWER_HASH).n_unique().over(same) > 1)
        if undecided.is_empty():
            return repeated.sort(*same, _SOURCE_ID)
        answers = self._answers(undecided["timestamp"].unique()).select(*same, ANSWER_HASH, "llm_response").unique()
        ranked = answers.with_columns(_rank=pl.col("llm_response").rank("dense").over(same)).drop("llm_response")
        return (
            repeated.join(ranked, on=[*same, ANSWER_HASH], how="left", nulls_equal=True)
            .sort(*same, "_rank", _SOURCE_ID)
            .drop("_rank")
        )

    def _answers(self, timestamps: pl.Series) -> pl.DataFrame:
        """Keys, tokens and answers of the source's rows at these times."""
        found = []
        for batch in self.source.batches(self.window):
            if isinstance(batch, FileFailure):
                continue
            rows = batch.rows.filter(pl.col("timestamp").is_in(timestamps.implode())).drop_nulls(TEXTS)
            rows = rows.with_columns(pl.col(TIE_BREAK[:2]).fill_nan(None))
            found.append(
                rows.select(
                    row_keys(rows),
                    "input_tokens",
                    "output_tokens",
                    copied(pl.col("llm_response")).alias("llm_response"),
                    pl.col("llm_response").hash().alias(ANSWER_HASH),
                )
            )
            del batch, rows  # before the next ones are read
        return pl.concat(found)

    def _kpis(
        self, sums: Sequence[pl.DataFrame], kpi_intervals: KpiIntervals, days: Sequence[date | None]
    ) -> pl.DataFrame:
        kpis = kpi_table(sums, self.rubric.measures, self.rubric.quotients, days)
        judged = with_figures(kpis, self.rubric.quotients, kpi_intervals)
        return self._identified(judged).select(self.rubric.kpis_schema.names)

    def _identified(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(rubric=pl.lit(self.rubric.id), rubric_version=pl.lit(self.rubric.version))


def _ahead(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same frames; a thread computes the next few while the caller uses the current one."""
    with ThreadPoolExecutor(1) as thread:
        following = deque(thread.submit(next, frames, None) for _ in range(_FRAMES_AHEAD))
        while (frame := following.popleft().result()) is not None:
            following.append(thread.submit(next, frames, None))
            yield frame


ScoreParts = Callable[[Iterator[Part], int], Iterable[ScoredPart]]
"""Calls `score_part` for each part in that many processes, and returns the results in the order of the parts."""


in_processes = partial(in_workers, score_part)
"""Scores parts in processes of this machine outside any flow: those of a `server`, or of a new one."""


@dataclass(frozen=True)
class ScoringJob:
    """The rows of a source within `window` (all rows if None), and how they are scored.

    Each of the `parts` is scored by `score_part`, in any order and process, then `gathered` takes the results in the
    order of the parts. `staging` is a separate folder, which must not exist yet; the caller removes it when the tables
    are written.
    """

    source: ChatRowSource
    rubric: RowRubric
    time_zone: str
    window: Window | None
    keep_text: KeepText
    staging: Path

    def scored(
        self,
        workers: int = 1,
        *,
        on_progress: Callable[[int], None] = lambda rows: None,
        part_bytes: int = PART_BYTES,
        score_parts: ScoreParts = in_processes,
    ) -> ScoredRows:
        """Scores every row. The outcome does not depend on the number of processes or on `part_bytes`.

        `on_progress` is called with the number of rows read so far. `workers` is the number of processes (0: one for
        each core that has two parts to score); 1 is this one.

        Raises:
            StorageError: worker processes were killed repeatedly.
        """
        parts = self.parts(part_bytes)
        if workers == 0:
            ahead = [*islice(parts, 2 * _cores())]
            parts = chain(ahead, parts)
            workers = min(_cores(), len(ahead) // 2)
        if workers <= 1:
            return self.gathered(map(partial(score_part, on_progress=on_progress), [self.whole()]))
        rows = self.gathered(score_parts(parts, workers), on_progress)
        rows.several_cores = True
        return rows

    def whole(self) -> Part:
        """All rows as one part."""
        return self._part(0, self.source)

    def parts(self, part_bytes: int = PART_BYTES) -> Iterator[Part]:
        """All rows in parts of about `part_bytes`; more than one part can be pickled."""
        for number, rows in enumerate(self.source.parts(self.window, part_bytes)):
            yield self._part(number, rows)

    def gathered(
        self, parts: Iterable[ScoredPart], on_progress: Callable[[int], None] = lambda rows: None
    ) -> ScoredRows:
        """The outcome of all parts, given in order."""
        self.staging.mkdir(parents=True, exist_ok=True)
        known = self._known_contents
        outcome = ScoredRows(
            rubric=self.rubric,
            naive_zone=self.source.reading.naive_zone,
            source=self.source,
            window=self.window,
            scored=TimeSortedRows(self.staging / "scored"),
            excluded=TimeSortedRows(self.staging / "excluded"),
            content=sum((known or {}).values(), DayContent()) if self.window else None,
        )
        for part in parts:
            outcome.add(part)
            on_progress(outcome.counts.rows_in)
        outcome.close()
        return outcome

    @cached_property
    def _known_contents(self) -> dict[date, DayContent] | None:
        """The content of the window if the source knows it without reading rows; else None."""
        return self.source.contents(self.window, self.time_zone) if self.window else None

    def _part(self, number: int, rows: RowStream) -> Part:
        # Before the rows: the next run then detects rows that arrive meanwhile.
        known = self._known_contents
        return Part(
            rows=rows,
            rubric=self.rubric,
            window=self.window,
            time_zone=self.time_zone,
            keep_text=self.keep_text,
            folder=self.staging / f"part-{number:06}",
            counts_content=self.window is not None and known is None,
        )


@dataclass(frozen=True)
class LocalDay:
    """A day whose rows are in a staging folder."""

    outcome: ScoredRows
    rows_by_tenant: RowsByTenant
    _day: date
    _warehouse: Warehouse
    _staging: Path

    def write(self, erased: Collection[str] = (), most: Mapping[str | None, int] | None = None) -> KpiTables:
        """Replaces the day from the staged rows; returns the KPIs that were summed during scoring."""
        warehouse, day, rows, rubric = self._warehouse, self._day, self.outcome, self.outcome.rubric
        scores = (without_sessions(frame, erased) for frame in rows.score_frames())
        excluded = (without_sessions(frame, erased) for frame in rows.excluded_frames())
        warehouse.replace_day(SCORES, day, rubric.scores_schema, scores, most=most)
        warehouse.replace_day(EXCLUDED, day, rubric.excluded_schema, excluded)
        kpi_intervals = warehouse.day_queries(day, rubric).kpi_intervals()
        tables = KpiTables.of_day(rows.kpis(kpi_intervals, [day]), rows.crosstab())
        warehouse.replace_day(KPIS, day, rubric.kpis_schema, [tables.kpis])
        warehouse.replace_day(CROSSTAB, day, rubric.crosstab_schema, [tables.crosstab])
        rejected = (
            frame.with_columns(score_date=pl.lit(day), rubric=pl.lit(rubric.id)) for frame in rows.rejected_frames()
        )
        warehouse.replace_day(REJECTED, day, REJECTED_SCHEMA, rejected, only={"rubric": rubric.id})
        return tables

    def discard(self) -> None:
        """Removes the staging folder."""
        shutil.rmtree(self._staging, ignore_errors=True)


@dataclass(frozen=True)
class LocalEngine:
    """Scores rows of any source on this machine, using a staging folder, for any warehouse."""

    source: ChatRowSource
    warehouse: Warehouse
    rubric: RowRubric
    time_zone: str
    keep_text: KeepText
    staging: Path
    workers: int = 1
    score_parts: ScoreParts = in_processes

    def score(self, day: date) -> LocalDay:
        """Scores the rows of a day, and the rows of its files without a timestamp, into the staging folder."""
        shutil.rmtree(self.staging, ignore_errors=True)  # remains of an earlier attempt occupy disk space
        window = day_window(day, self.time_zone)
        job = ScoringJob(self.source, self.rubric, self.time_zone, window, self.keep_text, self.staging)
        with writable(self.staging):
            rows = job.scored(self.workers, score_parts=self.score_parts)
        return LocalDay(rows, rows.rows_by_tenant(), day, self.warehouse, self.staging)


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
