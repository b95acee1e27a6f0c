"""Remembers what people were notified of while the state database cannot: empty files in the temporary folder.

An empty file needs no free block, so that most full disks still take it. Where the folder takes none, nothing is
remembered.
"""

import os
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

_REMEMBERED = timedelta(days=1)


def is_marked(what: str, at: datetime) -> bool:
    """Whether this user has marked it within a day before this time."""
    try:
        found = _marker(what).lstat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and timedelta(0) <= at - datetime.fromtimestamp(found.st_mtime, at.tzinfo) < (
        _REMEMBERED
    )


def mark(what: str, at: datetime) -> None:
    """Marks it at this time, if the folder takes a file."""
    with suppress(OSError):
        marker = _marker(what)
        marker.touch(mode=0o600)
        os.utime(marker, (at.timestamp(), at.timestamp()))


def _marker(what: str) -> Path:
    given = os.environ.get("TMPDIR")
    folder = Path(given) if given else Path(os.sep, "tmp")  # `gettempdir` finds none on a full disk
    return folder / f"aqb-notified-{os.geteuid()}-{sha256(what.encode()).hexdigest()[:16]}"
