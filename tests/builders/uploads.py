"""Test-run files that a person sends to the pages of `aqb web`, and has scored there."""

import re
from multiprocessing import active_children
from pathlib import Path

import httpx2

from tasks.config.settings import Settings
from tasks.testruns.uploads import Scoring, Uploads
from tasks.web.scorings import score_upload
from tests.builders.site import SAMPLE_RUNS

LIST = "/test-runs/index.html"
PLAN = next(path for path in SAMPLE_RUNS if path.name.startswith("plan"))
RESUME = next(path for path in SAMPLE_RUNS if path.suffix == ".xlsx")
_WITHIN_S = 120.0


def form_token(client: httpx2.Client) -> str:
    """What the forms of this person carry."""
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', client.get(LIST).text)
    assert found
    return found[1]


def sent(client: httpx2.Client, name: str, content: bytes, token: str | None = None) -> httpx2.Response:
    """What the server answers to a file."""
    form = {"form_token": form_token(client) if token is None else token}
    return client.post("/test-runs/uploads", data=form, files={"file": (name, content)})


def kept(client: httpx2.Client, name: str = PLAN.name, content: bytes = PLAN.read_bytes()) -> str:
    """The address of a file that was taken."""
    answer = sent(client, name, content)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def act(client: httpx2.Client, address: str, what: str, **form: str) -> httpx2.Response:
    """What the server answers to a button of a file's page."""
    return client.post(f"{address}/{what}", data={"form_token": form_token(client), **form})


def after_scoring(client: httpx2.Client, address: str) -> str:
    """The page of a file when the server, which is this process, does not score it any more."""
    for process in active_children():
        if process.name == f"score {address.rpartition('/')[2]}":
            process.join(_WITHIN_S)
            assert not process.is_alive()
    return client.get(address).text


def scored(client: httpx2.Client, address: str, **form: str) -> str:
    """The address of the result of a file that is scored now."""
    assert act(client, address, "score", **form).status_code == 303
    page = after_scoring(client, address)
    found = re.search(r'href="(/test-runs/upload-[0-9a-f]{16})"', page)
    assert found, page
    return found[1]


def scored_here(settings: Settings, address: str, **choices: str) -> str:
    """The address of the result of a file that is scored by rule in this process; `choices` also name options."""
    upload = Uploads(Path(settings.web.uploads)).find(address.rpartition("/")[2])
    assert upload
    rubric, agent_type = choices.pop("rubric", ""), choices.pop("agent_type", "")
    upload.begin(Scoring("kim", rubric, agent_type, judge=False, options=choices))
    score_upload(settings, upload)
    return f"/test-runs/upload-{upload.id}"
