"""The page of alerts: what is reported, and what people keep quiet from there."""

import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import Message, RouteFilter
from tasks.alerts.day_messages import digest_of, route_filters
from tasks.alerts.outbox import Outbox
from tasks.config.alerts import AlertsSettings
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.state.alert_choices import AlertChoices
from tasks.state.audit_log import AuditLog
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, plain, refused
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.state import opened
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page
from tests.scoring.alerting.slack_rules import inlines

FAR = "9998-12-31"
WRITTEN = datetime(2026, 2, 13, tzinfo=UTC)
LAST = DAY + timedelta(days=9)


@pytest.fixture(scope="module")
def rising(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """Nine quiet days, and one on which every answer is refused."""
    warehouse = FolderWarehouse(tmp_path_factory.mktemp("rising"))
    for n in range(9):
        write_day(warehouse, DAY + timedelta(days=n), [plain(session_id=f"s{i}") for i in range(40)])
    write_day(warehouse, LAST, [refused(session_id=f"s{i}") for i in range(40)])
    return warehouse


@pytest.fixture
def settings(tmp_path: Path, rising: FolderWarehouse) -> Settings:
    return settings_in(tmp_path, warehouse=rising.url)


def form_token(client: TestClient) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', client.get("/alerts").text)
    assert found
    return found[1]


def send(client: TestClient, address: str, **fields: str) -> int:
    return int(client.post(address, data={"form_token": form_token(client), **fields}).status_code)


def test_alerts_page_says_what_the_last_day_tells_and_leads_to_its_rows(client: TestClient) -> None:
    page = opened_page(client, "/alerts")
    assert "긴급 알림으로 " in page.text.split("알립니다")[0]
    ((_, rows), *_) = [link for link in page.links if "alert=answer_failed" in link[1]]
    assert "40행" in opened_page(client, rows).text


# It said "요약 10건을 알립니다" where the digest had one that was new, and nine that went on.
def test_alerts_page_counts_what_is_new_as_the_digest_does(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    usual = [*(plain(session_id=f"s{i}") for i in range(40)), refused(session_id="r")]
    for n in range(9):
        write_day(warehouse, DAY + timedelta(days=n), usual)
    write_day(warehouse, LAST, [*usual, plain(session_id="blocked", output_tokens=0.0)])
    with browser(settings_in(tmp_path, warehouse=warehouse.url)) as client:
        page = client.get("/alerts").text
    (count,) = re.findall(r"요약으로 ([0-9]+)건을 알립니다", page)
    now, routes = page.split("</h1>")[1].split('id="routes"')
    new, going_on = (re.findall(r"<li>(?:<a [^>]*>)?([^<]+)", part) for part in now.split('id="going-on"'))
    assert f"새로 볼 것 {count}건" in routes
    assert len(new) == int(count)
    assert "답변 실패 1/42건(2.4%, 평소 2.7%)" in going_on


def test_alerts_page_of_a_day_with_nothing_new_says_what_goes_on(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for n in range(10):
        write_day(warehouse, DAY + timedelta(days=n), [*(plain(session_id=f"s{i}") for i in range(40)), refused()])
    with browser(settings_in(tmp_path, warehouse=warehouse.url)) as client:
        page = opened_page(client, "/alerts")
        assert "새로 알릴 것이 없습니다" in page.text
        ((text, rows),) = [link for link in page.links if "alert=answer_failed" in link[1] and str(LAST) in link[1]]
        assert text.startswith("답변 실패 1/41건(2.4%, 평소 ")
        assert "1행" in opened_page(client, rows).text


def test_alerts_page_lists_what_was_written_and_what_became_of_it(settings: Settings, client: TestClient) -> None:
    with opened(Outbox, settings.state_url) as outbox:
        outbox.put("team", "", [Message("digest", "warning", ("k1",), "waits <b>here</b>", [])], WRITTEN)
    text = opened_page(client, "/alerts").text
    assert "team 기다림" in text
    assert "<b>" not in client.get("/alerts").text.split("보낸 메시지")[1]


def test_alerts_page_says_what_each_route_has_still_to_be_sent(tmp_path: Path, rising: FolderWarehouse) -> None:
    routes = [
        {"name": "pages", "levels": ["critical"], "webhook_env": "PAGES"},
        {"name": "nobody", "tenants": ["other"], "webhook_env": "NOBODY"},
    ]
    alerts = AlertsSettings.model_validate({"route": routes})
    settings = settings_in(tmp_path, warehouse=rising.url, alerts=alerts)
    with Context(settings) as context:
        (page, *others) = day_messages(digest_of(context, LAST), route_filters(alerts)["pages"])
        assert not others
    with browser(settings) as client:
        assert told_by_route(client)["pages"] == page.text
        assert told_by_route(client)["nobody"] == "새로 보낼 것이 없음"
        with opened(Outbox, settings.state_url) as outbox:
            outbox.put("pages", "", [page], WRITTEN)
        assert told_by_route(client)["pages"] == "새로 보낼 것이 없음"


def test_message_leads_to_the_rows_of_its_incidents_and_to_its_examples(settings: Settings, client: TestClient) -> None:
    web = settings.web.model_copy(update={"url": "https://aqb.example.com/"})
    with Context(settings.model_copy(update={"web": web})) as context:
        reported = day_messages(digest_of(context, LAST), RouteFilter())
    urls = [one["url"] for message in reported for one in inlines(message) if one["type"] == "link"]
    incidents = [url for url in urls if "alert=" in url]
    assert len(incidents) >= 2
    assert len(urls) > len(incidents)
    for url in urls:
        opened_there = opened_page(client, url.removeprefix("https://aqb.example.com"))
        assert "40행" in opened_there.text if url in incidents else url.rpartition("/")[2] in opened_there.text


def told_by_route(client: TestClient) -> dict[str, str]:
    """The last message that is new to each route."""
    part = client.get("/alerts").text.split('id="routes"')[1].split("</section>")[0]
    return {route: unescape(text) for route, text in re.findall(r'<th scope="row">(.+?)</th><td[^>]*>(.+?)</td>', part)}


def test_alerts_page_keeps_a_rule_quiet_and_lets_it_speak_again(settings: Settings, client: TestClient) -> None:
    fields = {"rule": "answer_failed", "tenant": "t1", "until": FAR, "why": "새 프롬프트 <i>시험</i>"}
    assert send(client, "/alerts/snooze", **fields) == 303
    with opened(AlertChoices, settings.state_url) as choices:
        (made,) = choices.snoozes(LAST)
        assert (made.rule, made.tenant_id, made.until, made.who) == ("answer_failed", "t1", date(9998, 12, 31), "local")
        assert made.rates["t1"] == 1.0
    page = opened_page(client, "/alerts")
    assert "새 프롬프트 <i>시험</i>" in page.text
    assert send(client, "/alerts/unsnooze", rule="answer_failed", tenant="t1") == 303
    with opened(AlertChoices, settings.state_url) as choices:
        assert choices.snoozes(LAST) == []
    with opened(AuditLog, settings.state_url) as log:
        assert [one.action for one in log.latest(2)] == ["다시 알림", "알림 일시 중지"]


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "no_such_rule"},
        {"tenant": "nobody"},
        {"until": "2020-01-01"},
        {"until": "soon"},
        {"why": "  "},
        {"why": "x" * 201},
        {"why": "시험\0"},
    ],
)
def test_alerts_page_refuses_a_snooze_that_would_say_nothing_or_do_nothing(
    settings: Settings, client: TestClient, change: dict[str, str]
) -> None:
    fields = {"rule": "answer_failed", "tenant": "*", "until": FAR, "why": "시험"}
    assert send(client, "/alerts/snooze", **fields | change) == 400
    with opened(AlertChoices, settings.state_url) as choices:
        assert choices.every_snooze() == []


def test_alerts_page_is_for_readers_and_its_forms_are_for_operators(settings: Settings) -> None:
    fields = {"rule": "answer_failed", "tenant": "*", "until": FAR, "why": "시험"}
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "reviewer")
        assert 'action="/alerts/snooze"' not in client.get("/alerts").text
        assert send(client, "/alerts/snooze", **fields) == 403
        assert client.get("/alerts/snooze").status_code == 404
    with opened(AlertChoices, settings.state_url) as choices:
        assert choices.every_snooze() == []


def test_alerts_page_previews_the_year(client: TestClient) -> None:
    page = opened_page(client, "/alerts?days=365")
    assert "지난 365일" in page.text
    assert f"{LAST}" in page.text.split("지난 365일")[1]
