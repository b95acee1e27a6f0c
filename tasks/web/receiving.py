"""Receives a form with a file, written to the disk while it arrives: limited in size and time, and refused as soon as
its token is invalid.

The rest of a file that is too large is read and discarded for a while, so that the browser shows the reason: one that
is cut off while sending shows an error of its own.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from scoring.errors import UsageError
from tasks.testruns.uploads import ArrivingFile, file_name
from tasks.web.asked import ExpiredFormError, RefusedError

_MEGABYTE = 1024 * 1024
_NO_FILE = "파일이 오지 않았습니다. 파일을 고르고 다시 올리세요"
_TOKEN_BYTES, _MOST_PARTS = 200, 4
_READ_ON_TIMES = 10


@dataclass(frozen=True)
class UploadLimits:
    """The maximum size of a file, in megabytes of 1,048,576 bytes, and the maximum time of its upload, in seconds."""

    megabytes: int
    seconds: float


async def receive_file(
    request: Request, arriving: ArrivingFile, limits: UploadLimits, is_form_token: Callable[[str], bool]
) -> str:
    """Writes the file of a form to `arriving`; returns its name. The form's token comes before it.

    Raises:
        RefusedError: its token is invalid, it has no file, or it is too large.
        TimeoutError: it did not arrive in time.
    """
    form = _Form(arriving, limits.megabytes * _MEGABYTE, is_form_token)
    most_bytes, received = limits.megabytes * _MEGABYTE * _READ_ON_TIMES, 0
    try:
        parser = _parser_of(request.headers.get("content-type", ""), form)
        async with asyncio.timeout(limits.seconds):
            async for chunk in request.stream():
                received += len(chunk)
                if received > most_bytes:
                    break
                parser.write(chunk)
    except FormParserError:
        raise RefusedError(400, "양식을 읽을 수 없습니다. 페이지를 다시 열고 올리세요") from None
    if form.is_too_large or received > most_bytes:
        raise RefusedError(
            413, f"파일이 {limits.megabytes}MB보다 큽니다. 질의를 여러 파일로 나누거나 CSV로 저장해 올리세요"
        )
    if not form.is_whole or not form.name:
        raise RefusedError(400, _NO_FILE)
    if not form.size_bytes:
        raise RefusedError(400, "빈 파일입니다. 내용이 있는 파일을 고르세요")
    return form.name


def _parser_of(content_type: str, form: "_Form") -> MultipartParser:
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise RefusedError(415, "양식이 아닙니다. 페이지를 다시 열고 올리세요")
    return MultipartParser(
        options[b"boundary"],
        {
            "on_part_begin": form.begin_part,
            "on_header_field": form.add_header_name,
            "on_header_value": form.add_header_value,
            "on_header_end": form.end_header,
            "on_headers_finished": form.begin_data,
            "on_part_data": form.add_data,
            "on_end": form.end,
        },
    )


class _Form:
    """The received part of a form: its token, then one file."""

    def __init__(self, arriving: ArrivingFile, most_bytes: int, is_form_token: Callable[[str], bool]) -> None:
        self.name, self.size_bytes, self.is_whole = "", 0, False
        self._arriving, self._most_bytes, self._is_form_token = arriving, most_bytes, is_form_token
        self._parts, self._token = 0, b""
        self._header_name, self._header_value, self._disposition = b"", b"", b""
        self._field = b""

    @property
    def is_too_large(self) -> bool:
        """Whether the file exceeds the limit; the rest was not written."""
        return self.size_bytes > self._most_bytes

    def begin_part(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise RefusedError(400, "양식에 모르는 칸이 있습니다. 페이지를 다시 열고 올리세요")
        self._disposition = b""

    def add_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def add_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def end_header(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def begin_data(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = options.get(b"name", b"")
        if self._field != b"file":
            return
        if not self._is_form_token(self._token.decode(errors="replace")):
            raise ExpiredFormError
        if self.name:
            raise RefusedError(400, "파일은 한 번에 하나만 올릴 수 있습니다")
        if not (sent := options.get(b"filename", b"").decode(errors="replace")):
            raise RefusedError(400, _NO_FILE)
        try:
            self.name = file_name(sent)
        except UsageError as error:
            raise RefusedError(415, f"{error.what}. {error.fix}") from None

    def add_data(self, data: bytes, start: int, end: int) -> None:
        if self._field == b"file":
            self.size_bytes += end - start
            if not self.is_too_large:
                self._arriving.write(data[start:end])
        elif self._field == b"form_token" and len(self._token) < _TOKEN_BYTES:
            self._token += data[start : min(end, start + _TOKEN_BYTES)]

    def end(self) -> None:
        self.is_whole = True
