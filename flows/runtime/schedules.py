"""The schedules of `prefect.yaml`, read for `aqb serve`: what a work pool's deployments say stands there once."""

from pathlib import Path
from typing import Any

import yaml
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import PrefectException
from prefect.flows import Flow, load_flow_from_entrypoint
from prefect.schedules import Cron
from prefect.types.entrypoint import EntrypointType

from scoring.errors import UsageError


def served_deployments(file: Path) -> list[RunnerDeployment]:
    """The deployments of a `prefect.yaml`, to be served by one process: all but their work pool.

    Raises:
        UsageError: the file is not there, holds no deployments, or one that cannot be: no such flow, no such time.
    """
    try:
        deployments = yaml.safe_load(file.read_text(encoding="utf-8"))["deployments"]
        return [_served(deployment) for deployment in deployments]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, ImportError, PrefectException) as error:
        raise UsageError(
            f"no schedules can be read: {type(error).__name__}: {error}",
            where=str(file),
            fix="correct it, or name another with --prefect-file: deployments/prefect.yaml is one to start from",
        ) from error


def _served(deployment: dict[str, Any]) -> RunnerDeployment:
    flow: Flow[Any, Any] = load_flow_from_entrypoint(deployment["entrypoint"], use_placeholder_flow=False)
    served = flow.to_deployment(
        name=deployment["name"],
        description=deployment["description"],
        tags=deployment["tags"],
        parameters=deployment.get("parameters"),
        schedules=[
            Cron(one["cron"], timezone=one["timezone"], active=one.get("active", True))
            for one in deployment["schedules"]
        ],
        concurrency_limit=ConcurrencyLimitConfig(**deployment["concurrency_limit"]),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(served, RunnerDeployment)
    return served
