"""Every count that the pages of review, agreement and alerts show is what SQL over the tables counts."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import duckdb
import polars as pl
import pytest
from starlette.testclient import TestClient

from scoring.alerting.messages import Message
from scoring.chat.review_draw import DRAWN
from scoring.days import days_between
from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.alerts.outbox import Outbox
from tasks.alerts.rule_rates import snooze_rule
from tasks.chat.tables import KPIS
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.review.label_store import KeptLabel, LabelStore
from tasks.review.questions import row_questions
from tasks.state.alert_choices import AlertChoices
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import DAY, RUBRIC, plain, refused
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.state import opened
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page
from tests.tasks.web.conftest import DAYS

pytestmark = pytest.mark.long

AT = datetime(2026, 3, 1, tzinfo=UTC)
PEOPLE = ("reviewer", "operator")
LAST = DAY + timedelta(days=9)
BUSINESS_DAYS = [date(2026, 2, 13), date(2026, 2, 19), date(2026, 2, 20)]  # before and after the lunar new year

# The verdict of each person on each item that counts: the last one, unless it took the one before back.
COUNTING = """
    SELECT * FROM (
        SELECT * FROM labels QUALIFY row_number() OVER (PARTITION BY row_id, metric, reviewer ORDER BY id DESC) = 1
    ) WHERE label <> ''
"""
# Beside the score of the row, both as places on the scale of grades.
COMPARED = f"""
    SELECT row_id, l.reviewer, list_position($scale, l.label) AS said, list_position($scale, s.a_grade) AS scored
    FROM ({COUNTING}) AS l JOIN scores AS s USING (row_id) WHERE l.metric = 'a_grade'
"""


def sql(settings: Settings, query: str, **values: Any) -> list[tuple[Any, ...]]:
    """What a query finds in the files of the warehouse and the state database."""
    with duckdb.connect() as tables, closing(sqlite3.connect(settings.state_url.removeprefix("sqlite:///"))) as state:
        for name, table in (("scores", SCORES), ("kpis", KPIS)):
            tables.execute(f"CREATE VIEW {name} AS SELECT * FROM '{settings.warehouse}/{table}/*.parquet'")
        for (name,) in state.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            tables.register(name, pl.read_database(f"SELECT * FROM {name}", state, infer_schema_length=None).to_arrow())
        return tables.execute(query, values or None).fetchall()


def table_of(client: TestClient, address: str, section: str) -> list[list[str]]:
    """The cells of the table of a section, row by row, as they are read."""
    part = client.get(address).text.split(f'id="{section}"')[1].split("</section>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in part.split("<tr>") if "<td" in row]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in rows]


def label(row_id: str, metric: str, grade: str, reviewer: str, minute: int = 0) -> KeptLabel:
    at = AT + timedelta(minutes=minute)
    return KeptLabel(
        labelled_at=at,
        rubric=RUBRIC.id,
        rubric_version=RUBRIC.version,
        row_id=row_id,
        metric=metric,
        label=grade,
        reviewer=reviewer,
    )


def test_review_page_counts_questions_and_verdicts_as_sql_does(
    settings: Settings, web_warehouse: FolderWarehouse
) -> None:
    questions = row_questions(web_warehouse, RUBRIC, DAYS[:2])
    asked = [one for of_day in questions.values() for one in of_day[:5]]
    given = [one.answered(one.choices[0].label, "", name, AT) for one in asked for name in PEOPLE]
    taken_back = [replace(one, label="") for one in given[:3]]
    # What a workbook brought of a row is no answer to a question that is asked here.
    brought = label(given[0].row_id, RUBRIC.final_scale.column, RUBRIC.final_scale.codes[0], "operator")
    with opened(LabelStore, settings.state_url) as store:
        store.add([*given, brought, replace(brought, reviewer="workbook")])
        store.add(taken_back)
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        rows = table_of(client, "/review", "lists")
        for day, (name, done, begun) in zip(reversed(DAYS), rows, strict=True):
            total, mine, people = expected_progress(settings, day)
            assert name.startswith(f"운영 대화 2026년 2월 {day.day}일")
            assert (done, begun) == (f"판정 {mine}/{total}", ", ".join(people) or "–")
            assert f"{mine}/{total} 판정함" in opened_page(client, f"/review/rows/{day}").text


def expected_progress(settings: Settings, day: date) -> tuple[int, int, list[str]]:
    """How many questions a day has, how many of them `operator` has answered, and who has begun."""
    ((flagged, borderline, other),) = sql(
        settings,
        f"""
        WITH kinds AS (
            SELECT coalesce(nullif(session_id, ''), row_id) AS session, alert_level IS NOT NULL AS flagged,
                list_bool_or([edge - 2 <= q_score AND q_score < edge + 2 FOR edge IN [20, 40, 60, 80]])
                OR list_bool_or([edge - 2 <= a_score AND a_score < edge + 2 FOR edge IN [20, 40, 65, 85]]) AS edge
            FROM scores WHERE score_date = '{day}'
        )
        SELECT count(DISTINCT session) FILTER (flagged), count(DISTINCT session) FILTER (NOT flagged AND edge),
            count(DISTINCT session) FILTER (NOT flagged AND NOT edge) FROM kinds
        """,
    )
    sessions = zip(DRAWN.values(), (flagged, borderline, other), strict=True)
    people = sql(
        settings,
        f"""
        SELECT l.reviewer, count(*) FROM ({COUNTING}) AS l JOIN scores AS s USING (row_id)
        WHERE s.score_date = '{day}' AND l.metric IN ('q_tier', 'a_grade') GROUP BY 1 ORDER BY 1
        """,
    )
    return 2 * sum(map(min, sessions)), dict(people).get("operator", 0), [name for name, _ in people]


def test_agreement_page_counts_labels_pairs_and_kappa_as_sql_does(settings: Settings) -> None:
    (scale,) = (one for one in RUBRIC.scales if one.column == "a_grade")
    with opened(LabelStore, settings.state_url) as store:
        ids = [row_id for (row_id,) in sql(settings, "SELECT row_id FROM scores ORDER BY row_id LIMIT 12")]
        for place, person in enumerate((*PEOPLE, "kim")):
            said = (scale.codes[(n * (place + 1) + n // 5) % len(scale.codes)] for n in range(12))
            store.add([label(row_id, scale.column, code, person) for row_id, code in zip(ids, said, strict=True)])
        changed = label(ids[0], scale.column, scale.codes[-1], "kim", 1)
        store.add([changed, label(ids[1], scale.column, "", "kim", 1), label("gone", scale.column, "A", "kim")])
    values = {"scale": list(scale.codes)}
    ((labels, compared),) = sql(
        settings, f"SELECT (SELECT count(*) FROM ({COUNTING})), (SELECT count(*) FROM ({COMPARED}))", **values
    )
    with_score = f"SELECT '' AS people, scored AS one, said AS other FROM ({COMPARED})"
    of_two = f"""
        SELECT a.reviewer || ' · ' || b.reviewer AS people, a.said AS one, b.said AS other
        FROM ({COMPARED}) AS a JOIN ({COMPARED}) AS b ON a.row_id = b.row_id AND a.reviewer < b.reviewer
    """
    of_scores, of_people = (sql(settings, agreement_sql(pairs), **values) for pairs in (with_score, of_two))
    ((apart,),) = sql(
        settings,
        f"SELECT count(*) FROM (SELECT 1 FROM ({COMPARED}) GROUP BY row_id "
        "HAVING greatest(max(said), max(scored)) > least(min(said), min(scored)))",
        **values,
    )
    with browser(settings) as client:
        address = "/review/agreement?every=1"
        text = opened_page(client, address).text
        assert (labels, compared) == (36, 35)
        assert f"라벨 {labels}개" in text
        assert f"{labels - compared}개는 점수가 없어" in text
        assert f"어긋난 것 {apart}개" in text
        assert len(table_of(client, address, "apart")) == apart
        title = RUBRIC.titles[scale.column]
        metrics, people = table_of(client, address, "metrics"), table_of(client, address, "people")
    assert [figures(row) for row in metrics] == [(title, RUBRIC.title, *found) for _, *found in of_scores]
    (together,) = (row for row in people if len(row) == 5)
    of_two_people = sorted((row[0], *figures(row[1:])) for row in people if row is not together)
    assert of_two_people == [(name, title, RUBRIC.title, *found) for name, *found in of_people]
    several = f"SELECT * FROM ({COMPARED}) QUALIFY count(*) OVER (PARTITION BY row_id) > 1"
    counts = sql(settings, f"SELECT count(DISTINCT reviewer), count(DISTINCT row_id) FROM ({several})", **values)
    assert together[:4] == [title, RUBRIC.title, *map(str, counts[0])]


def figures(row: Sequence[str]) -> tuple[str, ...]:
    """The cells of a row up to kappa, without its interval."""
    return (*row[:4], row[4].split(" ")[0])


def agreement_sql(pairs: str) -> str:
    """Pairs, the share of equal ones and linear kappa, each as the page writes it, by who is compared."""
    return f"""
        WITH pairs AS ({pairs})
        SELECT people, count(*)::VARCHAR, printf('%.1f%%', 100 * avg((one = other)::INT)),
            replace(printf('%.2f', 1 - avg(abs(one - other)) / (
                SELECT avg(abs(x.one - y.other)) FROM pairs AS x JOIN pairs AS y USING (people)
                WHERE x.people = pairs.people
            )), '-', '−')
        FROM pairs GROUP BY people ORDER BY people
    """


@pytest.fixture(scope="module")
def rising_warehouse(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """Nine quiet days of two tenants, with fewer rows on days off, and one on which most answers are refused."""
    warehouse = FolderWarehouse(tmp_path_factory.mktemp("rising"))
    quiet = [plain(session_id=f"s{n}", tenant_id=f"t{n % 2}") for n in range(40)]
    for day in days_between(DAY, LAST - timedelta(days=1)):
        write_day(warehouse, day, quiet[: 40 if day in BUSINESS_DAYS else 30])
    write_day(warehouse, LAST, [*quiet[:9], *(refused(session_id=f"r{n}", tenant_id=f"t{n % 2}") for n in range(29))])
    return warehouse


@pytest.fixture
def rising(tmp_path: Path, rising_warehouse: FolderWarehouse) -> Settings:
    return settings_in(tmp_path, warehouse=rising_warehouse.url)


def test_alerts_page_leads_from_each_incident_to_as_many_rows_as_sql_counts(rising: Settings) -> None:
    with browser(rising) as client:
        page = opened_page(client, "/alerts")
        found = {href: dict(parse_qsl(urlsplit(href).query)) for _, href in page.links if href.startswith("/rows?")}
        assert {"answer_failed", "final_failed"} <= {wanted["alert"] for wanted in found.values()}
        for href, wanted in found.items():
            tenant, where = wanted.get("tenant", "*"), f"score_date = '{wanted['last']}'"
            ((counted,),) = sql(
                rising, f"SELECT alert_{wanted['alert']} FROM kpis WHERE {where} AND tenant_id = '{tenant}'"
            )
            where += f" AND '{tenant}' IN ('*', tenant_id) AND list_contains(alert_rules, '{wanted['alert']}')"
            assert sql(rising, f"SELECT count(*) FROM scores WHERE {where}") == [(counted,)]
            assert f"{wanted['last']}, {counted}행" in opened_page(client, href).text
    (said,) = re.findall(r"에는 ((?:[가-힣 ]+으로 [0-9]+건(?:, )?)+)을 알립니다", page.text)
    listed = page.source.split('id="routes"')[0].split('id="going-on"')[0].count("<li>")
    assert sum(int(count) for count in re.findall("([0-9]+)건", said)) == listed


def test_alerts_page_counts_the_rows_of_a_usual_day_as_sql_does(rising: Settings) -> None:
    usual = sql(
        rising,
        "SELECT list_contains($business, score_date) AS works, round(median(rows))::INT FROM kpis "
        "WHERE tenant_id = '*' GROUP BY works",
        business=BUSINESS_DAYS,
    )
    assert len(usual) == 2
    with browser(rising) as client:
        shown = {(row[1], row[2]) for row in table_of(client, "/alerts", "past") if len(row) == 6}  # one a rule
    assert shown == {("업무일" if works else "쉬는 날", str(rows)) for works, rows in usual}


def test_alerts_page_lists_as_many_messages_and_snoozes_as_sql_counts(rising: Settings) -> None:
    with opened(Outbox, rising.state_url) as outbox:
        for number in range(53):
            outbox.put("team", "", [Message("digest", "warning", (f"k{number}",), f"m{number}", [])], AT)
        for message in outbox.waiting()[:5]:
            outbox.record(message, Delivery(DeliveryStatus.SENT), AT)
    with Context(rising) as context:
        for tenant in ("*", "t0", "t1"):
            snooze_rule(context, "answer_failed", tenant, date(9998, 12, 31), "시험", "kim", AT)
        AlertChoices(context.state).end_snooze("answer_failed", "t0", AT)
    with browser(rising) as client:
        sent, snoozed = table_of(client, "/alerts", "sent"), table_of(client, "/alerts", "snoozes")
    latest = "SELECT sent_at IS NOT NULL AS sent FROM alert_messages ORDER BY id DESC LIMIT 50"
    ((listed, delivered),) = sql(rising, f"SELECT count(*), count(*) FILTER (sent) FROM ({latest})")
    assert (len(sent), sum("보냄" in row[2] for row in sent)) == (listed, delivered)
    assert len(snoozed) == sql(rising, "SELECT count(*) FROM alert_snoozes WHERE ended_at IS NULL")[0][0]
