"""Who gets in, what is turned away, and what browsers may do with every answer."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from scoring.errors import UsageError
from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.state.audit_log import AuditLog
from tasks.web.access import Access
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.web import OF_TOKENS, TOKENS, USERS, Watch, browser, log_in, opened_page, page_of, secrets_of

BEHIND_PROXY = WebSettings.model_validate(
    {"auth": "proxy", "users": [{"name": "kim@example.com", "role": "operator"}], "hosts": ["aqb.example.com"]}
)


def form_token(client: TestClient) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', client.get("/rows").text)
    assert found
    return found[1]


def use_session(client: TestClient, session: str) -> None:
    """Sends this session with every request, and no other."""
    client.cookies.clear()
    client.cookies.set("aqb_session", session)


@pytest.mark.parametrize("address", ["/rows", "/login", "/static/site.css", "/nowhere", "/rows?first=gestern"])
def test_door_bounds_what_a_browser_may_do_with_every_answer(settings: Settings, address: str) -> None:
    with browser(settings) as client:
        headers = client.get(address).headers
    assert sorted(part.strip() for part in headers["content-security-policy"].split(";")) == [
        "base-uri 'none'",
        "default-src 'none'",  # nothing else may be loaded or sent, and no script runs at all
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src data:",
        "style-src 'self'",
    ]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    "host", ["evil.example.com", "127.0.0.1.evil.example.com", "", "[::2]:8400", "localhost.:8400"]
)
def test_door_answers_to_no_name_that_it_does_not_have(settings: Settings, host: str) -> None:
    with browser(settings) as client:
        assert client.get("/rows", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("address", ["/", "/rows/", "/health/", "/static/site.css/", "/nowhere", "/rows/a/b/c"])
def test_door_leads_nobody_on_under_a_name_that_it_does_not_have(settings: Settings, address: str) -> None:
    with browser(settings) as client:
        answer = client.get(address, headers={"host": "evil.example.com"})
        assert (answer.status_code, answer.headers.get("location")) == (421, None)
        assert "안내받은 주소로 여세요" in answer.text
        assert client.get("/static/site.css", headers={"host": "evil.example.com"}).status_code == 200  # of that page


@pytest.mark.parametrize("host", ["127.0.0.1:8400", "localhost:1", "localhost", "[::1]:8400", "LOCALHOST:8400"])
def test_door_answers_to_the_names_of_this_machine(settings: Settings, host: str) -> None:
    with browser(settings) as client:
        assert client.get("/rows", headers={"host": host}).status_code == 200


def test_door_answers_to_the_name_in_the_links_of_messages(settings: Settings) -> None:
    with browser(settings, WebSettings(url="https://AQB.example.com:8443")) as client:
        assert client.get("/rows", headers={"host": "aqb.example.com:8443"}).status_code == 200
        assert client.get("/rows", headers={"host": "example.com"}).status_code == 421


def test_door_leads_a_stranger_to_the_login_and_then_to_what_was_asked(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        sent = client.get("/rows?text=a%26b")
        assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2Frows%3Ftext%3Da%2526b")
        assert 'value="/rows?text=a%26b"' in client.get(sent.headers["location"]).text
        log_in(client)
        assert client.get("/rows").status_code == 200


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example.com/", "//evil.example.com", "/\\evil.example.com", "javascript:alert(1)", "/a\nb"],
)
def test_door_leads_nobody_elsewhere_after_the_login(settings: Settings, elsewhere: str) -> None:
    with browser(settings, OF_TOKENS) as client:
        answer = client.post("/login", data={"token": TOKENS["TOKEN_READER"], "next": elsewhere})
        assert answer.headers["location"] == "/"


def test_door_begins_a_new_session_at_each_login_and_ends_it_at_logout(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        client.cookies.set("aqb_session", "chosen-by-somebody-else")
        log_in(client)
        (cookie,) = [one for one in client.cookies.jar if one.value != "chosen-by-somebody-else"]
        assert cookie.has_nonstandard_attr("HttpOnly")
        assert cookie.get_nonstandard_attr("SameSite") == "lax"
        first = str(cookie.value)
        use_session(client, first)
        log_in(client)
        second = next(str(one.value) for one in client.cookies.jar if one.value != first)
        for gone in ("chosen-by-somebody-else", first):
            use_session(client, gone)
            assert client.get("/rows").status_code == 303
        use_session(client, second)
        assert client.post("/logout", data={"form_token": form_token(client)}).status_code == 303
        use_session(client, second)
        assert client.get("/rows").status_code == 303


def test_door_keeps_the_cookie_off_plain_http_from_other_machines(settings: Settings) -> None:
    web = OF_TOKENS.model_copy(update={"hosts": ("aqb.example.com",)})
    with browser(settings, web, base_url="http://aqb.example.com") as client:
        answer = client.post("/login", data={"token": TOKENS["TOKEN_READER"]})
    assert "Secure" in answer.headers["set-cookie"]


def test_door_says_under_any_name_whether_the_state_database_answers(settings: Settings, tmp_path: Path) -> None:
    with browser(settings, OF_TOKENS) as client:
        answer = client.get("/health", headers={"host": "10.0.0.7"})
        assert (answer.status_code, answer.text) == (200, "ok\n")
    (tmp_path / "no-folder").write_text("a file")
    away = settings.model_copy(update={"state_url": f"sqlite:///{tmp_path}/no-folder/state.db"})
    with browser(away, OF_TOKENS) as client:
        assert client.get("/health").status_code == 503


def test_door_ends_a_session_after_its_hours(settings: Settings) -> None:
    clock = Watch()
    with browser(settings, OF_TOKENS, clock) as client:
        log_in(client)
        clock.seconds = 12 * 3600
        assert client.get("/rows").status_code == 303
        for before, back in (("http://127.0.0.1:8400/alerts?days=365", "/alerts?days=365"), ("http://[", "")):
            late = client.post("/alerts/snooze", data={"why": "x"}, headers={"referer": before})
            assert (late.status_code, "저장하지 못했습니다" in late.text) == (401, True)
            assert f'name="next" value="{back}"' in late.text


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("/review/rows/2026-02-13", "note"),
        ("/alerts/snooze", "why"),
        (f"/test-runs/uploads/{0:016}/expectations", "text"),
    ],
)
def test_door_gives_back_what_was_written_into_a_form_of_a_session_that_is_over(
    settings: Settings, address: str, field: str
) -> None:
    with browser(settings, OF_TOKENS) as client:
        answer = client.post(address, data={"form_token": "0" * 64, "label": "A", field: "첫 줄\n</textarea><script>"})
    page = page_of(answer.text)
    assert answer.status_code == 401
    assert "로그인하기 전에 복사해 두세요 첫 줄 </textarea><script>" in page.text
    assert page.scripts == []


def test_door_lets_a_whole_office_in_from_one_address(settings: Settings) -> None:
    with browser(settings, OF_TOKENS, Watch()) as client:
        token = {"token": TOKENS["TOKEN_READER"]}
        assert [client.post("/login", data=token).status_code for _ in range(12)] == [303] * 12
        guesses = [client.post("/login", data={"token": f"guess {n}"}).status_code for n in range(11)]
        assert guesses == [401] * 10 + [429]


def test_door_takes_no_more_guesses_of_a_token_than_ten_a_minute(settings: Settings) -> None:
    clock = Watch()
    with browser(settings, OF_TOKENS, clock) as client:
        guesses = [client.post("/login", data={"token": f"guess {n}"}).status_code for n in range(11)]
        assert guesses == [401] * 10 + [429]
        assert client.post("/login", data={"token": TOKENS["TOKEN_READER"]}).status_code == 429
        clock.seconds = 60
        log_in(client)
    with opened(AuditLog, settings.state_url) as log:
        assert [one.action for one in log.latest(20)] == ["로그인", *["로그인 실패"] * 10]
        assert not any("guess" in one.target for one in log.latest(20))


def test_door_counts_guesses_by_the_address_that_the_proxy_tells(settings: Settings) -> None:
    behind = WebSettings.model_validate({"auth": "token", "users": USERS, "proxy_address_header": "X-Real-IP"})
    guess = {"token": "guess"}
    with browser(settings, behind) as client:
        for _ in range(10):
            client.post("/login", data=guess, headers={"X-Real-IP": "203.0.113.9"})
        assert client.post("/login", data=guess, headers={"X-Real-IP": "203.0.113.9"}).status_code == 429
        log_in(client)
    with opened(AuditLog, settings.state_url) as log:
        assert [one.address for one in log.latest(20)] == ["127.0.0.1", *["203.0.113.9"] * 10]
    with browser(settings, behind, client=("192.0.2.7", 50_000)) as stranger:
        stranger.post("/login", data=guess, headers={"X-Real-IP": "203.0.113.9"})
    with opened(AuditLog, settings.state_url) as log:
        assert log.latest(1)[0].address == "192.0.2.7"  # the header counts from the proxy alone


def test_door_answers_a_person_no_more_often_than_the_settings_say(settings: Settings) -> None:
    clock = Watch()
    with browser(settings, WebSettings(requests_per_minute=10), clock) as client:
        assert [client.get("/accesses").status_code for _ in range(11)] == [200] * 10 + [429]
        clock.seconds = 61
        assert client.get("/accesses").status_code == 200


def test_door_forgets_those_that_are_silent_before_one_that_goes_on_asking() -> None:
    requests = Access(WebSettings(requests_per_minute=10), "127.0.0.1", Watch()).requests
    assert [requests.allows("busy") for _ in range(11)] == [True] * 10 + [False]
    others = (f"other {number}" for number in range(20_000))
    assert all(requests.allows(other) and not requests.allows("busy") for other in others)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"data": {"other": "field"}}, 403),
        ({"data": {"form_token": "0" * 64}}, 403),
        ({"headers": {"origin": "https://evil.example.com"}}, 403),
        ({"headers": {"origin": "null"}}, 403),
        ({"headers": {"origin": "http://["}}, 403),
        ({"headers": {"sec-fetch-site": "cross-site"}}, 403),
        ({"data": {"form_token": "x", "more": "x" * 70_000}}, 413),
        ({"headers": {"content-type": "text/plain"}}, 415),
    ],
)
def test_door_takes_forms_of_its_own_pages_alone(
    settings: Settings, change: dict[str, dict[str, str]], status: int
) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client)
        usual = {"data": {"form_token": form_token(client)}, "headers": {}}
        assert client.post("/logout", **usual | change).status_code == status  # type: ignore[arg-type]
        assert client.get("/rows").status_code == 200  # still logged in


def test_door_takes_no_form_of_another_person(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        of_operator = form_token(client)
        client.cookies.clear()
        log_in(client, "reader")
        assert client.post("/logout", data={"form_token": of_operator}).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("X-Forwarded-Email", "kim@example.com")], 200),
        ([("X-Forwarded-Email", "accounts.google.com:kim@example.com")], 200),
        ([("X-Forwarded-Email", "lee@example.com")], 403),
        ([("X-Forwarded-Email", "")], 403),
        ([], 403),
        ([("X-Forwarded-Email", "kim@example.com"), ("X-Forwarded-Email", "lee@example.com")], 403),
    ],
)
def test_door_knows_people_by_the_header_of_the_proxy(
    settings: Settings, headers: list[tuple[str, str]], status: int
) -> None:
    with browser(settings, BEHIND_PROXY, base_url="http://aqb.example.com") as client:
        assert client.get("/accesses", headers=headers).status_code == status


def test_door_believes_the_header_of_nobody_but_the_proxy(settings: Settings) -> None:
    with browser(settings, BEHIND_PROXY, client=("10.0.0.9", 4711)) as client:
        assert client.get("/rows", headers={"X-Forwarded-Email": "kim@example.com"}).status_code == 403


def test_door_gives_others_behind_the_proxy_the_role_that_the_settings_say(settings: Settings) -> None:
    web = BEHIND_PROXY.model_copy(update={"other_role": "reader"})
    with browser(settings, web) as client:
        headers = {"X-Forwarded-Email": "lee@example.com"}
        assert client.get("/rows", headers=headers).status_code == 200
        assert client.get("/accesses", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "address",
    ["/static/../door.py", "/static/%2e%2e%2fdoor.py", "/static/web.css%00", "/rows/../../etc/passwd", "/rows/x/y/z"],
)
def test_door_leads_to_no_file_but_its_own(settings: Settings, address: str) -> None:
    with browser(settings) as client:
        answer = client.get(address)
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_door_says_what_went_wrong_without_the_inside(settings: Settings) -> None:
    broken = settings.model_copy(update={"warehouse": settings.reports})
    with browser(broken) as client:
        assert client.get("/rows").status_code == 404
    nowhere = settings.model_copy(update={"state_url": "sqlite:////proc/nowhere/state.db"})
    with browser(nowhere) as client:
        answer = client.get("/rows")
    assert answer.status_code == 503
    assert "Traceback" not in answer.text
    assert "운영 담당자에게 보내세요" in answer.text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/accesses", 403),
        ("/nowhere", 404),
        ("/rows/2026-02-13/no-such-row", 404),
        ("/rows/gestern/no-such-row", 404),
        ("/test-runs/no-such-run/scores.xlsx", 403),
        ("/rows?" + "&".join(f"a{place}=1" for place in range(201)), 400),
        (f"/rows?text={'a' * 8_000}", 414),
        ("http://evil.example.com/rows", 421),
    ],
)
def test_page_that_turns_people_away_says_what_to_do(settings: Settings, address: str, status: int) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client)
        answer = client.get(address)
    assert answer.status_code == status
    assert "세요" in page_of(answer.text).text


def test_form_that_is_none_is_answered_with_what_to_do(settings: Settings) -> None:
    with browser(settings) as client:
        answer = client.post("/logout", json={})
    assert answer.status_code == 415
    assert "다시 열어 시도하세요" in answer.text


def test_door_keeps_who_saw_what(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client)
        client.get("/rows?text=주가")
        client.cookies.clear()
        log_in(client, "operator")
        page = opened_page(client, "/accesses")
    with opened(AuditLog, settings.state_url) as log:
        accesses = [(one.who, one.address, one.action) for one in log.latest(9)]
    assert accesses == [
        ("operator", "127.0.0.1", "로그인"),
        ("reader", "127.0.0.1", "행 목록"),
        ("reader", "127.0.0.1", "로그인"),
    ]
    assert "text=%EC%A3%BC%EA%B0%80" in page.text


def test_access_is_refused_where_everybody_would_get_in(settings: Settings) -> None:
    with pytest.raises(UsageError, match="everybody"):
        Access(settings.web, "0.0.0.0", Watch())


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({**TOKENS, "TOKEN_READER": "Xq9"}, "shorter than 20"),
        ({**TOKENS, "TOKEN_READER": "$(openssl rand -hex 20)"}, "has blanks"),
        ({"TOKEN_READER": "r" * 30}, "not set"),
        ({**TOKENS, "TOKEN_READER": TOKENS["TOKEN_OPERATOR"]}, "same token"),
    ],
)
def test_access_needs_tokens_that_nobody_guesses(environment: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        Access(OF_TOKENS, "0.0.0.0", Watch(), secrets_of(environment))
    assert not any(token in str(refused.value) for token in environment.values())


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"auth": "token"}, "nobody gets in"),
        ({"auth": "proxy"}, "nobody gets in"),
        ({"auth": "token", "users": [{"name": "kim"}]}, "token_env"),
        ({"users": [{"name": "kim"}, {"name": "kim"}]}, "same name"),
        ({"users": [{"name": "kim", "token_env": "s3cret-value"}]}, "not its value"),
        ({"proxy_addresses": ["everywhere"]}, "everywhere"),
        ({"proxy_user_header": "X Email"}, "header"),
    ],
)
def test_web_settings_refuse_what_would_let_nobody_or_anybody_in(section: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WebSettings.model_validate(section)


def test_door_leads_on_from_a_page_that_is_not_there(tmp_path: Path) -> None:
    """A team that has scored nothing but test runs begins on the page of chat rows: it must not be a dead end."""
    with browser(settings_in(tmp_path), OF_TOKENS) as client:
        log_in(client, "reader")
        for address, status in (("/rows", 404), ("/test-runs/uploads/0123456789abcdef", 404), ("/accesses", 403)):
            answer = client.get(address)
            assert answer.status_code == status
            assert "/test-runs/index.html" in [leads_to for _, leads_to in page_of(answer.text).links]
        token = re.search(r'name="form_token" value="([0-9a-f]{64})"', client.get("/rows").text)
        assert token
        assert client.post("/logout", data={"form_token": token[1]}).headers["location"] == "/login"
        client.cookies.clear()
        assert "/accesses" not in client.get("/accesses").text
        assert "/test-runs/index.html" not in client.get("/test-runs/uploads/0123456789abcdef").text
