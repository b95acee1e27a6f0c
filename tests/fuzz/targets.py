"""What is fuzzed: the command on damaged files, the judge and Slack on damaged replies, settings and rubric files.

`KINDS` holds a function a kind: it builds a case, runs it in the current folder, and says what became of it. It raises
where the product does not keep its word: an unexpected error, rows that are neither scored nor excluded nor rejected,
a report that a terminal would obey, a workbook that does not open, a judge that is paid for answering.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import random
import re
import sys
import threading
import unicodedata
import zipfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.dom.minidom import parseString

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

from flows.cli import main
from scoring.alerting.messages import OutboxMessage
from scoring.errors import AqbError
from tasks.alerts.channels.slack import SlackBot, SlackWebhook
from tasks.config.settings import load_settings
from tasks.files.excel import no_formula
from tests.fakes.local_server import LocalServer, Request
from tests.fuzz.mutations import (
    Rows,
    delimited,
    mutated_bytes,
    mutated_json,
    mutated_lines,
    mutated_parquet,
    mutated_rows,
    mutated_text,
    mutated_workbook,
)
from tests.fuzz.rubric_files import run_rubric

_ROOT = Path(__file__).parents[2]
_INBOX = _ROOT / "tasks/samples/inbox"
_EXPORTS = _ROOT / "tests/exports"
_ROWS = 8
_TESTRUN_RUBRICS = ("", "", "plan-agent", "recruit-agent", "aqb-1.2")
_USD = 0.01


def run_csv(draw: random.Random) -> str:
    """A test run as CSV, in either layout."""
    name, rows = draw.choice(_tables())
    path = Path(f"{name}.csv")
    path.write_bytes(delimited(mutated_rows(rows, draw), draw, ","))
    return scored(path, draw.choice(_TESTRUN_RUBRICS))


def run_tsv(draw: random.Random) -> str:
    """Chat rows or a test run as TSV."""
    name, rows = draw.choice((*_tables(), ("chat", _chat_table())))
    path = Path(f"{name}.tsv")
    path.write_bytes(delimited(mutated_rows(rows, draw), draw, "\t"))
    return scored(path, "ola-monitoring" if name == "chat" else draw.choice(_TESTRUN_RUBRICS))


def run_xlsx(draw: random.Random) -> str:
    """A test run as a workbook."""
    path = Path("resume_agent_sample.xlsx")
    if draw.random() < 0.5:
        path.write_bytes(mutated_workbook(_workbook(), draw))
    else:
        name, rows = draw.choice(_tables())
        path = Path(f"{name}.xlsx")
        _write_sheets(path, mutated_rows(rows, draw), draw)
    return scored(path, draw.choice(_TESTRUN_RUBRICS))


def run_jsonl(draw: random.Random) -> str:
    """Chat rows as JSON Lines."""
    path = Path("chat.jsonl")
    rows = json.loads(_chat_rows().with_columns(pl.col("timestamp").cast(pl.String)).write_json())
    data = mutated_lines(rows, draw)
    path.write_bytes(data)
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    return scored(path, "ola-monitoring", sum(bool(line.strip()) for line in lines))


def run_export(draw: random.Random) -> str:
    """What another tool exported."""
    export = draw.choice(sorted(_EXPORTS.glob("*.jsonl")))
    path = Path(export.name)
    path.write_bytes(mutated_lines(list(map(json.loads, export.read_text(encoding="utf-8").splitlines())), draw))
    Path("aqb.toml").write_text(f'monitoring.format = "{export.stem}"', encoding="utf-8")
    return scored(path, "ola-monitoring")


def run_parquet(draw: random.Random) -> str:
    """Chat rows as Parquet."""
    path = Path("chat.parquet")
    path.write_bytes(mutated_parquet(_chat_rows(), draw))
    try:
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        rows = None
    return scored(path, "ola-monitoring", rows)


def _write_sheets(path: Path, rows: Rows, draw: random.Random) -> None:
    """A workbook of one or more sheets of texts and numbers; some texts are formulas without a value."""
    with xlsxwriter.Workbook(path) as book:
        for _ in range(draw.choice((1, 1, 1, 2))):
            sheet = book.add_worksheet()
            for line, row in enumerate(rows):
                for place, cell in enumerate(row):
                    match draw.randrange(20):
                        case 0:
                            sheet.write_number(line, place, draw.choice((0, -1.5, 1e300, 45_000.25)))
                        case 1:
                            sheet.write_formula(line, place, "=1+1", None, draw.choice(("", 2, "#N/A")))
                        case _:
                            sheet.write_string(line, place, cell[:32_000])


def scored(path: Path, rubric: str, rows: int | None = None) -> str:
    """Runs `aqb score` on a file and checks what it wrote; `rows` is how many it holds, where that is known."""
    out = Path("out")
    arguments = ["aqb", "score", str(path), "--out", str(out), *(["--rubric", rubric] if rubric else [])]
    said, complained = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", arguments), redirect_stdout(said), redirect_stderr(complained):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    shown = said.getvalue() + complained.getvalue()
    shown.encode()
    assert "a defect of AQB" not in shown, shown
    assert not re.search("[\x1b\x9b\x00]", shown), "the terminal would obey it"
    assert code in (0, 1, 2)
    if not (out / "summary.json").exists():
        assert code, "nothing was written and nothing was said"
        assert "error" in complained.getvalue()
        return "refused"
    _check_folder(out, code, rows)
    return "scored"


def _check_folder(out: Path, code: int, rows_in_file: int | None) -> None:
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    counts = summary["counts"]
    assert summary["data_quality"].get("failed_files") or rows_in_file in (None, counts["rows_in"]), counts
    assert counts["rows_in"] == counts["scored"] + counts["excluded"] + counts["rejected"], counts
    assert code == 1 or not counts["rejected"], "rows were rejected and the exit code is 0"
    assert pl.read_parquet(out / "rejected.parquet").height == counts["rejected"]
    report = (out / "report.md").read_text(encoding="utf-8")
    assert {sign for sign in report if unicodedata.category(sign) in ("Cc", "Cs")} <= {"\n"}
    if (out / "excluded.parquet").exists():
        assert pl.read_parquet(out / "scores.parquet").height == counts["scored"]
        assert pl.read_parquet(out / "excluded.parquet").height == counts["excluded"]
    if (out / "review.csv").exists():
        rows = csv.reader(io.StringIO((out / "review.csv").read_text(encoding="utf-8-sig"), newline=""))
        assert all(_is_number(cell) or no_formula(cell) == cell for row in rows for cell in row)
    if (out / "scores.xlsx").exists():
        with zipfile.ZipFile(out / "scores.xlsx") as package:
            for name in package.namelist():
                if "/aqb" in name:
                    parseString(package.read(name))  # the tabs that are ours


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"-?[0-9.]+", cell) is not None


def run_settings(draw: random.Random) -> str:
    """The settings, as a person edits them."""
    text = (_ROOT / "deployments/aqb.toml").read_text(encoding="utf-8")
    lines = text.splitlines()
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(lines))
        name, equals, _ = lines[at].partition("=")
        if equals and draw.random() < 0.6:
            value = mutated_json(draw.choice((1, "x", ["a"], {"a": 1}, True)), draw)
            lines[at] = f"{name}= {json.dumps(value) if draw.random() < 0.8 else value!s}"
        else:
            lines[at] = mutated_text(lines[at], draw)
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    Path("aqb.toml").write_bytes(mutated_bytes(data, draw) if draw.random() < 0.2 else data)
    try:
        load_settings()
    except AqbError as error:
        str(error).encode()
        return "refused"
    return "read"


def run_judge(draw: random.Random) -> str:
    """The judge, whose endpoint answers anything, also of what the answer has cost."""
    from tasks.judge.verdict_store import VerdictStore
    from tests.builders.state import opened
    from tests.fakes.judge_questions import ask, settings_for
    from tests.fakes.openai_answers import chat_reply, text_for, usage_of

    def reply(body: bytes) -> bytes:
        request = json.loads(body)
        text = text_for(request)
        text = mutated_text(text, draw) if draw.random() < 0.5 else text
        whole = chat_reply(request, text, draw.choice(("", "", "refused", "cut")), usage_of(request, text))
        changed = json.dumps(mutated_json(whole, draw)).encode()
        return mutated_bytes(changed, draw) if draw.random() < 0.2 else changed

    with _Anything(reply, draw, errors=0.1) as server, opened(VerdictStore, "sqlite:///state.db") as store:
        try:
            judged = ask(3, settings_for(f"{server.url}/v1", max_usd=_USD), store)
        except AqbError as error:
            str(error).encode()
            return "refused"
    assert (judged.summary()["cost"] or 0) >= 0
    json.dumps(judged.summary(), ensure_ascii=False, allow_nan=False).encode()
    return ", ".join(sorted({verdict.status for verdict in judged.verdicts.values()}))


def run_slack(draw: random.Random) -> str:
    """A message to Slack, whose receiver answers anything."""
    from tests.tasks.alerts.conftest import NIGHT, message

    one = message("a")
    sent = OutboxMessage(1, "qa", one.kind, one.level, "", one.text, one.blocks, NIGHT)
    answers: tuple[Any, ...] = (b"ok", {"ok": True, "ts": "1.2"}, {"ok": False, "error": "ratelimited"})
    found = {"ok": True, "messages": [{"ts": "1", "metadata": {"event_payload": {"id": "1"}}}], "has_more": True}

    def reply(body: bytes) -> bytes:
        answer = draw.choice((*answers, found))
        data = answer if isinstance(answer, bytes) else json.dumps(mutated_json(answer, draw)).encode()
        return mutated_bytes(data, draw) if draw.random() < 0.4 else data

    with _Anything(reply, draw, errors=0.3) as server:
        if draw.random() < 0.5:
            webhook = SlackWebhook(f"{server.url}/services/T/B/x")
            delivery = replace(webhook, post=replace(webhook.post, timeout_s=1, sleep=lambda _: None)).send(sent)
        else:
            bot = SlackBot("xoxb-1", "C1", f"{server.url}/api/")
            unsure = replace(sent, unsure_since=NIGHT) if draw.random() < 0.5 else sent
            delivery = replace(bot, post=replace(bot.post, timeout_s=1, sleep=lambda _: None)).send(unsure)
    (delivery.error or "").encode()
    return delivery.status.name


class _Anything(LocalServer):
    """Answers every request with `reply` of its body; some answers have another status or are cut."""

    def __init__(self, reply: Callable[[bytes], bytes], draw: random.Random, errors: float) -> None:
        self._reply, self._draw, self._errors = reply, draw, errors
        self._lock = threading.Lock()

    def answer(self, request: Request) -> None:
        with self._lock:
            answer = self._reply(request.body)
            wrong = self._draw.random() < self._errors
            status = self._draw.choice((400, 404, 429, 500, 302, 307, 204)) if wrong else 200
            cut = self._draw.random() < self._errors / 3
        headers = {
            "Content-Length": str(len(answer)),
            "Content-Type": "application/json",
            "Retry-After": "0",
            "Location": "http://127.0.0.1:1/",
            "Connection": "close",
        }
        request.reply(status, answer[: len(answer) // 2] if cut else answer, headers)


@cache
def _tables() -> Sequence[tuple[str, Rows]]:
    """The header and the first rows of each sample, by the name of its file."""
    found = []
    for path in sorted(_INBOX.glob("*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            found.append((path.stem, list(csv.reader(file))[: _ROWS + 1]))
    book = openpyxl.load_workbook(_INBOX / "resume_agent_sample.xlsx", read_only=True)
    rows = book.worksheets[0].iter_rows(max_row=_ROWS + 1, values_only=True)
    found.append(("resume_agent_sample", [["" if cell is None else str(cell) for cell in row] for row in rows]))
    return found


@cache
def _workbook() -> bytes:
    """The sample workbook with its first rows alone."""
    book = openpyxl.load_workbook(_INBOX / "resume_agent_sample.xlsx")
    for sheet in book.worksheets:
        sheet.delete_rows(_ROWS + 2, sheet.max_row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


@cache
def _chat_rows() -> pl.DataFrame:
    return pl.read_parquet(_ROOT / "tasks/samples/chat_rows.parquet").head(_ROWS * 2)


@cache
def _chat_table() -> Rows:
    frame = _chat_rows().with_columns(pl.col("timestamp").cast(pl.String))
    return [frame.columns, *([("" if cell is None else str(cell)) for cell in row] for row in frame.iter_rows())]


KINDS: dict[str, Callable[[random.Random], str]] = {
    "csv": run_csv,
    "tsv": run_tsv,
    "xlsx": run_xlsx,
    "jsonl": run_jsonl,
    "export": run_export,
    "parquet": run_parquet,
    "judge": run_judge,
    "slack": run_slack,
    "settings": run_settings,
    "rubric": run_rubric,
}
