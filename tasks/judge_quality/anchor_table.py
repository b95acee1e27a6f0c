"""The `anchors` table of the warehouse: the judge's nightly answers, question by question."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.alerting.judge_messages import JudgeNews, ModelChange
from scoring.judging.anchors import Anchor, decision
from scoring.judging.masking import SHOWN, masked
from scoring.judging.requests import ANSWERED
from scoring.rules.arrow_types import field, frame_of
from scoring.stats.self_agreement import AnchorNight, WatchedNight, watched
from tasks.judge.verdict_store import Judgement
from tasks.judge_quality.anchor_store import set_id
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import ANCHORS

ANCHORS_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "물은 밤의 날짜"),
        field("anchor_set", pa.string(), "앵커 질문과 기준 답의 묶음: 같은 묶음의 밤끼리만 비교한다"),
        field("key", pa.string(), "판정의 id"),
        field("kind", pa.string(), "질문의 종류: intent | semantic | conclusions"),
        field("rubric", pa.string(), "루브릭 id"),
        field("query_text", pa.string(), "질의"),
        field("status", pa.string(), "ok | refused | invalid | failed | over_budget"),
        field("stored", pa.string(), "기준 판정(JSON, 근거 제외)"),
        field("verdict", pa.string(), "이 밤의 판정(JSON, 근거 제외). 답이 없으면 NULL"),
        field("agrees", pa.bool_(), "두 판정이 같은지. 판정 모델이 답하지 않았으면 NULL"),
        field("model_asked", pa.string(), "물은 모델"),
        field("model_stored", pa.string(), "기준 판정을 낸 모델"),
        field("model_answered", pa.string(), "이 밤에 답한 모델"),
        field("epoch_stored", pa.string(), "기준 판정을 낸 모델과 조건"),
        field("epoch", pa.string(), "이 밤에 판정한 모델과 조건"),
        field("tokens_in", pa.int64(), "입력 토큰"),
        field("tokens_out", pa.int64(), "출력 토큰"),
        field("cost_usd", pa.float64(), "비용(USD). 가격을 모르면 NULL"),
    ]
)


def write_anchors(warehouse: Warehouse, day: date, anchors: Sequence[Anchor], judgements: Sequence[Judgement]) -> None:
    """Replaces the rows of a night.

    Raises:
        StorageError: the warehouse cannot be written.
    """
    by_key = {one.key: one for one in judgements}
    of_night = {"score_date": day, "anchor_set": set_id(anchors)}
    rows = [of_night | _row(anchor, by_key[anchor.key]) for anchor in anchors]
    warehouse.replace_day(ANCHORS, day, ANCHORS_SCHEMA, [frame_of(ANCHORS_SCHEMA, rows)])


def _row(anchor: Anchor, now: Judgement) -> dict[str, Any]:
    stored, given = decision(anchor.answer), decision(now.answer) if now.verdict.given else None
    return {
        "key": anchor.key,
        "kind": anchor.kind,
        "rubric": anchor.rubric,
        "query_text": masked(anchor.query, end=SHOWN) or None,
        "status": now.status.value,
        "stored": stored,
        "verdict": given,
        "agrees": given == stored if now.status in ANSWERED else None,
        "model_asked": now.model_asked,
        "model_stored": anchor.model,
        "model_answered": now.model_answered or None,
        "epoch_stored": anchor.epoch,
        "epoch": now.epoch,
        "tokens_in": now.tokens_in,
        "tokens_out": now.tokens_out,
        "cost_usd": now.usd,
    }


def anchor_nights(warehouse: Warehouse) -> list[tuple[str, list[WatchedNight]]]:
    """The nights of every set of anchors, each with the nights before it, the oldest set first, by set name."""
    counted = (
        table_rows(warehouse, ANCHORS, ANCHORS_SCHEMA)
        .group_by("anchor_set", "score_date")
        .agg(agreed=pl.col("agrees").sum().cast(pl.Int64), asked=pl.col("agrees").count().cast(pl.Int64))
        .sort("score_date")
        .collect()
    )
    sets: dict[str, list[AnchorNight]] = {}
    for row in counted.iter_rows(named=True):
        sets.setdefault(row["anchor_set"], []).append(AnchorNight(row["score_date"], row["agreed"], row["asked"]))
    return [(name, watched(nights)) for name, nights in sets.items()]


def news_of_night(warehouse: Warehouse, day: date) -> JudgeNews | None:
    """The result of a night, whether the judge changed or not; None if it was not asked."""
    rows = warehouse.read(ANCHORS, [day], ANCHORS_SCHEMA) if day in warehouse.days(ANCHORS) else None
    if rows is None:
        return None
    known = rows.sort("key").collect()
    (name,) = known["anchor_set"].unique()
    nights = dict(anchor_nights(warehouse))[name]
    (night,) = (one for one in nights if one.night.day == day)
    other = known.filter(pl.col("epoch") != pl.col("epoch_stored")).sort("epoch")
    # An epoch belongs to one kind of question: a new model for all kinds is reported as one change.
    changes = {
        (row["model_stored"], model): ModelChange(row["epoch"], row["model_stored"], model)
        for row in other.iter_rows(named=True)
        for model in [row["model_answered"] or row["model_asked"]]
    }
    different = known.filter(pl.col("agrees").not_())["query_text"].drop_nulls().unique(maintain_order=True)
    usd = None if known["cost_usd"].null_count() == known.height else float(known["cost_usd"].sum())
    return JudgeNews(
        name,
        known["model_asked"][0],
        night,
        tuple(changes.values()),
        tuple(different),
        known.height,
        known["query_text"].n_unique(),
        usd,
    )
