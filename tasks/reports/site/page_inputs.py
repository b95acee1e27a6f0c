"""The inputs of each page as one digest: the same digest gives the same page.

A text is None where the warehouse cannot tell whether the rows behind a page have changed.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

import scoring
from scoring.alerting.facts import AlertFact
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpi_windows import FOUR_WEEKS
from scoring.chat.periods import Period
from scoring.chat.rubric import RowRubric
from tasks import reports
from tasks.chat.tables import EXCLUDED
from tasks.files.report_paths import ALERTS_PAGE, FIRST_PAGE, TESTRUNS, page_name, rows_page_name
from tasks.reports.site.scored_days import Row, ScoredSpan, SiteDay, SpanTables
from tasks.reports.site.testrun_tables import ShownTestRun
from tasks.testruns.warehouse import QUERIES
from tasks.testruns.warehouse import SCORES as TESTRUN_SCORES
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import SCORES

Inputs = str | None
_REACH = timedelta(2 * FOUR_WEEKS)
"""How far back from their last day pages look."""


class PageInputs:
    """The inputs of all pages, from small tables and from what the warehouse says of those whose rows are not read.

    Without a `rubric` there are pages of test runs alone.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        rubric: RowRubric | None,
        tables: SpanTables,
        runs: Sequence[ShownTestRun],
        time_zone: str,
        over_all: str | None = None,
    ) -> None:
        self._tables, self._runs = tables, runs
        rules = (rubric.id, rubric.version) if rubric else ()
        self._same = _digest(_program(), *rules, time_zone, (over_all,))
        self._kpis = {day: _digest_of_rows(rows) for day, rows in sorted(tables.kpis.items())}
        small = tables.crosstab, tables.alerts
        self._small = {day: [_digest_of_rows(rows[day]) for rows in small] for day in tables.days}
        versions = _versions(warehouse, (SCORES, EXCLUDED), tables.days)
        self._rows = {day: _digest(self._same, self._kpis[day], *versions[day]) for day in tables.days}
        versions = _versions(warehouse, (TESTRUN_SCORES, QUERIES), sorted({shown.run.day for shown in runs}))
        self._of_runs = [_digest(self._same, *shown.content, *versions[shown.run.day]) for shown in runs]

    def first_page(self, policy: AlertPolicy, snoozes: Sequence[Snooze], periods: Sequence[Period]) -> Inputs:
        """The inputs of the first page, which shows everything: while they are the same, those of all pages are."""
        own = (self._alerts_page(policy, snoozes), sorted(self._tables.provisional), list(periods))
        return _digest(*own, *self._small.values(), *self._rows.values(), *self._of_runs)

    def others(
        self,
        scored: ScoredSpan,
        policy: AlertPolicy,
        snoozes: Sequence[Snooze],
        made: Sequence[Period],
        periods: Sequence[Period],
    ) -> dict[str, Inputs]:
        """The inputs of every other page by its name; `scored` are the days of the same tables with what was decided.

        The `made` ones of the known `periods` get a page.
        """
        contents = {day.day: self._content(day) for day in scored.days}
        of_periods: dict[str, Inputs] = {}
        for one in made:
            pages = page_name(one), rows_page_name(one)
            of_periods |= dict.fromkeys(pages, self._period_page(one, contents, periods))
        return {
            **self._of_days(scored, contents),
            **of_periods,
            **self.of_testruns(),
            ALERTS_PAGE: self._alerts_page(policy, snoozes),
        }

    def _content(self, day: SiteDay) -> Inputs:
        """Everything that the site knows of a day."""
        decided = (dict(day.decided), list(day.snoozes), day.provisional, day.few)
        return _digest(self._rows[day.day], *self._small[day.day], *decided)

    def _of_days(self, scored: ScoredSpan, contents: Mapping[date, Inputs]) -> dict[str, Inputs]:
        """The inputs of the pages of days, without their links to the days beside them, and of the pages of rows."""
        found: dict[str, Inputs] = {}
        for day in scored.days:
            compared = [self._kpis[row["score_date"]] for row in scored.earlier_rows(day)]
            found[rows_page_name(day.day)] = self._rows[day.day]
            found[day.page] = _digest(contents[day.day], self._kpis_of(day.day), compared)
        return found

    def _period_page(self, period: Period, contents: Mapping[date, Inputs], periods: Sequence[Period]) -> Inputs:
        days = [inputs for day, inputs in contents.items() if day in period]
        beside = [one in periods for one in (period.before, period.after)]
        return _digest(self._kpis_of(period.last, period.before.first), beside, *days)

    def of_testruns(self) -> dict[str, Inputs]:
        """The inputs of the pages of test runs, of their sets, and of the list of all."""
        found, sets = {}, dict[str, list[Inputs]]()
        for shown, inputs in zip(self._runs, self._of_runs, strict=True):
            found[shown.name] = inputs
            sets.setdefault(shown.set_name, []).append(inputs)
        lists = {f"{TESTRUNS}/{FIRST_PAGE}": self._of_runs, **sets}
        return found | {name: _digest(self._same, *of_runs) for name, of_runs in lists.items()}

    def _alerts_page(self, policy: AlertPolicy, snoozes: Sequence[Snooze]) -> Inputs:
        chosen = vars(policy) | {
            "days_off": sorted(policy.days_off),
            "accepted": sorted(map(repr, policy.accepted.items())),
        }
        return _digest(self._same, self._kpis, *self._rows.values(), chosen, list(snoozes))

    def _kpis_of(self, last: date, first: date = date.max) -> list[Inputs]:
        """The KPIs of the days that a page looks at whose last day is this: eight weeks, and from `first` on."""
        return [inputs for day, inputs in self._kpis.items() if min(last - _REACH, first) <= day <= last]


def _versions(warehouse: Warehouse, tables: Sequence[str], days: Sequence[date]) -> dict[date, list[Inputs]]:
    """What the warehouse says of each table on each day."""
    versions = [warehouse.day_versions(table, days) for table in tables]
    return {day: [None if of_table is None else of_table[day] for of_table in versions] for day in days}


def _digest_of_rows(rows: Sequence[Row | AlertFact]) -> Inputs:
    """The digest of rows that come in any order."""
    return _digest(sorted(map(repr, rows)))


def _digest(*parts: object) -> Inputs:
    """One text for parts whose `repr` tells them apart and is the same in every process; None if one of them is."""
    if any(part is None for part in parts):
        return None
    return sha256("\0".join(map(repr, parts)).encode(errors="surrogatepass")).hexdigest()


@cache
def _program() -> str:
    """The program that makes the pages: a rule, a template or a script that has changed makes new pages."""
    folders = (Path(folder) for package in (scoring, reports) for folder in package.__path__)
    found = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    files = [path for path in found if path.parent.name != "__pycache__"]
    return "".join(sha256(path.read_bytes()).hexdigest() for path in files)
