"""Files that people send, scored: the result, what is taken home, comparisons, the inbox."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import openpyxl
import pytest
from starlette.testclient import TestClient

from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.testruns.uploads import Scoring, Uploads
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.settings import settings_in
from tests.builders.site import write_run
from tests.builders.uploads import PLAN, act, after_scoring, form_token, kept, scored, scored_here
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page

pytestmark = pytest.mark.slow

PHONE = "010-1234-5678"
FORMULA = "=HYPERLINK(1)"
ASKED = "온라인 평가 기간을 늘리고 싶어"


@dataclass(frozen=True)
class Results:
    """A reviewer's browser, the file that this person sent, and the addresses of its page and its result."""

    client: TestClient
    settings: Settings
    folder: Path
    content: bytes
    address: str
    result: str

    def scored_here(self, address: str, **choices: str) -> str:
        """The address of another result."""
        return scored_here(self.settings, address, **choices)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """A run that the warehouse knows, sent once more with a phone number and a formula among its texts, and scored."""
    folder = tmp_path_factory.mktemp("scored")
    inbox = InboxSettings(inbox=str(folder / "inbox"))
    settings = settings_in(folder, test_runs=inbox)
    write_run(FolderWarehouse(Path(settings.warehouse)), PLAN, DAY)
    text = PLAN.read_text(encoding="utf-8-sig").replace(ASKED, f"{PHONE}로 알려줘", 1).replace(ASKED, FORMULA)
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "reviewer")
        address = kept(client, PLAN.name, text.encode())
        result = scored(client, address, **{"option.value_lookup": "nested"})
        yield Results(client, settings, folder, text.encode(), address, result)


def as_role(client: TestClient, role: str) -> None:
    client.cookies.clear()
    log_in(client, role)


def test_upload_result_is_a_page_beside_the_runs_of_the_warehouse(results: Results) -> None:
    client, address, result = results.client, results.address, results.result
    page = opened_page(client, result)
    assert page.scripts == []
    assert PHONE not in page.source
    assert "[전화번호]" in page.text
    assert "지난 실행과 비교" in page.text  # with the run that the warehouse knows
    for href in {href for _, href in page.links if not href.startswith(("#", "/"))}:
        assert client.get(f"/test-runs/{href}").status_code == 200, href
    assert "결과 보기" in opened_page(client, "/test-runs/index.html").text
    assert "채점했습니다" in opened_page(client, address).text


def test_upload_result_is_taken_home_by_who_sent_it(results: Results) -> None:
    client, result = results.client, results.result
    names = ("scores.xlsx", "report.md", "review.csv")
    answers = {name: client.get(f"{result}/{name}") for name in names}
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "scores.xlsx": 200,
        "report.md": 200,
        "review.csv": 200 if "review.csv" in client.get(result).text else 404,
    }
    assert answers["scores.xlsx"].headers["content-disposition"].startswith("attachment;")
    book = openpyxl.load_workbook(io.BytesIO(answers["scores.xlsx"].content))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert FORMULA in [cell.value for cell in cells]
    assert not any(cell.data_type == "f" for cell in cells)
    for name in ("summary.json", "scores.parquet", "..%2fupload.json"):
        assert client.get(f"{result}/{name}").status_code == 404
    as_role(client, "operator")  # may see no personal data either
    assert client.get(f"{result}/scores.xlsx").status_code == 403
    as_role(client, "reviewer")


def test_upload_result_is_compared_with_any_other(results: Results) -> None:
    client, result = results.client, results.result
    other = results.scored_here(kept(client))
    form = opened_page(client, "/test-runs/comparison")
    for one in (result, other):
        assert one.removeprefix("/test-runs/") in form.source
    pages = [one.removeprefix("/test-runs/") for one in (other, result)]
    page = opened_page(client, f"/test-runs/comparison?base={pages[0]}&candidate={pages[1]}")
    assert "지표별 차이" in page.text
    assert PHONE not in page.source
    assert page.scripts == page.styles == []
    assert client.get(f"/test-runs/comparison?base={pages[0]}&candidate=upload-{'0' * 16}").status_code == 404


def test_choice_of_runs_tells_when_files_were_sent_by_the_clock_of_the_people(results: Results) -> None:
    upload = Uploads(Path(results.settings.web.uploads)).find(results.result.rpartition("-")[2])
    assert upload is not None
    results.scored_here(kept(results.client))  # one alone is nothing to choose from
    sent = f"{upload.at.astimezone(ZoneInfo('Asia/Seoul')):%Y-%m-%d %H:%M}"
    assert f"{PLAN.name} (올린 파일, {sent}, reviewer)" in opened_page(results.client, "/test-runs/comparison").text


def test_runs_of_two_rubrics_are_not_compared_and_people_read_what_to_do(results: Results) -> None:
    other = results.scored_here(kept(results.client), rubric="recruit-agent")
    pages = [one.removeprefix("/test-runs/") for one in (other, results.result)]
    answer = results.client.get(f"/test-runs/comparison?base={pages[0]}&candidate={pages[1]}")
    assert answer.status_code == 400
    assert "채점 기준이 달라 비교할 수 없습니다" in answer.text
    assert "다시 채점하세요" in answer.text
    assert "rubric" not in answer.text


@pytest.mark.long
def test_file_whose_scoring_has_just_begun_is_not_removed(results: Results) -> None:
    client = results.client
    address, form = kept(client), {"form_token": form_token(client)}
    assert client.post(f"{address}/score", data=form).status_code == 303
    assert client.post(f"{address}/remove", data=form).status_code == 409
    assert "결과 보기" in after_scoring(client, address)
    assert client.post(f"{address}/remove", data=form).status_code == 303


def test_upload_goes_into_the_inbox_where_it_is_scored_alike(results: Results) -> None:
    client = results.client
    before = client.get(results.address).text
    assert "운영 담당자가 inbox에 넣으면" in before
    assert f"{results.address}/inbox" not in before
    as_role(client, "operator")
    assert f"{results.address}/inbox" in client.get(results.address).text
    assert act(client, results.address, "inbox").status_code == 303
    after = client.get(results.address).text
    assert "inbox에 들어 있습니다" in after
    assert f"{results.address}/inbox" not in after
    (there,) = (results.folder / "inbox").iterdir()
    assert there.name == PLAN.name
    assert there.read_bytes() == results.content
    write_run(FolderWarehouse(Path(results.settings.warehouse)), there, DAY + timedelta(1))
    scored_there = opened_page(client, results.address)
    assert "inbox에 들어 있습니다" not in scored_there.text
    (link,) = [href for text, href in scored_there.links if text == "실린 결과 보기"]
    assert client.get(link).status_code == 200
    other = kept(client)  # of the same name
    assert "먼저 채점하세요" in act(client, other, "inbox").text
    results.scored_here(other)
    assert "이름이 같은 다른 파일" in act(client, other, "inbox").text
    without_agent = kept(client, "결과.csv")
    results.scored_here(without_agent, rubric="aqb-1.2", agent_type="plan")
    assert "다른 에이전트나 채점 기준" in act(client, without_agent, "inbox").text
    assert [path.name for path in (results.folder / "inbox").iterdir()] == [PLAN.name]
    as_role(client, "reviewer")


def test_page_of_a_judged_result_says_what_scoring_by_rule_takes_from_it(results: Results) -> None:
    address = kept(results.client)
    results.scored_here(address)
    warning = "판정 모델이 준 점수가 결과에서 빠집니다"
    assert warning not in results.client.get(address).text
    upload = Uploads(Path(results.settings.web.uploads)).find(address.rpartition("/")[2])
    assert upload
    assert upload.scoring
    upload.note(replace(upload.scoring, judge=True))
    assert warning in results.client.get(address).text


def test_upload_that_cannot_be_scored_says_why(results: Results) -> None:
    address = kept(results.client, "결과.csv")
    results.scored_here(address)
    page = results.client.get(address).text
    assert "채점하지 못했습니다: 어느 채점 기준으로" in page
    assert "결과 보기" not in page


def test_upload_options_decide_and_stand_with_the_result(results: Results) -> None:
    client = results.client
    assert "채점 옵션: value_lookup=nested" in opened_page(client, results.address).text  # as its form has sent it
    address = kept(client)
    page = opened_page(client, address)
    assert "dataKey와 buttonKey를 찾는 곳" in page.text
    assert "기본값 nested" in page.text
    result = results.scored_here(address, value_lookup="direct")
    assert "<option selected>direct</option>" in client.get(address).text
    assert "value_lookup=direct" in opened_page(client, result).text


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("value_lookup", "value_lookup에 쓸 수 없는 값입니다"),
        ("min_weight_coverage", "기본값은 70입니다"),
        ("no", "그런 채점 옵션은 없습니다"),
    ],
)
def test_upload_options_that_are_none_are_refused_before_scoring(results: Results, option: str, said: str) -> None:
    answer = act(results.client, results.address, "score", **{f"option.{option}": "101"})
    assert (answer.status_code, said in answer.text) == (400, True)
    assert "채점했습니다" in results.client.get(results.address).text


def test_upload_result_stands_until_the_next_one_is_whole(results: Results) -> None:
    address = kept(results.client)
    result = results.scored_here(address)
    upload = Uploads(results.folder / "uploads").find(address.rpartition("/")[2])
    assert upload
    before = upload.result
    upload.begin(Scoring("kim", "aqb-1.2", "plan", judge=False))
    upload.result_folder(2).mkdir()  # as a kill leaves it before the result is noted
    assert upload.result == before
    assert "지난 결과 보기" in opened_page(results.client, address).text
    assert "채용 에이전트 품질 평가" not in opened_page(results.client, result).text
    results.scored_here(address, rubric="aqb-1.2", agent_type="plan")
    assert "채용 에이전트 품질 평가" in opened_page(results.client, result).text
    assert [path.name for path in upload.folder.glob("result*")] == ["result-2"]
