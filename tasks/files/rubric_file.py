"""Row rubrics by id, or by the name of the TOML file that defines one. Source: SPEC 13."""

from pathlib import Path

from scoring.catalog import row_rubric, row_rubric_of_text
from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError

ENDING = ".toml"


def chosen_row_rubric(chosen: str) -> RowRubric:
    """The row rubric of an id, or of a file: a name that ends in `.toml`.

    Raises:
        UsageError: there is no such rubric or file, or the file is wrong; says its line, column and remedy.
    """
    return rubric_of_file(chosen) if chosen.endswith(ENDING) else row_rubric(chosen)


def rubric_of_file(path: str) -> RowRubric:
    """The row rubric that a TOML file defines.

    Raises:
        UsageError: the file cannot be read, or is wrong; says its line, column and remedy.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError("no UTF-8", where=f"{path}, line {line}, column 1", fix="save it as UTF-8") from error
    except (OSError, ValueError) as error:  # a name that no file can have
        what = getattr(error, "strerror", None) or "no name of a file"
        raise UsageError(f"cannot be read: {what}", where=path, fix="name a rubric file") from error
    return row_rubric_of_text(text, path)
