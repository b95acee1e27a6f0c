"""Test runs that people send: what is refused, what was recognised, scoring, what comes of it, and who may do what."""

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tasks.config.settings import Settings
from tasks.config.web import WebSettings
from tasks.files.atomic import sole_writer
from tasks.state.audit_log import AuditLog
from tasks.testruns.uploads import Scoring, Uploads
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.testruns import LONG_HEADER, long_row, write_csv, write_xlsx
from tests.builders.uploads import LIST, PLAN, RESUME, act, form_token, kept, scored_here, sent
from tests.builders.web import OF_TOKENS, browser, log_in, opened_page, served


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings without anything scored."""
    return settings_in(tmp_path)


def uploads_in(folder: Path) -> list[str]:
    return [one.name for one in Uploads(folder / "uploads").latest()]


def test_upload_page_shows_what_was_recognised_and_the_price(settings: Settings, tmp_path: Path) -> None:
    with browser(settings) as client:
        page = opened_page(client, kept(client, RESUME.name, RESUME.read_bytes()))
        assert RESUME.name in opened_page(client, LIST).text
    for said in ("지원자 관리", "예상 비용", "판정 모델이 설정되지 않아"):
        assert said in page.text
    assert page.scripts == []


def test_upload_page_lists_rounds_by_their_numbers(settings: Settings, tmp_path: Path) -> None:
    rows = [LONG_HEADER, *(long_row(round_=f"{room}/1") for room in (10, 2, 1))]
    content = write_csv(tmp_path / "run.csv", rows).read_bytes()
    with browser(settings) as client:
        assert "회차 1/1, 2/1, 10/1" in opened_page(client, kept(client, "plan_agent_run.csv", content)).text


def test_upload_page_names_each_row_that_cannot_be_read(settings: Settings, tmp_path: Path) -> None:
    rows = [LONG_HEADER, long_row(), long_row("Q2", "first"), long_row()]
    content = write_csv(tmp_path / "run.csv", rows).read_bytes()
    with browser(settings) as client:
        page = opened_page(client, kept(client, "plan_agent_run.csv", content))
    assert "3 = 채점 1 + 제외 0 + 거부 2" in page.text
    assert re.search(r"3 방/반복 .*다른 값입니다", page.text)
    assert re.search(r"4 방/반복 같은 실행이 앞에 이미 있습니다", page.text)


@pytest.mark.parametrize("name", ["plan_agent_run.csv", "결과.csv"])
@pytest.mark.parametrize("rows", [[], [long_row("Q1", "first"), long_row("Q2", "second")]])
def test_upload_page_offers_no_scoring_where_no_row_can_be_scored(
    settings: Settings, tmp_path: Path, rows: list[list[str]], name: str
) -> None:
    content = write_csv(tmp_path / "run.csv", [LONG_HEADER, *rows]).read_bytes()
    with browser(settings) as client:
        page = opened_page(client, kept(client, name, content))
    empty = "채점할 행이 없습니다. 실행한 결과가 든 파일을 다시 올리세요."
    assert ("읽을 수 있는 행이 없습니다. 아래 까닭대로 고쳐 다시 올리세요." if rows else empty) in page.text
    assert ("읽을 수 없어 거부한 행 2행" in page.text) == bool(rows)
    for offered in ("맞으면 채점하세요", "아래에서 고르고", "규칙으로 채점"):
        assert offered not in page.text


def test_upload_page_tells_lines_of_a_text_file_from_rows_of_excel(settings: Settings, tmp_path: Path) -> None:
    rows = [LONG_HEADER, long_row(질의="세 줄로\n적은\n질의"), long_row("Q2", "first")]
    text, book = write_csv(tmp_path / "r.csv", rows), write_xlsx(tmp_path / "r.xlsx", {"결과": rows})
    with browser(settings) as client:
        of_text = opened_page(client, kept(client, "plan_agent_r.csv", text.read_bytes()))
        of_book = opened_page(client, kept(client, "plan_agent_r.xlsx", book.read_bytes()))
    assert re.search(r"줄 열 까닭 5 방/반복", of_text.text)
    assert "Excel에서 보이는 행 번호보다 큽니다" in of_text.text
    assert re.search(r"행 열 까닭 3 방/반복", of_book.text)
    assert "Excel에서 보이는 행 번호" not in of_book.text


def test_upload_page_asks_for_the_agent_that_a_file_does_not_tell(settings: Settings, tmp_path: Path) -> None:
    with browser(settings) as client:
        address = kept(client, "결과.csv")
        assert "채점 기준이나 에이전트를 파일만으로는 알 수 없습니다" in (page := opened_page(client, address)).text
        assert "규칙으로 채점" not in page.text
        without_agent = opened_page(client, f"{address}?rubric=aqb-1.2").text
        assert "에이전트를 파일만으로는 알 수 없습니다" in without_agent
        assert not any("nothing tells" in text for text in (page.text, without_agent))
        chosen = opened_page(client, f"{address}?rubric=aqb-1.2&agent_type=plan")
        assert "규칙으로 채점" in chosen.text
        assert "에이전트 실행" in chosen.text
        for wrong in ("agent_type=nobody", "rubric=ola-monitoring", "rubric=none"):
            assert client.get(f"{address}?{wrong}").status_code == 400


@pytest.mark.parametrize(
    ("name", "content", "status", "said"),
    [
        ("run.xls", b"x", 415, "CSV, TSV, Excel(.xlsx) 파일만"),
        ("run.csv.gz", b"x", 415, "압축을 풀어 다시 올리세요"),
        ("run.html", b"<script>", 415, "CSV, TSV, Excel(.xlsx) 파일만"),
        ("run", b"x", 415, "CSV, TSV, Excel(.xlsx) 파일만"),
        ("run.csv", b"", 400, "빈 파일"),
        ("", b"x", 400, "파일을 고르고"),
        ("run.csv", b"x" * (1024 * 1024 + 1), 413, "1MB보다 큽니다"),
        ("run.csv", b"x" * (12 * 1024 * 1024), 413, "1MB보다 큽니다"),
    ],
)
def test_upload_page_refuses_with_a_sentence_that_says_what_to_do(
    settings: Settings, tmp_path: Path, name: str, content: bytes, status: int, said: str
) -> None:
    with browser(settings, WebSettings(upload_megabytes=1)) as client:
        boundary, token = "b0undary", form_token(client)
        parts = [("form_token", token.encode()), (f'file"; filename="{name}', content)]
        body = b"".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n'.encode() + value + b"\r\n"
            for field, value in parts
        )
        headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
        answer = client.post("/test-runs/uploads", content=body + f"--{boundary}--\r\n".encode(), headers=headers)
    assert (answer.status_code, said in answer.text) == (status, True)
    assert [*(tmp_path / "uploads").iterdir()] == []


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/x-www-form-urlencoded", b"a=1", 415),
        ("multipart/form-data", b"x", 415),
        ("multipart/form-data; boundary=" + "b" * 300, b"x", 400),
        ("multipart/form-data; boundary=b", b"no form at all", 400),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="form_token"\r\n\r\nhalf',
            400,
        ),
    ],
)
def test_upload_page_takes_no_form_that_is_none(
    settings: Settings, tmp_path: Path, content_type: str, body: bytes, status: int
) -> None:
    with browser(settings) as client:
        answer = client.post("/test-runs/uploads", content=body, headers={"content-type": content_type})
    assert answer.status_code == status
    assert uploads_in(tmp_path) == []


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_upload_page_takes_no_file_of_another_site(settings: Settings, tmp_path: Path, token: str) -> None:
    with browser(settings) as client:
        assert sent(client, PLAN.name, PLAN.read_bytes(), token).status_code == 403
        files = {"file": (PLAN.name, PLAN.read_bytes())}  # the token comes behind the file, or not at all
        assert client.post("/test-runs/uploads", files=files).status_code == 403
    assert uploads_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../plan_agent_a.csv", "plan_agent_a.csv"),
        ("C:\\temp\\plan_agent_b.CSV", "plan_agent_b.CSV"),
        ('plan_agent_"><script>alert(1)</script>.csv', "script>.csv"),
        (".hidden.csv", "hidden.csv"),
        ("plan_agent_\u202egnp.csv", "plan_agent_gnp.csv"),
        ("가" * 300 + ".csv", "가" * 50 + ".csv"),
    ],
)
def test_upload_page_keeps_the_name_of_a_file_as_text_alone(
    settings: Settings, tmp_path: Path, name: str, shown: str
) -> None:
    with browser(settings) as client:
        page = opened_page(client, kept(client, name))
    assert page.scripts == []
    (upload,) = Uploads(tmp_path / "uploads").latest()
    assert upload.name == shown
    assert upload.file.read_bytes() == PLAN.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if "csv" in path.name.lower()] == []


def test_upload_page_keeps_a_file_that_is_sent_twice_once(settings: Settings, tmp_path: Path) -> None:
    with browser(settings) as client, ThreadPoolExecutor(2) as hands:
        twice = list(hands.map(lambda _: kept(client), range(2)))
        assert twice == [kept(client)] * 2
        assert kept(client, PLAN.name, PLAN.read_bytes() + b"\r\n") not in twice
        assert kept(client, f"2-{PLAN.name}") not in twice
        scored_here(settings, twice[0])
        assert kept(client) not in twice  # with other choices it can be compared with the first
    assert uploads_in(tmp_path) == [PLAN.name, f"2-{PLAN.name}", PLAN.name, PLAN.name]
    with opened(AuditLog, settings.state_url) as log:
        assert [one.action for one in log.latest(50)].count("테스트 파일 올림") == 4


def test_upload_page_says_why_a_file_cannot_be_read(settings: Settings, tmp_path: Path) -> None:
    with browser(settings) as client:
        address = kept(client, "plan_agent_x.xlsx", b"no workbook")
        page = opened_page(client, address)
        assert "채점하려면 파일을 고쳐 다시 올리세요. 이 파일은 읽을 수 없습니다" in page.text
        assert "일부만 온 파일입니다. 다시 내보내거나 복사하세요." in page.text
        assert str(tmp_path) not in page.source
        assert "규칙으로 채점" not in page.text
        assert act(client, address, "remove").status_code == 303
        assert client.get(address).status_code == 404
    assert uploads_in(tmp_path) == []


@pytest.mark.parametrize("upload", ["0" * 16, "..%2f..", "x", "0" * 15 + "g"])
def test_upload_page_leads_to_no_other_file(settings: Settings, tmp_path: Path, upload: str) -> None:
    (tmp_path / "upload.json").write_text('{"name": "x.csv", "who": "local", "at": "2026-01-01T00:00:00+00:00"}')
    (tmp_path / "uploads").mkdir()
    with browser(settings, WebSettings(personal_data="reader")) as client:
        for address in (f"/test-runs/uploads/{upload}", f"/test-runs/upload-{upload}/scores.xlsx"):
            assert client.get(address).status_code == 404


def test_upload_page_lets_people_do_what_their_role_may(settings: Settings, tmp_path: Path) -> None:
    with browser(settings, OF_TOKENS) as client:
        log_in(client, "reader")
        assert "파일 올리기" not in client.get(LIST).text
        assert sent(client, PLAN.name, PLAN.read_bytes()).status_code == 403
        client.cookies.clear()
        log_in(client, "operator")
        of_operator = kept(client)
        client.cookies.clear()
        log_in(client, "reviewer")
        mine = kept(client, RESUME.name, RESUME.read_bytes())
        assert act(client, mine, "score", judge="yes").status_code == 403
        assert act(client, mine, "inbox").status_code == 403
        assert act(client, of_operator, "remove").status_code == 403
        assert act(client, mine, "remove").status_code == 303
    assert uploads_in(tmp_path) == [PLAN.name]
    with opened(AuditLog, settings.state_url) as log:
        acts = [
            (one.who, one.action, one.target)
            for one in log.latest(50)
            if one.action.startswith(("테스트 파일", "올린"))
        ]
    assert acts == [
        ("reviewer", "올린 테스트 파일 지움", RESUME.name),
        ("reviewer", "테스트 파일 올림", RESUME.name),
        ("operator", "테스트 파일 올림", PLAN.name),
    ]


def test_upload_page_waits_for_no_file_without_end(settings: Settings, tmp_path: Path) -> None:
    with served(settings_in(tmp_path, web=WebSettings(upload_seconds=0.3))) as address:
        with httpx2.Client(base_url=address) as client:
            token = form_token(client)
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as slow:
            slow.sendall(
                f"POST /test-runs/uploads HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100000\r\n"
                "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; "
                f'name="form_token"\r\n\r\n{token}\r\n--b\r\n'.encode()
            )
            assert slow.recv(100).startswith(b"HTTP/1.1 408")
    assert [*(tmp_path / "uploads").iterdir()] == []


def test_upload_page_keeps_no_more_files_than_it_says(settings: Settings, tmp_path: Path) -> None:
    for n in range(200):
        folder = tmp_path / "uploads" / f"{n:016x}"
        folder.mkdir(parents=True)
        (folder / "upload.json").write_text('{"name": "x.csv", "who": "kim", "at": "2026-01-01T00:00:00+00:00"}')
    with browser(settings) as client:
        answer = sent(client, PLAN.name, PLAN.read_bytes())
    assert (answer.status_code, "지난 것을 지우고" in answer.text) == (400, True)


def test_upload_page_shows_a_scoring_that_the_pages_of_another_service_have_begun(
    settings: Settings, tmp_path: Path
) -> None:
    """All services have one upload folder."""
    with browser(settings) as client:
        address = kept(client)
        (upload,) = Uploads(tmp_path / "uploads").latest()
        with sole_writer(upload.folder):
            upload.begin(Scoring("kim", "", "", judge=False))
            page = client.get(address).text
            assert "채점하는 중" in opened_page(client, LIST).text
            assert act(client, address, "score").status_code == 303
        assert "채점하는 중" in page
        assert "시작한 서비스의 페이지에서 멈출 수 있습니다" in page
        assert "멈추기" not in page
        assert "채점이 중단되었습니다" in client.get(address).text


def test_upload_page_lets_a_browser_send_all_of_what_it_refuses(settings: Settings, tmp_path: Path) -> None:
    limited = settings_in(tmp_path, web=WebSettings(upload_megabytes=1))
    with served(limited) as address, httpx2.Client(base_url=address, timeout=60) as client:
        answer = sent(client, PLAN.name, b"x" * (30 * 1024 * 1024))
        assert (answer.status_code, "1MB보다 큽니다" in answer.text) == (413, True)
        assert client.get(LIST).status_code == 200
    assert [*(tmp_path / "uploads").iterdir()] == []


@pytest.mark.parametrize("charset", ["undefined", "raw_unicode_escape", "nothing", "utf-16"])
def test_upload_page_takes_no_form_in_an_odd_charset_for_an_error_of_its_own(
    settings: Settings, tmp_path: Path, charset: str
) -> None:
    content_type = f"multipart/form-data; boundary=b; charset={charset}"
    fields = (
        b'form-data; name="form_token"\r\n\r\n\\ud800',
        b'form-data; name="file"; filename="\xed\x8c\x8c.csv"\r\n\r\nx',
    )
    body = b"".join(b"--b\r\nContent-Disposition: " + field + b"\r\n" for field in fields) + b"--b--\r\n"
    with browser(settings) as client:
        answer = client.post("/test-runs/uploads", content=body, headers={"content-type": content_type})
    assert answer.status_code in (400, 403)
    assert uploads_in(tmp_path) == []


def test_upload_page_says_that_there_is_no_room_for_temporary_files(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    with browser(settings) as client:
        answer = sent(client, PLAN.name, PLAN.read_bytes())
    assert (answer.status_code, "운영 담당자에게 알린 뒤 다시 올리세요" in answer.text) == (503, True)
    assert uploads_in(tmp_path) == []
