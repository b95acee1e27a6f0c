"""Correction of the expected results of a query in an uploaded file, which creates a new version of it."""

from threading import Lock

from starlette.responses import RedirectResponse, Response

from scoring.errors import UsageError
from tasks.testruns.corrections import corrected_file, expectations_of
from tasks.testruns.uploads import Origin, Upload
from tasks.web.asked import Asked, RefusedError
from tasks.web.testruns_page import later_versions, takes_home, version_values
from tasks.web.upload_page import address_of, upload_of

_one_at_a_time = Lock()


def correction_page(asked: Asked) -> Response:
    """The form with the expected results of a query in the file.

    Raises:
        NotFoundError: the upload does not exist.
        RefusedError: the person may not download the file; as the owner of a new version they could.
        UsageError: the file does not have the query.
    """
    upload, query_id = _own_upload(asked), dict(asked.pairs).get("query", "")
    asked.record("기대결과", f"{upload.name} {query_id}")
    found = expectations_of(upload.file, asked.context.settings.test_runs.names, query_id)
    return asked.page(
        "correction.html",
        section="runs",
        title="기대결과 고치기",
        **version_values(asked, upload),
        query_id=query_id,
        version=asked.uploads.next_version(upload.name),
        expectations=found,
    )


def correct(asked: Asked) -> Response:
    """Stores a new version of a file with one expected result corrected, and redirects to its page.

    A repeated submission redirects to the version that exists by then.

    Raises:
        NotFoundError, RefusedError: as for the form.
        UsageError: nothing would change, or the file cannot hold the text.
    """
    upload, names = _own_upload(asked), asked.context.settings.test_runs.names
    query_id, header = asked.form.get("query", ""), asked.form.get("column", "")
    text = asked.form.get("text", "").replace("\r\n", "\n").strip()
    if expectations_of(upload.file, names, query_id).get(header, "").replace("\r\n", "\n") == text:
        raise UsageError("고친 것이 없습니다", fix="앞 페이지에서 기대결과를 고치고 다시 누르세요.")
    content = corrected_file(upload.file, names, query_id, header, text)
    with _one_at_a_time:
        same = (one for one in later_versions(asked, upload) if one.file.read_bytes() == content)
        return RedirectResponse(address_of(next(same, None) or _kept(asked, upload, query_id, header, content)), 303)


def _kept(asked: Asked, upload: Upload, query_id: str, header: str, content: bytes) -> Upload:
    asked.record("기대결과 고침", f"{upload.name} {query_id} {header}")
    with asked.uploads.arriving() as arriving:
        arriving.write(content)
        origin = Origin(upload.id, query_id, header, upload.choices)
        return arriving.keep(asked.uploads.next_version(upload.name), asked.viewer.name, origin)


def _own_upload(asked: Asked) -> Upload:
    upload = upload_of(asked)
    if not takes_home(asked, upload):
        raise RefusedError(403, "개인정보를 가리지 않은 파일이라 고칠 권한이 없습니다. 올린 사람에게 요청하세요")
    return upload
