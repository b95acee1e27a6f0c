"""Messages about the pipeline itself: a flow that failed, a quiet week, days that were kept, undelivered messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from scoring.alerting.blocks import bold, bullets, code, context, inert, masked_text, paragraph, plain
from scoring.alerting.messages import Message, MessageLevel, level_mark, messages
from scoring.alerting.wording import day_name, tenant_name
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.shrinkage import Loss

FlowState = Literal["failed", "crashed", "cancelled"]
_STATES: dict[FlowState, str] = {"failed": "실패", "crashed": "비정상 종료", "cancelled": "취소"}
_ACTIONS: dict[FlowState, str] = {
    "failed": "오류를 고친 뒤 아래 명령으로 다시 실행하세요. 같은 날을 다시 실행해도 결과는 겹치지 않습니다.",
    "crashed": "실행하던 프로세스가 사라졌습니다. 메모리와 재시작 기록을 확인하고 아래 명령으로 다시 실행하세요.",
    "cancelled": "일부러 취소한 것이 아니라면 아래 명령으로 다시 실행하세요.",
}
_NEVER_TRIED = "앞의 알림이 막혀 보내 보지 못함"
_ERROR_CHARACTERS, _MESSAGE_CHARACTERS = 300, 200
_SHOWN_LOSSES = 3


@dataclass(frozen=True)
class FlowFailure:
    """A flow run that did not complete.

    `error` is the class and `reason` the first line of what ended it; `step` is the task that failed, None outside of
    one. `tries` of `max_tries` were made. `rerun` is the exact command.
    """

    flow: str
    run_name: str
    run_id: str
    state: FlowState
    error: str
    reason: str
    step: str | None
    tries: int
    max_tries: int
    rerun: str


def failure_message(ended: FlowFailure) -> list[Message]:
    """The message about a flow that failed, crashed or was cancelled. Critical, unless somebody cancelled it."""
    level: MessageLevel = "warning" if ended.state == "cancelled" else "critical"
    what = f"{inert(ended.run_name, 60)} {_STATES[ended.state]}"
    left = "더 시도하지 않습니다" if ended.tries >= ended.max_tries else "다시 시도합니다"
    blocks = [
        *paragraph(
            [bold("오류  "), code(inert(ended.error, 100)), plain(f" {masked_text(ended.reason, _ERROR_CHARACTERS)}")],
            [bold("단계  "), plain(inert(ended.step, 100) if ended.step else "단계에 들어가기 전이나 그 사이")],
            [bold("시도  "), plain(f"{ended.max_tries}번 중 {ended.tries}번째, {left}")],
            [bold("할 일  "), plain(_ACTIONS[ended.state])],
            [code(inert(ended.rerun))],
        ),
        context(inert(ended.flow, 100), ended.run_id),
    ]
    keys, title = [f"flow|{ended.run_id}|{ended.state}"], (level_mark(level), what)
    return messages("failure", level, keys, title, blocks, [ended.error])


def quiet_message(first: date, last: date, days: int, rows: int) -> list[Message]:
    """The weekly line of a route without other messages: `days` scored days between two dates with `rows` rows."""
    what = f"{day_name(first)}~{day_name(last)} 새로 알릴 일 없음"
    blocks = paragraph([plain(f"채점한 날 {days:,}일, 행 {rows:,}건. 알림은 정상으로 동작하고 있습니다.")])
    return messages("quiet", "info", [f"quiet|{last}"], (level_mark("info"), what), blocks)


@dataclass(frozen=True)
class KeptDay:
    """A scored day that was not replaced, because its source holds too few rows; `content` is what it holds now."""

    day: date
    losses: tuple[Loss, ...]
    content: str

    @property
    def key(self) -> str:
        """The key of its message: one for each state of the source."""
        return f"kept|{self.day}|{self.content}"


def kept_message(days: Sequence[KeptDay]) -> list[Message]:
    """The one message about days that were kept as they were, earliest first; none without any."""
    if not days:
        return []
    ordered = sorted(days, key=lambda one: one.day)
    first, last = ordered[0].day, ordered[-1].day
    what = f"원천에서 행이 사라져 그대로 둔 날 {len(days):,}일"
    shown = [[plain(f"{day_name(one.day)} · {_losses(one.losses)}")] for one in ordered]
    blocks = [
        *paragraph(
            [plain("이미 채점한 결과는 그대로 있습니다. 원천의 보관 기간, 옮겨진 파일, 원천 주소를 확인하세요.")],
            [
                bold("할 일  "),
                plain("행이 정말 없어진 것이면 아래 명령으로 바꿀 수 있고, 그러면 그 점수는 사라집니다."),
            ],
            [code(f"aqb backfill --from {first} --to {last} --allow-shrink")],
        ),
        *bullets(shown),
    ]
    return messages("failure", "warning", [one.key for one in ordered], (level_mark("warning"), what), blocks)


def _losses(lost: Sequence[Loss]) -> str:
    """The largest losses of a day: `채점한 400행 가운데 원천에 남은 행 0`."""
    shown = "; ".join(
        f"{'' if one.tenant_id == ALL_TENANTS else tenant_name(one.tenant_id) + ' '}"
        f"채점한 {one.before:,}행 → 지금 원천에 {one.now:,}행"
        for one in lost[:_SHOWN_LOSSES]
    )
    return f"{shown} 외 {len(lost) - _SHOWN_LOSSES:,}곳" if len(lost) > _SHOWN_LOSSES else shown


@dataclass(frozen=True)
class ExpiredMessage:
    """A message that was given up; `text` is its fallback, and `error` is empty where it was never tried."""

    id: int
    route: str
    text: str
    written: date
    error: str

    @property
    def key(self) -> str:
        """The key of the message about it."""
        return f"dead|{self.id}"


def expired_message(expired: Sequence[ExpiredMessage]) -> list[Message]:
    """The message about messages that were given up, oldest first; none without any."""
    if not expired:
        return []
    what = f"전달하지 못해 포기한 알림 {len(expired):,}건"
    shown = [
        [
            plain(f"{day_name(one.written)} · {inert(one.route, 60)} · {inert(one.text, _MESSAGE_CHARACTERS)}\n"),
            plain(f"까닭: {masked_text(one.error, _MESSAGE_CHARACTERS) if one.error else _NEVER_TRIED}"),
        ]
        for one in expired
    ]
    blocks = [
        *paragraph(
            [
                bold("할 일  "),
                plain("받는 곳의 주소와 권한을 고친 뒤 이 명령으로 다시 보내세요. 내용은 그날의 보고서에도 있습니다. "),
                code("aqb alerts --revive"),
            ]
        ),
        *bullets(shown),
    ]
    return messages("dead_letters", "warning", [one.key for one in expired], (level_mark("warning"), what), blocks)
