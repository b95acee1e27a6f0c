import pickle
from pathlib import Path

import pytest

from tasks.config.settings import Settings
from tasks.context import Context
from tasks.state.alert_choices import AlertChoices


def handed(state: Path) -> Context:
    """A context as another process gets it, whose state database has been used."""
    context: Context = pickle.loads(pickle.dumps(Context(Settings(state_url=f"sqlite:///{state}"))))
    AlertChoices(context.state).every_snooze()
    return context


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files of a process are read from /proc")
def test_context_of_other_settings_closes_the_one_that_was_handed_before(tmp_path: Path) -> None:
    def open_files() -> set[str]:
        return {path.resolve().name for path in Path("/proc/self/fd").iterdir()} & {"first.db", "second.db"}

    first = handed(tmp_path / "first.db")
    assert handed(tmp_path / "first.db") is first
    assert open_files() == {"first.db"}
    second = handed(tmp_path / "second.db")
    assert open_files() == {"second.db"}
    second.state.close()
