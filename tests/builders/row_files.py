"""What becomes of a file of chat rows."""

from pathlib import Path
from typing import Any

from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from scoring.inputs import Reject
from tasks.chat.sources import ChatRowFiles


def read(path: Path, window: Window | None = None) -> list[RowBatch]:
    """The batches of a file that can be read."""
    batches = list(ChatRowFiles([path]).batches(window))
    assert [batch for batch in batches if isinstance(batch, FileFailure)] == []
    return [batch for batch in batches if isinstance(batch, RowBatch)]


def rows(path: Path, window: Window | None = None) -> list[dict[str, Any]]:
    """Its rows."""
    return [row for batch in read(path, window) for row in batch.rows.to_dicts()]


def rejects(path: Path, window: Window | None = None) -> list[Reject]:
    """What was rejected of it."""
    return [reject for batch in read(path, window) for reject in batch.rejects]


def failure(path: Path) -> str:
    """Why a file cannot be read; the error names it."""
    (found,) = ChatRowFiles([path]).batches()
    assert isinstance(found, FileFailure)
    assert found.file == str(path) and str(found.error).startswith(str(path))
    return str(found.error)
