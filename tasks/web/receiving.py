"""Receives a form with a file, limited in size and time.

A browser shows the answer when it has sent everything: the server reads and discards the rest of what is refused.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from tempfile import gettempdir

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from scoring.errors import StorageError, UsageError
from tasks.config.web import WebSettings
from tasks.files.atomic import writable
from tasks.testruns.uploads import ArrivingFile, file_name
from tasks.web.asked import EXPIRED_FORM, RefusedError

_MEGABYTE = 1024 * 1024
_MOST_FIELDS = 3


async def receive_file(
    request: Request, arriving: ArrivingFile, web: WebSettings, is_form_token: Callable[[str], bool]
) -> str:
    """Writes the file of a form to `arriving`; returns its name.

    Raises:
        RefusedError: the form's token is invalid, it has no file, or it is too large.
        TimeoutError: it did not arrive in time.
        StorageError: the folder of temporary files cannot be written.
    """
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data") or "boundary=" not in kind:
        raise RefusedError(415, "양식이 아닙니다. 페이지를 다시 열고 올리세요")
    try:
        async with asyncio.timeout(web.upload_seconds), aclosing(_bounded(request, web)) as body:
            with writable(_temporary_folder()):
                form = await MultiPartParser(request.headers, body, max_files=1, max_fields=_MOST_FIELDS).parse()
        try:
            return await _taken(form, arriving, web, is_form_token)
        finally:
            await form.close()
    except (MultiPartException, UnicodeError):  # or its header names a charset in which no name can be read
        raise RefusedError(400, "양식을 읽을 수 없습니다. 페이지를 다시 열고 올리세요") from None


def _temporary_folder() -> Path:
    try:
        return Path(gettempdir())
    except FileNotFoundError:  # also where the disk is full
        raise StorageError(
            "no folder for temporary files can be written",
            where="TMPDIR",
            fix="free space there, or set TMPDIR to a folder that `aqb web` may write to",
            ko="파일을 받아 둘 자리가 없습니다. 운영 담당자에게 알린 뒤 다시 올리세요.",
        ) from None


async def _bounded(request: Request, web: WebSettings) -> AsyncGenerator[bytes, None]:
    """The body of a request, of which little more is kept than a file may have."""
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > (web.upload_megabytes + 1) * _MEGABYTE:
            raise _too_large(web)
        yield chunk


async def _taken(form: FormData, arriving: ArrivingFile, web: WebSettings, is_form_token: Callable[[str], bool]) -> str:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise RefusedError(400, "파일이 오지 않았습니다. 파일을 고르고 다시 올리세요")
    if not is_form_token(str(form.get("form_token", ""))):
        raise RefusedError(403, EXPIRED_FORM)
    if not file.size:
        raise RefusedError(400, "빈 파일입니다. 내용이 있는 파일을 고르세요")
    if file.size > web.upload_megabytes * _MEGABYTE:
        raise _too_large(web)
    try:
        name = file_name(file.filename)
    except UsageError as error:
        raise RefusedError(415, f"{error.what}. {error.fix}") from None
    while chunk := await file.read(_MEGABYTE):
        arriving.write(chunk)
    return name


def _too_large(web: WebSettings) -> RefusedError:
    return RefusedError(
        413, f"파일이 {web.upload_megabytes}MB보다 큽니다. 질의를 여러 파일로 나누거나 CSV로 저장해 올리세요"
    )
