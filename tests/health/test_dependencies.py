"""Dependencies: each has a reason, each is locked with hashes, and the lock names no address."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
# A locked package is one logical line: name==version, perhaps a marker, then its hashes.
LOCKED = re.findall(r"^([a-z0-9-]+)==((?:.*\\\n)*.*)", LOCK, re.MULTILINE)


def direct_dependencies() -> list[str]:
    """Every requirement that pyproject.toml asks for, extras and development tools included."""
    project = tomllib.loads(PYPROJECT)["project"]
    return [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]


def test_every_direct_dependency_says_why_it_is_there() -> None:
    lines = PYPROJECT.splitlines()
    without_reason = [
        requirement
        for requirement in direct_dependencies()
        if not any(re.search(rf'"{re.escape(requirement)}",\s+# \w', line) for line in lines)
    ]
    assert without_reason == []


def test_every_direct_dependency_is_locked() -> None:
    locked = {name for name, _ in LOCKED}
    names = {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in direct_dependencies()}
    assert names - locked == set()


def test_every_locked_package_has_a_hash() -> None:
    assert LOCKED
    assert [name for name, pin in LOCKED if "--hash=sha256:" not in pin] == []


def test_the_lock_holds_pins_hashes_and_names_but_no_address() -> None:
    allowed = re.compile(r"[a-z0-9-]+==\S+( ; [^:/]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|    # [^:/]+")
    assert [line for line in LOCK.splitlines() if not allowed.fullmatch(line)] == []
