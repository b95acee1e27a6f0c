"""The parts of a large day as task runs: each is retried alone, in a worker process or on a cluster."""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

from prefect.context import FlowRunContext

from flows.runtime.clusters import cluster_runner, reach_cluster, unusable
from flows.runtime.fan_out import FanOut, Start, processes
from flows.runtime.flow_run import Step, step
from scoring.errors import StorageError
from tasks.chat.local_engine import in_processes
from tasks.chat.parts import Part, ScoredPart, score_part
from tasks.config.settings import Settings

_log = logging.getLogger(__name__)
PARTS_WORTH_A_WORKER = 10
"""Parts per worker that make worker processes with Prefect worthwhile: a part takes a second, their start 2 or 3 s."""


@step("part", run_name="part {number}", timeout_s=3600)
def score_one_part(part: Part, number: int) -> ScoredPart:
    """Scores the rows of one part; replaces the files of an earlier attempt."""
    return score_part(part)


@step("part", run_name="part {number}", timeout_s=None)
def score_shared_part(scoring: Callable[[], ScoredPart], number: int) -> ScoredPart:
    """Scores the rows of one part on another machine, within the time limit of the day."""
    return scoring()


def score_where_shared(part: Part) -> ScoredPart:
    """Scores a part on a machine that shares its folders with the machine that merges the parts.

    Raises:
        StorageError: this machine does not have the staging folder.
    """
    if not part.folder.parent.is_dir():
        raise StorageError(
            "a worker of the cluster does not see the staging folder",
            where=str(part.folder.parent),
            fix="mount the warehouse and the source on every worker, at the same paths as here",
        )
    return score_part(part)


def score_parts(parts: Iterator[Part], workers: int, *, settings: Settings) -> Iterator[ScoredPart]:
    """Scores parts and yields the results in order: on the cluster of the settings, else in processes.

    In a flow run each part is a task run if there are enough of them to start workers with Prefect.

    Raises:
        UsageError: the cluster cannot be used with these settings.
        StorageError: the cluster accepts no work.
        Exception: the error of a part that failed in all attempts.
    """
    if not FlowRunContext.get():
        yield from in_processes(parts, workers)
    elif settings.engine.task_runner != "processes":
        yield from _on_cluster(parts, settings)
    else:
        ahead = [*islice(parts, PARTS_WORTH_A_WORKER * workers)]
        if len(ahead) < PARTS_WORTH_A_WORKER * workers:
            yield from in_processes(iter(ahead), workers)
        else:
            calls = {number: {"part": part, "number": number} for number, part in enumerate(chain(ahead, parts))}
            yield from _scored(score_one_part, calls, processes(workers, settings.log_format)).values()


def _on_cluster(parts: Iterator[Part], settings: Settings) -> Iterator[ScoredPart]:
    """Scores parts on the cluster; those that a worker could not read are read here, to detect damaged files."""
    ahead = [*islice(parts, 2)]
    if len(ahead) < 2:  # a source that cannot be split stays in its process
        yield from map(score_part, ahead)
        return
    reach_cluster(settings)
    shared = [*ahead, *parts]
    calls = {
        number: {"scoring": partial(score_where_shared, part), "number": number} for number, part in enumerate(shared)
    }
    try:
        scored = _scored(score_shared_part, calls, partial(cluster_runner, settings.engine))
    except OSError as error:
        raise unusable(settings.engine, error) from error
    for number, part in enumerate(shared):
        if scored[number].failures:
            _log.warning("part %d: %s; it is read here once more", number, scored[number].failures[0].error)
            yield score_part(part)
        else:
            yield scored[number]


def _scored(
    step: Step[..., ScoredPart], calls: Mapping[int, Mapping[str, Any]], runner: Start | None
) -> dict[int, ScoredPart]:
    """The result of each part, in order; raises the error that stopped one of them."""
    done: dict[int, ScoredPart] = {}
    with FanOut(runner) as fan_out:
        for number, found in fan_out.each(step, calls):
            if isinstance(found, Exception):
                raise found
            done[number] = found
    return {number: done[number] for number in calls}
