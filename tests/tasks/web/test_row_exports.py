"""What people take home: all rows of a filter and no others, masked, and no text that becomes a formula."""

import csv
import io
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openpyxl
import pytest
from starlette.testclient import TestClient

import tasks.web.row_exports as row_exports
from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.state.audit_log import AuditLog
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import refused
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.state import opened
from tests.builders.web import browser, served
from tests.tasks.web.conftest import DAYS, HOSTILE, PHONE

EVERY_DAY = {"first": str(DAYS[0]), "last": str(DAYS[-1])}


def csv_rows(client: TestClient, **asked: str) -> list[dict[str, str]]:
    answer = client.get("/rows.csv", params={**EVERY_DAY, **asked})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="rows_{DAYS[0]}_{DAYS[-1]}.csv"'
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def sheet_rows(client: TestClient, **asked: str) -> list[dict[str, Any]]:
    answer = client.get("/rows.xlsx", params={**EVERY_DAY, **asked})
    assert answer.status_code == 200
    book = openpyxl.load_workbook(io.BytesIO(answer.content))
    assert book.sheetnames == ["행"]
    header, *rows = book.active.iter_rows()
    assert not [cell for row in rows for cell in row if cell.data_type == "f"]
    titles = [str(cell.value) for cell in header]
    return [dict(zip(titles, (cell.value for cell in row), strict=True)) for row in rows]


def test_export_has_every_row_of_the_filter_in_both_formats(client: TestClient) -> None:
    shown = client.get("/rows", params={**EVERY_DAY, "final_grade": "F"}).text
    as_csv, as_sheet = csv_rows(client, final_grade="F"), sheet_rows(client, final_grade="F")
    assert f"{len(as_csv)}행" in shown
    assert [row["행 ID"] for row in as_csv] == [row["행 ID"] for row in as_sheet]
    assert {row["종합 등급"] for row in as_csv} == {"F 실패"}
    assert [row["시각"] for row in as_csv] == sorted(row["시각"] for row in as_csv)
    assert as_csv[0]["시각"].startswith(f"{DAYS[0]} 12:00:00")  # local time
    assert str(as_sheet[0]["시각"]) == f"{DAYS[0]} 12:00:00"
    assert [float(row["종합 점수"]) for row in as_csv] == [row["종합 점수"] for row in as_sheet]


def test_export_as_a_workbook_shows_its_times_and_repeats_its_heading(client: TestClient) -> None:
    answer = client.get("/rows.xlsx", params=EVERY_DAY)
    sheet = openpyxl.load_workbook(io.BytesIO(answer.content)).active
    widths = {cell.value: sheet.column_dimensions[cell.column_letter].width for cell in sheet[1]}
    assert widths["시각"] > len("2026-02-13 12:00:00")  # Excel shows ### in a narrower cell
    assert min(widths.values()) > 12 and widths["답변"] == pytest.approx(60, abs=1)
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("B2", sheet.dimensions)
    assert (sheet.print_title_rows, sheet.page_setup.orientation, sheet.page_setup.fitToHeight) == (
        "$1:$1",
        "landscape",
        0,
    )


def test_export_as_a_workbook_has_the_line_ends_of_excel(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    row = refused(user_input="첫 줄\r\n둘째 줄", session_id="s1")
    write_day(FolderWarehouse(Path(settings.warehouse)), DAYS[0], [row])
    with browser(settings) as client:
        assert sheet_rows(client)[0]["질문"] == "첫 줄\n둘째 줄"


def test_export_makes_no_formula_of_a_text(client: TestClient) -> None:
    (row, *_) = csv_rows(client, text="HYPERLINK")
    assert row["질문"] == "'=HYPERLINK(1)"
    (cell, *_) = sheet_rows(client, text="HYPERLINK")
    assert cell["질문"] == "=HYPERLINK(1)"  # a text: sheet_rows has looked for formulas
    assert HOSTILE in {row["테넌트"] for row in csv_rows(client)}


def test_export_masks_personal_data_unless_the_role_may_see_it(settings: Settings, client: TestClient) -> None:
    assert "제 번호는 [전화번호] 입니다" in {row["질문"] for row in csv_rows(client)}
    assert PHONE not in str(sheet_rows(client))
    with browser(settings, WebSettings(personal_data="reader")) as seeing:
        assert f"제 번호는 {PHONE} 입니다" in {row["질문"] for row in csv_rows(seeing)}


def test_export_of_too_many_rows_is_refused_in_words(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_exports, "_MOST_CSV_ROWS", 3)
    answer = client.get("/rows.csv", params=EVERY_DAY)
    assert answer.status_code == 400
    assert "3행까지" in answer.text


def test_export_as_csv_is_sent_in_pieces_of_many_rows(settings: Settings, client: TestClient) -> None:
    """A piece for each row takes four times the server's time."""
    asked = f"/rows.csv?first={EVERY_DAY['first']}&last={EVERY_DAY['last']}"
    with served(settings) as address:
        pieces = pieces_of(address, asked)
    assert b"".join(pieces) == client.get(asked).content
    assert len(pieces) < len(csv_rows(client)) / 10


def pieces_of(address: str, path: str) -> list[bytes]:
    """The chunks of an answer as they are sent."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n\r\n".encode())
        _, _, rest = b"".join(iter(lambda: connection.recv(65_536), b"")).partition(b"\r\n\r\n")
    pieces = []
    while size := int(rest.partition(b"\r\n")[0], 16):
        _, _, rest = rest.partition(b"\r\n")
        pieces.append(rest[:size])
        rest = rest[size + 2 :]
    return pieces


def test_export_is_recorded_with_what_was_asked_for(settings: Settings, client: TestClient) -> None:
    count = len(csv_rows(client, final_grade="F"))
    with opened(AuditLog, settings.state_url) as log:
        (access,) = log.latest(9)
    assert (access.action, access.who) == (f"CSV {count}행", "local")
    assert access.target == f"/rows?first={DAYS[0]}&last={DAYS[-1]}&final_grade=F"
