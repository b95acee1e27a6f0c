"""How far people and scores agree, as Korean markdown and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scoring.markdown import cell, percent, table
from scoring.stats.agreement import ALL_AGENTS, Agreement
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Interval, Kappa
from tasks.reports.markdown.comparison import signed

_HEADER = ("지표", "대상", "라벨", "질의", "일치", "1점 이내", "선형 κ", "이차 κ", "편향", "판단")


def agreement_markdown(
    title: str, found: Sequence[Agreement], titles: Mapping[str, str], least: float, unpaired: int
) -> str:
    """The whole report; `titles` name the metrics, `unpaired` labels have no score beside them."""
    parts = [
        f"# 사람과 점수의 일치: {cell(title)}",
        table(_HEADER, (_row(one, titles, least) for one in found)),
        "\n".join(
            [
                f"- 신뢰: 선형 가중 카파의 95% 구간 하한이 {_number(least)} 이상이고 "
                f"질의가 {MIN_N_FOR_VERDICT}개 이상일 때.",
                "- 편향은 점수 − 라벨의 평균입니다. 0보다 크면 점수가 후합니다.",
                "- 대괄호는 95% 구간이며, 카파와 편향은 질의 단위로 다시 뽑아 계산했습니다.",
                *([f"- 점수가 없어 비교하지 못한 라벨 {unpaired:,}개."] if unpaired else []),
            ]
        ),
        *(part for one in found if one.agent_type == ALL_AGENTS for part in _confusion(one, titles)),
    ]
    return "\n\n".join(parts) + "\n"


def agreement_dict(found: Sequence[Agreement], least: float, unpaired: int) -> dict[str, Any]:
    """The same for programs."""
    return {
        "trusted_from": least,
        "unpaired": unpaired,
        "metrics": [
            {
                **{name: value for name, value in vars(one).items() if name not in _NESTED},
                "exact_interval": _interval_dict(one.exact_interval),
                "adjacent_interval": _interval_dict(one.adjacent_interval),
                "bias_interval": _interval_dict(one.bias_interval),
                "linear": asdict(one.linear),
                "quadratic": asdict(one.quadratic),
                "confusion": [
                    {"label": label, "score": score, "n": n} for (label, score), n in sorted(one.confusion.items())
                ],
                "trusted": one.trusted(least),
            }
            for one in found
        ],
    }


_NESTED = ("bias_interval", "linear", "quadratic", "confusion")


def _row(one: Agreement, titles: Mapping[str, str], least: float) -> list[str]:
    return [
        titles.get(one.metric, one.metric),
        "전체" if one.agent_type == ALL_AGENTS else one.agent_type,
        f"{one.n:,}",
        f"{one.clusters:,}",
        _rate(one.exact, one.n, one.exact_interval),
        _rate(one.adjacent, one.n, one.adjacent_interval),
        _kappa(one.linear),
        _kappa(one.quadratic),
        signed(one.bias) + _between(one.bias_interval),
        _verdict(one, least),
    ]


def _verdict(one: Agreement, least: float) -> str:
    if one.trusted(least):
        return "신뢰"
    if one.clusters < MIN_N_FOR_VERDICT:
        return "신뢰 전(라벨 부족)"
    return "신뢰 전(한 가지 점수뿐)" if one.linear.value is None else "신뢰 전"


def _confusion(one: Agreement, titles: Mapping[str, str]) -> Iterator[str]:
    points = sorted({point for pair in one.confusion for point in pair}, reverse=True)
    yield f"## {cell(titles.get(one.metric, one.metric))}: 사람(행)과 점수(열)"
    yield table(
        ["사람 \\ 점수", *map(str, points)],
        ([str(label), *(one.confusion.get((label, score), 0) for score in points)] for label in points),
    )


def _rate(count: int, n: int, interval: Interval | None) -> str:
    between = "" if interval is None else f" [{percent(interval.low, 0)}, {percent(interval.high, 0)}]"
    return percent(count / n) + between


def _kappa(kappa: Kappa) -> str:
    return "–" if kappa.value is None else _number(kappa.value) + _between(kappa.interval)


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f" [{_number(interval.low)}, {_number(interval.high)}]"


def _number(value: float) -> str:
    shown = str(rounded(exact(abs(value)), 2))
    return f"−{shown}" if value < 0 and float(shown) else shown


def _interval_dict(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)
