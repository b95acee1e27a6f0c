"""The parts of a large day as task runs: each is retried alone, in one of several worker processes."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Literal

from prefect.context import FlowRunContext

from flows.runtime.fan_out import FanOut, processes
from flows.runtime.flow_run import step
from tasks.chat.local_engine import in_processes
from tasks.chat.parts import Part, ScoredPart, score_part

PARTS_WORTH_A_WORKER = 10
"""A part takes about a second, a worker that knows Prefect two or three to start."""


@step("part", run_name="part {number}", timeout_s=3600)
def score_one_part(part: Part, number: int) -> ScoredPart:
    """Scores the rows of one part; what an earlier attempt left is replaced."""
    return score_part(part)


def score_parts(parts: Iterator[Part], workers: int, *, log_format: Literal["plain", "json"]) -> Iterator[ScoredPart]:
    """Scores parts in processes, in a flow run as task runs where there are enough of them, and gives them in order.

    Raises:
        Exception: what stopped a part for good.
    """
    ahead = [*islice(parts, PARTS_WORTH_A_WORKER * workers)]
    if len(ahead) < PARTS_WORTH_A_WORKER * workers or not FlowRunContext.get():
        yield from in_processes(chain(ahead, parts), workers)
        return
    calls = {number: {"part": part, "number": number} for number, part in enumerate(chain(ahead, parts))}
    done: dict[int, ScoredPart] = {}
    with FanOut(processes(workers, log_format)) as fan_out:
        for number, found in fan_out.each(score_one_part, calls):
            if isinstance(found, Exception):
                raise found
            done[number] = found
    yield from (done[number] for number in calls)
