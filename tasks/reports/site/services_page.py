"""The page over several services: where each of them stands, and the way to its pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from scoring.chat.conclusion import conclusion, verdicts_text
from scoring.chat.kpi_windows import FOUR_WEEKS, kpi_windows
from scoring.chat.kpis import rows_of_tenant
from scoring.days import day_text
from scoring.errors import AqbError
from tasks.chat.tables import KPIS, read_kpis
from tasks.config.addresses import SERVICES_FOLDER
from tasks.files.report_paths import JUDGE_PAGE
from tasks.reports.site.pages import Link, Table, page
from tasks.reports.wording import NOTHING

if TYPE_CHECKING:  # its settings take long to import
    from tasks.context import Context

_HEADER = ("서비스", "마지막으로 채점한 날", "목표", "한 줄 요약")


@dataclass(frozen=True)
class ServiceStanding:
    """A service, its last scored day (None without one), how its targets stand and what happened (Korean)."""

    name: str
    day: date | None
    verdicts: str
    summary: str


def standing_of(context: Context) -> ServiceStanding:
    """Where the service of a context stands; of one that cannot be read the summary says why."""
    name = context.settings.service
    try:
        rubric, warehouse = context.rubric, context.warehouse
        days = warehouse.days(KPIS)
        if not days:
            return ServiceStanding(name, None, NOTHING, "아직 채점한 날이 없습니다.")
        kpis = read_kpis(warehouse, rubric, days[-2 * FOUR_WEEKS :])
    except AqbError as error:
        return ServiceStanding(name, None, NOTHING, f"읽을 수 없습니다: {error.for_pages}")
    of_all = rows_of_tenant(kpis)
    windows = {kpi.name: kpi_windows(kpi, of_all, days[-1]) for kpi in rubric.targeted}
    total = of_all[days[-1]]
    happened = conclusion(rubric, windows, total["rows"], total, framed=0).happened
    return ServiceStanding(name, days[-1], verdicts_text(windows.values()), happened)


def page_over_all(name: str, root: str, over_all: str) -> str:
    """What stands in the site of one service in the place of a page that all of them share."""
    section, title = ("judge", "판정 모델") if name == JUDGE_PAGE else ("runs", "테스트 런")
    leads_to = f"{root}{over_all}{name}" if over_all else ""
    return page("over_all.html", root=root, section=section, title=title, leads_to=leads_to)


def services_page(services: list[ServiceStanding], *, section: str, leads_to: str) -> str:
    """The page, or with `leads_to` another one of the menu that each service has."""
    rows = [
        (
            Link(one.name, f"{SERVICES_FOLDER}/{one.name}/{leads_to}" if one.day else ""),
            day_text(one.day) if one.day else NOTHING,
            one.verdicts,
            one.summary,
        )
        for one in services
    ]
    table = Table(_HEADER, rows)
    return page("services.html", root="", section=section, title="서비스", services=table)
