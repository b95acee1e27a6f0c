"""Tables of pandas, Polars or Arrow, scored in memory by what scores files: `score`, `score_runs` and what follows.

Nothing is read or written, and no judge is asked.

Source: SPEC 13.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, get_args

import polars as pl
import pyarrow as pa
from pyarrow import types

from scoring.catalog import TestRunChoices, plan_of, row_rubric, row_rubric_of_text, testrun_rubric_of_text
from scoring.chat.arrow_rows import leaves_to_read, read_batch
from scoring.chat.explained_rows import explained_rows
from scoring.chat.golden import best_rows, golden_candidates, golden_schema
from scoring.chat.kpi_figures import kpi_intervals, with_figures
from scoring.chat.kpis import Measure, Quotient, crosstab_sums, crosstab_table, kpi_sums, kpi_table
from scoring.chat.reading import READ_COLUMNS, column_places
from scoring.chat.row_ids import TIE_BREAK, with_row_ids
from scoring.chat.rows import BATCH_ROWS, CHAT_ROW_SCHEMA, RowBatch
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText, excluded_rows, score_together, with_kept_texts
from scoring.days import is_time_zone
from scoring.errors import InputError, UsageError
from scoring.frames.conversion import FRAME, arrow_table, columns_of, maker_like
from scoring.inputs import REJECTED_SCHEMA, FileIdentity, TextRow
from scoring.rubrics import DEFAULT_ROW_RUBRIC
from scoring.testruns.cells import cell_text
from scoring.testruns.column_names import is_read
from scoring.testruns.scoring import score_testrun, testrun_summary
from scoring.testruns.tables import queries_frame, queries_schema, rejected_frame, scores_frame, scores_schema
from scoring.testruns.team_names import COMMON_NAMES
from scoring.testruns.testrun import TestRunReading

Frame = TypeVar("Frame")
"""pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table."""

_FINDINGS_SCHEMA = pa.schema([*((name, pa.string()) for name in ("row_id", "column", "rule")), ("points", pa.int64())])


@dataclass(frozen=True)
class ScoredChat(Generic[Frame]):
    """The result for chat rows, in the tables that `aqb score` writes: the same rows, order, columns and types.

    `scored`: a row per scored row, in the order of (`timestamp`, `row_id`). `excluded`: a row per row without a
    question or an answer, in the order of time. `rejected`: a row per row that cannot be read or scored, with `line`
    (the row number from 1), `column`, `code` and the Korean `reason`. `kpis`: a row per day and tenant, and per day for
    all (`tenant_id` = `*`). `crosstab`: a row per day and pair of grades.
    """

    scored: Frame
    excluded: Frame
    rejected: Frame
    kpis: Frame
    crosstab: Frame


def score(
    frame: Frame, rubric: str = DEFAULT_ROW_RUBRIC, *, time_zone: str = "Asia/Seoul", keep_text: KeepText = "flagged"
) -> ScoredChat[Frame]:
    """Scores the chat rows of a pandas, Polars or Arrow table by the rules of a row rubric.

    Required columns: `user_input`, `llm_response`, `timestamp`, `input_tokens`, `output_tokens`. `tenant_id`,
    `session_id`, `source_id` and `request_metadata` (a struct or JSON text) are read where they are there. A timestamp
    without a zone is UTC. `rubric` is an id, or the text of a rubric file. `time_zone` tells the day of a row,
    `keep_text` which scored rows keep their two texts.

    Raises:
        InputError: a required column is missing, or one has a type that cannot hold what it should.
        UsageError: no such kind of table, rubric or time zone, the rubric is for test runs, or its text is wrong.

    Source: SPEC 1.1, 1.3, 13.
    """
    chosen = _row_rubric(rubric)
    if not is_time_zone(time_zone):
        raise UsageError(f"{time_zone[:80]!r} is no time zone", fix="use a name such as Asia/Seoul or UTC")
    if keep_text not in get_args(KeepText):
        raise UsageError(f"keep_text cannot be {keep_text!r}", fix=f"use one of: {', '.join(get_args(KeepText))}")
    outcomes = [score_together(chosen, [batch], time_zone) for batch in _batches(frame)]
    scored = pl.concat([outcome.scored for outcome in outcomes])
    excluded = pl.concat([outcome.excluded for outcome in outcomes])
    rejected = pl.concat([outcome.rejected for outcome in outcomes])
    totals: list[Measure | Quotient] = [*chosen.measures, *chosen.quotients]
    sums = [kpi_sums(scored, totals, "rows"), kpi_sums(excluded, chosen.excluded_measures, "excluded")]
    crosstab = crosstab_table([crosstab_sums(scored, chosen.crosstab)], chosen.crosstab)
    scored = with_row_ids(scored, lambda repeated: repeated.sort("row_key", *TIE_BREAK))
    scored = with_kept_texts(chosen, scored, keep_text)
    kpis = with_figures(
        kpi_table(sums, chosen.measures, chosen.quotients),
        chosen.quotients,
        kpi_intervals(scored.lazy(), chosen.quotients),
    )

    made = maker_like(frame)
    named = {"rubric": pl.lit(chosen.id), "rubric_version": pl.lit(chosen.version)}
    return ScoredChat(
        scored=made(scored.with_columns(**named), chosen.scores_schema),
        excluded=made(excluded_rows(chosen, excluded), chosen.excluded_schema),
        rejected=made(rejected.with_columns(**named, score_date=pl.lit(None, pl.Date)), REJECTED_SCHEMA),
        kpis=made(kpis.with_columns(**named), chosen.kpis_schema),
        crosstab=made(crosstab.with_columns(**named), chosen.crosstab_schema),
    )


def golden_rows(frame: Frame, rubric: str = DEFAULT_ROW_RUBRIC, *, limit: int = 100) -> Frame:
    """The candidates for a Golden Set, as `aqb golden` lists them: rows of the best final grade, best first.

    A row per question template, at most `limit`, each category of the rubric in turn where there are more. Columns:
    `row_id`, `timestamp`, `tenant_id`, the category and the total of the rubric, `user_input`, `llm_response`,
    `template`, and `same_template`, how many rows have it. `frame`, `rubric` and errors are those of `score`.

    Raises:
        UsageError: also for a `limit` below 1.

    Source: SPEC 13.
    """
    if limit < 1:
        raise UsageError(f"limit cannot be {limit}", fix="give 1 or more")
    chosen = _row_rubric(rubric)
    best = best_rows(chosen, [_scored_with_texts(frame, rubric)])
    candidates = golden_candidates(chosen, best, limit, chosen.category.column if chosen.category else None)
    return cast(Frame, maker_like(frame)(candidates, golden_schema(chosen)))


def explain_rows(frame: Frame, row_ids: str | Collection[str], rubric: str = DEFAULT_ROW_RUBRIC) -> Frame:
    """Why rows have their points, as `aqb rows` says it: a row per row and rule, in the order of `row_ids`.

    `row_ids` is one id or several; ids that no row has are left out. Columns: `row_id`, `column`, `rule` and `points`;
    a rule that was not met gives 0. `frame`, `rubric` and errors are those of `score`.

    Source: SPEC 13.
    """
    wanted = [row_ids] if isinstance(row_ids, str) else [str(row_id) for row_id in row_ids]  # also Arrow's scalars
    explained = explained_rows(_row_rubric(rubric), [_scored_with_texts(frame, rubric)], wanted)
    found = [
        (row_id, finding.column, finding.label, finding.points)
        for row_id, explanation in explained.items()
        for finding in explanation.findings
        if isinstance(finding.points, int)
    ]
    rows = pl.DataFrame(found, schema=pl.DataFrame(_FINDINGS_SCHEMA.empty_table()).schema, orient="row")
    return cast(Frame, maker_like(frame)(rows, _FINDINGS_SCHEMA))


@dataclass(frozen=True)
class ScoredRuns(Generic[Frame]):
    """The result for a test run, in the tables that `aqb score` writes: the same rows, order, columns and types.

    `scores`: a row per execution. `queries`: a row per query. `rejected`: a row per row that cannot be read, with
    `line` (the row number from 1), `column`, `code` and the Korean `reason`. `summary`: the content of `summary.json`
    without the file.
    """

    scores: Frame
    queries: Frame
    rejected: Frame
    summary: dict[str, Any]


def score_runs(
    frame: Frame, rubric: str = "", *, agent_type: str = "", options: Mapping[str, str | float] | None = None
) -> ScoredRuns[Frame]:
    """Scores a test run of an agent: a row per execution (long layout) or per query (wide layout), one run a table.

    The columns are those of files. `rubric` is an id, or the text of a rubric file; without it and `agent_type` the
    columns must tell them. `options` are the rubric's, as texts or numbers. No judge is asked: what only a judge can
    tell is NULL (`no_judge`).

    Raises:
        InputError: the columns are no test run's, a required one is missing, or one holds neither text, numbers nor
            dates.
        UsageError: no such kind of table, rubric, agent or option, the rubric's text is wrong, or nothing tells the
            rubric or the agent.

    Source: SPEC 2, 4.
    """
    reading = TestRunReading(None, COMMON_NAMES)
    reading.add(_TextTable(frame), FRAME)
    run = reading.run_file(FRAME, FileIdentity(FRAME, "", 0))
    in_text = {rubric: testrun_rubric_of_text(rubric)} if _is_text(rubric) else {}
    in_words = {name: str(value) for name, value in (options or {}).items()}
    scored = score_testrun(plan_of(run, TestRunChoices(rubric, agent_type, in_words), {}, in_text), {})
    chosen = scored.plan.rubric
    made = maker_like(frame)
    return ScoredRuns(
        scores=made(scores_frame(scored), scores_schema(chosen)),
        queries=made(queries_frame(scored), queries_schema(chosen)),
        rejected=made(rejected_frame(run, chosen.id), REJECTED_SCHEMA),
        summary={name: value for name, value in testrun_summary(scored).items() if name != "inputs"},
    )


class _TextTable:
    """A table whose cells are read as text; `line` is the row number from 1."""

    def __init__(self, frame: object) -> None:
        self.columns = columns_of(frame)
        self._frame = frame

    def rows(self) -> Iterator[TextRow]:
        """The rows in order."""
        headers = zip(self.columns, COMMON_NAMES.headers(self.columns), strict=True)
        unread = {name for name, header in headers if not is_read(header)}
        # All columns, as for files: a row with any value is not blank.
        table = arrow_table(self._frame, self.columns, unread)
        read = (field for field in table.schema if field.name not in unread)
        wrong = [field for field in read if types.is_nested(field.type) or types.is_binary(field.type)]
        if wrong:
            raise InputError(
                f"columns of a wrong type: {'; '.join(f'{field.name} is {field.type}' for field in wrong)}",
                where=FRAME,
                fix="give text, numbers or dates; JSON as text",
            )
        for line, values in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True), start=1):
            yield TextRow(line, [cell_text(value) for value in values])


def _batches(frame: object) -> Iterator[RowBatch]:
    """The chat rows of a table; at least one batch, perhaps empty."""
    column_places(FRAME, columns_of(frame))
    table = arrow_table(frame, READ_COLUMNS)
    leaves = leaves_to_read(FRAME, table.schema)
    table = table.select([leaf.path[0] for leaf in leaves.values()])
    if not table.num_rows:
        yield RowBatch(FRAME, pl.DataFrame(schema=CHAT_ROW_SCHEMA), (), 0, 0, 0)
    for start in range(0, table.num_rows, BATCH_ROWS):
        (batch,) = table.slice(start, BATCH_ROWS).combine_chunks().to_batches()
        yield read_batch(FRAME, batch, leaves, start + 1)


def _row_rubric(rubric: str) -> RowRubric:
    """The row rubric of an id, or of the text of a rubric file."""
    return row_rubric_of_text(rubric) if _is_text(rubric) else row_rubric(rubric)


def _is_text(rubric: str) -> bool:
    """Whether it is the text of a rubric file, not an id.

    Raises:
        UsageError: it is a file name; in-memory scoring reads no files.
    """
    text = str(rubric)  # of a Path, too
    if "\n" not in text and text.endswith(".toml"):
        fix = 'give its text: Path("my-rubric.toml").read_text(encoding="utf-8")'
        raise UsageError(f"rubric takes the text of a rubric file, not its name: {rubric}", fix=fix)
    return "\n" in text


def _scored_with_texts(frame: object, rubric: str) -> pl.DataFrame:
    return pl.DataFrame(score(arrow_table(frame, READ_COLUMNS), rubric, keep_text="all").scored)
