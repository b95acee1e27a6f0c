"""The outcome of a nightly run as people and programs read it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from flows.cli.score_text import counts_text, kpi_line, no_judge_text
from flows.nightly import NightlyOutcome
from flows.steps.day_result import DayResult
from flows.test_runs import InboxOutcome
from scoring.alerting.facts import KPI_RULE
from scoring.chat.kpis import ALL_TENANTS
from tasks.config.settings import Settings


def outcome_text(outcome: NightlyOutcome, settings: Settings) -> str:
    """Counts, KPIs, alerts, and where tables and report are."""
    earlier = [f"{one.day}: {one.why}, {_fate(one)}" for one in outcome.earlier]
    if outcome.own.kept:
        return "\n".join(["", *earlier, f"{outcome.own.day}: {outcome.own.kept}", f"tables: {settings.warehouse}"])
    scored = outcome.scored
    lines = ["", *earlier, f"{scored.day}: {counts_text(vars(scored.counts))}"]
    lines += [kpi_line(name, figure.text) for name, figure in scored.figures.items()]
    facts = [fact for fact in scored.alerts if fact.tenant_id == ALL_TENANTS]
    if facts:
        lines.append("alerts:")
    for fact in facts:
        if fact.count is not None:
            count = f"{fact.count:,} of {fact.rows:,}"
        else:
            kpi = scored.figures[fact.rule.removeprefix(KPI_RULE)]
            count = f"{kpi.value_text} (target {kpi.target_text})"
        usual = f", usually {', '.join(map(str, fact.usual))}" if fact.usual else ""
        lines.append(f"  {fact.level:<9} {fact.rule:<26} {count}{usual}")
    lines += [f"tables: {settings.warehouse}", f"report: {scored.report}"]
    if outcome.site.path:
        lines.append(f"site: {outcome.site.path}")
    return "\n".join(lines)


def _fate(one: DayResult) -> str:
    """What became of an earlier day."""
    if one.kept:
        return "kept as it was"
    return "scored" if one.complete else "not complete"


def inbox_text(inbox: InboxOutcome, *, asked: bool) -> str:
    """The scored test runs with their means and reports, and how many files were left alone.

    `asked` says whether the judge was to be asked: that there was none is then said.
    """
    lines = [f"test runs: {len(inbox.scored)} scored, {len(inbox.failures)} failed, {inbox.known} scored before"]
    for run in inbox.scored:
        means = (
            f"{name} {value['mean']:.2f}"
            for name, value in run.summary["set"].items()
            if isinstance(value, Mapping) and value.get("mean") is not None
        )
        lines.append(
            f"  {run.name} ({run.summary['rubric']}): {', '.join(means)}\n    report: {run.folder / 'report.md'}"
        )
    unanswered = sum(run.summary["judge"]["by_status"].get("no_judge", 0) for run in inbox.scored)
    if unanswered and asked:
        lines.append(f"  {no_judge_text(unanswered, asked=asked)}")
    if inbox.arriving:
        lines.append(f"  still arriving, left for the next run: {', '.join(inbox.arriving)}")
    return "\n".join(lines)


def inbox_dict(inbox: InboxOutcome) -> dict[str, Any]:
    """The same for programs."""
    return {
        "scored": [{"name": run.name, "folder": str(run.folder), "summary": run.summary} for run in inbox.scored],
        "failures": list(inbox.failures),
        "known": inbox.known,
        "arriving": list(inbox.arriving),
    }


def outcome_dict(outcome: NightlyOutcome) -> dict[str, Any]:
    """The same for programs."""
    scored = outcome.own.outcome
    return {
        "run_id": scored and scored.run_id,
        "day": str(outcome.own.day),
        "kept": outcome.own.kept and str(outcome.own.kept),
        "counts": scored and asdict(scored.counts),
        "kpis": scored and scored.kpis,
        "figures": scored and {name: figure.as_dict() for name, figure in scored.figures.items()},
        "alerts": [asdict(fact) for fact in scored.alerts] if scored else [],
        "report": scored and str(scored.report),
        "site": str(outcome.site.path) if outcome.site.path else None,
        "earlier": [
            {
                "day": str(one.day),
                "why": one.why,
                "kept": one.kept is not None,
                "counts": one.outcome and asdict(one.outcome.counts),
            }
            for one in outcome.earlier
        ],
        "problems": list(outcome.problems),
        "test_runs": inbox_dict(outcome.test_runs) if outcome.test_runs else None,
    }
