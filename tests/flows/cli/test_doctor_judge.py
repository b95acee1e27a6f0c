"""What `aqb doctor` says of the judge: whether it is there, knows the model, and takes the key, which is not shown."""

from datetime import timedelta
from pathlib import Path

import pytest

from flows.runtime.clock import today
from tests.fakes.hostile_server import UNTRUSTED, HostileServer
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.flows.cli.conftest import checks
from tests.flows.conftest import Command

KEY = "sk-5ecret"
FROM = "; the key is from environment variable OPENAI_API_KEY"
PASSWORD = "hunter2"

pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def judge_settings(monkeypatch: pytest.MonkeyPatch, source: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AQB_JUDGE__MODEL", "judge-1")
    return monkeypatch


@pytest.mark.parametrize(("model", "listed"), [("judge-1", "among"), ("judge-2", "not among")])
def test_judge_that_answers_lists_its_models_and_is_asked_no_question(
    aqb: Command, judge_settings: pytest.MonkeyPatch, model: str, listed: str
) -> None:
    with FakeOpenAI(Behaviour(api_key=KEY, model=model)) as server:
        judge_settings.setenv("OPENAI_BASE_URL", server.url)
        assert checks(aqb)["judge"] == f"{server.url} answers; judge-1 is {listed} its 1 models{FROM}"
        assert server.asked.total() == 0


@pytest.mark.parametrize(("days", "said"), [(40, "in 40 days"), (60, "in 60 days"), (0, "so it answers no more")])
def test_model_that_is_shut_down_soon_is_not_ok(
    aqb: Command, judge_settings: pytest.MonkeyPatch, days: int, said: str
) -> None:
    last = today("Asia/Seoul") + timedelta(days=days)
    with FakeOpenAI(Behaviour(shutdown_date=str(last))) as server:
        judge_settings.setenv("OPENAI_BASE_URL", server.url)
        assert checks(aqb)["judge"].startswith(f"NOT {server.url}: judge-1 is shut down on {last}, {said}")
    with FakeOpenAI(Behaviour(shutdown_date=str(last + timedelta(days=61)))) as server:
        judge_settings.setenv("OPENAI_BASE_URL", server.url)
        assert checks(aqb)["judge"].startswith(f"{server.url} answers")


def test_judge_behind_a_password_is_reached_and_the_password_is_not_shown(
    aqb: Command, judge_settings: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI() as server:
        judge_settings.setenv("AQB_JUDGE__BASE_URL", server.url.replace("://", f"://aqb:{PASSWORD}@"))
        seen = checks(aqb)["judge"]
    assert seen.startswith(f"{server.url.replace('://', '://aqb:***@')} answers")


def test_wrong_key_is_told_and_not_shown(aqb: Command, judge_settings: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(Behaviour(api_key="another")) as server:  # quotes the key in its 401
        judge_settings.setenv("OPENAI_BASE_URL", server.url)
        shown = aqb("doctor")
    assert shown.exit_code == 1
    assert f"NOT  judge: {server.url}: the judge answers with status 401\n  -> check OPENAI_API_KEY" in shown.out
    assert KEY not in shown.out + shown.err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("404", "status 404\n  -> check judge.base_url or OPENAI_BASE_URL: most end in /v1"),
        ("403", "status 403\n  -> check what the key may do"),
        ("503", "status 503\n  -> ask its operator, or try again later"),
        ("web-page", "this is no judge: it lists no models, as a web page does\n  -> check judge.base_url"),
    ],
)
def test_address_that_is_no_judge_is_told(
    aqb: Command, judge_settings: pytest.MonkeyPatch, website: str, path: str, said: str
) -> None:
    judge_settings.setenv("AQB_JUDGE__BASE_URL", f"{website}/{path}")
    shown = aqb("doctor")
    assert shown.exit_code == 1
    assert f"NOT  judge: {website}/{path}: " in shown.out
    assert said in shown.out
    assert KEY not in shown.out + shown.err


def test_judge_that_is_not_there_is_told(aqb: Command, judge_settings: pytest.MonkeyPatch, refusing_port: int) -> None:
    judge_settings.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{refusing_port}/v1")
    assert "the judge cannot be reached: Connection refused" in checks(aqb)["judge"]


def test_judge_whose_certificate_nobody_has_signed_is_told_as_that(
    aqb: Command, judge_settings: pytest.MonkeyPatch
) -> None:
    with HostileServer(lambda _: [], UNTRUSTED) as server:
        judge_settings.setenv("OPENAI_BASE_URL", server.url)
        assert "certificate verify failed: self-signed certificate" in checks(aqb)["judge"]


def test_judge_that_is_switched_on_needs_a_key_or_an_address(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQB_JUDGE__ENABLED", "true")
    assert checks(aqb)["judge"].startswith("NOT judge: there is nobody to ask\n  -> set OPENAI_API_KEY")
