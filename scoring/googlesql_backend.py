"""Row rules as GoogleSQL: one readable query that scores inside BigQuery.

Nothing here is quoted by hand from data: constants come from rubrics, names of tables are checked by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from scoring.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    ContainsAny,
    Count,
    Definition,
    Expression,
    Fired,
    IsIn,
    IsNull,
    Length,
    LiteralValue,
    Matches,
    MostLost,
    Not,
    Pattern,
    Ratio,
    Sum,
    Tenths,
    Value,
    WeightedScore,
    alternation,
)
from scoring.row_identity import key_sql, ordinal_sql, row_id_sql
from scoring.rubric import RowRubric
from scoring.steps import steps


def scoring_query(
    rubric: RowRubric,
    *,
    source: str,
    time_zone: str,
    output_columns: Sequence[str],
    condition: str = "TRUE",
    keep_text: str = "flagged",
) -> str:
    """The query that turns chat rows into the columns of a score table, in their order.

    `source` is a table or view in backquotes, `condition` a GoogleSQL condition on its rows. Rows that the rubric
    rejects or excludes are left out.
    """
    unusable = [rule.condition for rule in rubric.rejects] + [rule.condition for rule in rubric.exclusions]
    parts = [
        (
            "chat_rows",
            "SELECT\n"
            "  timestamp, tenant_id, request_metadata.session_id AS session_id, user_input, llm_response,\n"
            "  IF(IS_NAN(input_tokens), NULL, input_tokens) AS input_tokens,\n"
            "  IF(IS_NAN(output_tokens), NULL, output_tokens) AS output_tokens\n"
            f"FROM {source}\n"
            f"WHERE {condition}",
        ),
        (
            "scorable",
            f"SELECT\n  *,\n  DATE(timestamp, {literal(time_zone)}) AS score_date,\n  {key_sql()} AS row_key\n"
            "FROM chat_rows\nWHERE " + "\n  AND ".join(f"({to_sql(rule)}) IS NOT TRUE" for rule in unusable),
        ),
    ]
    parts.extend(_step_queries(rubric.definitions))
    # Numbered once: two window functions may number rows that are equal in everything differently.
    parts.append(("numbered", f"SELECT\n  *,\n  {ordinal_sql()} AS key_ordinal\nFROM {parts[-1][0]}"))
    common_tables = ",\n".join(f"{name} AS (\n{_indented(query)}\n)" for name, query in parts)
    computed = {
        "row_id": row_id_sql(),
        "rubric": literal(rubric.id),
        "rubric_version": literal(rubric.version),
        **{text: _kept_text(text, rubric.flagged, keep_text) for text in ("user_input", "llm_response")},
    }
    columns = ",\n  ".join(f"{computed[name]} AS {name}" if name in computed else name for name in output_columns)
    return f"WITH\n{common_tables}\nSELECT\n  {columns}\nFROM {parts[-1][0]}\nORDER BY timestamp, row_id"


def to_sql(expression: Expression) -> str:
    """The GoogleSQL text of an expression."""
    match expression:
        case Column(name):
            return name
        case Value(value):
            return literal(value)
        case Length(text):
            return f"LENGTH({to_sql(text)})"
        case Count(text, pattern):
            return f"ARRAY_LENGTH(REGEXP_EXTRACT_ALL({to_sql(text)}, {_regex(pattern.regex)}))"
        case Matches(text, pattern):
            return f"REGEXP_CONTAINS({to_sql(text)}, {_regex(pattern.regex)})"
        case ContainsAny(text, words):
            return f"REGEXP_CONTAINS({to_sql(text)}, {_regex(alternation(words))})"
        case Ratio(numerator, denominator):
            return f"SAFE_DIVIDE({to_sql(numerator)}, {to_sql(denominator)})"
        case Compare(left, operator, right):
            return f"{to_sql(left)} {operator} {to_sql(right)}"
        case IsIn(value, options):
            if len(options) == 1:
                return f"{to_sql(value)} = {literal(options[0])}"
            return f"{to_sql(value)} IN ({', '.join(map(literal, options))})"
        case IsNull(value):
            return f"{to_sql(value)} IS NULL"
        case AllOf(terms):
            return " AND ".join(_operands(terms))
        case AnyOf(terms):
            return " OR ".join(_operands(terms))
        case Not(term):
            return f"NOT ({to_sql(term)})"
        case Sum(terms):
            plain = all(isinstance(term, (Column, Value, Count)) for term in terms)
            return (" + " if plain else "\n  + ").join(map(to_sql, terms))
        case Case(branches, otherwise):
            whens = [f"WHEN {to_sql(branch.condition)} THEN {to_sql(branch.value)}" for branch in branches]
            if len(whens) == 1:
                return f"CASE {whens[0]} ELSE {to_sql(otherwise)} END"
            return "CASE\n    " + "\n    ".join(whens) + f"\n    ELSE {to_sql(otherwise)} END"
        case WeightedScore(weighted):
            hundredths = " + ".join(f"{weight} * {score.name}" for weight, score in weighted)
            return f"DIV({hundredths} + 5, 10) / 10"
        case Tenths(score):
            return f"CAST(ROUND({to_sql(score)} * 10) AS INT64)"
        case MostLost(components):
            lost = [(name, f"{maximum} - {name}") for name, maximum in components]
            worst = f"GREATEST({', '.join(points for _, points in lost)})"
            whens = [f"WHEN {points} = {worst} THEN {literal(name)}" for name, points in lost]
            return "CASE\n    " + "\n    ".join(whens) + " END"
        case Fired(rules):
            ids = [f"IF({to_sql(condition)}, [{literal(rule)}], [])" for rule, condition in rules]
            return "ARRAY_CONCAT(\n    " + ",\n    ".join(ids) + ")"


def literal(value: LiteralValue) -> str:
    """A constant in GoogleSQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    if isinstance(value, float) and math.isinf(value):
        return "CAST('inf' AS FLOAT64)"
    return repr(value)


def _regex(regex: str) -> str:
    """A raw string, as the seed writes them; a Pattern refuses what RE2 would read differently."""
    Pattern(regex)
    if "'" in regex:
        return literal(regex)
    return f"r'{regex}'"


def _operands(terms: Iterable[Expression]) -> list[str]:
    return [f"({to_sql(term)})" if isinstance(term, (AllOf, AnyOf)) else to_sql(term) for term in terms]


def _step_queries(definitions: Sequence[Definition]) -> list[tuple[str, str]]:
    queries = []
    previous = "scorable"
    for number, step in enumerate(steps(definitions), start=1):
        columns = ",\n".join(
            f"  -- {definition.title} ({definition.source})\n  {to_sql(definition.expression)} AS {definition.name}"
            for definition in step
        )
        name = f"step_{number}"
        queries.append((name, f"SELECT\n  *,\n{columns}\nFROM {previous}"))
        previous = name
    return queries


def _kept_text(text: str, flagged: Expression, keep_text: str) -> str:
    if keep_text == "all":
        return text
    if keep_text == "none":
        return "CAST(NULL AS STRING)"
    return f"IF({to_sql(flagged)}, {text}, NULL)"


def _indented(query: str) -> str:
    return "\n".join(f"  {line}" for line in query.splitlines())
