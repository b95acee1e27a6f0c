"""The page of the judge: its epochs, whether it has changed, agreement with people, audit, and model switches.

Figures of two epochs are never put together. Source: SPEC 11.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.alerting.blocks import inert, masked_text
from scoring.alerting.judge_messages import ModelEnd
from scoring.catalog import rubric_title, testrun_rubrics
from scoring.days import day_text
from scoring.markdown import percent
from scoring.stats.intervals import wilson_interval
from scoring.stats.self_agreement import WatchedNight
from tasks.judge_quality.anchor_table import ANCHORS_SCHEMA, anchor_nights, news_of_night
from tasks.judge_quality.audit import AUDITS_SCHEMA
from tasks.judge_quality.switch import SWITCHES_SCHEMA
from tasks.reports.judge_tables import AUDIT_HEADER, SHIFT_HEADER, audit_cells, audit_sentences, shift_cells
from tasks.reports.site.pages import Cell, Chart, Table, page, verdict_cell
from tasks.reports.wording import NOTHING, cost_text, count_text, kappa_text
from tasks.state.run_ledger import RUNS_SCHEMA, TEST_RUN
from tasks.testruns.trusted_metrics import read_agreements
from tasks.testruns.warehouse import DAY_JUDGEMENTS_SCHEMA, JUDGEMENTS
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import ANCHORS, AUDITS, RUNS, SWITCHES

KIND_TITLES = {"intent": "의도 충족", "semantic": "답변의 질", "conclusions": "결론의 일관성"}
AGREEMENT_TITLES = ("라벨", "일치", "선형 κ (95% 구간)", "판단")
_SHOWN_NIGHTS, _SHOWN_QUERIES = 30, 10
_QUERY_CHARACTERS, _MODEL_CHARACTERS = 120, 80
_JUDGED_COLUMNS = ("score_date", "rubric", "kind", "model_answered", "epoch")

Row = Mapping[str, Any]


def judge_page(warehouse: Warehouse, span: int, end: ModelEnd | None) -> str:
    """The page; `span` counts the days of judgements and costs that it shows, `end` is that of the model, if near."""
    nights = [(name, night) for name, of_set in anchor_nights(warehouse) for night in of_set][-span:]
    nights.sort(key=lambda one: one[1].night.day)
    audit, switch = _last(warehouse, AUDITS, AUDITS_SCHEMA), _last(warehouse, SWITCHES, SWITCHES_SCHEMA)
    chart = _anchor_chart(nights) if nights else None
    costs, totals = _costs(warehouse, span)
    news = news_of_night(warehouse, nights[-1][1].night.day) if nights else None
    return page(
        "judge.html",
        charts=[chart] if chart else [],
        root="",
        section="judge",
        title="판정 모델",
        end=end,
        epochs=_epochs(warehouse, span),
        anchors=chart,
        lines=news.lines if news else [],
        is_changed=bool(news and news.keys),
        different=[masked_text(query, _QUERY_CHARACTERS) for query in news.different[:_SHOWN_QUERIES]] if news else [],
        people=_people(warehouse),
        costs=costs,
        totals=totals,
        audit=Table(AUDIT_HEADER, audit_cells(audit)),
        audited=audit[0] if audit else None,
        audit_lines=audit_sentences(audit) if audit else [],
        switch=Table(SHIFT_HEADER, [shift_cells(row) for row in switch]),
        switched=switch[0] if switch else None,
    )


def _last(warehouse: Warehouse, table: str, schema: pa.Schema) -> list[dict[str, Any]]:
    """The rows of the last day that a table has."""
    return table_rows(warehouse, table, schema, warehouse.days(table)[-1:]).collect().to_dicts()


def _epochs(warehouse: Warehouse, span: int) -> Table:
    """The epochs of each kind of question with their first and last day, latest first."""
    columns = pa.schema([DAY_JUDGEMENTS_SCHEMA.field(name) for name in _JUDGED_COLUMNS])
    found = table_rows(warehouse, JUDGEMENTS, columns, warehouse.days(JUDGEMENTS)[-span:])
    known = found.filter(pl.col("epoch").is_not_null())
    grouped = known.group_by("rubric", "kind", "epoch").agg(
        pl.col("model_answered").drop_nulls().unique().sort(),
        first=pl.col("score_date").min(),
        last=pl.col("score_date").max(),
        n=pl.len(),
    )
    rows: list[list[Cell]] = [
        [
            ", ".join(inert(model, _MODEL_CHARACTERS) for model in row["model_answered"]),
            KIND_TITLES.get(row["kind"], row["kind"]),
            rubric_title(row["rubric"]),
            str(row["first"]),
            str(row["last"]),
            count_text(row["n"]),
            row["epoch"],
        ]
        for row in grouped.collect()
        .sort("last", "first", "rubric", "kind", "epoch", descending=True)
        .iter_rows(named=True)
    ]
    return Table(["판정한 모델", "질문", "채점 기준", "처음", "마지막", "판정", "에포크"], rows)


def _anchor_chart(nights: Sequence[tuple[str, WatchedNight]]) -> Chart:
    """The share of equal answers by night; the line breaks where other anchors or answers are compared."""
    asked = [(name, one) for name, one in nights if one.night.asked]
    days = [one.night.day for _, one in nights]
    return Chart(
        id="anchors",
        kind="trend",
        title="저장된 판정과 같은 답의 비율",
        summary=f"{len(asked)}밤 동안 앵커 질문에 저장된 판정과 같은 답을 한 비율과 95% 구간. "
        + "; ".join(f"{day_text(one.night.day)}에 바뀜" for _, one in asked if one.is_change),
        data={
            "rate": True,
            "target": None,
            "points": [_point(name, one) for name, one in asked],
            "changes": [{"day": str(one.night.day), "label": "바뀜"} for _, one in asked if one.is_change],
            "first": str(min(days)),
            "last": str(max(days)),
        },
        table=_nights(nights),
    )


def _point(name: str, one: WatchedNight) -> dict[str, Any]:
    interval = wilson_interval(one.night.agreed, one.night.asked)
    assert interval is not None
    return {
        "day": str(one.night.day),
        "value": one.night.agreed / one.night.asked,
        "low": interval.low,
        "high": interval.high,
        "segment": name,
        "href": "#anchors",
        "label": f"{one.night.day}\n{_share(one.night.agreed, one.night.asked)}",
    }


def _nights(nights: Sequence[tuple[str, WatchedNight]]) -> Table:
    """The last nights, the latest first."""
    rows: list[list[Cell]] = [
        [
            str(one.night.day),
            _share(one.night.agreed, one.night.asked),
            _share(one.agreed_before, one.asked_before),
            NOTHING if one.limit < 0 else f"{count_text(one.limit)}개 이하",
            verdict_cell("바뀜", "missed") if one.is_change else verdict_cell("그대로", "met"),
        ]
        for _, one in reversed(nights[-_SHOWN_NIGHTS:])
    ]
    return Table(["밤", "같은 답", "그 전의 밤들", "알리는 수", "판단"], rows)


def _share(agreed: int, asked: int) -> str:
    return f"{percent(agreed / asked)} ({agreed:,}/{asked:,})" if asked else NOTHING


def _people(warehouse: Warehouse) -> Table:
    """The newest agreement of people with every judged metric, epoch by epoch."""
    known = read_agreements(warehouse).filter(pl.col("epoch").is_not_null())
    newest = known.unique(["rubric", "metric", "epoch"], keep="last", maintain_order=True)
    titles = {
        (rubric.id, metric.name): metric.title for rubric in testrun_rubrics().values() for metric in rubric.metrics
    }
    rows: list[list[Cell]] = [
        [
            titles.get((row["rubric"], row["metric"]), row["metric"]),
            rubric_title(row["rubric"]),
            str(row["score_date"]),
            *agreement_cells(row),
            row["epoch"],
        ]
        for row in newest.reverse().iter_rows(named=True)
    ]
    return Table(["지표", "채점 기준", "잰 날", *AGREEMENT_TITLES, "에포크"], rows)


def agreement_cells(row: Mapping[str, Any]) -> list[Cell]:
    """What stands below `AGREEMENT_TITLES`, of a row of the `agreements` table."""
    return [
        count_text(row["n"]),
        percent(row["exact"] / row["n"]) if row["n"] else NOTHING,
        kappa_text(row),
        verdict_cell("신뢰", "met") if row["trusted"] else verdict_cell("신뢰 전", "undecided"),
    ]


def _costs(warehouse: Warehouse, span: int) -> tuple[Table, list[str]]:
    """The cost of judging by day and purpose, and its sum by purpose, without empty days and purposes."""
    of_run = pl.col("kind").eq(TEST_RUN) & pl.col("model").is_not_null()
    cost, rows_repeat_it = pl.col("cost_usd").sum(), pl.col("cost_usd").max()
    spent = {
        "테스트 런": _by_day(warehouse, RUNS, RUNS_SCHEMA, cost, span, of_run),
        "앵커": _by_day(warehouse, ANCHORS, ANCHORS_SCHEMA, cost, span),
        "점검": _by_day(warehouse, AUDITS, AUDITS_SCHEMA, rows_repeat_it, span),
        "모델 비교": _by_day(warehouse, SWITCHES, SWITCHES_SCHEMA, rows_repeat_it, span),
    }
    spent = {title: costs for title, costs in spent.items() if costs}
    days = sorted(set[date]().union(*spent.values()), reverse=True)[:_SHOWN_NIGHTS]
    rows: list[list[Cell]] = [
        [str(day), *(cost_text(costs[day]) if day in costs else NOTHING for costs in spent.values())] for day in days
    ]
    return Table(["날", *spent], rows), [f"{title}: {_total(costs, days)}" for title, costs in spent.items()]


def _total(costs: Mapping[date, float | None], days: Sequence[date]) -> str:
    """The sum of the known costs, or that the price is unknown."""
    known = [cost for day in days if (cost := costs.get(day)) is not None]
    return cost_text(sum(known) if known else None)


def _by_day(
    warehouse: Warehouse, table: str, schema: pa.Schema, cost: pl.Expr, span: int, where: pl.Expr | None = None
) -> dict[date, float | None]:
    """The known costs by day, None where none is known."""
    names = ("score_date", "cost_usd", *(where.meta.root_names() if where is not None else ()))
    columns = pa.schema([schema.field(name) for name in names])
    frame = table_rows(warehouse, table, columns, warehouse.days(table)[-span:])
    chosen = frame if where is None else frame.filter(where)
    known = pl.when(pl.col("cost_usd").count() > 0).then(cost)
    return dict(chosen.group_by("score_date").agg(known).collect().iter_rows())
