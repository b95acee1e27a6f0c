"""The version of the running code: that of the package and its commit."""

from functools import cache
from importlib.metadata import version
from pathlib import Path

_COMMIT_CHARACTERS = 12


@cache
def code_version() -> str:
    """`0.1.0+4bee366a91c2`; without the commit where neither an image nor a checkout tells it."""
    commit = commit_of(Path(__file__).parents[2])
    return version("aqb") + (f"+{commit[:_COMMIT_CHARACTERS]}" if commit else "")


def commit_of(root: Path) -> str:
    """The commit of the project at `root`: written into the package where an image is built, else that of git.

    Read from git's own files: git is not everywhere, and refuses to read what belongs to another user.
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
