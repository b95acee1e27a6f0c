"""Prefect tasks as this project uses them: few, retried where that can help, never cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE

from scoring.errors import AqbError, StorageError

P = ParamSpec("P")
R = TypeVar("R")


def step(name: str, *, run_name: str, timeout_s: int) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A Prefect task that is one step of a run. Nothing is cached: the tables themselves are the result."""
    return task(
        name=name,
        task_run_name=run_name,
        timeout_seconds=timeout_s,
        retries=2,
        retry_delay_seconds=[5, 30],
        retry_condition_fn=_worth_retrying,
        cache_policy=NO_CACHE,
        persist_result=False,
    )


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """A wrong setting or a missing file stays wrong; a full disk or a broken connection may pass."""
    error = state.result(raise_on_failure=False)
    return not isinstance(error, AqbError) or isinstance(error, StorageError)
