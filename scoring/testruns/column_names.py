"""The columns of test runs: the headers that fill each field.

Source: SPEC 2 (long and wide layout).
"""

import re
from collections.abc import Sequence

from scoring.headers import folded_name
from scoring.stats.run_scores import TOTAL
from scoring.testruns.detection import ID_HEADERS, Layout

# Field of an execution: the headers that fill it, of which the first one with a value counts.
_ANY_LAYOUT = {
    "run_id": ("Run ID",),
    "item_id": ("Item ID",),
    "query_text": ("질의", "query"),
    "category": ("카테고리",),
    "track": ("Track",),
    "run_type": ("실행 유형",),
    "executed_at": ("실행시각", "실행 시각", "실행일시"),
    "agent_type": ("agent_type", "에이전트 유형"),
    "expected_text": ("기대결과", "LLM 판단 기준(정확도)", "LLM 판단 기준"),
    "criteria_json": ("LLM 평가기준",),
    "checked_path": ("검증 필드",),
    "checked_value": ("기대값",),
    "expected_filters": ("기대 필터/열", "기대 필터", "expected_filters"),
    "expected_datakeys": ("기대 datakey",),
    "expected_url": ("기대 URL", "기대 buttonUrl"),
    "ground_truth": ("ground_truth", "검증 API 결과", "정답 수치", "ground truth", "gt"),
    "latency_class": ("latencyClass",),
    "ttft_s": ("ttft(초)", "ttft", "ttft_sec", "첫 응답 시간(초)"),
    "tool_call_count": ("도구 호출 수", "tool_calls"),
}
FIELDS = {
    Layout.LONG: _ANY_LAYOUT
    | {
        "query_id": ("Query ID",),
        "round": ("방/반복",),
        "raw_json": ("Raw JSON",),
        "answer_text": ("응답",),
        "error": ("오류", "에러"),
        "latency_ms": ("latency_ms",),
        "recorded_score": ("LLM 점수",),
    },
    Layout.WIDE: _ANY_LAYOUT | {"query_id": ID_HEADERS, "repeat": ("회차", "방/반복")},
}
EXPECTATIONS = frozenset(
    header
    for field in (
        *("expected_text", "criteria_json", "expected_filters", "expected_datakeys", "expected_url", "ground_truth"),
        *("checked_path", "checked_value"),
    )
    for header in _ANY_LAYOUT[field]
)
"""The headers of expected results."""
# What follows `N차 ` in a numbered column of the wide layout.
OF_ROUND = {
    "답변": "answer_text",
    "답변 raw": "raw_json",
    "raw": "raw_json",
    "답변 시간(초)": "answer_time_s",
    "응답 상태": "status",
    "오류": "error",
    "에러": "error",
    "buttonUrl": "button_url",
    "감지된 필터": "detected_filters",
    "detected_filterTypes": "detected_filters",
    "ttft(초)": "ttft_s",
}
# The columns of a wide row with a single run, which has no numbers.
OF_SINGLE_RUN = {
    "응답": "answer_text",
    "Raw JSON": "raw_json",
    "응답 시간(초)": "answer_time_s",
    "응답 상태": "status",
    "오류": "error",
    "에러": "error",
    "buttonUrl": "button_url",
    "감지된 필터": "detected_filters",
    "detected_filters": "detected_filters",
    "사용 datakey": "used_datakeys",
}
# Scores that an earlier tool left in the file, by our metric.
RECORDED = {
    "의도 점수": "intent",
    "의미 점수": "semantic",
    "정확도 점수": "accuracy",
    "정확성 점수": "accuracy",
    "일관성 점수": "consistency",
    "속도 점수": "speed",
    "안정성 점수": "stability",
    "총점": TOTAL,
    "종합 점수": TOTAL,
}
NUMBERED = re.compile(rf"([1-9][0-9]?)차 ({'|'.join(map(re.escape, OF_ROUND))})")
KNOWN_HEADERS = frozenset(
    {
        *(name for known in FIELDS.values() for headers in known.values() for name in headers),
        *OF_SINGLE_RUN,
        *RECORDED,
        *(f"N차 {name}" for name in OF_ROUND),
    }
)
"""All headers that are read, with `N차` for any number."""
_FIELD_OF = {
    **RECORDED,
    **OF_SINGLE_RUN,
    **{header: field for known in FIELDS.values() for field, headers in known.items() for header in headers},
}
_BY_FOLDED_NAME = {folded_name(name): name for name in sorted(KNOWN_HEADERS, reverse=True)}
_NUMBER = re.compile(r"([1-9][0-9]?)회?차")


def is_read(name: str) -> bool:
    """Whether a header is read; columns with other headers are only kept in the file."""
    return name in KNOWN_HEADERS or NUMBERED.fullmatch(name) is not None


def our_headers(names: Sequence[str]) -> tuple[str, ...]:
    """Maps the headers of a file to our names, regardless of case, width and blanks (`1차답변`, `GROUND_TRUTH`).

    If the file has exactly one of our names for a field, a similar name for the same field is ignored: `id` next to
    `query_id` is a column of the file's database. `1회차 답변` is `1차 답변`.
    """
    as_we_write = {_field(name) for name in names if is_read(name)}

    def ours(name: str) -> str:
        known = name if is_read(name) else _known(folded_name(name)) or name
        return known if known in names or _field(known) not in as_we_write else name

    return tuple(map(ours, names))


def _known(folded: str) -> str | None:
    if number := _NUMBER.match(folded):
        known = _BY_FOLDED_NAME.get(f"n차{folded[number.end() :]}")
        return known and known.replace("N차", f"{number[1]}차", 1)
    return _BY_FOLDED_NAME.get(folded)


def _field(header: str) -> str:
    """The field of a header, with the number of a numbered column."""
    numbered = NUMBERED.fullmatch(header)
    return f"{numbered[1]} {OF_ROUND[numbered[2]]}" if numbered else _FIELD_OF.get(header, "")
