"""Synthetic inputs for demonstrations, benchmarks and tests: nothing in them is real."""

from datetime import date
from pathlib import Path
from typing import Final

SAMPLE_PATH: Final = Path(__file__).with_name("chat_rows.parquet")
SAMPLE_FIRST_DAY: Final = date(2026, 3, 9)
SAMPLE_DAYS: Final = 5
SAMPLE_INBOX: Final = Path(__file__).with_name("inbox")
