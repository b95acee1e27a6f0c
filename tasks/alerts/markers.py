"""Remembers what people were notified of while the state database cannot: empty files in the temporary folder.

An empty file needs no free block, so that most full disks still take it. Where the folder takes none, nothing is
remembered. Other users may write in the folder, too: what they leave there is not followed, and marks nothing.
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
    is_ours = found.st_uid == os.geteuid() and found.st_nlink == 1  # else a file of ours that somebody has linked
    return is_ours and timedelta(0) <= at - datetime.fromtimestamp(found.st_mtime, at.tzinfo) < _REMEMBERED


def mark(what: str, at: datetime) -> None:
    """Marks it at this time, if the folder takes a file."""
    with suppress(OSError):
        marker = _marker(what)
        marker.unlink(missing_ok=True)
        marker.touch(mode=0o600, exist_ok=False)
        os.utime(marker, (at.timestamp(), at.timestamp()), follow_symlinks=False)


def _marker(what: str) -> Path:
    given = os.environ.get("TMPDIR")
    folder = Path(given) if given else Path(os.sep, "tmp")  # `gettempdir` finds none on a full disk
    return folder / f"aqb-notified-{os.geteuid()}-{sha256(what.encode()).hexdigest()[:16]}"
