"""A server that is killed while people review: every verdict that was answered is there afterwards."""

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from threading import Timer

import httpx
import pytest

from tasks.review.label_store import LabelStore
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.tasks.web.conftest import DAYS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows kills no process by signal"),
]
KILLS = int(os.environ.get("WEB_KILLS", "1"))
"""How many servers are killed. `make soak` asks for more."""

SERVER = """
import sys
from pathlib import Path
from tests.builders.settings import settings_in
from tests.builders.web import served
with served(settings_in(Path(sys.argv[1]), warehouse=sys.argv[2])) as address:
    print(address, flush=True)
    sys.stdin.read()  # until the test closes it, or ends itself
"""
ROWS = f"/review/rows/{DAYS[0]}"


def reviewed_until_killed(folder: Path, warehouse: str, seconds: float) -> list[str]:
    """The notes of the verdicts that a server answered before it was killed."""
    confirmed: list[str] = []
    command = [sys.executable, "-c", SERVER, str(folder), warehouse]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=30) as client:
            text = client.get(ROWS).text
            (token,) = {*re.findall(r'name="form_token" value="([0-9a-f]+)"', text)}
            (item,) = re.findall(r'name="item" value="([0-9a-f]+)"', text)
            (label, *_) = re.findall(r'name="label" value="([A-Z]+)"', text)
            killing = Timer(seconds, server.kill)
            killing.start()
            try:
                while True:
                    note = f"note {len(confirmed)}"
                    form = {"form_token": token, "item": item, "label": label, "note": note}
                    assert client.post(ROWS, data=form).status_code == 303
                    confirmed.append(note)
            except httpx.HTTPError:
                killing.join()
    return confirmed


@pytest.mark.parametrize("number", range(KILLS))
def test_review_page_killed_loses_no_verdict_that_was_answered(
    whole_warehouse: FolderWarehouse, tmp_path: Path, number: int
) -> None:
    confirmed = reviewed_until_killed(tmp_path, whole_warehouse.url, Random(number).uniform(0.1, 0.6))
    with opened(LabelStore, settings_in(tmp_path).state_url) as store:
        kept = [one.note for one in store.every_label()]
    assert kept[: len(confirmed)] == confirmed
    assert confirmed
    assert len(kept) - len(confirmed) <= 1  # one may have been kept whose answer died
