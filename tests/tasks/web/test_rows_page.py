"""The pages of rows: what they count, show, hide and lead to."""

import math
import re
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlencode

import polars as pl
import pytest
from starlette.testclient import TestClient

from scoring.chat.templates import question_template
from tasks.config.alerts import AlertsSettings
from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.context import Context
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import RUBRIC, plain, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.settings import settings_in
from tests.builders.site import Page, write_day
from tests.builders.web import browser, opened_page
from tests.tasks.web.conftest import DAYS, HOSTILE, PHONE

EVERY_DAY = {"first": str(DAYS[0]), "last": str(DAYS[-1])}


@pytest.fixture
def scores(web_warehouse: FolderWarehouse) -> pl.DataFrame:
    rows = web_warehouse.read(SCORES, None, RUBRIC.scores_schema)
    assert rows is not None
    return rows.collect()


def rows(client: TestClient, **asked: str) -> Page:
    return opened_page(client, f"/rows?{urlencode(asked)}")


def headline(page: Page) -> int:
    found = re.search(r"([0-9,]+)행", page.text)
    assert found
    return int(found[1].replace(",", ""))


def test_rows_page_begins_with_the_last_scored_days(client: TestClient, scores: pl.DataFrame) -> None:
    assert client.get("/").headers["location"] == "/rows"
    page = rows(client)
    assert f"{DAYS[0]} ~ {DAYS[-1]}, {scores.height}행" in page.text


def test_rows_page_says_below_its_bars_which_day_had_how_many_rows(client: TestClient, scores: pl.DataFrame) -> None:
    said = [f"{day.month}월 {day.day}일 {scores.filter(score_date=day).height}행" for day in DAYS]
    assert " ".join(said) in rows(client).text


@pytest.mark.parametrize("asked", [{"final_grade": "F"}, {"tenant": "-"}])
def test_rows_page_leads_from_every_mark_to_exactly_its_rows(client: TestClient, asked: dict[str, str]) -> None:
    page = rows(client, **EVERY_DAY, **asked)
    marks = [(text, href) for text, href in page.links if href.startswith("/rows?") and "q_tier=" in href]
    days = [found for found in page.all("a") if re.match(r"[0-9]+월", str(found.get("aria-label") or ""))]
    counts = [int(str(one["aria-label"]).split(": ")[1].split("행")[0]) for one in days]
    assert marks
    assert sum(headline(opened_page(client, href)) for _, href in marks) == headline(page) == sum(counts)
    for one, count in zip(days, counts, strict=True):
        assert headline(opened_page(client, str(one["href"]))) == count


def test_rows_page_gives_the_mean_score_of_its_rows_and_of_those_of_each_day(
    client: TestClient, scores: pl.DataFrame
) -> None:
    page, by_day = rows(client, **EVERY_DAY), scores.group_by("score_date").agg(pl.mean("final_score"))
    means = [scores["final_score"].mean(), *by_day.sort("score_date")["final_score"]]
    said = [page.text, *(str(one["aria-label"]) for one in page.all("a") if "평균" in str(one.get("aria-label")))]
    assert [float(re.findall("평균 [^0-9]*([0-9.]+)점", text)[0]) for text in said] == pytest.approx(means, abs=0.05)


def test_rows_page_lists_rows_in_the_order_and_columns_that_were_asked(
    client: TestClient, scores: pl.DataFrame
) -> None:
    page = rows(client, **EVERY_DAY, sort="final_score", show="final_score")
    shown = [text.split()[0] for text, href in page.links if re.match(r"/rows/20", href)]
    expected = scores.sort("final_score")["final_score"].head(50)
    assert [float(one) for one in shown] == expected.to_list()
    assert len(page.all("th", scope="col", aria_sort="ascending")) == 1


def test_rows_page_turns_pages_until_the_last_row(client: TestClient) -> None:
    seen: list[str] = []
    address = f"/rows?{urlencode({**EVERY_DAY, 'sort': 'timestamp'})}"
    for _ in range(9):
        page = opened_page(client, address)
        seen += [href for _, href in page.links if href.startswith("/rows/20")]
        following = page.all("a", rel="next")
        if not following:
            break
        address = str(following[0]["href"])
    assert len(seen) == len(set(seen)) == headline(rows(client, **EVERY_DAY)) > 50


def test_rows_page_beyond_the_last_one_leads_back_to_it(client: TestClient) -> None:
    last = math.ceil(headline(rows(client, **EVERY_DAY)) / 50)
    page = rows(client, **EVERY_DAY, page="99")
    assert "이 쪽에는 행이 없습니다" in page.text
    assert page.all("table", **{"class": "causes list"}) == []
    (address,) = [href for text, href in page.links if text == f"마지막 쪽({last}쪽) 보기"]
    back = opened_page(client, address)
    assert [href for _, href in back.links if href.startswith("/rows/20")]
    assert not back.all("a", rel="next")


def test_rows_page_masks_personal_data_unless_the_role_may_see_it(settings: Settings, client: TestClient) -> None:
    asked = {**EVERY_DAY, "text": "제 번호는"}
    hidden = rows(client, **asked)
    assert "[전화번호]" in hidden.text
    assert PHONE not in hidden.source
    with browser(settings, WebSettings(personal_data="operator")) as seeing:
        assert PHONE in rows(seeing, **asked).source


@pytest.mark.parametrize("part", [PHONE, "1234", "010", "0", "5678 입니다"])
def test_rows_page_finds_nothing_that_it_masks(settings: Settings, client: TestClient, part: str) -> None:
    asked = {**EVERY_DAY, "first": str(DAYS[0]), "last": str(DAYS[0]), "text": part}
    seeing_settings = WebSettings(personal_data="operator")
    with browser(settings, seeing_settings) as seeing:
        found = set(hrefs(rows(seeing, **asked)))
        hidden_row = {href for href in found if PHONE in opened_page(seeing, href).source}
    assert hidden_row
    assert not hidden_row & set(hrefs(rows(client, **asked)))


def test_rows_page_finds_the_masked_text_that_people_read(client: TestClient) -> None:
    (row,) = hrefs(rows(client, **EVERY_DAY, text="제 번호는"))
    assert "제 번호는 [전화번호] 입니다" in opened_page(client, row).text
    for part in ("제 번호는 [전화번호] 입니다", "[전화번호]"):
        assert hrefs(rows(client, **EVERY_DAY, text=part)) == [row]
    assert headline(rows(client, **EVERY_DAY, text="[전화번호] 없음")) == 0


def test_words_beside_a_label_keep_a_search_from_looking_at_every_row(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.web.row_results._MOST_CHECKED", 1)
    assert headline(rows(client, **EVERY_DAY, text="제 번호는 [전화번호] 입니다")) == 1


def hrefs(page: Page) -> list[str]:
    return [href for _, href in page.links if href.startswith("/rows/20")]


def test_rows_page_shows_what_people_wrote_as_text_alone(client: TestClient) -> None:
    page = rows(client, **EVERY_DAY, text="alert(1)", tenant=HOSTILE)
    assert headline(page) == 2
    assert page.scripts == []
    assert page.source.count("<script") == 0
    assert HOSTILE in page.text


def test_rows_page_finds_the_questions_of_a_template(client: TestClient, scores: pl.DataFrame) -> None:
    template = question_template("하늘전자 주가 어때", stocks=True)
    same = [text for text in scores["user_input"].drop_nulls() if question_template(text, stocks=True) == template]
    assert len(same) == 6
    assert headline(rows(client, **EVERY_DAY, template=template)) == 6
    for nowhere in ("{종목} 배당락일", "(" * 250, "\0"):
        assert headline(rows(client, **EVERY_DAY, template=nowhere)) == 0


def test_rows_page_filters_by_hours_of_the_day_in_the_zone_of_the_settings(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    from_noon = [plain() for _ in range(7)]
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], from_noon, apart=timedelta(minutes=20))
    with browser(settings) as client:
        assert headline(rows(client, hour="12")) == 3
        both = opened_page(client, "/rows?hour=12&hour=14")
    assert headline(both) == 4
    assert "시각: 12시 ✕ 시각: 14시 ✕" in both.text


def test_rows_page_says_what_is_asked_for_and_takes_each_condition_away(client: TestClient) -> None:
    page = rows(client, **EVERY_DAY, final_grade="F", failure_type="refused_advice", highest="20")
    without = {text.strip(): href for text, href in page.links if "✕" in text}
    assert [*without] == ["종합 등급: F 실패 ✕", "실패 유형: 거절: 투자 자문(법률) ✕", "점수: 20점까지 ✕"]
    assert "highest" in without["종합 등급: F 실패 ✕"]
    assert "final_grade" not in without["종합 등급: F 실패 ✕"]


@pytest.mark.parametrize(
    "asked",
    [{"first": "gestern"}, {"final_grade": "Z"}, {"lowest": "many"}, {"first": "2026-03-01", "last": "2026-02-01"}],
)
def test_rows_page_says_in_words_what_cannot_be_asked(client: TestClient, asked: dict[str, str]) -> None:
    answer = client.get("/rows", params=asked)
    assert answer.status_code == 400
    assert "잘못된 조건" in answer.text


@pytest.mark.parametrize(
    "asked", [{"page": "0"}, {"page": "-1"}, {"page": "x"}, {"sort": "llm_response"}, {"show": "x"}]
)
def test_rows_page_passes_over_a_page_order_or_column_that_is_none(client: TestClient, asked: dict[str, str]) -> None:
    assert headline(rows(client, **asked)) > 0


def test_rows_page_beyond_the_last_one_and_of_nothing_are_pages(client: TestClient) -> None:
    assert hrefs(rows(client, page="99")) == []
    assert "조건을 빼거나 기간을 넓히세요" in rows(client, text="없는 말").text


def test_rows_page_of_days_that_are_not_scored_leads_to_the_last_one_that_is(client: TestClient) -> None:
    page = opened_page(client, "/rows?first=2999-01-01&last=2999-01-02&final_grade=F")
    assert "이 기간에는 채점한 날이 없습니다" in page.text
    (last,) = [href for text, href in page.links if str(DAYS[-1]) in text]
    assert headline(opened_page(client, last)) == headline(rows(client, first=str(DAYS[-1]), final_grade="F")) > 0


@pytest.mark.parametrize(
    ("asked", "scored", "unscored"),
    [
        ({"alert": "llm_blocked"}, 1, 5),
        ({"alert": "llm_blocked", "tenant": "-"}, 0, 2),
        ({"alert": "llm_blocked", "lowest": "1"}, 1, 0),
        ({"alert": "llm_blocked", "hour": "12"}, 1, 5),
        ({"alert": "llm_blocked", "hour": "3"}, 0, 0),
        ({"alert": "answer_failed"}, 1, 0),
        ({}, 4, 0),
    ],
)
def test_rows_page_says_how_many_rows_of_an_alert_have_no_answer_to_show(
    tmp_path: Path, asked: dict[str, str], scored: int, unscored: int
) -> None:
    """A message of an outage counts them, and leads here."""
    lost = [
        plain(llm_response=None, input_tokens=0.0, output_tokens=0.0, tenant_id=tenant)
        for tenant in ("t1", "t1", "t2", None, None)
    ]
    settings = settings_in(tmp_path)
    turns = [*lost, *(plain() for _ in range(3)), refused(output_tokens=0.0)]
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], turns)
    with browser(settings) as client:
        page = rows(client, **asked)
    assert headline(page) == scored
    assert re.findall(r"채점하지 않은 ([0-9,]+)행", page.text) == ([str(unscored)] if unscored else [])


@pytest.mark.parametrize(
    ("served", "last", "leads"),
    [("https://aqb.example/r", 0, True), ("https://aqb.example/r", 1, False), ("", 0, False)],
)
def test_rows_page_leads_to_the_rows_of_an_alert_that_it_does_not_show(
    tmp_path: Path, served: str, last: int, leads: bool
) -> None:
    settings = settings_in(tmp_path, alerts=AlertsSettings(reports_url=served))
    lost = plain(llm_response=None, input_tokens=0.0, output_tokens=0.0)
    for day in DAYS[:2]:
        write_day(FolderWarehouse(Path(settings.warehouse)), day, [plain(), lost])
    with browser(settings) as client:
        asked = {"first": str(DAYS[0]), "last": str(DAYS[last]), "alert": "llm_blocked"}
        links = dict(opened_page(client, f"/rows?{urlencode(asked)}").links)
    to_report = f"{served}/monitoring/{DAYS[0]}-rows.html#alert=llm_blocked"
    assert links.get("보고서의 행 페이지") == (to_report if leads else None)


def test_row_page_explains_each_rule_and_shows_the_conversation(client: TestClient) -> None:
    (address,) = hrefs(rows(client, first=str(DAYS[0]), last=str(DAYS[0]), text="HYPERLINK"))
    page = opened_page(client, address)
    assert "=HYPERLINK(1)" in page.text
    assert page.text.count("점수") >= 3
    assert "+" in page.text
    (address,) = hrefs(rows(client, first=str(DAYS[0]), last=str(DAYS[0]), text="구름전자"))
    turns = opened_page(client, address).text.split("이 세션의 앞뒤")[1]
    assert "제 번호는 [전화번호]" in turns
    assert turns.index("제 번호는") < turns.index("구름전자")


def test_row_page_shows_the_turns_of_its_session_from_the_day_before_to_the_day_after(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    for place in range(4):
        turns = [refused(user_input=f"질문 {place}"), refused(user_input=f"혼자 {place}", session_id=None)]
        write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0] + timedelta(days=place), turns)
    with browser(settings) as client:
        ((in_session,), (alone,)) = (hrefs(rows(client, text=text, **EVERY_DAY)) for text in ("질문 1", "혼자 1"))
        assert re.findall("질문 [0-9]", opened_page(client, in_session).text)[1:] == ["질문 0", "질문 1", "질문 2"]
        assert re.findall("혼자 [0-9]", opened_page(client, alone).text) == ["혼자 1"]


@pytest.mark.parametrize("tenant", ["ours", None])
def test_row_page_shows_no_turns_of_another_tenant_whose_session_has_the_same_id(
    tmp_path: Path, tenant: str | None
) -> None:
    settings = settings_in(tmp_path)
    texts = {tenant: "우리 질문", "theirs": "남의 질문"}
    turns = [refused(user_input=text, session_id="1", tenant_id=whose) for whose, text in texts.items()]
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], turns)
    with browser(settings) as client:
        (address,) = hrefs(rows(client, text="우리 질문", **EVERY_DAY))
        page = opened_page(client, address)
        assert "남의 질문" not in page.text
        (session,) = [href for text, href in page.links if text == "이 세션의 행"]
        assert headline(opened_page(client, session)) == 1


def test_row_page_of_a_long_session_shows_the_turns_around_the_row(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    turns = [refused(user_input=f"{turn}번째") for turn in range(230)]
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], turns)
    with browser(settings) as client:
        (address,) = hrefs(rows(client, text="220번째"))
        page = opened_page(client, address).text
    assert "이 행" in page.partition("이 세션의 앞뒤")[2]
    assert all(f" {turn}번째 " in page for turn in (120, 219, 229))
    assert " 119번째 " not in page


def test_row_page_reads_texts_that_are_not_kept_from_the_source(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    source = write_rows(tmp_path / "source" / "a.jsonl", [plain(0), plain(1, user_input=f"전화 {PHONE} 주세요")])
    with Context(settings) as context:
        write_scored_day(context.warehouse, DAYS[0], source, keep_text="none")
    with browser(settings) as client:
        (address, *_) = hrefs(rows(client))
        kept = opened_page(client, address)
        assert "보관하지 않은" in kept.text
        ((_, again),) = [link for link in kept.links if link[0] == "원본에서 다시 읽기"]
        read = opened_page(client, again)
    assert "전화 [전화번호] 주세요" in read.text
    assert PHONE not in read.source
    assert "질문을 보관하지 않은" not in read.text
    assert read.text.count("하늘전자 주가 동향 알려줘") == 1  # the other turn of the session


def test_rows_page_of_an_outage_says_that_rows_were_not_scored(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], [plain(llm_response=None) for _ in range(3)])
    with browser(settings) as client:
        assert "이 기간의 3행은 질문이나 답변이 없어 채점하지 않았고" in opened_page(client, "/rows").text


@pytest.mark.parametrize("address", ["/rows/2026-02-13/nothing", "/rows/gestern/x", f"/rows/{date(2020, 1, 1)}/x"])
def test_row_page_that_is_not_there_says_so(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_rows_page_without_a_scored_day_says_what_to_do(settings: Settings, tmp_path: Path) -> None:
    with browser(settings.model_copy(update={"warehouse": f"{tmp_path}/empty"})) as client:
        answer = client.get("/rows")
    assert answer.status_code == 404
    assert "aqb nightly" in answer.text
