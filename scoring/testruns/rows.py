"""One row of a test run becomes its executions, or the reason why it cannot be read."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from scoring.rejects import UnreadableCell
from scoring.testruns.cells import given, number, seconds
from scoring.testruns.columns import Columns
from scoring.testruns.detection import agent_type_named
from scoring.testruns.executions import AgentType, Execution, LatencyClass, Round

_LONGEST_MISSING = 5
_SHOWN = 30
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}월\s*[0-9]{1,2}일|[0-9]{1,2}-[A-Z][a-z]{2}|[A-Z][a-z]{2}-[0-9]+"
)
_ORDINAL = re.compile(r"([1-9][0-9]{0,3})\s*(?:회차|차|회)?")


class RowReader:
    """Executions of the rows of one table. `notes` counts what was read with a reservation.

    Equal texts are kept once: every execution of a query repeats its question and its expected result.
    """

    def __init__(self, columns: Columns, agent_type: AgentType | None) -> None:
        """`agent_type` is that of rows which name none."""
        self.notes: Counter[str] = Counter()
        self._agent_type = agent_type
        self._columns = columns
        self._texts: dict[str, str] = {}

    def executions(self, cells: list[str]) -> list[Execution]:
        """The executions of a row: one in the long layout, one per round that was run in the wide one.

        Raises:
            UnreadableCell: the row is rejected.
        """
        self._refuse_broken_encoding(cells)
        shared = dict(self._shared(cells))
        shared["carried"] = {
            name: cells[place] for name, place in self._columns.carried.items() if cells[place].strip()
        }
        repeat = shared.pop("repeat", "")
        return [Execution(**{**shared, **of_round}) for of_round in self._rounds(cells, repeat)]

    def _shared(self, cells: list[str]) -> Iterator[tuple[str, Any]]:
        """What holds for the whole row; fields without a value keep their default."""
        yield "agent_type", self._agent_type
        for field, places in self._columns.fields.items():
            place, text = -1, ""
            for place in places:
                text = _text(cells[place])
                if text:
                    break
            if field == "round":
                yield field, _round(self._columns.names[place], text)
            elif not text:
                if field == "query_id":
                    raise UnreadableCell(self._columns.names[place], "missing_query_id", "문항 ID가 비어 있습니다.")
            elif field in _NUMBERS:
                yield field, _NUMBERS[field](self._columns.names[place], text)
            elif field in _WORDS:
                if (value := self._understood(field, text)) is not None:
                    yield field, value
            else:
                yield field, self._texts.setdefault(text, text)

    def _rounds(self, cells: list[str], repeat: str) -> Iterator[dict[str, Any]]:
        """What holds for one round: none in the long layout, whose row is the round."""
        if not self._columns.rounds:
            yield {}
            return
        nth = _ordinal(repeat) if repeat else 1
        for room, places in self._columns.rounds.items():
            texts = {field: _text(cells[place]) for field, place in places.items()}
            if not any(texts.values()):
                continue
            # With answers of one chat alone, `회차` tells the chats apart; with several it counts their repeats.
            round_ = Round(room, nth) if len(self._columns.rounds) > 1 else Round(nth, 1)
            values = {
                field: _NUMBERS[field](self._columns.names[places[field]], text) if field in _NUMBERS else text
                for field, text in texts.items()
                if text
            }
            yield {"round": round_, **values}

    def _understood(self, field: str, text: str) -> Any:
        """A word of a closed list; another word is as good as none, and noted."""
        value = _WORDS[field](text)
        if value is None:
            self.notes[f"unknown_{field}"] += 1
        return value

    def _refuse_broken_encoding(self, cells: list[str]) -> None:
        try:
            "".join(cells).encode()
        except UnicodeEncodeError:
            place = next(place for place, cell in enumerate(cells) if not _encodable(cell))
            name = self._columns.names[place]
            raise UnreadableCell(
                name, "broken_encoding", f"{name} 칸에 글자로 읽을 수 없는 바이트가 있습니다."
            ) from None


def _text(cell: str) -> str:
    text = cell.strip()
    return text if len(text) > _LONGEST_MISSING else given(text) or ""


def _encodable(cell: str) -> bool:
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=1024)  # a run has few rounds, and one object for each is soon compared
def _round(column: str, text: str) -> Round:
    found = Round.parse(text)
    if found is None:
        why = "비어 있습니다" if not text else f"'{text[:_SHOWN]}'입니다"
        if _DATE.fullmatch(text):
            why += "(Excel이 날짜로 바꾼 것으로 보입니다. 열을 텍스트 서식으로 두고 다시 입력하세요)"
        raise UnreadableCell(column, "bad_round", f"{column} 칸은 '방/반복'(예: 1/1)이어야 하는데 {why}.")
    return found


def _seconds(column: str, text: str) -> float:
    found = seconds(text)
    if found is None:
        raise _no_number(column, text, "0 이상의 초")
    return found


def _milliseconds(column: str, text: str) -> float:
    found = number(text)
    if found is None or found < 0:
        raise _no_number(column, text, "0 이상의 밀리초")
    return float(found)


def _count(column: str, text: str) -> int:
    found = number(text)
    if found is None or found < 0 or found != int(found):
        raise _no_number(column, text, "0 이상의 정수")
    return int(found)


def _ordinal(text: str) -> int:
    match = _ORDINAL.fullmatch(text)
    if match is None:
        raise _no_number("회차", text, "1 이상의 정수")
    return int(match[1])


def _score(text: str) -> float | None:
    found = number(text)
    return None if found is None else float(found)


def _no_number(column: str, text: str, expected: str) -> UnreadableCell:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return UnreadableCell(column, "not_a_number", f"{column} 칸은 {expected}여야 하는데 '{shown}'입니다.")


_NUMBERS = {
    "latency_ms": _milliseconds,
    "answer_time_s": _seconds,
    "ttft_s": _seconds,
    "tool_call_count": _count,
}
# A recorded score is an earlier judge's opinion: a row is not lost for it.
_WORDS = {"agent_type": agent_type_named, "latency_class": LatencyClass.named, "recorded_score": _score}
