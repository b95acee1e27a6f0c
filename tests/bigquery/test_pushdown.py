"""A day scored inside a local BigQuery: the same tables as the local engine fills, however often and whatever dies."""

import io
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud.bigquery import Client, LoadJobConfig

from scoring.alerting.watch import AlertPolicy
from scoring.chat.erasure import session_hash
from scoring.chat.scorer import KeepText
from scoring.days import day_window
from scoring.errors import InputError, StorageError
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.bigquery_engine import PushdownEngine
from tasks.chat.engine import Counts, KpiTables, ScoringOutcome
from tasks.chat.local_engine import LocalEngine
from tasks.chat.sources.bigquery import BigQueryChatRows
from tasks.chat.tables import write_alerts
from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import Settings
from tasks.reports.chat_folder import write_day_report
from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.bigquery.conftest import Emulator, new_dataset
from tests.bigquery.demo import TABLES
from tests.builders.chat_rows import DAY, best, plain, refused
from tests.cases.ola_monitoring.adversarial import FIXED, invented
from tests.cases.ola_monitoring.all_golden import GOLDEN_ROWS
from tests.fakes.bigquery_proxy import Proxy, proxy_to
from tests.fakes.googlesql import CHAT_ROWS

SEOUL = "Asia/Seoul"
Tables = dict[str, Counter[str]]


def load(client: Client, source: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Puts rows behind the view, in place of those before."""
    found = [
        {
            **row,
            "timestamp": datetime.fromisoformat(row["timestamp"])
            if isinstance(row["timestamp"], str)
            else row["timestamp"],
            "request_metadata": {"session_id": row["session_id"]},
        }
        for row in rows
    ]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(found, CHAT_ROWS), file)
    file.seek(0)
    config = LoadJobConfig(source_format="PARQUET", write_disposition="WRITE_TRUNCATE")
    table = source.removeprefix("bigquery://").replace("chat_rows", "logs")
    client.load_table_from_file(file, table, job_config=config).result()


@pytest.fixture
def source(client: Client, dataset: str) -> str:
    """The address of a view with the columns of the production view, which `load` fills."""
    client.query_and_wait(
        f"CREATE TABLE `{dataset}.logs` (user_input STRING, llm_response STRING, input_tokens FLOAT64,"
        " output_tokens FLOAT64, timestamp TIMESTAMP, tenant_id STRING,"
        " request_metadata STRUCT<session_id STRING, x_enc_data STRING>)"
    )
    client.query_and_wait(f"CREATE VIEW `{dataset}.chat_rows` AS SELECT * FROM `{dataset}.logs`")
    return f"bigquery://{dataset}.chat_rows"


@pytest.fixture
def two_warehouses(
    client: Client, dataset: str, settings: Settings
) -> Iterator[tuple[BigQueryWarehouse, BigQueryWarehouse]]:
    """One for each engine."""
    with new_dataset(client, f"{dataset}_here") as here, new_dataset(client, f"{dataset}_inside") as inside:
        yield BigQueryWarehouse(f"bigquery://{here}", settings), BigQueryWarehouse(f"bigquery://{inside}", settings)


def score_here(
    source: str,
    warehouse: BigQueryWarehouse,
    settings: Settings,
    day: date = DAY,
    keep_text: KeepText = "flagged",
    erased: Collection[str] = (),
    reports: Path | None = None,
) -> Counts:
    """The day by the local engine; with `reports` also what people are told."""
    with warehouse.staging("here") as staging:
        view = BigQueryChatRows(source, settings)
        scored = LocalEngine(view, warehouse, RUBRIC, SEOUL, keep_text, staging).score(day)
        tables = scored.write(erased)
        if reports:
            tell(warehouse, day, scored.outcome, tables, reports)
    return scored.outcome.counts


def score_there(
    source: str,
    warehouse: BigQueryWarehouse,
    settings: Settings,
    day: date = DAY,
    keep_text: KeepText = "flagged",
    erased: Collection[str] = (),
    reports: Path | None = None,
) -> Counts:
    """The same inside BigQuery."""
    scored = PushdownEngine(BigQueryChatRows(source, settings), warehouse, RUBRIC, SEOUL, keep_text).score(day)
    try:
        tables = scored.write(erased)
        if reports:
            tell(warehouse, day, scored.outcome, tables, reports)
    finally:
        scored.discard()
    return scored.outcome.counts


def tell(warehouse: BigQueryWarehouse, day: date, outcome: ScoringOutcome, tables: KpiTables, reports: Path) -> None:
    """Alert facts and report of a written day."""
    facts = write_alerts(warehouse, day, RUBRIC, outcome.counts.rejected)
    report = reports / f"monitoring-{day}.md"
    write_day_report(warehouse, day, outcome, tables, facts, report, str(day), AlertPolicy())


def tables(warehouse: BigQueryWarehouse, day: date = DAY) -> Tables:
    """Every row of the day in every table, whatever the order."""
    found = {}
    for name in TABLES:
        rows = warehouse.read(name, [day])
        # 0.0 and -0.0 are equal to both engines: which of two such rows is the first is anybody's guess.
        found[name] = Counter(
            repr([value + 0.0 if isinstance(value, float) else value for value in row])
            for row in (rows.collect().rows() if rows is not None else [])
        )
    return found


def names_in(client: Client, warehouse: BigQueryWarehouse) -> set[str]:
    return {table.table_id for table in client.list_tables(str(warehouse.dataset))}


def test_both_engines_fill_the_same_tables_however_often(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
    tmp_path: Path,
) -> None:
    here, inside = two_warehouses
    # The local BigQuery does not know that a quotient can be too large: Google's evaluator is asked about those.
    hostile = [row for row in (*GOLDEN_ROWS, *FIXED, *invented(60)) if not 0 < (row["input_tokens"] or 0) < 1e-200]
    load(client, source, hostile)
    day = date(2026, 2, 3)
    counts = score_here(source, here, settings, day, reports=tmp_path / "here")
    assert min(counts.scored, counts.excluded, counts.rejected) > 2
    expected = tables(here, day)
    for reports in (tmp_path / "inside", None):
        assert score_there(source, inside, settings, day, reports=reports) == counts
        found = tables(inside, day)
        for name in TABLES:
            assert found[name] == expected[name], name
    report = f"monitoring-{day}.md"
    assert (tmp_path / "inside" / report).read_text("utf-8") == (tmp_path / "here" / report).read_text("utf-8")
    assert names_in(client, inside) == set(TABLES)

    folder, scores = FolderWarehouse(tmp_path / "folder"), here.read(SCORES, [day])
    assert scores is not None
    folder.replace_day(SCORES, day, RUBRIC.scores_schema, [scores.collect()])
    there, of_folder = inside.day_queries(day, RUBRIC), folder.day_queries(day, RUBRIC)
    assert there.worst_rows(["row_id", "user_input"], 9).equals(of_folder.worst_rows(["row_id", "user_input"], 9))
    assert there.kpi_intervals() == of_folder.kpi_intervals()
    assert there.repeated_rows() == of_folder.repeated_rows()


def test_day_without_rows_has_its_row_of_kpis(
    source: str, two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse], settings: Settings
) -> None:
    here, inside = two_warehouses
    assert score_here(source, here, settings) == score_there(source, inside, settings) == Counts()
    assert tables(inside) == tables(here)
    rows = {name: counted.total() for name, counted in tables(inside).items()}
    assert rows == dict.fromkeys(TABLES, 0) | {"monitoring_kpis": 1}


def test_other_days_and_other_rubrics_stay(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
) -> None:
    _, inside = two_warehouses
    next_day = DAY + timedelta(days=1)
    load(client, source, [best(0), refused(1), plain(2, output_tokens=-1), plain(24 * 60)])
    score_there(source, inside, settings, next_day)
    score_there(source, inside, settings)
    client.query_and_wait(f"UPDATE `{inside.table('rejected')}` SET rubric = 'aqb-1.2' WHERE score_date = '{DAY}'")
    theirs, other_day = tables(inside)["rejected"], tables(inside, next_day)
    load(client, source, [refused(1)])
    score_there(source, inside, settings)
    assert tables(inside)["rejected"] == theirs
    assert tables(inside)["monitoring_scores"].total() == 1
    assert tables(inside, next_day) == other_day


def test_what_cannot_be_read_is_rejected_alike(
    client: Client,
    dataset: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
    tmp_path: Path,
) -> None:
    here, inside = two_warehouses
    client.query_and_wait(
        f"CREATE VIEW `{dataset}.exported` AS SELECT STRUCT(question AS q, '답변' AS llm_response, tokens AS"
        " input_tokens, '7' AS output_tokens, time AS timestamp, 12 AS tenant_id) AS jsonPayload FROM UNNEST([STRUCT("
        "'a' AS question, '30' AS tokens, '2026-02-13T12:00:00+09:00' AS time), ('b', ' ', '2026-02-13 03:00:00'),"
        "('c', 'many', '2026-02-13T03:00:00Z'), ('d', '1', 'noon'), ('e', '-1', '2026-02-13T03:00:00Z'),"
        "(NULL, '1', '2026-02-13T03:00:00Z'), ('f', '1', NULL), ('g', '1', '2026-02-12T03:00:00Z')])"
    )
    exported = BigQuerySettings(
        **settings.bigquery.model_dump() | {"prefix": "jsonPayload.", "columns": {"user_input": "q"}}
    )
    settings = settings.model_copy(update={"bigquery": exported})
    source = f"bigquery://{dataset}.exported"
    counts = score_here(source, here, settings, keep_text="none", reports=tmp_path / "here")
    assert (counts.scored, counts.excluded, counts.rejected) == (2, 1, 4)
    assert score_there(source, inside, settings, keep_text="none", reports=tmp_path / "inside") == counts
    assert tables(inside) == tables(here)
    report = (tmp_path / "inside" / f"monitoring-{DAY}.md").read_text("utf-8")
    assert report == (tmp_path / "here" / f"monitoring-{DAY}.md").read_text("utf-8")
    assert "시간대가 없어 UTC 시각으로 읽은 값: 1건" in report


def test_erased_sessions_leave_their_scores_only(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
) -> None:
    here, inside = two_warehouses
    load(client, source, [refused(0, session_id="gone"), refused(1), plain(2, session_id="gone", llm_response=None)])
    erased = {session_hash("gone")}
    score_here(source, here, settings, keep_text="all", erased=erased)
    score_there(source, inside, settings, keep_text="all", erased=erased)
    assert tables(inside) == tables(here)
    assert "gone" not in repr(tables(inside))


def test_of_all_rows_only_the_worst_leave_bigquery(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
    emulator: Emulator,
    tmp_path: Path,
) -> None:
    _, inside = two_warehouses
    asked = [refused(minute, user_input="나쁜 질문", llm_response="아주 나쁜 대답") for minute in range(3)]
    load(client, source, [*asked, *(plain(minute, user_input=f"보통 질문 {minute}") for minute in range(3, 60))])
    with proxy_to(emulator.rest) as proxy:
        through = behind(proxy, settings)
        score_there(source, BigQueryWarehouse(inside.url, through), through, reports=tmp_path)
        answers = b"".join(proxy.answers).decode()
    assert "나쁜 질문" in answers
    for text in ("아주 나쁜 대답", "보통 질문", "설명을 덧붙입니다"):
        assert text not in answers


def test_change_of_the_rows_is_seen_without_reading_the_texts(client: Client, source: str, settings: Settings) -> None:
    def contents() -> dict[date, str]:
        window = day_window(DAY, SEOUL)
        found = BigQueryChatRows(source, settings).contents(window, SEOUL)
        return {day: content.fingerprint for day, content in found.items()}

    assert contents() == {}
    load(client, source, [best(0), plain(1), plain(24 * 60)])
    before = contents()
    assert list(before) == [DAY]
    load(client, source, [plain(1), best(0), plain(24 * 60 + 5)])
    assert contents() == before
    load(client, source, [plain(1), best(0), plain(2)])
    assert contents() != before


def behind(proxy: Proxy, settings: Settings) -> Settings:
    """The settings that reach the local BigQuery through the proxy, and over REST only."""
    through = settings.bigquery.model_copy(update={"endpoint": proxy.url, "use_storage_api": False})
    return settings.model_copy(update={"bigquery": through})


def test_table_that_got_too_few_rows_is_an_error(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
    emulator: Emulator,
) -> None:
    _, inside = two_warehouses
    load(client, source, [best(0), plain(1)])
    with proxy_to(emulator.rest) as proxy:
        proxy.rewrite = (b'"insertedRowCount":"2"', b'"insertedRowCount":"1"')
        with pytest.raises(StorageError, match="of 2 rows 1 were written"):
            score_there(source, BigQueryWarehouse(inside.url, behind(proxy, settings)), settings)
    assert names_in(client, inside) == {"monitoring_scores"}


def test_day_without_rows_to_exclude_or_reject_needs_no_counts_of_them(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
    emulator: Emulator,
) -> None:
    _, inside = two_warehouses
    load(client, source, [best(0), plain(1)])
    with proxy_to(emulator.rest) as proxy:
        nothing = b'"dmlStats":{"deletedRowCount":"0","updatedRowCount":"0","insertedRowCount":"0"},'
        proxy.rewrite = (nothing, b"")
        assert score_there(source, BigQueryWarehouse(inside.url, behind(proxy, settings)), settings).scored == 2


def test_dataset_that_is_not_there_is_one_line(client: Client, source: str, settings: Settings) -> None:
    load(client, source, [best(0)])
    nowhere = BigQueryWarehouse("bigquery://team-project/nowhere", settings)
    with pytest.raises(InputError, match=r"team-project\.nowhere: there is no such"):
        score_there(source, nowhere, settings)


def score_in_process(source: str, url: str, settings: Settings, started: Path) -> None:
    """What a process of its own does."""
    started.write_text(str(os.getpid()), encoding="utf-8")
    score_there(source, BigQueryWarehouse(url, settings), settings)


def test_killed_after_any_statement_every_table_is_whole_and_the_next_run_completes_them(
    client: Client,
    source: str,
    two_warehouses: tuple[BigQueryWarehouse, BigQueryWarehouse],
    settings: Settings,
    emulator: Emulator,
    tmp_path: Path,
) -> None:
    here, inside = two_warehouses
    old_rows = [best(0), refused(1), plain(2, llm_response=None), plain(3, output_tokens=-1)]
    new_rows = [best(0), refused(2), refused(3), plain(2, user_input=None), plain(4, output_tokens=-1), plain(5)]
    load(client, source, new_rows)
    score_here(source, here, settings)
    new = tables(here)
    load(client, source, old_rows)
    score_there(source, inside, settings)
    old = tables(inside)
    load(client, source, new_rows)

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tasks.chat.bigquery_engine", "tests.bigquery.test_pushdown"])
    started = tmp_path / "pid"
    deadly, exit_code, replaced = 0, None, 0
    while exit_code != 0:
        deadly += 1
        with proxy_to(emulator.rest) as proxy:

            def kill(_number: int, proxy: Proxy = proxy, deadly: int = deadly) -> None:
                statements = sum(request.startswith("POST") and "/jobs" in request for request in proxy.seen)
                if statements >= deadly:
                    os.kill(int(started.read_text(encoding="utf-8")), signal.SIGKILL)

            proxy.answered = kill
            process = context.Process(
                target=score_in_process, args=(source, inside.url, behind(proxy, settings), started)
            )
            process.start()
            process.join(300)
            exit_code = process.exitcode
        assert exit_code in (0, -signal.SIGKILL)
        found = tables(inside)
        whole = [name for name in TABLES if found[name] == new[name]]
        assert all(found[name] in (old[name], new[name]) for name in TABLES), f"killed after statement {deadly}"
        assert len(whole) >= replaced
        replaced = len(whole)
    assert deadly > 7
    assert tables(inside) == new
    left = [client.get_table(f"{inside.dataset}.{name}") for name in names_in(client, inside) - set(TABLES)]
    assert left
    assert all(table.expires is not None for table in left)
