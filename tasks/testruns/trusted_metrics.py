"""The `agreements` table of the warehouse: agreement of people's labels with each metric; the latest day counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.rules.arrow_types import field, frame_of
from scoring.stats.agreement import ALL_AGENTS, Agreement
from scoring.testruns.rubric import AnyTestRunRubric
from tasks.warehouse import Warehouse, table_rows

AGREEMENTS = "agreements"
AGREEMENTS_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "라벨과 비교한 날"),
        field("metric", pa.string(), "지표"),
        field("agent_type", pa.string(), "에이전트 유형(대화 기록은 테넌트). '*'는 전체"),
        field("n", pa.int64(), "라벨 수"),
        field("clusters", pa.int64(), "라벨이 있는 질의(세션) 수"),
        field("exact", pa.int64(), "점수와 같은 라벨 수"),
        field("adjacent", pa.int64(), "1점(한 등급) 이내인 라벨 수"),
        field("bias", pa.float64(), "점수 − 라벨의 평균"),
        field("linear_kappa", pa.float64(), "선형 가중 카파. 계산할 수 없으면 NULL"),
        field("linear_low", pa.float64(), "그 95% 구간의 하한"),
        field("linear_high", pa.float64(), "그 95% 구간의 상한"),
        field("quadratic_kappa", pa.float64(), "이차 가중 카파"),
        field("quadratic_low", pa.float64(), "그 95% 구간의 하한"),
        field("quadratic_high", pa.float64(), "그 95% 구간의 상한"),
        field("trusted", pa.bool_(), "그날의 설정(agreement.trusted_from)으로 믿을 수 있는지"),
        field("rubric", pa.string(), "루브릭 id"),
        field("rubric_version", pa.string(), "루브릭 버전"),
        field("epoch", pa.string(), "이 지표를 판정한 모델과 조건. 규칙으로 채점하면 NULL"),
    ]
)

Trust = Mapping[tuple[str, str, str | None], bool]
"""Whether a metric is trusted, by rubric, metric, and the judge of the metric (None for one scored by rules)."""


@dataclass(frozen=True)
class Measured:
    """The agreement of labels with scores of one rubric version; `epochs` are those of the judged metrics."""

    rubric_version: str
    found: Sequence[Agreement]
    epochs: Mapping[str, str]


def write_agreements(
    warehouse: Warehouse, day: date, rubric: str, measured: Iterable[Measured], trusted_from: float
) -> None:
    """Replaces the day's agreements of a rubric; `trusted_from` is the agreement that a metric has to reach.

    Raises:
        StorageError: the warehouse cannot be written.
    """
    identity = {"score_date": day, "rubric": rubric}
    rows = [
        agreement_figures(one, trusted_from)
        | identity
        | {"rubric_version": group.rubric_version, "epoch": group.epochs.get(one.metric)}
        for group in measured
        for one in group.found
    ]
    warehouse.replace_day(
        AGREEMENTS, day, AGREEMENTS_SCHEMA, [frame_of(AGREEMENTS_SCHEMA, rows)], only={"rubric": rubric}
    )


def read_agreements(warehouse: Warehouse) -> pl.DataFrame:
    """The agreements of the metrics of all rubrics, all agents together, oldest first."""
    rows = table_rows(warehouse, AGREEMENTS, AGREEMENTS_SCHEMA)
    return rows.filter(pl.col("agent_type") == ALL_AGENTS).sort("score_date", maintain_order=True).collect()


def read_trust(warehouse: Warehouse) -> Trust:
    """Whether people's latest labels confirm each metric."""
    known = read_agreements(warehouse).select("rubric", "metric", "epoch", "trusted")
    return {(rubric, metric, epoch): trusted for rubric, metric, epoch, trusted in known.iter_rows()}


def untrusted_metrics(trust: Trust, rubric: AnyTestRunRubric, epochs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The metrics of a run that people's latest labels do not confirm, in the order of the rubric.

    `epochs` are those of the run by kind of question. For a judged metric only agreements of its epoch count. A metric
    without labels is left out: its agreement is unknown.
    """
    judged = {metric.name: metric.epoch(epochs) for metric in rubric.metrics}
    return tuple(name for name, epoch in judged.items() if not trust.get((rubric.id, name, epoch), True))


def agreement_figures(one: Agreement, trusted_from: float) -> dict[str, Any]:
    """The columns of an agreement in the table; trusted if the lower bound of linear kappa reaches `trusted_from`."""
    kappas = one.linear.columns("linear") | one.quadratic.columns("quadratic")
    return {**vars(one), **kappas, "trusted": one.trusted(trusted_from)}
