"""The content of a day in a source, over all files: rows, bytes, and a fingerprint of the rows.

The fingerprint depends neither on the order of the rows nor on their files. Equal fingerprints mean equal rows; it may
change with the version of Polars, which only causes a needless rescan. Rows with an unreadable time belong to no day
and are left out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

import polars as pl

from scoring.chat.row_ids import TEXTS, TOKENS

HASH_LIMIT = 1 << 64
_SEED = 7
_CONTENT = (*TEXTS, *TOKENS, "timestamp", "tenant_id", "session_id")


@dataclass(frozen=True)
class DayContent:
    """The number of readable rows, the bytes of their two texts, the sum of their hashes, the rows of each tenant."""

    rows: int = 0
    bytes: int = 0
    hash_sum: int = 0
    tenants: Mapping[str | None, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The fingerprint as text, as stored in the ledger."""
        return f"{self.rows}-{self.hash_sum:016x}"

    def __add__(self, other: "DayContent") -> "DayContent":
        hash_sum = (self.hash_sum + other.hash_sum) % HASH_LIMIT
        tenants = Counter(self.tenants) + Counter(other.tenants)
        return DayContent(self.rows + other.rows, self.bytes + other.bytes, hash_sum, tenants)


def local_day(time_zone: str) -> pl.Expr:
    """The calendar day of a row in a zone."""
    return pl.col("timestamp").dt.convert_time_zone(time_zone).dt.date()


def day_contents(rows: pl.DataFrame, day: pl.Expr) -> Iterator[tuple[date, DayContent]]:
    """The content of each `day`, from rows with the columns of the chat-row schema."""
    if rows.is_empty():  # true for most files of a folder: they hold other days
        return
    texts = pl.col(TEXTS).str.len_bytes().fill_null(0).cast(pl.Int64)
    sums = (
        rows.drop_nulls("timestamp")
        .select("tenant_id", day=day, bytes=pl.sum_horizontal(texts), hash_sum=pl.struct(_CONTENT).hash(_SEED))
        .group_by("day", "tenant_id")
        .agg(pl.len().alias("rows"), pl.col("bytes", "hash_sum").sum())
    )
    for (day_of_rows,), of_day in sums.partition_by("day", as_dict=True).items():
        tenants = dict(of_day.select("tenant_id", "rows").iter_rows())
        rows_in, size, hash_sum = of_day.select(pl.col("rows", "bytes", "hash_sum").sum()).row(0)
        yield day_of_rows, DayContent(rows_in, size, hash_sum, tenants)
