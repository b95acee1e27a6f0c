"""What is at a path, where "nothing" decides something: a place that the system refuses to look at is an error.

`Path.exists`, `is_file` and `is_dir` take it for a place with nothing from Python 3.14 on.
"""

from errno import EBADF, ELOOP, ENOENT, ENOTDIR
from pathlib import Path
from stat import S_ISDIR, S_ISREG

_NOTHING = (ENOENT, ENOTDIR, EBADF, ELOOP)


def exists(path: Path) -> bool:
    """Whether there is something. Raises OSError if that cannot be told."""
    return _mode(path) != 0


def is_file(path: Path) -> bool:
    """Whether there is a file. Raises OSError if that cannot be told."""
    return S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether there is a folder. Raises OSError if that cannot be told."""
    return S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except ValueError:  # no path has such signs
        return 0
    except OSError as error:
        if error.errno in _NOTHING:
            return 0
        raise
