"""The reference page of the columns of test runs, generated from the headers that are read."""

from collections.abc import Iterable, Mapping, Sequence

from scoring.testruns.column_names import FIELDS, OF_ROUND, OF_SINGLE_RUN, RECORDED
from scoring.testruns.detection import Layout

_MEANINGS = {
    "run_id": "the run. A second row of one run, query and round is rejected",
    "item_id": "the row's id in the team's tool; kept",
    "query_id": "the query. Rows of one id are its executions; an empty id gets the row's number",
    "query_text": "what the agent was asked",
    "category": "the kind of query; comparisons and reports name it, rubric files can use it",
    "track": "the track of the query; kept, and rubric files can use it",
    "run_type": "the kind of run: `전문가` is the expert flow, which is reported apart. Else the file's name tells it",
    "executed_at": "when it was asked; runs of one test set are put in this order",
    "agent_type": "the agent: `이동` (move), `실행` (plan), `지원자 관리` (applicant management); else the name of the "
    "file, or `--agent-type`",
    "expected_text": "what is expected: a checklist, `@check` lines, or a text for the judge",
    "criteria_json": "checks as JSON: `path`, `op`, `value`, `weight`",
    "checked_path": "with `기대값`: a check that the value at this path of the Raw JSON contains it",
    "checked_value": "the value for `검증 필드`",
    "expected_filters": "filters that the agent should set",
    "expected_datakeys": "data keys that the agent should offer",
    "expected_url": "the page that the agent should lead to",
    "ground_truth": "the true numbers, counted in the team's own system",
    "latency_class": "`SINGLE` or `MULTI`: which limits of response time apply",
    "ttft_s": "seconds until the first token. A time that stands once per row counts once",
    "tool_call_count": "how many tools the agent called",
    "round": "`room/repeat`, such as `2/1`: a room is a chat session of its own",
    "repeat": "the round of the row: `2`, `2차` or `2/1`. With several numbered answers it is the repeat of each room",
    "raw_json": "what the agent returned, as JSON. Without it the answer is the whole response",
    "answer_text": "the answer in words",
    "error": "what went wrong; any text but 'nothing went wrong' means that the execution failed",
    "status": "`SUCCESS`, `성공`, ... or that it failed",
    "latency_ms": "response time in milliseconds, unless the Raw JSON has it",
    "answer_time_s": "response time in seconds, unless the Raw JSON has it",
    "button_url": "the page that the answer leads to, unless the Raw JSON has it",
    "detected_filters": "the filters that the agent set, unless the Raw JSON has them",
    "used_datakeys": "the data keys that the agent used, unless the Raw JSON has them",
    "recorded_score": "an earlier judge's points, compared with ours",
}


def testrun_columns_page() -> str:
    """Every header that is read of a test run, by layout."""
    long, wide = FIELDS[Layout.LONG], FIELDS[Layout.WIDE]
    both = {field: headers for field, headers in long.items() if wide.get(field) == headers}
    recorded = ", ".join(f"`{header}`" for header in RECORDED)
    return f"""# Columns of test runs

Generated from the code by `make docs`.
Case, full width and blanks of a header do not matter (`1차답변`, `GROUND_TRUTH`). Other columns are kept in the file,
but not read. Columns that your files call otherwise are named in `aqb.toml`, for example:

```toml
[test_runs.columns]
"질의" = "Question"
"N차 답변" = "Answer {{n}}"
```

Empty cells, `nan`, `None` and `-` are missing values. There are three layouts; the headers tell them apart:

| layout | it has | a row is |
|---|---|---|
| [numbered answers](#numbered-answers) | an id, `질의`, and `1차 답변` or `1차 답변 raw` | a query with its rounds |
| [plain answers](#plain-answers) | an id, `질의` and `응답` | an execution; `회차` is its round, 1 without it |
| [Raw JSON](#raw-json) | `Query ID`, `방/반복` and `Raw JSON` | an execution |

## In every layout

{_table(both)}
| {recorded} | an earlier tool's points by metric, compared with ours |

## Numbered answers

`N` is the number of the room, from 1. A round whose cells are all empty was not run. In a table with one room, `오류`
or `에러` without a number is its error; with several it is only kept.

{_table(_without(wide, both))}
{_rows(_by_field(OF_ROUND, "N차 "))}

## Plain answers

{_table(_without(wide, both))}
{_rows(_by_field(OF_SINGLE_RUN))}

## Raw JSON

{_table(_without(long, both))}
"""


def _without(fields: Mapping[str, Sequence[str]], others: Iterable[str]) -> dict[str, Sequence[str]]:
    return {field: headers for field, headers in fields.items() if field not in others}


def _by_field(fields: Mapping[str, str], prefix: str = "") -> dict[str, list[str]]:
    """Field -> its headers."""
    found: dict[str, list[str]] = {}
    for header, field in fields.items():
        found.setdefault(field, []).append(prefix + header)
    return found


def _table(fields: Mapping[str, Sequence[str]]) -> str:
    return f"| column | what |\n|---|---|\n{_rows(fields)}"


def _rows(fields: Mapping[str, Sequence[str]]) -> str:
    named = {field: ", ".join(f"`{header}`" for header in headers) for field, headers in fields.items()}
    return "\n".join(f"| {headers} | {_MEANINGS[field]} |" for field, headers in named.items())
