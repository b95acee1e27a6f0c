"""Messages about missing work, and the all-clear when it has been done (SPEC 8).

A message that needs an all-clear has a key that names the work to be done first (`Unfinished`); the all-clear has the
same key with another prefix. So the keys of a route tell which all-clears it still needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from scoring.alerting.blocks import Line, bold, bullets, code, context, inert, masked_text, paragraph, plain
from scoring.alerting.messages import KnownKey, Message, MessageLevel, level_mark, messages, without_part
from scoring.alerting.wording import RESOLVED_SIGN
from scoring.days import day_text

_OPEN, _OVER = "open|", "over|"
KEYS_OF_WORK = (_OPEN, _OVER)
"""How the keys of missing work and of its all-clear begin."""

_REASON_CHARACTERS = 300

_WORKS: dict[str, str] = {
    "late": "야간 실행 지연",
    "nightly": "야간 실행",
    "intraday": "낮 실행",
    "backfill": "백필",
    "test-runs": "테스트 결과 채점",
}


@dataclass(frozen=True)
class Unfinished:
    """Work that failed or did not take place: the days to score until it is finished, None if unknown.

    `late` is a night without a run that completed in time. `name` distinguishes it from other failures of the same
    work; its last word is the cause, if that is known.
    """

    work: str
    first: date | None
    last: date | None
    name: str

    @property
    def key(self) -> str:
        """The key of the message about it."""
        return f"{_OPEN}{self._fact}"

    @property
    def over_key(self) -> str:
        """The key of its all-clear."""
        return f"{_OVER}{self._fact}"

    @property
    def title(self) -> str:
        """Its name in messages (Korean)."""
        what = _WORKS.get(self.work, inert(self.work, 60))
        if not self.first or not self.last:
            return what
        days = day_text(self.first) + (f"~{day_text(self.last)}" if self.last > self.first else "")
        return f"{days} {what}"

    @property
    def command(self) -> str:
        """The command that does it."""
        if self.work == "backfill":
            return f"aqb backfill --from {self.first} --to {self.last}"
        if self.work == "nightly":
            return f"aqb nightly --date {self.first}"
        return {"intraday": "aqb nightly --intraday", "test-runs": "aqb test-runs"}.get(self.work, "aqb nightly")

    def is_covered_by(self, other: "Unfinished") -> bool:
        """Whether people who were notified of the other work know of this one."""
        if not (self.first and self.last and other.first and other.last):
            return self.work == other.work
        return self.work == other.work and other.first <= self.first and self.last <= other.last

    def is_open(self, known: Mapping[str, KnownKey], after: datetime) -> bool:
        """Whether a route with these keys was notified of the same work with the same cause after this time, and not
        yet of its end.
        """
        return any(one._failure == self._failure and at > after for one, at in without_all_clear(known).items())

    def numbered(self, known: Mapping[str, KnownKey]) -> "Unfinished":
        """The same failure, named by how often a route with these keys was notified of it before instead of by its run:
        of runs that fail alike at once, such as on two hosts, all have the same key.
        """
        before = {Unfinished.of_key(without_part(key)) for key in known if key.startswith(_OPEN)}
        count = sum(one._failure == self._failure for one in before)
        return replace(self, name=f"{count + 1} {self._failure[-1]}")

    @property
    def _failure(self) -> tuple[str, date | None, date | None, str]:
        return self.work, self.first, self.last, self.name.rpartition(" ")[2]

    @property
    def _fact(self) -> str:
        return "|".join([self.work, *(str(day or "") for day in (self.first, self.last)), self.name])

    @classmethod
    def of_key(cls, key: str) -> "Unfinished":
        """The work that a message key names."""
        _, work, *days, name = key.split("|", 4)
        first, last = (date.fromisoformat(day) if day else None for day in days)
        return cls(work, first, last, name)


def without_all_clear(known: Mapping[str, KnownKey]) -> dict[Unfinished, datetime]:
    """The work that a route was notified of and whose end it was not, with the time of the notification."""
    written = {without_part(key): one.written_at for key, one in known.items()}
    found = {Unfinished.of_key(key): at for key, at in written.items() if key.startswith(_OPEN)}
    return {one: at for one, at in found.items() if one.over_key not in written}


def all_clear_message(over: Mapping[Unfinished, datetime], zone: ZoneInfo) -> list[Message]:
    """The all-clear for finished work, one message with the time of each notification; none if there is none."""
    if not over:
        return []
    times: dict[str, list[datetime]] = {}  # a run that failed again was reported again
    for one, at in over.items():
        times.setdefault(one.title, []).append(at)
    first, *others = times
    what = first + (f" 외 {len(others):,}건" if others else "")
    reported = [
        [bold(title), plain(f" · {_instant(min(at), zone)}{'에' if len(at) == 1 else f'부터 {len(at):,}번'} 알림")]
        for title, at in times.items()
    ]
    blocks = [
        *paragraph([plain("앞서 알린 일이 끝났습니다. 더 할 일은 없습니다. 실행 기록: "), code("aqb runs --last 5")]),
        *bullets(reported),
    ]
    keys = [one.over_key for one in over]
    return messages("all_clear", "info", keys, (f"{RESOLVED_SIGN} 해소", what), blocks)


NightState = Literal["absent", "running", "died", "failed"]


@dataclass(frozen=True)
class LateNight:
    """A night without a run that completed by its due time.

    `day` is the day to be scored, due at `due` on the next day. `state` is the state of the night's last run, with
    `started`, `run_id` and `reason` (why it failed), if there was one. `last_day` is the last completed day before.
    """

    day: date
    due: time
    state: NightState
    started: datetime | None = None
    run_id: str = ""
    reason: str = ""
    last_day: date | None = None

    @property
    def unfinished(self) -> Unfinished:
        """The work to do until it is finished."""
        return Unfinished("late", self.day, self.day, str(self.day + timedelta(days=1)))

    @property
    def command(self) -> str:
        """The command to run. A night also scores missed days, but none before the first scored day."""
        return "aqb nightly" if self.last_day else f"aqb nightly --date {self.day}"


_ACTIONS: dict[NightState, str] = {
    "running": "아직 돌고 있습니다. 어디까지 진행되었는지 확인하고, 멈춘 것이면 끝낸 뒤 다시 실행하세요.",
    "died": "실행하던 프로세스가 사라졌습니다. 메모리와 재시작 기록을 확인하고 다시 실행하세요.",
    "failed": "원인을 고친 뒤 다시 실행하세요. 같은 날을 다시 실행해도 결과는 겹치지 않습니다.",
    "absent": "Prefect 서버와 worker가 떠 있는지(systemctl is-active aqb-server aqb-worker) 확인하고 실행하세요.",
}
"""What to do; of several services that are late, the first state explains the others."""


def late_message(nights: Mapping[str, LateNight], zone: ZoneInfo) -> list[Message]:
    """The single message that the night of each of these services is late ('' where there is only one); none if there
    are none. It is Critical, because without runs nothing else is reported.
    """
    if not nights:
        return []
    level: MessageLevel = "critical"
    first = min(nights.values(), key=lambda night: [*_ACTIONS].index(night.state))
    due = f"{day_text(first.day + timedelta(days=1))} {first.due:%H:%M}"
    what = f"{due}까지 끝난 야간 실행이 없음"
    alike: dict[LateNight, list[str]] = {}
    for service, night in nights.items():
        alike.setdefault(replace(night, run_id=""), []).append(service)
    commands = ["aqb runs --last 5"] if first.state == "running" else ["aqb runs --last 5", first.command]
    blocks = [
        *paragraph(
            [plain(f"{day_text(first.day)}의 대화가 채점되지 않아, 그날의 알림도 오지 않습니다.")],
            *(line for night, names in alike.items() for line in (*_named(names), *_last_runs(night, zone))),
            [bold("할 일  "), plain(_ACTIONS[first.state])],
            *([code(command)] for command in commands),
        ),
        *([context("aqb watch", first.run_id)] if first.run_id else []),
    ]
    return messages("late", level, [first.unfinished.key], (level_mark(level), what), blocks)


def _named(services: Sequence[str]) -> list[Line]:
    """The names of services, unless the message names its only one itself."""
    return [[bold("서비스  "), plain(", ".join(map(inert, services)))]] if any(services) else []


def _last_runs(night: LateNight, zone: ZoneInfo) -> Sequence[Line]:
    """The state of a night's own run, and the last completed day."""
    states = {"running": "아직 끝나지 않음", "died": "끝나지 못하고 사라짐", "failed": "실패"}
    own = f"{_instant(night.started, zone)}에 시작, {states[night.state]}" if night.started else "없음"
    lines: list[Line] = [[bold("이 밤의 실행  "), plain(own)]]
    if night.reason:
        lines.append([bold("까닭  "), plain(masked_text(night.reason, _REASON_CHARACTERS))])
    last = day_text(night.last_day) if night.last_day else "아직 없음"
    return [*lines, [bold("마지막으로 채점이 끝난 날  "), plain(last)]]


def _instant(at: datetime, zone: ZoneInfo) -> str:
    """`3월 14일(토) 07:00`."""
    local = at.astimezone(zone)
    return f"{day_text(local.date())} {local:%H:%M}"
