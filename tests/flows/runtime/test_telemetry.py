"""What leaves for a collector, and what is written as log lines, when a run is recorded. In a process of its own: the
last spans leave when Python ends."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.otlp_receiver import Collector, attributes

pytestmark = pytest.mark.long

RECORD_RUNS = """
from __future__ import annotations
import json
import os
import sys
from datetime import date
from flows.runtime.logs import configure_logs
from flows.runtime.run_recorder import recorded_run
from flows.runtime.telemetry import tell_judgements
from scoring.judging.requests import VerdictStatus
from tasks.judge.verdict_store import Judgement
from tasks.state.database import StateDatabase

for folder, log_format, variables in json.loads(sys.argv[1]):
    if not (child := os.fork()):
        break
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{folder} failed")
else:
    sys.exit()

os.chdir(folder)
os.environ.update(variables)
for stream in (sys.stdout, sys.stderr):
    os.dup2(os.open(stream.name.strip("<>"), os.O_WRONLY | os.O_CREAT), stream.fileno())
configure_logs(log_format)
with StateDatabase("sqlite:///state.db") as state:
    for broken in (False, True):
        try:
            with recorded_run(state, "nightly", date(2026, 2, 13), rubric="ola-monitoring") as run:
                with run.step("extract"):
                    pass
                with run.step("score") as counts:
                    counts.update(rows_in=5, scored=4)
                    if broken:
                        raise ValueError("an answer of a person")
                run.ends("completed", rows_in=5, scored=4, excluded=1, rejected=0, cost_usd=0.25)
        except ValueError:
            pass
one = {"kind": "semantic", "rubric": "aqb-1.2", "rubric_version": "1", "prompt_version": "2", "model_asked": "m"}
tell_judgements([
    Judgement("k1", input_hash="h", status=VerdictStatus.OK, answer={"score": 4}, reason="an answer", tokens_in=90,
        tokens_out=12, **one),
    Judgement("k2", input_hash="h", status=VerdictStatus.REFUSED, **one),
    Judgement("k3", input_hash="h", status=VerdictStatus.OK, answer={"score": 1}, from_store=True, **one),
    Judgement("k4", input_hash="h", status=VerdictStatus.OK, answer={"points": 2}, **one | {"rubric": "of a file"}),
])
print([name for name in sys.modules if name.startswith("opentelemetry.sdk")])
"""


@dataclass(frozen=True)
class Recorded:
    """What the processes left: requests to a collector, and the standard streams of those that had none."""

    collector: Collector
    plain: Path
    json: Path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A run that completes and one that fails, then four judgements, by a process of each kind.

    They are forked from one that has imported everything.
    """
    with Collector() as collector:
        folders = {name: tmp_path_factory.mktemp(name) for name in ("collected", "plain", "json")}
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        work = [
            (str(folders["collected"]), "plain", endpoint),
            (str(folders["plain"]), "plain", {}),
            (str(folders["json"]), "json", {}),
        ]
        done = subprocess.run(
            [sys.executable, "-c", RECORD_RUNS, json.dumps(work)], capture_output=True, text=True, check=False
        )
        said = [file.read_text("utf-8") for folder in folders.values() for file in folder.glob("stderr")]
        assert done.returncode == 0, [done.stderr, *said]
    return Recorded(collector, folders["plain"], folders["json"])


@pytest.fixture(scope="module")
def collected(recorded: Recorded) -> Collector:
    return recorded.collector


def test_every_step_is_a_span_below_its_run(collected: Collector) -> None:
    runs = [span for span in collected.spans if span.name == "run nightly"]
    assert [attributes(span)["aqb.outcome"] for span in runs] == ["completed", "failed"]
    for run in runs:
        steps = [span.name for span in collected.spans if span.parent_span_id == run.span_id]
        assert steps == ["extract", "score"]
    assert collected.services == {"aqb"}
    assert {attributes(span).get("aqb.day") for span in runs} == {"2026-02-13"}


def test_failed_step_says_what_kind_of_error_it_was(collected: Collector) -> None:
    failed = [span for span in collected.spans if span.status.code == 2]
    assert sorted(span.name for span in failed) == ["run nightly", "score"]
    assert {attributes(span)["error.type"] for span in failed} == {"ValueError"}


def test_rows_durations_and_cost_are_measured(collected: Collector) -> None:
    rows = collected.metrics["aqb.rows"].sum.data_points
    assert {attributes(point)["aqb.fate"]: point.as_int for point in rows} == {"scored": 4, "excluded": 1}
    durations = collected.metrics["aqb.run.duration"].histogram.data_points
    assert {attributes(point)["aqb.outcome"]: point.count for point in durations} == {"completed": 1, "failed": 1}
    assert [point.as_double for point in collected.metrics["aqb.judge.cost"].sum.data_points] == [0.25]


def test_judgement_that_was_paid_for_is_an_evaluation_event(collected: Collector) -> None:
    assert {event.event_name for event in collected.events} == {"gen_ai.evaluation.result"}
    ok, refused, of_file = [attributes(event) for event in collected.events]
    assert (ok["gen_ai.evaluation.name"], ok["gen_ai.evaluation.score.value"]) == ("semantic", 4)
    assert (ok["aqb.judgement"], "error.type" in ok) == ("k1", False)
    assert (ok["gen_ai.usage.input_tokens"], ok["gen_ai.usage.output_tokens"]) == (90, 12)
    assert (refused["aqb.judgement"], refused["error.type"]) == ("k2", "refused")
    assert (of_file["aqb.rubric"], of_file["gen_ai.evaluation.score.value"]) == ("of a file", 2)


def test_nothing_that_people_wrote_leaves(collected: Collector) -> None:
    assert collected.bodies
    assert not [body for body in collected.bodies if b"an answer" in body]


def test_without_an_endpoint_nothing_is_even_imported(recorded: Recorded) -> None:
    printed = [(recorded.plain / name).read_text("utf-8") for name in ("stdout", "stderr")]
    assert printed == ["[]\n", ""]


def test_log_lines_as_json_carry_the_id_of_their_run(recorded: Recorded) -> None:
    lines = [json.loads(line) for line in (recorded.json / "stderr").read_text("utf-8").splitlines()]
    assert [line["message"].partition(":")[0] for line in lines] == [
        "extract 2026-02-13",
        "score 2026-02-13",
        "nightly 2026-02-13",
    ] * 2
    assert "failed" in lines[-1]["message"]
    first, second = {line["run_id"] for line in lines[:3]}, {line["run_id"] for line in lines[3:]}
    assert len(first) == len(second) == 1
    assert first != second
    assert "an answer" not in str(lines)
