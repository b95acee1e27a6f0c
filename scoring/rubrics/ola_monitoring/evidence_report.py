"""The seed's section 2 over new rows, as Korean markdown and as JSON. Source: SPEC 1.4; seed 002, 2."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isinf
from typing import Any

import polars as pl

from scoring.chat.rubric import EvidenceReport
from scoring.markdown import percent, table
from scoring.rubrics.ola_monitoring.evidence import (
    MEAN_MARGIN,
    RATE_MARGIN,
    BucketEvidence,
    ComparedFigure,
    Evidence,
    MetricEvidence,
    ThresholdEvidence,
    Verdict,
    threshold_evidence,
)
from scoring.rubrics.ola_monitoring.seed_evidence import BUCKETS, SEED_ROWS
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Interval

_VERDICTS: dict[Verdict, str] = {
    "kept": "유지",
    "drifted": "⚠ 이탈",
    "too_few": "판단 보류",
    "unknown": "비교할 수 없음",
}
_BUCKET_TITLES = {"output_tokens": "출력 토큰 구간별 실패율", "input_tokens": "입력 토큰 구간별 실패율"}
_SOURCES = {"output_tokens": "seed 002, 2.2", "input_tokens": "seed 002, 2.3"}


def evidence_report(rows: pl.LazyFrame, period: str) -> EvidenceReport:
    """The evidence of the scored rows of `period`, in Korean markdown and as values for JSON."""
    evidence = threshold_evidence(rows)
    return EvidenceReport(evidence.rows, evidence_markdown(evidence, period), evidence_dict(evidence))


def evidence_markdown(evidence: Evidence, period: str) -> str:
    """The whole report about the rows of `period`."""
    parts = [
        f"# 기준값 점검: {period}",
        f"- 채점한 행 {evidence.rows:,}건, 실패 {evidence.failed:,}건 "
        f"({percent(_share(evidence))}, 95% 구간 {_rates(evidence.failure_rate)})\n"
        f"- 기준: seed 002의 {SEED_ROWS:,}건(2026-01-27 ~ 02-19). 실패는 실패 유형이 있는 행입니다.",
        _conclusion(evidence.thresholds),
        "## 기준값과 지금의 데이터",
        table(
            ["기준값", "지금 쓰는 값", "지금 데이터라면", "95% 구간", "판단", "근거", "출처"],
            map(_threshold_row, evidence.thresholds),
        ),
        "## 정상과 실패의 차이 (seed 002, 2.1)",
        table(
            [
                "지표",
                "정상 (기준)",
                "정상 (지금)",
                "95% 구간",
                "실패 (기준)",
                "실패 (지금)",
                "95% 구간",
                "배수 (기준)",
                "배수 (지금)",
                "판단",
            ],
            map(_metric_row, evidence.metrics),
        ),
        *(f"- {one.metric.title}: {one.metric.note}" for one in evidence.metrics if one.metric.note),
        *_buckets(evidence.buckets),
        "## 구조적 요소의 정밀도 (seed 002, 2.4)",
        table(
            ["요소", "있을 때 정상 (기준)", "지금", "95% 구간", "없을 때 정상 (기준)", "지금", "95% 구간", "판단"],
            (
                [
                    one.element.title,
                    *_rate_cells(one.ok_with),
                    *_rate_cells(one.ok_without),
                    _worst(one.ok_with, one.ok_without),
                ]
                for one in evidence.precisions
            ),
        ),
        _reading(),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def evidence_dict(evidence: Evidence) -> dict[str, Any]:
    """The same for programs; an infinite ratio is null."""
    return {
        "rows": evidence.rows,
        "failed": evidence.failed,
        "failure_rate": evidence.failure_rate and asdict(evidence.failure_rate),
        "thresholds": [asdict(one) for one in evidence.thresholds],
        "metrics": [
            {
                "metric": one.metric.column,
                "ok": _figure_dict(one.ok),
                "failed": _figure_dict(one.failed),
                "ratio": _finite(one.ratio),
                "seed_ratio": _finite(one.seed_ratio),
            }
            for one in evidence.metrics
        ],
        "buckets": [
            {
                "column": one.column,
                "low": one.bucket.low,
                "high": one.bucket.high,
                "failed": one.failed,
                "rate": _figure_dict(one.rate),
            }
            for one in evidence.buckets
        ],
        "precisions": [
            {
                "element": one.element.title,
                "column": one.element.column,
                "ok_with": _figure_dict(one.ok_with),
                "ok_without": _figure_dict(one.ok_without),
            }
            for one in evidence.precisions
        ],
    }


def _share(evidence: Evidence) -> float | None:
    return evidence.failed / evidence.rows if evidence.rows else None


def _conclusion(thresholds: Sequence[ThresholdEvidence]) -> str:
    drifted = [one.title for one in thresholds if one.verdict == "drifted"]
    judged = sum(one.verdict in ("kept", "drifted") for one in thresholds)
    if drifted:
        said = f"기준에서 벗어난 값 {len(drifted)}개: {', '.join(drifted)}."
    elif judged:
        said = f"판단할 수 있는 {judged}개 가운데 기준에서 벗어난 값이 없습니다."
    else:
        said = "판단할 만큼 행이 모이지 않았습니다."
    return (
        f"> {said} 기준값은 자동으로 바뀌지 않습니다. 바꾸려면 `scoring/rubrics/ola_monitoring/thresholds.py`의 값을 "
        "고치고 `VERSION`을 올리세요."
    )


def _threshold_row(one: ThresholdEvidence) -> list[str]:
    shown = percent if 0 < one.value <= 1 and one.source.endswith("2.4") else _number
    interval = "–" if one.interval is None else f"{shown(one.interval.low)} – {shown(one.interval.high)}"
    return [one.title, shown(one.value), shown(one.suggested), interval, _VERDICTS[one.verdict], one.basis, one.source]


def _metric_row(one: MetricEvidence) -> list[str]:
    cells = _rate_cells if one.is_share else _mean_cells
    return [
        f"{one.metric.source} {one.metric.title}",
        *cells(one.ok),
        *cells(one.failed),
        _times(one.seed_ratio),
        _times(one.ratio),
        _worst(one.ok, one.failed),
    ]


def _buckets(buckets: Sequence[BucketEvidence]) -> Iterator[str]:
    for column in BUCKETS:
        yield f"## {_BUCKET_TITLES[column]} ({_SOURCES[column]})"
        yield table(
            ["구간", "전체 (기준)", "실패 (기준)", "실패율 (기준)", "전체", "실패", "실패율", "95% 구간", "판단"],
            (
                [
                    _range(one),
                    f"{one.bucket.rows:,}",
                    f"{one.bucket.failed:,}",
                    percent(one.rate.seed),
                    f"{one.rate.n:,}",
                    f"{one.failed:,}",
                    percent(one.rate.value),
                    _rates(one.rate.interval),
                    _VERDICTS[one.rate.verdict],
                ]
                for one in buckets
                if one.column == column
            ),
        )


def _range(one: BucketEvidence) -> str:
    low, high = one.bucket.low, one.bucket.high
    if high is None:
        return f"{low:,} 이상"
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"


def _reading() -> str:
    return (
        f"읽는 법: 95% 구간 전체가 기준에서 비율은 {percent(RATE_MARGIN, 0)}p, 평균과 분위수는 "
        f"{percent(MEAN_MARGIN, 0)}보다 더 떨어져 있으면 이탈입니다. "
        f"행이 {MIN_N_FOR_VERDICT}건 미만이면 판단하지 않습니다. 평균의 구간은 세션 단위로 계산했습니다. "
        "시장 언급과 원·% 기호는 점수 표에 따로 남지 않아 다시 계산할 수 없습니다."
    )


def _worst(*figures: ComparedFigure) -> str:
    """One word for several figures."""
    found = {figure.verdict for figure in figures}
    return next(
        text for verdict, text in _VERDICTS.items() if verdict in found and (verdict != "kept" or len(found) == 1)
    )


def _rate_cells(figure: ComparedFigure) -> list[str]:
    return [percent(figure.seed), percent(figure.value), _rates(figure.interval)]


def _mean_cells(figure: ComparedFigure) -> list[str]:
    interval = figure.interval
    between = "–" if interval is None else f"{_number(interval.low)} – {_number(interval.high)}"
    return [_number(figure.seed), _number(figure.value), between]


def _rates(interval: Interval | None) -> str:
    return "–" if interval is None else f"{percent(interval.low)} – {percent(interval.high)}"


def _number(value: float | None) -> str:
    """About three digits, and none behind the point of a whole number."""
    if value is None:
        return "–"
    if value == int(value) or value >= 1_000:
        return f"{rounded(exact(value), 0):,}"
    return str(rounded(exact(value), 3 if value < 1 else 2 if value < 10 else 1))


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "–"
    return "∞" if isinf(ratio) else f"{_number(ratio)}배"


def _figure_dict(figure: ComparedFigure) -> dict[str, Any]:
    return {
        "seed": figure.seed,
        "value": figure.value,
        "interval": figure.interval and asdict(figure.interval),
        "n": figure.n,
        "verdict": figure.verdict,
    }


def _finite(ratio: float | None) -> float | None:
    return None if ratio is None or isinf(ratio) else ratio
