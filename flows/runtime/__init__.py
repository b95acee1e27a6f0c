"""The runtime of flows: Prefect's environment, recorder of runs, logs, telemetry, clock, schedules."""
