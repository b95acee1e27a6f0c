"""Log lines of the pages: one a request, with an id that its answer carries, and nothing of what people wrote."""

import json
import logging
from collections.abc import Iterator

import pytest

from tasks.config.log_lines import OURS, ToStandardError, send_lines_to
from tasks.config.settings import Settings
from tests.builders.web import browser


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in OURS]
    before = [(one.handlers, one.level, one.propagate) for one in loggers]
    yield
    for logger, (handlers, level, propagates) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagates
        logger.setLevel(level)


def test_each_request_has_a_json_line_with_the_id_of_its_answer(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    send_lines_to(ToStandardError(as_json=True))
    with browser(settings) as client:
        answers = [client.get(address) for address in ("/rows?text=secretly", "/nowhere", "/static/web.css")]
    printed = capsys.readouterr().err
    lines = [json.loads(line) for line in printed.splitlines()]
    assert [one["request_id"] for one in lines] == [one.headers["x-request-id"] for one in answers]
    assert len({one["request_id"] for one in lines}) == len(answers)
    assert [one["message"].split(" in ")[0] for one in lines] == [
        "GET /rows: 200",
        "GET /nowhere: 404",
        "GET /static/web.css: 200",
    ]
    assert "secretly" not in printed


def test_what_goes_wrong_in_a_page_has_the_id_of_its_request(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    send_lines_to(ToStandardError(as_json=True))
    broken = settings.model_copy(update={"time_zone": "no such zone"})
    with browser(broken) as client:
        answer = client.get("/alerts")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert answer.status_code == 500
    assert [one["level"] for one in lines] == ["ERROR", "INFO"]
    assert {one["request_id"] for one in lines} == {answer.headers["x-request-id"]}
