"""The judge: asks an OpenAI-compatible endpoint the questions of the rubrics, within its limits, and pays each once.

`client` is the entry point. `endpoint` makes one call, `limiter` paces calls across processes, `budget` limits the
cost, `verdict_store` stores paid verdicts, `live` and `batches` are the two ways to ask.
"""
