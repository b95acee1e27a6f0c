"""Steps of a run: within a flow run Prefect tasks, retried where that can help, never cached; else plain functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext

from scoring.errors import AqbError, StorageError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Step(Generic[P, R]):
    """A function that is a Prefect task where it is called within a flow run; elsewhere it stays what it is."""

    function: Callable[P, R]
    task: Task[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        call = self.task if FlowRunContext.get() else self.function
        return call(*args, **kwargs)


def step(name: str, *, run_name: str, timeout_s: int) -> Callable[[Callable[P, R]], Step[P, R]]:
    """Makes a function a step. Nothing is cached: the tables themselves are the result."""
    as_task = task(
        name=name,
        task_run_name=run_name,
        timeout_seconds=timeout_s,
        retries=2,
        retry_delay_seconds=[5, 30],
        retry_condition_fn=_worth_retrying,
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    return lambda function: Step(function, as_task(function))


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """A wrong setting or a missing file stays wrong; a full disk or a broken connection may pass."""
    error = state.result(raise_on_failure=False)
    return not isinstance(error, AqbError) or isinstance(error, StorageError)
