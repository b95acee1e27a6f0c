"""Dependencies: each has a reason, each is locked with hashes, and the lock names no address."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
RUNNING, DEVELOPING, OF_RAY = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-ray.lock")
)


def locked(lock: str) -> dict[str, str]:
    """Package -> pin: a locked package is one logical line, name==version, perhaps a marker, then its hashes."""
    return dict(re.findall(r"^([a-z0-9-]+)==((?:.*\\\n)*.*)", lock, re.MULTILINE))


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


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in requirements}


def imported(source: str) -> Iterator[tuple[str, ...]]:
    """The modules that one of which each import needs: `from a import b` finds `b` in the module `a`, or beside it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=found):
                yield from ((one.name,) for one in found)
            case ast.ImportFrom(module=str(module), names=found):
                yield from ((module, f"{module}.{one.name}") for one in found)


def test_every_third_party_import_is_of_a_direct_dependency() -> None:
    packages = {
        re.sub(r"(/__init__)?\.(py|[\w.-]+\.so)$", "", file).replace("/", "."): package
        for one in distributions()
        for package in [re.sub("[_.]", "-", one.name.lower())]
        for line in (one.read_text("RECORD") or "").splitlines()
        if (file := line.partition(",")[0]).endswith((".py", ".so"))
    }
    packages.setdefault("prefect_ray.task_runners", "prefect-ray")  # not in this environment
    for name in ("backports.zstd", "backports.zstd.zipfile"):  # not from Python 3.14 on
        packages.setdefault(name, "backports-zstd")
    since_3_14 = {"compression"}
    ours = {"scoring", "tasks", "flows", *sys.stdlib_module_names, *since_3_14}
    declared = names(direct_dependencies())
    undeclared = {
        (packages[name], str(path.relative_to(ROOT)))
        for folder in ("scoring", "tasks", "flows")
        for path in (ROOT / folder).rglob("*.py")
        for modules in imported(path.read_text(encoding="utf-8"))
        if modules[0].partition(".")[0] not in ours
        for name in [next(one for one in modules if one in packages)]
        if packages[name] not in declared
    }
    assert undeclared == set()


def test_every_direct_dependency_is_locked() -> None:
    assert names(direct_dependencies()) - locked(DEVELOPING).keys() - locked(OF_RAY).keys() == set()
    assert locked(DEVELOPING).keys() & locked(OF_RAY).keys() == set()  # what Ray needs beside them


def test_lock_for_running_has_what_runs_needs_and_nothing_that_only_developers_need() -> None:
    project = tomllib.loads(PYPROJECT)["project"]
    assert names(project["dependencies"]) - locked(RUNNING).keys() == set()
    assert names(project["optional-dependencies"]["dev"]) & locked(RUNNING).keys() == set()


def test_both_locks_have_the_same_versions() -> None:
    developing = locked(DEVELOPING)
    assert {name for name, pin in locked(RUNNING).items() if pin != developing.get(name)} == set()


@pytest.mark.parametrize("lock", [RUNNING, DEVELOPING, OF_RAY])
def test_every_locked_package_has_a_hash(lock: str) -> None:
    assert locked(lock)
    assert [name for name, pin in locked(lock).items() if "--hash=sha256:" not in pin] == []


@pytest.mark.parametrize("lock", [RUNNING, DEVELOPING, OF_RAY])
def test_lock_holds_pins_hashes_and_names_but_no_address(lock: str) -> None:
    allowed = re.compile(r"[a-z0-9-]+==\S+( ; [^:/]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|    # [^:/]+")
    assert [line for line in lock.splitlines() if not allowed.fullmatch(line)] == []
