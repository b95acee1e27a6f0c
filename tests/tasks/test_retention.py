"""What is taken away goes for good, and nothing else goes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from scoring.alerting.blocks import bold, paragraph
from scoring.alerting.facts import AlertFact
from scoring.alerting.growth import TEMPLATE, Grown
from scoring.alerting.growth_wording import template_name
from scoring.alerting.messages import Message
from scoring.alerting.watch import AlertPolicy
from scoring.chat.periods import week_of
from scoring.errors import StorageError
from scoring.judging.masking import masked
from scoring.judging.requests import VerdictStatus
from scoring.markdown import cell
from scoring.rules.arrow_types import empty_frame
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.alerts.outbox import Outbox
from tasks.chat.tables import ALERTS_SCHEMA
from tasks.config.settings import MonitoringSettings, Settings
from tasks.files.report_paths import SITE_LOCK, ReportPaths
from tasks.judge.verdict_store import Judgement, VerdictStore
from tasks.reports.chat_folder import write_day_report
from tasks.retention import ERASED_CELL, erase, prune
from tasks.review.label_store import LabelStore, kept_labels
from tasks.review.labels import Label
from tasks.review.pairing import Labelled
from tasks.state.audit_log import AccessRecord, AuditLog
from tasks.state.database import StateDatabase
from tasks.state.erased_sessions import erased_sessions
from tasks.state.run_ledger import Run, RunLedger
from tasks.testruns.uploads import Uploads
from tasks.testruns.warehouse import DAY_JUDGEMENTS_SCHEMA
from tasks.waiting import begun
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import ALERTS
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.state import in_context, opened

pytestmark = pytest.mark.slow

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "제 이름은 홍길동인데 살까 | 팔까"
SECRET_ANSWER = "홍길동 고객님, 죄송합니다. 저는 법률 자문을 드릴 수 없습니다."
SESSION = "session-of-one-person"
DAYS = [DAY + timedelta(days=offset) for offset in range(3)]
DAY_MINUTES = 24 * 60


def score(settings: Settings, days: list[date]) -> None:
    """Scores days as a run does: with what it knows of erased sessions."""
    for day in days:
        source, erased = settings.monitoring.source, erased_in(settings)
        outcome, tables = write_scored_day(warehouse(settings), day, source, keep_text="all", erased=erased)
        report = ReportPaths(Path(settings.reports)).report(day)
        write_day_report(warehouse(settings), day, outcome, tables, [], report, str(day), AlertPolicy())


def erased_in(settings: Settings) -> frozenset[str]:
    with StateDatabase(settings.state_url) as state:
        return erased_sessions(state)


def warehouse(settings: Settings) -> FolderWarehouse:
    return FolderWarehouse(Path(settings.warehouse))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Three scored days; somebody's session is in the first and the last, another one everywhere."""
    rows = [
        row
        for number in range(len(DAYS))
        for row in (best(number * DAY_MINUTES), plain(number * DAY_MINUTES + 1), refused(number * DAY_MINUTES + 2))
    ]
    for number in (0, 2):
        mine = {"session_id": SESSION, "source_id": f"{SESSION}/02bc", "user_input": SECRET}
        rows.append(refused(number * DAY_MINUTES + 3, llm_response=SECRET_ANSWER, **mine))
        rows.append(plain(number * DAY_MINUTES + 4, llm_response=None, **mine))
    settings = Settings(
        warehouse=str(tmp_path / "data" / "warehouse"),
        reports=str(tmp_path / "data" / "reports"),
        state_url=f"sqlite:///{tmp_path / 'data' / 'state.db'}",
        monitoring=MonitoringSettings(source=str(write_rows(tmp_path / "source" / "a.jsonl", rows))),
    )
    score(settings, DAYS)
    return settings


def table(settings: Settings, name: str, days: list[date] | None = None) -> pl.DataFrame:
    rows = warehouse(settings).read(name, days)
    assert rows is not None
    return rows.collect()


def files(settings: Settings) -> dict[str, bytes]:
    """Every table and report by its path."""
    data = Path(settings.warehouse).parent
    paths = [path for path in data.rglob("*") if path.suffix in {".parquet", ".md", ".html"}]
    return {str(path.relative_to(data)): path.read_bytes() for path in sorted(paths)}


def everything_readable(settings: Settings) -> str:
    """All texts that somebody can find in the data folder; JSON in the database has Hangul by its numbers."""
    data = Path(settings.warehouse).parent
    tables = [str(pl.read_parquet(path).to_dicts()) for path in data.rglob("*.parquet")]
    others = [path.read_bytes().decode(errors="replace") for path in data.rglob("*") if path.is_file()]
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), "".join(tables + others))


def message(key: str, row_id: str) -> Message:
    blocks = [*paragraph([bold("숫자")]), *paragraph([bold(f"{row_id} 질문: {SECRET}")])]
    return Message("digest", "warning", (key,), "요약", blocks)


# --- A session ----------------------------------------------------------------------------------------------------


def test_of_an_erased_session_nothing_readable_is_left(settings: Settings) -> None:
    mine = table(settings, "monitoring_scores").filter(session_id=SESSION)["row_id"][0]
    with opened(Outbox, settings.state_url) as outbox:
        outbox.put("default", "", [message("a", mine), message("b", "another-row")], NOW)
    noted = Label("a_grade", "D", row_id=mine, note=f"{SESSION}: {SECRET_ANSWER}")
    with opened(LabelStore, settings.state_url) as labels:
        labels.add(kept_labels([noted], Labelled([], RUBRIC.id, RUBRIC.version, {}), NOW))
    with opened(AuditLog, settings.state_url) as log:
        log.add(AccessRecord(NOW, "kim", "127.0.0.1", "행 목록", f"/rows?session={SESSION}"))
    before = everything_readable(settings)
    assert all(text in before for text in (SESSION, "홍길동", SECRET_ANSWER))

    found = in_context(erase, settings, SESSION, NOW, dry_run=False)

    tables = {"monitoring_scores: rows": 2, "monitoring_excluded: rows": 2}
    assert found == {**tables, "reports": 2, "alert messages": 1, "notes of labels": 1, "web accesses": 1}
    with opened(Outbox, settings.state_url) as outbox:
        touched, other = outbox.waiting()
    assert [len(touched.blocks), len(other.blocks)] == [1, 2]
    with opened(Outbox, settings.state_url) as outbox:
        assert outbox.forget(["another-row"], dry_run=False) == 1  # it quoted the same text, for this test only
    after = everything_readable(settings)
    assert not [text for text in (SESSION, "홍길동", SECRET_ANSWER) if text in after]


def test_scores_of_an_erased_session_and_everything_of_others_stay(settings: Settings) -> None:
    def of_others(name: str) -> list[tuple[object, ...]]:
        return [row for row in table(settings, name).rows() if SESSION not in row]

    numbers = pl.exclude("session_id", "source_id", "user_input", "llm_response")
    scores, others = table(settings, "monitoring_scores").select(numbers), of_others("monitoring_scores")
    report = Path(settings.reports) / f"monitoring-{DAY}.md"
    mine = table(settings, "monitoring_scores", [DAY]).filter(session_id=SESSION)["row_id"][0]
    written = f"{report.read_text('utf-8')}| {mine} | F | {cell(SECRET)} |\n"  # as earlier versions had it
    report.write_text(written, "utf-8")
    lines = written.splitlines()
    in_context(erase, settings, SESSION, NOW, dry_run=False)
    assert table(settings, "monitoring_scores").select(numbers).equals(scores)
    assert [row for row in of_others("monitoring_scores") if row[4] is not None] == others
    changed = [new for old, new in zip(lines, report.read_text("utf-8").splitlines(), strict=True) if old != new]
    assert changed[1:] == [f"| {mine} | F | {ERASED_CELL} |"]
    assert changed[0].startswith(f"| {ERASED_CELL} | ")
    heading = next(line for line in lines if line.startswith("| 질문 | 형태가 같은 질문 | 종합"))
    assert changed[0].count(" | ") == heading.count(" | ")


def with_templates(settings: Settings) -> list[str]:
    """The person's form of question and another one, named by alert facts of the days that have it, and by reports."""
    own, other = masked(RUBRIC.template(SECRET)), "{종목} 공매도 잔고"
    grown = [Grown(TEMPLATE, value, 9, 0.0, 0.9, 0.8, 1.0) for value in (own, other)]
    fact = AlertFact("answer_failed", "critical", "답변 실패", "*", 9, 99, grown=tuple(grown))
    columns = empty_frame(ALERTS_SCHEMA).schema
    for day in (DAYS[0], DAYS[2]):
        rows = [{**dict.fromkeys(columns), **asdict(fact), "score_date": day}]
        warehouse(settings).replace_day(ALERTS, day, ALERTS_SCHEMA, [pl.DataFrame(rows, schema=columns)])
    for day in DAYS:  # a report names what a rise of several days began with
        report = Path(settings.reports) / f"monitoring-{day}.md"
        named = [f"- 답변 실패: 주로 {cell(template_name(value))} 9건\n" for value in (own, other)]
        report.write_text(report.read_text("utf-8") + "".join(named), "utf-8")
    return [own, other]


def test_form_of_an_erased_question_is_named_nowhere(settings: Settings) -> None:
    own, other = with_templates(settings)
    blocks = [*paragraph([bold(f"주로 {template_name(own)}")]), *paragraph([bold(f"주로 {template_name(other)}")])]
    with opened(Outbox, settings.state_url) as outbox:
        outbox.put("default", "", [Message("digest", "warning", ("a",), "요약", blocks)], NOW)
    assert "홍길동" in own
    in_context(erase, settings, SESSION, NOW, dry_run=False)
    assert "홍길동" not in everything_readable(settings)
    with opened(Outbox, settings.state_url) as outbox:
        assert [one.blocks for one in outbox.waiting()] == [blocks[1:]]
    for day in (DAYS[0], DAYS[2]):
        (fact,) = table(settings, "alerts", [day]).to_dicts()
        assert ([one["value"] for one in fact["grown"]], fact["count"]) == ([other], 9)
    for day in DAYS:
        report = (Path(settings.reports) / f"monitoring-{day}.md").read_text("utf-8")
        assert [template in report for template in (template_name(own), template_name(other))] == [False, True]


def test_nobody_writes_alert_facts_or_pages_between_their_erasure_and_that_of_the_rows(settings: Settings) -> None:
    with_templates(settings)
    report = Path(settings.reports) / f"monitoring-{DAYS[1]}.md"  # of a day without the session: its lines are read
    text = report.read_bytes()
    report.unlink()
    os.mkfifo(report)  # whoever reads it waits
    erasing = begun(lambda: in_context(erase, settings, SESSION, NOW, dry_run=False))
    with report.open("wb") as lines:  # opens when they are read, for the first day of the session
        for name in (ALERTS, SITE_LOCK):
            with pytest.raises(StorageError, match="another run"):
                warehouse(settings).lock(name, wait_s=0).__enter__()
        lines.write(text)
    erasing()
    assert "홍길동" not in str(table(settings, "alerts").to_dicts())


def test_pruned_days_name_no_form_of_question(settings: Settings) -> None:
    with_templates(settings)
    in_context(prune, settings, DAYS[1], NOW, dry_run=False)
    named = [[one["value"] for one in row["grown"]] for row in table(settings, "alerts").sort("score_date").to_dicts()]
    assert list(map(len, named)) == [0, 2]


def test_erasing_twice_finds_nothing_the_second_time(settings: Settings) -> None:
    in_context(erase, settings, SESSION, NOW, dry_run=False)
    once = files(settings)
    assert set(in_context(erase, settings, SESSION, NOW, dry_run=False).values()) == {0}
    assert files(settings) == once


def test_rerun_does_not_bring_an_erased_session_back(settings: Settings) -> None:
    in_context(erase, settings, SESSION, NOW, dry_run=False)
    tables = {name: content for name, content in files(settings).items() if name.endswith(".parquet")}
    score(settings, DAYS)
    again = files(settings)
    assert {name: again[name] for name in tables} == tables
    assert "홍길동" not in everything_readable(settings)


def test_dry_run_says_the_same_and_changes_nothing(settings: Settings) -> None:
    before = files(settings)
    announced = in_context(erase, settings, SESSION, NOW, dry_run=True)
    assert files(settings) == before
    assert erased_in(settings) == frozenset()
    assert announced == in_context(erase, settings, SESSION, NOW, dry_run=False)


@pytest.mark.parametrize("day", [DAYS[1], DAYS[2] + timedelta(days=1)])
def test_day_that_a_run_is_writing_is_left_for_the_next_attempt(settings: Settings, day: date) -> None:
    with opened(RunLedger, settings.state_url) as ledger, warehouse(settings).staging(f"monitoring-{day}"):
        ledger.save(Run("going", "nightly", day, "ola-monitoring", "1", "code", started_at=NOW))
        with pytest.raises(StorageError, match=f"another run is working on 'monitoring-{day}'"):
            in_context(erase, settings, SESSION, NOW, dry_run=False)
    left = table(settings, "monitoring_scores").filter(session_id=SESSION)
    assert left["score_date"].to_list() == [one for one in DAYS[2:] if one > day]
    assert in_context(erase, settings, SESSION, NOW, dry_run=False)["monitoring_scores: rows"] == left.height


def test_erasing_waits_for_no_day_without_rows_of_the_session(settings: Settings) -> None:
    in_context(erase, settings, SESSION, NOW, dry_run=False)
    taken = Path(settings.warehouse, ".staging").glob("monitoring-*.lock")
    assert {path.stem for path in taken} == {f"monitoring-{day}" for day in (DAYS[0], DAYS[2])}


def test_dry_run_counts_a_report_of_several_days_once(settings: Settings) -> None:
    """A week quotes both days without ids of rows, and is one report that goes."""
    week = ReportPaths(Path(settings.reports)).report(week_of(DAYS[0]))
    week.write_text("a week", encoding="utf-8")
    before = in_context(erase, settings, SESSION, NOW, dry_run=True)["reports"]
    reports = {path: path.read_bytes() for path in Path(settings.reports).rglob("*") if path.is_file()}
    assert in_context(erase, settings, SESSION, NOW, dry_run=False)["reports"] == before
    assert not week.exists()
    changed = [path for path, content in reports.items() if not path.exists() or path.read_bytes() != content]
    assert len(changed) == before


@pytest.mark.long
def test_killed_between_two_days_the_same_command_finishes_the_work(settings: Settings, tmp_path: Path) -> None:
    """The process is stopped by the page of the second day, and killed there."""
    data, copy = Path(settings.warehouse).parent, tmp_path / "undisturbed"
    shutil.copytree(data, copy)
    folders = {name: str(copy / name) for name in ("warehouse", "reports")}
    undisturbed = settings.model_copy(update=folders | {"state_url": f"sqlite:///{copy}/fresh.db"})
    in_context(erase, undisturbed, SESSION, NOW, dry_run=False)

    second = Path(settings.reports) / "monitoring" / f"{DAYS[2]}.html"
    second.parent.mkdir(exist_ok=True)
    os.mkfifo(second)  # whoever reads it waits
    script = (
        "import sys; from datetime import UTC, datetime; from tasks.retention import erase; "
        "from tasks.config.settings import Settings; from tasks.context import Context; "
        "erase(Context(Settings.model_validate_json(sys.argv[1])), sys.argv[2], datetime.now(UTC), dry_run=False)"
    )
    with subprocess.Popen([sys.executable, "-c", script, settings.model_dump_json(), SESSION]) as process:
        opened = threading.Event()

        def open_and_kill() -> None:
            with second.open("wb"):  # opens when the process has come to it
                process.send_signal(signal.SIGKILL)
                process.wait()
                opened.set()

        killer = threading.Thread(target=open_and_kill, daemon=True)
        killer.start()
        assert opened.wait(30), "the process never came to the page of the second day"
        killer.join()
    second.unlink()
    left = table(settings, "monitoring_scores").filter(session_id=SESSION)
    assert left["score_date"].to_list() == [DAYS[2]]

    in_context(erase, settings, SESSION, NOW, dry_run=False)
    assert files(settings) == files(undisturbed)


# --- Age ----------------------------------------------------------------------------------------------------------


def test_old_days_lose_their_texts_and_keep_their_scores(settings: Settings) -> None:
    texts = ["user_input", "llm_response"]
    scores, last = table(settings, "monitoring_scores"), table(settings, "monitoring_scores", [DAYS[2]])
    found = in_context(prune, settings, DAYS[2], NOW, dry_run=False)
    assert found["monitoring_scores: texts"] == scores.filter(pl.col("score_date") < DAYS[2]).height
    assert found["reports that quote"] == 2
    pruned = table(settings, "monitoring_scores")
    assert pruned.drop(texts).equals(scores.drop(texts))
    assert pruned.filter(pl.col("score_date") < DAYS[2]).select(texts).null_count().row(0) == (7, 7)
    assert pruned.filter(score_date=DAYS[2]).equals(last)
    assert [path.name for path in Path(settings.reports).glob("*.md")] == [f"monitoring-{DAYS[2]}.md"]


def test_old_files_that_people_sent_go_with_their_results(settings: Settings) -> None:
    uploads, now = Uploads(Path(settings.web.uploads)), datetime.now(UTC)
    with uploads.arriving() as arriving:
        arriving.write(b"what people wrote")
        sent = arriving.keep("plan_agent_a.csv", "kim")
    for day, gone in ((now.date(), 0), (now.date() + timedelta(days=2), 1)):
        for dry_run in (True, False):
            assert in_context(prune, settings, day, NOW, dry_run=dry_run)["web uploads"] == gone
    assert not sent.folder.exists()


def test_pruning_twice_finds_nothing_the_second_time(settings: Settings) -> None:
    announced = in_context(prune, settings, DAYS[2], NOW, dry_run=True)
    assert announced == in_context(prune, settings, DAYS[2], NOW, dry_run=False)
    once = files(settings)
    assert set(in_context(prune, settings, DAYS[2], NOW, dry_run=False).values()) == {0}
    assert files(settings) == once


def test_old_judgements_verdicts_and_messages_go(settings: Settings) -> None:
    row = empty_frame(DAY_JUDGEMENTS_SCHEMA).clear(1).with_columns(kind=pl.lit("semantic"), reason=pl.lit(SECRET))
    for day in DAYS:
        warehouse(settings).replace_day("judgements", day, DAY_JUDGEMENTS_SCHEMA, [row])
    verdict = Judgement("k", "semantic", "aqb-1.2", "1", "1", "m", "h", VerdictStatus.OK, answer={"score": 4})
    long_ago, tomorrow = NOW - timedelta(days=400), datetime.now(UTC) + timedelta(days=2)
    with opened(VerdictStore, settings.state_url) as store, opened(Outbox, settings.state_url) as outbox:
        store.save([verdict])
        outbox.put("default", "", [message("sent", "r1"), message("waiting", "r2")], long_ago)
        outbox.record(outbox.waiting()[0], Delivery(DeliveryStatus.SENT), long_ago)
        found = in_context(prune, settings, DAYS[2], NOW, dry_run=False)
        assert (found["judgements: rows"], found["verdicts"], found["alert messages"]) == (2, 0, 1)
        assert outbox.known_keys("default").keys() == {"sent", "waiting"}
        assert [(one.text, SECRET in json.dumps(one.blocks, ensure_ascii=False)) for one in outbox.latest(2)] == [
            ("요약", True),
            ("", False),
        ]
        assert in_context(prune, settings, tomorrow.date(), NOW, dry_run=False)["verdicts"] == 1
        assert store.found(["k"]) == {}
    assert table(settings, "judgements").is_empty()


def test_leftovers_of_killed_runs_go_after_a_day_unless_somebody_works_there(settings: Settings) -> None:
    staging = Path(settings.warehouse) / ".staging"
    killed, working, young = (staging / name for name in ("killed", "working", "young"))
    unfinished = Path(settings.reports) / ".monitoring-2026-02-13.md.unfinished"
    long_ago = (NOW - timedelta(days=2)).timestamp()
    for folder in (killed, young):
        folder.mkdir()
        (folder / "part.parquet").touch()
    unfinished.touch()
    with warehouse(settings).staging("working"):
        working.mkdir()
        for path in (killed, working, unfinished):
            os.utime(path, (long_ago, long_ago))
        os.utime(young, (NOW.timestamp(), NOW.timestamp()))
        assert in_context(prune, settings, DAYS[0], NOW, dry_run=False)["leftovers of killed runs"] == 2
        assert [path.exists() for path in (killed, working, young, unfinished)] == [False, True, True, False]
