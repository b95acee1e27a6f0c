"""`aqb serve`: the schedules without a work pool."""

from pathlib import Path
from typing import Annotated

import typer

from scoring.errors import UsageError


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
    from prefect.settings import PREFECT_API_URL

    from flows.runtime.prefect_env import reaching_prefect
    from flows.runtime.schedules import served_deployments

    deployments = served_deployments(prefect_file)
    if not PREFECT_API_URL.value():
        raise UsageError(
            "there is no Prefect server whose schedules could be served",
            fix="start one with `prefect server start` and set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    # Schedules go on while this process is away: a run that came due meanwhile starts when it is back.
    with reaching_prefect():
        prefect.serve(*deployments, pause_on_shutdown=False)
