"""Files as other tools export them, and what reading one gives."""

import json
from collections.abc import Mapping
from pathlib import Path

from scoring.chat.reading import Format, Reading
from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from tasks.chat.sources import ChatRowFiles


def batch_of(
    path: Path, form: Format, names: Mapping[str, str] | None = None, window: Window | None = None
) -> RowBatch:
    (batch,) = ChatRowFiles([path], reading=Reading(names or {}, format=form)).batches(window)
    assert isinstance(batch, RowBatch), batch
    return batch


def error_of(path: Path, form: Format, names: Mapping[str, str] | None = None) -> str:
    *_, last = ChatRowFiles([path], reading=Reading(names or {}, format=form)).batches()
    assert isinstance(last, FileFailure)
    return str(last.error)


def rejects_of(batch: RowBatch) -> list[tuple[int | None, str | None, str]]:
    return [(reject.line, reject.column, reject.code) for reject in batch.rejects]


def written(tmp_path: Path, *objects: object) -> Path:
    path = tmp_path / "export.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects), encoding="utf-8")
    return path
