"""`from scoring import score_runs`: the tables that `aqb score` writes for the same test run."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest

from flows.cli.score_testruns import score_testruns
from scoring import score_runs
from scoring.catalog import TestRunChoices
from scoring.errors import InputError, UsageError
from scoring.rubrics.aqb.thresholds import VERSION
from tasks.config.settings import Settings

SAMPLES = Path(__file__).parents[3] / "tasks" / "samples" / "inbox"
KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "Polars": lambda frame: frame,
    "lazy Polars": lambda frame: frame.lazy(),
    "Arrow": lambda frame: frame.to_arrow(),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def sample(name: str) -> pl.DataFrame:
    """A sample as text: the CSV files are in the long layout and in the wide one."""
    return pl.read_csv(SAMPLES / name, infer_schema=False)


def as_polars(frame: Any) -> pl.DataFrame:
    return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)


@each_kind
@pytest.mark.parametrize(
    ("name", "rubric", "agent_type", "options"),
    [
        ("plan_agent_sample.csv", "plan-agent", "plan", {"value_lookup": "direct"}),
        ("plan_agent_sample.csv", "aqb-1.2", "plan", {}),
        ("plan_agent_sample.csv", "recruit-agent", "plan", {}),
        ("url_agent_sample.csv", "recruit-agent", "move", {}),
        ("url_agent_sample.csv", "aqb-1.2", "move", {}),
    ],
)
def test_score_runs_gives_what_aqb_score_writes(
    kind: str, name: str, rubric: str, agent_type: str, options: dict[str, str], tmp_path: Path
) -> None:
    run = sample(name)
    run = pl.concat([run, run[:1]])  # an execution that is there already: rejected
    (tmp_path / "in").mkdir()
    run.write_csv(tmp_path / "in" / name)
    choices = TestRunChoices(rubric, agent_type, options)
    (written,) = score_testruns([tmp_path / "in" / name], choices, tmp_path / "out", Settings())
    assert written.error is None

    frame = KINDS[kind](run)
    found = score_runs(frame, rubric, agent_type=agent_type, options=options)
    assert {type(found.scores), type(found.queries), type(found.rejected)} == {type(frame)}
    for table in ("scores", "queries"):
        path, rows = tmp_path / "out" / f"{table}.parquet", getattr(found, table)
        if isinstance(rows, pd.DataFrame):
            pd.testing.assert_frame_equal(rows, pd.read_parquet(path), check_exact=True)
        else:
            polars.testing.assert_frame_equal(as_polars(rows), pl.read_parquet(path), check_exact=True)
    refused = pl.read_parquet(tmp_path / "out" / "rejected.parquet")
    assert refused.height == 1
    moved = refused.with_columns(file=pl.lit("frame"), line=pl.lit(run.height, pl.Int64))
    assert as_polars(found.rejected).rows() == moved.rows()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    del summary["inputs"]
    assert json.loads(json.dumps(found.summary)) == summary


def test_score_runs_reads_a_workbook_that_pandas_has_opened(tmp_path: Path) -> None:
    path = SAMPLES / "resume_agent_sample.xlsx"
    choices = TestRunChoices("aqb-1.2", "applicant_management")
    score_testruns([path], choices, tmp_path, Settings())
    found = score_runs(pd.read_excel(path, dtype=object), "aqb-1.2", agent_type="applicant_management")
    pd.testing.assert_frame_equal(found.scores, pd.read_parquet(tmp_path / "scores.parquet"))
    pd.testing.assert_frame_equal(found.queries, pd.read_parquet(tmp_path / "queries.parquet"))


def test_score_runs_reads_numbers_as_the_texts_that_files_hold() -> None:
    run = sample("plan_agent_sample.csv")
    typed = run.with_columns(pl.col("latency_ms").cast(pl.Float64)) if "latency_ms" in run.columns else run
    expected = score_runs(run, "plan-agent").scores
    polars.testing.assert_frame_equal(score_runs(typed, "plan-agent").scores, expected)


@each_kind
def test_score_runs_leaves_columns_alone_that_no_rubric_reads(kind: str) -> None:
    run = sample("plan_agent_sample.csv")
    beside = run.with_columns(spans=pl.lit([1, 2]), trace=pl.struct(id="Query ID"), image=pl.lit(b"\xff"))
    found = score_runs(KINDS[kind](beside), "plan-agent")
    polars.testing.assert_frame_equal(
        as_polars(found.scores), as_polars(score_runs(KINDS[kind](run), "plan-agent").scores)
    )


def test_score_runs_leaves_a_column_of_mixed_types_alone_that_no_rubric_reads() -> None:
    run = sample("plan_agent_sample.csv").to_pandas()
    beside = run.assign(notes=[1, "둘", {}, object()] * (len(run) // 4) + [b""] * (len(run) % 4))
    pd.testing.assert_frame_equal(score_runs(beside, "plan-agent").scores, score_runs(run, "plan-agent").scores)


def test_score_runs_takes_numbers_as_options() -> None:
    run = sample("plan_agent_sample.csv")
    found = score_runs(run, "aqb-1.2", agent_type="plan", options={"tolerance_percent": 2, "min_weight_coverage": "50"})
    assert set(found.scores["rubric_version"]) == {f"{VERSION}+tolerance_percent=2+min_weight_coverage=50"}


@each_kind
def test_score_runs_names_the_columns_that_are_missing(kind: str) -> None:
    frame = KINDS[kind](pl.DataFrame({"Query ID": ["Q1"], "방/반복": ["1/1"]}))
    with pytest.raises(InputError, match="required columns are missing: Raw JSON") as raised:
        score_runs(frame, "plan-agent")
    assert raised.value.where == "frame"


def test_score_runs_names_a_column_of_a_wrong_type() -> None:
    run = pl.DataFrame({"Query ID": ["Q1"], "방/반복": ["1/1"], "Raw JSON": [{"assistantMessage": "네"}]})
    with pytest.raises(InputError, match="Raw JSON is struct"):
        score_runs(run, "plan-agent")


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"rubric": "ola-monitoring"}, "scores chat rows, not test runs"),
        ({"rubric": "no-such"}, "there is no rubric 'no-such'"),
        ({"rubric": "my.toml"}, "takes the text of a rubric file, not its name: my.toml"),
        ({"rubric": "aqb-1.2"}, "nothing tells which agent was tested"),
        ({"rubric": "plan-agent", "agent_type": "cook"}, "there is no agent type 'cook'"),
        ({"rubric": "plan-agent", "options": {"colour": "red"}}, "has no option 'colour'"),
    ],
)
def test_score_runs_refuses_a_wrong_choice(choices: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        score_runs(sample("plan_agent_sample.csv"), **choices)


def test_score_runs_refuses_chat_rows() -> None:
    with pytest.raises(InputError, match="no test run"):
        score_runs(pa.table({"user_input": ["a"], "llm_response": ["b"]}))


@pytest.mark.long
def test_score_runs_imports_pandas_only_for_a_frame_of_pandas() -> None:
    program = (
        "import sys, polars as pl; from scoring import score_runs\n"
        f"run = pl.read_csv({str(SAMPLES / 'plan_agent_sample.csv')!r}, infer_schema=False)\n"
        "score_runs(run, 'plan-agent'); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
