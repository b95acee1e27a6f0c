"""The columns of a test run that another tool wrote, and how what it holds becomes their cells. Source: SPEC 13."""

import json

EXPORT_COLUMNS = (
    *("Query ID", "방/반복", "질의", "카테고리", "실행시각", "Raw JSON", "응답", "오류", "latency_ms", "기대결과"),
)
"""The answer stands in `응답`, so `Raw JSON` is blank."""


def export_cell(value: object) -> str:
    """A value as a cell; what is no text as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
