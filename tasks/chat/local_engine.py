"""Chat rows of a source become scored, excluded and rejected rows, in one streaming pass.

The pass keeps sums and counts in memory and the rows themselves in a staging folder; the tables are then written from
there in the order of time. Memory depends on the length of the period, not on the number or size of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import polars as pl

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
from scoring.chat.row_ids import TEXTS, TIE_BREAK, numbered_keys, row_keys
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText, ScoredBatch, copied, score_batch, with_kept_texts
from scoring.chat.shrinkage import RowsByTenant, rows_by_tenant
from scoring.days import Window
from tasks.chat.fingerprint import content_of
from tasks.chat.sources import ChatRowSource, FileFailure, RowBatch
from tasks.chat.sources.content import DayContent, TellsContents
from tasks.chat.time_sorted_rows import TimeSortedRows

_ANSWER_HASH = "_answer_hash"
_PARTS_BEFORE_MERGE = 64
REJECTED_COLUMNS = {
    "file": pl.String,
    "line": pl.Int64,
    "column": pl.String,
    "code": pl.String,
    "reason": pl.String,
}


@dataclass
class Counts:
    """What became of the rows: `rows_in` = `scored` + `excluded` + `rejected`, always."""

    rows_in: int = 0
    scored: int = 0
    excluded: int = 0
    rejected: int = 0

    def check(self) -> None:
        """Raises AssertionError when a row was lost or counted twice: a defect of ours, never of the data."""
        accounted = self.scored + self.excluded + self.rejected
        if self.rows_in != accounted:
            raise AssertionError(f"{self.rows_in} rows came in, {accounted} are accounted for")


class ScoredPeriod(Protocol):
    """What is known of scored rows without the rows, whichever engine has scored them."""

    rubric: RowRubric
    counts: Counts
    failures: list[FileFailure]
    naive_timestamps: int
    excluded_by_reason: Counter[str]
    rejected_by_code: Counter[str]
    content: DayContent | None

    def kpis(self, days: Sequence[date] = ()) -> pl.DataFrame:
        """KPIs per day and tenant, and per day for all (`tenant_id` = '*'), also for `days` without rows."""
        ...

    def period_kpis(self) -> dict[str, Any]:
        """The KPIs of all rows together, whatever their day and tenant."""
        ...

    def rows_by_tenant(self) -> RowsByTenant:
        """Scored and excluded rows by tenant and for all (`*`), known before anything is written."""
        ...

    def crosstab(self) -> pl.DataFrame:
        """The tier x grade table, per day."""
        ...

    def first_rejected(self, count: int) -> list[dict[str, Any]]:
        """At most `count` rejected rows (`REJECTED_COLUMNS`) that have a line, in reading order; none of a view."""
        ...


@dataclass
class ScoredRows:
    """The outcome of one pass: counts, sums, and the rows in their staging folder.

    `content` is what the window holds, None without a window.
    """

    rubric: RowRubric
    source: ChatRowSource
    window: Window | None
    keep_text: KeepText
    scored: TimeSortedRows
    excluded: TimeSortedRows
    rejected_folder: Path
    counts: Counts = field(default_factory=Counts)
    rows_by_file: Counter[str] = field(default_factory=Counter)
    failures: list[FileFailure] = field(default_factory=list)
    naive_timestamps: int = 0
    excluded_by_reason: Counter[str] = field(default_factory=Counter)
    rejected_by_code: Counter[str] = field(default_factory=Counter)
    content: DayContent | None = None
    _kpi_parts: list[pl.DataFrame] = field(default_factory=list)
    _crosstab_parts: list[pl.DataFrame] = field(default_factory=list)

    def kpis(self, days: Sequence[date] = ()) -> pl.DataFrame:
        """KPIs per day and tenant, and per day for all (`tenant_id` = '*'), also for `days` without rows."""
        return self._identified(kpi_table(self._kpi_parts, self.rubric.measures, self.rubric.quotients, days))

    def period_kpis(self) -> dict[str, Any]:
        """The KPIs of all rows together, whatever their day and tenant."""
        pooled = [part.with_columns(score_date=pl.lit(None, pl.Date), tenant_id=pl.lit("")) for part in self._kpi_parts]
        table = kpi_table(pooled, self.rubric.measures, self.rubric.quotients, days=[None])
        return table.filter(pl.col("tenant_id") == ALL_TENANTS).to_dicts()[0]

    def rows_by_tenant(self) -> RowsByTenant:
        """Scored and excluded rows by tenant and for all (`*`), of the one day of the window."""
        return rows_by_tenant(self.kpis().iter_rows(named=True))

    def crosstab(self) -> pl.DataFrame:
        """The tier x grade table, per day."""
        return self._identified(crosstab_table(self._crosstab_parts, self.rubric.crosstab))

    def score_frames(self) -> Iterator[pl.DataFrame]:
        """The columns of the score table in the order of (`timestamp`, `row_id`)."""
        ordinal = pl.int_range(1, pl.len() + 1).over("row_key")
        for bucket in self.scored.buckets():
            rows = bucket.with_columns(*(copied(pl.col(text)) for text in TEXTS), row_id="row_key")
            repeated = rows["row_key"].is_duplicated()
            if repeated.any():
                numbered = self._in_tie_order(rows.filter(repeated)).with_columns(row_id=numbered_keys(ordinal))
                rows = pl.concat([rows.filter(~repeated), numbered])
            yield self._identified(rows.sort("timestamp", "row_id")).select(self.rubric.scores_schema.names)

    def excluded_frames(self) -> Iterator[pl.DataFrame]:
        """The columns of the excluded table, in the order of time."""
        names = self.rubric.excluded_schema.names
        for bucket in self.excluded.buckets():
            yield bucket.select(names).sort(names[1:-2], nulls_last=False)

    def rejected_frames(self) -> Iterator[pl.DataFrame]:
        """The rejected rows (`REJECTED_COLUMNS`), in the order of reading."""
        for path in sorted(self.rejected_folder.glob("*.parquet")):
            yield pl.read_parquet(path)

    def first_rejected(self, count: int) -> list[dict[str, Any]]:
        """At most `count` rejected rows (`REJECTED_COLUMNS`) that have a line, in the order of reading.

        Those of a view have none, and come in another order each time: a report that named them would change.
        """
        with_line = (frame.filter(pl.col("line").is_not_null()) for frame in self.rejected_frames())
        return list(islice((row for frame in with_line for row in frame.iter_rows(named=True)), count))

    def take(self, batch: RowBatch, scored: ScoredBatch) -> None:
        """Adds one scored batch to counts, sums and staging."""
        rejected = _all_rejects(batch, scored)
        self.counts.rows_in += batch.rows.height + len(batch.rejects)
        self.counts.scored += scored.scored.height
        self.counts.excluded += scored.excluded.height
        self.counts.rejected += rejected.height
        self.rows_by_file[batch.file] += batch.rows.height + len(batch.rejects)
        self.naive_timestamps += batch.naive_timestamps
        self.excluded_by_reason.update(scored.excluded["reason"])
        self.rejected_by_code.update(rejected["code"])
        if rejected.height:
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
) -> ScoredRows:
    """Scores every row of `source` within `window` (all rows when None).

    `staging` is a folder of its own, which must not exist yet; the caller removes it when the tables are written.
    """
    rejected_folder = staging / "rejected"
    rejected_folder.mkdir(parents=True)
    outcome = ScoredRows(
        rubric,
        source,
        window,
        keep_text,
        TimeSortedRows(staging / "scored"),
        TimeSortedRows(staging / "excluded"),
        rejected_folder,
    )
    # Before the rows: what arrives meanwhile is then found by the next run.
    if window and isinstance(source, TellsContents):
        outcome.content = sum(source.contents(window, time_zone).values(), DayContent())
    elif window:
        outcome.content = DayContent()
    for batch in source.batches(window):
        if isinstance(batch, FileFailure):
            outcome.failures.append(batch)
        else:
            if outcome.content is not None and not isinstance(source, TellsContents):
                outcome.content += content_of(batch.rows)
            outcome.take(batch, score_batch(rubric, batch.rows, time_zone))
        del batch  # before the next one is read
    outcome.counts.check()
    return outcome


def _all_rejects(batch: RowBatch, scored: ScoredBatch) -> pl.DataFrame:
    """Rows that could not be read, then rows that a rule refused."""
    unread = pl.DataFrame(
        [(reject.file, reject.line, reject.column, reject.code, reject.reason) for reject in batch.rejects],
        schema=REJECTED_COLUMNS,
        orient="row",
    )
    refused = scored.rejected.select(pl.lit(batch.file).alias("file"), "line", "column", "code", "reason")
    return pl.concat([unread, refused])
