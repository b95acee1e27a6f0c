from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.judge.verdict_store import VerdictStore
from tests.builders.state import opened


@pytest.fixture(autouse=True)
def no_judge_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(state_url: str) -> Iterator[VerdictStore]:
    with opened(VerdictStore, state_url) as store:
        yield store


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[VerdictStore]:
    with opened(VerdictStore, f"sqlite:///{tmp_path}/state.db") as store:
        yield store
