"""Tables that more than one subject writes or reads: their names and columns."""

from __future__ import annotations

SCORES, REJECTED, ALERTS, RUNS = "monitoring_scores", "rejected", "alerts", "runs"
