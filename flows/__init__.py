"""Composition: Prefect flows and the command line."""

import gc
import os

# Batches of chat rows are too small for several threads: two take as long as one, and a fifth more CPU
# (docs/decisions/0002). Polars reads this when it is first imported; a value set by the user is kept.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# AQB needs no linear algebra: the threads that NumPy starts for it stay idle, and starting them takes 0.1 s.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Each arena of Polars' allocator keeps freed memory for a while: one arena, for the one thread, holds 40 MB less than
# the default of four for each core. Polars reads this when it is first imported, too.
os.environ.setdefault("_RJEM_MALLOC_CONF", "narenas:1")
# Garbage collection of the objects of libraries and rules, which stay alive, would take 0.1 s of every start.
gc.set_threshold(50_000)
