"""The version that `aqb --version` and the ledger give names the commit."""

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from flows.runtime.code_version import code_version, commit_of
from tests.flows.conftest import Command


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    return tmp_path


def test_commit_is_that_of_the_checkout_on_a_branch_packed_or_detached(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert commit_of(checkout) == head
    git(checkout, "pack-refs", "--all")
    assert commit_of(checkout) == head
    git(checkout, "checkout", "--quiet", "--detach")
    assert commit_of(checkout) == head


def test_commit_is_the_one_that_an_image_was_built_from(checkout: Path) -> None:
    (checkout / "flows").mkdir()
    (checkout / "flows" / "COMMIT").write_text("4bee366\n")
    assert commit_of(checkout) == "4bee366"


def test_commit_of_an_installed_wheel_is_not_known(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""


def test_version_is_one_line_with_the_commit(aqb: Command) -> None:
    shown = aqb("--version")
    assert (shown.exit_code, shown.out) == (0, f"aqb {code_version()}\n")
    assert code_version().startswith(version("aqb"))
