"""The monitoring tables of a warehouse: their names, and the alert facts of a written day.

Source: SPEC 1.3, 1.4, 6.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from itertools import chain, islice
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.alerting.decision import AlertPolicy, decide
from scoring.alerting.episodes import MIN_COUNT
from scoring.alerting.facts import HISTORY_DAYS, AlertFact, excluded_facts, monitoring_facts
from scoring.alerting.growth import FiredRow, Grown, Growth, growth_by_rule
from scoring.alerting.messages import Example
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.chat.templates import question_template
from scoring.rules.arrow_types import empty_frame, field
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import ALERTS, REJECTED
from tasks.warehouse.tables import SCORES as SCORES

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
        field("usual", pa.list_(pa.int64()), "최근에 채점한 날들의 행 수, 가까운 날부터"),
        field("usual_values", pa.list_(pa.float64()), "KPI나 제외율이면 그 날들의 값 가운데 알려진 것"),
        field("row_ids", pa.list_(pa.string()), "늘어난 행의 예, 질문의 꼴마다 하나"),
        field("rubric", pa.string(), "루브릭 id"),
        field("rubric_version", pa.string(), "루브릭 버전"),
        field("alike", pa.list_(pa.int64()), "row_ids의 행마다 질문의 꼴이 같은 행 수"),
        field("grown", pa.list_(_GROWN), "늘어난 행의 대부분을 차지한 값, 확실한 것부터"),
    ]
)


def write_alerts(warehouse: Warehouse, day: date, rubric: RowRubric, rejected: int) -> list[AlertFact]:
    """Works out the alert facts of a written day and replaces the day in the alert table.

    The day is compared with those of the last seven scored days that this version of the rubric has scored too.
    """
    last_days = islice(_earlier_days(warehouse, day, rubric), HISTORY_DAYS)
    history = [rows for rows in last_days if _scored_by(rubric, rows)]
    kpis = _kpi_rows(warehouse, day, rubric)
    days = {rows[0]["score_date"]: rows for rows in history}
    growth = read_growth(warehouse, rubric, {day: kpis}, days)
    worth_deciding = any(row["excluded"] >= MIN_COUNT for row in kpis)
    decided = decide(rubric, days | {day: kpis}, AlertPolicy())[day] if worth_deciding else {}
    facts = monitoring_facts(rubric, kpis, history, growth, rejected) + excluded_facts(decided.values(), history)
    rows = [asdict(fact) for fact in facts]
    frame = pl.DataFrame(rows, schema=_alert_columns()).with_columns(
        score_date=pl.lit(day), rubric=pl.lit(rubric.id), rubric_version=pl.lit(rubric.version)
    )
    warehouse.replace_day(ALERTS, day, ALERTS_SCHEMA, [frame])
    return facts


def read_growth(
    warehouse: Warehouse,
    rubric: RowRubric,
    days: Mapping[date, Sequence[Mapping[str, Any]]],
    usual_days: Mapping[date, Sequence[Mapping[str, Any]]],
) -> dict[tuple[str, str | None], Growth]:
    """What grew among the rows of each rule that fired on some days, against other days; both with their KPI rows."""

    def fired(when: Iterable[date]) -> list[FiredRow]:
        rows = (row for day in when for row in warehouse.day_queries(day, rubric).fired_rows())
        return [_fired_row(rubric, row) for row in rows]

    def turns(rows: Iterable[Sequence[Mapping[str, Any]]]) -> Counter[str | None]:
        counted = Counter[str | None]()
        for row in chain.from_iterable(rows):
            counted[row["tenant_id"]] += row["rows"]
        return counted

    had, now = turns(usual_days.values()), turns(days.values())
    scales = {tenant: count / had[tenant] for tenant, count in now.items() if had[tenant]}
    shares = {tenant: count / now[ALL_TENANTS] for tenant, count in now.items() if count}
    return growth_by_rule(fired(days), fired(usual_days), scales, shares)


def _fired_row(rubric: RowRubric, row: Mapping[str, Any]) -> FiredRow:
    question = row["user_input"]
    return FiredRow(
        row["row_id"],
        row["tenant_id"],
        tuple(row["alert_rules"]),
        {name: row[name] for name in ("tenant_id", *(kind.column for kind in rubric.kinds))},
        None if question is None else question_template(question),
        row[rubric.total],
    )


def recompute_later_alerts(warehouse: Warehouse, day: date, rubric: RowRubric) -> None:
    """Works out the alert facts of the scored days whose history holds `day`, which has just been written.

    A day is compared with the days before it: the table must not depend on the order in which days are scored. A day
    that another version of the rubric has scored keeps the facts that this version found.
    """
    days_with_rows = 0
    for later in (scored for scored in warehouse.days(KPIS) if scored > day):
        kpis = _kpi_rows(warehouse, later, rubric)
        if not kpis or days_with_rows == HISTORY_DAYS:
            return
        if _scored_by(rubric, kpis):
            rejected = warehouse.read(REJECTED, [later])
            of_rubric = None if rejected is None else rejected.filter(pl.col("rubric") == rubric.id).select("rubric")
            write_alerts(warehouse, later, rubric, 0 if of_rubric is None else of_rubric.collect().height)
        days_with_rows += any(row["rows"] + row["excluded"] for row in kpis)


def read_alerts(warehouse: Warehouse, day: date, days_before: int) -> dict[date, list[AlertFact]]:
    """The alert facts of a day and of at most `days_before` scored days before it, by day.

    Days on which nothing fired are there without facts; days that were not scored are not.
    """
    scored = [earlier for earlier in warehouse.days(KPIS) if earlier <= day][-days_before - 1 :]
    facts: dict[date, list[AlertFact]] = {when: [] for when in scored}
    rows = warehouse.read(ALERTS, scored, ALERTS_SCHEMA)
    for row in rows.collect().to_dicts() if rows is not None else []:
        values: dict[str, Any] = {name: row[name] for name in _alert_columns()}
        lists = {name: tuple(values[name] or ()) for name in ("usual", "usual_values", "row_ids", "alike")}
        grown = tuple(Grown(**one) for one in values["grown"] or ())
        facts[row["score_date"]].append(AlertFact(**values | lists | {"grown": grown}))
    return facts


def read_kpis(warehouse: Warehouse, rubric: RowRubric, last: date, days: int) -> dict[date, list[dict[str, Any]]]:
    """The KPI rows of the last `days` scored days up to `last`, by day, whichever version has scored them."""
    scored = [day for day in warehouse.days(KPIS) if day <= last][-days:]
    found: dict[date, list[dict[str, Any]]] = {day: [] for day in scored}
    rows = warehouse.read(KPIS, scored, rubric.kpis_schema)
    for row in rows.collect().to_dicts() if rows is not None else []:
        found[row["score_date"]].append(row)
    return found


def read_examples(warehouse: Warehouse, rubric: RowRubric, day: date, row_ids: Collection[str]) -> dict[str, Example]:
    """The rows that alert facts of a day point to, by row id, as messages show them."""
    columns = ["row_id", "user_input", "llm_response", rubric.failure.column, rubric.total]
    rows = ([row[name] for name in columns] for row in warehouse.day_queries(day, rubric).rows(row_ids, columns))
    return {
        row_id: Example(row_id, question, answer, rubric.failure.titles.get(failure), score)
        for row_id, question, answer, failure, score in rows
    }


def _earlier_days(warehouse: Warehouse, day: date, rubric: RowRubric) -> Iterator[Sequence[dict[str, Any]]]:
    """The KPI rows of earlier days that had any rows, latest day first, whichever version has scored them."""
    for earlier in reversed([scored for scored in warehouse.days(KPIS) if scored < day]):
        rows = _kpi_rows(warehouse, earlier, rubric)
        if any(row["rows"] + row["excluded"] for row in rows):
            yield rows


def _kpi_rows(warehouse: Warehouse, day: date, rubric: RowRubric) -> Sequence[dict[str, Any]]:
    rows = warehouse.read(KPIS, [day], rubric.kpis_schema)
    return rows.collect().to_dicts() if rows is not None else []


def _scored_by(rubric: RowRubric, kpis: Sequence[dict[str, Any]]) -> bool:
    return all((row["rubric"], row["rubric_version"]) == (rubric.id, rubric.version) for row in kpis)


def _alert_columns() -> dict[str, pl.DataType]:
    """The columns of an alert fact as Polars types."""
    computed = {"score_date", "rubric", "rubric_version"}
    empty = empty_frame(ALERTS_SCHEMA)
    return {name: dtype for name, dtype in empty.schema.items() if name not in computed}
