"""The plan and the outcome of a backfill as people and programs read them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flows.backfill import BackfillOutcome
from tasks.chat.day_plan import BackfillPlan, PlannedDay

_MEGABYTE = 1_000_000


def plan_text(plan: BackfillPlan, *, force: bool, allow_shrink: bool) -> str:
    """What would be done with each day and why, then the sums."""
    chosen = plan.to_score(force=force)
    kept = [] if allow_shrink else [planned for planned in chosen if planned.losses]
    return "\n".join(
        [
            *(planned.text(force=force, allow_shrink=allow_shrink) for planned in plan.days),
            f"{plan.days[0].day} to {plan.days[-1].day}: {_size(plan.days)}",
            f"  up to date: {sum(planned.up_to_date for planned in plan.days)} days",
            f"  to score:   {_size([planned for planned in chosen if planned not in kept])}",
            *([f"  kept:       {len(kept)} days that would shrink; --allow-shrink replaces them"] if kept else []),
            "  judge:      0 questions, 0 USD (chat rows are scored by rule alone)",
        ]
    )


def plan_dict(plan: BackfillPlan, *, force: bool, allow_shrink: bool) -> dict[str, Any]:
    """The same for programs, day by day."""
    chosen = {planned.day for planned in plan.to_score(force=force)}
    return {
        "days": [
            {
                "day": str(planned.day),
                "rows": planned.content.rows,
                "bytes": planned.content.bytes,
                "up_to_date": planned.up_to_date,
                "reason": "would shrink" if planned.losses and planned.day in chosen else planned.reason,
                "to_score": planned.day in chosen and (allow_shrink or not planned.losses),
                "losses": [asdict(one) for one in planned.losses],
            }
            for planned in plan.days
        ],
        "questions": 0,
        "usd": 0,
        "unread_files": [failure.file for failure in plan.failures],
    }


def outcome_text(outcome: BackfillOutcome) -> str:
    """Days and rows, in one line."""
    failed, kept = len(outcome.failed), sum(one.kept is not None for one in outcome.days)
    return (
        f"{len(outcome.days) - failed - kept} days scored, {outcome.up_to_date} up to date before, {failed} failed"
        + (f", {kept} kept as they were" if kept else "")
        + f"; {outcome.rows:,} rows"
    )


def outcome_dict(outcome: BackfillOutcome) -> dict[str, Any]:
    """The same for programs, day by day."""
    return {
        "days": [
            {
                "day": str(one.day),
                "complete": one.complete,
                "kept": one.kept is not None,
                "run_id": one.outcome and one.outcome.run_id,
                "counts": one.outcome and asdict(one.outcome.counts),
                "problems": list(one.problems),
            }
            for one in outcome.days
        ],
        "up_to_date": outcome.up_to_date,
    }


def _size(days: tuple[PlannedDay, ...] | list[PlannedDay]) -> str:
    rows, size = sum(planned.content.rows for planned in days), sum(planned.content.bytes for planned in days)
    return f"{len(days)} days, {rows:,} rows, {size / _MEGABYTE:,.1f} MB of text"
