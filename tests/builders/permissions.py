"""Files and folders that may not be read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

NOBODY = 65534


@contextmanager
def locked(place: Path, mode: int = 0) -> Iterator[None]:
    """Nobody may list the folder or read the file, whoever runs the tests; with 0o644, enter the folder that is listed.

    The path is relative to a working folder that others may enter: the folders of tests are for their user alone.
    """
    was_root = os.geteuid() == 0
    place.chmod(mode)
    try:
        if was_root:
            with suppress(OSError):  # where root is the only user there is
                os.seteuid(NOBODY)
        if os.access(place, os.X_OK if mode else os.R_OK, effective_ids=True):
            pytest.skip("whoever runs the tests may read anything")
        yield
    finally:
        if was_root:
            os.seteuid(0)
        place.chmod(0o755)
