"""Days of a warehouse, scored from a file as a run scores them."""

from collections.abc import Collection
from datetime import date
from pathlib import Path

from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import KeepText
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.chat.local_engine import LocalEngine
from tasks.chat.sources import ChatRowFiles
from tasks.warehouse import Warehouse
from tests.builders.chat_rows import RUBRIC


def write_scored_day(
    warehouse: Warehouse,
    day: date,
    source: str | Path,
    rubric: RowRubric = RUBRIC,
    keep_text: KeepText = "flagged",
    erased: Collection[str] = (),
) -> tuple[ScoringOutcome, KpiTables]:
    """Replaces a day of Asia/Seoul by the rows that a file or folder has of it, in every table but that of alerts."""
    with warehouse.staging("scored-days") as staging:
        engine = LocalEngine(ChatRowFiles([source]), warehouse, rubric, "Asia/Seoul", keep_text, staging)
        scored = engine.score(day)
        return scored.outcome, scored.write(erased)
