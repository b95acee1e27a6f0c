"""A warehouse of three days with what people write: personal data, markup, formulas."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tasks.config.settings import Settings
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, plain, refused
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.web import browser

DAYS = [DAY + timedelta(days=offset) for offset in range(3)]
PHONE = "010-1234-5678"
HOSTILE = '"><script>alert(1)</script>'
ROWS = [
    refused(user_input=f"제 번호는 {PHONE} 입니다", session_id="s1"),
    refused(user_input=f"{HOSTILE} 하늘전자", tenant_id=HOSTILE, session_id="s2"),
    refused(user_input="=HYPERLINK(1)", tenant_id="t2", session_id="s1"),
    refused(user_input="하늘전자 주가 어때", tenant_id=None),
    refused(user_input="구름전자 주가 어때?"),
    best(session_id="s1"),
    *(plain(session_id=f"p{n}") for n in range(24)),
]


@pytest.fixture(scope="session")
def web_warehouse(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """The rows of three days, the first of which has the most."""
    warehouse = FolderWarehouse(tmp_path_factory.mktemp("web") / "warehouse")
    for place, day in enumerate(DAYS):
        write_day(warehouse, day, ROWS[place:])
    return warehouse


@pytest.fixture(scope="session")
def whole_warehouse(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """The same rows with all their texts."""
    warehouse = FolderWarehouse(tmp_path_factory.mktemp("whole") / "warehouse")
    for place, day in enumerate(DAYS):
        write_day(warehouse, day, ROWS[place:], keep_text="all")
    return warehouse


@pytest.fixture
def settings(tmp_path: Path, web_warehouse: FolderWarehouse) -> Settings:
    """Settings with that warehouse, and a state database of their own."""
    return settings_in(tmp_path, warehouse=web_warehouse.url)


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """A browser that needs no login."""
    with browser(settings) as client:
        yield client
