"""Stores the anchors in the state database: the questions repeated each night, and their expected answers."""

from collections.abc import Sequence
from dataclasses import asdict

import sqlalchemy as sa

from scoring.judging.anchors import Anchor, decision
from scoring.judging.requests import digest
from tasks.state.database import STATE_TABLES, StateDatabase, columns_of

_SET_DIGITS = 16

_anchors = sa.Table(
    "judge_anchors",
    STATE_TABLES,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("rubric", sa.String, nullable=False),
    sa.Column("rubric_version", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("material", sa.JSON, nullable=False),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("epoch", sa.String(16), nullable=False),
)


def set_id(anchors: Sequence[Anchor]) -> str:
    """The id of these questions with their answers and epochs: nights with the same id can be compared."""
    return digest([[one.key, one.epoch, decision(one.answer)] for one in anchors])[:_SET_DIGITS]


class AnchorStore:
    """The current anchors. Every method is one transaction and may raise StorageError."""

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_anchors)
        self._database = database

    def read(self) -> list[Anchor]:
        """The anchors in the order in which they are asked."""
        query = sa.select(*columns_of(_anchors, Anchor)).order_by(_anchors.c.place)
        return [Anchor(*row) for row in self._database.rows(query)]

    def replace(self, anchors: Sequence[Anchor]) -> None:
        """Replaces all anchors by these."""
        with self._database.transaction() as connection:
            connection.execute(sa.delete(_anchors))
            connection.execute(sa.insert(_anchors), [asdict(one) | {"place": n} for n, one in enumerate(anchors)])
