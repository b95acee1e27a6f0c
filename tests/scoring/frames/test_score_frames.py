"""`from scoring import score`: the tables that `aqb score` writes for the same rows, as frames of the kind given."""

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.cli.score_files import score_to_folder
from scoring import score
from scoring.errors import InputError, UsageError
from scoring.frames.scores import ScoredChat
from tasks.config.settings import Settings
from tests.builders.chat_rows import PLAIN_ANSWER, PLAIN_QUESTION, best, plain, refused
from tests.cases.ola_monitoring.adversarial import Row
from tests.fakes.googlesql import CHAT_ROWS

ROOT = Path(__file__).parents[3]
TABLES = ("scored", "excluded", "rejected", "kpis", "crosstab")
KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "Polars": lambda table: pl.DataFrame(table),
    "lazy Polars": lambda table: pl.DataFrame(table).lazy(),
    "Arrow": lambda table: table,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def written(table: pa.Table, folder: Path, keep_text: str = "flagged") -> dict[str, Path]:
    """The tables that `aqb score` writes for a Parquet file of the same rows."""
    pq.write_table(table, folder / "rows.parquet")
    settings = Settings.model_validate({"monitoring": {"keep_text": keep_text}})
    score_to_folder([str(folder / "rows.parquet")], "ola-monitoring", folder / "out", settings)
    return {name: folder / "out" / f"{'scores' if name == 'scored' else name}.parquet" for name in TABLES}


def assert_as_written(found: ScoredChat[Any], files: dict[str, Path]) -> None:
    """The same rows in the same order, columns and types; but a frame is no file."""
    for name, path in files.items():
        match getattr(found, name):
            case pl.LazyFrame() | pl.DataFrame() as frame:
                expected = pl.read_parquet(path)
                if name == "rejected":
                    expected = expected.with_columns(file=pl.lit("frame"))
                polars.testing.assert_frame_equal(frame.lazy().collect(), expected, check_exact=True)
            case pa.Table() as table:
                arrow = pq.read_table(path)
                if name == "rejected":
                    frames = pa.array(["frame"] * arrow.num_rows, pa.string())
                    arrow = arrow.set_column(arrow.column_names.index("file"), "file", frames)
                assert table.schema.equals(arrow.schema)
                assert table.equals(arrow)
            case rows:
                data = pd.read_parquet(path)
                if name == "rejected":
                    data["file"] = pd.Series("frame", data.index, dtype="str")
                pd.testing.assert_frame_equal(rows, data, check_exact=True)


def chat_table(*rows: dict[str, Any]) -> pa.Table:
    """Rows as built by hand, with their session in `request_metadata`."""
    found = [
        {
            **row,
            "timestamp": row["timestamp"] and datetime.fromisoformat(row["timestamp"]),
            "request_metadata": {"session_id": row["session_id"]},
        }
        for row in rows
    ]
    return pa.Table.from_pylist(found, CHAT_ROWS)


@pytest.fixture(scope="module")
def hostile_table(hostile_rows: list[Row]) -> pa.Table:
    rows = [row | {"request_metadata": {"session_id": row["session_id"]}} for row in hostile_rows]
    return pa.Table.from_pylist(rows, CHAT_ROWS)


@pytest.fixture(scope="module")
def hostile_files(hostile_table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return written(hostile_table, tmp_path_factory.mktemp("hostile"))


@each_kind
def test_score_gives_every_hostile_row_what_aqb_score_writes(
    kind: str, hostile_table: pa.Table, hostile_files: dict[str, Path]
) -> None:
    frame = KINDS[kind](hostile_table)
    found = score(frame)
    assert {type(getattr(found, name)) for name in TABLES} == {type(frame)}
    assert_as_written(found, hostile_files)


_texts = st.none() | st.sampled_from([PLAIN_QUESTION, PLAIN_ANSWER, "", "ㅋㅋ", "죄송합니다."]) | st.text(max_size=30)
_tokens = st.none() | st.floats(-1, 5000) | st.sampled_from([float("nan"), float("inf"), 0.0, 1000.0])
_chat_rows: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "user_input": _texts,
        "llm_response": _texts,
        "input_tokens": _tokens,
        "output_tokens": _tokens,
        "timestamp": st.none()
        | st.datetimes(datetime(2026, 2, 12), datetime(2026, 2, 14), timezones=st.just(UTC))
        | st.just(datetime(2026, 2, 13, tzinfo=UTC)),
        "tenant_id": st.sampled_from([None, "", "t1", "*"]),
        "request_metadata": st.none() | st.builds(dict, session_id=st.sampled_from([None, "s1", "s2"])),
    }
)


@pytest.mark.long
@given(
    rows=st.lists(_chat_rows, max_size=12),
    keep_text=st.sampled_from(["flagged", "all", "none"]),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_score_gives_any_rows_what_aqb_score_writes(rows: list[dict[str, Any]], keep_text: Any, kind: str) -> None:
    table = pa.Table.from_pylist(rows, CHAT_ROWS)
    with TemporaryDirectory() as folder:
        files = written(table, Path(folder), keep_text)
        assert_as_written(score(KINDS[kind](table), keep_text=keep_text), files)


def test_score_tells_equal_keys_apart_by_tokens_and_answer(tmp_path: Path) -> None:
    table = chat_table(
        *(plain(0, llm_response=answer, output_tokens=tokens) for answer in "다나가" for tokens in (2.0, 1.0))
    )
    assert_as_written(score(table), written(table, tmp_path))


def test_score_takes_the_day_from_the_time_zone() -> None:
    table = pl.DataFrame(chat_table(plain(timestamp="2026-02-13T20:00:00+00:00")))
    assert score(table).scored["score_date"].to_list() == [date(2026, 2, 14)]
    assert score(table, time_zone="UTC").scored["score_date"].to_list() == [date(2026, 2, 13)]


METADATA = {"session_id": "s7"}


@pytest.mark.parametrize(
    ("column", "values", "scored", "expected"),
    [
        ("timestamp", [datetime(2026, 2, 13, 3)], "timestamp", datetime(2026, 2, 13, 3, tzinfo=UTC)),
        ("timestamp", ["2026-02-13 12:00:00+09:00"], "timestamp", datetime(2026, 2, 13, 3, tzinfo=UTC)),
        ("timestamp", [date(2026, 2, 13)], "timestamp", datetime(2026, 2, 13, tzinfo=UTC)),
        ("input_tokens", [12], "input_tokens", 12.0),
        ("input_tokens", ["12"], "input_tokens", 12.0),
        ("input_tokens", [Decimal("12.5")], "input_tokens", 12.5),
        ("tenant_id", [7], "tenant_id", "7"),
        ("request_metadata", [METADATA], "session_id", "s7"),
        ("request_metadata", ['{"session_id": "s7"}'], "session_id", "s7"),
        ("session_id", ["s7"], "session_id", "s7"),
    ],
)
def test_score_reads_what_files_may_hold(column: str, values: list[Any], scored: str, expected: object) -> None:
    columns: dict[str, list[Any]] = {name: [value] for name, value in plain().items() if name != "session_id"}
    columns[column] = values
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert pl.DataFrame(score(frame).scored)[scored].to_list() == [expected]


@each_kind
def test_score_of_no_rows_gives_the_tables_that_aqb_score_writes(kind: str, tmp_path: Path) -> None:
    nothing = CHAT_ROWS.empty_table()
    assert_as_written(score(KINDS[kind](nothing)), written(nothing, tmp_path))


def test_score_takes_categories_for_any_column() -> None:
    rows = pl.DataFrame([plain(), refused(1)]).with_columns(pl.col("tenant_id", "user_input").cast(pl.Categorical))
    assert score(rows).scored["tenant_id"].to_list() == ["t1", "t1"]
    frame = pd.DataFrame([plain(), refused(1)]).assign(timestamp=lambda rows: pd.to_datetime(rows["timestamp"]))
    pd.testing.assert_frame_equal(score(frame.astype("category")).scored, score(frame).scored)


@each_kind
def test_score_rejects_a_row_with_its_number_and_reason(kind: str) -> None:
    columns = {name: [value] * 3 for name, value in plain().items()}
    found = score(KINDS[kind](pa.table(columns | {"input_tokens": ["1", "many", "-1"]}))).rejected
    rejected = found.collect() if kind == "lazy Polars" else pl.DataFrame(found)
    assert rejected.select("file", "line", "column", "code").rows() == [
        ("frame", 2, "input_tokens", "not_a_number"),
        ("frame", 3, "input_tokens", "negative_tokens"),
    ]


@each_kind
def test_score_names_the_columns_that_are_missing(kind: str) -> None:
    frame = KINDS[kind](pa.table({"user_input": ["a"], "timestamp": ["2026-02-13"]}))
    with pytest.raises(InputError, match="llm_response, input_tokens, output_tokens") as raised:
        score(frame)
    assert raised.value.where == "frame"


@each_kind
def test_score_names_a_column_of_a_wrong_type(kind: str) -> None:
    columns = {name: [value] for name, value in plain().items()}
    with pytest.raises(InputError, match="input_tokens is bool, expected a number"):
        score(KINDS[kind](pa.table(columns | {"input_tokens": [True]})))


def test_score_names_a_column_of_mixed_types_and_quotes_none_of_its_cells() -> None:
    rows = pd.DataFrame([plain(), plain(1)]).astype({"user_input": "object"})
    rows.loc[0, "user_input"] = 7
    with pytest.raises(InputError, match="the column user_input cannot be read: it holds int, str") as raised:
        score(rows)
    assert plain(1)["user_input"] not in str(raised.value)
    with pytest.raises(InputError, match="user_input"):
        score(pl.DataFrame([plain()]).with_columns(user_input=pl.Series([object()], dtype=pl.Object)))


def test_score_says_what_to_do_about_half_a_character() -> None:
    rows = pd.DataFrame([plain()]).astype({"llm_response": "object"})
    rows.loc[0, "llm_response"] = "cut \ud83d"
    with pytest.raises(InputError, match="half of a surrogate pair") as raised:
        score(rows)
    assert 'encode("utf-8", "ignore")' in raised.value.fix


def test_score_says_what_to_do_about_ids_that_gaps_made_numbers() -> None:
    with pytest.raises(InputError, match="session_id is double, expected text") as raised:
        score(pd.DataFrame([plain(), plain(1)]).assign(session_id=[7, None]))
    assert "dtype=str" in raised.value.fix


@pytest.mark.parametrize("index", ["timestamp", ["tenant_id", "timestamp"]])
def test_score_reads_a_named_index_as_a_column(index: Any) -> None:
    rows = pd.DataFrame([plain(), best(1)])
    rows["timestamp"] = pd.to_datetime(rows["timestamp"])
    for indexed in (rows.set_index(index), rows.set_index(index, drop=False)):
        pd.testing.assert_frame_equal(score(indexed).scored, score(rows).scored)


def test_score_names_a_column_that_is_there_twice() -> None:
    rows = pd.DataFrame([plain()])
    with pytest.raises(InputError, match="more than once: user_input"):
        score(pd.concat([rows, rows[["user_input"]]], axis=1))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rubric": "no-such"}, "there is no rubric 'no-such'"),
        ({"rubric": "my.toml"}, "takes the text of a rubric file, not its name: my.toml"),
        ({"rubric": Path("my.toml")}, "takes the text of a rubric file, not its name: my.toml"),
        ({"rubric": "aqb-1.2"}, "scores test runs, not chat rows\n.*use ola-monitoring.*score_runs"),
        ({"time_zone": "Asia/Nowhere"}, "is no time zone"),
        ({"time_zone": "localtime"}, "is no time zone"),
        ({"keep_text": "some"}, "keep_text cannot be 'some'"),
    ],
)
def test_score_refuses_a_wrong_choice(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        score(pl.DataFrame([plain()]), **options)
    assert re.search(problem, str(refused.value))


def test_score_refuses_what_is_no_table() -> None:
    with pytest.raises(UsageError, match="expected a table of pandas, Polars or Arrow, found list"):
        score([plain()])


def test_score_leaves_the_frame_as_it_was() -> None:
    rows = pd.DataFrame([plain(), best(1)])
    before = rows.copy(deep=True)
    score(rows)
    pd.testing.assert_frame_equal(rows, before)


@pytest.mark.long
def test_score_imports_pandas_only_for_a_frame_of_pandas() -> None:
    rubric = (ROOT / "docs" / "examples" / "ola-monitoring.toml").read_text("utf-8")
    program = (
        "import sys, polars as pl; from scoring import score\n"
        f"score(pl.DataFrame([{plain()!r}])); assert 'pandas' not in sys.modules\n"
        f"score(pl.DataFrame([{plain()!r}]), {rubric!r}); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_importing_score_imports_nothing_of_others_but_polars_and_pyarrow() -> None:
    """`python -m benchmarks --only start_up` tells what it costs."""
    program = (
        "import sys, polars, pyarrow; before = {*sys.modules}\n"
        "from scoring import score; print(*{*sys.modules} - before)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    imported = {name.partition(".")[0] for name in printed.split()}
    assert imported - sys.stdlib_module_names - {"polars", "pyarrow"} == {"scoring"}


@pytest.mark.parametrize("page", ["README.md", "README.ko.md", "docs/how-to/python.md"])
def test_score_does_what_the_documents_show(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    monkeypatch.chdir(ROOT)
    exec("\n".join(blocks), {})
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "final_score" in shown.out or "required columns are missing: llm_response" in shown.out
