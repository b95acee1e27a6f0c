"""The upload folder of `aqb web`: one folder for each uploaded file and its results.

    <id>/file/<name>    the uploaded file, unchanged
    <id>/upload.json    who uploaded it, and when
    <id>/scoring.json   how it is scored, the progress, and the outcome
    <id>/result-<n>/    the report folder and a warehouse of this run alone

A folder gets its id when the complete file is on the disk, and `scoring.json` names a result when it is complete: what
was killed meanwhile has neither, and a result stays until the next one is complete.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from filecmp import cmp
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Literal
from unicodedata import normalize

from scoring.catalog import TestRunChoices
from scoring.errors import StorageError, UsageError
from tasks.files.atomic import TABLE_MODE, sole_writer, sync_folder, unchanged_since, writable, write_text
from tasks.testruns.files import PACKED_ENDINGS, RUN_FILE_ENDINGS
from tasks.warehouse.folder import FolderWarehouse

_ID = re.compile(r"[0-9a-f]{16}")
_UNFINISHED = ".unfinished-"
_LEFTOVER_AFTER = timedelta(hours=2)  # no file arrives that long
_MOST = 200
_LONGEST_STEM_BYTES = 150


@dataclass(frozen=True)
class Scoring:
    """How a file is scored: requested by whom, with which choices ('' for automatic) and options, and the progress.

    `done` of `total` are the questions that the judge has answered, `usd` their cost, None if unknown. `problem` is why
    nothing was scored, or why the judge did not answer everything. `result` is the number of the last result, or 0.
    """

    who: str
    rubric: str
    agent_type: str
    judge: bool
    options: Mapping[str, str] = field(default_factory=dict)
    state: Literal["begun", "scored", "failed"] = "begun"
    done: int = 0
    total: int = 0
    usd: float | None = None
    problem: str = ""
    result: int = 0


@dataclass(frozen=True)
class Origin:
    """The upload that a file is a new version of, the query and column whose expected result was corrected, and how
    that upload is scored.
    """

    id: str
    query: str
    column: str
    choices: TestRunChoices = field(default_factory=TestRunChoices)


@dataclass(frozen=True)
class Upload:
    """A file that a person uploaded, or a correction `of` another one."""

    folder: Path
    name: str
    who: str
    at: datetime
    of: Origin | None = None

    @property
    def id(self) -> str:
        """Its id in URLs."""
        return self.folder.name

    @property
    def file(self) -> Path:
        """What was sent."""
        return self.folder / "file" / self.name

    @property
    def result(self) -> Path:
        """Its last result; missing before it is scored."""
        scoring = self.scoring
        return self.result_folder(scoring.result if scoring else 0)

    def result_folder(self, number: int) -> Path:
        """The folder of a numbered result."""
        return self.folder / f"result-{number}"

    @property
    def is_scored(self) -> bool:
        """Whether it has a result."""
        return self.result.is_dir()

    @property
    def report(self) -> Path:
        """The report folder of its result."""
        return self.result / "report"

    @property
    def warehouse(self) -> FolderWarehouse:
        """The tables of its result."""
        return FolderWarehouse(self.result / "warehouse")

    @property
    def scoring(self) -> Scoring | None:
        """How it is scored; None if nobody has requested it."""
        try:
            return Scoring(**json.loads((self.folder / "scoring.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    @property
    def choices(self) -> TestRunChoices:
        """How it is scored; before that, how the version before it was."""
        if scoring := self.scoring:
            return TestRunChoices(scoring.rubric, scoring.agent_type, scoring.options)
        return self.of.choices if self.of else TestRunChoices()

    def begin(self, scoring: Scoring) -> None:
        """Stores how it is to be scored, beside the last result; for the sole writer of the folder."""
        before = self.scoring
        self.note(replace(scoring, result=before.result if before else 0))

    def remove_other_results(self) -> None:
        """Removes all but the last result; for the sole writer of the folder."""
        for folder in set(self.folder.glob("result-*")) - {self.result}:
            shutil.rmtree(folder)

    def note(self, scoring: Scoring) -> None:
        """Stores the progress of scoring; for the sole writer of the folder."""
        write_text(self.folder / "scoring.json", _json(asdict(scoring)), TABLE_MODE)


class Uploads:
    """The files in an upload folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def latest(self) -> list[Upload]:
        """All uploads, latest first."""
        found = [upload for path in self._folder.glob("*/upload.json") if (upload := self.find(path.parent.name))]
        return sorted(found, key=lambda upload: (upload.at, upload.id), reverse=True)

    def find(self, upload_id: str) -> Upload | None:
        """The upload with this id; None if there is none."""
        if not _ID.fullmatch(upload_id):
            return None
        folder = self._folder / upload_id
        try:
            known = json.loads((folder / "upload.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        of = _origin(known["of"]) if known.get("of") else None
        return Upload(folder, known["name"], known["who"], datetime.fromisoformat(known["at"]), of)

    def next_version(self, name: str) -> str:
        """The name of a file's next version: the first unused one."""
        path, taken = Path(name), {upload.name for upload in self.latest()}
        known = re.fullmatch(r"(.*) \(([1-9][0-9]{0,3})판\)", path.stem)
        stem, number = (known[1], int(known[2])) if known else (path.stem, 1)
        names = (f"{stem} ({later}판){path.suffix}" for later in count(number + 1))
        return next(one for one in names if one not in taken)

    @contextmanager
    def arriving(self) -> Iterator["ArrivingFile"]:
        """Begins an upload. Unless the file is kept within the block, it is removed.

        Raises:
            UsageError: the maximum number of uploads is reached.
            StorageError: the folder cannot be written.
        """
        folder = self._folder / f"{_UNFINISHED}{token_hex(8)}"
        with writable(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o750)
            # The remains of killed processes.
            for left in unchanged_since(datetime.now(UTC) - _LEFTOVER_AFTER, self._folder.glob(f"{_UNFINISHED}*")):
                shutil.rmtree(left, ignore_errors=True)
            if sum(1 for _ in self._folder.glob("*/upload.json")) >= _MOST:
                raise UsageError(f"올린 파일이 {_MOST}개 있어 더 받지 않습니다", fix="지난 것을 지우고 다시 올리세요.")
            (folder / "file").mkdir(parents=True, mode=0o750)
            (folder / "arriving").touch(TABLE_MODE)
            file = (folder / "arriving").open("wb")
        try:
            with file:
                yield ArrivingFile(folder, file)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def remove(self, upload: Upload) -> None:
        """Removes an upload with its results.

        Raises:
            StorageError: it is being scored.
        """
        with sole_writer(upload.folder):
            gone = upload.folder.rename(self._folder / f"{_UNFINISHED}{upload.id}")
        shutil.rmtree(gone, ignore_errors=True)

    def remove_before(self, day: date, *, dry_run: bool) -> int:
        """Removes the uploads before a day (UTC); returns their number. One that is being scored stays.

        With `dry_run` they are only counted.
        """
        removed = 0
        for upload in self.latest():
            if upload.at.date() < day:
                with suppress(StorageError):
                    if not dry_run:
                        self.remove(upload)
                    removed += 1
        return removed


class ArrivingFile:
    """A file that is being uploaded.

    Raises:
        StorageError: it cannot be written; any method may raise it.
    """

    def __init__(self, folder: Path, file: IO[bytes]) -> None:
        self._folder, self._file = folder, file

    def write(self, data: bytes) -> None:
        """Appends received bytes."""
        with writable(self._folder.parent):
            self._file.write(data)

    def is_same_as(self, file: Path) -> bool:
        """Whether the received bytes equal a file."""
        with writable(self._folder.parent):
            self._file.flush()
        return cmp(self._folder / "arriving", file, shallow=False)

    def keep(self, name: str, who: str, of: Origin | None = None) -> Upload:
        """Stores the complete file durably, under the uploaded name, or as a version `of` another file."""
        at, folder = datetime.now(UTC), self._folder.with_name(token_hex(8))
        with writable(folder):
            self._file.flush()
            os.fsync(self._file.fileno())
            (self._folder / "arriving").rename(self._folder / "file" / name)
            sync_folder(self._folder / "file")
            known = {"name": name, "who": who, "at": at.isoformat(), "of": of and asdict(of)}
            write_text(self._folder / "upload.json", _json(known), TABLE_MODE)
            self._folder.rename(folder)
            sync_folder(folder.parent)
        return Upload(folder, name, who, at, of)


def file_name(sent: str) -> str:
    """The name of a file as a browser sends it, without folders, invisible characters, and leading dots.

    Raises:
        UsageError: its extension is not that of a test run.
    """
    name = "".join(sign for sign in normalize("NFC", re.split(r"[/\\]", sent)[-1]) if sign.isprintable())
    path = Path(name.strip().lstrip("._~$ "))
    if path.suffix.lower() not in RUN_FILE_ENDINGS:
        is_packed = path.suffix.lower() in PACKED_ENDINGS
        fix = "압축을 풀어" if is_packed else "표를 CSV(UTF-8)나 .xlsx로 저장해"
        raise UsageError("CSV, TSV, Excel(.xlsx) 파일만 올릴 수 있습니다", fix=f"{fix} 다시 올리세요.")
    return path.stem.encode()[:_LONGEST_STEM_BYTES].decode(errors="ignore") + path.suffix


def _origin(known: Mapping[str, Any]) -> Origin:
    return Origin(**{**known, "choices": TestRunChoices(**known.get("choices", {}))})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
