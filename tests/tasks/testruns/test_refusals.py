"""Why a file of the inbox cannot be scored, in the Korean that QA teams read on pages and in messages."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from scoring.errors import AqbError
from scoring.limits import LONGEST_LINE
from tasks.config.settings import Settings
from tasks.files.discovery import identity_of
from tasks.testruns.plans import plan_of_input
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, wide_row

# Words of a file's own, names of programs and of what stands in the files.
_NAMES = {
    "Excel",
    "Raw",
    "Query",
    "Run",
    "SoftCamp",
    "inbox",
    "agent",
    "sep",
    "test",
    "runs",
    "files",
    "columns",
    "query",
}
_LATIN = re.compile(r"[A-Za-z]*[a-z]{2,}")
_NO_PROSE = re.compile(r"\.(?:csv|tsv|xlsx?)|(?:plan|url|resume)_agent_|agent_type|aqb-[0-9.]+|[a-z]+-agent")


def _sheets(*tables: list[list[str]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for number, rows in enumerate(tables):
        sheet = book.create_sheet(f"표 {number}")
        for row in rows:
            sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _csv(*rows: list[str]) -> bytes:
    return "\n".join(",".join(row) for row in rows).encode()


def _zipped(size: int) -> bytes:
    """A package of one part of so many bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/worksheets/sheet1.xml", bytes(size))
    return written.getvalue()


_REFUSED: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "an empty table": ("plan_agent_1.csv", bytes, "빈 파일입니다"),
    "an empty workbook": ("plan_agent_1.xlsx", bytes, "빈 파일(0바이트)입니다"),
    "UTF-16": ("plan_agent_1.csv", lambda: "ID,질의\n".encode("utf-16"), "UTF-16"),
    "semicolons in a .tsv": ("plan_agent_1.tsv", lambda: b"ID,query,answer\n1,2,3\n", "구분 기호: 쉼표"),
    "a line for Excel": ("plan_agent_1.csv", lambda: b"sep=;\nID;query\n", "첫 줄이 구분 기호만"),
    "lines of a Macintosh": (
        "plan_agent_1.csv",
        lambda: b"ID,query\rq1,hello\r",
        "줄바꿈이 옛 매킨토시 형식",
    ),
    "broken quotes": ("plan_agent_1.csv", lambda: b'"ID"x,query\n', "따옴표가 맞지 않습니다"),
    "another encoding": ("plan_agent_1.csv", lambda: b"\x80\x81\xff,query\n", "CP949도 아닙니다"),
    "a long line": ("plan_agent_1.csv", lambda: b"x" * LONGEST_LINE, "바이트보다 깁니다"),
    "too many columns": ("plan_agent_1.csv", lambda: b"x," * 20_000, "첫 줄에 열이"),
    "packed": ("plan_agent_1.csv.gz", lambda: b"x", "압축을 먼저 푸세요"),
    "DRM": ("plan_agent_1.csv", lambda: b"SCDSA004 \x01\x02", "보안을 해제"),
    "an old workbook": ("plan_agent_1.xlsx", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".xls"),
    "no workbook": ("plan_agent_1.xlsx", lambda: b"ID,query\n", "일부만 온 파일"),
    "a zip bomb": ("plan_agent_1.xlsx", lambda: _zipped(200_000_000), "지나치게 커지는"),
    "a package of other parts": ("plan_agent_1.xlsx", lambda: _zipped(1), "다시 저장하세요"),
    "sheets of two shapes": (
        "plan_agent_1.xlsx",
        lambda: _sheets([LONG_HEADER, long_row("U")], [WIDE_HEADER, wide_row()]),
        "시트마다 표의 모양이",
    ),
    "no answers": ("plan_agent_1.csv", lambda: _csv(["ID", "질의"], ["1", "서울 개발자"]), "답변(1차 답변"),
    "a header in two lines": (
        "plan_agent_1.csv",
        lambda: _csv(["ID", "질의", "1차", "", "2차"], ["", "", "답변", "시간(초)", "답변"]),
        "‘1차 답변’처럼 한 줄로 합치세요",
    ),
    "no test run": ("plan_agent_1.csv", lambda: _csv(["이름", "나이"], ["홍길동", "30"]), "이름을 모르는 열: 2개"),
    "chat rows": (
        "plan_agent_1.csv",
        lambda: _csv(["user_input", "llm_response", "input_tokens", "output_tokens", "timestamp", "tenant_id"]),
        "야간 실행이 채점하니 운영 담당자에게",
    ),
    "a missing column": ("plan_agent_1.csv", lambda: _csv(["Query ID", "Raw JSON", "질의"]), "방/반복"),
    "a column twice": ("plan_agent_1.csv", lambda: _csv([*LONG_HEADER, LONG_HEADER[0]]), "하나만 남기세요"),
    "no agent": ("run.csv", lambda: _csv(LONG_HEADER, long_row("U")), "알 수 없습니다"),
}


@pytest.mark.parametrize(("name", "content", "says"), _REFUSED.values(), ids=list(_REFUSED))
def test_why_a_file_cannot_be_scored_is_said_in_korean(
    tmp_path: Path, name: str, content: Callable[[], bytes], says: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content())
    with pytest.raises(AqbError) as refused:
        plan_of_input(identity_of(file), Settings())
    told = refused.value.for_pages
    assert says in told
    assert {*_LATIN.findall(_NO_PROSE.sub("", told))} <= _NAMES
    assert str(tmp_path) not in told and "홍길동" not in told
