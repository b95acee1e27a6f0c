"""A flow run's settings, day, steps and artifacts in Prefect.

A deployed flow asks people for its parameters: Prefect creates a form from the `Args` of the docstring. Outside of a
flow run steps are plain functions, and no artifacts are created.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from prefect import Task, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext, TaskRunContext
from prefect.utilities.annotations import opaque
from pydantic.json_schema import SkipJsonSchema

from flows.runtime.logs import configure_logs
from flows.runtime.prefect_env import is_ctrl_c
from scoring.errors import AqbError, StorageError, UsageError
from tasks.config.settings import Settings, load_settings, refuse_masked
from tasks.state.run_ledger import INTRADAY, NIGHTLY

P = ParamSpec("P")
R = TypeVar("R")

GivenSettings = Annotated[Settings | None, SkipJsonSchema()]
"""Settings given by a caller in Python; no form shows them. None: the flow reads `aqb.toml` and the environment."""


def settings_of_flow(given: Settings | None) -> Settings:
    """The settings of a flow that starts; configures its log lines by them.

    Raises:
        UsageError: settings are wrong, or were kept by Prefect and this folder lacks their passwords and keys, or came
            as a parameter of a deployment.
    """
    run = FlowRunContext.get()
    if given and run and run.flow_run and run.flow_run.deployment_id:
        raise UsageError(
            "a deployed flow takes no settings as a parameter",
            where="parameter settings",
            fix="leave it out: they stand in aqb.toml and the environment of the worker",
        )
    settings = given or load_settings()
    refuse_masked(settings)
    configure_logs(settings.log_format)
    return settings


def day_of_night(given: Mapping[str, Any], scheduled: datetime, time_zone: str) -> date:
    """The day that a run of the nightly flow scores: the parameter `day`, or else derived from its scheduled start.

    Outside of the flow's process Prefect has parameters as text only.
    """
    if day := given.get("day"):
        return day if isinstance(day, date) else date.fromisoformat(day)
    scheduled_day = scheduled.astimezone(ZoneInfo(time_zone)).date()
    return scheduled_day if given.get("kind") == INTRADAY else scheduled_day - timedelta(days=1)


def name_of_night(given: Mapping[str, Any], scheduled: datetime, time_zone: str) -> str:
    """The name of a run of the nightly flow: its kind and its day."""
    return f"{given.get('kind', NIGHTLY)} {day_of_night(given, scheduled, time_zone)}"


@dataclass(frozen=True)
class Step(Generic[P, R]):
    """A function that is a Prefect task if a flow calls it, else a plain function.

    It is plain outside of a flow run, and within another step, which is one task run and retried as a whole. Ctrl-C is
    passed on unchanged, so that it is not treated as a failure of one day, after which others continue.
    """

    function: Callable[P, R]
    task: Task[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if not FlowRunContext.get() or TaskRunContext.get():
                return self.function(*args, **kwargs)
            # Prefect would search the arguments for futures, of which there are none.
            return self.task(*map(opaque, args), **{name: opaque(value) for name, value in kwargs.items()})  # type: ignore[arg-type]
        except Exception as error:
            if is_ctrl_c(error):
                raise KeyboardInterrupt from error
            raise


def step(name: str, *, run_name: str, timeout_s: int | None) -> Callable[[Callable[P, R]], Step[P, R]]:
    """Makes a function a step. Nothing is cached: the tables themselves are the result.

    A step that is called in threads has no `timeout_s`: it enforces its own time limit.
    """
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


_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """Whether a retry may help: wrong settings or files and programming errors persist; a full disk or a connection may
    recover.
    """
    error = state.result(raise_on_failure=False)
    return isinstance(error, StorageError) or not isinstance(error, (AqbError, *_MISTAKES))


def show(create: Callable[..., Any], **content: Any) -> None:
    """Creates an artifact of the flow run by one of Prefect's functions, such as `create_markdown_artifact`."""
    if FlowRunContext.get():
        create(**content)


class ProgressArtifact:
    """A progress bar from 0 to 100 percent, updated in steps of 5 percent, each of which is a request."""

    def __init__(self, description: str) -> None:
        self._id: UUID | None = None
        self._shown = 0
        if FlowRunContext.get():
            self._id = cast(UUID, create_progress_artifact(progress=0.0, description=description))

    def show(self, done: int, total: int) -> None:
        """Shows how much of the work is done."""
        percent = 5 * (20 * done // total)
        if self._id and percent > self._shown:
            self._shown = percent
            update_progress_artifact(self._id, progress=float(percent))
