"""What people may do by their role, and that nothing is done by opening a link."""

import re

import pytest

from tasks.config.settings import Settings
from tests.builders.web import OF_TOKENS, browser, log_in

DONE_BY = {
    "/logout": "reader",
    "/review/rows/2026-02-13": "reviewer",
    "/review/rows/2026-02-13/undo": "reviewer",
    "/review/runs/2026-02-13-run": "reviewer",
    "/review/runs/2026-02-13-run/undo": "reviewer",
    "/test-runs/uploads": "reviewer",
    "/test-runs/uploads/0123456789abcdef/score": "reviewer",
    "/test-runs/uploads/0123456789abcdef/stop": "reviewer",
    "/test-runs/uploads/0123456789abcdef/remove": "reviewer",
    "/test-runs/uploads/0123456789abcdef/expectations": "reviewer",
    "/test-runs/uploads/0123456789abcdef/inbox": "operator",
    "/alerts/snooze": "operator",
    "/alerts/unsnooze": "operator",
}
"""The lowest role that may send each form."""
PAGES = re.compile("/review/r[a-z]+/[^/]+|/test-runs/[^/]+|.*/expectations")
"""What answers a link as well."""


@pytest.mark.parametrize(("role", "status"), [("reader", 403), ("reviewer", 403), ("operator", 200)])
def test_role_decides_who_reads_the_record_of_accesses(settings: Settings, role: str, status: int) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, role)
        assert client.get("/accesses").status_code == status
        assert client.get("/rows").status_code == 200


@pytest.mark.parametrize("role", ["reader", "reviewer", "operator"])
def test_role_may_send_the_forms_that_are_for_it_and_for_those_below(settings: Settings, role: str) -> None:
    above = {"reader": ("reviewer", "operator"), "reviewer": ("operator",), "operator": ()}[role]
    with browser(settings, OF_TOKENS) as client:
        log_in(client, role)
        refused = [path for path in DONE_BY if "권한이 없습니다" in client.post(path, data={}).text]
    assert refused == [path for path, lowest in DONE_BY.items() if lowest in above]


def test_nothing_is_done_by_opening_a_link(settings: Settings) -> None:
    """No form's token would stand between a page of others and the person who opens it."""
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "operator")
        opened = {path: client.get(path).text for path in DONE_BY if not PAGES.fullmatch(path)}
    assert [path for path, text in opened.items() if "그런 페이지는 없습니다" not in text] == []
