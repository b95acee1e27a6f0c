"""A figure with a target: its verdict, and how every output writes it. Source: SPEC 10."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

from scoring.markdown import MOST_DIGITS, exact_kpi_text, kpi_text
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Z_95, Interval, wilson_interval

Verdict = Literal["met", "missed", "undecided"]

VERDICT_TITLES: dict[Verdict, str] = {"met": "달성", "missed": "미달", "undecided": "판단 보류"}
NOT_MEASURED = "미측정"
VERDICT_SIGNS: dict[Verdict, str] = {"met": "●", "undecided": "▲", "missed": "■"}
"""Shapes beside the colours, for people who cannot tell these apart."""

_SIDES = {">=": "이상", "<=": "이하"}


@dataclass(frozen=True)
class Target:
    """What a figure should reach."""

    operator: Literal[">=", "<="]
    value: float

    def met_by(self, value: float) -> bool:
        """Whether a value reaches the target."""
        return value >= self.value if self.operator == ">=" else value <= self.value


@dataclass(frozen=True)
class Figure:
    """A rate or a mean in points over `n` rows, executions or chats, with its target.

    `value` is None where n is 0, `interval` (95 %) also where it is not known. `queries` are those that the executions
    repeat, None where nothing is repeated: they decide from how many on a target can be met. It is `despite_one_day`
    undecided if one day is so far off that the others alone would decide it.
    """

    title: str
    value: float | None
    n: int
    target: Target
    interval: Interval | None = None
    is_rate: bool = True
    queries: int | None = None
    despite_one_day: bool = False

    @property
    def verdict(self) -> Verdict:
        """Undecided where n is below 30, or the interval is not known or holds values on both sides of the target."""
        if self.value is None or self.interval is None or self.n < MIN_N_FOR_VERDICT:
            return "undecided"
        met = {self.target.met_by(value) for value in (self.value, self.interval.low, self.interval.high)}
        return "undecided" if len(met) > 1 else "met" if met.pop() else "missed"

    @property
    def verdict_text(self) -> str:
        """The verdict in Korean, and why one day keeps it undecided; of what was not measured there is none."""
        if self.value is None:
            return NOT_MEASURED
        return ("하루가 크게 달라 " if self.despite_one_day else "") + VERDICT_TITLES[self.verdict]

    @property
    def judged_text(self) -> str:
        """The verdict, and from how many on the target can be met where these are too few for it.

        `판단 보류(n 189 이상이어야 달성 가능)`; repeated queries have `질의 189개`, long sessions `세션 189개`.
        """
        least = self.least_n_to_meet
        if self.value is None or self.verdict != "undecided":
            return self.verdict_text
        if least is None:
            return f"{self.verdict_text}(예외가 없다는 것은 몇 건으로도 확정할 수 없음)"
        if (self.queries or self.n) < least:
            needed = f"질의 {least:,}개" if self.queries else f"n {least:,}"
        elif self.is_rate and self.value == (1 if self.target.operator == ">=" else 0):
            needed = f"세션 {least:,}개"  # all rows are as they should be, and those of a session are alike
        else:
            return self.verdict_text
        return f"{self.verdict_text}({needed} 이상이어야 달성 가능)"

    @property
    def least_n_to_meet(self) -> int | None:
        """From which n on a rate can meet its target, with every row as it should be; a mean only needs a verdict. None
        for a target without exceptions: no number of rows shows that there are none.
        """
        if not self.is_rate:
            return MIN_N_FOR_VERDICT
        best = self.target.value if self.target.operator == ">=" else 1 - self.target.value
        return None if best >= 1 else max(MIN_N_FOR_VERDICT, ceil(Z_95**2 * best / (1 - best)))

    @property
    def value_text(self) -> str:
        """`11.3%`, `71.5점`; a dash where there is no value."""
        return kpi_text(self.value, is_rate=self.is_rate) if self.value is None else self._shown(self.value)

    @property
    def interval_text(self) -> str:
        """`8.5~14.7%`; a dash where there is no interval."""
        if self.interval is None:
            return "–"
        return f"{self._shown(self.interval.low).rstrip('%점')}~{self._shown(self.interval.high)}"

    def _shown(self, value: float) -> str:
        """A value with the digits that show its side of the target: 97.96 % of 98 % is not 98.0 %."""
        unit, is_met = (100 if self.is_rate else 1), self.target.met_by(value)
        enough = (
            digits
            for digits in range(1, MOST_DIGITS + 1)
            if self.target.met_by(float(rounded(exact(value) * unit, digits) / unit)) == is_met
        )
        return kpi_text(value, is_rate=self.is_rate, digits=next(enough, 1))

    @property
    def target_text(self) -> str:
        """`90% 이상`, `0.5% 이하`: the target with every digit that it has."""
        return f"{exact_kpi_text(self.target.value, is_rate=self.is_rate)} {_SIDES[self.target.operator]}"

    @property
    def goal_text(self) -> str:
        """`실패율 목표 미달`."""
        return f"{self.title} 목표 {self.verdict_text}"

    @property
    def details(self) -> str:
        """What stands behind the value: ` (95% 구간 3.8~7.7%) · 목표 3% 이하 · 미달 · n=535`."""
        interval = f" (95% 구간 {self.interval_text})" if self.interval else ""
        return f"{interval} · 목표 {self.target_text} · {self.judged_text} · n={self.n_text}"

    @property
    def n_text(self) -> str:
        """`535`, of repeated queries `267(질의 89개)`."""
        return f"{self.n:,}" + (f"(질의 {self.queries:,}개)" if self.queries else "")

    @property
    def text(self) -> str:
        """The value with what stands behind it."""
        return self.value_text + self.details

    def as_dict(self) -> dict[str, Any]:
        """The figure for programs; `met` compares the value alone, `verdict` also n and the interval."""
        return {
            "value": self.value,
            "target": self.target.value,
            "met": None if self.value is None else self.target.met_by(self.value),
            "n": self.n,
            "low": self.interval and self.interval.low,
            "high": self.interval and self.interval.high,
            "verdict": self.verdict,
            "text": self.text,
        }


def goal_figure(goal: Mapping[str, Any]) -> Figure:
    """The figure of a rate that a test run should reach: `title`, `passed`, `n`, `target` of its summary.

    Runs that were scored by an earlier version say neither `low` and `high` nor `queries`.
    """
    passed, n = goal["passed"], goal["n"]
    rate = passed / n if n else None
    interval = wilson_interval(passed, n) if goal.get("low") is None else Interval(goal["low"], goal["high"])
    queries = goal.get("queries", n)
    repeated = queries if queries < n else None
    return Figure(goal["title"], rate, n, Target(">=", goal["target"]), interval, queries=repeated)
