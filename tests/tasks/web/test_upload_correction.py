"""A file that a person sent, with an expected result corrected: another version beside it, and who may make one."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tasks.config.settings import Settings
from tasks.state.audit_log import AuditLog
from tasks.testruns.uploads import Uploads
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.uploads import PLAN, RESUME, act, kept, scored_here
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page

QUERY = "PL-01"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings without anything scored."""
    return settings_in(tmp_path)


def correct(client: TestClient, address: str, text: str, query: str = QUERY, column: str = "기대결과") -> str:
    answer = act(client, address, "expectations", query=query, column=column, text=text)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_upload_correction_makes_another_version_which_is_compared_with_it(settings: Settings, tmp_path: Path) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "reviewer")
        address = kept(client)
        result = scored_here(settings, address, value_lookup="direct")
        link = f"/test-runs/uploads/{address.rpartition('/')[2]}/expectations?query={QUERY}"
        assert link.removeprefix("/test-runs/") in client.get(result).text
        form = opened_page(client, link)
        assert "평가 요소 3가지" in form.text
        assert form.scripts == []
        version = correct(client, address, "message: 저장\r\n</textarea><b>")
        after = scored_here(settings, version)
        pages = [opened_page(client, page) for page in (address, version, result, after)]
        comparison = f"/test-runs/comparison?base=upload-{address[-16:]}&candidate=upload-{version[-16:]}"
        for page in pages:
            assert "기대결과 칸을 고친 판입니다" in page.text
            assert comparison in [href for _, href in page.links]
        assert client.get(comparison).status_code == 200
        again = correct(client, version, "다시")
        assert "plan_agent_sample (3판).csv" in opened_page(client, again).text
        assert opened_page(client, f"{version}/expectations?query={QUERY}").source.count("</textarea>") == 1
        assert act(client, address, "remove").status_code == 303
        assert "앞의 판: 지워졌습니다" in opened_page(client, version).text
    old, new = PLAN.read_bytes(), Uploads(tmp_path / "uploads").find(version[-16:])
    assert new
    assert (new.name, new.file.read_bytes() != old) == ("plan_agent_sample (2판).csv", True)
    with opened(AuditLog, settings.state_url) as log:
        acts = [(one.who, one.target) for one in log.latest(50) if one.action == "기대결과 고침"]
    assert ("reviewer", "plan_agent_sample.csv PL-01 기대결과") in acts


def test_upload_corrections_of_one_version_have_names_of_their_own(settings: Settings) -> None:
    with browser(settings) as client:
        address = kept(client)
        second = correct(client, address, "다시")
        said = opened_page(client, f"{address}/expectations?query={QUERY}").text
        assert "고치면 plan_agent_sample (3판).csv 파일이 새로 만들어지고" in said
        for version in (address, second):
            correct(client, version, "또다시")
    names = [upload.name for upload in Uploads(Path(settings.web.uploads)).latest()]
    assert names == [*(f"plan_agent_sample ({number}판).csv" for number in (4, 3, 2)), PLAN.name]


@pytest.mark.parametrize(("sample", "cell"), [(PLAN, (QUERY, "기대결과")), (RESUME, ("AM-01", "정답 수치"))])
def test_upload_correction_that_is_sent_twice_makes_one_version(
    settings: Settings, sample: Path, cell: tuple[str, str]
) -> None:
    with browser(settings) as client, ThreadPoolExecutor(2) as hands:
        address = kept(client, sample.name, sample.read_bytes())
        twice = list(hands.map(lambda _: correct(client, address, "다시", *cell), range(2)))
        assert twice == [correct(client, address, "다시", *cell)] * 2
        assert correct(client, address, "또다시", *cell) not in twice
    assert len(Uploads(Path(settings.web.uploads)).latest()) == 3
    with opened(AuditLog, settings.state_url) as log:
        assert [one.action for one in log.latest(50)].count("기대결과 고침") == 2


def test_upload_correction_keeps_the_choices_of_the_version_before_it(settings: Settings) -> None:
    with browser(settings) as client:
        address = kept(client)
        scored_here(settings, address, rubric="plan-agent", value_lookup="direct")
        second = correct(client, address, "다시")
        third = correct(client, second, "또다시")
        assert act(client, address, "remove").status_code == 303
        for version in (second, third):
            page = client.get(version).text
            assert '<option value="plan-agent" selected>' in page
            assert "<option selected>direct</option>" in page


def test_upload_correction_of_a_version_before_says_what_it_will_not_have(settings: Settings) -> None:
    said = "여기서 고치면 그 판에서 고친 것은 들어가지 않습니다"
    with browser(settings) as client:
        address = kept(client)
        form = f"{address}/expectations?query={QUERY}"
        assert said not in client.get(form).text
        version = correct(client, address, "다시")
        page = opened_page(client, form)
        assert said in page.text
        assert version in [href for _, href in page.links]


def test_upload_correction_needs_a_form_of_ours_and_a_change(settings: Settings) -> None:
    with browser(settings) as client:
        address = kept(client)
        form = client.get(f"{address}/expectations?query={QUERY}").text
        found = re.search(r'name="text" rows="8">\n(.*?)</textarea>', form, re.DOTALL)
        assert found
        fields = {"query": QUERY, "column": "기대결과", "text": found[1].replace("&gt;", ">").replace("&#34;", '"')}
        unchanged = act(client, address, "expectations", **fields)
        assert (unchanged.status_code, "고친 것이 없습니다" in unchanged.text) == (400, True)
        assert client.post(f"{address}/expectations", data={**fields, "text": "x"}).status_code == 403
        assert act(client, address, "expectations", query="no", column="기대결과", text="x").status_code == 400
        assert client.get(f"{address}/expectations?query=no").status_code == 400
        assert len(Uploads(Path(settings.web.uploads)).latest()) == 1


def test_upload_correction_says_that_it_takes_one_cell_at_a_time(settings: Settings) -> None:
    said = "한 번에 한 칸을 고칩니다"
    with browser(settings) as client:
        of_two_columns = kept(client, RESUME.name, RESUME.read_bytes())
        form = client.get(f"{of_two_columns}/expectations?query=AM-01").text
        assert (form.count("</textarea>"), said in form) == (2, True)
        assert said not in client.get(f"{kept(client)}/expectations?query={QUERY}").text


def test_upload_correction_is_for_reviewers_who_may_have_the_file(settings: Settings) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        address = kept(client)
        result = scored_here(settings, address)
        for role in ("reader", "reviewer"):
            client.cookies.clear()
            log_in(client, role)
            assert "기대결과 고치기" not in client.get(result).text
            assert client.get(f"{address}/expectations?query={QUERY}").status_code == 403
            assert act(client, address, "expectations", query=QUERY, column="기대결과", text="x").status_code == 403
        assert len(Uploads(Path(settings.web.uploads)).latest()) == 1
