"""`aqb serve`: runs the schedules of `prefect.yaml` in one process, without a work pool.

The deployments are defined in that file only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.runtime.prefect_env import reaching_prefect, require_lasting_server
from scoring.errors import UsageError

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment
    from prefect.flows import Flow


def serve(
    prefect_file: Annotated[
        Path, typer.Option(help="The schedules, as `prefect deploy --prefect-file` takes them.")
    ] = Path("deployments/prefect.yaml"),
) -> None:
    """Run the scheduled flows in this one process, until it is stopped, for teams that want no work pool and worker.

    It needs a Prefect server that stays (PREFECT_API_URL) and works in the folder where it is started.

    Example: aqb serve --prefect-file deployments/prefect.yaml
    """
    import prefect

    deployments = served_deployments(prefect_file)
    require_lasting_server()
    # Schedules stay active while this process is down: a run that became due meanwhile starts after its restart.
    with reaching_prefect():
        prefect.serve(*deployments, pause_on_shutdown=False)


def served_deployments(file: Path) -> list[RunnerDeployment]:
    """Reads the deployments of a `prefect.yaml`, to be served by one process, without their work pools.

    Raises:
        UsageError: the file cannot be read, has no `deployments`, or one with an invalid flow or schedule.
    """
    import yaml
    from prefect.exceptions import PrefectException

    try:
        deployments = yaml.safe_load(file.read_text(encoding="utf-8"))["deployments"]
        return [_served(deployment) for deployment in deployments]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, ImportError, PrefectException) as error:
        raise UsageError(
            f"no schedules can be read: {type(error).__name__}: {error}",
            where=str(file),
            fix="correct it, or name another with --prefect-file: the folder of AQB has deployments/prefect.yaml",
        ) from error


def _served(deployment: dict[str, Any]) -> RunnerDeployment:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig
    from prefect.deployments.runner import RunnerDeployment
    from prefect.flows import load_flow_from_entrypoint
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

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
