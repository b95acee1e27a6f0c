"""What a source holds of a day: rows, bytes, and a fingerprint of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

HASH_LIMIT = 1 << 64


@dataclass(frozen=True)
class DayContent:
    """Readable rows, the bytes of their two texts, the sum of their hashes, and the rows of each tenant."""

    rows: int = 0
    bytes: int = 0
    hash_sum: int = 0
    tenants: Mapping[str | None, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """As the ledger keeps it."""
        return f"{self.rows}-{self.hash_sum:016x}"

    def __add__(self, other: DayContent) -> DayContent:
        hash_sum = (self.hash_sum + other.hash_sum) % HASH_LIMIT
        tenants = Counter(self.tenants) + Counter(other.tenants)
        return DayContent(self.rows + other.rows, self.bytes + other.bytes, hash_sum, tenants)
