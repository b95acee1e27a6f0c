"""Whether a night's scores can be relied on: the anchors show a changed judge, and people's labels what is trusted."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date

from flows.runtime.clock import today
from flows.runtime.flow_run import step
from flows.runtime.prefect_env import is_prefect_gone
from flows.runtime.run_recorder import reason_of
from flows.steps.alerts import notify_judge
from scoring.errors import AqbError, InputError, TakenError
from tasks.context import Context
from tasks.judge_quality.anchor_table import news_of_night
from tasks.judge_quality.anchors import anchor_questions, ask_anchors
from tasks.judge_quality.model_end import look_up_end
from tasks.review.label_store import KeptLabel, LabelStore, newest
from tasks.review.trust import judge_trust
from tasks.warehouse.tables import ANCHORS


@step("anchors", run_name="anchors {night}", timeout_s=1800)
def ask_of_night(context: Context, night: date) -> tuple[str, ...]:
    """Asks the anchors, unless it was done in this night; returns why not all of them were answered.

    Raises:
        AqbError: the judge has answered nothing.
    """
    try:
        with context.warehouse.lock(ANCHORS):  # another run of this night would pay for them once more
            failure = None if night in context.warehouse.days(ANCHORS) else _ask(context, night)
    except TakenError:  # it still asks them
        return ()
    return (f"anchors: {failure}",) if failure else ()


def _ask(context: Context, night: date) -> AqbError | None:
    try:
        asked = anchor_questions(context)
    except InputError:  # nothing has been judged yet
        return None
    return ask_anchors(context, asked, night)


def watch_judge(context: Context) -> tuple[str, ...]:
    """Checks the shutdown date of the model, and the anchors, and notifies of the results.

    It returns the problems and fails no run.
    """
    settings, night = context.settings, today(context.settings.time_zone)
    if settings.judge.enabled:
        with suppress(AqbError):  # many endpoints have no list of models; an unreachable one fails below
            look_up_end(context.state, settings.judge)
    if not (settings.judge.enabled and settings.judge.anchors):
        return ()
    try:
        problems = ask_of_night(context, night)
        news = news_of_night(context.warehouse, night)
    except Exception as error:
        if is_prefect_gone(error):
            raise
        said = str(error) if isinstance(error, AqbError) else type(error).__name__
        return (f"anchors: {said}",)
    return (*problems, *(notify_judge(context, news) if news else ()))


@step("trust", run_name="trust in the scores", timeout_s=600)
def compare_labels(context: Context, labels: Sequence[KeptLabel], day: date) -> None:
    """Writes the agreement of labels with the current scores, as of `day`.

    Raises:
        StorageError: the warehouse cannot be read or written.
    """
    judge_trust(
        labels,
        None if context.settings.is_of_several else context.rubric,
        context.warehouse,
        day,
        context.settings.agreement.trusted_from,
    )


def judge_trust_anew(context: Context) -> tuple[str, ...]:
    """Compares every valid label with the scores; returns why it could not, which must not fail the run."""
    try:
        if labels := newest(LabelStore(context.state).every_label()):
            compare_labels(context, labels, today(context.settings.time_zone))
    except Exception as error:
        if is_prefect_gone(error):
            raise
        return (f"labels could not be compared with the scores: {reason_of(error)}",)
    return ()
