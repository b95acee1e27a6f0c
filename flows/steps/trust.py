"""Compares people's labels with the scores every night: whether a metric is still trusted."""

from collections.abc import Sequence
from datetime import date

from flows.runtime.clock import today
from flows.runtime.flow_run import step
from flows.runtime.prefect_env import is_prefect_gone
from flows.runtime.run_recorder import reason_of
from tasks.context import Context
from tasks.review.label_store import KeptLabel, LabelStore, newest
from tasks.review.trust import judge_trust


@step("trust", run_name="trust in the scores", timeout_s=600)
def compare_labels(context: Context, labels: Sequence[KeptLabel], day: date) -> None:
    """Writes the agreement of labels with the current scores, as of `day`.

    Raises:
        StorageError: the warehouse cannot be read or written.
    """
    judge_trust(
        labels,
        None if context.is_of_several else context.rubric,
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
