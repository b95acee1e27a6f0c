"""Chat rows of a source become scored, excluded and rejected rows, in one streaming pass.

The pass keeps sums and counts in memory and the rows themselves in a staging folder; the tables are then written from
there in the order of time. Memory depends on the length of the period, not on the number or size of the rows.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import polars as pl

from scoring.chat.day_content import DayContent, day_contents
from scoring.chat.erasure import without_sessions
from scoring.chat.kpis import (
    ALL_TENANTS,
    Measure,
    Quotient,
    crosstab_sums,
    crosstab_table,
    kpi_sums,
    kpi_table,
    merged_crosstab_sums,
    merged_kpi_sums,
)
from scoring.chat.row_ids import TEXTS, TIE_BREAK, row_keys, with_row_ids
from scoring.chat.rows import FileFailure, RowBatch
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText, ScoredBatch, all_rejects, copied, excluded_rows, score_batch, with_kept_texts
from scoring.chat.shrinkage import RowsByTenant, rows_by_tenant
from scoring.days import Window, day_window
from scoring.inputs import REJECTED_SCHEMA
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.chat.sources import ChatRowSource
from tasks.chat.tables import CROSSTAB, EXCLUDED, KPIS, SCORES
from tasks.chat.time_sorted_rows import TimeSortedRows
from tasks.files.atomic import writable
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import REJECTED

_ANSWER_HASH = "_answer_hash"
_PARTS_BEFORE_MERGE = 64
_FIRST_REJECTED = 20


@dataclass(kw_only=True)
class ScoredRows(ScoringOutcome):
    """The outcome of one pass: counts, sums, and the rows in their staging folder."""

    source: ChatRowSource
    window: Window | None
    keep_text: KeepText
    scored: TimeSortedRows
    excluded: TimeSortedRows
    rejected_folder: Path
    rows_by_file: Counter[str] = field(default_factory=Counter)
    _kpi_parts: list[pl.DataFrame] = field(default_factory=list)
    _crosstab_parts: list[pl.DataFrame] = field(default_factory=list)

    def kpi_tables(self, days: Sequence[date] = ()) -> KpiTables:
        """KPIs and cross table, also for `days` without rows."""
        rubric, parts = self.rubric, self._kpi_parts
        kpis = kpi_table(parts, rubric.measures, rubric.quotients, days)
        pooled = [part.with_columns(score_date=pl.lit(None, pl.Date), tenant_id=pl.lit("")) for part in parts]
        period = kpi_table(pooled, rubric.measures, rubric.quotients, days=[None])
        return KpiTables(
            self._identified(kpis).select(rubric.kpis_schema.names),
            self._identified(crosstab_table(self._crosstab_parts, rubric.crosstab)),
            period.row(by_predicate=pl.col("tenant_id") == ALL_TENANTS, named=True),
        )

    def score_frames(self) -> Iterator[pl.DataFrame]:
        """The columns of the score table in the order of (`timestamp`, `row_id`)."""
        for bucket in self.scored.buckets():
            rows = with_row_ids(bucket.with_columns(copied(pl.col(text)) for text in TEXTS), self._in_tie_order)
            yield self._identified(rows).select(self.rubric.scores_schema.names)

    def excluded_frames(self) -> Iterator[pl.DataFrame]:
        """The columns of the excluded table, in the order of time."""
        for bucket in self.excluded.buckets():
            yield excluded_rows(self.rubric, bucket)

    def rejected_frames(self) -> Iterator[pl.DataFrame]:
        """The rejected rows (`REJECTED_COLUMNS`), in the order of reading."""
        for path in sorted(self.rejected_folder.glob("*.parquet")):
            yield pl.read_parquet(path)

    def take(self, batch: RowBatch, scored: ScoredBatch) -> None:
        """Adds one scored batch to counts, sums and staging."""
        rejected = all_rejects(batch, scored)
        self.counts.rows_in += batch.rows.height + len(batch.rejects)
        self.counts.scored += scored.scored.height
        self.counts.excluded += scored.excluded.height
        self.counts.rejected += rejected.height
        self.rows_by_file[batch.file] += batch.rows.height + len(batch.rejects)
        self.naive_timestamps += batch.naive_timestamps
        self.excluded_by_reason.update(scored.excluded["reason"])
        self.rejected_by_code.update(rejected["code"])
        if rejected.height:
            if (more := _FIRST_REJECTED - len(self.first_rejected)) > 0:
                self.first_rejected += rejected.drop_nulls("line").head(more).to_dicts()
            rejected.write_parquet(self.rejected_folder / f"{self.counts.rejected:012}.parquet")
        self._take_sums(scored)
        self._stage(scored)

    def _take_sums(self, scored: ScoredBatch) -> None:
        totals: list[Measure | Quotient] = [*self.rubric.measures, *self.rubric.quotients]
        self._kpi_parts.append(kpi_sums(scored.scored, totals, count_as="rows"))
        if scored.excluded.height:
            self._kpi_parts.append(kpi_sums(scored.excluded, self.rubric.excluded_measures, count_as="excluded"))
        self._crosstab_parts.append(crosstab_sums(scored.scored, self.rubric.crosstab))
        if len(self._crosstab_parts) >= _PARTS_BEFORE_MERGE:
            self._kpi_parts = [merged_kpi_sums(self._kpi_parts)]
            self._crosstab_parts = [merged_crosstab_sums(self._crosstab_parts, self.rubric.crosstab)]

    def _stage(self, scored: ScoredBatch) -> None:
        names = [name for name in self.rubric.scores_schema.names if name in scored.scored.columns]
        rows = with_kept_texts(
            self.rubric, scored.scored.with_columns(pl.col("llm_response").hash().alias(_ANSWER_HASH)), self.keep_text
        )
        self.scored.add(rows.select(*names, "row_key", _ANSWER_HASH))
        self.excluded.add(scored.excluded.select(self.rubric.excluded_schema.names))

    def _in_tie_order(self, repeated: pl.DataFrame) -> pl.DataFrame:
        """Rows with repeated keys in the order of tokens and answer text, whatever order they came in.

        The staged rows hold only a hash of the answer. Where that decides (equal key, equal tokens, another answer of
        the same length) the answers are read from the source once more.
        """
        same = ["row_key", "input_tokens", "output_tokens"]
        undecided = repeated.filter(pl.col(_ANSWER_HASH).n_unique().over(same) > 1)
        if undecided.is_empty():
            return repeated.sort(same)
        answers = self._answers(undecided["timestamp"].unique()).select(*same, _ANSWER_HASH, "llm_response").unique()
        ranked = answers.with_columns(_rank=pl.col("llm_response").rank("dense").over(same)).drop("llm_response")
        return (
            repeated.join(ranked, on=[*same, _ANSWER_HASH], how="left", nulls_equal=True)
            .sort(*same, "_rank")
            .drop("_rank")
        )

    def _answers(self, timestamps: pl.Series) -> pl.DataFrame:
        """Keys, tokens and answers of the source's rows at these times."""
        found = []
        for batch in self.source.batches(self.window):
            if isinstance(batch, FileFailure):
                continue
            rows = batch.rows.filter(pl.col("timestamp").is_in(timestamps.implode()))
            rows = rows.drop_nulls(TEXTS)
            rows = rows.with_columns(pl.col(TIE_BREAK[:2]).fill_nan(None))
            answers = copied(pl.col("llm_response"))
            found.append(
                rows.select(
                    row_keys(rows),
                    "input_tokens",
                    "output_tokens",
                    answers.alias("llm_response"),
                    pl.col("llm_response").hash().alias(_ANSWER_HASH),
                )
            )
            del batch, rows  # before the next ones are read
        return pl.concat(found)

    def _identified(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(rubric=pl.lit(self.rubric.id), rubric_version=pl.lit(self.rubric.version))


def score_chat_rows(
    source: ChatRowSource,
    rubric: RowRubric,
    *,
    time_zone: str,
    window: Window | None,
    staging: Path,
    keep_text: KeepText,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> ScoredRows:
    """Scores every row of `source` within `window` (all rows when None).

    `staging` is a folder of its own, which must not exist yet; the caller removes it when the tables are written.
    `on_progress` is called with the number of rows read so far.
    """
    rejected_folder = staging / "rejected"
    rejected_folder.mkdir(parents=True)
    # Before the rows: what arrives meanwhile is then found by the next run.
    contents = source.contents(window, time_zone) if window else None
    outcome = ScoredRows(
        rubric=rubric,
        naive_zone=source.naive_zone,
        source=source,
        window=window,
        keep_text=keep_text,
        scored=TimeSortedRows(staging / "scored"),
        excluded=TimeSortedRows(staging / "excluded"),
        rejected_folder=rejected_folder,
        content=sum((contents or {}).values(), DayContent()) if window else None,
    )
    for batch in source.batches(window):
        if isinstance(batch, FileFailure):
            outcome.failures.append(batch)
        else:
            if outcome.content is not None and contents is None:
                one_day = pl.lit(None, pl.Date)
                outcome.content += sum((found for _, found in day_contents(batch.rows, one_day)), DayContent())
            outcome.take(batch, score_batch(rubric, batch.rows, time_zone))
            on_progress(outcome.counts.rows_in)
        del batch  # before the next one is read
    outcome.counts.check()
    return outcome


def write_scored_day(
    warehouse: Warehouse,
    day: date,
    rows: ScoredRows,
    erased: Collection[str] = (),
    most: Mapping[str | None, int] | None = None,
) -> KpiTables:
    """Replaces the day in every table of scored rows; see `ScoredDay.write`."""
    rubric, tables = rows.rubric, rows.kpi_tables([day])
    scores = (without_sessions(frame, erased) for frame in rows.score_frames())
    excluded = (without_sessions(frame, erased) for frame in rows.excluded_frames())
    warehouse.replace_day(SCORES, day, rubric.scores_schema, scores, most=most)
    warehouse.replace_day(EXCLUDED, day, rubric.excluded_schema, excluded)
    warehouse.replace_day(KPIS, day, rubric.kpis_schema, [tables.kpis])
    warehouse.replace_day(CROSSTAB, day, rubric.crosstab_schema, [tables.crosstab])
    rejected = (
        frame.with_columns(score_date=pl.lit(day), rubric=pl.lit(rubric.id)) for frame in rows.rejected_frames()
    )
    warehouse.replace_day(REJECTED, day, REJECTED_SCHEMA, rejected, only={"rubric": rubric.id})
    return tables


@dataclass(frozen=True)
class LocalDay:
    """A day whose rows wait in a staging folder."""

    outcome: ScoredRows
    rows_by_tenant: RowsByTenant
    _day: date
    _warehouse: Warehouse
    _staging: Path

    def write(self, erased: Collection[str] = (), most: Mapping[str | None, int] | None = None) -> KpiTables:
        """Replaces the day from the staged rows; returns the KPIs that were summed while they were scored."""
        return write_scored_day(self._warehouse, self._day, self.outcome, erased, most)

    def discard(self) -> None:
        """Removes the staging folder."""
        shutil.rmtree(self._staging, ignore_errors=True)


@dataclass(frozen=True)
class LocalEngine:
    """Scores rows of any source on this machine, by way of a staging folder, for any warehouse."""

    source: ChatRowSource
    warehouse: Warehouse
    rubric: RowRubric
    time_zone: str
    keep_text: KeepText
    staging: Path

    def score(self, day: date) -> LocalDay:
        """Scores the rows of a day, and those of no time at all, into the staging folder."""
        shutil.rmtree(self.staging, ignore_errors=True)  # what an earlier attempt left there takes room
        with writable(self.staging):
            rows = score_chat_rows(
                self.source,
                self.rubric,
                time_zone=self.time_zone,
                window=day_window(day, self.time_zone),
                staging=self.staging,
                keep_text=self.keep_text,
            )
        return LocalDay(
            rows, rows_by_tenant(rows.kpi_tables().kpis.iter_rows(named=True)), day, self.warehouse, self.staging
        )
