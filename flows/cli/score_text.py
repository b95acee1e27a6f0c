"""What `aqb score` says: counts and figures of each input, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import AqbError

if TYPE_CHECKING:
    from tasks.judge.client import Estimate


@dataclass(frozen=True)
class ScoredFile:
    """The result of one input: the folder with its summary, or the error."""

    name: str
    folder: Path
    summary: dict[str, Any] | None = None
    error: AqbError | None = None


def score_text(scored: ScoredFile, *, asked: bool) -> str:
    """Counts, KPIs or means, and where the files are; one line for an input that could not be scored.

    `asked` says whether the judge was to be asked: without an endpoint it was not.
    """
    if scored.summary is None:
        return f"{scored.name}: not scored"
    counts = scored.summary["counts"]
    lines = [
        f"{scored.name + ': ' if scored.name else ''}{scored.summary['rubric']} {scored.summary['rubric_version']}, "
        f"{counts_text(counts)}"
    ]
    if "kpis" in scored.summary:
        lines += [kpi_line(name, kpi["text"]) for name, kpi in scored.summary["kpis"].items()]
    else:
        lines += [
            _mean_line(name, value) for name, value in scored.summary["set"].items() if isinstance(value, Mapping)
        ]
        if unanswered := scored.summary["judge"]["by_status"].get("no_judge"):
            lines.append(f"  {no_judge_text(unanswered, asked=asked)}")
    lines.append(f"  report: {scored.folder / 'report.md'}")
    return "\n".join(lines)


def counts_text(counts: Mapping[str, int]) -> str:
    """Where the rows of an input or a day went."""
    return (
        f"rows in {counts['rows_in']:,} = scored {counts['scored']:,} + excluded {counts['excluded']:,}"
        f" + rejected {counts['rejected']:,}"
    )


def kpi_line(name: str, text: str) -> str:
    """The line of one KPI."""
    return f"  {name:<22} {text}"


def no_judge_text(unanswered: int, *, asked: bool) -> str:
    """That nobody was asked, and what it takes to ask; `asked` says whether somebody wanted to."""
    ask = (
        "there is nobody to ask: set OPENAI_API_KEY or judge.base_url"
        if asked
        else "--judge asks one (OPENAI_API_KEY or judge.base_url)"
    )
    return f"no judge: what {unanswered:,} questions would tell is NULL; {ask}"


def score_errors(scored: Sequence[ScoredFile]) -> list[str]:
    """A line for each thing that went wrong."""
    lines = []
    for one in scored:
        if one.error:
            lines.append(f"error: {one.error}")
        if one.summary is None:
            continue
        lines += [f"error: {failure['error']}" for failure in one.summary["data_quality"].get("failed_files", [])]
        statuses = one.summary["judge"]["by_status"]
        if unanswered := {name: count for name, count in statuses.items() if name not in ("ok", "no_judge")}:
            counts = ", ".join(f"{count:,} {name}" for name, count in unanswered.items())
            lines.append(f"questions without a verdict: {counts}; their queries are marked for manual review")
        if rejected := one.summary["counts"]["rejected"]:
            lines.append(f"{rejected} rows rejected: {one.folder / 'rejected.parquet'} says which and why")
    return lines


def failed(scored: Sequence[ScoredFile]) -> bool:
    """Whether something was rejected or failed."""
    return bool(score_errors(scored))


def _mean_line(name: str, value: Mapping[str, Any]) -> str:
    mean = value.get("mean")
    return f"  {name}: {'not known' if mean is None else f'{mean:.4g}'} (n {value.get('n', '-')})"


def estimate_text(name: str, found: Estimate) -> str:
    """The estimate of one test run on one line."""
    cached = f"{found.from_store / found.questions:.0%}" if found.questions else "-"
    price = "unknown" if found.usd is None else f"{found.usd:.4f} USD"
    duration = "up to a day (batch)" if found.seconds is None else f"{found.seconds:,.0f} s"
    return (
        f"{name}: {found.questions:,} questions ({cached} already answered), about {found.tokens_in:,} tokens in and "
        f"{found.tokens_out:,} out, price {price}, time {duration}"
    )
