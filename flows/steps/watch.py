"""Reports nights without a run. It needs no Prefect.

Each message is in the outbox, under the key of its night, before it is sent: a route gets it once, however often the
watch runs or is killed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from flows.runtime.clock import now
from flows.steps.announce import DeliveryReport, announce, to_pipeline
from flows.steps.subscriptions import wanted_routes
from scoring.alerting.all_clear import LateNight, Unfinished, all_clear_message, late_message, without_all_clear
from scoring.alerting.messages import KnownKey, Message, RouteFilter
from scoring.alerting.run_messages import FlowFailure, failure_message
from tasks.alerts.day_messages import MessagesFor
from tasks.alerts.delivery import Clock
from tasks.alerts.outbox import Outbox
from tasks.alerts.unfinished import dead_runs, finished, late_night, unreported_nights
from tasks.context import Context
from tasks.state.run_ledger import Run, RunLedger


@dataclass(frozen=True)
class WatchReport:
    """The late night, None if there is none, the unfinished work of dead runs, and the sent messages.

    `service` is the service, '' for messages that belong to none.
    """

    late: LateNight | None
    dead: tuple[Unfinished, ...]
    delivery: DeliveryReport
    service: str = ""


def watch_services(context: Context, clock: Clock | None = None) -> list[WatchReport]:
    """Watches each service and, where there are several, the test runs and failed flows that belong to none of them.

    A night that is late for several services is one message, which belongs to none: a machine that was off has kept all
    of them waiting.

    Raises:
        StorageError: the state database cannot be used; never because of a channel.
    """
    clock = clock or Clock(now)
    RunLedger(context.state).put_back_starts(clock.now(), context.settings.zone)
    found = [(one, late_night(one, clock.now())) for one in context.services]
    late = {one.settings.service: night for one, night in found if night}
    is_shared = context.settings.is_of_several and (len(late) > 1 or _is_told(context, late.values()))
    reports = [_watch(one, clock, night, {"": night} if night and not is_shared else {}) for one, night in found]
    of_none = [_watch(context, clock, None, late if is_shared else {})] if context.settings.is_of_several else []
    return [*reports, *of_none]


def _is_told(context: Context, late: Iterable[LateNight]) -> bool:
    """Whether a message that belongs to no service has told of one of these nights."""
    outbox, nights = Outbox(context.state), {night.unfinished for night in late}
    routes = wanted_routes(context.settings.alerts, with_prefect=False)
    return any(nights & without_all_clear(outbox.keys_of_work(route.name)).keys() for route in routes)


def _watch(context: Context, clock: Clock, late: LateNight | None, told: Mapping[str, LateNight]) -> WatchReport:
    """Notifies the routes of the late nights `told` by service, of dead runs, and of finished work, and sends waiting
    messages.
    """
    dead = dead_runs(context, clock.now()) | unreported_runs(context, clock.now())
    of_late = late_message(told, context.settings.zone)
    news = [("", all_clears(context)), ("", _of_dead(context, dead)), ("", to_pipeline(lambda _: of_late))]
    delivery = announce(context, news, clock, with_prefect=False)
    return WatchReport(late, tuple(dead), delivery, context.settings.service)


def unreported_runs(context: Context, at: datetime) -> dict[Unfinished, Run]:
    """The nights of which nobody was notified, if there is a route."""
    return unreported_nights(context, at) if wanted_routes(context.settings.alerts, with_prefect=False) else {}


def _of_dead(context: Context, dead: Mapping[Unfinished, Run]) -> MessagesFor:
    """A message for each run that died, unless the hook of its flow has notified the route of it."""

    def of_route(route: RouteFilter, known: Mapping[str, KnownKey]) -> list[Message]:
        reported = without_all_clear(known)
        unreported = {
            one: run
            for one, run in dead.items()
            if not any(one.is_covered_by(other) and at >= run.started_at for other, at in reported.items())
        }
        if not route.matches_pipeline("critical"):
            return []
        return [message for one, run in unreported.items() for message in failure_message(_death_of(context, run, one))]

    return of_route


def _death_of(context: Context, run: Run, left: Unfinished) -> FlowFailure:
    steps = RunLedger(context.state).steps(run.run_id)
    return FlowFailure(
        run_name=f"{run.kind} {run.score_date}",
        run_id=run.run_id,
        state="crashed",
        error="ProcessGone",
        reason=f"{'채점한 뒤 알리기 전에' if run.finished_at else '실행하던'} 프로세스가 소식 없이 사라졌습니다. "
        "메모리 부족이나 재시작 기록을 확인하세요.",
        step=steps[-1].step if steps else None,
        rerun=left.command,
        unfinished=left,
    )


def all_clears(context: Context, *, inbox_is_done: bool = False) -> MessagesFor:
    """The all-clear message for finished work that a route was notified of, whatever levels the route accepts."""
    zone = context.settings.zone
    return lambda _, known: all_clear_message(finished(context, known, inbox_is_done=inbox_is_done), zone)
