"""The agreement of people and scores, as Korean markdown and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from scoring.markdown import number_text, percent, percent_interval, signed
from scoring.stats.agreement import ALL_AGENTS, LEAST_OTHERS, Agreement
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Interval
from tasks.reports.site.pages import Table
from tasks.reports.templates import markdown
from tasks.reports.wording import between_text, coefficient_text

_NUMBERS = ("metric", "agent_type", "n", "clusters", "exact", "adjacent", "bias")
_NESTED = ("exact_interval", "adjacent_interval", "bias_interval", "linear", "quadratic")
_HEADER = ("지표", "대상", "라벨", "질의", "일치", "1점 이내", "선형 κ", "이차 κ", "편향", "판단")


def agreement_markdown(
    title: str,
    found: Sequence[Agreement],
    titles: Mapping[str, str],
    grades: Mapping[str, Sequence[str]],
    least: float,
    unpaired: int,
) -> str:
    """The whole report; `titles` are those of the metrics, `grades` the codes of those whose points are ranks, the
    worst first. `unpaired` labels have no score.
    """
    return markdown(
        "agreement.md",
        title=title,
        metrics=Table(_HEADER, [_row(one, titles, least) for one in found]),
        least=number_text(least),
        least_queries=MIN_N_FOR_VERDICT,
        least_others=LEAST_OTHERS,
        unpaired=unpaired,
        confusions=[
            (titles.get(one.metric, one.metric), _points(one, grades.get(one.metric, ())), one.confusion)
            for one in found
            if one.agent_type == ALL_AGENTS
        ],
    )


def _points(one: Agreement, grades: Sequence[str]) -> dict[int, str]:
    """The points of a metric's scores and labels, the best first, each with its name: a grade where there are any."""
    points = sorted({*chain(*one.confusion)}, reverse=True)
    return {point: grades[point] if grades else str(point) for point in points}


def agreement_dict(found: Sequence[Agreement], least: float, unpaired: int) -> dict[str, Any]:
    """The same for programs."""
    metrics = [
        {
            **{name: getattr(one, name) for name in _NUMBERS},
            **{name: (value := getattr(one, name)) and asdict(value) for name in _NESTED},
            "confusion": [
                {"label": label, "score": score, "n": n} for (label, score), n in sorted(one.confusion.items())
            ],
            "trusted": one.trusted(least),
        }
        for one in found
    ]
    return {"trusted_from": least, "unpaired": unpaired, "metrics": metrics}


def _row(one: Agreement, titles: Mapping[str, str], least: float) -> list[str]:
    return [
        titles.get(one.metric, one.metric),
        "전체" if one.agent_type == ALL_AGENTS else one.agent_type,
        f"{one.n:,}",
        f"{one.clusters:,}",
        _rate(one.exact, one.n, one.exact_interval),
        _rate(one.adjacent, one.n, one.adjacent_interval),
        coefficient_text(one.linear),
        coefficient_text(one.quadratic),
        signed(one.bias) + between_text(one.bias_interval),
        _verdict(one, least),
    ]


def _verdict(one: Agreement, least: float) -> str:
    if one.trusted(least):
        return "신뢰"
    if one.clusters < MIN_N_FOR_VERDICT:
        return "신뢰 전(라벨 부족)"
    if one.linear.value is None:
        return "신뢰 전(한 가지 점수뿐)"
    return "신뢰 전(라벨이 한 점수에 몰림)" if one.others < LEAST_OTHERS else "신뢰 전"


def _rate(count: int, n: int, interval: Interval | None) -> str:
    between = "" if interval is None else f" ({percent_interval(interval.low, interval.high, 0)})"
    return percent(count / n) + between
