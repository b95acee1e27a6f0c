"""How Prefect runs here when nobody has set it up: at home in the working folder, talking to nobody else.

Import this before anything imports Prefect, which reads its settings at import.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path


def prepare_prefect(home: Path) -> None:
    """Settings that a user has not made: home folder, no analytics, time enough for the first start."""
    defaults = {
        # A missing home folder makes the temporary server fail as a time-out.
        "PREFECT_HOME": str(home.resolve()),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # The first start in a new home folder migrates its database, which can take longer than the usual 20 s.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
        "PREFECT_LOGGING_LEVEL": "WARNING",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
    logging.getLogger("prefect").setLevel(os.environ["PREFECT_LOGGING_LEVEL"])
