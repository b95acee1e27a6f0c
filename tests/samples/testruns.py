"""Synthetic test runs of the three recruiting agents, with the failures that real ones have.

Everything is invented: questions, answers, applicants and figures. `python -m tests.samples.testruns` rewrites the
files in `inbox`. The cells are a pure function of the code, in every Python version.
"""

import csv
import io
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import xlsxwriter

from tasks.files.atomic import replacing, write_text
from tasks.samples import SAMPLE_INBOX
from tests.samples.draws import between, stream
from tests.samples.run_questions import APPLICANT_QUESTIONS, MOVE_QUESTIONS, PLAN_QUESTIONS, ApplicantQuestion

PLAN_SAMPLE: Final = "plan_agent_sample.csv"
APPLICANT_SAMPLE: Final = "resume_agent_sample.xlsx"
MOVE_SAMPLE: Final = "url_agent_sample.csv"

ROOMS: Final = 3
_STARTED: Final = datetime(2026, 3, 12, 1, 0, tzinfo=UTC)
_RUN_ID: Final = "sample-run-1"
_TIMEOUT: Final = "요청 시간이 초과되었습니다"
_GRID: Final = "/agent/integrated-grid/applicant?viewMode=RECRUIT_NOTICE"

Rows = list[list[Any]]


def plan_rows() -> Rows:
    """The long layout: a header, then a row per question and room; two rooms."""
    header = ["Run ID", "Item ID", "Ordinal", "Query ID", "질의", "기대결과", "카테고리", "방/반복", "실행시각", "응답"]
    header += ["오류", "LLM 상태", "LLM 모델", "LLM 점수", "LLM 코멘트", "Raw JSON"]
    rows: Rows = [header]
    at = _STARTED
    for room in (1, 2):
        for ordinal, question in enumerate(PLAN_QUESTIONS, start=1):
            rng = stream(f"plan/{room}/{ordinal}")
            took = between(rng, *question.latency_ms) / 1000
            outcome = question.outcomes[room - 1]
            entries = question.entries if outcome == "right" else question.wrong_entries
            error = _TIMEOUT if outcome == "error" else ""
            message = "" if outcome in ("error", "empty") else question.message
            raw = _raw(message, [] if not message else entries, took, "RECRUIT_PLAN_WORKER", error)
            item = f"item-{room}{ordinal:02}"
            at += timedelta(seconds=took + 1)
            rows.append(
                [_RUN_ID, item, ordinal, f"PL-{ordinal:02}", question.text, question.expected, question.category]
            )
            rows[-1] += [f"{room}/1", at.isoformat(), message, error, "", "", "", "", raw]
    return rows


def applicant_rows() -> Rows:
    """The wide layout: a header, then a row per question with three rooms, expected filters and the right figures."""
    rows: Rows = [
        ["ID", "Track", "카테고리", "질의", "기대 필터/열", "정답 수치", *_room_headers(), "ttft(초)", "특이사항"]
    ]
    for number, question in enumerate(APPLICANT_QUESTIONS, start=1):
        rng = stream(f"applicant/{number}")
        cells = [cell for room in range(ROOMS) for cell in _applicant_room(rng, question, room)]
        first = [f"AM-{number:02}", "Track 1", question.category, question.text, question.expected, question.truth]
        rows.append([*first, *cells, between(rng, 4, 13) / 10, question.remark])
    return rows


def move_rows() -> Rows:
    """The wide layout for the agent that moves people to a page: expected data keys, links as answers."""
    rows: Rows = [["ID", "카테고리", "질의", "기대 datakey", "기대 URL", *_room_headers()]]
    for number, question in enumerate(MOVE_QUESTIONS, start=1):
        rng = stream(f"move/{number}")
        cells: list[Any] = []
        for links in question.links:
            took = between(rng, *question.latency_ms) / 1000
            urls = [f"{path}?dataKey={key}" if key else path for path, key in links]
            entries = [_link(question.text, url) for url in urls]
            message = "아래 화면에서 바로 확인하실 수 있어요." if links else ""
            raw = _raw(message, entries, took, "RECRUIT_MOVE_WORKER", "")
            cells += [message, took, raw, "정상" if links else "에러", urls[0] if urls else "", ""]
        rows.append([f"MV-{number:02}", question.category, question.text, question.datakey, question.url, *cells])
    return rows


def write_samples(folder: Path) -> None:
    """Writes the three files into `folder`."""
    # The byte-order mark makes Excel read the Korean texts as UTF-8.
    write_text(folder / PLAN_SAMPLE, "\ufeff" + _csv_text(plan_rows()))
    write_text(folder / MOVE_SAMPLE, "\ufeff" + _csv_text(move_rows()))
    _write_workbook(folder / APPLICANT_SAMPLE, applicant_rows())


def _room_headers() -> Iterator[str]:
    for room in range(1, ROOMS + 1):
        for name in ("답변", "답변 시간(초)", "답변 raw", "응답 상태", "buttonUrl", "감지된 필터"):
            yield f"{room}차 {name}"


def _applicant_room(rng: random.Random, question: ApplicantQuestion, room: int) -> list[Any]:
    answer = question.answers[room]
    took = between(rng, *question.latency_ms) / 1000
    if answer is None:
        raw = _raw("", [], took, "RESUME_WORKER", _TIMEOUT)
        return ["", took, raw, "에러", "", ""]
    filters = ["RESUME_PERIOD", *question.used[room]]
    condition = json.dumps([{"filterType": name} for name in filters], separators=(",", ":"))
    url = f"{_GRID}&condition={quote(condition)}"
    raw = _raw(answer, [_link("지원자 관리", url)], took, "RESUME_WORKER", "")
    return [answer, took, raw, "정상", url, ",".join(filters)]


def _raw(message: str, entries: Sequence[dict[str, Any]], took_s: float, worker: str, error: str) -> str:
    document: dict[str, Any] = {
        "assistantMessage": message,
        "dataUIList": list(entries),
        "guideList": [],
        "executionProcesses": [{"workerType": worker, "ms": round(took_s * 900), "index": 0}],
        "responseTimeSec": took_s,
    }
    if error:
        document["error"] = error
    return json.dumps(document, ensure_ascii=False)


def _link(description: str, url: str) -> dict[str, Any]:
    value = {"formType": "LINK", "message": description, "buttonName": "이동하기", "buttonUrl": url}
    return {"uiDescription": description, "uiValue": value}


def _csv_text(rows: Rows) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def _write_workbook(path: Path, rows: Rows) -> None:
    """A workbook as a tester keeps it: the run, a page of notes with a formula, and a hidden page."""
    with replacing(path) as file, xlsxwriter.Workbook(file, {"strings_to_formulas": False}) as book:
        book.set_properties({"created": _STARTED.replace(tzinfo=None), "title": "지원자 관리 에이전트 테스트(예시)"})
        bold = book.add_format({"bold": True, "bg_color": "#DDE6F3", "text_wrap": True})
        run = book.add_worksheet("테스트 결과")
        for line, row in enumerate(rows):
            run.write_row(line, 0, row, bold if line == 0 else None)
        run.set_column(0, 2, 14)
        run.set_column(3, 3, 44)
        run.set_column(4, len(rows[0]), 18)
        run.freeze_panes(1, 4)
        notes = book.add_worksheet("메모")
        notes.merge_range("A1:C1", "실행 메모", bold)
        notes.write_row(1, 0, ["문항 수", "", "비고"])
        notes.write_formula(1, 1, "=COUNTA('테스트 결과'!A:A)-1", None, len(rows) - 1)
        book.add_worksheet("이전 실행").hide()


if __name__ == "__main__":
    write_samples(SAMPLE_INBOX)
