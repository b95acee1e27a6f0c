"""A morning of a QA lead in the pages of `aqb web`: by keyboard, on a phone, in the dark, without a complaint."""

import csv
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tasks.config.settings import Settings
from tasks.review.label_store import LabelStore
from tasks.state.alert_choices import AlertChoices
from tasks.testruns.uploads import Uploads
from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import DESKTOP, IN_CHROMIUM, OVERLAPS, PHONE
from tests.builders.chat_rows import DAY, best, plain, refused
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.state import opened
from tests.builders.uploads import PLAN, RESUME, scored_here
from tests.builders.web import OF_TOKENS, TOKENS, served

pytestmark = IN_CHROMIUM

HOSTILE = "</title><script>alert(1)</script>"
REVIEW = f"/review/rows/{DAY}"
RUNS = ("/test-runs/index.html", "/test-runs/comparison")
ROWS = [
    *(refused(session_id="s1", user_input=f"{HOSTILE} {n}번째 질문") for n in range(3)),
    *(refused(tenant_id="t2", session_id=f"r{n}") for n in range(4)),
    best(session_id="s1"),
    refused(session_id="long", user_input="아주 긴 질문 " * 20),
    refused(session_id="long", user_input="띄어쓰지않은질문" * 20),
    *(plain(session_id=f"p{n}") for n in range(60)),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Settings]]:
    """The address of the pages for people with tokens, and their settings."""
    settings = settings_in(tmp_path_factory.mktemp("served"), web=OF_TOKENS)
    write_day(FolderWarehouse(Path(settings.warehouse)), DAY, ROWS)
    with served(settings) as address:
        yield address, settings


def log_in(tab: Tab, address: str) -> None:
    tab.goto(f"{address}/rows")
    tab.get_by_label("토큰").fill(TOKENS["TOKEN_OPERATOR"])
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text(f"{len(ROWS)}행")


def test_web_in_chromium_leads_from_the_rows_to_one_and_home_with_all(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    tab.get_by_label("찾는 말").fill("번째 질문")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("3행")
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="CSV").click()
    lines = list(csv.DictReader(io.StringIO(saved.value.path().read_text(encoding="utf-8-sig"))))
    assert sorted(line["질문"] for line in lines) == [f"{HOSTILE} {n}번째 질문" for n in range(3)]
    tab.locator("table.list tbody a").first.press("Enter")
    expect(tab.get_by_role("heading", name="이 세션의 앞뒤")).to_be_visible()
    expect(tab.locator(".turns > li")).to_have_count(4)
    assert HOSTILE in tab.locator("main").inner_text()


def test_web_in_chromium_narrows_the_rows_by_each_mark(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    tab.get_by_text("테넌트·등급·유형·알림·시각").press("Enter")
    tab.get_by_label("t2").check()
    tab.get_by_role("button", name="보기").press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("4행")
    tab.locator("table.heat a").first.press("Enter")
    expect(tab.get_by_role("link", name="답변 등급: F 실패 조건 빼기")).to_be_visible()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("4행")
    tab.get_by_role("link", name="테넌트: t2 조건 빼기").press("Enter")
    expect(tab.get_by_role("link", name="테넌트: t2 조건 빼기")).to_have_count(0)
    tab.get_by_role("link", name="모두 빼기").press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text(f"{len(ROWS)}행")
    tab.locator("svg.days a").first.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text(f"{DAY}, {len(ROWS)}행")


def test_web_in_chromium_turns_pages_without_losing_a_row(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    links = tab.locator("table.list tbody th a")
    seen = [link.get_attribute("href") for link in links.all()]
    tab.get_by_role("link", name="다음 쪽").click()
    expect(tab.get_by_role("link", name="앞쪽")).to_be_visible()
    seen += [link.get_attribute("href") for link in links.all()]
    assert len(seen) == len(set(seen)) == len(ROWS)


def test_web_in_chromium_keeps_a_rule_quiet(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    tab.get_by_role("link", name="알림", exact=True).click()
    tab.locator("select[name=rule]").select_option("weak_answer")
    tab.get_by_label("언제까지").fill("2999-12-31")
    tab.get_by_label("이유").fill("새 프롬프트를 시험함")
    tab.get_by_role("button", name="일시 중지").press("Enter")
    expect(tab.get_by_role("cell", name="새 프롬프트를 시험함")).to_be_visible()
    with opened(AlertChoices, pages[1].state_url) as choices:
        (made,) = choices.every_snooze()
    assert (made.rule, made.who) == ("weak_answer", "operator")
    tab.get_by_role("button", name="다시 알리기").press("Enter")
    expect(tab.get_by_text("일시 중지한 규칙이 없습니다")).to_be_visible()


def test_web_in_chromium_is_reviewed_with_one_key_a_verdict(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    tab.get_by_role("link", name="검토", exact=True).press("Enter")
    tab.get_by_role("link", name="운영 대화 2026").press("Enter")
    done = tab.locator("nav.steps").first
    expect(done).to_contain_text("0/")
    tab.wait_for_load_state()
    first = tab.locator(".question").last.inner_text()
    tab.keyboard.press("m")
    tab.keyboard.type("note 3")  # a digit in the note is no verdict
    tab.keyboard.press("Escape")
    for key, shown in (("4", "1/"), ("1", "2/"), ("u", "1/")):
        tab.keyboard.press(key)
        expect(done).to_contain_text(shown)
        tab.wait_for_load_state()
    tab.keyboard.press("ArrowLeft")
    expect(tab.get_by_label("메모")).to_have_value("note 3")
    assert tab.locator(".question").last.inner_text() == first
    tab.get_by_text("자동 점수와 다른 사람의 점수").press("Enter")
    expect(tab.get_by_text("자동 점수:")).to_be_visible()
    with opened(LabelStore, pages[1].state_url) as store:
        kept = store.every_label()
    assert [bool(one.label) for one in kept] == [True, True, False]
    assert kept[0].note == "note 3"


def fits_everywhere(tab: Tab) -> None:
    """Holds that nothing of the page is cut off or lies on something else, on a phone and on a desktop, in both
    colours."""
    for size in (PHONE, DESKTOP):
        tab.set_viewport_size(size)
        for scheme in ("dark", "light"):
            tab.emulate_media(color_scheme=scheme)
            assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"], tab.url
            assert tab.evaluate(OVERLAPS) == [], f"{tab.url} at {size['width']} in {scheme}"


def test_web_in_chromium_keeps_a_long_question_off_the_answer_beside_it(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    tab.goto(f"{pages[0]}/rows?text=아주&show=user_input&show=llm_response")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("1행")
    fits_everywhere(tab)


def test_web_in_chromium_takes_a_file_and_gives_its_workbook(tab: Tab, pages: tuple[str, Settings]) -> None:
    log_in(tab, pages[0])
    tab.get_by_role("link", name="테스트 런", exact=True).press("Enter")
    tab.get_by_label("CSV, TSV, Excel").set_input_files(PLAN)
    tab.get_by_role("button", name="올리기").press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_have_text(PLAN.name)
    expect(tab.get_by_role("row", name="질의 10")).to_be_visible()
    tab.get_by_role("button", name="규칙으로 채점").press("Enter")
    expect(tab.get_by_role("link", name="결과 보기")).to_be_visible(
        timeout=120_000
    )  # the page renews itself until then
    tab.get_by_role("link", name="결과 보기").press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_have_text(PLAN.name)
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="점수 워크북").click()
    assert saved.value.suggested_filename == f"{PLAN.stem}-scores.xlsx"
    assert zipfile.is_zipfile(saved.value.path())
    _correct_an_expected_result(tab, pages[1])
    expect(tab.locator("article.change")).to_contain_text("PL-01")
    expect(
        tab.get_by_text("기대 결과가 바뀐 질의 1개의 차이는 답변이 아니라 기대 결과에서 온 것입니다.")
    ).to_be_visible()
    tab.get_by_text("답변 나란히 보기").press("Enter")
    expect(tab.locator(".sides")).to_be_visible()
    fits_everywhere(tab)


def test_web_in_chromium_scores_by_nothing_that_was_not_recognised(tab: Tab, pages: tuple[str, Settings]) -> None:
    with Uploads(Path(pages[1].web.uploads)).arriving() as arriving:
        arriving.write(PLAN.read_bytes())
        upload = arriving.keep(PLAN.name, "operator")
    log_in(tab, pages[0])
    tab.goto(f"{pages[0]}/test-runs/uploads/{upload.id}")
    score = tab.get_by_role("button", name="규칙으로 채점")
    expect(score).to_be_visible()
    tab.locator("select[name=rubric]").select_option("recruit-agent")
    expect(score).to_be_hidden()
    tab.get_by_role("button", name="이 선택으로 다시 인식").press("Enter")
    tab.wait_for_url("**rubric=recruit-agent**")
    expect(score).to_be_visible()
    tab.go_back()
    expect(tab.locator("select[name=rubric]")).to_have_value("")
    expect(score).to_be_visible()


def _correct_an_expected_result(tab: Tab, settings: Settings) -> None:
    """From the page of a result to the comparison of it with that of its corrected version."""
    tab.locator("a[href$='expectations?query=PL-01']").press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_have_text("기대결과 고치기")
    fits_everywhere(tab)
    field = tab.get_by_role("textbox")
    field.fill(field.input_value().replace("true", "false"))
    field.press("Tab")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_have_text(f"{PLAN.stem} (2판){PLAN.suffix}")
    fits_everywhere(tab)
    scored_here(settings, urlsplit(tab.url).path)
    tab.reload()
    tab.get_by_role("link", name="두 판 비교").press("Enter")
    expect(tab.get_by_role("heading", name="지표별 차이")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (RESUME.name, RESUME.read_bytes()),
        (PLAN.name, PLAN.read_bytes().replace(b"SELECT", b"ACTION", 6)),  # expects something else in each round
    ],
)
def test_web_in_chromium_shows_every_column_of_a_result_on_a_desktop_and_on_paper(
    tab: Tab, pages: tuple[str, Settings], name: str, content: bytes
) -> None:
    with Uploads(Path(pages[1].web.uploads)).arriving() as arriving:
        arriving.write(content)
        upload = arriving.keep(name, "operator")
    log_in(tab, pages[0])
    tab.goto(pages[0] + scored_here(pages[1], upload.id))
    hidden = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert tab.evaluate(hidden) == 0
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 794, "height": 1123})  # A4
    try:
        assert tab.evaluate(hidden) == 0
    finally:
        tab.emulate_media(media="screen")


def test_web_in_chromium_has_the_whole_list_beside_a_long_name(tab: Tab, pages: tuple[str, Settings]) -> None:
    with Uploads(Path(pages[1].web.uploads)).arriving() as arriving:
        arriving.write(PLAN.read_bytes())
        arriving.keep(f"plan_agent_{'a' * 130}.csv", "operator")
    log_in(tab, pages[0])
    tab.goto(pages[0] + RUNS[0])
    table = tab.locator("section[aria-labelledby=uploads] .scroll")
    assert table.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    list_box, button_box = tab.locator("main").bounding_box(), tab.locator("footer button").bounding_box()
    assert list_box
    assert button_box
    assert button_box["y"] - (list_box["y"] + list_box["height"]) >= 16


def test_web_in_chromium_shows_the_whole_list_of_rows_beside_a_question_without_blanks(
    tab: Tab, pages: tuple[str, Settings]
) -> None:
    log_in(tab, pages[0])
    for width in (1024, 1280):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(f"{pages[0]}/rows?text=띄어쓰지않은질문")
        list_of_rows = tab.get_by_role("region", name="행", exact=True)
        assert list_of_rows.evaluate("one => one.scrollWidth - one.clientWidth") == 0, width


def test_web_in_chromium_shows_the_whole_record_of_accesses_beside_a_long_address(
    tab: Tab, pages: tuple[str, Settings]
) -> None:
    log_in(tab, pages[0])
    tab.goto(f"{pages[0]}/rows?text={'a' * 200}")
    tab.goto(f"{pages[0]}/accesses")
    assert "a" * 200 in tab.locator("main").inner_text()
    for width in (1024, 1440):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.locator("main .scroll").evaluate("one => one.scrollWidth - one.clientWidth") == 0, width


def test_web_in_chromium_shows_the_whole_menu_of_an_operator_on_a_small_phone(
    tab: Tab, pages: tuple[str, Settings]
) -> None:
    tab.set_viewport_size({"width": 360, "height": 800})
    log_in(tab, pages[0])
    assert tab.get_by_label("주 메뉴").evaluate("one => one.scrollWidth - one.clientWidth") == 0


def test_web_in_chromium_fits_on_a_phone_in_the_light_and_in_the_dark(tab: Tab, pages: tuple[str, Settings]) -> None:
    tab.set_viewport_size(PHONE)
    log_in(tab, pages[0])
    row = tab.locator("table.list tbody a").first.get_attribute("href")
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for page in ("/rows", "/rows?final_grade=F", str(row), "/review", REVIEW, "/alerts", "/accesses", *RUNS):
            tab.goto(pages[0] + page)
            assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], page
        for page in ("/accesses", "/review"):
            tab.goto(pages[0] + page)
            assert tab.locator("main .scroll").evaluate("one => one.scrollWidth - one.clientWidth") == 0, page
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(15, 20, 26)") == (scheme == "dark")
