"""The monitoring tables of a warehouse: their names, and the alert facts of a written day.

Source: SPEC 1.3, 1.4, 6.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date
from itertools import chain
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.alerting.decision import WatchedDays
from scoring.alerting.episodes import MIN_COUNT
from scoring.alerting.facts import HISTORY_DAYS, AlertFact, excluded_facts, monitoring_facts
from scoring.alerting.growth import NO_TOKENS, FiredRow, Grown, Growth, growth_by_rule
from scoring.alerting.kpi_incidents import keep_verdicts_of_before
from scoring.alerting.messages import Example
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rubric_version_of, scored_and_excluded
from scoring.chat.row_ids import OUTPUT_TOKENS
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_tables import fired_columns
from scoring.rules.arrow_types import empty_frame, field
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import ALERTS, REJECTED

EXCLUDED = "monitoring_excluded"
KPIS, CROSSTAB = "monitoring_kpis", "monitoring_crosstab"


_GROWN = pa.struct(
    [
        field("column", pa.string(), "tenant_id, 실패 유형이나 질문 유형의 열, template"),
        field("value", pa.string(), "값. 없으면 NULL"),
        field("count", pa.int64(), "이날의 행 수"),
        field("usual", pa.float64(), "평소라면 몇 행"),
        field("share", pa.float64(), "늘어난 행 가운데 차지하는 비율"),
        field("low", pa.float64(), "그 95% 구간의 아래 끝"),
        field("high", pa.float64(), "그 95% 구간의 위 끝"),
    ]
)
ALERTS_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "날"),
        field("tenant_id", pa.string(), "테넌트. '*'는 전체"),
        field("rule", pa.string(), "알림 규칙"),
        field("level", pa.string(), "critical | warning"),
        field("title", pa.string(), "무엇인가"),
        field("count", pa.int64(), "해당하는 행 수. KPI면 NULL"),
        field("rows", pa.int64(), "분모"),
        field("value", pa.float64(), "비율이나 평균의 값"),
        field("limit", pa.float64(), "목표"),
        field(
            "usual",
            pa.list_(pa.int64()),
            "최근에 채점한 날들의 행 수, 가까운 날부터. 행이 없는 날이면 업무일끼리, 쉬는 날끼리",
        ),
        field("usual_values", pa.list_(pa.float64()), "KPI나 제외율이면 그 날들의 값 가운데 알려진 것"),
        field("row_ids", pa.list_(pa.string()), "늘어난 행의 예, 질문의 형태마다 하나"),
        field("rubric", pa.string(), "루브릭 id"),
        field("rubric_version", pa.string(), "루브릭 버전"),
        field("alike", pa.list_(pa.int64()), "row_ids의 행마다 질문의 형태와 실패 유형이 같은 행 수"),
        field("grown", pa.list_(_GROWN), "늘어난 행의 대부분을 차지한 값, 확실한 것부터"),
    ]
)


def write_alerts(warehouse: Warehouse, day: date, rubric: RowRubric, rejected: int) -> list[AlertFact]:
    """Computes the alert facts of a day that has just been written, and replaces it in the alert table; returns them.

    A day is compared with those of the last seven scored days before it that have the same rubric version. So the later
    days whose history includes the day are recomputed: the table must not depend on the order in which days are scored.
    A later day of another version keeps the facts computed by that version.
    """
    kpis = _kpis_around(warehouse, day, rubric)
    history = _history_of_affected(kpis, day, rubric)
    fired = read_fired_rows(warehouse, rubric, {*history, *chain.from_iterable(history.values())})
    rejects = _rejected_rows(warehouse, rubric, [when for when in history if when != day])
    rejects[day] = rejected
    facts = {
        when: _facts_of(
            rubric, when, kpis[when], usual, growth_of_days(fired, {when: kpis[when]}, usual), rejects[when]
        )
        for when, usual in history.items()
    }
    version = {"rubric": rubric.id, "rubric_version": rubric.version}
    rows = [asdict(fact) | {"score_date": when} | version for when, found in facts.items() for fact in found]
    frame = pl.DataFrame(rows, schema=empty_frame(ALERTS_SCHEMA).schema)
    warehouse.replace_days(ALERTS, list(facts), ALERTS_SCHEMA, frame)
    return facts[day]


def _history_of_affected(kpis: KpisByDay, day: date, rubric: RowRubric) -> dict[date, KpisByDay]:
    """The day and the later days that are compared with it, each with the KPI rows of its history, latest first."""
    with_rows = _days_with_rows(kpis)
    later = [
        when
        for when, rows in kpis.items()
        if when > day and sum(day < one < when for one in with_rows) < HISTORY_DAYS and _scored_by(rubric, rows)
    ]
    return {
        when: {
            one: kpis[one]
            for one in reversed([one for one in with_rows if one < when][-HISTORY_DAYS:])
            if _scored_by(rubric, kpis[one])
        }
        for when in (day, *later)
    }


def _facts_of(
    rubric: RowRubric,
    day: date,
    kpis: Sequence[KpiRow],
    usual_days: KpisByDay,
    growth: Mapping[tuple[str, str | None], Growth],
    rejected: int,
) -> list[AlertFact]:
    """The alert facts of a day from its KPI rows and those of its history, latest first."""
    worth_deciding = any(row["excluded"] >= MIN_COUNT for row in kpis)
    decided = WatchedDays(rubric, {**usual_days, day: kpis}, AlertPolicy()).decided[day] if worth_deciding else {}
    of_day = monitoring_facts(rubric, day, kpis, usual_days, growth, rejected)
    return of_day + excluded_facts(decided.values(), [*usual_days.values()])


def _rejected_rows(warehouse: Warehouse, rubric: RowRubric, days: Sequence[date]) -> Counter[date]:
    """How many rows of each of these days were rejected."""
    rows = warehouse.read(REJECTED, days) if days else None
    if rows is None:
        return Counter()
    return Counter(rows.filter(rubric=rubric.id).select("score_date").collect()["score_date"])


def growth_of_days(
    fired: Mapping[date, Sequence[FiredRow]],
    days: KpisByDay,
    usual_days: KpisByDay,
    wanted: Collection[tuple[str, str | None]] | None = None,
) -> dict[tuple[str, str | None], Growth]:
    """The increases among the rows of each rule that fired on some days, compared with other days, by rule and tenant.

    The days are given by their KPI rows; `wanted` selects rules and tenants: most of thousands are irrelevant.
    """

    def turns(rows: Iterable[Sequence[KpiRow]]) -> Counter[str | None]:
        counted = Counter[str | None]()
        for row in chain.from_iterable(rows):
            counted[row["tenant_id"]] += row["rows"]
        return counted

    today, usual = ([row for day in when for row in fired[day]] for when in (days, usual_days))
    had, now = turns(usual_days.values()), turns(days.values())
    scales = {tenant: count / had[tenant] for tenant, count in now.items() if had[tenant]}
    shares = {tenant: count / now[ALL_TENANTS] for tenant, count in now.items() if count}
    return growth_by_rule(today, usual, scales, shares, wanted)


def read_fired_rows(warehouse: Warehouse, rubric: RowRubric, days: Collection[date]) -> dict[date, list[FiredRow]]:
    """The rows with an alert of each of these days."""
    found: dict[date, list[FiredRow]] = {day: [] for day in days}
    has_tokens = OUTPUT_TOKENS in fired_columns(rubric)
    for row in warehouse.fired_rows(sorted(days), rubric):
        tokens = {OUTPUT_TOKENS: NO_TOKENS if row[OUTPUT_TOKENS] is None else None} if has_tokens else {}
        found[row["score_date"]].append(_fired_row(rubric, row, tokens))
    return found


def _fired_row(rubric: RowRubric, row: Mapping[str, Any], tokens: Mapping[str, str | None]) -> FiredRow:
    question = row["user_input"]
    return FiredRow(
        row["row_id"],
        row["tenant_id"],
        tuple(row["alert_rules"]),
        {**{name: row[name] for name in ("tenant_id", *(kind.column for kind in rubric.kinds))}, **tokens},
        None if question is None else rubric.template(question),
        row[rubric.failure.column],
        row[rubric.total],
        row["session_id"],
    )


def scored_until(warehouse: Warehouse, last: date) -> list[date]:
    """The scored days up to `last`, earliest first."""
    return [day for day in warehouse.days(KPIS) if day <= last]


def read_alerts(warehouse: Warehouse, days: Sequence[date]) -> dict[date, list[AlertFact]]:
    """The alert facts of scored days, by day; none on days on which nothing fired."""

    def fact(row: Mapping[str, Any]) -> AlertFact:
        values: dict[str, Any] = {one.name: row[one.name] for one in fields(AlertFact)}
        lists = {name: tuple(values[name] or ()) for name in ("usual", "usual_values", "row_ids", "alike")}
        return AlertFact(**values | lists | {"grown": tuple(Grown(**one) for one in values["grown"] or ())})

    by_day = rows_by_day(warehouse, ALERTS, days, ALERTS_SCHEMA)
    return {day: list(map(fact, rows)) for day, rows in by_day.items()}


def read_kpis_of_all(warehouse: Warehouse, rubric: RowRubric, days: Sequence[date]) -> dict[date, dict[str, Any]]:
    """The KPI row of all tenants together of each scored day, of any version."""
    rows = table_rows(warehouse, KPIS, rubric.kpis_schema, days).filter(tenant_id=ALL_TENANTS).collect()
    return {row["score_date"]: row for row in rows.iter_rows(named=True)}


def read_kpis(warehouse: Warehouse, rubric: RowRubric, days: Sequence[date]) -> dict[date, list[dict[str, Any]]]:
    """The KPI rows of scored days, by day, of any version."""
    return rows_by_day(warehouse, KPIS, days, rubric.kpis_schema)


def read_kpis_of_verdicts(
    warehouse: Warehouse,
    rubric: RowRubric,
    scored: Sequence[date],
    kpis: KpisByDay,
    first: date,
    tenants: Collection[str | None],
) -> KpisByDay:
    """The KPI rows of these tenants on the days of `kpis` and on as many of the `scored` days before them as the
    verdicts of KPIs need that are told from `first` on: undecided weeks keep the last one, however long ago it was.
    """
    found: KpisByDay = {day: [row for row in rows if row["tenant_id"] in tenants] for day, rows in kpis.items()}
    while found and keep_verdicts_of_before(found, rubric, tenants, first):
        if not (days := scored[: bisect_left(scored, min(found))][-len(found) :]):
            break
        of_tenants = pl.col("tenant_id").is_in([*tenants], nulls_equal=True)
        found = {**rows_by_day(warehouse, KPIS, days, rubric.kpis_schema, of_tenants), **found}
    return found


def rows_by_day(
    warehouse: Warehouse, table: str, days: Sequence[date], schema: pa.Schema, *where: pl.Expr
) -> dict[date, list[dict[str, Any]]]:
    """The rows that a table has of each of these days, of those only that meet the conditions."""
    found: dict[date, list[dict[str, Any]]] = {day: [] for day in days}
    for row in table_rows(warehouse, table, schema, days).filter(*where).collect().iter_rows(named=True):
        found[row["score_date"]].append(row)
    return found


def read_examples(warehouse: Warehouse, rubric: RowRubric, day: date, row_ids: Collection[str]) -> dict[str, Example]:
    """The example rows of a day's alert facts, by row id, as shown in messages."""
    columns = ["row_id", "user_input", "llm_response", rubric.failure.column, rubric.total]
    rows = ([row[name] for name in columns] for row in warehouse.day_queries(day, rubric).rows(row_ids, columns))
    return {
        row_id: Example(row_id, question, answer, rubric.failure.titles.get(failure), score)
        for row_id, question, answer, failure, score in rows
    }


def _kpis_around(warehouse: Warehouse, day: date, rubric: RowRubric) -> dict[date, list[dict[str, Any]]]:
    """The KPI rows of a day and of the scored days around it, earliest first, of any version.

    At least seven days with rows before it, and seven after it, if there are as many.
    """
    scored = warehouse.days(KPIS)
    place, reach = bisect_left(scored, day), HISTORY_DAYS
    while True:
        kpis = read_kpis(warehouse, rubric, sorted({day, *scored[max(place - reach, 0) : place + reach + 1]}))
        with_rows = _days_with_rows(kpis)
        before, after = sum(one < day for one in with_rows), sum(one > day for one in with_rows)
        if (before >= HISTORY_DAYS or place <= reach) and (after >= HISTORY_DAYS or place + reach >= len(scored) - 1):
            return kpis
        reach *= 2


def _days_with_rows(kpis: KpisByDay) -> list[date]:
    return [day for day, rows in kpis.items() if any(map(scored_and_excluded, rows))]


def _scored_by(rubric: RowRubric, kpis: Sequence[KpiRow]) -> bool:
    return all(rubric_version_of(row) == (rubric.id, rubric.version) for row in kpis)
