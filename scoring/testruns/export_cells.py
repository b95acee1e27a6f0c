"""The columns of a test run from another tool, and the conversion of its values to cells. Source: SPEC 13."""

import json

EXPORT_COLUMNS = (
    *("Query ID", "방/반복", "질의", "카테고리", "실행시각", "Raw JSON", "응답", "오류", "latency_ms", "기대결과"),
)
"""The answer is in `응답`, so `Raw JSON` is blank."""


def export_cell(value: object) -> str:
    """A value as a cell; values that are no text as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
