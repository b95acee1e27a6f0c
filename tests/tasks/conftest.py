"""Real databases for whatever keeps its state in one: SQLite, and a PostgreSQL server where one is installed."""

import importlib.util
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.fakes.postgresql import postgresql_programs, running_postgresql

_schemas = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a real PostgreSQL server without the name of a database."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server (Debian: postgresql)")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("the PostgreSQL driver psycopg is not installed")
    with running_postgresql(programs) as address:
        yield f"postgresql+psycopg://{address}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def state_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty state database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    server: str = request.getfixturevalue("postgresql")
    schema = f"aqb_{next(_schemas)}"  # made in a millisecond; a database takes a hundred
    engine = sa.create_engine(f"{server}/postgres")
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
    engine.dispose()
    return f"{server}/postgres?options=-csearch_path%3D{schema}"
