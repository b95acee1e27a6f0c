"""`aqb score`: files into a folder, without Prefect, a server or a database."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scoring.catalog import row_rubric
from scoring.errors import StorageError
from tasks.chat_rows import ChatRowFiles
from tasks.chat_scoring import score_chat_rows
from tasks.score_folder import write_score_folder
from tasks.settings import Settings


def score_to_folder(inputs: Sequence[str], rubric_id: str, out: Path, settings: Settings) -> dict[str, Any]:
    """Scores all rows of the inputs and writes tables, summary and report to `out`; returns the summary.

    Raises:
        UsageError: no such rubric.
        InputError: an input matches nothing.
        StorageError: `out` cannot be written.
    """
    rubric = row_rubric(rubric_id)
    files = ChatRowFiles(inputs)
    staging = out / ".staging"
    try:
        shutil.rmtree(staging, ignore_errors=True)
        outcome = score_chat_rows(
            files,
            rubric,
            time_zone=settings.time_zone,
            window=None,
            staging=staging,
            keep_text=settings.monitoring.keep_text,
        )
        return write_score_folder(out, outcome, files.fingerprint())
    except OSError as error:
        raise StorageError(
            f"cannot write: {error.strerror or error}", where=str(out), fix="choose another --out folder"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
