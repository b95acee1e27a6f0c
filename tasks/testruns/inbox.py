"""The inbox of test runs: the files that are complete and not in the tables yet."""

import os
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from scoring.alerting.run_messages import RefusedFile
from scoring.errors import InputError
from scoring.inputs import FileIdentity
from tasks.context import Context
from tasks.files.discovery import files_in, identity_of, linked_folders
from tasks.files.presence import exists
from tasks.state.run_ledger import RunLedger
from tasks.testruns.files import OTHER_WORKBOOK_ENDINGS, RUN_FILE_ENDINGS
from tasks.testruns.warehouse import SUMMARIES, SUMMARIES_SCHEMA

_CONTENTS = pa.schema([SUMMARIES_SCHEMA.field(name) for name in ("score_date", "input_sha256")])


@dataclass(frozen=True)
class Inbox:
    """The files of an inbox: of each `new` content, of a `known` one, and `arriving` ones, left for the next run.

    `refused` are files that cannot be opened, and links that lead out of the inbox. `lost` are the new contents that
    were scored on a day before but whose scores are gone: that day by SHA-256.
    """

    new: tuple[tuple[FileIdentity, ...], ...]
    known: tuple[FileIdentity, ...]
    arriving: tuple[Path, ...]
    refused: tuple[RefusedFile, ...]
    lost: Mapping[str, date] = field(default_factory=dict)


def files_of_inbox(context: Context, now: datetime) -> Inbox:
    """The files of the inbox, by what the ledger and the tables know of them.

    Raises:
        InputError: the folder cannot be listed.
        StorageError: the ledger or the tables cannot be read.
    """
    settings = context.settings.test_runs
    inbox = look_into(Path(settings.inbox), now, settings.quiet_s)
    if not inbox.new:
        return inbox
    known, lost = _scored_contents(context)
    new = tuple(files for files in inbox.new if files[0].sha256 not in known)
    return replace(
        inbox,
        new=new,
        known=tuple(file for files in inbox.new for file in files if file.sha256 in known),
        lost={files[0].sha256: lost[files[0].sha256] for files in new if files[0].sha256 in lost},
    )


def _scored_contents(context: Context) -> tuple[Set[str], Mapping[str, date]]:
    """The contents (SHA-256) whose scores are, or were, kept in the tables, and those whose scores are lost: their day.

    A content of the tables is scored unless its latest run did not end well; the ledger need not know it. Scores
    are lost if a run has completed them and the tables lack them. Those of days before the first one of the table, and
    of a table without rows, were removed on purpose: so BigQuery expires partitions.
    """
    ledger = RunLedger(context.state)
    outcomes, completed = ledger.outcomes_of_inputs(), ledger.completed_inputs()
    table = context.warehouse.read(SUMMARIES, schema=_CONTENTS)
    if table is None:
        return set(), completed
    rows = table.select(_CONTENTS.names).collect()
    written, since = set(rows["input_sha256"]), min(rows["score_date"], default=date.max)
    lost = {
        sha256: day
        for sha256, day in completed.items()
        if outcomes[sha256] != "completed" or (sha256 not in written and day >= since)  # also if that has failed so far
    }
    return (completed.keys() | (written - outcomes.keys())) - lost.keys(), lost


def look_into(folder: Path, now: datetime, quiet_s: float) -> Inbox:
    """The files of an inbox, all of them new; none if the folder is missing.

    A file is arriving if it is younger than `quiet_s` seconds; one that disappears is ignored, and one that changes
    later is left by its reader (`plan_of_input`). Workbooks of other formats are new too: their reader refuses them.
    Hidden files, lock files (`~$`) and names that start with `_` are ignored.

    Raises:
        InputError: the folder cannot be listed.
    """
    new: dict[str, list[FileIdentity]] = {}
    arriving, refused = [], []
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
            identity, stat = identity_of(path), path.stat()
        except FileNotFoundError:
            continue
        except InputError as error:
            if exists(path):
                refused.append(_refused(path, error))
            continue
        # A copy may have the time of its original, which another zone or clock puts into the future.
        if min(stat.st_mtime, stat.st_ctime) > rested:
            arriving.append(path)
        else:
            new.setdefault(identity.sha256, []).append(identity)
    return Inbox(tuple(map(tuple, new.values())), (), tuple(arriving), tuple(refused))


def _refused(path: Path, error: InputError) -> RefusedFile:
    place = sha256(os.fsencode(path)).hexdigest()  # what it holds is not known
    return RefusedFile(os.fsencode(path.name).decode(errors="backslashreplace"), place, str(error), error.for_pages)
