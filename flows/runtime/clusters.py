"""Clusters of Dask or Ray that exist without AQB and score the parts of large days."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
        UsageError: its extra is not installed, or the paths of the settings are relative.
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
    except (OSError, ValueError) as error:  # ValueError: a port out of range
        raise unusable(engine, error) from error


@contextmanager
def cluster_runner(engine: EngineSettings) -> Iterator[Runner]:
    """The runner for steps without a time limit of Prefect's on that cluster: in threads of Dask, in processes of Ray.

    Raises:
        StorageError: the cluster does not accept this machine.
    """
    with ExitStack() as stack:
        try:
            runner: Runner = stack.enter_context(_runner(engine))
        except Exception as error:  # clusters have their own errors, and Ray a bare RuntimeError for other versions
            raise unusable(engine, error) from error
        yield runner


def unusable(engine: EngineSettings, error: Exception) -> StorageError:
    """The error of a cluster that accepts no work, with the reason of the exception."""
    reason = str(error)
    if "Traceback" in reason:  # Ray's head sends one
        reason = reason.strip().rpartition("\n")[2]
    return StorageError(
        f"the {engine.task_runner.title()} cluster cannot be used: {' '.join(reason.split())}",
        where=engine.task_runner_address,
        fix="start it with the versions that are installed here, or correct engine.task_runner_address",
    )


def _runner(engine: EngineSettings) -> Runner:
    address = engine.task_runner_address
    if engine.task_runner == "dask":
        from prefect_dask.task_runners import DaskTaskRunner  # of an extra, and a second of imports

        return DaskTaskRunner(address=address)
    from prefect_ray.task_runners import RayTaskRunner  # of an extra, and a second of imports

    runner: Runner = RayTaskRunner(address, {"log_to_driver": False, "logging_level": logging.ERROR})
    return runner
