"""The package of a workbook: a zip archive of XML parts, which anybody may have made."""

import zipfile
from typing import IO, NamedTuple

from scoring.limits import MOST_TAGS_AT_ONCE

_CHUNK = 1 << 20
_BEGINNINGS = (b"<", b"\0<", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")  # of XML in any encoding


class Size(NamedTuple):
    """What reading costs: the number of tags, and the bytes of the longest one with the text behind it."""

    tags: int
    longest: int


class TooManyTagsError(Exception):
    """The elements of a row, or of a part that is read as a whole, would be too many to be in memory together."""


class Package(zipfile.ZipFile):
    """A package of which a part is not read as a whole if the tree of its elements would be too large."""

    def read(self, name: str | zipfile.ZipInfo, pwd: bytes | None = None) -> bytes:
        """The content of a part.

        Raises:
            TooManyTagsError: it is.
        """
        content = super().read(name, pwd)
        refuse_too_many(content.count(b"<"))
        return content


def refuse_too_many(tags: int) -> None:
    """Raises TooManyTagsError for more tags than are read at once."""
    if tags > MOST_TAGS_AT_ONCE:
        raise TooManyTagsError(f"more than {MOST_TAGS_AT_ONCE:,} tags in a row or a part")


def size_of_xml(package: zipfile.ZipFile) -> Size:
    """The size of the XML of a package. All parts are read to their end, also those that are no XML.

    Raises:
        zipfile.BadZipFile: a part is damaged.
    """
    tags = longest = 0
    for entry in package.infolist():
        try:
            with package.open(entry) as part:
                of_part = _size_of(part)
        except zipfile.BadZipFile as error:
            raise zipfile.BadZipFile(f"a damaged part {entry.filename!r}") from error
        tags += of_part.tags
        longest = max(longest, of_part.longest)
    return Size(tags, longest)


def _size_of(part: IO[bytes]) -> Size:
    """The size of a part, which is 0 unless it is XML. A tag that is shorter than a chunk may be missed as longest."""
    chunk = part.read(_CHUNK)
    is_xml = chunk.lstrip().startswith(_BEGINNINGS)
    tags = longest = since = 0
    while chunk:
        if is_xml:  # a `<` within a text or an attribute is escaped
            tags += chunk.count(b"<")
            first = chunk.find(b"<")
            longest = max(longest, since + (len(chunk) if first < 0 else first))
            since = since + len(chunk) if first < 0 else len(chunk) - chunk.rfind(b"<")
        chunk = part.read(_CHUNK)
    return Size(tags, max(longest, since))
