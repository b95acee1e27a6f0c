"""A worker that lets its runs finish. Prefect's own worker interrupts them when it stops, and they end as crashed."""

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from threading import Thread

import anyio
from prefect.client.orchestration import get_client
from prefect.settings import get_current_settings
from prefect.utilities.services import critical_service_loop
from prefect.workers.process import ProcessWorker
from prefect.workers.server import build_healthcheck_server


async def work(pool: str, *, limit: int | None, tells_health: bool, tell: Callable[[str], None]) -> None:
    """Executes the runs of a work pool, each flow run in its own process, until SIGTERM or SIGINT.

    Then it takes no further run, and returns when the active ones have ended; a second signal ends them as Prefect
    does. It polls for runs and sends heartbeats like `prefect worker start`.

    Raises:
        httpx.HTTPError: the server cannot be reached when the worker starts.
        ExceptionGroup: the server was unreachable for many minutes; active runs were ended.
    """
    async with get_client() as client:
        await client.hello()  # Prefect's worker would wait for it, also at a wrong address
    settings = get_current_settings().worker
    worker = ProcessWorker(work_pool_name=pool, limit=limit)
    if tells_health:
        server = build_healthcheck_server(worker, settings.query_seconds)
        Thread(target=server.run, daemon=True).start()
    loop, this = asyncio.get_running_loop(), asyncio.current_task()
    assert this is not None
    async with worker, anyio.create_task_group() as asking:

        def drain() -> None:
            tell("no further run is taken; waits for those that go on, a second signal ends them")
            asking.cancel_scope.cancel()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, this.cancel)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, drain)
        for workload, interval_s in (
            (worker.get_and_submit_flow_runs, settings.query_seconds),
            (worker.sync_with_backend, settings.heartbeat_seconds),
        ):
            asking.start_soon(partial(critical_service_loop, workload, interval_s, jitter_range=0.3, backoff=4))
        tell(f"worker {worker.name!r} of the pool {pool!r} has started")
