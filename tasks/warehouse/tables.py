"""Tables that more than one subject writes or reads: their names and columns."""

SCORES, REJECTED, ALERTS, RUNS = "monitoring_scores", "rejected", "alerts", "runs"
