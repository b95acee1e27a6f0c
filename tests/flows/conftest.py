"""The command line as people call it: in this process, and as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from flows.cli.app import app, main
from flows.steps.site import SiteOutcome
from tasks.config.alerts import AlertsSettings, Route
from tests.builders import flows
from tests.fakes.slack_server import TOKEN, FakeSlack
from tests.fakes.website import Website

QA, BOT = "SLACK_WEBHOOK_QA", "SLACK_BOT_TOKEN"
AQB = Path(sys.executable).with_name("aqb")
TABLES = ("alerts", "monitoring_crosstab", "monitoring_excluded", "monitoring_kpis", "monitoring_scores", "rejected")
"""Of a scored day."""

EARLIER = Path(__file__).parents[1] / "earlier_version"
EARLIER_SETTINGS = f"""
warehouse = "warehouse"
reports = "reports"
state_url = "sqlite:///state.db"

[monitoring]
source = "{EARLIER / "chat_rows"}"
"""


@dataclass(frozen=True)
class Finished:
    """What a command left: its exit code and what it wrote."""

    exit_code: int
    out: str
    err: str


Command = Callable[..., Finished]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def site_is_built() -> None:
    """The test looks at the report site that a run builds at its end, or at what the run says of it."""


@pytest.fixture(autouse=True)
def _no_site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process build no site, which takes half of the time of a night of a few rows, unless the test asks
    for it or sees all steps on a server."""
    if not {"site_is_built", "prefect_server"} & set(request.fixturenames):
        for module in ("nightly", "backfill", "test_runs"):
            monkeypatch.setattr(f"flows.{module}.site_after", lambda _: SiteOutcome(None))


def done(aqb: Command, *arguments: str | Path) -> str:
    """What a command wrote that ended well."""
    finished = aqb(*arguments)
    assert finished.exit_code == 0, finished.err
    return finished.out


def alerts_to(slack: FakeSlack) -> AlertsSettings:
    """Every alert to a channel of the QA team."""
    return AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url)


@cache
def _command() -> Callable[[], None]:
    """The commands as `app()` makes them out of their functions, in 11 ms, each time anew."""
    return get_command(app)


@pytest.fixture
def aqb(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Command:
    """`aqb` in this process and the empty working folder. An error that it does not handle fails the test.

    Flows are plain functions, unless the test asks for `prefect_server`; `aqb serve` loads them as they are.
    """

    def run(*arguments: str | Path) -> Finished:
        capsys.readouterr()
        with monkeypatch.context() as patched, pytest.raises(SystemExit) as ended:
            patched.setattr(sys, "argv", ["aqb", *map(str, arguments)])
            patched.setenv("AQB_SERVICE", os.environ.get("AQB_SERVICE", ""))  # `--service` sets it for good
            patched.setattr("flows.cli.app.app", _command())
            if "prefect_server" not in request.fixturenames and arguments[:1] != ("serve",):
                patched.setattr("flows.nightly.nightly", flows.nightly)
                patched.setattr("flows.backfill.backfill", flows.backfill)
                patched.setattr("flows.test_runs.score_inbox", flows.score_inbox)
                for command in ("nightly", "backfill"):
                    patched.setattr(f"flows.cli.{command}.running_flows", nullcontext)
            main()
        written = capsys.readouterr()
        assert "defect of AQB" not in written.err, written.err
        return Finished(int(ended.value.code or 0), written.out, written.err)

    return run


@pytest.fixture
def installed_aqb(folder: Path) -> Command:
    """The installed command as a process of its own, in the empty working folder, with what a user's shell has set."""
    shell = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}

    def run(*arguments: str | Path, **variables: str) -> Finished:
        process = subprocess.run(
            [AQB, *arguments], capture_output=True, text=True, cwd=folder, env=shell | variables, check=False
        )
        return Finished(process.returncode, process.stdout, process.stderr)

    return run


@pytest.fixture
def prefect_in_threads(prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same server for threads that Prefect starts, which elsewhere know it from the environment."""
    from prefect.context import SettingsContext

    monkeypatch.setattr("prefect.context.GLOBAL_SETTINGS_CONTEXT", SettingsContext.get())
    return prefect_server


@pytest.fixture
def website() -> Iterator[str]:
    """The address of a server of web pages, for what should be something else."""
    with Website() as server:
        yield server.url


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlack]:
    """A Slack whose secrets are in the environment, but for the default webhook."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "SLACK_WEBHOOK_URL"):
        monkeypatch.delenv(name, raising=False)
    with FakeSlack() as server:
        monkeypatch.setenv(QA, server.webhook())
        monkeypatch.setenv(BOT, TOKEN)
        yield server
