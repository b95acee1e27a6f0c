"""The files of an input, and the identity of a file."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scoring.errors import InputError
from scoring.inputs import FileIdentity
from tasks.files.presence import exists, is_file, is_folder

_PROTECTED = {b"SCDSA": "SoftCamp", b"DRMONE": "Fasoo", b"Fasoo": "Fasoo"}
_MARK_BYTES = 128


def identity_of(path: Path) -> FileIdentity:
    """The identity of a file.

    Raises:
        InputError: it cannot be opened, or its name is not valid UTF-8.
    """
    with readable(_speakable(path)), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return FileIdentity(str(path), digest.hexdigest(), file.tell())


def refuse_replaced(path: Path, identity: FileIdentity) -> None:
    """Refuses a file whose content has changed since `identity` was taken.

    Raises:
        InputError: it was replaced, changed or removed.
    """
    if identity_of(path).sha256 != identity.sha256:
        raise InputError(
            "the file was changed while it was scored", where=str(path), fix="score it again; verdicts are kept"
        )


def has_changed(file: FileIdentity) -> bool:
    """Whether a file has changed, was renamed, or is missing."""
    try:
        return identity_of(Path(file.name)) != file
    except InputError:
        return True


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Converts an OSError in the block to an InputError of this file or folder."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}",
            where=str(path),
            fix="check the path and its permissions",
            ko="파일을 열 수 없습니다. 읽기 권한을 확인하세요.",
        ) from error


def refuse_protected(path: Path, head: bytes) -> None:
    """Refuses a file that document DRM has encrypted, by its first bytes.

    Raises:
        InputError: the file is protected by SoftCamp or Fasoo.
    """
    product = next((name for mark, name in _PROTECTED.items() if mark in head[:_MARK_BYTES]), None)
    if product:
        raise InputError(
            f"the file is encrypted by document DRM ({product}); no program outside of it can read the rows",
            where=str(path),
            fix="take the protection off (보안 해제), or export the file again without it",
            ko=f"문서 보안(DRM, {product})이 걸린 파일입니다. 보안을 해제하거나 보안 없이 다시 내보내세요.",
        )


def matching_files(inputs: Sequence[str | Path], endings: Sequence[str], out: Path | None) -> tuple[Path, ...]:
    """The files that the inputs match, in the order given, each once.

    Of a folder all files with one of `endings`, at any depth and sorted by path; hidden ones, those that start with `_`
    or `~`, and those in `out`, a folder within it, are ignored. A glob may match files and folders. A file named
    outright is always taken.

    Raises:
        InputError: an input matches nothing, cannot be read, or has a name that is not valid UTF-8.
    """
    found: dict[Path, Path] = {}
    for given in inputs:
        for path in _matches(Path(given), endings, out):
            found.setdefault(path.resolve(), path)
    return tuple(found.values())


def files_in(folder: Path, endings: Sequence[str]) -> list[Path]:
    """The files of a folder, as above; none if it is missing. Links to folders are not followed.

    Raises:
        InputError: it, or what is in it, cannot be listed or looked at; `glob` would treat such a folder as empty.
    """
    found = (Path(place, name) for place, _, names in _walk(folder) for name in names if _is_meant(name, endings))
    return sorted(filter(_is_file, found))


def _is_file(path: Path) -> bool:
    with readable(path):
        return is_file(path)


def linked_folders(folder: Path) -> list[Path]:
    """The links to folders in a folder, at any depth.

    Raises:
        InputError: it, or a folder in it, cannot be listed.
    """
    found = (Path(place, name) for place, folders, _ in _walk(folder) for name in folders)
    return sorted(path for path in found if path.is_symlink())


def _walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    with readable(folder):
        for place, folders, names in os.walk(folder, onerror=_refuse_unlisted):
            folders[:] = [name for name in folders if _is_meant(name) and name != "lost+found"]
            yield place, folders, names


def _refuse_unlisted(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        with readable(Path(error.filename)):
            raise error


def _matches(given: Path, endings: Sequence[str], out: Path | None) -> list[Path]:
    with readable(given):
        if is_file(given):
            return [_speakable(given)]
        found = list(map(_speakable, files_in(given, endings) if is_folder(given) else _by_glob(given, endings)))
        if out and is_folder(given) and given.resolve() in out.resolve().parents:
            found = [path for path in found if not path.resolve().is_relative_to(out.resolve())]
    if not found:
        raise InputError(
            f"nothing to read: looked for a file, a folder or a glob with files ending in {', '.join(endings)}",
            where=str(given),
            fix="check the path, and that it may be read",
        )
    return found


def _by_glob(pattern: Path, endings: Sequence[str]) -> list[Path]:
    there = next(folder for folder in pattern.parents if exists(folder))  # whatever signs are in its name
    try:
        hits = sorted(there.glob(str(pattern.relative_to(there))))
    except ValueError:  # before Python 3.13, a `**` that is not a whole part of the path
        return []
    found: list[Path] = []
    for path in hits:
        if is_folder(path):
            found += files_in(path, endings)
        elif is_file(path) and _is_meant(path.name, endings):
            found.append(path)
    return found


def _is_meant(name: str, endings: Sequence[str] = ("",)) -> bool:
    return not name.startswith((".", "_", "~")) and name.lower().endswith(tuple(endings))


def _speakable(path: Path) -> Path:
    """The same path. Refuses a name that is not valid UTF-8: no table and no report could hold it."""
    name = os.fsencode(path)
    try:
        name.decode()
    except UnicodeDecodeError:
        shown = name.decode(errors="backslashreplace")
        raise InputError("the bytes of this name are no UTF-8", where=shown, fix="rename it") from None
    return path


def nearest_there(place: Path) -> Path:
    """The path itself if it exists, or its nearest existing parent."""
    return next(path for path in (place, *place.absolute().parents) if exists(path))
