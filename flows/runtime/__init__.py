"""What every flow runs in: Prefect's environment, recorder of runs, logs, telemetry, clock, schedules."""
