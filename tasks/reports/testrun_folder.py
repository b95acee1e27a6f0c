"""What is written of a scored test run: the folder of `aqb score` with tables, `summary.json`, `report.md`,
`scores.xlsx` and `review.csv`, and the rows of the inbox's runs in the warehouse.

Source: SPEC 4.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from scoring.inputs import REJECTED_SCHEMA
from scoring.judging.requests import STATUS_TITLES
from scoring.testruns.change_wording import alone_text, change_parts, moved_queries
from scoring.testruns.headline import query_names
from scoring.testruns.history import RunPlace
from scoring.testruns.report_tables import REPORT_TABLES, query_examples
from scoring.testruns.rubric import AnyTestRunRubric, Options, ScoredQuery, TestRunSummary
from scoring.testruns.scoring import ScoredTestRun, TestRunPlan, score_testrun, testrun_summary
from scoring.testruns.tables import queries_frame, queries_schema, rejected_frame, scores_frame, scores_schema
from tasks.files.atomic import TABLE_MODE, json_text, replacing_together, write_parquet, write_text
from tasks.files.discovery import refuse_replaced
from tasks.files.report_paths import SCORE_FILES, WORKBOOK
from tasks.judge.client import Judged
from tasks.reports.markdown.review_list import REVIEW_LIST, has_review_list, write_review_list
from tasks.reports.templates import markdown
from tasks.reports.testrun_workbook import write_testrun_workbook
from tasks.reports.wording import NOTE_TITLES, lines_of_text, reject_causes
from tasks.testruns.history import place_of
from tasks.testruns.trusted_metrics import read_trust, untrusted_metrics
from tasks.testruns.warehouse import JUDGEMENTS_SCHEMA, judgement_frame, write_testrun
from tasks.warehouse import Warehouse

_QUERIES_AS_JSON, _JUDGEMENTS = "scores.json", "judgements.parquet"


def write_testrun_folder(
    folder: Path,
    scored: ScoredTestRun,
    source: Path,
    judged: Judged | None = None,
    untrusted: Sequence[str] = (),
    place: RunPlace | None = None,
) -> dict[str, Any]:
    """Writes the files and returns the summary. They take the places of those of before together, the summary last.

    `source` is the file that was scored, `judged` what the judge said of it, `untrusted` the metrics that people's
    labels do not bear out, `place` where the run stands among those of a warehouse. The same of all these give the same
    bytes, but for what the judge has cost this time.

    Raises:
        InputError: `source` was replaced since it was read; nothing is written.
        StorageError: the folder cannot be written; its files are unchanged.
    """
    refuse_replaced(source, scored.plan.run.identity)
    with replacing_together(folder, "summary.json", SCORE_FILES) as unfinished:
        plan = scored.plan
        scores, queries = scores_frame(scored), queries_frame(scored)
        write_parquet(unfinished / "scores.parquet", scores_schema(plan.rubric), [scores])
        write_parquet(unfinished / "queries.parquet", queries_schema(plan.rubric), [queries])
        write_parquet(unfinished / "rejected.parquet", REJECTED_SCHEMA, [rejected_frame(plan.run, plan.rubric.id)])
        summary = testrun_summary(scored, judged.summary() if judged else None, place)
        write_testrun_workbook(unfinished / WORKBOOK, scored, source, scores, queries, summary)
        if has_review_list(plan.rubric):
            write_review_list(unfinished / REVIEW_LIST, plan.rubric, queries)
        if plan.rubric.query_json:
            write_text(
                unfinished / _QUERIES_AS_JSON,
                json_text([plan.rubric.query_json(query) for query in scored.queries]),
                TABLE_MODE,
            )
        if judged:
            write_parquet(unfinished / _JUDGEMENTS, JUDGEMENTS_SCHEMA, [judgement_frame(judged.judgements)])
        report = _report_text(scored, summary, untrusted, is_judged=judged is not None)
        write_text(unfinished / "report.md", report)
        write_text(unfinished / "summary.json", json_text(summary))
        return summary


def _report_text(
    scored: ScoredTestRun, summary: Mapping[str, Any], untrusted: Sequence[str], *, is_judged: bool
) -> str:
    """The content of `report.md`: what all rubrics have in common, with the rubric's own part."""
    plan, change = scored.plan, summary["change"]
    return markdown(
        "testrun.md",
        headline=summary["headline"],
        report=testrun_report(plan.rubric, plan.run.name, scored.queries, scored.summary, plan.options),
        untrusted=[metric.title for metric in plan.rubric.metrics if metric.name in untrusted],
        judge=summary["judge"] if is_judged and scored.questions else None,
        recorded=summary["recorded"],
        change=change,
        moved=moved_queries(change).values() if change else (),
        alone="" if change else alone_text(summary),
        **change_parts(change),
        run=plan.run,
        lint=summary["lint"],
        names=query_names(scored.queries),
        query_examples=query_examples,
        status_titles=STATUS_TITLES,
        note_titles=NOTE_TITLES,
        lines_of_text=lines_of_text(plan.run.name),
        reject_causes=reject_causes(plan.run.rejects),
    )


def testrun_report(
    rubric: AnyTestRunRubric, name: str, queries: Sequence[ScoredQuery], summary: TestRunSummary, options: Options
) -> str:
    """The rubric's own part of `report.md`, of the file `name`; '' where nothing was scored."""
    if not queries:
        return ""
    return markdown(
        "report.md",
        Path(str(files(rubric.package))),
        name=name,
        queries=queries,
        names=query_names(queries),
        summary=summary,
        options=options,
        **REPORT_TABLES,
        **rubric.report_values(queries, summary, options),
    )


def scored_as_judged(plan: TestRunPlan, judged: Judged | None) -> ScoredTestRun:
    """Scores a run with what the judge said of it, by rules alone where nobody was asked."""
    return score_testrun(plan, judged.verdicts, judged.epochs) if judged else score_testrun(plan, {})


def write_testrun_results(
    folder: Path, warehouse: Warehouse, day: date, plan: TestRunPlan, judged: Judged | None, known: Warehouse
) -> dict[str, Any]:
    """Scores a run, as one of a day, with what the judge said of it; returns the summary.

    `known` is the warehouse with the runs that it is compared with, and people's labels.

    Raises:
        InputError: the file was replaced since it was read; nothing is written.
        StorageError: the folder or the warehouse cannot be written.
    """
    scored = scored_as_judged(plan, judged)
    untrusted = untrusted_metrics(read_trust(known), plan.rubric, scored.epochs)
    place = place_of(known, day, scored, judged.summary() if judged else None)
    summary = write_testrun_folder(folder, scored, Path(plan.run.identity.name), judged, untrusted, place)
    write_testrun(warehouse, day, scored, place, judged)
    return summary
