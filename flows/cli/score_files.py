"""The chat rows of `aqb score`: selects files and scores them into a folder, without Prefect, server or database."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flows.cli.terminal import progress
from scoring.catalog import TestRunChoices, rubric_of
from scoring.chat.reading import REQUIRED_COLUMNS, Reading
from scoring.chat.rubric import RowRubric
from scoring.errors import AqbError, InputError, UsageError
from scoring.inputs import nothing_scored
from scoring.testruns.detection import FileFacts, Layout, agent_type_of, layout_of
from scoring.testruns.team_names import TeamNames
from tasks.chat.local_engine import ScoringJob, in_processes
from tasks.chat.sources import ChatRowFiles, endings_of, reading_of
from tasks.chat.worker_processes import forked_server
from tasks.config.settings import Settings
from tasks.files.atomic import sole_writer
from tasks.files.discovery import matching_files
from tasks.files.report_paths import SCORE_TABLES
from tasks.files.rubric_file import ENDING, chosen_row_rubric, rubric_of_file
from tasks.reports.chat_folder import write_score_folder
from tasks.testruns.files import RUN_FILE_ENDINGS, headers_of


@dataclass(frozen=True)
class ScoredFile:
    """The result of one input: the folder with its summary, or the error."""

    name: str
    folder: Path
    summary: dict[str, Any] | None = None
    error: AqbError | None = None

    @property
    def nothing_scored(self) -> str:
        """The sentence that none of the rows was scored; '' if one was, or if there were no rows."""
        return nothing_scored(self.summary["counts"]) if self.summary else ""


def score_to_folder(
    inputs: Sequence[str], rubric_id: str, out: Path, settings: Settings, also: Sequence[str] = ()
) -> dict[str, Any]:
    """Scores all chat rows of the inputs and writes tables, summary and report to `out`; returns the summary.

    `also` are formats of the tables besides Parquet.

    Raises:
        UsageError: no such rubric, or its file is wrong.
        InputError: an input matches nothing, or no file could be read.
        StorageError: `out` cannot be written, or another process is writing there.
    """
    rubric = chosen_row_rubric(rubric_id)
    source = ChatRowFiles(inputs, out, reading_of(settings))
    may_fork = nullcontext() if settings.engine.workers == 1 else forked_server()
    with may_fork as server, sole_writer(out) as staging:
        with progress("score", "rows") as show:
            job = ScoringJob(source, rubric, settings.time_zone, None, settings.monitoring.keep_text, staging / "rows")
            outcome = job.scored(
                settings.engine.workers,
                on_progress=lambda rows: show(rows, None, ""),
                score_parts=partial(in_processes, server=server),
            )
        outcome.require_read(len(source.files), "nothing was written")
        return write_score_folder(out, outcome, source.fingerprint, also, settings.time_zone)


def files_to_score(
    inputs: Sequence[str], choices: TestRunChoices, out: Path, settings: Settings
) -> tuple[tuple[Path, ...], bool]:
    """Selects the files to score; returns them and whether they hold chat rows.

    Files that an earlier call wrote to `out` are not among them.

    Raises:
        UsageError: the choices do not fit the files, both kinds are mixed, or the scores would be among the inputs.
        InputError: an input matches nothing.
    """
    agent_type_of(FileFacts(""), choices.agent_type)
    reading = reading_of(settings)
    files = matching_files(inputs, (*_chat_endings(reading), *RUN_FILE_ENDINGS), out)
    among_inputs = any(Path(given).is_dir() and Path(given).resolve() == out.resolve() for given in inputs)
    if among_inputs or any(path.resolve().parent == out.resolve() and path.stem in SCORE_TABLES for path in files):
        raise UsageError(
            "the scores would be written among the files that they are made of, and read as such the next time",
            where=str(out),
            fix=f"choose another --out folder, such as {out / 'scores'}",
        )
    are_chat_rows = _are_chat_rows(files, choices.rubric, reading, settings.test_runs.names)
    if are_chat_rows and (choices.options or choices.agent_type):
        raise UsageError("chat rows take no --option and no --agent-type", fix="leave them out")
    return files, are_chat_rows


def _chat_endings(reading: Reading) -> tuple[str, ...]:
    """The file name endings that chat rows have and test runs do not."""
    return tuple(ending for ending in endings_of(reading) if ending not in RUN_FILE_ENDINGS)


def _are_chat_rows(files: Sequence[Path], rubric_id: str, reading: Reading, names: TeamNames) -> bool:
    if rubric_id:
        rubric = rubric_of_file(rubric_id) if rubric_id.endswith(ENDING) else rubric_of(rubric_id)
        return isinstance(rubric, RowRubric)
    chat = [path for path in files if _is_chat_file(path, reading, names)]
    others = [path for path in files if path not in chat]
    if chat and others:
        raise UsageError(
            f"chat rows and test runs in one call: {chat[0].name} holds chat rows, {others[0].name} does not",
            fix="score them in two calls, into two folders; with --rubric the files of one kind are taken",
        )
    return bool(chat)


def _is_chat_file(path: Path, reading: Reading, names: TeamNames) -> bool:
    """Whether a file holds chat rows, by its ending or its header; the settings may rename the columns of chat rows.

    Chat rows and test runs may have a column of the same name (`question`): a header that fits both is that of a test
    run, unless it has all required columns of chat rows.
    """
    if path.suffix.lower() in (*_chat_endings(reading), ".parquet"):  # test runs are never Parquet
        return True
    try:
        headers = headers_of(path, names)
    except InputError:
        return False  # the reader of test runs reports the error
    called = {theirs: ours for ours, theirs in reading.names.items()}
    of_chat = {called.get(header, header) for header in headers}
    is_run = layout_of(names.headers(headers)) in (Layout.LONG, Layout.WIDE)
    return layout_of(of_chat) is Layout.CHAT and (not is_run or of_chat.issuperset(REQUIRED_COLUMNS))
