"""The folder that `aqb score` writes for a test run: tables, `summary.json`, `report.md` and `scores.xlsx`.

Source: SPEC 4.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tasks.monitoring_tables import REJECTED_SCHEMA
from tasks.reports.run_input import input_section, rejected_by_code
from tasks.reports.run_tabs import write_run_workbook
from tasks.run_scoring import ScoredRun
from tasks.run_tables import (
    queries_schema,
    query_frames,
    rejected_frame,
    score_frames,
    scores_schema,
)
from tasks.whole_files import write_parquet, write_text


def write_run_folder(folder: Path, scored: ScoredRun, source: Path) -> dict[str, Any]:
    """Writes the files and returns the summary. Each file is replaced atomically, the summary last.

    `source` is the file that was scored. The same file, rubric and verdicts give the same bytes.

    Raises:
        StorageError: the folder cannot be written.
    """
    plan = scored.plan
    scores, queries = list(score_frames(scored)), list(query_frames(scored))
    write_parquet(folder / "scores.parquet", scores_schema(plan.rubric), scores)
    write_parquet(folder / "queries.parquet", queries_schema(plan.rubric), queries)
    write_parquet(folder / "rejected.parquet", REJECTED_SCHEMA, [rejected_frame(plan.run, plan.rubric.id)])
    write_run_workbook(folder / "scores.xlsx", scored, source, scores, queries)
    if plan.rubric.query_json:
        write_text(folder / "scores.json", _json([plan.rubric.query_json(query) for query in scored.queries]))
    report = plan.rubric.report(plan.run.name, scored.queries, scored.summary, plan.options)
    write_text(folder / "report.md", f"{report.rstrip()}\n\n{input_section(plan.run)}")
    summary = run_summary(scored)
    write_text(folder / "summary.json", _json(summary))
    return summary


def run_summary(scored: ScoredRun) -> dict[str, Any]:
    """What stands in `summary.json`."""
    plan, summary = scored.plan, scored.summary
    run = plan.run
    return {
        "rubric": plan.rubric.id,
        "rubric_version": plan.rubric_version,
        "options": dict(plan.options),
        "inputs": [{"name": run.identity.name, "sha256": run.identity.sha256, "rows": run.counts.rows_in}],
        "counts": vars(run.counts) | {"queries": len(run.queries)},
        "rounds": summary.rounds,
        "set": summary.set,
        "distributions": summary.distributions,
        "data_quality": {
            **summary.data_quality,
            "rejected": rejected_by_code(run),
            "excluded": {"not_run": len(run.excluded_lines)} if run.excluded_lines else {},
            "notes": dict(run.notes),
        },
        # Nobody is asked without a judge, so nothing is cached, used up or paid.
        "judge": {
            "questions": sum(scored.questions.values()),
            "by_status": dict(scored.questions),
            "cached": 0,
            "tokens": 0,
            "cost": 0,
        },
        **summary.extra,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
