"""Messages about runs and about the pipeline itself, all except those about a scored day.

They report a test run that people should look at, a failed flow, a quiet week, kept days, and undelivered messages. The
numbers count work to do, not a sample, so they have no interval. Source: SPEC 3.3, 7, 8.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal
from zoneinfo import ZoneInfo

from scoring.alerting.all_clear import Unfinished
from scoring.alerting.blocks import (
    Block,
    Line,
    Span,
    bold,
    bullets,
    code,
    context,
    inert,
    masked_text,
    paragraph,
    plain,
)
from scoring.alerting.growth_wording import tenant_name
from scoring.alerting.messages import (
    NEVER_TRIED,
    Message,
    MessageLevel,
    OutboxMessage,
    RouteFilter,
    level_mark,
    messages,
)
from scoring.alerting.wording import report_line
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.shrinkage import Loss
from scoring.days import day_text
from scoring.markdown import score_text

FlowState = Literal["failed", "crashed", "cancelled"]
_STATES: dict[FlowState, str] = {"failed": "실패", "crashed": "비정상 종료", "cancelled": "취소"}
_ACTIONS: dict[FlowState, str] = {
    "failed": "오류를 고친 뒤 아래 명령으로 다시 실행하세요. 같은 날을 다시 실행해도 결과는 겹치지 않습니다.",
    "crashed": "실행하던 프로세스가 사라졌습니다. 메모리와 재시작 기록을 확인하고 아래 명령으로 다시 실행하세요.",
    "cancelled": "일부러 취소한 것이 아니라면 아래 명령으로 다시 실행하세요.",
}
_SAID_ONCE = "같은 오류로 다시 실패해도 하루 동안은 또 알리지 않고, 끝나면 해소를 알립니다."
_NEVER_TRIED = "앞선 알림이 막혀 보내지 못함"
_ERROR_CHARACTERS, _MESSAGE_CHARACTERS = 300, 200
_SHOWN_LOSSES = 3


@dataclass(frozen=True)
class FlowFailure:
    """A flow run that did not complete.

    `error` is the class and `reason` the first line of the error that ended it; `step` is the failed task, None outside
    of one. `tries` of `max_tries` were made. `rerun` is the exact command. `unfinished` is the work whose completion
    calls it off, None if a person stopped the run.
    """

    run_name: str
    run_id: str
    state: FlowState
    error: str
    reason: str
    rerun: str
    step: str | None = None
    tries: int = 1
    max_tries: int = 1
    unfinished: Unfinished | None = None


def failure_message(ended: FlowFailure) -> list[Message]:
    """The message about a flow that failed, crashed or was cancelled, named as in its all-clear. It is Critical, unless
    a person cancelled the flow.
    """
    level: MessageLevel = "warning" if ended.state == "cancelled" else "critical"
    unfinished = ended.unfinished
    what = f"{unfinished.title if unfinished else inert(ended.run_name, 60)} {_STATES[ended.state]}"
    left = "더 시도하지 않습니다" if ended.tries >= ended.max_tries else "다시 시도합니다"
    tries: list[Line] = [[bold("시도  "), plain(f"{ended.max_tries}번 중 {ended.tries}번째, {left}")]]
    reason = [plain(f" {masked_text(ended.reason, _ERROR_CHARACTERS)}")] if ended.reason else []
    blocks = [
        *paragraph(
            [bold("오류  "), code(inert(ended.error, 100)), *reason],
            [bold("단계  "), plain(inert(ended.step, 100) if ended.step else "단계에 들어가기 전이나 그 사이")],
            *(tries if ended.max_tries > 1 else []),
            [bold("할 일  "), plain(_ACTIONS[ended.state])],
            [code(inert(ended.rerun))],
            *([[plain(_SAID_ONCE)]] if unfinished and ended.state == "failed" else []),
        ),
        context(inert(ended.run_name, 100), ended.run_id),
    ]
    keys = [unfinished.key if unfinished else f"flow|{ended.run_id}|{ended.state}"]
    return messages("failure", level, keys, (level_mark(level), what), blocks, [ended.error])


def quiet_message(first: date, last: date, days: int, rows: int) -> list[Message]:
    """The weekly message for a route without other messages: `days` scored days between two dates with `rows` rows."""
    what = f"{day_text(first)}~{day_text(last)} 새로 알릴 일 없음"
    blocks = paragraph([plain(f"채점한 날 {days:,}일, 행 {rows:,}건. 알림은 정상으로 동작하고 있습니다.")])
    return messages("quiet", "info", [f"quiet|{last}"], (level_mark("info"), what), blocks)


@dataclass(frozen=True)
class KeptDay:
    """A scored day that was not replaced because its source has too few rows; `content` is the current content of the
    source.
    """

    day: date
    losses: tuple[Loss, ...]
    content: str

    @property
    def key(self) -> str:
        """The key of its message: one per state of the source."""
        return f"kept|{self.day}|{self.content}"


def kept_message(days: Sequence[KeptDay]) -> list[Message]:
    """The single message about kept days, earliest first; none if there are none."""
    if not days:
        return []
    ordered = sorted(days, key=lambda one: one.day)
    first, last = ordered[0].day, ordered[-1].day
    what = f"원본에서 행이 사라져 그대로 둔 날 {len(days):,}일"
    shown = [[plain(f"{day_text(one.day)} · {_losses(one.losses)}")] for one in ordered]
    blocks = [
        *paragraph(
            [plain("이미 채점한 결과는 그대로 있습니다. 원본의 보관 기간, 옮겨진 파일, 원본 주소를 확인하세요.")],
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
    """The largest losses of a day: `채점한 400행 가운데 원본에 남은 행 0`."""
    shown = "; ".join(
        f"{'' if one.tenant_id == ALL_TENANTS else tenant_name(one.tenant_id) + ' '}"
        f"채점한 {one.before:,}행 → 지금 원본에 {one.now:,}행"
        for one in lost[:_SHOWN_LOSSES]
    )
    return f"{shown} 외 {len(lost) - _SHOWN_LOSSES:,}곳" if len(lost) > _SHOWN_LOSSES else shown


def expired_message(expired: Sequence[OutboxMessage], known: Collection[str], zone: ZoneInfo) -> list[Message]:
    """The message about abandoned messages, oldest first; none if all their keys are `known`."""
    by_key = {key: one for one in expired if (key := f"dead|{one.id}") not in known}
    if not by_key:
        return []
    what = f"전달하지 못해 포기한 알림 {len(by_key):,}건"
    shown = []
    for one in by_key.values():
        written = day_text(one.created_at.astimezone(zone).date())
        error = None if one.last_error == NEVER_TRIED else one.last_error
        reason = masked_text(error, _MESSAGE_CHARACTERS) if error else _NEVER_TRIED
        first = plain(f"{written} · {inert(one.route, 60)} · {inert(one.text, _MESSAGE_CHARACTERS)}\n")
        shown.append([first, plain(f"까닭: {reason}")])
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
    return messages("dead_letters", "warning", list(by_key), (level_mark("warning"), what), blocks)


_WORST = 5
_QUERY_CHARACTERS, _NAME_CHARACTERS = 120, 80


@dataclass(frozen=True)
class ReviewedQuery:
    """A query that a person should look at; `total` (0..5) is None if it is unknown. Reasons are Korean."""

    query_id: str
    text: str | None
    total: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ReviewedTestRun:
    """A scored test run, identified by its rubric and the hash of its input.

    `rejected` of `rows_in` rows could not be read. `flagged` of the `queries` need a person, `reasons` give the number
    per reason (Korean), `worst` come first; `over_budget` questions were not asked because the judge's budget was
    spent, `judge_failed` ones got no answer. `review_list` and `report` are paths, `report_url` is the report's address
    if it is served. `change` compares with the previous run (Korean), '' for the first; `worse` are the metrics that
    got worse. `outage` reports that many of its executions failed (Korean), and `outage_todo` what to do about it; ''
    otherwise. After an outage its queries need no review.
    """

    name: str
    input_sha256: str
    rubric: str
    rubric_version: str
    rubric_title: str
    agent_types: tuple[str, ...]
    rows_in: int
    rejected: int
    queries: int
    flagged: int
    over_budget: int
    judge_failed: int
    reasons: tuple[tuple[str, int], ...]
    worst: tuple[ReviewedQuery, ...]
    review_list: str
    report: str
    run_id: str
    report_url: str = ""
    change: str = ""
    worse: tuple[str, ...] = ()
    outage: str = ""
    outage_todo: str = ""


def review_message(route: RouteFilter, run: ReviewedTestRun) -> list[Message]:
    """The message about one test run; none if nothing needs a person, or if the route does not accept it."""
    level: MessageLevel = "warning"
    what, looks = _headline(run), not run.outage
    if not what or not route.matches_testrun(level, run.rubric, run.agent_types):
        return []
    blocks = [
        *paragraph([plain(f"{run.rubric_title} · "), code(inert(run.name, _NAME_CHARACTERS))], *_what_happened(run)),
        *(bullets([[plain(f"{reason} "), bold(f"{count:,}개")] for reason, count in run.reasons] if looks else [])),
        *paragraph(*_to_do(run), report_line(run.report, run.report_url)),
        *_worst(run.worst[:_WORST] if looks else ()),
        context(f"{run.rubric} 버전 {run.rubric_version}", run.run_id),
    ]
    keys, title = [f"{run.rubric}|{run.input_sha256}"], (level_mark(level), what)
    return messages("review", level, keys, title, blocks, filter(None, [run.outage, run.name]))


def _headline(run: ReviewedTestRun) -> str:
    """The most important action, '' if there is none."""
    if run.outage:
        return "테스트 결과에서 실행이 많이 실패함"
    if run.flagged:
        return f"테스트 결과에서 수기 확인할 질의 {run.flagged:,}개"
    if run.rejected:
        return f"테스트 결과에서 거부한 행 {run.rejected:,}건"
    if run.over_budget:
        return f"테스트 결과에서 판정하지 못한 질문 {run.over_budget:,}개"
    if run.judge_failed:
        return f"테스트 결과에서 판정에 실패한 질문 {run.judge_failed:,}개"
    return f"테스트 결과에서 나빠진 지표: {', '.join(run.worse)}" if run.worse else ""


def _what_happened(run: ReviewedTestRun) -> list[Line]:
    lines: list[Line] = [[bold(f"{run.outage}.")]] if run.outage else []
    if run.flagged and not run.outage:
        lines.append([bold(f"질의 {run.queries:,}개 중 {run.flagged:,}개"), plain("를 사람이 확인해야 합니다.")])
    if run.rejected:
        lines.append([bold(f"행 {run.rows_in:,}건 중 {run.rejected:,}건"), plain("을 읽지 못해 채점하지 않았습니다.")])
    if run.change:
        lines.append([plain(f"{run.change}.")])
    if run.over_budget:
        lines.append([plain(f"판정 예산이 다해 질문 {run.over_budget:,}개를 묻지 못했습니다.")])
    if run.judge_failed:
        lines.append([plain(f"질문 {run.judge_failed:,}개는 판정에 실패했습니다.")])
    return lines


def _to_do(run: ReviewedTestRun) -> list[Line]:
    lines: list[Line] = []
    if run.outage:
        lines.append([bold("할 일  "), plain(f"{run.outage_todo} 질의는 그다음에 보면 됩니다.")])
    if run.over_budget or run.judge_failed:
        first = "먼저 " if run.flagged else ""  # with its verdicts fewer queries need a person
        remedy = "judge.max_usd나 judge.max_tokens를 늘리고" if run.over_budget else "aqb doctor로 판정 모델을 확인하고"
        lines.append([bold("할 일  "), plain(f"{first}{remedy} 다시 채점하세요.")])
        lines.append([plain("inbox는 같은 파일을 두 번 채점하지 않으니 aqb score를 쓰세요.")])
    if run.flagged and not run.outage:
        lines.append([bold("할 일  "), plain("목록의 질의를 위에서부터 읽고 판정을 적어 주세요.")])
        lines.append([bold("확인 목록  "), code(run.review_list)])
    if run.rejected:
        lines.append([bold("할 일  "), plain("보고서의 '입력 파일'에서 까닭을 보고, 파일을 고쳐 다시 넣어 주세요.")])
    if run.worse and not lines:
        lines.append([bold("할 일  "), plain("보고서의 '지난 실행과 비교'에서 가장 나빠진 질의부터 확인하세요.")])
    return lines


def _worst(worst: Sequence[ReviewedQuery]) -> list[Block]:
    if not worst:
        return []
    lead: Line = [bold("점수를 가장 많이 잃은 질의")]
    return [*paragraph(lead), *bullets(list(map(_query_lines, worst)))]


def _query_lines(query: ReviewedQuery) -> list[Span]:
    total = "종합 점수 없음" if query.total is None else f"{score_text(query.total)}점"
    text = "질의 없음" if query.text is None else masked_text(query.text, _QUERY_CHARACTERS)
    return [
        code(masked_text(query.query_id, _NAME_CHARACTERS)),
        plain(f" {total} · {text}\n"),
        plain(", ".join(query.reasons)),
    ]


@dataclass(frozen=True)
class RefusedFile:
    """A file of the inbox that cannot be read; `content` identifies its content, else its path.

    `reason` is for operators, `for_pages` is the same for messages.
    """

    name: str
    content: str
    reason: str
    for_pages: str

    @property
    def key(self) -> str:
        """The key of its message: one per content."""
        return f"inbox|{self.content}"


def refused_message(route: RouteFilter, files: Sequence[RefusedFile]) -> list[Message]:
    """The message about unreadable files of the inbox, in order; none if there are none, or if the route does not
    accept it.
    """
    if not files or not route.matches_inbox("warning"):
        return []
    what = f"inbox에서 읽지 못한 파일 {len(files):,}개"
    shown = [[plain(f"{inert(one.name, 100)}\n까닭: {masked_text(one.for_pages, _ERROR_CHARACTERS)}")] for one in files]
    blocks = [
        *paragraph(
            [plain("다른 파일은 채점했습니다. 같은 내용의 파일은 다시 알리지 않습니다.")],
            [bold("할 일  "), plain("파일을 고쳐 다시 넣거나 inbox에서 빼세요.")],
        ),
        *bullets(shown),
    ]
    return messages("failure", "warning", [one.key for one in files], (level_mark("warning"), what), blocks)
