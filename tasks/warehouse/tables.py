"""Tables that more than one subject writes or reads: their names and columns."""

from __future__ import annotations

REJECTED, ALERTS, RUNS = "rejected", "alerts", "runs"
