"""What became of one input of `aqb score`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import AqbError


@dataclass(frozen=True)
class ScoredFile:
    """What became of one input: the folder with its summary, or the error."""

    name: str
    folder: Path
    summary: dict[str, Any] | None = None
    error: AqbError | None = None
