"""Reviewing in a browser: blind, kept at once, taken back by another label, and one's own."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from scoring.chat.review_draw import DRAWN
from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.review.label_store import KeptLabel, LabelStore, newest
from tasks.state.audit_log import AuditLog
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import RUBRIC, plain, refused
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.state import opened
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page, page_of
from tests.tasks.web.conftest import DAYS, HOSTILE, PHONE

ROWS = f"/review/rows/{DAYS[0]}"


@pytest.fixture
def settings(tmp_path: Path, whole_warehouse: FolderWarehouse) -> Settings:
    """Settings with rows whose texts can be read."""
    return settings_in(tmp_path, warehouse=whole_warehouse.url)


def fields(client: TestClient, address: str) -> dict[str, str]:
    """What the form of a question carries."""
    form = client.get(address).text.split("verdicts")[1].split("</form>")[0]
    return dict(re.findall(r'name="(form_token|item)" value="([0-9a-f]+)"', form))


def answer(client: TestClient, address: str, verdict: str, note: str = "") -> str:
    """Gives a verdict of the question at an address; returns where it leads."""
    form = {**fields(client, address), "label": verdict, "note": note}
    answered = client.post(address.split("?")[0], data=form)
    assert answered.status_code == 303, answered.text
    return str(answered.headers["location"])


def kept(settings: Settings) -> list[KeptLabel]:
    with opened(LabelStore, settings.state_url) as store:
        return store.every_label()


def first_choice(client: TestClient, address: str) -> str:
    return str(opened_page(client, address).all("button", name="label")[0]["value"])


def test_review_page_lists_the_last_days_with_what_is_done(client: TestClient) -> None:
    page = opened_page(client, "/review")
    assert [href for _, href in page.links if href.startswith("/review/rows")] == [
        f"/review/rows/{day}" for day in reversed(DAYS)
    ]
    answer(client, ROWS, first_choice(client, ROWS))
    (done,) = re.findall(r"판정 1/([0-9]+)", opened_page(client, "/review").text)
    assert int(done) == int(re.findall(r"1/([0-9]+) 판정함", opened_page(client, ROWS).text)[0])


def test_review_page_keeps_each_verdict_with_what_it_was_given_on(settings: Settings, client: TestClient) -> None:
    verdict = first_choice(client, ROWS)
    following = answer(client, ROWS, verdict, "  말투가 <i>좋음</i> ")
    (label,) = kept(settings)
    assert (label.label, label.note, label.reviewer) == (verdict, "말투가 <i>좋음</i>", "local")
    assert (label.rubric, label.rubric_version) == (RUBRIC.id, RUBRIC.version)
    assert label.probability is not None
    assert 0 < label.probability <= 1
    assert following.startswith(f"{ROWS}?item=")
    assert fields(client, following)["item"] != label.row_id


def test_review_page_hides_score_reason_and_other_people_until_the_verdict(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        item = fields(client, ROWS)["item"]
        answer(client, f"{ROWS}?item={item}", first_choice(client, ROWS), "운영자의 메모")
        assert "운영자의 메모" in client.get(f"{ROWS}?item={item}").text
        client.cookies.clear()
        log_in(client, "reviewer")
        for _ in range(2):
            blind = client.get(f"{ROWS}?item={item}").text
            assert not [word for word in ("자동 점수", "운영자", "뽑힐 확률", "뽑음", "판단 근거") if word in blind]
            assert "0/" in blind
        answer(client, f"{ROWS}?item={item}", first_choice(client, ROWS))
        seen = client.get(f"{ROWS}?item={item}").text
    assert all(word in seen for word in ("자동 점수", "운영자의 메모", "operator", "뽑힐 확률"))
    assert {one.reviewer for one in newest(kept(settings))} == {"operator", "reviewer"}


def test_review_page_loses_nothing_of_two_reviewers_at_once(settings: Settings) -> None:
    def review(role: str) -> None:
        with browser(settings, OF_TOKENS) as client:
            log_in(client, role)
            address = ROWS
            for _ in range(5):
                address = answer(client, address, first_choice(client, address))

    roles = ("reviewer", "operator")
    with ThreadPoolExecutor(len(roles)) as people:
        list(people.map(review, roles))
    by_person = {role: {one.item for one in newest(kept(settings)) if one.reviewer == role} for role in roles}
    assert [len(items) for items in by_person.values()] == [5, 5]
    assert by_person["reviewer"] == by_person["operator"]  # both have the same list in the same order


def test_review_page_takes_a_verdict_back_by_another_label(settings: Settings, client: TestClient) -> None:
    form = fields(client, ROWS)
    verdict = first_choice(client, ROWS)
    answer(client, ROWS, verdict)
    back = client.post(f"{ROWS}/undo", data=form)
    assert back.headers["location"] == f"{ROWS}?item={form['item']}"
    assert [one.label for one in kept(settings)] == [verdict, ""]
    assert newest(kept(settings)) == []
    assert "0/" in opened_page(client, ROWS).text


def test_review_page_takes_back_only_what_this_person_said(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        item = fields(client, ROWS)["item"]
        answer(client, f"{ROWS}?item={item}", first_choice(client, ROWS), "운영자의 메모")
        client.cookies.clear()
        log_in(client, "reviewer")
        for _ in range(2):  # before and after an own verdict
            form = fields(client, f"{ROWS}?item={item}")
            assert client.post(f"{ROWS}/undo", data=form).status_code == 303
            assert [(one.reviewer, one.note) for one in newest(kept(settings))] == [("operator", "운영자의 메모")]
            answer(client, f"{ROWS}?item={item}", first_choice(client, ROWS))
    assert [(one.reviewer, bool(one.label)) for one in kept(settings)] == [
        ("operator", True),
        *(("reviewer", given) for given in (True, False, True)),
    ]


def test_review_page_of_a_day_is_worked_through_with_every_text(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in DRAWN:
        monkeypatch.setitem(DRAWN, kind, 1)
    address, seen = ROWS, 0
    while "모두 판정했습니다" not in (text := client.get(address).text):
        assert "자동 점수" not in text
        address, seen = answer(client, address, first_choice(client, address)), seen + 1
        assert seen <= 6
    assert f"판정 {seen}개를 저장했습니다" in text


def test_review_page_takes_no_verdict_on_what_cannot_be_read(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], [refused(), plain(session_id="s2")])
    with browser(settings) as client:
        pages = [opened_page(client, f"{ROWS}?item={item}") for item in items(client)]
    readable = ["답변을 읽을 수 없음" not in page.text for page in pages]
    assert {*readable} == {True, False}
    assert [bool(page.all("button", name="label")) for page in pages] == readable


def test_review_page_masks_and_escapes_what_people_wrote(settings: Settings, client: TestClient) -> None:
    addresses = {f"{ROWS}?item={item}" for item in items(client)}
    texts = [client.get(address).text for address in addresses]
    assert any("[전화번호]" in text for text in texts)
    assert not any(PHONE in text or HOSTILE in text for text in texts)
    with browser(settings, WebSettings(personal_data="operator")) as seeing:
        assert any(PHONE in seeing.get(address).text for address in addresses)


def items(client: TestClient) -> list[str]:
    """The items of the list in their order, by following what leads to the next one."""
    found, address = [], ROWS
    while address:
        page = opened_page(client, address)
        found.append(fields(client, address)["item"])
        address = next((str(one["href"]) for one in page.all("a", rel="next")), "")
    return found


@pytest.mark.parametrize(
    ("change", "status"),
    [({"label": "9"}, 400), ({"label": ""}, 400), ({"item": "0" * 16}, 404), ({"note": "x" * 1001}, 400)],
)
def test_review_page_keeps_nothing_that_means_nothing(
    settings: Settings, client: TestClient, change: dict[str, str], status: int
) -> None:
    form = {**fields(client, ROWS), "label": first_choice(client, ROWS), "note": ""}
    assert client.post(ROWS, data=form | change).status_code == status
    assert kept(settings) == []


@pytest.mark.parametrize(
    ("change", "status"),
    [({"form_token": "0" * 64}, 403), ({"item": "0" * 16}, 404), ({"label": "9"}, 400)],
    ids=["of a server before its restart", "of a day scored again meanwhile", "of no choice"],
)
def test_review_page_gives_back_the_note_that_it_does_not_keep(
    client: TestClient, change: dict[str, str], status: int
) -> None:
    form = {**fields(client, ROWS), "label": first_choice(client, ROWS), "note": "</textarea> 긴 메모"}
    answer = client.post(ROWS, data=form | change)
    assert answer.status_code == status
    assert "복사해 두었다가 다시 쓰세요 </textarea> 긴 메모" in page_of(answer.text).text


@pytest.mark.parametrize(
    "address",
    ["/review/rows/2020-01-01", "/review/rows/gestern", f"{ROWS}?item=0", "/review/runs/x", "/review/runs/%2e%2e%2fx"],
)
def test_review_page_that_is_not_there_says_so(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_review_page_is_for_reviewers_and_recorded(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "reader")
        assert f'href="{ROWS}"' not in client.get("/review").text
        assert client.get(ROWS).status_code == client.post(ROWS).status_code == 403
        client.cookies.clear()
        log_in(client, "reviewer")
        answer(client, ROWS, first_choice(client, ROWS))
    with opened(AuditLog, settings.state_url) as log:
        last = log.latest(1)[0]
    assert (last.who, last.action) == ("reviewer", "라벨")
    assert re.fullmatch(rf"{ROWS}\?item=[0-9a-f]{{16}} [A-Z]+", last.target)


def test_review_page_allows_one_script_of_its_own_and_other_pages_none(client: TestClient) -> None:
    policy = client.get(ROWS).headers.get_list("content-security-policy")
    assert len(policy) == 1
    assert "script-src 'self'" in policy[0]
    (script,) = opened_page(client, ROWS).all("script")
    assert client.get(str(script["src"])).headers["content-type"].startswith("text/javascript")
    assert "script-src" not in client.get("/rows").headers["content-security-policy"]


def test_review_page_asks_of_a_test_run_with_its_scale_in_words(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    rows = [plan_row("Q0", passes=False), plan_row("Q0", "2/1", question=HOSTILE)]
    run = scored_folder(Path(settings.reports) / "test-runs" / "plan-1", rows)
    address = "/review/runs/plan-1"
    with browser(settings) as client:
        assert address in [href for text, href in opened_page(client, "/review").links if "plan_agent" in text]
        page = opened_page(client, address)
        assert "기대 결과" in page.text
        assert "5 통과율 1" in page.text
        assert [one["aria-keyshortcuts"] for one in page.all("button", name="label")] == list("543210")
        item = fields(client, address)["item"]
        for _ in range(5):
            answer(client, address, "3")
        assert "모두 판정했습니다" in client.get(address).text
        assert "자동 점수" in client.get(f"{address}?item={item}").text
    labels = kept(settings)
    assert {(one.query_id, one.round, one.metric) for one in labels} == {
        *((("Q0", round_, metric)) for round_ in ("1/1", "2/1") for metric in ("intent", "accuracy")),
        ("Q0", "", "consistency"),
    }
    assert {one.input_sha256 for one in labels} == {run.summary["inputs"][0]["sha256"]}
