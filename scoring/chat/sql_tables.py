"""The tables of a day in GoogleSQL: what the local engine writes and reads back, computed inside BigQuery.

Each query takes the day as the parameter `@day` and table names in backquotes. The source is scored once, into a staged
day; all other queries read that, or the score table, which has a tenth of the source's bytes.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from scoring.chat.kpi_figures import figure_fields
from scoring.chat.kpis import ALL_TENANTS, Measure, Quotient
from scoring.chat.row_ids import OUTPUT_TOKENS, repeated_sql
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_scores import NAIVE, UNSCORED_BY, step_queries, with_tables
from scoring.rules.evaluation_order import columns_of
from scoring.rules.expressions import Expression
from scoring.rules.googlesql_backend import column_list, literal, to_sql

_OF_DAY = "WHERE score_date = @day"
_OF_DAYS = "WHERE score_date IN UNNEST(@days)"


def outcome_counts_query(staged: str) -> str:
    """`row_count`, `naive_count` and `repeated_count` of the staged rows by tenant and by the rule that rejected or
    excluded them (NULL for scored rows).
    """
    keys = f"tenant_id, {UNSCORED_BY.name}"
    counts = f"COUNT(*) AS row_count, COUNTIF({NAIVE.name}) AS naive_count, {repeated_sql()} AS repeated_count"
    return f"SELECT {keys}, {counts}\nFROM {staged}\nGROUP BY {keys}"


def contents_query(chat_rows: str, time_zone: str) -> str:
    """`row_count` and `row_hash` by `day` and `tenant_id` of the query `chat_rows`, independent of the order of its
    rows.

    The texts are not hashed: reading them to detect a changed day would cost as much as scoring it.
    """
    columns = ("UNIX_MICROS(timestamp)", "tenant_id", "session_id", "input_tokens", "output_tokens")
    parts = ", '|', ".join(f"IFNULL(CAST({column} AS STRING), '-')" for column in columns)
    return (
        f"SELECT DATE(timestamp, {literal(time_zone)}) AS day, tenant_id, COUNT(*) AS row_count,\n"
        f"  BIT_XOR(FARM_FINGERPRINT(CONCAT({parts}))) AS row_hash\n"
        f"FROM (\n{chat_rows}\n)\nWHERE timestamp IS NOT NULL\nGROUP BY day, tenant_id"
    )


def scores_query(rubric: RowRubric, staged: str, personal: Collection[str]) -> str:
    """The rows of the score table. The `personal` columns are NULL for sessions whose hash is in @erased."""
    columns = _unless_erased(rubric.scores_schema.names, personal)
    return f"SELECT {columns}\nFROM {staged}\nWHERE {UNSCORED_BY.name} IS NULL"


def excluded_query(rubric: RowRubric, staged: str, personal: Collection[str]) -> str:
    """The rows of the excluded table, with the code of their reason and their own alerts; @erased as above."""
    rejects, codes = len(rubric.rejects), [rule.code for rule in rubric.exclusions]
    definitions = step_queries(rubric.excluded_definitions, "excluded")
    computed = {"reason", *(definition.name for definition in rubric.excluded_definitions)}
    copied = _unless_erased([name for name in rubric.excluded_schema.names if name not in computed], personal)
    excluded = (
        f"SELECT {copied},\n  {_chosen(codes, f'{UNSCORED_BY.name} - {rejects}')} AS reason\n"
        f"FROM {staged}\nWHERE {UNSCORED_BY.name} >= {rejects}"
    )
    columns = column_list(rubric.excluded_schema.names)
    return with_tables([("excluded", excluded), *definitions], f"SELECT {columns}\nFROM {definitions[-1][0]}")


def rejected_query(rubric: RowRubric, staged: str, file: str) -> str:
    """The rows of the rejected table; rows of a table have no line number."""
    columns = ",\n  ".join(
        f"{_chosen([getattr(rule, name) for rule in rubric.rejects], UNSCORED_BY.name)} AS `{name}`"
        for name in ("column", "code", "reason")
    )
    return (
        f"SELECT\n  @day AS score_date,\n  {literal(file)} AS file,\n  CAST(NULL AS INT64) AS line,\n  {columns},\n"
        f"  {literal(rubric.id)} AS rubric\nFROM {staged}\nWHERE {UNSCORED_BY.name} < {len(rubric.rejects)}"
    )


def kpis_query(rubric: RowRubric, scores: str, excluded: str) -> str:
    """The KPIs: a row per tenant and one for all (`*`), even if the day has no rows.

    Intervals and verdicts are not computed in SQL: `with_figures` adds these columns.
    """
    totals: list[Measure | Quotient] = [*rubric.measures, *rubric.quotients]
    counted = ["rows", "excluded", *(total.name for total in totals)]
    # Every row counts for its tenant and for `*`; the row of zeros covers a day without rows.
    sums = "\nUNION ALL\n".join(
        [
            _sums(rubric, scores, totals, "rows", counted),
            _sums(rubric, excluded, rubric.excluded_measures, "excluded", counted),
            f"SELECT {literal(ALL_TENANTS)}, {', '.join('0' for _ in counted)}",
        ]
    )
    added = (
        f"SELECT\n  tenant AS tenant_id,\n  {', '.join(f'SUM(`{name}`) AS `{name}`' for name in counted)}\n"
        f"FROM sums CROSS JOIN UNNEST([tenant_id, {literal(ALL_TENANTS)}]) AS tenant\nGROUP BY tenant"
    )
    computed = {
        "score_date": "@day",
        "excluded_rate": "SAFE_DIVIDE(excluded, `rows` + excluded)",
        "rubric": literal(rubric.id),
        "rubric_version": literal(rubric.version),
    }
    for quotient in rubric.quotients:
        computed |= _quotient_columns(quotient)
    added_later = {field.name for field in figure_fields(rubric.quotients)}
    names = [name for name in rubric.kpis_schema.names if name not in added_later]
    return with_tables([("sums", sums), ("added", added)], _selected(names, computed, "added"))


def crosstab_query(rubric: RowRubric, scores: str) -> str:
    """The rows of the cross table: counts, percent of the day, and means of the pairs of grades that occur."""
    crosstab = rubric.crosstab
    keys = ", ".join(crosstab.keys)
    sums = ", ".join(f"SUM({score}) AS {score}" for score in crosstab.mean_scores)
    counted = (
        f"SELECT {keys}, COUNT(*) AS cnt, SUM(COUNT(*)) OVER (PARTITION BY score_date) AS day_total, {sums}\n"
        f"FROM {scores}\n{_OF_DAY}\nGROUP BY {keys}"
    )
    computed = {
        "pct": _rounded("cnt * 100", "day_total", digits=2),
        **{
            name: _rounded(score, "cnt", digits=1)
            for score, name in zip(crosstab.mean_scores, crosstab.mean_columns, strict=True)
        },
        "rubric": literal(rubric.id),
        "rubric_version": literal(rubric.version),
    }
    return with_tables([("counted", counted)], _selected(rubric.crosstab_schema.names, computed, "counted"))


def value_counts_query(columns: Sequence[str], scores: str) -> str:
    """The number of rows (`row_count`) of each day of @days by `value` (or NULL) of some columns (`name`), largest
    first.
    """
    counted = (
        f"SELECT score_date, {literal(column)} AS name, {column} AS value, COUNT(*) AS row_count\n"
        f"FROM {scores}\n{_OF_DAYS}\nGROUP BY score_date, value"
        for column in columns
    )
    return "\nUNION ALL\n".join(counted) + "\nORDER BY row_count DESC, value"


def worst_rows_query(
    rubric: RowRubric, scores: str, columns: Sequence[str], rows: int, where: Expression | None = None
) -> str:
    """The worst rows of the day that meet a condition: flagged ones first, then the lowest scores."""
    condition = f" AND ({to_sql(where)})" if where else ""
    order = f"NOT ({to_sql(rubric.flagged)}), {rubric.total}, timestamp, row_id"
    return f"SELECT {column_list(columns)}\nFROM {scores}\n{_OF_DAY}{condition}\nORDER BY {order}\nLIMIT {rows}"


def moments_query(scores: str, kpis: Sequence[Quotient]) -> str:
    """The input of `intervals_of_moments` from the sessions of the day, by tenant and for all (`*`).

    A turn without a session is its own cluster.
    """
    totals = "".join(f",\n  SUM({to_sql(kpi.expression)}) AS total_{place}" for place, kpi in enumerate(kpis))
    by_session = (
        f"SELECT tenant, IFNULL(session_id, row_id) AS cluster, COUNT(*) AS size{totals}\n"
        f"FROM {scores} CROSS JOIN UNNEST([tenant_id, {literal(ALL_TENANTS)}]) AS tenant\n{_OF_DAY}\n"
        "GROUP BY tenant, cluster"
    )
    moments = "".join(
        f",\n  SUM(total_{place}) AS total_{place}, SUM(total_{place} * total_{place}) AS of_sums_{place}, "
        f"SUM(total_{place} * size) AS mixed_{place}"
        for place in range(len(kpis))
    )
    return with_tables(
        [("by_session", by_session)],
        "SELECT @day AS score_date, tenant AS tenant_id, COUNT(*) AS clusters, SUM(size) AS size,\n"
        f"  SUM(size * size) AS of_sizes{moments}\nFROM by_session\nGROUP BY tenant",
    )


def rows_query(scores: str, columns: Sequence[str], row_ids: Iterable[str]) -> str:
    """The rows of the day with these ids."""
    return f"SELECT {column_list(columns)}\nFROM {scores}\n{_OF_DAY} AND row_id IN ({', '.join(map(literal, row_ids))})"


def repeated_rows_query(scores: str) -> str:
    """The number of rows of the day whose key repeats that of an earlier one (`repeated_count`)."""
    return f"SELECT {repeated_sql()} AS repeated_count\nFROM {scores}\n{_OF_DAY}"


def fired_rows_query(scores: str, columns: Sequence[str]) -> str:
    """These columns of the rows with an alert on the days @days."""
    return f"SELECT {column_list(columns)}\nFROM {scores}\n{_OF_DAYS} AND alert_level IS NOT NULL"


def fired_columns(rubric: RowRubric) -> list[str]:
    """The columns of a row with an alert that explain an increase to people; its tokens if scores depend on them."""
    kinds = (kind.column for kind in rubric.kinds)
    made = [one.expression for one in rubric.definitions if one.name != OUTPUT_TOKENS]
    tokens = [OUTPUT_TOKENS] if any(OUTPUT_TOKENS in columns_of(one) for one in made) else []
    found = ["score_date", "row_id", "tenant_id", "session_id", "alert_rules", *kinds, "user_input", rubric.total]
    return [*found, *tokens]


def _sums(
    rubric: RowRubric, table: str, totals: Sequence[Measure | Quotient], count_as: str, counted: Sequence[str]
) -> str:
    """The sums of one table by tenant, with 0 for the measures of other tables."""
    alerts = _alert_counts(rubric)
    sums = {total.name: alerts.get(total.name, f"SUM({to_sql(total.expression)})") for total in totals}
    known = {count_as: "COUNT(*)"} | sums
    columns = ",\n  ".join(f"{known.get(name, '0')} AS `{name}`" for name in counted)
    return f"SELECT\n  tenant_id,\n  {columns}\nFROM {table}\n{_OF_DAY}\nGROUP BY tenant_id"


def _alert_counts(rubric: RowRubric) -> dict[str, str]:
    """The number of rows with each alert rule, and with each pair, by measure; it reads no texts, which may not be
    kept.
    """

    def listing(*rules: str) -> str:
        return f"COUNTIF({' AND '.join(f'{literal(rule)} IN UNNEST(alert_rules)' for rule in rules)})"

    return {
        **{f"alert_{rule.id}": listing(rule.id) for rule in rubric.alert_rules},
        **{f"alerts_{first}_and_{second}": listing(first, second) for first, second in rubric.alert_pairs},
    }


def _quotient_columns(quotient: Quotient) -> dict[str, str]:
    """The value of a quotient; if it has a target, also the target and whether it is met."""
    value = f"SAFE_DIVIDE({quotient.name}, `rows` * {quotient.scale})"
    columns = {quotient.name: value}
    if quotient.target:
        goal = f"CAST({quotient.target.value!r} AS FLOAT64)"
        columns[f"{quotient.name}_target"] = goal
        columns[f"{quotient.name}_met"] = f"{value} {quotient.target.operator} {goal}"
    return columns


def _rounded(numerator: str, denominator: str, digits: int) -> str:
    """A quotient of whole numbers rounded half away from zero, in integer arithmetic until the last step."""
    scale = 10**digits
    return f"DIV(({numerator} * {2 * scale} + {denominator}), ({denominator} * 2)) / {scale}"


def _unless_erased(names: Iterable[str], personal: Collection[str]) -> str:
    erased = "TO_HEX(SHA256(session_id)) IN UNNEST(@erased)"
    return ", ".join(f"IF({erased}, NULL, `{name}`) AS `{name}`" if name in personal else f"`{name}`" for name in names)


def _selected(names: Iterable[str], computed: Mapping[str, str], table: str) -> str:
    columns = ",\n  ".join(f"{computed[name]} AS `{name}`" if name in computed else f"`{name}`" for name in names)
    return f"SELECT\n  {columns}\nFROM {table}"


def _chosen(values: Sequence[str], place: str) -> str:
    """The element at an index of a list."""
    return f"[{', '.join(map(literal, values))}][OFFSET({place})]"
