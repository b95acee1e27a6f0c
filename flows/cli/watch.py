"""`aqb watch`: one line of cron that tells people when no nightly run has been completed."""

from __future__ import annotations

from dataclasses import asdict

from flows.cli.terminal import Json, finish, open_context, show


def watch(as_json: Json = False) -> None:
    """Tell the routes, once, that no nightly run was completed by `alerts.watch.due`, and once when it has been.

    Also tells, once, of a run whose process is gone, and sends what waits in the outbox. Needs neither Prefect nor its
    server. Exit code 0: the night is done; 1: it is late, a run has died, or something could not be sent.

    Example: aqb watch
    """
    from flows.steps.watch import watch as watch_nights

    with open_context() as context:
        report = watch_nights(context)
        due = f"{context.settings.alerts.watch.due} in {context.settings.time_zone}"
    late = report.late
    problems = [f"{one.title}: its process is gone; `{one.command}` does it" for one in report.dead]
    problems += report.delivery.problems
    if late:
        ran = f"its last run is {late.state}" if late.started else "it had no run"
        problems.insert(0, f"no nightly run of {late.day} was completed by {due}: {ran}; `aqb nightly` does it")
    lines = [*(f"sent: {text}" for text in report.delivery.sent), "late" if late else "the last night is done"]
    dead = [asdict(one) for one in report.dead]
    show(
        {"late": late and asdict(late), "dead": dead, "delivery": vars(report.delivery)},
        "\n".join(lines),
        as_json=as_json,
    )
    finish(problems)
