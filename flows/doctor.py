"""`aqb doctor`: settings with their origins, what can be reached, versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flows.clock import today
from scoring.days import day_window
from scoring.errors import AqbError
from tasks.bigquery.names import is_bigquery
from tasks.chat_rows import open_source
from tasks.monitoring_tables import KPIS
from tasks.run_ledger import RunLedger
from tasks.settings import Settings, setting_origins
from tasks.state_database import shown_url
from tasks.warehouse import open_warehouse

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
    """Looks at everything that a nightly run needs, without changing or creating anything but the state database."""
    return Diagnosis(
        settings=[(name, _shown(name, value), origin) for name, value, origin in setting_origins(settings)],
        checks=[
            _check("source", lambda: _source(settings)),
            _check("warehouse", lambda: _warehouse(settings)),
            _check("state database", lambda: _state(settings)),
        ],
        versions={"aqb": version("aqb"), "python": platform.python_version()}
        | {name: version(name) for name in _LIBRARIES},
    )


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, seen=look())
    except (AqbError, OSError) as error:
        return Check(name, ok=False, seen=str(error))


def _source(settings: Settings) -> str:
    """What a nightly run would read."""
    yesterday = today(settings.time_zone) - timedelta(days=1)
    return open_source(settings.monitoring.source, settings).outlook(day_window(yesterday, settings.time_zone))


def _warehouse(settings: Settings) -> str:
    days = open_warehouse(settings.warehouse, settings).days(KPIS)
    if not is_bigquery(settings.warehouse):
        _refuse_locked(Path(settings.warehouse))
    return f"{len(days)} scored days" + (f", {days[0]} to {days[-1]}" if days else "")


def _refuse_locked(place: Path) -> None:
    nearest = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise AqbError("cannot be written", where=str(nearest), fix="choose another folder or change its permissions")


def _state(settings: Settings) -> str:
    RunLedger(settings.state_url).close()
    return "reachable"


def _shown(name: str, value: Any) -> str:
    """A setting without its secrets."""
    return shown_url(value) if name == "state_url" else str(value)
