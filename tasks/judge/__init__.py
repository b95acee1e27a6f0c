"""The judge: questions of the rubrics, asked of an OpenAI-compatible endpoint, inside its limits, never paid twice.

`client` is the way in. `endpoint` makes one call, `limiter` paces them across processes, `budget` keeps the money,
`verdict_store` holds what was paid for, `live` and `batches` are the two ways to ask.
"""

from __future__ import annotations
