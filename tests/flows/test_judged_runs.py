"""Test runs with a judge: a real server that speaks its protocol, the command line and the flow around it."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import State

from flows.cli import terminal
from flows.cli.score_testruns import score_testruns
from flows.steps.inbox_outcome import InboxOutcome
from flows.test_runs import IncompleteInboxError, score_inbox
from scoring.catalog import TestRunChoices
from scoring.stats.run_scores import TOTAL
from tasks.config.judge import JudgeSettings
from tasks.config.settings import load_settings
from tasks.config.testruns import InboxSettings
from tasks.files.report_paths import SCORE_FILES
from tasks.review.label_store import KeptLabel
from tasks.review.trust import judge_trust
from tasks.testruns.trusted_metrics import read_agreements
from tasks.warehouse import open_warehouse
from tests.builders.flows import score_inbox as plain_score_inbox
from tests.builders.settings import settings_in
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.flows.conftest import Command
from tests.flows.prefect_server import ended_task_runs

SAMPLES = Path("tasks/samples/inbox").resolve()
WIDE, MOVE = SAMPLES / "resume_agent_sample.xlsx", SAMPLES / "url_agent_sample.csv"
KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A judge that answers at once, named by the environment."""
    with FakeOpenAI(Behaviour(latency_s=0.001)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("AQB_JUDGE__RPM", "0")
        monkeypatch.setenv("AQB_JUDGE__TPM", "0")
        yield server


def summary_of(folder: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    return found


def test_judged_run_has_every_score_and_its_second_time_asks_nothing(aqb: Command, judge: FakeOpenAI) -> None:
    assert aqb("score", WIDE, "--judge", "--out", "first").exit_code == 0
    asked = judge.stats()["asked"]
    assert asked > 0
    assert aqb("score", WIDE, "--judge", "--out", "second").exit_code == 0
    assert judge.stats()["asked"] == asked
    for name in ("scores.parquet", "queries.parquet", "judgements.parquet", "scores.json"):
        assert Path("first", name).read_bytes() == Path("second", name).read_bytes()
    assert {path.name for path in Path("first").iterdir()} <= {*SCORE_FILES, "report.md", "summary.json"}
    queries = pl.read_parquet("first/queries.parquet")
    assert queries["semantic_score"].null_count() == queries["consistency_score"].null_count() == 0
    assert set(queries["weight_coverage"]) == {1.0}
    judgements = pl.read_parquet("first/judgements.parquet")
    assert (judgements.height, set(judgements["status"]), set(judgements["kind"])) == (
        asked,
        {"ok"},
        {"semantic", "conclusions"},
    )
    first, second = (summary_of(folder)["judge"] for folder in ("first", "second"))
    assert isinstance(first, dict) and isinstance(second, dict)
    assert (first["questions"], first["cached"], second["cached"], second["cost"]) == (asked, 0, asked, 0)
    assert first["tokens"] > 0 and first["cost"] > 0
    report = Path("first/report.md").read_text(encoding="utf-8")
    assert "## 판정 모델" in report and "톤앤매너 준수율: " in report


def test_scores_of_two_judges_are_not_compared(
    aqb: Command, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("judge-1", "judge-2"):
        monkeypatch.setenv("AQB_JUDGE__MODEL", model)
        assert aqb("score", WIDE, "--judge", "--out", model).exit_code == 0
    compared = json.loads(aqb("compare", "judge-1", "judge-2", "--json").out)
    of_two = {name for name, metric in compared["metrics"].items() if metric["of_two_judges"]}
    assert of_two == {"semantic", "consistency", "weighted_total"}
    assert compared["worse"] == compared["better"] == []
    assert "의도 충족, 일관성, 종합 점수" in compared["warnings"][0]
    same = json.loads(aqb("compare", "judge-2", "judge-2", "--json").out)
    assert not any(metric["of_two_judges"] for metric in same["metrics"].values())


def test_run_that_two_judges_have_judged_says_so_before_any_figure(
    aqb: Command, judge: FakeOpenAI, tmp_path: Path
) -> None:
    """As where a provider puts another model behind the name while a file is judged, or before it grows."""
    rows = [wide_row(f"A{number}", 질의=f"{number}번은 몇 명?") for number in range(5)]
    file = write_csv(tmp_path / "resume_agent_made.csv", [WIDE_HEADER, *rows[:3]])
    first = aqb("score", file, "--judge", "--out", "one")
    judge.behaviour = Behaviour(release="2026-06-01")
    write_csv(file, [WIDE_HEADER, *rows])
    second = aqb("score", file, "--judge", "--out", "two")
    assert first.exit_code == second.exit_code == 0
    assert "several models or conditions" not in first.out
    assert "  semantic: verdicts of several models or conditions; do not rely on its means\n" in second.out
    told = "판정한 모델이나 조건이 둘 이상이라 평균을 믿을 수 없는 지표: 의도 충족(판정 3건, 2건)"
    reports = [Path(folder, "report.md").read_text(encoding="utf-8") for folder in ("one", "two")]
    assert "둘 이상이라" not in reports[0]
    assert reports[1].startswith(f"> {told}")
    two = summary_of("two")
    assert isinstance(two["judge"], dict) and isinstance(two["headline"], list)
    assert sorted(two["judge"]["by_epoch"]["semantic"].values()) == [2, 3]
    assert two["headline"][0].startswith(told) and len(two["headline"]) <= 3


def test_key_alone_starts_nothing(aqb: Command, judge: FakeOpenAI) -> None:
    done = aqb("score", WIDE, "--out", "out")
    assert (done.exit_code, judge.stats()["asked"]) == (0, 0)
    assert done.out.count("no judge") == 1


def test_without_an_endpoint_the_rest_is_scored_and_said_once(aqb: Command) -> None:
    done = aqb("score", WIDE, "--judge", "--out", "out")
    assert done.exit_code == 0
    assert done.out.count("no judge") == 1
    assert "there is nobody to ask: set OPENAI_API_KEY or judge.base_url" in done.out
    assert pl.read_parquet("out/queries.parquet")["accuracy_score"].null_count() == 0


def test_without_judge_questions_nobody_is_missed(aqb: Command) -> None:
    done = aqb("score", SAMPLES / "plan_agent_sample.csv", "--judge", "--out", "out")
    assert done.exit_code == 0
    assert "no judge" not in done.out


def test_dry_run_of_a_file_that_needs_no_judge_says_so(aqb: Command) -> None:
    priced = aqb("score", SAMPLES / "plan_agent_sample.csv", "--dry-run", "--out", "out")
    assert (priced.exit_code, priced.out) == (0, "plan_agent_sample.csv: no questions for a judge\n")


def test_dry_run_says_what_it_would_cost_and_asks_and_writes_nothing(aqb: Command, judge: FakeOpenAI) -> None:
    estimate = json.loads(aqb("score", WIDE, "--dry-run", "--json", "--out", "out").out)[WIDE.name]
    assert estimate["questions"] > 0 and estimate["from_store"] == 0
    assert estimate["tokens_in"] > 0 and estimate["usd"] > 0
    assert judge.stats()["asked"] == 0
    assert not Path("out").exists()
    aqb("score", WIDE, "--judge", "--out", "out")
    judged = json.loads(aqb("score", WIDE, "--dry-run", "--json", "--out", "out").out)[WIDE.name]
    assert judged["from_store"] == judged["questions"] == estimate["questions"]


def test_garbage_for_ever_ends_in_manual_review_and_exit_code_1(
    aqb: Command, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.001, garbage=1.0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = aqb("score", MOVE, WIDE, "--judge", "--out", "out")
    assert done.exit_code == 1
    assert "questions without a verdict" in done.err and "invalid" in done.err
    queries = pl.read_parquet("out/resume_agent_sample/queries.parquet")
    unjudged = queries.filter(pl.col("semantic_score").is_null())
    assert unjudged.height > 0
    assert unjudged["flag_manual_review"].all()
    assert "## 판정 모델" in Path("out/resume_agent_sample/report.md").read_text(encoding="utf-8")


def test_refused_key_is_one_clear_line_without_the_key(
    aqb: Command, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.001, api_key="another")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = aqb("score", WIDE, "--judge", "--out", "out")
        assert server.stats()["asked"] <= 20
    assert done.exit_code == 1
    assert "error: " in done.err
    assert "check OPENAI_API_KEY" in done.err
    assert KEY not in done.err + done.out
    queries = pl.read_parquet("out/queries.parquet")  # what rules can score
    assert queries["accuracy_score"].null_count() == 0
    assert queries["semantic_score"].null_count() == queries.height
    assert summary_of("out")["judge"]["by_status"].keys() == {"failed"}  # type: ignore[index]


def test_score_asks_the_questions_of_all_files_without_waiting_for_the_first(
    folder: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AQB_JUDGE__MAX_IN_FLIGHT", "2")
    judge.behaviour = Behaviour(latency_s=0.5, spread=0)
    for name in ("first", "second"):
        rows = [wide_row(f"AM-{number}", 질의=f"{name} {number}번 점수는?") for number in range(2)]
        write_csv(Path(f"resume_agent_{name}.csv"), [WIDE_HEADER, *rows])
    monkeypatch.setattr(terminal, "_SECONDS_BETWEEN_LINES", 0.0)
    settings = load_settings(judge={"enabled": True})
    files, choices = [Path(f"resume_agent_{name}.csv") for name in ("first", "second")], TestRunChoices("", "", {})
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(score_testruns, files, choices, Path("out"), settings)
        while not Path("out/resume_agent_first/summary.json").exists():
            assert wait([run], timeout=0.01).not_done, run.result()
        questions_of_both = len(judge.requests)
    scored = run.result()
    assert [one.name for one in scored] == [path.name for path in files]
    asked = [one.summary["judge"]["by_status"]["ok"] for one in scored if one.summary]
    assert asked[0] < questions_of_both
    assert sum(asked) == judge.stats()["asked"] == 4
    assert capsys.readouterr().err.splitlines()[-1].startswith("judge: 4 of 4 questions, ")


def test_inbox_judges_its_files_at_the_same_time_and_scores_them_in_their_order(
    prefect_in_threads: str, judge: FakeOpenAI, tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / WIDE.name).write_bytes(WIDE.read_bytes())
    rows = [wide_row(f"AM-{number}", **{"질의": f"{number}번 점수는?", "2차 답변": "없음"}) for number in range(4)]
    write_csv(inbox / "resume_agent_more.csv", [WIDE_HEADER, *rows])
    sections = {
        "test_runs": InboxSettings(inbox=str(inbox), quiet_s=0),
        "judge": JudgeSettings(enabled=True, rpm=0, tpm=0, max_in_flight=2),
    }
    settings = settings_in(tmp_path, **sections)
    day = date(2026, 3, 12)
    state: State[InboxOutcome] = score_inbox(settings, day, return_state=True)
    runs, run_id = state.result().scored, state.state_details.flow_run_id
    assert run_id is not None
    assert [run.name for run in runs] == ["resume_agent_more.csv", WIDE.name]
    asked = judge.stats()["asked"]
    rows_of = open_warehouse(settings.warehouse).read("judgements", [day])
    assert rows_of is not None and rows_of.collect().height == asked > 10
    assert [run.summary["judge"]["by_status"].keys() for run in runs] == [{"ok"}, {"ok"}]

    names = [f"{step} {run.name}" for step in ("judge", "score test run") for run in runs]
    with get_client(sync_client=True) as client:
        tasks = {task.name: task for task in ended_task_runs(client, run_id, len(names))}
        of_flow = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]))
        shown = client.read_artifacts(artifact_filter=of_flow)
        lines = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id])))
    assert {name: tasks[name].state_name for name in names} == dict.fromkeys(names, "Completed")
    first, second = (tasks[name] for name in names[:2])
    assert first.start_time and first.end_time and second.start_time and second.end_time
    assert first.start_time < second.end_time and second.start_time < first.end_time
    assert [artifact.data for artifact in shown if artifact.type == "progress"] == [100.0, 100.0]
    assert "imeouts in worker threads" not in "".join(line.message for line in lines)

    alone = settings_in(tmp_path / "alone", **sections)
    plain_score_inbox(alone, day)
    for table in ("test_run_scores", "test_run_queries"):
        path = Path("warehouse", table, f"{day}.parquet")
        assert (tmp_path / path).read_bytes() == (tmp_path / "alone" / path).read_bytes()
    found = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert found == []


def test_file_that_is_renamed_while_it_is_judged_fails_nothing_and_is_paid_for_once(
    judge: FakeOpenAI, tmp_path: Path
) -> None:
    judge.behaviour = Behaviour(latency_s=0.5, spread=0)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    file = write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row("A1"), wide_row("A2", 질의="몇 명?")])
    runs = InboxSettings(inbox=str(inbox), quiet_s=0)
    settings = settings_in(tmp_path, test_runs=runs, judge=JudgeSettings(enabled=True, rpm=0, tpm=0))
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(plain_score_inbox, settings, date(2026, 3, 12))
        while not judge.stats()["asked"]:
            assert wait([run], timeout=0.01).not_done, run.result()
        file.rename(inbox / "resume_agent_2.csv")
    assert (run.result().failures, run.result().arriving) == ((), ("resume_agent_1.csv",))
    (scored,) = plain_score_inbox(settings, date(2026, 3, 12)).scored
    assert scored.name == "resume_agent_2.csv"
    assert scored.summary["judge"]["by_status"]["ok"] == judge.stats()["asked"]


def test_run_of_the_inbox_is_held_against_the_one_before_by_the_same_judge_alone(
    judge: FakeOpenAI, tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    of_two_judges = []
    for place, model in enumerate(("judge-1", "judge-1", "judge-2")):
        rows = [wide_row(f"A{n}", **{"질의": f"{n}번은 몇 명?", "1차 답변": f"{place}명"}) for n in range(3)]
        write_csv(inbox / f"resume_agent_{place}.csv", [WIDE_HEADER, *rows])
        settings = settings_in(
            tmp_path,
            test_runs=InboxSettings(inbox=str(inbox), quiet_s=0),
            judge=JudgeSettings(enabled=True, model=model, rpm=0, tpm=0),
        )
        (scored,) = plain_score_inbox(settings, date(2026, 3, 12 + place)).scored
        change = scored.summary["change"] or {"metrics": []}
        of_two_judges.append({one["metric"] for one in change["metrics"] if one["of_two_judges"]})
    assert of_two_judges == [set(), set(), {"semantic", "weighted_total"}]


def test_trust_in_a_judged_metric_belongs_to_what_judged_it(judge: FakeOpenAI, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    rows = [wide_row(f"A{number}", 질의=f"{number}번은 몇 명?") for number in range(3)]
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, *rows])
    runs, asking = InboxSettings(inbox=str(inbox), quiet_s=0), JudgeSettings(enabled=True, rpm=0, tpm=0)
    settings, day = settings_in(tmp_path, test_runs=runs, judge=asking), date(2026, 3, 12)
    (scored,) = plain_score_inbox(settings, day).scored
    content, at = scored.summary["inputs"][0]["sha256"], datetime(2026, 3, 13, tzinfo=UTC)
    labels = [
        KeptLabel(
            labelled_at=at,
            rubric="aqb-1.2",
            rubric_version="1",
            input_sha256=content,
            query_id=f"A{number}",
            round="1/1",
            metric=metric,
            label="4",
            reviewer="kim",
        )
        for number in range(3)
        for metric in ("semantic", "stability")
    ]
    warehouse = open_warehouse(settings.warehouse)
    judge_trust(labels, None, warehouse, day, 0.6)
    found = {row["metric"]: row["epoch"] for row in read_agreements(warehouse).to_dicts()}
    (epoch,) = scored.summary["judge"]["epochs"]["semantic"]
    assert found == {"semantic": epoch, "stability": None}
    for table in ("test_run_scores", "test_run_queries", "test_run_summaries"):
        written = warehouse.read(table, [day])
        assert written is not None
        (epochs,) = written.collect()["judge_epochs"].unique()
        assert json.loads(epochs) == {"semantic": epoch, TOTAL: epoch}


def test_inbox_whose_judge_refuses_names_the_judge_and_blames_no_file(judge: FakeOpenAI, tmp_path: Path) -> None:
    judge.behaviour = Behaviour(api_key="another")
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row("A1")])
    runs = InboxSettings(inbox=str(tmp_path / "inbox"), quiet_s=0)
    settings = settings_in(tmp_path, test_runs=runs, judge=JudgeSettings(enabled=True, rpm=0, tpm=0))
    with pytest.raises(IncompleteInboxError) as caught:
        plain_score_inbox(settings, date(2026, 3, 12))
    assert re.match(r"1 file of the inbox could not be scored: http://.*: the judge refuses every", str(caught.value))
    assert str(caught.value).endswith("check OPENAI_API_KEY; the next run tries these files again")
