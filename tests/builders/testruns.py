"""Made test-run files and a toy rubric, for tests of what reads, scores and writes them."""

import csv
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import openpyxl
import pytest

import scoring.rubrics
from scoring import catalog
from scoring.testruns.executions import Execution
from scoring.testruns.testrun import TestRunFile

LONG_HEADER = [
    "Run ID",
    "Item ID",
    "Query ID",
    "질의",
    "기대결과",
    "방/반복",
    "오류",
    "LLM 점수",
    "latency_ms",
    "Raw JSON",
]
WIDE_HEADER = [
    *("ID", "질의", "기대 필터", "정답 수치", "1차 답변", "1차 답변 시간(초)", "1차 답변 raw", "1차 응답 상태"),
    *("2차 답변", "2차 답변 시간(초)", "2차 답변 raw", "2차 응답 상태", "비고"),
]

# Scores the length of the answer against an option, and asks a judge about every answer.
TOY = """
from __future__ import annotations
from dataclasses import dataclass
from collections import Counter
import pyarrow as pa
from scoring.judging.requests import JudgeRequest, QuestionKind, verdict_of
from scoring.testruns.rubric import Metric, Option, TestRunRubric, TestRunSummary, Score, ScoredExecution, ScoredQuery
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import LatencyClass, parse_execution
from scoring.testruns.page_parts import PageParts, PageTable
from scoring.testruns.query_columns import ROUNDS, QueryColumn, score_column
from scoring.testruns.summaries import distributions, query_means, round_means

@dataclass(frozen=True, kw_only=True)
class ToyExecution(ScoredExecution):
    letters: int

@dataclass(frozen=True, kw_only=True)
class ToySummary(TestRunSummary):
    longest: int

def request(execution):
    return JudgeRequest("toy", QuestionKind.INTENT, {"answer": parse_execution(execution).response.assistant_message})

def scored(execution, options, verdicts):
    reading = parse_execution(execution)
    length = len(reading.response.assistant_message)
    verdict = verdict_of(request(execution), verdicts)
    liked = verdict.answer["points"] if verdict.given else None
    scores = {
        "length": Score(5 if length >= int(options["long"]) else 0, f"=답변 {length}자"),
        "liked": Score(liked, verdict.status.value, "" if verdict.given else verdict.status.value),
    }
    return ToyExecution(
        execution, bool(reading.failure), bool(reading.emptiness), reading.latency_s, LatencyClass.SINGLE, scores,
        letters=length,
    )

def score_query(executions, options, verdicts):
    first = executions[0]
    every = tuple(scored(execution, options, verdicts) for execution in executions)
    return ScoredQuery(first.query_id, first.query_text, first.agent_type, every, query_means(every, ["length"]))

def summarise(queries, options):
    names = ["length", "liked"]
    rounds = round_means(queries, names)
    missing = Counter(score.missing for query in queries for one in query.executions for score in one.scores.values())
    quality = {"missing": {code: count for code, count in sorted(missing.items()) if code}}
    return ToySummary(
        rounds, rounds.get("1/1", {}), distributions(queries, names), quality,
        longest=max(one.letters for query in queries for one in query.executions),
    )

def page_parts(summary):
    rows = [[f"{summary['longest']}자"]]
    return PageParts("장난감의 알림", tables=[PageTable("가장 긴 답변의 길이", ["길이"], rows, "longest", "긴 답변")])

RUBRIC = TestRunRubric(
    id="toy", version="3", title="장난감", summary="답변의 길이", needs_agent_type=False,
    metrics=(Metric("length", "길이"), Metric("liked", "호감")),
    own_columns=(pa.field("letters", pa.int64()),),
    query_columns=(
        QueryColumn("query_id", pa.string(), ""), QueryColumn("query_text", pa.string(), ""), ROUNDS,
        score_column("length", ""),
    ),
    requests=lambda executions, options: [request(execution) for execution in executions],
    score_query=score_query,
    recognition=Recognition(columns=frozenset({"장난감 열"})),
    page_parts=page_parts,
    query_json=lambda query: {"query_id": query.query_id},
    summarise=summarise,
    report_values=lambda queries, summary, options: {},
    package=__name__,
    options=(Option("long", "5", "[0-9]+", "how long a long answer is", "긴 답변의 길이"),),
)
"""


@contextmanager
def toy_rubric(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A fifth rubric `toy` in a folder of its own, which nothing that exists has to know."""
    package = folder / "toy_rubric"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TOY, encoding="utf-8")
    (package / "report.md").write_text("# {{ name }}\n", encoding="utf-8")
    monkeypatch.setattr(scoring.rubrics, "__path__", [*scoring.rubrics.__path__, str(folder)])
    catalog.rubrics.cache_clear()
    try:
        yield
    finally:
        catalog.rubrics.cache_clear()


def raw(message: str = "네, 준비했어요.", took_s: float | None = 3.0, **more: Any) -> str:
    """A Raw JSON cell."""
    document = {"assistantMessage": message, "dataUIList": [], **more}
    return json.dumps(document | ({} if took_s is None else {"responseTimeSec": took_s}), ensure_ascii=False)


def long_row(query_id: str = "Q1", round_: str = "1/1", **cells: str) -> list[str]:
    """A row of `LONG_HEADER`; `cells` by header."""
    values = {
        "Run ID": "R",
        "Query ID": query_id,
        "질의": "평가기간 바꿔줘",
        "방/반복": round_,
        "Raw JSON": raw(),
    } | cells
    return [values.get(name, "") for name in LONG_HEADER]


def crowded_rows(executions: int, *, slowest_s: float = 10.0) -> list[list[str]]:
    """A header and rows in two rounds that took 8 to 10 seconds each but for one; ids are UUIDs, half of them fail."""
    rows = [LONG_HEADER]
    for place in range(executions):
        query, room = divmod(place, 2)
        took_s = slowest_s if place == 0 else 8 + 2 * (place * 37 % executions) / executions
        offer = {"uiValue": {"formType": "ACTION" if query % 2 else "SELECT"}}
        cells = {
            "질의": f"평가기간을 {query}일로 바꾸고 서류 평가 화면에서 지원자 사진을 가려줘",
            "기대결과": 'dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가',
            "Raw JSON": raw("평가기간을 바꿀 수 있어요. " * 20, took_s, dataUIList=[offer]),
        }
        rows.append(long_row(str(UUID(int=query)), f"{room + 1}/1", **cells))
    return rows


def wide_row(query_id: str = "A1", **cells: str) -> list[str]:
    """A row of `WIDE_HEADER` with two rounds; `cells` by header."""
    values = {
        "ID": query_id,
        "질의": "몇 명이야?",
        "1차 답변": "12명",
        "1차 답변 시간(초)": "7.6",
        "2차 답변": "12명",
    } | cells
    return [values.get(name, "") for name in WIDE_HEADER]


def write_csv(
    path: Path, rows: Sequence[Sequence[str]], *, encoding: str = "utf-8", delimiter: str = ",", end: str = "\r\n"
) -> Path:
    """A delimited file."""
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    return path


def write_xlsx(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Path:
    """A workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def changed_xlsx(path: Path, old: bytes, new: bytes, part: str = "xl/worksheets/sheet1.xml") -> Path:
    """A workbook of one test run with another text in the XML of a part."""
    whole = write_xlsx(path.with_name("whole.xlsx"), {"s": [WIDE_HEADER, wide_row(), wide_row("A2")]})
    with zipfile.ZipFile(whole) as given, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        for entry in given.infolist():
            content = given.read(entry)
            assert entry.filename != part or old in content
            written.writestr(entry, content.replace(old, new) if entry.filename == part else content)
    return path


def executions(run: TestRunFile) -> list[Execution]:
    """Those of all queries of a file."""
    return [execution for executions in run.queries.values() for execution in executions]
