"""The version of the running code: the version of the package, and its commit."""

from functools import cache
from importlib.metadata import version
from pathlib import Path

_COMMIT_CHARACTERS = 12


@cache
def code_version() -> str:
    """The version with the commit, such as `0.1.0+4bee366a91c2`; without it if neither image nor checkout has one."""
    commit = commit_of(Path(__file__).parents[2])
    return version("aqb") + (f"+{commit[:_COMMIT_CHARACTERS]}" if commit else "")


def commit_of(root: Path) -> str:
    """The commit of the project at `root`: the one written when an image was built, else that of git; '' if unknown.

    It is read from git's files, because git may be missing, and refuses to read files of another user.
    """
    try:
        if (built := root / "flows" / "COMMIT").exists():
            return built.read_text(encoding="ascii").strip()
        git = root / ".git"
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        branch = head.removeprefix("ref: ")
        if branch == head or (git / branch).exists():
            return head if branch == head else (git / branch).read_text(encoding="ascii").strip()
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {branch}")), "")
    except OSError:
        return ""
