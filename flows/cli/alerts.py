"""`aqb alerts`: sends, shows and previews messages."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.terminal import Json, day_option, finish, open_context, show
from flows.runtime.clock import now
from flows.runtime.prefect_env import prepare_prefect
from scoring.errors import UsageError, counted
from scoring.markdown import score_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scoring.alerting.messages import OutboxMessage
    from scoring.alerting.preview import Forecast, PreviewedMessage
    from tasks.context import Context

_DAYS = re.compile(r"([1-9][0-9]{0,2})d?")
_CONTENT = {"blocks", "keys", "thread_ts"}


alerts_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@alerts_app.callback()
def alerts(
    called: typer.Context,
    day: Annotated[date | None, day_option("--date", "Also tell what is new of this day.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be shown, and send nothing.")] = False,
    preview: Annotated[
        str,
        typer.Option(
            help="Print what each route would have had in so many past days, weekly messages aside.", metavar="30d"
        ),
    ] = "",
    pending: Annotated[bool, typer.Option("--pending", help="List what waits and what was given up.")] = False,
    requeue: Annotated[bool, typer.Option("--revive", help="Try again what was given up.")] = False,
    as_json: Json = False,
) -> None:
    """Send the messages that wait for Slack, such as those that quiet hours have held; show or preview messages.

    Example: aqb alerts --date 2026-02-13 --dry-run
    """
    if called.invoked_subcommand:
        return

    if bool(preview) + pending + (bool(day) or dry_run) + requeue > 1:
        raise UsageError("--date, --preview, --pending and --revive exclude each other", fix="give one of them")
    with open_context() as context:
        prepare_prefect(context.settings.reports)
        if preview:
            _preview(context, preview, as_json=as_json)
        elif pending:
            _pending(context, as_json=as_json)
        elif dry_run:
            _dry_run(context, day, as_json=as_json)
        else:
            _send(context, day, requeue=requeue, as_json=as_json)


def _preview(context: Context, period: str, *, as_json: bool) -> None:
    """Prints the messages that each route would have had, and a forecast under the current settings (Korean)."""
    from flows.steps.alerts import preview

    if not (match := _DAYS.fullmatch(period)):
        raise UsageError(f"'{period}' is no number of days", where="--preview", fix="for example --preview 30d")
    first, last, messages, expected = preview(context, int(match.group(1)))
    lines = [
        f"{first} ~ {last}: 날마다 그날 밤에, 지금 설정으로 알렸다면(주간 요약은 빼고. "
        "한 날의 요약 가운데 긴급 알림과 행이 대부분 같은 것은 긴급 알림에 함께 적음)"
    ]
    for route in dict.fromkeys(one.route for one in messages):
        lines += _of_route(route, [one for one in messages if one.route == route])
    lines += _expected(expected, context.settings.alerts.false_pages_per_year) if messages or expected.rises else []
    show([_message_value(one) for one in messages], "\n".join(lines), as_json=as_json)


def _of_route(route: str, messages: Sequence[PreviewedMessage]) -> list[str]:
    from scoring.alerting.preview import KIND_TITLES

    kinds, busiest = Counter(one.kind for one in messages), max(Counter(one.day for one in messages).values())
    reported = [
        f"  {one.day}  {KIND_TITLES[one.kind]}  {'; '.join(incident.reason for incident in one.named)}"
        for one in messages
    ]
    counted = ", ".join(f"{KIND_TITLES[kind]} {count}건" for kind, count in sorted(kinds.items()))
    return [f"경로 {route}: 메시지 {len(messages)}건({counted}), 하루에 많아야 {busiest}건", *reported]


def _expected(expected: Forecast, allowed: float) -> list[str]:
    """The lines of a forecast: expected false pages a year, and by rule the daily count from which it is reported."""
    from scoring.alerting.wording import times_text

    lines = [
        "아무 변화가 없어도 한 해에 잘못 보낼 것으로 보이는 긴급 알림: "
        f"약 {score_text(expected.false_pages_per_year, 1)}건"
        f"(설정 alerts.false_pages_per_year = {allowed:g})",
        "하루에 이만큼이면 알림(전체 테넌트):",
    ]
    for rise in expected.rises:
        kind = "쉬는 날" if rise.day_off else "업무일"
        reported = [
            f"{count:,}행부터 {what}({times_text(count / rise.usual)})"
            for what, count in (("요약", rise.reported), ("긴급 알림", rise.paged))
            if count is not None
        ]
        lines.append(
            f"  {rise.title}, {kind}: {rise.rows:,}행 중 평소 {rise.usual_text}, {', '.join(reported) or '없음'}"
        )
    return lines


def _message_value(one: PreviewedMessage) -> dict[str, object]:
    incidents = [{"rule": each.rule, "tenant_id": each.tenant_id, "change": each.change} for each in one.incidents]
    return {"day": one.day, "kind": one.kind, "incidents": incidents, "route": one.route}


def _pending(context: Context, *, as_json: bool) -> None:
    """Prints the messages that wait and those that were given up; as JSON without their content."""
    from tasks.alerts.outbox import Outbox

    outbox, zone = Outbox(context.state), context.settings.zone
    waiting, given_up = outbox.waiting(), outbox.given_up()
    lines = [f"messages: {len(waiting)} waiting, {len(given_up)} given up"]
    for state, one in [*(("waiting", one) for one in waiting), *(("given up", one) for one in given_up)]:
        error = f" ({one.last_error})" if one.last_error else ""
        lines.append(f"{state:<8}  {one.created_at.astimezone(zone):%Y-%m-%d %H:%M}  {one.route}: {one.text}{error}")
    value = {
        state: [{name: value for name, value in vars(one).items() if name not in _CONTENT} for one in messages]
        for state, messages in (("waiting", waiting), ("dead", given_up))
    }
    show(value, "\n".join(lines), as_json=as_json)


def _dry_run(context: Context, day: date | None, *, as_json: bool) -> None:
    from flows.steps.alerts import preview_messages

    if day is None:
        raise UsageError("--dry-run needs a day", fix="give --date; `aqb alerts --pending` lists what waits")
    found = preview_messages(context, [day])
    show(
        [{"route": one.route, "kind": one.kind, "level": one.level, "payload": payload} for one, payload in found],
        "\n\n".join(message_text(one) for one, _ in found) or f"nothing new to tell of {day}",
        as_json=as_json,
    )


def message_text(message: OutboxMessage) -> str:
    """The text of a message as its reader sees it, below a line with its route, kind and level."""
    from scoring.alerting.blocks import readable

    lines = readable(message.blocks).splitlines()
    return "\n".join([f"route {message.route}: {message.kind}, {message.level}", *(f"  {line}" for line in lines)])


def _send(context: Context, day: date | None, *, requeue: bool, as_json: bool) -> None:
    from flows.steps.alerts import announce_days
    from flows.steps.announce import announce
    from tasks.alerts.outbox import Outbox

    if requeue:
        Outbox(context.state).requeue(now())
    report = announce_days(context, [day]) if day else announce(context, [])
    sums = f"{counted(len(report.sent), 'message')} sent, {report.waiting} waiting"
    show(vars(report), "\n".join([*(f"sent: {text}" for text in report.sent), sums]), as_json=as_json)
    finish(report.problems)
