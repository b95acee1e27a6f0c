"""`aqb doctor`: settings with their origins, what can be reached, versions."""

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flows.runtime.clock import today
from flows.runtime.prefect_env import prepare_prefect, reaching_prefect
from scoring.days import day_window
from scoring.errors import AqbError
from tasks.chat.sources import open_source
from tasks.chat.tables import KPIS
from tasks.config.alerts import DEFAULT_WEBHOOK, AlertsSettings
from tasks.config.judge import JudgeSettings
from tasks.config.secrets import shown_url
from tasks.config.settings import Settings, setting_origins
from tasks.context import Context
from tasks.files.discovery import files_in
from tasks.state.database import StateDatabase
from tasks.state.run_ledger import RunLedger
from tasks.testruns.files import RUN_FILE_ENDINGS

_PREFECT_PATIENCE_S = 10.0
_LIBRARIES = ("prefect", "polars", "pyarrow", "pandas", "sqlalchemy")


@dataclass(frozen=True)
class Check:
    """One thing that a run needs: whether it is there, and what was seen."""

    name: str
    ok: bool
    seen: str


@dataclass(frozen=True)
class Diagnosis:
    """Settings as (name, value, origin), checks, versions."""

    settings: list[tuple[str, str, str]]
    checks: list[Check]
    versions: dict[str, str]

    @property
    def healthy(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)

    def text(self) -> str:
        """For people."""
        width = max(len(name) for name, _, _ in self.settings)
        return "\n".join(
            [
                "settings",
                *(f"  {name:<{width}}  {value}   ({origin})" for name, value, origin in self.settings),
                "checks",
                *(f"  {'ok ' if check.ok else 'NOT'}  {check.name}: {check.seen}" for check in self.checks),
                "versions",
                "  " + ", ".join(f"{name} {number}" for name, number in self.versions.items()),
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "settings": [{"name": name, "value": value, "origin": origin} for name, value, origin in self.settings],
            "checks": [vars(check) for check in self.checks],
            "versions": self.versions,
        }


def diagnosis(settings: Settings) -> Diagnosis:
    """Looks at everything that runs need, without sending, changing or creating anything but the state database.

    Prefect, where it has to be asked, makes its home folder.
    """
    return Diagnosis(
        settings=[(name, str(value), origin) for name, value, origin in setting_origins(settings)],
        checks=list(_checks(settings)),
        versions={"aqb": version("aqb"), "python": platform.python_version()}
        | {name: version(name) for name in _LIBRARIES},
    )


def _checks(settings: Settings) -> Iterator[Check]:
    """What does not apply is left out."""
    yield _check("source", lambda: _source(settings))
    yield _check("warehouse", lambda: _warehouse(settings))
    yield _check("state database", lambda: _state(settings))
    yield _check("inbox", lambda: _inbox(Path(settings.test_runs.inbox)))
    if _has_judge(settings.judge):
        from tasks.judge.endpoint import check_endpoint  # two seconds of CPU for the openai package

        yield _check("judge", lambda: check_endpoint(settings.judge))
    if os.environ.get(DEFAULT_WEBHOOK) or settings.alerts != AlertsSettings():
        yield from _routes(settings)
    if url := os.environ.get("PREFECT_API_URL"):
        yield _check("Prefect", lambda: _prefect(settings, url))


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, seen=look())
    except (AqbError, OSError) as error:
        return Check(name, ok=False, seen=str(error))


def _source(settings: Settings) -> str:
    """What a nightly run would read."""
    yesterday = today(settings.time_zone) - timedelta(days=1)
    return open_source(settings.monitoring.source, settings).estimate(day_window(yesterday, settings.time_zone))


def _warehouse(settings: Settings) -> str:
    days = Context(settings).warehouse.days(KPIS)
    if "://" not in settings.warehouse:
        _refuse_locked(Path(settings.warehouse))
    return f"{len(days)} scored days" + (f", {days[0]} to {days[-1]}" if days else "")


def _refuse_locked(place: Path) -> None:
    nearest = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise AqbError("cannot be written", where=str(nearest), fix="choose another folder or change its permissions")


def _state(settings: Settings) -> str:
    with StateDatabase(settings.state_url) as state:
        RunLedger(state)
    return "reachable"


def _inbox(folder: Path) -> str:
    if not os.path.lexists(folder):
        return "not there, so there are no test runs to score"
    if not folder.is_dir():
        raise AqbError("is no folder", where=str(folder), fix="remove it, or set test_runs.inbox to a folder")
    return f"{len(files_in(folder, RUN_FILE_ENDINGS))} files"


def _has_judge(judge: JudgeSettings) -> bool:
    return judge.enabled or bool(judge.api_key) or bool(os.environ.get("OPENAI_API_KEY"))


def _routes(settings: Settings) -> Iterator[Check]:
    """Whether there is what each route needs to be posted to; nothing is sent."""
    try:
        prepare_prefect(_prefect_home(settings))
        from flows.steps.subscriptions import subscriptions  # imports Prefect

        with reaching_prefect():
            found = subscriptions(settings.alerts)
    except AqbError as error:
        yield Check("routes", ok=False, seen=str(error))
        return
    for one in found:
        if one.is_wanted:
            yield Check(f"route {one.name}", not one.problem, one.problem or "has its secret; nothing was sent")


def _prefect(settings: Settings, url: str) -> str:
    prepare_prefect(_prefect_home(settings))
    from prefect.client.orchestration import get_client

    with reaching_prefect(), get_client(sync_client=True, httpx_settings={"timeout": _PREFECT_PATIENCE_S}) as client:
        if error := client.api_healthcheck():
            raise error
        client.raise_for_api_version_mismatch()
    return f"{shown_url(url)} answers"


def _prefect_home(settings: Settings) -> Path:
    return Path(settings.reports).parent / ".prefect"
