"""Converts a row of a test run to its executions, or to the reason why it cannot be read. The header defines each cell.

Source: SPEC 2 (long and wide layout).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any
from unicodedata import is_normalized, normalize

from scoring.errors import InputError, counted
from scoring.inputs import NOT_CALCULATED, UnreadableCell, ungrouped
from scoring.testruns.cells import encodable, given, is_cut, number, says_not_measured, says_timeout, seconds
from scoring.testruns.checklist import url_line
from scoring.testruns.column_names import FIELDS, NUMBERED, OF_ROUND, OF_SINGLE_RUN, RECORDED, is_read
from scoring.testruns.detection import Layout, agent_type_named, layout_of
from scoring.testruns.executions import TOOL_COLUMNS, AgentType, Execution, LatencyClass, Round
from scoring.testruns.filter_names import FilterNames

_NAMED_OTHERWISE = "열 이름이 다를 뿐이라면 운영 담당자가 설정 [test_runs.columns]에 적을 수 있습니다."
_REQUIRED = {Layout.LONG: ("query_id", "round", "raw_json"), Layout.WIDE: ("query_id", "query_text")}
_ROWS_OF = {Layout.LONG: "one row per execution", Layout.WIDE: "one row per query"}
_EXPECTED = "a test run: Query ID, 방/반복, Raw JSON (one row per execution), or ID, 질의, 1차 답변 (one row per query)"
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}월\s*[0-9]{1,2}일|[0-9]{1,2}-[A-Z][a-z]{2}|[A-Z][a-z]{2}-[0-9]+"
)
_CLOCK = re.compile(r"(?:[0-9]+ days?, )?[0-9]{1,4}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?")
_LARGEST_COUNT = 2**63 - 1  # that a table holds
# What Excel shows where a formula fails, also where it took an answer for one; in CSV files it is text.
_EXCEL_ERRORS = frozenset(
    {"#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#N/A", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#FIELD!"}
)
# What people write behind a number: 5300ms, 4점; 2회
_UNIT = re.compile(r"(?<=[0-9])\s*(?:ms|밀리초|점)\Z", re.IGNORECASE)
_COUNTER = re.compile(r"(?<=[0-9])\s*(?:회|번|건|개)\Z")
_ORDINAL = re.compile(r"([1-9][0-9]{0,3})\s*(?:회차|차|회|/1)?")
_ROUND_SHEET = re.compile(r"round\s*([1-9][0-9]?)|([1-9][0-9]?)\s*(?:회차|차)", re.IGNORECASE)
_ESCAPE = re.compile(r"""(\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))""")


@dataclass(frozen=True)
class Columns:
    """The positions of cells in a row: `fields` of the whole row, `rounds` (wide) of one: number -> field -> positions.

    `names` are the headers by our names, `written` as in the file, for messages to people. Columns with other headers
    are only kept in the file.
    """

    layout: Layout
    names: tuple[str, ...]
    written: tuple[str, ...]
    fields: Mapping[str, Sequence[int]]
    rounds: Mapping[int, Mapping[str, Sequence[int]]]


def columns_of(names: tuple[str, ...], written: tuple[str, ...], where: str) -> Columns:
    """The positions by header; `names` and `written` are as in `Columns`.

    Errors name only known columns: an unknown header may contain people's text.

    Raises:
        InputError: no header of a test run, a required column is missing, or a column that is read exists twice.
    """
    layout = layout_of(names)
    if layout is None or layout is Layout.CHAT:
        raise _no_testrun(layout, names, where)
    known = FIELDS[layout]
    if missing := [known[field] for field in _REQUIRED[layout] if not set(known[field]) & set(names)]:
        raise _missing_columns(layout, missing, names, where)
    rounds = _rounds_of(names) if layout is Layout.WIDE else {}
    read = {name for headers in known.values() for name in headers}
    read |= {names[place] for fields in rounds.values() for places in fields.values() for place in places}
    there_twice = {name for name in read if names.count(name) > 1}
    if there_twice:
        doubled = dict.fromkeys(shown for name, shown in zip(names, written, strict=True) if name in there_twice)
        raise InputError(
            f"columns are there more than once: {', '.join(doubled)}",
            where=where,
            fix="keep one column of each name: it is unclear which one is meant",
            ko=f"이름이 같은 열이 여럿입니다: {', '.join(doubled)}. 어느 것을 읽을지 알 수 없으니 하나만 남기세요.",
        )
    return Columns(
        layout=layout,
        names=names,
        written=written,
        fields={
            field: tuple(names.index(name) for name in headers if name in names) for field, headers in known.items()
        },
        rounds=rounds,
    )


def _rounds_of(names: Sequence[str]) -> dict[int, dict[str, list[int]]]:
    """The columns of each round of the wide layout: number -> field -> positions."""
    numbered = [NUMBERED.fullmatch(name) for name in names]
    numbers = {int(match[1]) for match in numbered if match} or {1}
    rounds: dict[int, dict[str, list[int]]] = {}
    for place, name in enumerate(names):
        if match := numbered[place]:
            rounds.setdefault(int(match[1]), {}).setdefault(OF_ROUND[match[2]], []).append(place)
        # Beside a single numbered round an error without a number is that of this round.
        elif (of_run := OF_SINGLE_RUN.get(name)) and (not any(numbered) or (of_run == "error" and len(numbers) == 1)):
            rounds.setdefault(min(numbers), {}).setdefault(of_run, []).append(place)
    return dict(sorted(rounds.items()))


def _missing_columns(
    layout: Layout, missing: Sequence[tuple[str, ...]], names: tuple[str, ...], where: str
) -> InputError:
    """The error that names the required columns, each with the headers that it may have."""
    plain, plain_ko = _plain_answers(names) if missing == [FIELDS[Layout.LONG]["raw_json"]] else ("", "")
    return InputError(
        f"required columns are missing: {', '.join(map(' or '.join, missing))}; found {_described(names)}",
        where=where,
        fix=f"it looks like a test run with {_ROWS_OF[layout]}: export it again with these columns, or "
        + _how_to_name(f'"{missing[0][0]}" = "..."')
        + plain,
        ko=f"꼭 있어야 할 열이 없습니다: {', '.join(map(' 또는 '.join, missing))}. {_described_ko(names)} "
        f"이 열을 넣어 다시 내보내세요. {_NAMED_OTHERWISE}{plain_ko}",
    )


def _plain_answers(names: Sequence[str]) -> tuple[str, str]:
    """What to do with answers that are plain text, in English and Korean; '' without such answers."""
    if "응답" not in names:
        return "", ""
    return (
        "; if the answers are plain text, call the columns ID, 회차 (1, 2, 3), 질의, 응답 and 응답 시간(초) instead",
        " 에이전트의 답변이 글뿐이면 열 이름을 ID, 회차(1, 2, 3), 질의, 응답, 응답 시간(초)로 바꾸세요.",
    )


class RowReader:
    """Reads the executions of the rows of one table. `notes` counts what was read with a reservation."""

    def __init__(
        self, columns: Columns, agent_type: AgentType | None, filter_names: FilterNames, run_type: str, sheet: str
    ) -> None:
        """`agent_type`, `run_type` and the round in `sheet` ('' for an only one) apply to rows that name none."""
        self.notes: Counter[str] = Counter()
        self._sheet = sheet
        self._given = {"agent_type": agent_type, "filter_names": filter_names, "run_type": run_type}
        self._columns = columns
        of_rows = (places for field, places in columns.fields.items() if field not in _WORDS)
        of_rounds = (places for fields in columns.rounds.values() for places in fields.values())
        self._read = sorted({place for places in (*of_rows, *of_rounds) for place in places})

    def second_row(self, known: str) -> UnreadableCell:
        """Why a row is rejected whose execution, identified by `known` (Korean), another row has already given."""
        fields, long = self._columns.fields, self._columns.layout is Layout.LONG
        of_round = fields["round" if long else "repeat"]
        column = self._columns.written[(of_round or fields["query_id"])[0]]
        apart = f"{column if of_round else '회차'} 열에 {'다른 번호를' if long else '번호(1, 2, 3)를'}"
        what = f"같은 실행이 앞에 이미 있습니다: {known}."
        fix = f"다시 실행한 결과라면 {apart} 적고, 아니라면 한 행만 남기세요."
        if self._sheet and not long:
            fix += " 시트마다 한 회차라면 시트 이름을 1회차, 2회차로 바꾸세요."
        return UnreadableCell(column, "duplicate_execution", f"{what} {fix}")

    def executions(self, cells: list[str]) -> list[Execution]:
        """The executions of a row: one in the long layout, one per executed round in the wide one.

        Raises:
            UnreadableCell: the row is rejected.
        """
        self._refuse_unreadable(cells)
        cells = [_composed(cell) for cell in cells]
        shared = {**self._given, **dict(self._shared(cells))}
        shared["recorded_scores"] = {
            RECORDED[name]: score
            for name, cell in zip(self._columns.names, cells, strict=True)
            if name in RECORDED and (score := _recorded(cell)) is not None
        }
        expected = [shared.get("expected_text", "")]
        path, value = shared.pop("checked_path", ""), shared.pop("checked_value", "")
        if path and value:
            expected.append(json.dumps({"path": path, "op": "contains", "value": value}, ensure_ascii=False))
        if url := shared.pop("expected_url", ""):
            expected += [url_line(line) for line in url.splitlines() if line.strip()]
        shared["expected_text"] = "\n".join(expected).strip()
        repeat = shared.pop("repeat", _round_of_sheet(self._sheet))
        found = []
        for of_round in self._rounds(cells, repeat):
            found.append(Execution(**{**shared, **of_round}))
            for of_first in ("ttft_s", "status"):  # a time that stands once in a row was measured once
                shared.pop(of_first, None)
        return found

    def _refuse_unreadable(self, cells: list[str]) -> None:
        names = self._columns.written
        for name, cell in zip(names, cells, strict=True):
            if not encodable(cell):
                reason = f"{name} 칸에 글자로 읽을 수 없는 바이트가 있습니다."
                raise UnreadableCell(name, "broken_encoding", reason)
        for name, cell in ((names[place], cells[place].strip()) for place in self._read):
            if cell in _EXCEL_ERRORS:
                what = f"{name} 칸에 값이 아니라 Excel 오류({cell})가 있습니다."
                raise UnreadableCell(name, "excel_error", f"{what} 고치거나 텍스트 서식으로 두고 다시 입력하세요.")
            if cell == NOT_CALCULATED:
                what = f"{name} 칸의 수식에 계산된 값이 저장되어 있지 않습니다."
                raise UnreadableCell(name, "not_calculated", f"{what} Excel에서 열어 저장한 뒤 다시 채점하세요.")
            if is_cut(cell):
                what = f"{name} 칸의 글이 Excel 한 칸의 한도에서 잘려 있습니다."
                raise UnreadableCell(name, "cut_cell", f"{what} 점수를 낼 때 쓴 원본 파일로 채점하세요.")

    def _shared(self, cells: list[str]) -> Iterator[tuple[str, Any]]:
        """The fields of the whole row; fields without a value keep their default."""
        for field, places in self._columns.fields.items():
            place, text = _filled(places, cells)
            if field == "round":
                yield field, _round(self._columns.written[place], text)
            elif field == "query_id":
                yield field, text
            elif field in _WORDS and text:
                if (value := _WORDS[field](normalize("NFKC", text))) is not None:
                    yield field, value
                else:
                    self.notes[f"unknown_{field}"] += 1
            elif field in _TIMES and says_timeout(text):
                yield "status", text
            elif text and not _is_missing(field, text):
                yield field, self._value(field, place, text)

    def _rounds(self, cells: list[str], repeat: int) -> Iterator[dict[str, Any]]:
        """The fields of one round: none in the long layout, where the row is the round."""
        if not self._columns.rounds:
            yield {"tool_columns": TOOL_COLUMNS & {field for field, places in self._columns.fields.items() if places}}
        for room, fields in self._columns.rounds.items():
            filled = {field: _filled(places, cells) for field, places in fields.items()}
            for field in _TIMES:
                if field in filled and says_timeout(filled[field][1]):
                    filled["status"] = filled.pop(field)
            values = {
                field: self._value(field, place, text)
                for field, (place, text) in filled.items()
                if text and not _is_missing(field, text)
            }
            if values:
                # With answers of one chat alone, `회차` tells the chats apart; with several it counts their repeats.
                round_ = Round(room, repeat) if len(self._columns.rounds) > 1 else Round(repeat, 1)
                yield {"round": round_, "tool_columns": TOOL_COLUMNS & fields.keys(), **values}

    def _value(self, field: str, place: int, text: str) -> Any:
        if field not in _NUMBERS:
            return text
        parse, expected = _NUMBERS[field]
        value = parse(normalize("NFKC", text))  # full-width digits are digits, as in headers
        if value is None:
            column = self._columns.written[place]
            why = "다른 값입니다. 값이 없으면 비워 두세요"
            if _CLOCK.fullmatch(text):
                why = "시각입니다. 숫자로 적고, Excel이 바꾼 것이면 열을 숫자 서식으로 두세요"
            reason = f"{column} 칸은 {expected}여야 하는데 {why}."
            raise UnreadableCell(column, "not_a_number", reason)
        return value


def _composed(cell: str) -> str:
    """The cell with syllables that macOS has written as letters, which no rule reads, in one piece.

    Escapes of JSON stay as they are: a mark behind `\\n` belongs to the new line, not to its `n`.
    """
    if is_normalized("NFC", cell):
        return cell
    return "".join(normalize("NFC", part) for part in _ESCAPE.split(cell))


def _filled(places: Sequence[int], cells: list[str]) -> tuple[int, str]:
    """The first position with a value, and its text; '' without any."""
    filled = ((place, text) for place in places if (text := given(cells[place])))
    return next(filled, (places[-1] if places else -1, ""))


def _is_missing(field: str, text: str) -> bool:
    """Whether a cell of a measurement says in words that there is none."""
    return field in _MEASURED and says_not_measured(text)


def _round(column: str, text: str) -> Round:
    found = Round.parse(normalize("NFKC", text))
    if found is None:
        why = "다른 값입니다" if text else "비어 있습니다"
        if _DATE.fullmatch(text):
            why += "(Excel이 날짜로 바꾼 것으로 보입니다. 열을 텍스트 서식으로 두고 다시 입력하세요)"
        raise UnreadableCell(column, "bad_round", f"{column} 칸에는 1/1처럼 방과 반복의 번호를 적어야 하는데 {why}.")
    return found


def _at_least_zero(text: str) -> float | None:
    found = number(ungrouped(_UNIT.sub("", text)))
    return None if found is None or isinf(found) or found < 0 else float(found)


def _recorded(text: str) -> float | None:
    """The score that an earlier judge or tool wrote; None where it is no number."""
    return _at_least_zero(normalize("NFKC", text))


def _count(text: str) -> int | None:
    found = number(ungrouped(_COUNTER.sub("", text)))
    return None if found is None or not 0 <= found <= _LARGEST_COUNT or found != int(found) else int(found)


def _round_of_sheet(name: str) -> int:
    """The round in the name of a sheet (`2회차`, `2차`, `Round 2`); 1 if there is none."""
    match = _ROUND_SHEET.fullmatch(normalize("NFKC", name).strip())
    return int(match[1] or match[2]) if match else 1


def _ordinal(text: str) -> int | None:
    match = _ORDINAL.fullmatch(text)
    return int(match[1]) if match else None


_NUMBERS: Mapping[str, tuple[Callable[[str], float | None], str]] = {
    "latency_ms": (_at_least_zero, "0 이상의 밀리초"),
    "answer_time_s": (seconds, "0 이상의 초"),
    "ttft_s": (seconds, "0 이상의 초"),
    "tool_call_count": (_count, "0 이상의 정수"),
    "repeat": (_ordinal, "1 이상의 정수"),
}
_MEASURED = frozenset({"latency_ms", "answer_time_s", "ttft_s", "tool_call_count"})
_TIMES = ("latency_ms", "answer_time_s", "ttft_s")
"""Cells of these fields may report a timeout; then the execution has failed. Source: seed 000, 2.6 and 3.6."""
# Words of a closed list, of which another is as good as none. A recorded score is an earlier judge's opinion: a row is
# not lost for it.
_WORDS = {"agent_type": agent_type_named, "latency_class": LatencyClass.named, "recorded_score": _recorded}


def _no_testrun(layout: Layout | None, names: tuple[str, ...], where: str) -> InputError:
    if layout is None and {"질의", "query"} & set(names) and not {"응답", "Raw JSON"} & set(names):
        return InputError(
            "a list of questions, no test run: it has questions but no answers (1차 답변, 응답 or Raw JSON)",
            where=where,
            fix="ask the agent these questions, and give the file with its answers; make one line of a header in two "
            "(1차 over 답변: 1차 답변); or " + _how_to_name('"N차 답변" = "Answer {n}"'),
            ko="질의만 있고 답변(1차 답변, 응답, Raw JSON)이 없습니다. 에이전트가 답한 결과를 넣으세요. "
            f"머리글이 두 줄이면(‘1차’ 아래 ‘답변’) ‘1차 답변’처럼 한 줄로 합치세요. {_NAMED_OTHERWISE}",
        )
    found = "chat rows" if layout else _described(names)
    return InputError(
        f"no test run: expected {_EXPECTED}; found {found}",
        where=where,
        fix="nights score chat rows (monitoring.source), and aqb score does without --rubric"
        if layout
        else "check the header line: it must be the first row, without a title above it; or "
        + _how_to_name('"질의" = "Question"')
        + "; for chat rows, choose their rubric with --rubric: it names what is missing",
        ko="챗봇 대화의 표이고 테스트 런이 아닙니다. 테스트 런은 실행이나 질의마다 한 행인 표입니다. "
        "대화는 야간 실행이 채점하니 운영 담당자에게 전하세요."
        if layout
        else "테스트 런의 열 이름이 없습니다. 실행마다 한 행인 표(Query ID, 방/반복, Raw JSON)나 질의마다 한 행인 "
        f"표(ID, 질의, 1차 답변)여야 합니다. {_described_ko(names)} 열 이름은 첫 줄에 있어야 하니, "
        f"그 위의 제목 줄은 지우세요. {_NAMED_OTHERWISE}",
    )


def _how_to_name(example: str) -> str:
    return f"say in aqb.toml under [test_runs.columns] what columns are called here: {example}"


def _known_and_others(names: tuple[str, ...]) -> tuple[str, int]:
    """The known columns by name; the others are only counted, because they may be the first row of a table."""
    known = [name for name in names if is_read(name)]
    return ", ".join(known), sum(map(bool, names)) - len(known)


def _described_ko(names: tuple[str, ...]) -> str:
    known, others = _known_and_others(names)
    return f"찾은 열: {known or '없음'}. 이름을 모르는 열: {others:,}개."


def _described(names: tuple[str, ...]) -> str:
    known, others = _known_and_others(names)
    unknown = f"{counted(others, 'column')} {'has' if others == 1 else 'have'} another name or none"
    return f"{known or 'no known column'}; {unknown}"
