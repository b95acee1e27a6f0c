"""Which cell of a row says what, told by the header.

Source: SPEC 2 (long and wide layout).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scoring.errors import InputError
from scoring.testruns.detection import Layout, layout_of

# Field of an execution: the headers that fill it, of which the first one with a value counts.
_ANY_LAYOUT = {
    "run_id": ("Run ID",),
    "item_id": ("Item ID",),
    "query_text": ("질의",),
    "category": ("카테고리",),
    "agent_type": ("agent_type", "에이전트 유형"),
    "expected_text": ("기대결과",),
    "criteria_json": ("LLM 평가기준",),
    "expected_filters": ("기대 필터/열", "기대 필터"),
    "expected_datakeys": ("기대 datakey",),
    "expected_url": ("기대 URL", "기대 buttonUrl"),
    "ground_truth": ("ground_truth", "검증 API 결과", "정답 수치"),
    "latency_class": ("latencyClass",),
    "ttft_s": ("ttft(초)",),
    "tool_call_count": ("도구 호출 수",),
}
_LONG = {
    "query_id": ("Query ID",),
    "round": ("방/반복",),
    "raw_json": ("Raw JSON",),
    "answer_text": ("응답",),
    "error": ("오류",),
    "latency_ms": ("latency_ms",),
    "recorded_status": ("LLM 상태",),
    "recorded_model": ("LLM 모델",),
    "recorded_score": ("LLM 점수",),
    "recorded_comment": ("LLM 코멘트",),
}
_WIDE = {"query_id": ("ID", "query_id", "질의ID", "Query ID"), "repeat": ("회차",)}
# What follows `N차 ` in a numbered column of the wide layout.
_OF_ROUND = {
    "답변": "answer_text",
    "답변 raw": "raw_json",
    "답변 시간(초)": "answer_time_s",
    "응답 상태": "status",
    "buttonUrl": "button_url",
    "감지된 필터": "detected_filters",
    "ttft(초)": "ttft_s",
}
_NUMBERED = re.compile(rf"([1-9][0-9]?)차 ({'|'.join(map(re.escape, _OF_ROUND))})")
_REQUIRED = {Layout.LONG: ("query_id", "round", "raw_json"), Layout.WIDE: ("query_id", "query_text")}
_EXPECTED = "a test run: Query ID, 방/반복, Raw JSON (one row per execution), or ID, 질의, 1차 답변 (one row per query)"
_NAMES_SHOWN = 30


@dataclass(frozen=True)
class Columns:
    """Places of cells in a row. `fields` hold for the whole row, `rounds` (wide) for one: number -> field -> place.

    `carried` are the places of columns that nobody here reads, by name. `names` are the headers.
    """

    layout: Layout
    names: tuple[str, ...]
    fields: Mapping[str, tuple[int, ...]]
    rounds: Mapping[int, Mapping[str, int]]
    carried: Mapping[str, int]


def columns_of(names: tuple[str, ...], where: str) -> Columns:
    """Places by header.

    Raises:
        InputError: no header of a test run, a required column is missing, or one that is read is there twice.
    """
    layout = layout_of(names)
    if layout is None or layout is Layout.CHAT:
        found = "chat rows" if layout else _described(names)
        raise InputError(f"no test run: expected {_EXPECTED}; found {found}", where=where, fix="check the header line")
    known = _ANY_LAYOUT | (_LONG if layout is Layout.LONG else _WIDE)
    _refuse_missing(layout, known, names, where)
    rounds: dict[int, dict[str, int]] = {}
    read = {name for headers in known.values() for name in headers}
    for place, name in enumerate(names):
        numbered = _NUMBERED.fullmatch(name) if layout is Layout.WIDE else None
        if numbered:
            read.add(name)
            rounds.setdefault(int(numbered[1]), {})[_OF_ROUND[numbered[2]]] = place
    _refuse_doubled(read, names, where)
    return Columns(
        layout=layout,
        names=names,
        fields={
            field: tuple(names.index(name) for name in headers if name in names) for field, headers in known.items()
        },
        rounds=dict(sorted(rounds.items())),
        carried=dict(_carried(read, names)),
    )


def _carried(read: set[str], names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The other columns by a name of their own: blank and doubled ones get their number."""
    for place, name in enumerate(names):
        if name not in read:
            alone = name and names.count(name) == 1
            yield (name if alone else f"{name} (열 {place + 1})".lstrip()), place


def _refuse_missing(layout: Layout, known: Mapping[str, tuple[str, ...]], names: tuple[str, ...], where: str) -> None:
    missing = [" or ".join(known[field]) for field in _REQUIRED[layout] if not set(known[field]) & set(names)]
    if missing:
        raise InputError(
            f"required columns are missing: {', '.join(missing)}; found {_described(names)}",
            where=where,
            fix="export the run again with these columns",
        )


def _refuse_doubled(read: set[str], names: tuple[str, ...], where: str) -> None:
    doubled = sorted(name for name in read if names.count(name) > 1)
    if doubled:
        raise InputError(
            f"columns are there more than once: {', '.join(doubled)}",
            where=where,
            fix="keep one column of each name: nobody can tell which one is meant",
        )


def _described(names: tuple[str, ...]) -> str:
    filled = [name[:_NAMES_SHOWN] for name in names if name]
    rest = f" and {len(filled) - _NAMES_SHOWN} more" if len(filled) > _NAMES_SHOWN else ""
    return (", ".join(filled[:_NAMES_SHOWN]) + rest) or "no names"
