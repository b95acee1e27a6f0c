"""The page of agreement: figures of the labels that count, and the items on which people and scores differ."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from scoring.catalog import rubric_title
from tasks.config.settings import Settings
from tasks.review.label_store import KeptLabel, LabelStore
from tasks.review.trust import compared_labels, pairs_of_people
from tasks.state.audit_log import AuditLog
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import DAY, RUBRIC
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.builders.settings import settings_in
from tests.builders.site import Page, write_run
from tests.builders.state import opened
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page
from tests.tasks.web.conftest import PHONE

PAGE = "/review/agreement"
SCALE = RUBRIC.final_scale
AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def rows(web_warehouse: FolderWarehouse) -> Sequence[tuple[str, str]]:
    """Four rows with their grades."""
    scores = web_warehouse.read(SCORES, None, RUBRIC.scores_schema)
    assert scores is not None
    return list(scores.sort("row_id").select("row_id", SCALE.column).head(4).collect().iter_rows())


def label(row_id: str, grade: str, reviewer: str) -> KeptLabel:
    return KeptLabel(
        labelled_at=AT,
        rubric=RUBRIC.id,
        rubric_version=RUBRIC.version,
        row_id=row_id,
        metric=SCALE.column,
        label=grade,
        reviewer=reviewer,
    )


def other(grade: str) -> str:
    """The grade at the other end."""
    return SCALE.codes[0] if grade != SCALE.codes[0] else SCALE.codes[-1]


def keep(settings: Settings, *labels: KeptLabel) -> None:
    with opened(LabelStore, settings.state_url) as store:
        store.add(labels)


def differing(page: Page) -> list[str]:
    return [href.rpartition("/")[2] for _, href in page.links if href.startswith("/rows/20")]


def test_agreement_page_counts_the_verdicts_that_count_now(settings: Settings, rows: list[tuple[str, str]]) -> None:
    (first, grade), *others = rows
    agreeing = [label(row_id, own, "operator") for row_id, own in others]
    keep(settings, label(first, grade, "operator"), *agreeing)
    changed = replace(label(first, other(grade), "operator"), labelled_at=AT + timedelta(hours=1))
    keep(settings, changed, label("no such row", grade, "operator"))
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        page = opened_page(client, PAGE)
        assert f"{RUBRIC.titles[SCALE.column]} {RUBRIC.title} 4 75.0%" in page.text
        assert "라벨 5개 가운데 4개를 지금의 점수와 비교했습니다" in page.text
        assert "1개는 점수가 없어" in page.text
        assert differing(page) == [first]
        (link,) = [href for _, href in page.links if href.endswith(first)]
        assert first in opened_page(client, link).text
        keep(settings, replace(changed, label=""))
        assert f"{RUBRIC.titles[SCALE.column]} {RUBRIC.title} 3 100.0%" in opened_page(client, PAGE).text


def test_agreement_page_names_a_row_by_its_masked_question(settings: Settings, web_warehouse: FolderWarehouse) -> None:
    scores = web_warehouse.read(SCORES, None, RUBRIC.scores_schema)
    assert scores is not None
    of_phone = scores.filter(pl.col("user_input").str.contains(PHONE)).select("row_id", SCALE.column).collect()
    row_id, grade = of_phone.row(0)
    keep(settings, label(row_id, other(grade), "local"))
    with browser(settings) as client:
        page = opened_page(client, PAGE)
    assert [text for text, href in page.links if href.endswith(row_id)] == [f"{DAY} 제 번호는 [전화번호] 입니다"]


def test_agreement_page_shows_nobody_an_item_that_they_have_still_to_judge(
    settings: Settings, rows: list[tuple[str, str]]
) -> None:
    (seen, _), (unseen, _), *_ = rows
    wrong = {row_id: other(grade) for row_id, grade in rows}
    keep(settings, *(label(row_id, wrong[row_id], "operator") for row_id in (seen, unseen)))
    keep(settings, label(seen, wrong[seen], "reviewer"))
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "reviewer")
        page = opened_page(client, PAGE)
        assert differing(page) == [seen]
        assert unseen not in page.source
        assert "판정하지 않은 1개" in page.text
        assert sorted(differing(opened_page(client, f"{PAGE}?every=1"))) == sorted([seen, unseen])
        with opened(AuditLog, settings.state_url) as log:
            assert [(one.who, one.target) for one in log.latest(1)] == [("reviewer", "모두")]
        client.cookies.clear()
        log_in(client, "reader")
        assert sorted(differing(opened_page(client, PAGE))) == sorted([seen, unseen])


def test_agreement_page_compares_two_people_and_lists_where_they_differ(
    settings: Settings, rows: list[tuple[str, str]]
) -> None:
    (split, grade), *both = rows
    keep(settings, *(label(row_id, own, name) for row_id, own in both for name in ("reviewer", "operator")))
    keep(settings, label(split, grade, "operator"), label(split, other(grade), "reviewer"))
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        page = opened_page(client, PAGE)
    assert f"operator · reviewer {RUBRIC.titles[SCALE.column]} {RUBRIC.title} 4 75.0%" in page.text
    assert differing(page) == [split]


def test_agreement_page_without_labels_says_so(settings: Settings) -> None:
    with browser(settings) as client:
        page = opened_page(client, PAGE)
        assert "아직 라벨이 없습니다. 검토 목록 에서 판정하면" in page.text
        assert ("검토 목록", "/review") in page.links


def test_agreement_page_leads_to_the_question_of_a_test_run(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    run = scored_folder(Path(settings.reports) / "test-runs" / "plan-1", [plan_row("Q0", passes=False)])
    write_run(FolderWarehouse(Path(settings.warehouse)), run.folder / "plan_agent_made.csv", DAY, "plan-agent")
    said = KeptLabel(
        labelled_at=AT,
        rubric="plan-agent",
        rubric_version="1",
        input_sha256=run.summary["inputs"][0]["sha256"],
        query_id="Q0",
        round="1/1",
        metric="accuracy",
        label="4",
        reviewer="local",
    )
    keep(settings, said)
    with browser(settings) as client:
        page = opened_page(client, PAGE)
        assert "0.00점 local: 4.00점" in page.text
        (link,) = [href for _, href in page.links if href.startswith("/review/runs/plan-1?item=")]
        assert "자동 점수" in client.get(link).text
        (text,) = [text for text, href in page.links if href == link]
        assert text == f"{run.queries['query_text'][0]} · 1/1"
        assert rubric_title("plan-agent") in page.text


def test_pairs_of_people_hold_every_two_verdicts_of_an_item_once(
    settings: Settings, rows: list[tuple[str, str]], web_warehouse: FolderWarehouse
) -> None:
    (row_id, _), *_ = rows
    given = {name: label(row_id, grade, name) for name, grade in zip("cab", SCALE.codes, strict=False)}
    (compared,) = compared_labels(list(given.values()), RUBRIC, web_warehouse)
    places = {name: SCALE.codes[::-1].index(one.label) for name, one in given.items()}
    found = pairs_of_people(compared.pairs)
    assert {people: [(pair.score, pair.label) for pair in pairs] for people, pairs in found.items()} == {
        (first, second): [(places[first], places[second])] for first, second in ("ab", "ac", "bc")
    }
