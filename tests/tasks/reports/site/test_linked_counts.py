"""Every linked count of every page, followed: it is the number of rows listed there, and of rows in the table.

LINKED_DAYS=31 LINKED_ROWS=400 is a month of the bundled sample (`make soak`).
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import reduce
from typing import Any
from urllib.parse import parse_qsl

import pytest

from scoring.chat.periods import month_of, week_of
from scoring.judging.masking import masked
from tasks.chat.tables import EXCLUDED
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import RUBRIC
from tests.builders.site import Page, build, pages, write_day
from tests.samples.chat_rows import generate_chat_rows

FIRST = date(2026, 3, 1)
DAYS = [FIRST + timedelta(days=day) for day in range(int(os.environ.get("LINKED_DAYS", "9")))]
ROWS_PER_DAY = int(os.environ.get("LINKED_ROWS", "40"))

Row = Mapping[str, Any]

COUNT = re.compile(r"[0-9,]+( \(.*\))?$")
# Of all rows, whatever their grade.
UNLINKED = {"채점", "제외", "n", "채점한 행", "행"}

# What a link asks for, in the words of the requirements, of a scored row or of an excluded one with an alert.
ASKED: dict[str, Callable[[Row, str], bool]] = {
    "flagged": lambda row, value: (
        row.get("a_grade") is not None and KPIS["gold_mine_rate"](row)
        if value == "framed"
        else row["alert_level"] is not None or row.get("final_grade") in ("C", "F")
    ),
    "tenant": lambda row, value: row["tenant_id"] == json.loads(value),
    "alert": lambda row, value: value in row["alert_rules"],
    "template": lambda row, value: row.get("user_input") is not None and RUBRIC.template(shown(row)) == value,
    "kpi": lambda row, value: row.get("a_grade") is not None and KPIS[value](row),
}
KPIS: dict[str, Callable[[Row], bool]] = {
    "answer_excellent_rate": lambda row: row["a_grade"] not in ("A", "B"),
    "failure_rate": lambda row: row["a_grade"] == "F",
    "gold_mine_rate": lambda row: row["q_tier"] in ("S", "A") and row["a_grade"] in ("D", "F"),
    "answer_says_no_data_rate": lambda row: row["answer_says_no_data"],
}


def shown(row: Row) -> str:
    return masked(row["user_input"]).strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[FolderWarehouse, dict[str, Page]]:
    """Days of sample rows and their pages."""
    folder = tmp_path_factory.mktemp("days")
    warehouse = FolderWarehouse(folder / "warehouse")
    for day in DAYS:
        rows = generate_chat_rows(day, 1, ROWS_PER_DAY, seed=5).to_pylist()
        write_day(warehouse, day, [row | {"session_id": row.pop("request_metadata")["session_id"]} for row in rows])
    build(warehouse, folder / "site")
    return warehouse, pages(folder / "site")


def linked_counts(found: Mapping[str, Page]) -> Iterator[tuple[str, str, int]]:
    """Page of rows, what is asked of it, and the number that leads there, in texts and in charts."""
    for page in found.values():
        points = [(chart["kind"], point) for chart in page.charts.values() for point in chart.get("points", ())]
        trend, rates = ([point for of, point in points if of == kind] for kind in ("trend", "rates"))
        drawn = [(point["label"].rpartition("\n")[2].removesuffix("행 보기"), point["href"]) for point in trend]
        rated = [(str(point["count"]), point["href"]) for point in rates if point["count"]]
        for text, href in [*page.links, *drawn, *rated]:
            path, _, fragment = href.partition("#")
            if fragment and path.endswith("-rows.html") and (number := re.match(r"[0-9,]+", text.strip())):
                yield path.rpartition("/")[2], fragment, int(number[0].replace(",", ""))


def listed_rows(page: Page) -> Callable[[str], int]:
    """How many rows of a page have what a link asks for, as its script finds them."""
    data = page.rows
    every = frozenset(range(len(data["id"])))
    rows_of: dict[tuple[str, str], set[int]] = {}
    for facet in data["facets"]:
        for place, value in enumerate(facet["values"]):
            has = (facet["of"][row] >> place & 1 if "many" in facet else facet["of"][row] == place for row in every)
            rows_of[facet["name"], value] = {row for row, it_has in zip(every, has, strict=True) if it_has}
    return lambda fragment: len(reduce(frozenset.__and__, map(rows_of.__getitem__, parse_qsl(fragment)), every))


def table_rows(warehouse: FolderWarehouse, days: Sequence[date]) -> list[Row]:
    """The scored rows of some days, and the excluded ones with an alert."""
    tables = (warehouse.read(name, days) for name in (SCORES, EXCLUDED))
    scored, excluded = (table.collect().to_dicts() if table is not None else [] for table in tables)
    return [*scored, *(row for row in excluded if row["alert_level"])]


def meets(row: Row, name: str, value: str) -> bool:
    return ASKED[name](row, value) if name in ASKED else str(row.get(name)) == value


@pytest.mark.long
def test_every_linked_count_is_the_number_of_rows_listed_and_of_rows_in_the_table(
    built: tuple[FolderWarehouse, dict[str, Page]],
) -> None:
    warehouse, found = built
    wanted: dict[str, dict[str, set[int]]] = {}
    for name, fragment, number in linked_counts(found):
        wanted.setdefault(name, {}).setdefault(fragment, set()).add(number)
    of_days = {f"{day}-rows.html": [day] for day in DAYS}
    periods = {period for day in DAYS for period in (week_of(day), month_of(day))}
    of_periods = {f"{one.key}-rows.html": [day for day in DAYS if day in one] for one in periods}
    assert set(wanted) == {*of_days, *of_periods}
    kinds = Counter(name for of_day in wanted.values() for asked in of_day for name, _ in parse_qsl(asked))
    grades = {scale.column for scale in RUBRIC.scales}
    assert set(kinds) == {*ASKED, *grades, "alert_level", "failure_type", "question_category"}
    assert kinds.total() > 50 * len(DAYS)
    for name, days in (of_days | of_periods).items():
        asked = wanted[name]
        rows, listed = table_rows(warehouse, days), listed_rows(found[f"monitoring/{name}"])
        in_table = {
            fragment: sum(all(meets(row, *one) for one in parse_qsl(fragment)) for row in rows) for fragment in asked
        }
        assert {fragment: {number} for fragment, number in in_table.items()} == asked, name
        assert {fragment: listed(fragment) for fragment in asked} == in_table, name


def test_each_rule_that_would_have_been_told_leads_to_its_rows(built: tuple[FolderWarehouse, dict[str, Page]]) -> None:
    warehouse, found = built
    titles = {rule.title: rule.id for rule in RUBRIC.alert_rules}
    told = [(titles.get(text.split(" · ")[0]), href) for text, href in found["alerts.html"].links if " · " in text]
    assert told
    for rule, href in told:
        day, _, fragment = href.removeprefix("monitoring/").partition("-rows.html#")
        asked = dict(parse_qsl(fragment))
        assert asked.pop("alert") == rule
        rows = [row for row in table_rows(warehouse, [date.fromisoformat(day)]) if rule in row["alert_rules"]]
        in_table = sum(all(meets(row, *one) for one in asked.items()) for row in rows)
        assert in_table == listed_rows(found[f"monitoring/{day}-rows.html"])(fragment)
        assert in_table


def test_first_sentences_of_days_and_periods_lead_to_the_rows_that_they_name(
    built: tuple[FolderWarehouse, dict[str, Page]],
) -> None:
    sentences = {name: re.search(r'class="lead first">(.*?)</p>', page.source) for name, page in built[1].items()}
    named = {name: text[1] for name, text in sentences.items() if text and "가장 먼저 볼 것은" in text[1]}
    assert {"index.html", "monitoring/month-2026-03.html", f"monitoring/{DAYS[0]}.html"} <= set(named)
    unlinked = [
        name for name, text in named.items() if not re.search(r'<a href="[^"]*-rows.html#[^"]+">[0-9,]+</a>행', text)
    ]
    assert unlinked == []


def test_counts_without_a_link_are_of_all_rows_or_stand_beside_their_day(
    built: tuple[FolderWarehouse, dict[str, Page]],
) -> None:
    """A count of rows with an alert, a failure type or a low grade has a link."""
    cells = (re.findall(r'<td data-title="([^"]*)">([0-9][^<]*)</td>', page.source) for page in built[1].values())
    titles = {title for found in cells for title, text in found if COUNT.match(text) and not text.startswith("0")}
    assert titles == UNLINKED


def test_linked_counts_lead_to_kpis_of_the_rubric_alone() -> None:
    assert {kpi.name for kpi in RUBRIC.quotients if kpi.is_rate} == set(KPIS)
