"""The page of alerts in a real browser: its charts have room on a phone, for two months and for a year."""

import json
import re
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page as Tab

from benchmarks.alert_days import Load, kpi_days
from scoring.alerting.decision import WatchedDays
from scoring.alerting.preview import preview_for_all
from scoring.alerting.watch import AlertPolicy
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.reports.site.alert_pages import alerts_page
from tasks.reports.site.day_summaries import DaySummary
from tasks.reports.site.scored_days import Row, SpanTables, scored_days
from tests.browser.chromium import CHART_GEOMETRY, IN_CHROMIUM
from tests.builders.cases import portion
from tests.builders.kpi_tables import whole_rows

pytestmark = IN_CHROMIUM


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
        no_rows: dict[date, list[Row]] = {day: [] for day in days}
        tables = SpanTables(days, kpis, no_rows, no_rows, ())
        shown = scored_days(tables, watched.decided, (), (), ZoneInfo("Asia/Seoul"))
        without_rows = dict.fromkeys(days, DaySummary(listed=0, complete=True, failures=()))
        text = alerts_page(watched, preview_for_all(watched, days), shown, without_rows, (), "Asia/Seoul")
        (folder / f"alerts-{span}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("span", portion([60, 365]))
def test_the_charts_of_alerts_keep_their_room(year_of_alerts: Path, tab: Tab, span: int) -> None:
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


def test_the_labels_of_an_axis_differ_where_rates_and_counts_are_small(
    year_of_alerts: Path, tab: Tab, tmp_path: Path
) -> None:
    page = (year_of_alerts / "alerts-60.html").read_text(encoding="utf-8")
    found = re.search(r'(<script [^>]*id="chart-data">)(.*?)(</script>)', page, re.DOTALL)
    assert found
    charts = json.loads(found[2])
    of_page, chart = list(charts), next(iter(charts.values()))
    for rows in (10, 100, 1000, 10_000, 100_000):
        points = [one | {"count": 1, "rows": rows, "low": 0.0, "high": 1.5 / rows} for one in chart["points"]]
        charts[f"rate-{rows}"] = chart | {"points": points}
    for most in (0, 1, 2, 3, 2000):
        of_days = [{"day": one["day"], "href": "", "counts": [most, 0]} for one in chart["points"]]
        of_levels = {"kind": "shares", "names": ["Critical", "Warning"], "palette": "level", "normalize": False}
        charts[f"rows-{most}"] = {**of_levels, "rows": of_days, "first": chart["first"], "last": chart["last"]}
    made = [one for one in charts if one not in of_page]
    figures = "".join(f'<figure class="chart"><div data-chart="{one}"></div></figure>' for one in made)
    drawn = page.replace(found[0], f"{found[1]}{json.dumps(charts)}{found[3]}").replace("<main", f"{figures}<main", 1)
    (tmp_path / "small.html").write_text(drawn, encoding="utf-8")
    tab.goto((tmp_path / "small.html").as_uri())
    labels = tab.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-chart]")].map((one) => [one.dataset.chart,
        [...one.querySelectorAll('[aria-label="y-axis tick label"] text')].map((text) => text.textContent)]))"""
    )
    for one in made:
        shown = [label for label in labels[one] if label]
        assert len(set(shown)) == len(shown) >= (1 if one == "rows-0" else 2), (one, shown)
        if one.startswith("rows"):
            assert all(label.replace(",", "").isdecimal() for label in shown), (one, shown)  # there is no half a row
