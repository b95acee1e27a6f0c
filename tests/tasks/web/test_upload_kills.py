"""A server that is killed while files arrive and are scored, and a scoring that a person stops: nothing that was
answered or paid for is lost, and nothing half shows as done."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Timer

import httpx2
import pytest

from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.testruns.uploads import Uploads
from tasks.web.scorings import score_upload
from tests.builders.settings import settings_in
from tests.builders.uploads import PLAN, RESUME, act, after_scoring, kept
from tests.builders.web import browser
from tests.fakes.judge_questions import settings_for
from tests.fakes.openai_server import FakeOpenAI

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows kills no process by signal"),
]
KILLS = int(os.environ.get("WEB_KILLS", "1"))
"""How many servers are killed while files arrive. `make soak` asks for more."""
ANSWERED = 2

SERVER = """
import sys
from pathlib import Path
from tests.builders.web import served
from tests.tasks.web.test_upload_kills import settings_with
if __name__ == "__main__":
    with served(settings_with(Path(sys.argv[1]), sys.argv[2])) as address:
        print(address, flush=True)
        sys.stdin.read()  # until the test closes it, or ends itself
"""


def settings_with(folder: Path, judge_url: str, rpm: int = 30) -> Settings:
    """Settings inside of a folder with a judge that is asked a question every two seconds, or without end (`rpm` 0)."""
    judge = settings_for(judge_url, rpm=rpm)
    return settings_in(folder, judge=judge, web=WebSettings(requests_per_minute=100_000))


@contextmanager
def server_to_kill(folder: Path, judge_url: str) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """A server in a process of its own, and a browser before it."""
    command = [sys.executable, "-c", SERVER, str(folder), judge_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        with httpx2.Client(base_url=server.stdout.readline().strip(), timeout=60) as client:
            yield server, client
        server.kill()


def until_nobody_writes(folder: Path) -> None:
    """Returns when the process that scores a file has ended."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)


def test_upload_scoring_that_a_person_stops_keeps_what_is_paid_for(tmp_path: Path) -> None:
    with FakeOpenAI() as judge:
        settings = settings_with(tmp_path, judge.url)
        with browser(settings, settings.web) as client:
            address = kept(client, RESUME.name, RESUME.read_bytes())
            assert "예상 비용 0.0" in client.get(address).text
            assert act(client, address, "score", judge="yes").status_code == 303
            judge.wait_until_paid(ANSWERED)
            assert "채점하는 중" in client.get(address).text
            assert act(client, address, "remove").status_code == 409
            assert act(client, address, "stop").status_code == 303
            page = after_scoring(client, address)
        assert "채점이 중단되었습니다" in page
        assert "결과 보기" not in page
        (upload,) = Uploads(tmp_path / "uploads").latest()
        assert not upload.result.exists()
        assert f"전에 답을 받은 것 {judge.paid.total()}개" in page


def test_upload_scoring_killed_with_the_server_goes_on_where_it_was(tmp_path: Path) -> None:
    with FakeOpenAI() as judge:
        with server_to_kill(tmp_path, judge.url) as (server, client):
            address = kept(client, RESUME.name, RESUME.read_bytes())
            assert act(client, address, "score", judge="yes").status_code == 303
            judge.wait_until_paid(ANSWERED)
            server.kill()
        (upload,) = Uploads(tmp_path / "uploads").latest()
        until_nobody_writes(upload.folder)
        settings = settings_with(tmp_path, judge.url, rpm=0)
        with browser(settings, settings.web) as after:
            assert "채점이 중단되었습니다" in after.get(address).text
            score_upload(settings, upload)
            assert "결과 보기" in after.get(address).text
            assert after.get(f"/test-runs/upload-{upload.id}").status_code == 200
    scoring = upload.scoring
    assert scoring
    assert (scoring.done, scoring.total) == (judge.paid.total(), len(judge.paid))
    assert judge.paid_twice == 0


@pytest.mark.parametrize("number", range(KILLS))
def test_upload_killed_loses_no_file_that_was_answered(tmp_path: Path, number: int) -> None:
    with server_to_kill(tmp_path, "http://127.0.0.1:9") as (server, client):
        confirmed = [kept(client).rpartition("/")[2]]
        killing = Timer(Random(number).uniform(0.1, 0.6), server.kill)
        killing.start()
        try:
            while len(confirmed) < 150:
                confirmed.append(kept(client).rpartition("/")[2])
        except httpx2.HTTPError:
            killing.join()
    uploads = Uploads(tmp_path / "uploads").latest()
    assert {*confirmed} <= {one.id for one in uploads}
    assert {one.file.read_bytes() for one in uploads} == {PLAN.read_bytes()}
