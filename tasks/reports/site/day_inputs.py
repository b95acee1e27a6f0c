"""What the pages of a day are made from, as one short text: with the same text the pages would be the same."""

from collections.abc import Iterable
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

import scoring
from scoring.chat.kpi_windows import FOUR_WEEKS
from scoring.chat.rubric import RowRubric
from tasks import reports
from tasks.chat.tables import EXCLUDED
from tasks.reports.site.scored_days import ScoredSpan
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import SCORES


def day_inputs(warehouse: Warehouse, rubric: RowRubric, scored: ScoredSpan, time_zone: str) -> dict[date, str]:
    """The text of each day of the span; '' where the warehouse cannot tell whether a day has changed."""
    days = [day.day for day in scored.days]
    versions = [warehouse.day_versions(table, days) for table in (SCORES, EXCLUDED)]
    known = [version for version in versions if version is not None]
    if len(known) < len(versions):
        return dict.fromkeys(days, "")
    kpis = {day: _digest(rows) for day, rows in sorted(scored.kpis.items())}
    same = (_program(), rubric.id, rubric.version, time_zone)
    reach = timedelta(2 * FOUR_WEEKS)
    found = {}
    for position, day in enumerate(scored.days):
        of_day = [
            *(version[day.day] for version in known),
            day.crosstab,
            day.alerts,
            day.decided,
            day.snoozes,
            day.provisional,
        ]
        compared = [digest for when, digest in kpis.items() if timedelta() <= day.day - when < reach]
        neighbours = days[max(position - 1, 0) : position + 2]
        found[day.day] = _digest([*same, *of_day, compared, neighbours])
    return found


def _digest(parts: Iterable[object]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(repr(part).encode(errors="surrogatepass") + b"\0")
    return digest.hexdigest()


@cache
def _program() -> str:
    """The program that makes the pages: whoever has changed a rule, a template or a script wants new pages."""
    folders = (Path(folder) for package in (scoring, reports) for folder in package.__path__)
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return _digest(sha256(path.read_bytes()).hexdigest() for path in files)
