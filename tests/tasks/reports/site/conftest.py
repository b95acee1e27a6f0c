"""An empty warehouse, and where its site goes."""

from pathlib import Path

import pytest

from tasks.warehouse.folder import FolderWarehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    """An empty one."""
    return FolderWarehouse(tmp_path / "warehouse")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Where the site goes."""
    return tmp_path / "site"
