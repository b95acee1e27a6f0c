"""Asks the anchor questions: questions of earlier test runs, asked again without the verdict store.

They stay the same until the judge changes (another model, parameters or prompts), or the last runs offer twice as
many, or as many with a further kind of question. Source: SPEC 11.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from scoring.catalog import testrun_rubrics
from scoring.errors import AqbError, InputError, counted
from scoring.judging.anchors import ANCHORS, Anchor, chosen_anchors
from scoring.judging.requests import JudgeRequest
from scoring.testruns.rubric import AnyTestRunRubric
from scoring.testruns.scoring import TestRunPlan
from tasks.config.judge import JudgeSettings
from tasks.context import Context
from tasks.files.rubric_file import testrun_rubrics_in_files
from tasks.judge.client import Estimate, Judge, Judged, Progress
from tasks.judge.questions import Question, questions_of
from tasks.judge.verdict_store import Judgement, PastTheStore, VerdictStore
from tasks.judge_quality.anchor_store import AnchorStore
from tasks.judge_quality.anchor_table import write_anchors
from tasks.state.run_ledger import TEST_RUN, RunLedger
from tasks.testruns.plans import last_plans
from tasks.warehouse.tables import ANCHORS as TABLE

_RUNS_READ = 20


@dataclass(frozen=True)
class AnchorQuestions:
    """The anchors with their questions; `chosen_now` if they take the place of the stored ones."""

    anchors: tuple[Anchor, ...]
    questions: tuple[Question, ...]
    chosen_now: bool


def anchor_settings(settings: JudgeSettings) -> JudgeSettings:
    """The settings for asking anchors: one call per question, within the budget of anchors."""
    if settings.price:
        limits = {"max_usd": settings.anchors_max_usd, "max_tokens": None}
    else:
        limits = {"max_usd": None, "max_tokens": settings.anchors_max_tokens}
    return settings.model_copy(update={"mode": "live", **limits})


def are_due(context: Context, night: date) -> bool:
    """Whether anchors are enabled, exist, and have not been asked in this night."""
    settings = context.settings.judge
    is_wanted = settings.enabled and settings.anchors and AnchorStore(context.state).read()
    return bool(is_wanted) and night not in context.warehouse.days(TABLE)


def anchor_questions(context: Context) -> AnchorQuestions:
    """The anchors of the configured judge; newly chosen ones if there are none or better ones. Stores and asks nothing.

    Raises:
        InputError: no test run of the inbox has a verdict of this judge.
        UsageError: a rubric file of the settings is gone or wrong.
    """
    settings, rubrics = anchor_settings(context.settings.judge), _rubrics(context)
    known = AnchorStore(context.state).read()
    questions = [question for anchor in known if (question := _question(anchor, settings, rubrics))]
    kept = AnchorQuestions(tuple(known), tuple(questions), chosen_now=False)
    are_valid = bool(known) and len(questions) == len(known)
    may_double = 2 * len(known) <= ANCHORS
    if are_valid and not may_double and _kinds_judged(context) <= {(one.rubric, one.kind) for one in known}:
        return kept
    chosen = _chosen(last_plans(context, _RUNS_READ), settings, VerdictStore(context.state))
    if are_valid and not _is_better(chosen, known):
        return kept
    if not chosen:
        raise _no_question(context, settings.model)
    asked = [question for anchor in chosen if (question := _question(anchor, settings, rubrics))]
    return AnchorQuestions(tuple(chosen), tuple(asked), chosen_now=True)


def _question(anchor: Anchor, settings: JudgeSettings, rubrics: Mapping[str, AnyTestRunRubric]) -> Question | None:
    """The question of an anchor as it would be asked now, with the prompts of these `rubrics` by id; None if it has
    changed: model, parameters, prompt.
    """
    rubric = rubrics.get(anchor.rubric)
    prompts = {prompt.kind: prompt for prompt in rubric.prompts} if rubric else {}
    if (prompt := prompts.get(anchor.kind)) is None:
        return None
    request = JudgeRequest(anchor.rubric, prompt.kind, anchor.material)
    question = Question(request, prompt, anchor.rubric_version, settings)
    return question if question.key == anchor.key else None


def _kinds_judged(context: Context) -> set[tuple[str, str]]:
    """The rubric and kind of the questions of the last judged runs."""
    runs = RunLedger(context.state).completed(TEST_RUN, _RUNS_READ)
    asked = ((run.rubric, one) for run in runs for one in (run.prompt_versions or "").split(", "))
    return {(rubric, one.rpartition(" ")[0]) for rubric, one in asked if one}


def _is_better(chosen: Sequence[Anchor], known: Sequence[Anchor]) -> bool:
    """Whether these are worth a new beginning: of the same judge, and twice as many or as many of more kinds."""
    judges, known_judges = ({(one.rubric, one.kind, one.epoch) for one in anchors} for anchors in (chosen, known))
    return judges >= known_judges and len(chosen) >= len(known) * (1 if judges > known_judges else 2)


def _no_question(context: Context, model: str) -> InputError:
    """Why no anchors can be chosen: nothing was judged, or in another way than now."""
    judged = [run for run in RunLedger(context.state).completed(TEST_RUN, _RUNS_READ) if run.model]
    what = f"there is no question yet that {model} has judged"
    if judged:
        what = f"what {model} would be asked now is asked in none of {counted(len(judged), 'judged test run')}: "
        what += "they had another model, settings, prompts or AQB"
    fix = f"score a {'new ' if judged else ''}test run in the inbox with judge.enabled"
    return InputError(what, where="the test runs of the inbox", fix=fix)


def _rubrics(context: Context) -> dict[str, AnyTestRunRubric]:
    """The built-in rubrics of test runs, and those in files that the settings name, by id."""
    in_files = testrun_rubrics_in_files(context.settings.test_runs.chosen_rubrics)
    return {**testrun_rubrics(), **{rubric.id: rubric for rubric in in_files.values()}}


def _chosen(plans: Iterable[TestRunPlan], settings: JudgeSettings, store: VerdictStore) -> list[Anchor]:
    """Chooses anchors from the verdicts on these runs, newest first, of the newest epoch of each kind."""
    anchors: dict[str, Anchor] = {}
    newest: dict[tuple[str, str], str] = {}
    for plan in plans:
        questions = {question.key: question for question in questions_of(plan, settings)}
        found = [one for one in store.found(questions).values() if one.verdict.given and one.epoch]
        for (rubric, kind, epoch), _ in Counter((one.rubric, one.kind, one.epoch) for one in found).most_common():
            newest.setdefault((rubric, kind), str(epoch))
        for one in found:
            question = questions[one.key]
            anchor = _anchor(question, one)
            # Material that is too long is sent truncated, and some would be masked a second time.
            is_whole = anchor.material.keys() == question.request.material.keys() and _question(
                anchor, settings, {plan.rubric.id: plan.rubric}
            )
            if is_whole and one.epoch == newest[one.rubric, one.kind]:
                anchors[anchor.key] = anchor
    return chosen_anchors(anchors.values())


def _anchor(question: Question, judged: Judgement) -> Anchor:
    return Anchor(
        key=judged.key,
        rubric=judged.rubric,
        rubric_version=judged.rubric_version,
        kind=judged.kind,
        material=json.loads(question.payload),
        answer=judged.answer,
        model=judged.model_answered,
        epoch=str(judged.epoch),
    )


def estimate_anchors(context: Context, asked: AnchorQuestions) -> Estimate:
    """Estimates the cost of asking them. Asks and spends nothing."""
    return Judge(anchor_settings(context.settings.judge), PastTheStore(context.state)).estimate(asked.questions)


def ask_anchors(
    context: Context,
    asked: AnchorQuestions,
    day: date,
    *,
    renew: bool = False,
    progress: Progress | None = None,
) -> AqbError | None:
    """Asks the anchors without the verdict store and writes the answers; returns why the judge failed later, if it did.

    Verdicts of test runs do not change. With `renew`, later nights are compared with the answers of this night.

    Raises:
        AqbError: the judge has answered nothing; no night is written.
        UsageError: there is no endpoint to ask.
    """
    judge = Judge(anchor_settings(context.settings.judge), PastTheStore(context.state))
    judged = judge.ask(asked.questions, progress)
    if not any(one.model_answered for one in judged.judgements):
        raise judged.failure or _unanswered(judged)
    if asked.chosen_now:
        AnchorStore(context.state).replace(asked.anchors)
    write_anchors(context.warehouse, day, asked.anchors, judged.judgements)
    if renew:
        AnchorStore(context.state).replace(_renewed(asked.anchors, judged))
    return judged.failure


def _unanswered(judged: Judged) -> AqbError:
    statuses = sorted({one.status.value for one in judged.judgements})
    return AqbError(
        f"the judge has answered no anchor: {', '.join(statuses)}",
        where="judge",
        fix="check the endpoint with `aqb doctor`, and judge.anchors_max_usd and judge.anchors_max_tokens",
    )


def _renewed(anchors: Iterable[Anchor], judged: Judged) -> list[Anchor]:
    """The anchors with their new answers; those without one keep the old answer."""
    given = {one.key: one for one in judged.judgements if one.verdict.given and one.epoch}
    return [
        replace(anchor, answer=now.answer, model=now.model_answered, epoch=str(now.epoch))
        if (now := given.get(anchor.key))
        else anchor
        for anchor in anchors
    ]
