"""The waiting times of a QA lead on the pages of `aqb web` during a morning, in Chromium."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect, sync_playwright

from benchmarks.children import input_file
from benchmarks.report import Scale, table
from benchmarks.site import ROWS_A_DAY
from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import RouteFilter
from tasks.alerts.day_messages import digest_of
from tasks.config.settings import MonitoringSettings, Settings
from tasks.context import Context
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.browser.chromium import CHROMIUM
from tests.builders.settings import settings_in
from tests.builders.uploads import RESUME
from tests.builders.web import served

_RULE = "weak_answer"
_READ, _LABELLED = 5, 10
_LONGEST_MS = 120_000


def web_morning(scale: Scale) -> str:
    """The steps of the morning over two months, in sequence, with the seconds of each."""
    warehouse = FolderWarehouse(Path(input_file("warehouse", scale.days_of_site, ROWS_A_DAY)))
    source = MonitoringSettings(source=input_file("parquet_file", ROWS_A_DAY))
    cost_s: dict[str, tuple[float, float]] = {}
    with (
        TemporaryDirectory() as folder,
        served(settings := settings_in(Path(folder), warehouse=warehouse.url, monitoring=source)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        tab = browser.new_page(base_url=address)
        tab.set_default_timeout(_LONGEST_MS)
        expect.set_options(timeout=_LONGEST_MS)
        for title, step in _steps(_link_of_message(settings, address)).items():
            began_cpu_s, began_s = time.process_time(), time.perf_counter()
            step(tab)
            cost_s[title] = (time.process_time() - began_cpu_s, time.perf_counter() - began_s)
        browser.close()
    return table(
        f"A morning in the browser: {scale.days_of_site} days of {ROWS_A_DAY:,} rows",
        ("", "CPU s of the server", "s"),
        [(title, f"{cpu_s:.1f}", f"{waited_s:.1f}") for title, (cpu_s, waited_s) in cost_s.items()],
        f"In all {sum(waited_s for _, waited_s in cost_s.values()):.1f} s of waiting, by a person who neither reads "
        "nor thinks. Browser, server and the process that scores share the cores.",
    )


def _link_of_message(settings: Settings, address: str) -> str:
    """The first link to rows in the messages of the latest day with any."""
    served_there = settings.model_copy(update={"web": settings.web.model_copy(update={"url": address})})
    with Context(served_there) as context:
        for day in reversed(context.warehouse.days(SCORES)):
            for message in day_messages(digest_of(context, day), RouteFilter()):
                if found := re.search(r'"url": "([^"]+/rows\?[^"]+)"', json.dumps(message.blocks)):
                    return found[1]
    raise LookupError("no day has told anything")


def _steps(link: str) -> dict[str, Callable[[Tab], None]]:
    return {
        "open the link of a message about a day": lambda tab: _open(tab, link),
        "filter to the first tenant": _filter_to_tenant,
        f"read {_READ} rows, each with its conversation": _read_rows,
        f"label {_LABELLED} questions by keyboard": _label,
        "keep a rule quiet": _snooze,
        "send a test run, see what was recognised": _send,
        "score it by rule": _score,
        "take the workbook home": _take_home,
    }


def _open(tab: Tab, address: str) -> None:
    tab.goto(address)
    expect(tab.locator("table.list tbody tr").first).to_be_visible()


def _filter_to_tenant(tab: Tab) -> None:
    tab.get_by_text("테넌트·등급·유형·알림").click()
    tab.locator("input[name=tenant]").first.check()
    tab.get_by_role("button", name="보기", exact=True).click()
    expect(tab.locator("a[aria-label^='테넌트:']")).to_have_count(1)


def _read_rows(tab: Tab) -> None:
    listed, links = tab.url, tab.locator("table.list tbody th a")
    for address in [link.get_attribute("href") for link in links.all()[:_READ]]:
        tab.goto(str(address))
        expect(tab.get_by_role("heading", name="어느 규칙이 몇 점을 주었나")).to_be_visible()
    tab.goto(listed)


def _label(tab: Tab) -> None:
    tab.goto("/review")
    tab.get_by_role("link", name="운영 대화 2026").first.click()
    done = 0
    while done < _LABELLED:
        tab.wait_for_load_state()
        if not tab.locator("button[name=label]").count():  # the source lacks these days, which repeat others
            tab.get_by_role("link", name="다음").click()
            continue
        tab.keyboard.press("4")
        done += 1
        expect(tab.locator("nav.steps").first).to_contain_text(f"{done}/")


def _snooze(tab: Tab) -> None:
    tab.goto("/alerts")
    tab.locator("select[name=rule]").select_option(_RULE)
    tab.get_by_label("언제까지").fill("2999-12-31")
    tab.get_by_label("이유").fill("새 프롬프트를 시험함")
    tab.get_by_role("button", name="일시 중지").click()
    expect(tab.get_by_role("cell", name="새 프롬프트를 시험함")).to_be_visible()


def _send(tab: Tab) -> None:
    tab.goto("/test-runs/index.html")
    tab.get_by_label("CSV, TSV, Excel").set_input_files(RESUME)
    tab.get_by_role("button", name="올리기").click()
    expect(tab.get_by_role("heading", name="인식한 내용")).to_be_visible()


def _score(tab: Tab) -> None:
    tab.get_by_role("button", name="규칙으로 채점").click()
    tab.get_by_role("link", name="결과 보기").click()
    expect(tab.get_by_role("heading", name="질의와 답변")).to_be_visible()


def _take_home(tab: Tab) -> None:
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="점수 워크북").click()
    saved.value.path()
