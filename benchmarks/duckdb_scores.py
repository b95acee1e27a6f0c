"""Alternative to the whole pipeline: DuckDB with hand-written SQL (`duckdb_scores.sql`), Parquet in and Parquet out."""

from pathlib import Path

_SCORED = Path(__file__).with_name("duckdb_scores.sql")
_AS_IN_FILE = "SELECT * EXCLUDE whole_answer FROM scored"
_SAME_TABLE = """
    SELECT * EXCLUDE (row_key, whole_answer, ordinal),
        row_key || CASE WHEN ordinal = 1 THEN '' ELSE '-' || ordinal END AS row_id
    FROM (
        SELECT *, row_number() OVER (PARTITION BY row_key ORDER BY input_tokens, output_tokens, whole_answer) AS ordinal
        FROM scored
    )
    ORDER BY timestamp, row_id
"""


def write_scores(source: str, out: str) -> None:
    """Scores and bare row keys in the order of the file: less than our table holds."""
    _copy(_AS_IN_FILE, source, out)


def write_same_table(source: str, out: str) -> None:
    """Our score table: equal keys numbered in the order of tokens and answer, rows in the order of time."""
    _copy(_SAME_TABLE, source, out)


def _copy(query: str, source: str, out: str) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute(_SCORED.read_text(encoding="utf-8").replace("{source}", source))
    connection.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
