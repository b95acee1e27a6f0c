"""The inbox of test runs: the files that are new and complete."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

from scoring.alerting.run_messages import RefusedFile
from scoring.errors import InputError
from scoring.inputs import FileIdentity
from tasks.files.discovery import files_in, identity_of, linked_folders
from tasks.testruns.files import OTHER_WORKBOOK_ENDINGS, RUN_FILE_ENDINGS


@dataclass(frozen=True)
class Inbox:
    """The files of an inbox: those of each `new` content, those of a `known` one, and `arriving` ones, left for the
    next run.

    `refused` are files that cannot be opened, and links that lead out of the inbox.
    """

    new: tuple[tuple[FileIdentity, ...], ...]
    known: tuple[Path, ...]
    arriving: tuple[Path, ...]
    refused: tuple[RefusedFile, ...]


def look_into(folder: Path, known: Collection[str], now: datetime, quiet_s: float) -> Inbox:
    """The files of an inbox; none if the folder is missing.

    `known` are the SHA-256 of files that were scored already. A file is arriving if it is younger than `quiet_s`
    seconds or changes while it is read; one that disappears is ignored. Workbooks of other formats are new too: their
    reader refuses them. Hidden files, lock files (`~$`) and names that start with `_` are ignored.

    Raises:
        InputError: the folder cannot be listed.
    """
    new: dict[str, list[FileIdentity]] = {}
    seen, arriving, refused = [], [], []
    home = folder.resolve()
    rested = (now - timedelta(seconds=quiet_s)).timestamp()
    files, linked = files_in(folder, (*RUN_FILE_ENDINGS, *OTHER_WORKBOOK_ENDINGS)), linked_folders(folder)
    for path in sorted([*files, *linked]):
        if not path.resolve().is_relative_to(home):
            outside = InputError(
                "a link that leads out of the inbox",
                where=str(path),
                fix="copy what it leads to into the inbox",
                ko="inbox 밖을 가리키는 링크입니다. 가리키는 파일을 inbox에 복사하세요.",
            )
            refused.append(_refused(path, outside))
            continue
        if path in linked:  # its files are found where they are
            continue
        try:
            before, identity, after = path.stat(), identity_of(path), path.stat()
        except FileNotFoundError:
            continue
        except InputError as error:
            if path.exists():
                refused.append(_refused(path, error))
            continue
        # A copy may have the time of its original, which another zone or clock puts into the future.
        changed_at = min(after.st_mtime, after.st_ctime)
        if changed_at > rested or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            arriving.append(path)
        elif identity.sha256 in known:
            seen.append(path)
        else:
            new.setdefault(identity.sha256, []).append(identity)
    return Inbox(tuple(map(tuple, new.values())), tuple(seen), tuple(arriving), tuple(refused))


def _refused(path: Path, error: InputError) -> RefusedFile:
    place = sha256(os.fsencode(path)).hexdigest()  # what it holds is not known
    return RefusedFile(os.fsencode(path.name).decode(errors="backslashreplace"), place, str(error), error.for_pages)
