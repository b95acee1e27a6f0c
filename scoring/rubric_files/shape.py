"""The tables and keys of a rubric file, and the type of each value. Editors use its JSON schema."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, model_validator

from scoring.rules.kinds import MOST_RULES
from scoring.rules.tokens import LONGEST_TEXT

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# GoogleSQL keywords; names used by the tables of every rubric, their queries and URLs.
_SQL_WORDS = (
    "all and any array as asc assert_rows_modified at between by case cast collate contains create cross cube "
    "current default define desc distinct else end enum escape except exclude exists extract false fetch following "
    "for from full graph_table group grouping groups hash having if ignore in inner intersect interval into is join "
    "lateral left like limit lookup match_recognize merge natural new no not null nulls of on or order outer over "
    "partition preceding proto qualify range recursive respect right rollup rows select set some struct tablesample "
    "then to treat true unbounded union unnest using when where window with within"
)
_TAKEN = (
    "score_date row_id row_key timestamp tenant_id session_id user_input llm_response input_tokens output_tokens "
    "rubric rubric_version source_id service request_metadata reason alert_level alert_rules cause line file code "
    "excluded excluded_rate failures cnt pct naive unreadable unscored_by size cluster total count day part "
    "first last tenant alert kpi hour lowest highest text template same_template session show sort page place alike "
    "are_words key_ordinal numbered sums added counted day_total current_date current_datetime current_time "
    "current_timestamp self flagged"
)
_QUERY_STEP = re.compile("step_[0-9]+")


def _one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("write it on one line, without control characters")
    return text


def _free_name(name: str) -> str:
    if name in _SQL_WORDS.split() or name in _TAKEN.split() or _QUERY_STEP.fullmatch(name):
        raise ValueError(f"the name {name} has a meaning of its own; choose another")
    return name


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$"), AfterValidator(_free_name)]
Code = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,39}$")]
Text = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_one_line)]
NoText = Annotated[str, Field(max_length=300), AfterValidator(_one_line)]
Rule = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Number = Annotated[int, Field(ge=-(2**53), le=2**53)] | Annotated[float, Field(allow_inf_nan=False)]
Points = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]

ARRAY = Strict(False)  # an array of TOML is a list
_Cut = Annotated[tuple[Number, Points], ARRAY]
Codes = Annotated[tuple[Code, ...], ARRAY]


class FileTable(BaseModel):
    """A table of a file: it has exactly the listed keys, with strict types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class Branch(FileTable):
    """A condition of `first`, and its result if it is the first that is true."""

    when: Rule
    """The condition, in GoogleSQL."""

    gives: Points | Code
    """Points, or a code."""

    label: NoText = ""
    """What was found when it is true: shown beside the points of a row."""

    title: NoText = ""
    """The title of the code, in the columns of failures and categories."""


class Way(NamedTuple):
    """One way to define a column: its main key, the other required keys, and the optional keys."""

    key: str
    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()


class Given(FileTable):
    """Points of a sum: one condition, the first of several, or bands of a number."""

    ways: ClassVar[tuple[Way, ...]] = (
        Way("when", ("gives",), ("label",)),
        Way("first", (), ("otherwise", "otherwise_label", "otherwise_title")),
        Way("at_least", ("of",), ("beyond", "called")),
        Way("at_most", ("of",), ("beyond", "called")),
    )

    when: Rule | None = None
    """The condition, in GoogleSQL: if it is not true, the points are 0 and the code is NULL."""

    gives: Points | Code | None = None
    """The result if `when` is true."""

    label: NoText = ""
    """What was found when it is true."""

    first: Annotated[tuple[Branch, ...], ARRAY, Field(min_length=1, max_length=100)] = ()
    """Conditions, of which the first that is true counts."""

    otherwise: Points | Code | None = None
    """The result of `first` if no condition is true. Left out: 0 points, or no code (NULL)."""

    otherwise_label: NoText = ""
    """What is shown if no condition is true."""

    otherwise_title: NoText = ""
    """The title of the code of `otherwise`."""

    of: Rule | None = None
    """The number whose bands give points: a column, or an expression of columns."""

    at_least: Annotated[tuple[_Cut, ...], ARRAY, Field(min_length=1, max_length=100)] = ()
    """Falling cuts with their points: the first that the number reaches counts, `[[100, 10], [50, 5]]`."""

    at_most: Annotated[tuple[_Cut, ...], ARRAY, Field(min_length=1, max_length=100)] = ()
    """Rising cuts with their points: the first that the number does not exceed counts."""

    beyond: Points = 0
    """The points of a number past the last cut, or NULL."""

    called: NoText = ""
    """The title of the number. Left out: the title of the column."""

    @property
    def way(self) -> str:
        """The main key of the definition used."""
        return next(way.key for way in self.ways if way.key in self.model_fields_set)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        keys = [way.key for way in self.ways]
        taken = [way for way in self.ways if way.key in self.model_fields_set]
        if len(taken) != 1:
            raise ValueError(f"give one of the keys {', '.join(keys)}; there are {len(taken)}")
        (way,) = taken
        if missing := [key for key in way.needs if key not in self.model_fields_set]:
            raise ValueError(f"{way.key} needs the key {missing[0]}")
        of_ways = {key for one in self.ways for key in (one.key, *one.needs, *one.may_have)}
        strange = (self.model_fields_set & of_ways) - {way.key, *way.needs, *way.may_have}
        if strange:
            raise ValueError(f"{min(strange)} does not go with {way.key}: leave it out")
        return self


class GradeTable(FileTable):
    """A grade, from best to worst; all but the last have a lower bound."""

    code: Code
    at_least: Number | None = None
    """The lowest score of the grade; the last grade has none."""

    title: Text
    sign: Annotated[NoText, Field(max_length=2)] = ""
    """Its short form. Left out: its code, or the first letter of a long one."""

    action: NoText = ""
    """What to do about a row of this grade."""

    tone: Literal["met", "undecided", "missed", ""] = ""
    """Its colour on pages: as for a target that is met, undecided or missed."""

    @property
    def short(self) -> str:
        """The short form that is shown."""
        return self.sign or (self.code if len(self.code) <= 2 else self.code[0])


def _from_the_best(grades: tuple[GradeTable, ...]) -> tuple[GradeTable, ...]:
    for grade in grades[:-1]:
        if grade.at_least is None:
            raise ValueError(f"the grade {grade.code} needs the key at_least: only the last has none")
    if grades[-1].at_least is not None:
        raise ValueError(f"the last grade, {grades[-1].code}, takes what is left: leave at_least out")
    if len({grade.code.lower() for grade in grades}) < len(grades):
        raise ValueError("two grades have one code: give each its own")
    return grades


Grades = Annotated[tuple[GradeTable, ...], ARRAY, Field(min_length=2, max_length=20), AfterValidator(_from_the_best)]


class ColumnTable(Given):
    """A column of the score table; it may use the columns above it."""

    ways: ClassVar[tuple[Way, ...]] = (
        *Given.ways,
        Way("value"),
        Way("sum"),
        Way("weights"),
        Way("grades", ("grades_of",)),
    )

    title: Text
    source: NoText = ""
    """Its source clause. Left out: that of the file."""

    subject: NoText = ""
    """What a score measures, in one word. Left out: its title."""

    value: Rule | None = None
    """An expression of columns above: a length, a count, a ratio, a condition."""

    sum: Annotated[tuple[Rule | Given, ...], ARRAY, Field(min_length=1, max_length=100)] = ()
    """The terms of the sum: columns and expressions that are never NULL, and points."""

    weights: Annotated[dict[str, Points], Field(min_length=1, max_length=20)] = Field(default_factory=dict)
    """The total: scores from 0 to 100 with their weights in percent, which add up to 100."""

    grades_of: str = ""
    """The score that `grades` grade: the total, or one of its parts."""

    grades: Grades = ()
    """The grades from best to worst."""

    added_later: bool = False
    """Whether tables of earlier days lack it: then it is the last column."""


class AlertTable(FileTable):
    """A condition of a row that people are alerted to."""

    level: Literal["critical", "warning"]
    when: Rule
    title: Text
    action: Text
    """What to do about it."""

    usual_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of rows that met it before, if known."""

    on_excluded_rows: bool = False
    """Whether it also applies to rows without a question or an answer; it may use tokens, tenant and session."""


class KpiTable(FileTable):
    """A share of the scored rows, or the mean of a score; with `at_least` or `at_most` it has a target."""

    title: Text
    source: NoText = ""
    rate_of: Rule | None = None
    """The condition of the rows that are counted, over columns: tables keep the texts of some rows only."""

    mean_of: str = ""
    """The score to average."""

    at_least: Number | None = None
    at_most: Number | None = None
    added_later: bool = False
    """Whether tables of earlier days lack it: then it is the last column."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if bool(self.rate_of) == bool(self.mean_of):
            raise ValueError("give one of the keys rate_of, mean_of")
        if self.at_least is not None and self.at_most is not None:
            raise ValueError("a target is at_least or at_most, not both")
        target = self.at_most if self.at_least is None else self.at_least
        if self.rate_of and target is not None and not 0 <= target <= 1:
            raise ValueError(f"a share goes from 0 to 1, its target is {target:g}: write 80 % as 0.8")
        return self


class CauseTable(FileTable):
    """The column `cause`: the part of a score that lost the most, for the rows that meet its condition."""

    title: Text
    source: NoText = ""
    when: Rule
    most_lost: Annotated[dict[str, Points], Field(min_length=1, max_length=20)]
    """The parts, with the maximum points of each."""


class FramedTable(FileTable):
    """The pairs of grades that the cross table frames."""

    rows: Codes
    columns: Codes
    title: Text
    action: Text


class CrosstabTable(FileTable):
    """The cross table of two columns of grades."""

    rows: str
    columns: str
    caption: Text
    note: NoText = ""
    framed: FramedTable | None = None


class RubricHead(FileTable):
    """The keys that every rubric file begins with."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]{0,19}$")]
    """A new version makes finished days be scored again: change it with the rules."""

    title: Text
    summary: Text


class RubricFile(RubricHead):
    """A rubric that scores every row of a table by rule alone."""

    kind: Literal["chat"] = "chat"
    """What it scores."""

    source: NoText = ""
    """The source clause of columns and KPIs that name none."""

    failure: str
    """The column that classifies how a row failed: a `first` of codes with titles, NULL if it did not fail."""

    category: str = ""
    """The column that classifies questions: a `first` of codes with titles."""

    kept_grades: Codes = ()
    """Grades of the total whose rows keep their texts, besides rows with an alert."""

    stocks: bool = False
    """Whether questions are about stocks: those that differ only in names and codes of stocks count as the same."""

    columns: Annotated[dict[Name, ColumnTable], Field(min_length=1, max_length=200)]
    alerts: Annotated[dict[Name, AlertTable], Field(min_length=1, max_length=MOST_RULES)]
    kpis: Annotated[dict[Name, KpiTable], Field(min_length=1, max_length=50)]
    crosstab: CrosstabTable
    cause: CauseTable | None = None


def rubric_schema() -> dict[str, Any]:
    """The JSON schema of a rubric file for chat rows: editors complete its keys and underline invalid ones."""
    return editor_schema(RubricFile, ("columns", "alerts", "kpis"), (Given, ColumnTable))


def editor_schema(file: type[FileTable], named: Iterable[str], with_ways: Iterable[type[Given]]) -> dict[str, Any]:
    """The JSON schema of a file; `named` are its tables of named tables, `with_ways` those with alternative
    definitions.
    """
    schema = file.model_json_schema()
    for table in named:
        schema["properties"][table]["additionalProperties"] = False
    for model in with_ways:
        schema["$defs"][model.__name__]["oneOf"] = [{"required": [way.key, *way.needs]} for way in model.ways]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
