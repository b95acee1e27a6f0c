"""How flows run: Prefect's environment, steps, worker processes, clusters, recorder of runs, logs, telemetry, clock."""
