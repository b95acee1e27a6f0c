"""The report site as a step of a run: built from the warehouse, linked from Prefect."""

from dataclasses import dataclass
from pathlib import Path

from prefect.artifacts import create_link_artifact, create_markdown_artifact

from flows.runtime.clock import today
from flows.runtime.flow_run import show, step
from flows.runtime.prefect_env import is_prefect_gone
from flows.runtime.run_recorder import reason_of
from scoring.alerting.judge_messages import ModelEnd
from tasks.context import Context
from tasks.files.report_paths import LONGEST_BUILD_S, OVER_SERVICES, SITE_LOCK
from tasks.judge_quality.model_end import near_end
from tasks.reports.site.build import build_pages, build_services_pages
from tasks.reports.site.services_page import standing_of
from tasks.state.alert_choices import AlertChoices


@dataclass(frozen=True)
class SiteOutcome:
    """The first page of the site, or why it could not be built."""

    path: Path | None
    problems: tuple[str, ...] = ()


@step("site", run_name="site", timeout_s=1800)
def build_site(context: Context) -> Path:
    """Builds the site in the folder of the reports and shows its location as Prefect artifacts.

    Raises:
        StorageError: the folder cannot be written.
    """
    judge_end = near_end(context.state, context.settings.judge, today(context.settings.time_zone))
    if context.settings.is_of_several:
        return _build_over_services(context, judge_end)
    choices = AlertChoices(context.state)
    with context.warehouse.lock(SITE_LOCK, LONGEST_BUILD_S):
        built = build_pages(
            context.warehouse,
            context.rubric,
            context.reports.folder,
            context.settings.time_zone,
            policy=choices.policy(context.settings.alerts),
            snoozes=choices.every_snooze(),
            judge_end=judge_end,
            over_all=OVER_SERVICES if context.settings.service else None,
        )
    ending = f"-{context.settings.service}" if context.settings.service else ""
    _link(context, built.path, f"report-site{ending}", "품질 현황")
    if built.last_day_page:
        _link(context, built.last_day_page, f"report-last-day{ending}", "마지막으로 채점한 날")
    return built.path


def _build_over_services(context: Context, judge_end: ModelEnd | None) -> Path:
    """Builds the page over several services, and the pages that belong to none."""
    folder, zone = context.reports.folder, context.settings.time_zone
    with context.warehouse.lock("site-of-services", LONGEST_BUILD_S):
        standings = [standing_of(one) for one in context.services]
        built = build_services_pages(context.warehouse, standings, folder, zone, judge_end)
    _link(context, built.path, "report-site", "서비스별 품질 현황")
    return built.path


def site_after(context: Context) -> SiteOutcome:
    """Builds the site at the end of a run. A failure does not fail the run, because the tables are written."""
    try:
        return SiteOutcome(build_site(context))
    except Exception as error:
        if is_prefect_gone(error):
            raise
        return SiteOutcome(None, (f"the report site could not be built: {reason_of(error)}",))


def _link(context: Context, page: Path, key: str, text: str) -> None:
    """Shows the location of a page: a link if reports are served; browsers open no file from an http page."""
    if address := context.reports.address(page):
        show(create_link_artifact, key=key, link=address, link_text=text)
    else:
        show(create_markdown_artifact, key=key, markdown=f"`{page.resolve()}`", description=text)
