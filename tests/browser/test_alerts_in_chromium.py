"""The page of alerts in a real browser: its charts have room on a phone, for two months and for a year."""

import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page as Tab

from benchmarks.alert_days import Load, kpi_days
from scoring.alerting.decision import WatchedDays
from scoring.alerting.preview import preview_days
from scoring.alerting.watch import AlertPolicy
from scoring.markdown import percent
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.reports.site.alert_pages import alerts_page
from tasks.reports.site.day_summaries import DaySummary
from tasks.reports.site.scored_days import SpanTables, scored_days
from tests.browser.chromium import CHART_GEOMETRY, IN_CHROMIUM
from tests.builders.cases import portion
from tests.builders.kpi_tables import whole_rows

pytestmark = IN_CHROMIUM

_CHART_DATA = re.compile(r'(<script [^>]*id="chart-data">)(.*?)(</script>)', re.DOTALL)


@pytest.fixture(scope="module")
def year_of_alerts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of alerts over 60 and over 365 days, on the last 60 of which one rule is higher."""
    folder = tmp_path_factory.mktemp("alerts")
    rises = {"answer_failed": 1.6}
    drawn = kpi_days(Load(), 365, 3, lambda day, rule: rises.get(rule, 1.0) if day >= 305 else 1.0)
    kpis = whole_rows(drawn)
    watched = WatchedDays(RUBRIC, kpis, AlertPolicy())
    for span in (60, 365):
        days = sorted(kpis)[-span:]
        no_rows: dict[date, tuple[()]] = dict.fromkeys(days, ())
        tables = SpanTables(days, kpis, no_rows, no_rows, ())
        shown = scored_days(tables, watched.decided, (), (), ZoneInfo("Asia/Seoul"))
        without_rows = dict.fromkeys(days, DaySummary(listed=0, complete=True, repeated=0, failures=()))
        text = alerts_page(watched, preview_days(watched, days), shown, without_rows, (), "Asia/Seoul")
        (folder / f"alerts-{span}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("span", portion([60, 365]))
def test_charts_of_alerts_keep_their_room(year_of_alerts: Path, tab: Tab, span: int) -> None:
    path = year_of_alerts / f"alerts-{span}.html"
    assert path.stat().st_size < 1_500_000
    for width in (360, 768, 1440):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(path.as_uri())
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            found = tab.evaluate(CHART_GEOMETRY)
            assert found["charts"] == 7
            assert found["texts"] > 60
            assert (found["meeting"], found["outside"]) == ([], []), f"at {width} in {scheme}"


Drawing = dict[str, Any]


def chart_of(page: Path) -> Drawing:
    """What the first chart of the page draws."""
    found: dict[str, Drawing] = json.loads(_CHART_DATA.findall(page.read_text(encoding="utf-8"))[0][1])
    return next(iter(found.values()))


def draw(page: Path, charts: Mapping[str, Drawing], tab: Tab, folder: Path) -> None:
    """Opens the page with these charts in place of its own."""
    text = page.read_text(encoding="utf-8")
    figures = "".join(f'<figure class="chart"><div data-chart="{name}"></div></figure>' for name in charts)
    text = re.sub(r"<main.*</main>", f"<main>{figures}</main>", text, flags=re.DOTALL)
    drawn = folder / "drawn.html"
    drawn.write_text(_CHART_DATA.sub(lambda found: found[1] + json.dumps(charts) + found[3], text), encoding="utf-8")
    tab.goto(drawn.as_uri())


def axis_labels(page: Path, charts: Mapping[str, Drawing], tab: Tab, folder: Path) -> dict[str, list[str]]:
    """The labels of the vertical axis of charts."""
    draw(page, charts, tab, folder)
    labels: dict[str, list[str]] = tab.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-chart]")].map((one) => [one.dataset.chart,
        [...one.querySelectorAll('[aria-label="y-axis tick label"] text')].map((text) => text.textContent)]))"""
    )
    return {name: [label for label in of_chart if label] for name, of_chart in labels.items()}


def test_labels_of_an_axis_differ_however_small_the_rates(year_of_alerts: Path, tab: Tab, tmp_path: Path) -> None:
    page, charts = year_of_alerts / "alerts-60.html", {}
    chart = chart_of(page)
    for rows in (10, 100, 1_000, 10_000, 100_000):
        points = [one | {"count": 1, "rows": rows, "low": 0.0, "high": 1.5 / rows} for one in chart["points"]]
        charts[str(rows)] = chart | {"points": points}
    for rows_of_chart, labels in axis_labels(page, charts, tab, tmp_path).items():
        assert len(set(labels)) == len(labels) > 2, (rows_of_chart, labels)


def test_day_of_a_chart_has_its_share_as_the_texts_of_the_page_write_it(
    year_of_alerts: Path, tab: Tab, tmp_path: Path
) -> None:
    page = year_of_alerts / "alerts-60.html"
    chart = chart_of(page)
    counts = [(1, 20), (1, 12_777), (0, 500), (3, 3), (1, 333_333), (23, 80), (9_997, 10_000)]
    points = [one | {"count": count, "rows": of} for one, (count, of) in zip(chart["points"], counts, strict=False)]
    draw(page, {"one": chart | {"points": points}}, tab, tmp_path)
    dots = tab.locator("[data-chart=one] a[aria-label], [data-chart=one] circle[aria-label]")
    labels = dots.evaluate_all("(dots) => dots.map((dot) => dot.ariaLabel)")
    shares = [share[1] for label in labels if (share := re.search(r"행 \((.+?)\)", label))]
    written = ["5.0%", "0.01%", "0.0%", "100.0%", "0.0003%", "28.8%", "99.97%"]
    assert shares == [percent(count / of) for count, of in counts] == written


def test_axis_counts_whole_rows(year_of_alerts: Path, tab: Tab, tmp_path: Path) -> None:
    page, charts = year_of_alerts / "alerts-60.html", {}
    chart = chart_of(page)
    for most in (0, 1, 2, 3, 2_000):
        rows = [{"day": one["day"], "href": "", "counts": [most, 0]} for one in chart["points"]]
        of_levels = {"kind": "shares", "names": ["Critical", "Warning"], "palette": "level", "normalize": False}
        charts[str(most)] = {**of_levels, "rows": rows, "first": chart["first"], "last": chart["last"]}
    labels = axis_labels(page, charts, tab, tmp_path)
    assert (labels["0"], labels["1"], labels["2"]) == (["0"], ["0", "1"], ["0", "1", "2"])
    assert "2,000" in labels["2000"]


def test_first_days_that_know_little_of_what_is_usual_do_not_stretch_the_scale(
    year_of_alerts: Path, tab: Tab, tmp_path: Path
) -> None:
    page = year_of_alerts / "alerts-60.html"
    chart = chart_of(page)
    points = [one | {"count": 1, "rows": 1_000, "low": 0.0, "high": 0.002} for one in chart["points"]]
    points[0]["high"] = 0.5
    (labels,) = axis_labels(page, {"one": chart | {"points": points}}, tab, tmp_path).values()
    assert labels[-1] == "0.4%"
