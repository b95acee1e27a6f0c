"""Converts a log of an Inspect evaluation to a test run in the long layout.

Version 2 of its logs is read, as inspect-ai 0.3.285 writes them. Unknown fields are ignored.

Source: SPEC 13.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scoring.errors import InputError
from scoring.inputs import BrokenRow, TextRow
from scoring.testruns.export_cells import EXPORT_COLUMNS, export_cell
from scoring.testruns.raw_json import objects_of, part_of


@dataclass(frozen=True)
class InspectLog:
    """One row per sample and epoch, which is one execution; its `line` is its position in the list, from 1."""

    samples: Iterable[object]
    model: str

    columns = EXPORT_COLUMNS

    def rows(self) -> Iterator[TextRow | BrokenRow]:
        """The rows in the order of the log."""
        for line, sample in enumerate(self.samples, start=1):
            if isinstance(sample, dict) and {"id", "epoch", "input"} <= sample.keys():
                yield TextRow(line, list(self._cells(sample)))
            else:
                reason = f"samples의 {line}번째가 Inspect의 표본이 아닙니다: id, epoch, input이 있는 객체여야 합니다."
                yield BrokenRow(line, "other_format", reason)

    def _cells(self, sample: dict[str, object]) -> Iterator[str]:
        error, target = sample.get("error"), sample.get("target")
        yield export_cell(sample["id"])
        yield f"{export_cell(sample['epoch'])}/1"
        yield _question(sample["input"])
        yield self.model
        yield export_cell(sample.get("started_at"))
        yield ""
        yield export_cell(part_of(sample, "output").get("completion"))
        yield export_cell(error.get("message") or "error" if isinstance(error, dict) else error)
        yield _milliseconds(sample.get("working_time", sample.get("total_time")))
        yield "\n".join(map(export_cell, target)) if isinstance(target, list) else export_cell(target)


def inspect_log(found: object, where: str) -> InspectLog:
    """The samples of a log, from a JSON file or from an archive.

    Raises:
        InputError: the log has no samples, because it was written without them.
    """
    samples = found.get("samples") if isinstance(found, dict) else None
    if isinstance(samples, str | dict) or not isinstance(samples, Iterable):
        raise InputError(
            "a log of Inspect without its samples: they hold what was asked and answered",
            where=where,
            fix="log it with samples",
        )
    return InspectLog(samples, export_cell(part_of(found, "eval").get("model")))


def _question(asked: object) -> str:
    """The text, or the last user message of a conversation."""
    said = [message.get("content") for message in objects_of(asked) if message.get("role") == "user"]
    if not said or not isinstance(said[-1], list):
        return export_cell(said[-1] if said else asked)
    return "\n".join(export_cell(part.get("text")) for part in objects_of(said[-1]) if part.get("type") == "text")


def _milliseconds(seconds: object) -> str:
    """A time in seconds as a cell in milliseconds; other values are left for the row reader to reject."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return export_cell(seconds)
    try:
        return str(round(float(seconds) * 1000))
    except (OverflowError, ValueError):  # hundreds of digits, or no number at all
        return f"{export_cell(seconds)} s"
