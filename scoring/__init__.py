"""Pure scoring: tables and values in, tables and values out. No files, network, clock or environment.

`from scoring import score, score_runs`: scores the chat rows, or the test run, of a pandas, Polars or Arrow table;
`explain_rows` and `golden_rows` say why rows have their points, and which are the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.frames.scores import explain_rows, golden_rows, score, score_runs

__all__ = ["explain_rows", "golden_rows", "score", "score_runs"]


def __getattr__(name: str) -> Any:
    # Imported on demand: one module of `scoring` must not import all of them.
    if name in __all__:
        from scoring.frames import scores

        return getattr(scores, name)
    raise AttributeError(f"module 'scoring' has no attribute {name!r}")
