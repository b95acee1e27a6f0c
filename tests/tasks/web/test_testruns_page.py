"""The pages of test runs that the warehouse knows: the list, one run, the history of a set, files to take home."""

from pathlib import Path

import pytest

from tasks.config.chat_rows import ServiceSettings
from tasks.config.settings import MonitoringSettings, Settings, settings_of_service
from tasks.config.web import WebSettings
from tasks.files.report_paths import ReportPaths
from tasks.reports.site.testrun_tables import read_testruns
from tasks.state.audit_log import AuditLog
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.settings import settings_in
from tests.builders.site import write_run
from tests.builders.state import opened
from tests.builders.uploads import PLAN
from tests.builders.web import browser, opened_page

PHONE = "010-1234-5678"
HOSTILE_NAME = 'plan_agent_"><script>alert(1)<.csv'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """A sample run, and one that quotes a phone number in a file with a hostile name."""
    folder = tmp_path_factory.mktemp("runs")
    warehouse = FolderWarehouse(folder / "warehouse")
    write_run(warehouse, PLAN, DAY)
    hostile = folder / HOSTILE_NAME
    text = PLAN.read_text(encoding="utf-8-sig")
    hostile.write_text(text.replace("온라인 평가 기간을 늘리고 싶어", f"{PHONE}로 알려줘"), encoding="utf-8")
    write_run(warehouse, hostile, DAY)
    return warehouse


@pytest.fixture
def settings(tmp_path: Path, runs: FolderWarehouse) -> Settings:
    """Settings with that warehouse, and a report folder of each run with a report, a workbook and a summary."""
    settings = settings_in(tmp_path, warehouse=runs.url)
    for run in read_testruns(runs, 1):
        folder = ReportPaths(Path(settings.reports)).testrun_folder(run.name, run.sha256)
        folder.mkdir(parents=True)
        for name in ("report.md", "scores.xlsx", "summary.json"):
            (folder / name).write_text(f"<script>alert(1)</script> {PHONE}")
    return settings


def page_of(runs: FolderWarehouse, name: str) -> str:
    """The address of the page of a run."""
    return f"/test-runs/{next(run.page for run in read_testruns(runs, 1) if run.name == name)}"


def test_testruns_are_the_first_page_where_there_are_no_chat_rows(settings: Settings) -> None:
    with browser(settings) as client:
        assert client.get("/").headers["location"] == "/test-runs/index.html"


def test_testruns_page_lists_the_runs_of_each_agent_with_links_to_them(settings: Settings) -> None:
    with browser(settings) as client:
        page = opened_page(client, "/test-runs/index.html")
        named = {text: href for text, href in page.links if text in (PLAN.name, HOSTILE_NAME)}
        assert named.keys() == {PLAN.name, HOSTILE_NAME}
        assert "실행 에이전트 2개" in page.text
        for name, href in named.items():
            assert opened_page(client, f"/test-runs/{href}").title == f"{name} · AQB"


def test_testruns_are_those_of_all_in_the_pages_of_each_service(settings: Settings, runs: FolderWarehouse) -> None:
    services = MonitoringSettings(
        service=(
            ServiceSettings(name="hiring", source="a", has_unnamed_days=True),
            ServiceSettings(name="support", source="b"),
        )
    )
    all_of_them = settings.model_copy(update={"monitoring": services})
    for name in ("hiring", "support"):
        with browser(settings_of_service(all_of_them, name), WebSettings(personal_data="reader")) as client:
            assert client.get("/").headers["location"] == "/test-runs/index.html"
            assert "실행 에이전트 2개" in opened_page(client, "/test-runs/index.html").text
            page = opened_page(client, page_of(runs, PLAN.name))
            assert [href for text, href in page.links if href.endswith("/scores.xlsx")]
            assert PLAN.name in opened_page(client, "/test-runs/comparison").text


def test_testruns_page_says_that_nothing_is_scored_yet(tmp_path: Path) -> None:
    with browser(settings_in(tmp_path)) as client:
        assert "아직 이력에 든 테스트 런이 없습니다" in opened_page(client, "/test-runs/index.html").text


def test_testrun_page_shows_answers_expectations_and_both_rounds_without_a_script(
    settings: Settings, runs: FolderWarehouse
) -> None:
    with browser(settings) as client:
        page = opened_page(client, page_of(runs, PLAN.name))
    assert page.scripts == page.styles == []
    for said in ("온라인 평가 기간을 늘리고 싶어", "기대한 결과", "회차 1/1", "회차 2/1", "통과: ", "미통과: "):
        assert said in page.text


def test_testrun_page_masks_personal_data_and_escapes_file_names(settings: Settings, runs: FolderWarehouse) -> None:
    with browser(settings) as client:
        page = opened_page(client, page_of(runs, HOSTILE_NAME))
    assert PHONE not in page.source
    assert page.scripts == []
    assert HOSTILE_NAME in page.text


def test_testrun_page_leads_to_the_history_of_its_set(settings: Settings, runs: FolderWarehouse) -> None:
    with browser(settings) as client:
        page = opened_page(client, page_of(runs, PLAN.name))
        history = next(href for _, href in page.links if href.startswith("set-"))
        assert {PLAN.name, HOSTILE_NAME} <= {text for text, _ in opened_page(client, f"/test-runs/{history}").links}


def test_testrun_file_is_saved_and_never_shown(settings: Settings, runs: FolderWarehouse) -> None:
    with browser(settings, WebSettings(personal_data="reader")) as client:
        page = opened_page(client, page_of(runs, PLAN.name))
        files = [href for text, href in page.links if text.startswith(("보고서", "점수 워크북"))]
        assert len(files) == 2
        for href in files:
            answer = client.get(f"/test-runs/{href}")
            assert answer.status_code == 200
            assert answer.headers["content-disposition"].startswith("attachment;")
            assert "html" not in answer.headers["content-type"]
    with opened(AuditLog, settings.state_url) as log:
        assert [one.action for one in log.latest(2)] == ["내려받기", "내려받기"]


def test_testrun_file_is_for_those_who_see_texts_as_they_are(settings: Settings, runs: FolderWarehouse) -> None:
    (run,) = (run for run in read_testruns(runs, 1) if run.name == PLAN.name)
    folder = ReportPaths(Path(settings.reports)).testrun_folder(run.name, run.sha256)
    with browser(settings) as client:
        assert "점수 워크북" not in opened_page(client, page_of(runs, PLAN.name)).text
        assert client.get(f"/test-runs/{folder.name}/scores.xlsx").status_code == 403


@pytest.mark.parametrize(
    "address", ["{0}/summary.json", "{0}/..%2f..%2fsummary.json", "../test-runs/x", "x.html", "%2e%2e/scores.xlsx"]
)
def test_testrun_file_leads_to_no_other_file(settings: Settings, runs: FolderWarehouse, address: str) -> None:
    (run,) = (run for run in read_testruns(runs, 1) if run.name == PLAN.name)
    folder = ReportPaths(Path(settings.reports)).testrun_folder(run.name, run.sha256)
    with browser(settings, WebSettings(personal_data="reader")) as client:
        assert client.get(f"/test-runs/{address.format(folder.name)}").status_code == 404
