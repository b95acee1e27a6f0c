"""Compares the judge with another model: the questions of the last test runs, scored by both. Source: SPEC 11.

Stored verdicts are reused, the others are asked for and stored: they are not paid for again after a switch.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa

from scoring.errors import AqbError, UsageError
from scoring.rules.arrow_types import field, frame_of
from scoring.testruns.scoring import TestRunPlan, judge_requests, score_testrun
from scoring.testruns.two_judges import MetricShift, MovedQuery, metric_shifts, moved_queries
from tasks.config.judge import JudgeSettings
from tasks.judge.budget import Budget
from tasks.judge.client import Estimate, Judge, Judged, Progress
from tasks.judge.questions import Question, questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import SWITCHES

SWITCHES_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "비교한 날"),
        field("model_before", pa.string(), "지금 모델"),
        field("model_after", pa.string(), "비교한 모델"),
        field("rubric", pa.string(), "루브릭 id"),
        field("metric", pa.string(), "지표"),
        field("title", pa.string(), "지표의 이름"),
        field("n", pa.int64(), "두 모델의 점수가 모두 있는 실행이나 질의 수"),
        field("clusters", pa.int64(), "그 질의 수"),
        field("mean_before", pa.float64(), "지금 모델의 평균 점수"),
        field("mean_after", pa.float64(), "비교한 모델의 평균 점수"),
        field("shift", pa.float64(), "비교한 모델 − 지금 모델의 평균"),
        field("shift_low", pa.float64(), "그 95% 구간의 하한"),
        field("shift_high", pa.float64(), "그 95% 구간의 상한"),
        field("exact", pa.int64(), "두 점수가 같은 수"),
        field("linear_kappa", pa.float64(), "선형 가중 카파. 계산할 수 없으면 NULL"),
        field("linear_low", pa.float64(), "그 95% 구간의 하한"),
        field("linear_high", pa.float64(), "그 95% 구간의 상한"),
        field("epochs_before", pa.string(), "지금 판정한 모델과 조건"),
        field("epochs_after", pa.string(), "비교한 판정의 모델과 조건"),
        field("cost_usd", pa.float64(), "비교하는 데 든 비용(USD). 가격을 모르면 NULL"),
    ]
)


@dataclass(frozen=True)
class Switch:
    """Two judges compared. `unanswered` counts questions without a verdict by status, of either judge.

    `usd` is the cost of the new requests, None if a price is unknown.
    """

    before: str
    after: str
    questions: int
    shifts: tuple[MetricShift, ...]
    moved: tuple[MovedQuery, ...]
    unanswered: Mapping[str, Mapping[str, int]]
    epochs: tuple[str, str]
    usd: float | None


class Succession:
    """The questions of some test runs for the configured judge and for another model.

    Raises:
        UsageError: both are the same, no run has a question for a judge, or a budget without a price.
    """

    def __init__(self, plans: Sequence[TestRunPlan], settings: JudgeSettings, model: str, store: VerdictStore) -> None:
        if model == settings.model:
            raise UsageError(f"{model} is the judge already", where="judge.model", fix="name another model")
        self._plans = [plan for plan in plans if any(judge_requests(plan))]
        if not self._plans:
            raise UsageError(
                "no test run has a question for a judge",
                where="the test runs of the inbox",
                fix="name a file, for example aqb judge switch MODEL resume_agent.xlsx",
            )
        self._settings = [settings, settings.model_copy(update={"model": model})]
        self._judges = [Judge(one, store) for one in self._settings]
        self._store = store

    def estimates(self) -> dict[str, Estimate]:
        """Estimates the cost of asking each model, by name. Asks nothing."""
        found = zip(self._settings, self._judges, strict=True)
        return {one.model: judge.estimate(self._questions(one)) for one, judge in found}

    def ask(self, progress: Callable[[str], Progress]) -> Switch:
        """Asks both models what no stored verdict answers, within one budget, and scores the runs with each judge.

        Raises:
            AqbError: an endpoint has answered nothing.
        """
        answers = []
        budget = None
        for settings in self._settings:
            budget = Budget(settings, after=budget)
            judge = Judge(settings, self._store, budget)
            answers.append(judge.ask(self._questions(settings), progress(settings.model)))
            if not any(one.verdict.given for one in answers[-1].judgements):
                raise answers[-1].failure or AqbError(
                    f"{settings.model} has answered no question",
                    where="judge",
                    fix="`aqb doctor` with this judge.model says what the endpoint answers",
                )
        old, new = answers
        runs = [(score_testrun(plan, old.verdicts), score_testrun(plan, new.verdicts)) for plan in self._plans]
        before, after = (settings.model for settings in self._settings)
        return Switch(
            before,
            after,
            len(new.judgements),
            tuple(metric_shifts(runs)),
            tuple(moved_queries(runs)),
            {before: _unanswered(old), after: _unanswered(new)},
            (_epochs(old), _epochs(new)),
            _usd(answers),
        )

    def _questions(self, settings: JudgeSettings) -> list[Question]:
        return [question for plan in self._plans for question in questions_of(plan, settings)]


def _unanswered(judged: Judged) -> dict[str, int]:
    return dict(sorted(Counter(one.status.value for one in judged.judgements if not one.verdict.given).items()))


def _epochs(judged: Judged) -> str:
    return "+".join(sorted({one.epoch for one in judged.judgements if one.epoch}))


def _usd(answers: Sequence[Judged]) -> float | None:
    costs = [judged.summary()["cost"] for judged in answers]
    return None if None in costs else float(sum(costs))


def write_switch(warehouse: Warehouse, day: date, switch: Switch) -> None:
    """Replaces the results of that day and these two models.

    Raises:
        StorageError: the warehouse cannot be written.
    """
    mine = {"model_before": switch.before, "model_after": switch.after}
    shared = {
        "score_date": day,
        **mine,
        "epochs_before": switch.epochs[0],
        "epochs_after": switch.epochs[1],
        "cost_usd": switch.usd,
    }
    rows = [shared | shift_row(one) for one in switch.shifts]
    warehouse.replace_day(SWITCHES, day, SWITCHES_SCHEMA, [frame_of(SWITCHES_SCHEMA, rows)], only=mine)


def shift_row(one: MetricShift) -> dict[str, Any]:
    """A metric as a row of `SWITCHES_SCHEMA`."""
    found = one.agreement
    return {
        "rubric": one.rubric,
        "metric": one.metric,
        "title": one.title,
        "n": found.n,
        "clusters": found.clusters,
        "mean_before": one.before,
        "mean_after": one.after,
        "shift": found.bias,
        "shift_low": found.bias_interval and found.bias_interval.low,
        "shift_high": found.bias_interval and found.bias_interval.high,
        "exact": found.exact,
        **found.linear.columns("linear"),
    }
