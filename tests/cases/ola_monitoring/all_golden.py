"""Every golden row, and the same as chat rows with timestamps of their own."""

from datetime import UTC, datetime, timedelta

from tests.cases.ola_monitoring.answers import ANSWERS
from tests.cases.ola_monitoring.outcomes import OUTCOMES
from tests.cases.ola_monitoring.questions import QUESTIONS

_FIRST = datetime(2026, 2, 1, tzinfo=UTC)

GOLDEN = [*QUESTIONS, *ANSWERS, *OUTCOMES]
GOLDEN_ROWS = [
    golden.inputs | {"timestamp": _FIRST + timedelta(seconds=position)} for position, golden in enumerate(GOLDEN)
]
