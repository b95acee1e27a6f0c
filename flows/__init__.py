"""Composition: Prefect flows and the command line."""

import gc
import os

# Batches of chat rows are too small to share out: two threads take as long as one and a fifth more CPU
# (docs/decisions/0002). Polars reads this when it is first imported; a user's own choice stands.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# Nothing here is linear algebra: the threads that NumPy starts for it only wait, and cost a tenth of a second to do so.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Each arena of Polars' allocator keeps for a while what it has freed: with one for its one thread 40 MB less are held
# than with four for each core. Polars reads this when it is first imported, too.
os.environ.setdefault("_RJEM_MALLOC_CONF", "narenas:1")
# Looking through libraries and rules, which stay, for garbage takes a tenth of a second of every start.
gc.set_threshold(50_000)
