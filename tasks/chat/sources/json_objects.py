"""Reads the objects of JSON Lines one by one, and reports the lines without an object."""

import json
import math
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from scoring.chat.rows import Unreadable
from scoring.errors import InputError
from scoring.limits import LONGEST_LINE
from tasks.chat.sources.pieces import FilePiece

BOM = b"\xef\xbb\xbf"
_NO_OBJECT = Unreadable("not_an_object", "JSON 객체가 아닙니다: 한 줄에 객체 하나가 있어야 합니다.")


def json_objects(piece: FilePiece, file: BinaryIO) -> Iterator[tuple[int, dict[str, object] | Unreadable]]:
    """Yields the number of each line that is not blank, with its object or the reason why it has none.

    Bytes that are not UTF-8 become lone surrogates. Raises InputError for a line of LONGEST_LINE bytes.
    """
    for number, text in _lines(piece, file):
        yield number, _parsed(text)


def _parsed(text: str) -> dict[str, object] | Unreadable:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        return _not_json(f"{error.pos + 1:,}번째 글자에서 형식이 어긋나거나 줄이 잘렸습니다.")
    except (ValueError, RecursionError) as error:
        return _not_json("너무 깊습니다." if isinstance(error, RecursionError) else "너무 긴 정수가 있습니다.")
    return found if isinstance(found, dict) else _NO_OBJECT


def _not_json(where: str) -> Unreadable:
    return Unreadable("not_json", f"JSON으로 읽을 수 없습니다: {where}")


def _lines(piece: FilePiece, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yields number and text of each line that is not blank."""
    file.seek(piece.start)
    left = math.inf if piece.stop is None else piece.stop - piece.start
    for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), start=piece.first_line):
        if left <= 0:
            return
        left -= len(raw)
        if len(raw) == LONGEST_LINE:
            raise InputError(
                f"line {number} is longer than {LONGEST_LINE:,} bytes: expected one JSON object a line",
                where=str(piece.path),
                fix="check that it is JSON Lines, and export it again",
            )
        if number == 1:
            raw = raw.removeprefix(BOM)
        if text := raw.decode("utf-8", "surrogateescape").strip(" \t\r\n"):
            yield number, text
