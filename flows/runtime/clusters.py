"""Clusters of Dask or Ray that exist without AQB and score the parts of large days."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from socket import create_connection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scoring.errors import StorageError, UsageError

if TYPE_CHECKING:
    from flows.runtime.fan_out import Runner
    from tasks.config.engine import EngineSettings
    from tasks.config.settings import Settings

_PATIENCE_S = 10.0


def reach_cluster(settings: Settings) -> None:
    """Connects to the cluster of the settings; a runner would try for up to a quarter of an hour.

    Raises:
        UsageError: its extra is not installed, or its workers cannot know the paths of the settings.
        StorageError: nothing accepts connections there.
    """
    engine, kind = settings.engine, settings.engine.task_runner
    setting, paths = f'engine.task_runner = "{kind}"', (settings.warehouse, settings.monitoring.source)
    if not find_spec(f"prefect_{kind}"):
        raise UsageError(
            f"prefect-{kind} is not installed",
            where=setting,
            fix=f"install the extra `{kind}`: docs/how-to/clusters.md has the command",
        )
    if not all("://" in path or Path(path).is_absolute() for path in paths):
        raise UsageError(
            "workers of a cluster have working folders of their own",
            where=setting,
            fix="give monitoring.source and warehouse as absolute paths",
        )
    where = urlsplit(f"//{engine.task_runner_address.rpartition('://')[2]}")
    try:
        create_connection((where.hostname or "", where.port or 0), _PATIENCE_S).close()
    except (OSError, ValueError) as error:  # ValueError: a port beyond all
        raise unreachable(engine, error) from error


def cluster_runner(engine: EngineSettings) -> Runner:
    """Runs steps that have no time limit of Prefect's on that cluster: in threads of Dask, in processes of Ray."""
    address = engine.task_runner_address
    if engine.task_runner == "dask":
        from prefect_dask.task_runners import DaskTaskRunner  # of an extra, and a second of imports

        return DaskTaskRunner(address=address)
    from prefect_ray.task_runners import RayTaskRunner  # of an extra, and a second of imports

    runner: Runner = RayTaskRunner(address, {"log_to_driver": False, "logging_level": logging.ERROR})
    return runner


def unreachable(engine: EngineSettings, error: Exception) -> StorageError:
    """The error of a cluster that takes no work, with the reason of what was raised."""
    reason = str(error).strip().rpartition("\n")[2]  # behind the trace that Ray's head sends
    return StorageError(
        f"the {engine.task_runner.title()} cluster cannot be reached: {reason}",
        where=engine.task_runner_address,
        fix="start it, or correct engine.task_runner_address",
    )
