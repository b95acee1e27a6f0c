"""The pictures of README and docs, drawn from synthetic rows: `make pictures`. Needs Chromium, Korean fonts and emoji.

No test compares them: other fonts draw other pixels.
"""

import csv
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx2
import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright

from scoring.alerting.messages import RouteFilter
from scoring.chat.row_filter import RowFilter
from scoring.chat.rubric import RowRubric
from scoring.days import days_between
from tasks.alerts.day_messages import digest_of, messages_of_day
from tasks.chat.local_engine import LocalEngine
from tasks.chat.sources import ChatRowFiles, ChatRowSource, open_source
from tasks.chat.tables import write_alerts
from tasks.config.alerts import AlertsSettings
from tasks.config.settings import MonitoringSettings
from tasks.context import Context
from tasks.reports.site.build import build_pages
from tasks.samples import SAMPLE_DAYS, SAMPLE_FIRST_DAY
from tasks.warehouse import Warehouse
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.row_search import RowOrder
from tests.builders.alert_messages import MADE
from tests.builders.chat_rows import RUBRIC
from tests.builders.settings import settings_in
from tests.builders.site import SAMPLE_RUNS, build, write_run
from tests.builders.testruns import write_csv
from tests.builders.uploads import PLAN, kept
from tests.builders.web import served
from tests.fakes.slack_page import page
from tests.flows.prefect_server import started_server
from tests.samples import support_bot
from tests.samples.chat_rows import SAMPLE_SEED, TIME_ZONE, generate_chat_rows

PICTURES: Final = Path(__file__).parents[1] / "pictures"
CHROMIUM: Final = "/usr/bin/chromium"
AQB: Final = Path(sys.executable).with_name("aqb")
LAST_DAY: Final = SAMPLE_FIRST_DAY + timedelta(days=SAMPLE_DAYS - 1)
DAYS: Final = 28
ROWS_ON_BUSINESS_DAYS, ROWS_ON_WEEKENDS = 770, 200
INCIDENT_SHARE: Final = 0.06
_SATURDAY = 5
_RUN_ID: Final = "5f0e3a3c1b7c4a5d9e2f8a6b4c1d0e7f"
_STARTER: Final = Path(__file__).parents[2] / "flows" / "cli" / "starter_rubric.toml"
_REFUSED: Final = """
[alerts.refused]
level = "warning"
when = "failure_type = 'refused'"
title = "The bot refused"
action = "Read the questions: which of them should it be able to answer?"
"""


def draw(folder: Path) -> None:
    """Draws all pictures; `folder` gets what is drawn."""
    warehouse = FolderWarehouse(folder / "warehouse")
    for day in days_between(LAST_DAY - timedelta(days=DAYS - 1), LAST_DAY):
        _score_day(warehouse, day, folder)
    for path in SAMPLE_RUNS:
        write_run(warehouse, path, LAST_DAY)
    build(warehouse, folder / "site")
    overview = folder / "site" / "index.html"
    _shoot(overview.as_uri(), "dashboard-desktop", 1280, 1640)
    _shoot(overview.as_uri(), "dashboard-phone", 390, 1400, scale=2)
    draw_messages(folder)
    draw_support_bot(folder / "support-bot")
    source = MonitoringSettings(source=str(folder / f"{LAST_DAY}.parquet"))
    with served(settings_in(folder, monitoring=source)) as address:
        _shoot(f"{address}{_sent(address, folder)}?rubric=aqb-1.2", "web-upload", 1280, 1460)
        _shoot(f"{address}/rows?final_grade=F&final_grade=C", "web-rows", 1280, 1500)
        _shoot(f"{address}/alerts", "web-alerts", 1280, 1180)
        _shoot(f"{address}/review/rows/{LAST_DAY}", "web-review", 1280, 900)
        _shoot(f"{address}/rows/{_worst_row(warehouse)}", "web-row", 1280, 1100)
    draw_prefect(folder)


def _sent(address: str, folder: Path) -> str:
    """The page of a sample run that was sent, one row of which cannot be read."""
    with PLAN.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    rows[4][rows[0].index("방/반복")] = "첫 방"
    with httpx2.Client(base_url=address) as client:
        return kept(client, PLAN.name, write_csv(folder / PLAN.name, rows).read_bytes())


def draw_messages(folder: Path) -> None:
    """Draws every message as Slack shows it: to look at a wording before anybody else has to."""
    for name, made in MADE.items():
        message = folder / f"message-{name}.html"
        message.write_text(page(made().blocks), encoding="utf-8")
        _shoot(message.as_uri(), message.stem, 760, 200, full_page=True)


def draw_support_bot(folder: Path) -> None:
    """Draws the last of two weeks of the how-to's support bot: the page of the day and the message about it."""
    days = days_between(support_bot.LAST_DAY - timedelta(days=13), support_bot.LAST_DAY)
    rubric = folder / "support-bot.toml"
    folder.mkdir()
    rubric.write_text(_STARTER.read_text(encoding="utf-8") + _REFUSED, encoding="utf-8")
    source = MonitoringSettings(source=str(folder / "data"), rubric=str(rubric), columns=support_bot.COLUMNS)
    settings = settings_in(
        folder, time_zone="UTC", monitoring=source, alerts=AlertsSettings(reports_url="https://aqb.example.com")
    )
    with Context(settings) as context:
        for day in days:
            support_bot.write_day(folder / "data" / f"{day}.jsonl", day)
            _write_scored_day(
                context.warehouse, day, open_source(folder / "data" / f"{day}.jsonl", settings), context.rubric, "UTC"
            )
        build_pages(context.warehouse, context.rubric, folder / "site", settings.time_zone)
        digest = replace(digest_of(context, support_bot.LAST_DAY), run_id=_RUN_ID)
        ((_, messages_for),) = messages_of_day(context, digest)
    _shoot((folder / "site" / "monitoring" / f"{support_bot.LAST_DAY}.html").as_uri(), "support-bot-page", 1280, 1400)
    (message,) = messages_for(RouteFilter(), {})
    shown = folder / "message.html"
    shown.write_text(page(message.blocks), encoding="utf-8")
    _shoot(shown.as_uri(), "support-bot-digest", 760, 200, full_page=True)


def draw_prefect(folder: Path) -> None:
    """Draws what Prefect shows of three nights, whose rows are in `folder`: the runs, the last one, its alerts."""
    home, nights = folder / "prefect", folder / "nights"
    home.mkdir()
    nights.mkdir()
    with started_server(home, pages=True) as api:
        variables = {"PREFECT_API_URL": api, "AQB_MONITORING__SOURCE": str(folder / "*.parquet")}
        for day in days_between(LAST_DAY - timedelta(days=2), LAST_DAY):
            command = [str(AQB), "nightly", "--date", str(day)]
            subprocess.run(command, cwd=nights, env=os.environ | variables, check=True)  # noqa: S603 - our own
        asked = {"sort": "START_TIME_DESC", "flows": {"name": {"any_": ["nightly"]}}}
        last_run = httpx2.post(f"{api}/flow_runs/filter", json=asked).json()[0]["id"]
        of_run = {"artifacts": {"flow_run_id": {"any_": [last_run]}}}
        artifacts = {one["key"]: one["id"] for one in httpx2.post(f"{api}/artifacts/filter", json=of_run).json()}
        alerts = artifacts["monitoring-alerts"]
        address = api.removesuffix("/api")
        _shoot(f"{address}/runs", "prefect-runs", 1280, 1000, settle_s=10)
        _shoot(f"{address}/runs/flow-run/{last_run}", "prefect-run", 1280, 500, settle_s=10)
        _shoot(f"{address}/artifacts/artifact/{alerts}", "prefect-alerts", 1280, 500, settle_s=10)


def _worst_row(warehouse: FolderWarehouse) -> str:
    """The address of a row with rules to explain."""
    search = warehouse.row_search(RUBRIC)
    wanted, order = RowFilter(LAST_DAY, LAST_DAY, rules=("answer_failed",)), RowOrder("final_score", descending=False)
    return f"{LAST_DAY}/{search.rows(wanted, ['row_id'], order, 0, 1).item()}"


def _score_day(warehouse: FolderWarehouse, day: date, folder: Path) -> None:
    rows = ROWS_ON_WEEKENDS if day.weekday() >= _SATURDAY else ROWS_ON_BUSINESS_DAYS
    source = folder / f"{day}.parquet"
    pq.write_table(generate_chat_rows(day, 1, rows, SAMPLE_SEED, {LAST_DAY: INCIDENT_SHARE}), source)
    _write_scored_day(warehouse, day, ChatRowFiles([source]), RUBRIC, TIME_ZONE)


def _write_scored_day(warehouse: Warehouse, day: date, source: ChatRowSource, rubric: RowRubric, zone: str) -> None:
    with warehouse.staging("pictures") as staging:
        scored = LocalEngine(source, warehouse, rubric, zone, "flagged", staging).score(day)
        scored.write()
    write_alerts(warehouse, day, rubric, scored.outcome.counts.rejected)


def _shoot(
    address: str, name: str, width: int, height: int, scale: int = 1, *, full_page: bool = False, settle_s: float = 0
) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
        shown.goto(address)
        shown.wait_for_timeout(settle_s * 1000)
        shown.screenshot(path=PICTURES / f"{name}.png", full_page=full_page)
        browser.close()


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        draw(Path(made))
