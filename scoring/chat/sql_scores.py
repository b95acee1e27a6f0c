"""Chat rows to scores as one readable GoogleSQL query, in two shapes: to read and paste, or to keep a whole day.

Names of tables are checked by the caller. Source: seed 002, 8; SPEC 1.2.
"""

from collections.abc import Sequence

import pyarrow as pa

from scoring.chat.row_ids import TEXTS, key_sql, ordinal_sql, row_id_sql
from scoring.chat.rubric import RowRubric
from scoring.rules.arrow_types import described, field
from scoring.rules.evaluation_order import steps
from scoring.rules.expressions import Definition, Expression
from scoring.rules.googlesql_backend import literal, to_sql

# The first rule that rejects or excludes a row: its position among the rejects, then the exclusions; NULL when scored.
UNSCORED_BY = field("unscored_by", pa.int64(), "채점하지 않은 규칙의 순번(거부, 다음 제외). 채점했으면 NULL")
NAIVE = field("naive", pa.bool_(), "시각에 시간대가 없었는가")

_Queries = list[tuple[str, str]]


def scoring_query(rubric: RowRubric, *, chat_rows: str, time_zone: str, keep_text: str) -> str:
    """Scores the rows of the query `chat_rows`: the columns of the score table, in the order of time.

    Rows that the rubric rejects or excludes are left out.
    """
    parts = _judged(rubric, chat_rows, time_zone)
    parts.append(("scorable", f"SELECT *\nFROM {parts[-1][0]}\nWHERE {UNSCORED_BY.name} IS NULL"))
    query = _scored(rubric, parts, rubric.scores_schema.names, keep_text)
    return f"{query}\nORDER BY timestamp, row_id"


def staged_query(rubric: RowRubric, *, chat_rows: str, time_zone: str, keep_text: str) -> str:
    """Every row of the query `chat_rows` once, with the columns of `staged_schema`: the input of a day's tables."""
    parts = _judged(rubric, chat_rows, time_zone)
    return _scored(rubric, parts, staged_schema(rubric).names, keep_text)


def staged_schema(rubric: RowRubric) -> pa.Schema:
    """The columns of the score table, and the outcome of rows that are not scored, whose scores are undefined."""
    return rubric.scores_schema.append(UNSCORED_BY).append(NAIVE)


def with_tables(parts: Sequence[tuple[str, str]], query: str) -> str:
    """A query over named queries."""
    named = ",\n".join(f"{name} AS (\n{_indented(part)}\n)" for name, part in parts)
    return f"WITH\n{named}\n{query}"


def step_queries(definitions: Sequence[Definition], source: str) -> _Queries:
    """Named queries, each selecting from the one before it, the first from `source`: its columns and those of one more
    step.
    """
    queries = []
    previous = source
    for number, step in enumerate(steps(definitions), start=1):
        columns = ",\n".join(
            f"  -- {described(one.title, one.source)}\n  {to_sql(one.expression)} AS {one.name}" for one in step
        )
        name = f"step_{number}"
        queries.append((name, f"SELECT\n  *,\n{columns}\nFROM {previous}"))
        previous = name
    return queries


def _judged(rubric: RowRubric, chat_rows: str, time_zone: str) -> _Queries:
    """The rows with their day, their key, and the rule that rejects or excludes them."""
    unusable = [rule.condition for rule in rubric.rejects] + [rule.condition for rule in rubric.exclusions]
    whens = "\n    ".join(f"WHEN {to_sql(condition)} THEN {place}" for place, condition in enumerate(unusable))
    judged = (
        f"SELECT\n  *,\n  DATE(timestamp, {literal(time_zone)}) AS score_date,\n  {key_sql()} AS row_key,\n"
        f"  CASE\n    {whens} END AS {UNSCORED_BY.name}\nFROM chat_rows"
    )
    return [("chat_rows", chat_rows), ("judged", judged)]


def _scored(rubric: RowRubric, parts: _Queries, output_columns: Sequence[str], keep_text: str) -> str:
    """The rows of the last step with every definition and a number that distinguishes duplicate keys."""
    parts = [*parts, *step_queries(rubric.definitions, parts[-1][0])]
    # Computed once: two window functions may number fully equal rows differently.
    ordinal = ordinal_sql(UNSCORED_BY.name)
    parts.append(("numbered", f"SELECT\n  *,\n  {ordinal} AS key_ordinal\nFROM {parts[-1][0]}"))
    computed = {
        "row_id": row_id_sql(),
        "rubric": literal(rubric.id),
        "rubric_version": literal(rubric.version),
        **{text: _kept_text(text, rubric.flagged, keep_text) for text in TEXTS},
    }
    columns = ",\n  ".join(f"{computed[name]} AS {name}" if name in computed else name for name in output_columns)
    return with_tables(parts, f"SELECT\n  {columns}\nFROM numbered")


def _kept_text(text: str, flagged: Expression, keep_text: str) -> str:
    if keep_text == "all":
        return text
    if keep_text == "none":
        return "CAST(NULL AS STRING)"
    return f"IF({to_sql(flagged)}, {text}, NULL)"


def _indented(query: str) -> str:
    # Not `splitlines`: it also breaks lines at U+0085 and similar characters, which a literal may contain.
    return "\n".join(f"  {line}" for line in query.split("\n"))
