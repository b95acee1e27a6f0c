"""Names of folders that every system allows."""

import re

_UNSAFE = re.compile(r"[^\w.()-]+")


def safe_name(name: str) -> str:
    """A file's name as a folder's name, on every system."""
    return _UNSAFE.sub("_", name).strip("._ ")[:80] or "run"
