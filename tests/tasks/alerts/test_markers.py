"""Markers lie in a folder where other users may leave files under the same names."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.alerts.markers import is_marked, mark

NOW = datetime(2026, 3, 2, 1, tzinfo=UTC)


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a marker, which is free."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert not is_marked("page", NOW)
    mark("page", NOW)
    assert [is_marked("page", NOW + timedelta(hours=hours)) for hours in (-1, 1, 24)] == [False, True, False]
    (marker,) = tmp_path.iterdir()
    marker.unlink()
    return marker


def test_link_in_the_place_of_a_marker_leads_nowhere(marker: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("text")
    before = (tmp_path / "kept").stat().st_mtime_ns
    for target in ("missing", "kept"):
        marker.unlink(missing_ok=True)
        marker.symlink_to(tmp_path / target)
        mark("page", NOW)
        assert is_marked("page", NOW + timedelta(hours=1))
    assert not (tmp_path / "missing").exists()
    assert (tmp_path / "kept").stat().st_mtime_ns == before


def test_other_file_of_ours_that_is_linked_into_the_place_marks_nothing(marker: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    os.link(tmp_path / "kept", marker)
    os.utime(marker, (NOW.timestamp(), NOW.timestamp()))
    assert not is_marked("page", NOW + timedelta(hours=1))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_file_of_another_user_in_the_place_marks_nothing(marker: Path) -> None:
    mark("page", NOW)
    os.chown(marker, 65534, -1)
    assert not is_marked("page", NOW + timedelta(hours=1))
