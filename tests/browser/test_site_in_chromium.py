"""The site in a real browser: nothing is refused, missing, unreadable or out of reach of the keyboard."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from scoring.catalog import row_rubric_of_text
from scoring.chat.periods import month_of, week_of
from scoring.testruns.team_names import COMMON_NAMES
from tasks.reports.markdown.comparison import comparison_page
from tasks.reports.site.build import build_pages
from tasks.testruns.answers import answers_side_by_side
from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import CHART_GEOMETRY, IN_CHROMIUM
from tests.builders.cases import portion
from tests.builders.chat_rows import DAY, refused
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.builders.site import SAMPLE_RUNS, build, of_version, pages, write_day, write_run
from tests.builders.testruns import crowded_rows, write_csv
from tests.samples.chat_rows import generate_chat_rows

pytestmark = IN_CHROMIUM

LONG_QUESTION = "어제 산 주식이 왜 이렇게 많이 떨어졌는지 뉴스와 실적을 함께 보고 차근차근 알려 줘"
HOSTILE = "</title></script><script>alert(1)</script>\u2028"
ROOT = Path(__file__).parents[2]
DAYS = [DAY + timedelta(days=offset) for offset in (0, 1, 3, 4)]
PERIODS = {period for day in DAYS for period in (week_of(day), month_of(day))}
ROWS_PER_DAY = 60
PHONE = {"width": 360, "height": 800}

OPEN_ALL = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"

# Every text with its colour, what lies behind it, and its size; opacity of ours is 1 everywhere.
TEXTS = """() => {
  const rgba = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const shown = (element) => element.checkVisibility() && element.getClientRects().length;
  const known = new Map();
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    if (!known.has(element)) {
      const [r, g, b, a = 1] = rgba(getComputedStyle(element).backgroundColor);
      known.set(element, a > 0 ? [r, g, b] : behind(element.parentElement));
    }
    return known.get(element);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !shown(element) || element.closest("script, style, option")) continue;
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement;
    found.push({
      text: text.slice(0, 40), ink: rgba(drawn ? style.fill : style.color), behind: behind(element),
      size: parseFloat(style.fontSize), bold: Number(style.fontWeight) >= 700,
    });
  }
  return found;
}"""

# The signs of the page that this machine's fonts show as they show a sign that no font has.
MISSING_GLYPHS = """() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 40;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.font = "24px " + getComputedStyle(document.body).fontFamily;
  const drawing = (sign) => {
    pen.clearRect(0, 0, 40, 40);
    pen.fillText(sign, 4, 30);
    return pen.getImageData(0, 0, 40, 40).data.join();
  };
  const nothing = drawing(String.fromCodePoint(0x10FFFF));
  const signs = new Set(document.documentElement.textContent.match(/[가-힣ㄱ-ㅎㅏ-ㅣ●▲■★←→≤≥×·–…~%]/gu));
  return { asked: signs.size, missing: [...signs].filter((sign) => drawing(sign) === nothing) };
}"""


# How many rows the page of rows lists for each fragment, as a reader would see it after a click on a link.
COUNT_ROWS = """async (fragments) => {
  const counts = [];
  for (const fragment of fragments) {
    const changed = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
    history.replaceState(null, "", "#nothing=1");
    location.hash = fragment;
    await changed;
    counts.push(document.querySelector("form.filter output").textContent.match(/가운데 ([0-9,]+)행/)[1]);
  }
  return counts;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four days with a gap and a new rubric version, hostile texts among them, and the three sample test runs."""
    folder = tmp_path_factory.mktemp("site")
    warehouse = FolderWarehouse(folder / "warehouse")
    hostile = refused(user_input=HOSTILE, tenant_id=HOSTILE)
    repeated = refused(user_input=LONG_QUESTION)
    for day in DAYS:
        table = generate_chat_rows(day, 1, ROWS_PER_DAY, seed=5).to_pylist()
        rows = [{**row, "session_id": row["request_metadata"]["session_id"]} for row in table]
        kept = [{name: value for name, value in row.items() if name != "request_metadata"} for row in rows]
        write_day(warehouse, day, [*kept[2:], repeated, repeated, hostile], of_version("0" if day == DAYS[0] else "1"))
    for path in SAMPLE_RUNS:
        write_run(warehouse, path, DAYS[-1])
    build(warehouse, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Test runs of 10, of 262 and of 2,000 executions that took 8 to 10 seconds each, and with one of ten minutes."""
    folder = tmp_path_factory.mktemp("crowded")
    warehouse = FolderWarehouse(folder / "warehouse")
    for executions, slowest_s in ((10, 10.0), (262, 10.0), (2_000, 10.0), (40, 600.0)):
        name = f"plan_agent_{executions}.csv"
        write_run(warehouse, write_csv(folder / name, crowded_rows(executions, slowest_s=slowest_s)), DAY)
    build(warehouse, folder / "site")
    return folder / "site"


def one_of_each(site: Path) -> list[str]:
    """A page of each kind: first, day, its rows, week, its rows, alerts, test runs, a test run, a test set."""
    (run,) = (site / "test-runs").glob("resume*.html")
    of_set = min((site / "test-runs").glob("set-*.html"))
    day = DAYS[-1]
    of_day = [f"monitoring/{of}{rows}.html" for of in (day, week_of(day).key) for rows in ("", "-rows")]
    of_runs = [f"test-runs/{name}" for name in ("index.html", run.name, of_set.name)]
    return ["index.html", *of_day, "alerts.html", *of_runs]


def test_every_page_draws_its_charts_and_every_link_resolves(site: Path, tab: Tab) -> None:
    found = pages(site)
    assert len(found) == 2 * (len(DAYS) + len(PERIODS)) + 2 * len(SAMPLE_RUNS) + 4  # with rows; a run, its test set
    broken = []
    for name, each in found.items():
        tab.goto((site / name).as_uri())
        drawn = tab.locator("[data-chart]:has(svg)").count()
        assert drawn == len(each.charts), name
        # Charts draw links too.
        hrefs = tab.evaluate("() => [...document.querySelectorAll('a')].map((a) => a.href.baseVal ?? a.href)")
        for href in sorted(set(hrefs)):
            target = urlsplit(href if "://" in href else f"{(site / name).parent.as_uri()}/{href}")
            path = Path(unquote(target.path)).resolve()
            key = path.relative_to(site).as_posix() if path.is_relative_to(site) else ""
            anchored = target.fragment and not key.endswith("-rows.html")
            if key not in found or (anchored and unquote(target.fragment) not in found[key].ids):
                broken.append(f"{name}: {href}")
    assert broken == []


def test_every_text_stands_out_from_what_lies_behind_it_in_light_and_dark(site: Path, tab: Tab) -> None:
    for name in one_of_each(site):
        tab.goto((site / name).as_uri())
        tab.evaluate(OPEN_ALL)
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            texts = tab.evaluate(TEXTS)
            assert len(texts) > 20
            faint = {
                (one["text"], ratio) for one in texts if (ratio := contrast(one["ink"], one["behind"])) < needed(one)
            }
            assert faint == set(), f"{name} in {scheme}"


def needed(text: dict[str, Any]) -> float:
    """The ratio that WCAG 2.2 AA asks for: 3 for large text."""
    return 3.0 if text["size"] >= 24 or (text["bold"] and text["size"] >= 18.66) else 4.5


def contrast(ink: list[float], behind: list[float]) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(color: list[float]) -> float:
        parts = [part / 255 for part in color[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(ink), luminance(behind)))
    return (light + 0.05) / (dark + 0.05)


SHOWN = "#listed-rows > li"


def test_filter_works_by_keyboard_alone(site: Path, tab: Tab) -> None:
    tab.goto((site / "monitoring" / f"{DAYS[-1]}-rows.html").as_uri())
    shown, output = tab.locator(SHOWN), tab.locator("form.filter output")
    flagged = shown.count()
    tab.locator("main").evaluate("(main) => { main.tabIndex = -1; main.focus(); }")
    tab.locator("input[type=search]").focus()
    tab.keyboard.type("ALERT(1)")
    expect(shown).to_have_count(1)
    expect(output).to_have_text(f"{ROWS_PER_DAY + 1}행 가운데 1행")
    tab.keyboard.type("없는 글")
    expect(shown).to_have_count(0)
    expect(tab.locator("#no-rows")).to_be_visible()
    tab.keyboard.press("Control+A")
    tab.keyboard.press("Delete")
    expect(shown).to_have_count(flagged)
    tab.keyboard.press("Tab")
    tab.keyboard.press("Home")  # all rows
    expect(output).to_have_text(f"{ROWS_PER_DAY + 1}행 가운데 {ROWS_PER_DAY + 1}행")
    tab.locator("#more-rows").focus()
    tab.keyboard.press("Enter")
    expect(shown).to_have_count(ROWS_PER_DAY + 1)
    expect(tab.locator("#more-rows")).to_be_hidden()
    assert flagged < ROWS_PER_DAY


def test_every_count_leads_to_exactly_as_many_rows(site: Path, tab: Tab) -> None:
    wanted: dict[str, dict[str, set[str]]] = {}
    for name, found in pages(site).items():
        points = [point for chart in found.charts.values() if chart["kind"] == "trend" for point in chart["points"]]
        drawn = [(point["label"].rpartition("\n")[2].removesuffix("행 보기"), point["href"]) for point in points]
        for text, href in [*found.links, *drawn]:
            if "-rows.html#" in href and re.match("[0-9]", text):
                path, _, fragment = href.partition("#")
                rows = (site / name).parent.joinpath(path).resolve().relative_to(site).as_posix()
                wanted.setdefault(rows, {}).setdefault(fragment, set()).add(re.split("[ (]", text)[0])
    assert len(wanted) == len(DAYS) + len(PERIODS)
    assert sum(map(len, wanted.values())) > 200
    for rows, counts in wanted.items():
        tab.goto((site / rows).as_uri())
        asked = portion(list(counts))
        found_counts = tab.evaluate(COUNT_ROWS, asked)
        assert [{count} for count in found_counts] == [counts[fragment] for fragment in asked], rows


def test_count_that_is_clicked_shows_these_rows(site: Path, tab: Tab) -> None:
    tab.goto((site / "index.html").as_uri())
    cell = tab.locator(".heat td a").first
    count, label = cell.locator("b").inner_text(), cell.get_attribute("aria-label") or ""
    cell.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/monitoring/*-rows.html#*")
    assert tab.locator(SHOWN).count() == int(count)
    grades = re.fullmatch(r"질문 (.+), 답변 (.+): .*", label)
    assert grades
    for meta in tab.locator(f"{SHOWN} .meta").all_inner_texts():
        assert re.search(rf"질문 \d+\({re.escape(grades[1])}\) · 답변 \d+\({re.escape(grades[2])}\)", meta), meta


def test_link_to_a_row_opens_its_explanation(site: Path, tab: Tab) -> None:
    tab.goto((site / "index.html").as_uri())
    tab.locator("ol.worst a").first.click()
    tab.wait_for_url("**/monitoring/*#row-*")
    assert tab.locator("li:target details[open] .why").is_visible()


def test_no_glyph_is_missing(site: Path, tab: Tab) -> None:
    asked = 0
    for name in one_of_each(site):
        tab.goto((site / name).as_uri())
        found = tab.evaluate(MISSING_GLYPHS)
        assert found["missing"] == [], name
        asked += found["asked"]
    assert asked > 300  # the same sign on two pages counts twice


def test_phone_shows_every_column_of_the_heat_map_and_what_is_usual_of_an_alert(site: Path, tab: Tab) -> None:
    tab.set_viewport_size({"width": 360, "height": 800})
    for name in ("index.html", f"monitoring/{DAYS[-1]}.html"):
        tab.goto((site / name).as_uri())
        for cells in (".heat thead th", ".alerts tbody tr:first-child td"):
            ends = tab.locator(cells).evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().right)")
            assert len(ends) >= 3
            assert max(ends) <= 360, f"{name}: {cells}"


def test_phone_never_scrolls_sideways(site: Path, tab: Tab) -> None:
    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name in one_of_each(site):
        tab.goto((site / name).as_uri())
        tab.evaluate(OPEN_ALL)
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], name


@pytest.mark.parametrize(("width", "tables"), [(768, ".heat"), (1440, ".heat, .asked, .runs")])
def test_screen_cuts_no_heat_map_and_a_wide_one_no_questions_and_runs(
    site: Path, tab: Tab, width: int, tables: str
) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    seen = 0
    for name in one_of_each(site):
        tab.goto((site / name).as_uri())
        rooms = tab.locator(f".scroll:has({tables})")
        seen += rooms.count()
        assert rooms.evaluate_all("(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length") == 0, name
    assert seen >= len(tables.split(", "))


def test_small_screen_shows_every_column_of_the_runs_of_a_test_set(site: Path, tab: Tab) -> None:
    tab.set_viewport_size({"width": 1024, "height": 768})
    for path in (site / "test-runs").glob("set-*.html"):
        tab.goto(path.as_uri())
        room = tab.locator(".scroll:has(.runs)")
        assert room.evaluate("(one) => one.scrollWidth - one.clientWidth") == 0, path.name


def test_phone_shows_every_column_of_tables_of_words(site: Path, tab: Tab) -> None:
    """Verdicts, changes, alerts: their last column says what it comes to."""
    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    seen = 0
    for name in one_of_each(site):
        tab.goto((site / name).as_uri())
        rooms = tab.locator(".scroll:has(.stacked, .causes)")
        seen += rooms.count()
        assert rooms.evaluate_all("(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length") == 0, name
    assert seen > 5


@pytest.mark.parametrize("width", portion([360, 768, 1440]))
def test_no_two_texts_of_a_chart_of_days_meet_and_nothing_leaves_its_card(site: Path, tab: Tab, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    for name in ("index.html", f"monitoring/{DAYS[-1]}.html"):
        tab.goto((site / name).as_uri())
        found = tab.evaluate(CHART_GEOMETRY)
        assert found["texts"] > 20
        assert (found["meeting"], found["outside"]) == ([], []), f"{name} at {width}"


@pytest.mark.parametrize("width", portion([360, 768, 1440]))
def test_no_two_texts_of_a_chart_meet_and_nothing_leaves_its_card(
    crowded: Path, site: Path, tab: Tab, width: int
) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    (long_titles,) = (site / "test-runs").glob("resume*.html")
    for path in [*sorted((crowded / "test-runs").glob("*-*.html")), long_titles]:
        tab.goto(path.as_uri())
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            found = tab.evaluate(CHART_GEOMETRY)
            assert found["charts"] >= 3
            assert found["texts"] > 20
            assert (found["meeting"], found["outside"]) == ([], []), f"{path.name} at {width} in {scheme}"


@pytest.mark.parametrize("width", portion([360, 768, 1440]))
def test_comparison_never_scrolls_sideways(tmp_path: Path, tab: Tab, width: int) -> None:
    ids = [str(UUID(int=number)) for number in range(3)]
    base, candidate = (
        scored_folder(tmp_path / name, [plan_row(id_, passes=passes, question="긴 질문 " * 40) for id_ in ids])
        for name, passes in (("base", True), ("candidate", False))
    )
    compared = base.rubric.compare(base.run_scores(), candidate.run_scores(), base.titles)
    answers = answers_side_by_side(base, candidate, compared.worse, COMMON_NAMES)
    (tmp_path / "c.html").write_text(comparison_page(compared, [], answers), encoding="utf-8")
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto((tmp_path / "c.html").as_uri())
    for summary in tab.get_by_text("답변 나란히 보기").all():
        summary.click()
    assert tab.get_by_text("무엇을 도와드릴까요?").count() == len(ids)
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= width


def test_causes_on_a_phone_are_no_towers(crowded: Path, tab: Tab) -> None:
    tab.set_viewport_size({"width": 360, "height": 800})
    for path in sorted((crowded / "test-runs").glob("*.html")):
        tab.goto(path.as_uri())
        heights = tab.locator("table.causes tbody tr").evaluate_all("(rows) => rows.map((row) => row.clientHeight)")
        assert heights
        assert max(heights) < 340


def test_lines_end_where_days_are_missing_or_the_rubric_changed(site: Path, tab: Tab) -> None:
    tab.goto((site / "index.html").as_uri())
    lines = tab.locator("[data-chart=trend-failure_rate] g[aria-label=line] path")
    assert lines.count() == 3  # one day of version 0; one of version 1; two after the missing day


def test_chart_writes_the_target_of_its_card_with_every_digit(tmp_path: Path, tab: Tab) -> None:
    text = (ROOT / "docs" / "examples" / "ola-monitoring.toml").read_text("utf-8")
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    rubric = row_rubric_of_text(text.replace("at_most = 0.03", "at_most = 0.0325"))
    write_day(warehouse, DAY, [refused()], rubric)
    build_pages(warehouse, rubric, tmp_path / "site", "Asia/Seoul")
    tab.goto((tmp_path / "site" / "index.html").as_uri())
    card = tab.locator(".kpi").filter(has_text="목표 3.25% 이하")
    expect(card.locator("svg")).to_contain_text("목표 3.25%")


def test_without_scripts_the_figures_are_still_there(site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((site / "index.html").as_uri())
    assert tab.locator(".kpi .value").first.is_visible()
    assert tab.locator("table.heat").is_visible()
    tab.locator(".figures-of summary").first.click()
    assert tab.locator(".figures-of table").first.is_visible()
    context.close()
