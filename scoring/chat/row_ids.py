"""The identity of a chat row: the same on every engine and every rerun.

A row's key is the first 32 hex digits of SHA-256 over a canonical text of timestamp (microseconds), tenant, session,
`user_input` and the length of `llm_response`. Each text is preceded by its length, and NULL is a bare `-`, so no text
can imitate another row's key. Equal keys are told apart by `-2`, `-3` in the order of tokens, answer text
and id in the source.
Source: SPEC 1.3, row_id.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType

import polars as pl
import pyarrow as pa

from scoring.errors import counted
from scoring.rules.arrow_types import field

KEY_HEX_DIGITS = 32
TEXTS = ("user_input", "llm_response")
"""The two texts of a turn, which tables keep for some rows and retention deletes."""

OUTPUT_TOKENS = "output_tokens"
TOKENS = ("input_tokens", OUTPUT_TOKENS)
"""The two numbers of a turn: the token counts of its texts."""

LABELS = ("tenant_id", "session_id", "source_id")
"""The ids of a turn: texts, or integers in some exports."""

SOURCE_ID = field(
    "source_id", pa.string(), "원본 기록의 id. 스팬이면 '트레이스 id/스팬 id', 로그면 응답 id. 모르면 NULL"
)
"""The source's id of a turn, for sending scores back; it does not affect scores."""

_KEYED_TEXTS = ("tenant_id", "session_id", "user_input")
_UNKNOWN: Mapping[str, str] = MappingProxyType({})
TIE_BREAK = (*TOKENS, "llm_response", SOURCE_ID.name)


def row_keys(rows: pl.DataFrame, lengths: Mapping[str, str] = _UNKNOWN) -> pl.Series:
    """The key of each row, without the suffix of duplicate keys.

    `lengths` are the columns that contain the length of a text; other lengths are computed.
    """

    def length(name: str) -> pl.Expr:
        measured = pl.col(lengths[name]) if name in lengths else pl.col(name).str.len_chars()
        return measured.cast(pl.String).fill_null("-")

    bar = pl.lit("|")
    parts = [pl.col("timestamp").dt.epoch("us").cast(pl.String)]
    for name in _KEYED_TEXTS:
        parts += [bar, length(name), pl.when(pl.col(name).is_not_null()).then(pl.lit(":")), pl.col(name)]
    canonical = rows.select(pl.concat_str(*parts, bar, length("llm_response"), ignore_nulls=True)).to_series()
    # As bytes, not as text: saves decoding and encoding in Python.
    digests = [sha256(key).digest() for key in canonical.cast(pl.Binary).to_list()]
    return pl.Series("row_key", digests, dtype=pl.Binary).bin.head(KEY_HEX_DIGITS // 2).bin.encode("hex")


def with_row_ids(rows: pl.DataFrame, in_tie_order: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    """Scored rows with their `row_id`, in the order of (`timestamp`, `row_id`).

    `in_tie_order` sorts the rows with duplicate keys by key and `TIE_BREAK`. It must keep rows of one key adjacent.
    """
    ids = rows["row_key"].alias("row_id")
    repeated = rows.select(_place=pl.arg_where(pl.col("row_key").is_duplicated()))
    if not repeated.is_empty():
        ordinal = pl.int_range(1, pl.len() + 1).over("row_key")
        suffix = pl.when(ordinal > 1).then(pl.format("-{}", ordinal)).otherwise(pl.lit(""))
        ordered = in_tie_order(rows[repeated["_place"]].with_columns(repeated))
        ids = ids.scatter(ordered["_place"], ordered.select(pl.col("row_key") + suffix).to_series())
    rows = rows.with_columns(ids)
    return rows.sort("timestamp", "row_id")


def repeated_rows(rows: pl.DataFrame) -> int:
    """The number of rows whose `row_id` repeats the key of an earlier row."""
    return int((rows["row_id"].str.len_bytes() > KEY_HEX_DIGITS).sum())


def repeated_text(count: int) -> str:
    """A sentence that rows occurred more than once, and where to look; '' if none did."""
    if not count:
        return ""
    came = "is equal to an earlier one" if count == 1 else "are equal to earlier ones"
    return (
        f"{counted(count, 'row')} of those scored {came} in time, tenant, session, question and length of the answer; "
        "look for a join in the view, or exports that overlap"
    )


def key_sql() -> str:
    """The row key in GoogleSQL."""
    texts = [f"IFNULL(CONCAT(CAST(LENGTH({name}) AS STRING), ':', {name}), '-')" for name in _KEYED_TEXTS]
    parts = [
        "CAST(UNIX_MICROS(timestamp) AS STRING)",
        *texts,
        "IFNULL(CAST(LENGTH(llm_response) AS STRING), '-')",
    ]
    canonical = ", '|',\n      ".join(parts)
    return f"SUBSTR(TO_HEX(SHA256(CONCAT(\n      {canonical}\n    ))), 1, {KEY_HEX_DIGITS})"


def ordinal_sql(kind: str) -> str:
    """The number of a row among those of its key and its `kind` (a column), in GoogleSQL."""
    return f"ROW_NUMBER() OVER (PARTITION BY row_key, {kind} ORDER BY {', '.join(TIE_BREAK)})"


def repeated_sql() -> str:
    """The count of `repeated_rows` in GoogleSQL."""
    return f"COUNTIF(LENGTH(row_id) > {KEY_HEX_DIGITS})"


def row_id_sql() -> str:
    """`row_id` from `row_key` and `key_ordinal` in GoogleSQL."""
    return "CONCAT(row_key, IF(key_ordinal = 1, '', CONCAT('-', CAST(key_ordinal AS STRING))))"
