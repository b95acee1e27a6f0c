"""Plain log lines on standard error, as the journal of a worker has them."""

import logging
from collections.abc import Iterator

import pytest

from tasks.config.log_lines import ToStandardError, lines_with


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of plain lines."""
    logger, handler = logging.getLogger("flows.backfill"), ToStandardError(as_json=False)
    before = logger.handlers, logger.level, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
    yield logger
    logger.handlers, logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def test_plain_line_names_its_run_or_outside_of_one_where_it_is_from(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logger.info("plan: %s", "2026-02-13 missing")
    with lines_with(run_id="3f9c2a1b"):
        logger.info("write 2026-02-13: completed in 0.1 s")
    printed = [line.split(" | ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert printed == [
        "INFO    | flows.backfill - plan: 2026-02-13 missing",
        "INFO    | Run 3f9c2a1b - write 2026-02-13: completed in 0.1 s",
    ]
