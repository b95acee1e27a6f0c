"""The errors that a user can meet; those of single commands derive from them.

    AqbError                what happened, where, what to do next
    ├── UsageError          wrong option or setting; exit code 2
    │   └── ExpiredDayError a day older than what the tables keep
    ├── InputError          a file or table that cannot be read at all; the run goes on with the others
    ├── RuleError           a rubric that must not be built: unordered cuts, a regex that engines read differently
    ├── UnexpectedError     a defect of AQB, or too little memory; what was done before it stands
    └── StorageError        a table, report or state database cannot be read or written; nothing is half written
        ├── DamagedFileError  of a table
        └── TakenError        another run is working on it

A row that cannot be read is no error: it becomes a row of the `rejected` table.
"""

import re

OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey in a text: control characters but a line end, and marks of the writing direction."""


class AqbError(Exception):
    """An error a person has to act on: what happened, where, and what to do next.

    `ko` says what happened and what to do in Korean, for errors that pages and messages show to QA teams.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", ko: str = "") -> None:
        self.what, self.fix, self.ko = map(_printable, (what, fix, ko))
        self.where = shown_name(where)
        super().__init__(self.what)

    def __reduce__(self) -> tuple[object, ...]:
        """An error that another process hands over is made as it was, whatever its class wants to be given."""
        return type(self).__new__, (type(self), *self.args), vars(self)

    @property
    def for_pages(self) -> str:
        """What happened and what to do, in Korean where that is known."""
        return self.ko or " -> ".join(filter(None, (self.what, self.fix)))

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  -> {self.fix}" if self.fix else ""
        return f"{place}{self.what}{remedy}"


def shown_name(name: str) -> str:
    """The name of a file on one line, without what a terminal would obey."""
    return _printable(name).replace("\n", "\ufffd")


def _printable(text: str) -> str:
    """A text without what a terminal would obey; names of files and columns may hold it."""
    return OBEYED.sub("\ufffd", text)


class UsageError(AqbError):
    """A wrong option or setting: the command ends with exit code 2 before it has done anything."""


class ExpiredDayError(UsageError):
    """A day older than what the tables keep: its rows would be gone at once."""


class InputError(AqbError):
    """An input that cannot be read at all. `where` names it; the text says what was expected and found."""


class RuleError(AqbError):
    """A rule that must not be built, found when the rubric is imported."""


class UnexpectedError(AqbError):
    """A defect of AQB, or too little memory or threads: the class of the error, and the step or the line of ours in
    which it was raised.

    Its own text may quote an input, so it is left out.
    """

    def __init__(
        self, error: BaseException, *, where: str = "", fix: str = "this is a defect of AQB: report it with this line"
    ) -> None:
        steps = getattr(error, "__notes__", [])
        super().__init__(
            f"{type(error).__name__} in {steps[0] if steps else line_of_ours(error)}",
            where=where,
            fix=_fix_of_scarcity(error) or fix,
        )


def _fix_of_scarcity(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "give it more memory (the limit of its container or service, `ulimit -v`), then run again"
    if any(said in str(error) for said in ("can't start new thread", "Resource temporarily unavailable")):
        return "allow it more threads (the limit of its container or service, `ulimit -u`), then run again"
    return ""


def line_of_ours(error: BaseException) -> str:
    """The last line of ours that an error passed."""
    found, trace = "a library", error.__traceback__
    while trace:
        module = str(trace.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] in ("flows", "tasks", "scoring"):
            found = f"{module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


class StorageError(AqbError):
    """The warehouse, a folder or the state database cannot be read or written; what was there is still there."""


class DamagedFileError(StorageError):
    """A file of a table is damaged; the others can be read."""


class TakenError(StorageError):
    """Another run is at work on it."""


def counted(number: int, thing: str) -> str:
    """`1 row`, `60 rows`, `2 queries`, `3 scored days`."""
    many = f"{thing[:-1]}ies" if thing.endswith("y") and not thing.endswith("day") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else many}"
