"""Settings of runs that keep to one folder."""

from pathlib import Path
from typing import Any

from tasks.config.settings import MonitoringSettings, Settings
from tasks.config.web import WebSettings


def settings_in(folder: Path, **other: Any) -> Settings:
    """Warehouse, reports, state database, uploads and the source of chat rows (`source/`) inside of a folder; and
    sections."""
    inside: dict[str, Any] = {
        "warehouse": str(folder / "warehouse"),
        "reports": str(folder / "reports"),
        "state_url": f"sqlite:///{folder / 'state.db'}",
        "monitoring": MonitoringSettings(source=str(folder / "source")),
    }
    web: WebSettings = other.pop("web", WebSettings())
    return Settings(web=web.model_copy(update={"uploads": str(folder / "uploads")}), **inside | other)
