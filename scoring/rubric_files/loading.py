"""Builds a rubric from its TOML text."""

import json
from collections.abc import Container, Iterator
from dataclasses import replace
from hashlib import sha256

from scoring.chat.kpis import Crosstab, FramedPairs, Quotient
from scoring.chat.row_ids import TEXTS
from scoring.chat.rubric import AlertRule, CodedColumn, Grade, GradeScale, PartScore, RowRubric
from scoring.chat.standard_rubric import EXCLUDED_ROW_COLUMNS, SCORED_ROW_COLUMNS, one_if, standard_rubric
from scoring.errors import RuleError
from scoring.figures import Target
from scoring.rubric_files.expressions import FileExpressions, refuse_out_of_reach
from scoring.rubric_files.reading import RubricText
from scoring.rubric_files.shape import AlertTable, ColumnTable, KpiTable, RubricFile
from scoring.rubric_files.testruns.loading import testrun_rubric
from scoring.rules import expressions as ex
from scoring.rules.arrow_types import arrow_type
from scoring.rules.evaluation_order import columns_of
from scoring.rules.kinds import Kind, Kinds, kind_of
from scoring.testruns.rubric import AnyTestRunRubric


def rubric_from_toml(text: str, name: str) -> RowRubric | AnyTestRunRubric:
    """The rubric in a TOML text, for chat rows or for test runs; `name` identifies the text in errors.

    Raises:
        UsageError: it is no valid rubric; gives line, column and remedy.

    Source: SPEC 13.
    """
    written = RubricText(text, name)
    match written.kind:
        case "chat":
            return _RowRubricLoading(written, written.file(RubricFile)).rubric()
        case "testrun":
            return testrun_rubric(written)
    raise written.wrong(("kind",), "no kind of rubric", 'write "chat" or "testrun"')


def _fingerprint(file: RubricFile) -> str:
    """A hash that ignores comments and layout, the description of the rubric as a whole, and columns added later, none
    of which change a score.
    """
    written = file.model_dump(mode="json", exclude={"title", "summary"}, exclude_unset=True)
    for name in ("columns", "kpis"):
        written[name] = {key: table for key, table in written[name].items() if not table.get("added_later")}
    return sha256(json.dumps(written).encode()).hexdigest()


class _KindsSoFar(dict[str, Kind]):
    """The columns that are defined so far; an error says which of the file's `columns` are not yet."""

    def __init__(self, kinds: Kinds, columns: Container[str]) -> None:
        super().__init__(kinds)
        self._columns = columns

    def __missing__(self, name: str) -> Kind:
        if name not in self._columns:
            raise KeyError(name)
        fix = "move it up: a column uses those above it, and those with added_later come last"
        raise RuleError(f"the column {name} does not come before this", fix=fix)


class _RowRubricLoading(FileExpressions):
    """Builds the parts of the rubric in the order of their dependencies."""

    def __init__(self, text: RubricText, file: RubricFile) -> None:
        super().__init__(text, SCORED_ROW_COLUMNS, {name: column.title for name, column in file.columns.items()})
        self.kinds = _KindsSoFar(self.kinds, file.columns)
        self._file = file

    def rubric(self) -> RowRubric:
        """Builds the rubric.

        Raises:
            UsageError: it is no valid rubric; gives line, column and remedy.
        """
        file = self._file
        columns = tuple(self._columns(later=False))
        alerts = tuple(self._alert(rule, table) for rule, table in file.alerts.items())
        cause = self._cause()
        self.kinds |= dict.fromkeys(("alert_level", "cause")[: 2 if cause else 1], Kind("text", nullable=True))
        later = tuple(self._columns(later=True))
        total = self._total()
        parts = self._parts(total)
        scales = self._scales(total, parts)
        with self._text.at():
            made = standard_rubric(
                id=file.id,
                version=file.version,
                title=file.title,
                summary=file.summary,
                columns=columns,
                alerts=alerts,
                alert_source=file.source,
                cause=cause,
                total=total,
                parts=parts,
                scales=scales,
                failure=self._coded("failure", file.failure),
                category=self._coded("category", file.category) if file.category else None,
                kept_grades=self._kept_grades(scales[0]),
                kpis=(*self._kpis(later=False), *self._missing_means((*(part.column for part in parts), total))),
                crosstab=self._crosstab(scales[1:], {part.grade_column: part.column for part in parts}),
                later_columns=later,
                later_kpis=tuple(self._kpis(later=True)),
            )
            return replace(made, stocks=file.stocks, fingerprint=_fingerprint(file))

    def _columns(self, *, later: bool) -> Iterator[ex.Definition]:
        for name, column in self._file.columns.items():
            if column.added_later == later:
                with self._text.at("columns", name, "grades_of" if column.grades else column.way):
                    expression = self._filled(name, column)
                    self.kinds[name] = kind_of(expression, self.kinds)
                    arrow_type(self.kinds[name])
                yield ex.Definition(name, expression, column.title, column.source or self._file.source)

    def _filled(self, name: str, column: ColumnTable) -> ex.Expression:
        path = ("columns", name)
        match column.way:
            case "value":
                return self.expression(column.value, *path, "value")
            case "sum":
                return self.summed(column.sum, *path)
            case "weights":
                weighted = ((weight, ex.Column(score)) for score, weight in column.weights.items())
                return ex.WeightedScore(tuple(weighted))
            case "grades":
                return self.graded(column.grades, column.grades_of)
        return self.given(column, *path)

    def _alert(self, rule: str, table: AlertTable) -> AlertRule:
        on_excluded = table.on_excluded_rows
        columns = EXCLUDED_ROW_COLUMNS if on_excluded else self.kinds
        condition = self.condition(table.when, "alerts", rule, "when", columns=columns)
        with self._text.at("alerts", rule):
            return AlertRule(rule, table.level, condition, table.title, table.action, table.usual_rate, on_excluded)

    def _cause(self) -> ex.Definition | None:
        table = self._file.cause
        if table is None:
            return None
        condition = self.condition(table.when, "cause", "when")
        with self._text.at("cause"):
            lost = ex.MostLost(tuple(table.most_lost.items()))
            expression = ex.Case((ex.When(condition, lost),), ex.Value(None))
            kind_of(expression, self.kinds)
        return ex.Definition("cause", expression, table.title, table.source or self._file.source)

    def _total(self) -> str:
        """The column with weights."""
        weighted = [name for name, column in self._file.columns.items() if column.weights]
        if len(weighted) != 1:
            place = ("columns", weighted[1]) if weighted else ("columns",)
            raise self._text.wrong(place, f"{len(weighted)} columns have weights", "give weights to one, the total")
        return weighted[0]

    def _parts(self, total: str) -> tuple[PartScore, ...]:
        grades = self._grade_columns()
        return tuple(
            PartScore(part, self._subject(part), grades.get(part, "")) for part in self._file.columns[total].weights
        )

    def _subject(self, score: str) -> str:
        return self._file.columns[score].subject or self._titles[score]

    def _grade_columns(self) -> dict[str, str]:
        """The grade column of each score that has grades."""
        found: dict[str, str] = {}
        for name, column in self._file.columns.items():
            if column.grades:
                if column.grades_of in found:
                    raise self._text.wrong(
                        ("columns", name, "grades_of"), f"{column.grades_of} is graded twice", "leave one out"
                    )
                found[column.grades_of] = name
        return found

    def _scales(self, total: str, parts: tuple[PartScore, ...]) -> tuple[GradeScale, ...]:
        """The grades of the total, then those of its parts, in the order of the columns."""
        graded = self._grade_columns()
        if total not in graded:
            fix = f'add a column with grades_of = "{total}"'
            raise self._text.wrong(("columns", total), f"{total} has no grades", fix)
        for score, name in graded.items():
            if score not in {total, *(part.column for part in parts)}:
                fix = f"grade {total} or a column of its weights"
                raise self._text.wrong(("columns", name, "grades_of"), f"{score} is no part of the total", fix)
        of_parts = [score for score in graded if score != total]
        return tuple(self._scale(score, graded[score]) for score in (total, *of_parts))

    def _scale(self, score: str, name: str) -> GradeScale:
        grades = self._file.columns[name].grades
        made = (Grade(one.code, one.short, one.title, one.action, one.tone) for one in grades)
        return GradeScale(name, self._subject(score), tuple(made))

    def _coded(self, key: str, name: str) -> CodedColumn:
        """The titles of a column's codes."""
        column = self._file.columns.get(name)
        if column is None or not column.first:
            raise self._text.wrong((key,), f"there is no column {name} with `first`", "name a column of codes")
        if key == "failure" and column.otherwise is not None:
            fix = "leave otherwise out: a row without a code did not fail"
            raise self._text.wrong(("columns", name, "otherwise"), "every row would have failed", fix)
        given = [(one.gives, one.title) for one in column.first]
        if column.otherwise is not None:
            given.append((column.otherwise, column.otherwise_title))
        titles: dict[int | str, str] = {}
        for code, title in given:
            if titles.setdefault(code, title) != title:
                fix = "write the same title wherever the code is given"
                raise self._text.wrong(("columns", name, "first"), f"{code} has two titles", fix)
            if not isinstance(code, str) or not title:
                what = f"{code} has no title" if isinstance(code, str) else f"{code} is no code"
                raise self._text.wrong(
                    ("columns", name, "first"), what, f'{key} needs codes with titles: gives = "a", title = ...'
                )
        return CodedColumn(name, {str(code): title for code, title in titles.items()})

    def _kept_grades(self, final: GradeScale) -> tuple[str, ...]:
        self._refuse_other_codes(("kept_grades",), self._file.kept_grades, final)
        return self._file.kept_grades

    def _refuse_other_codes(self, path: tuple[str, ...], codes: tuple[str, ...], scale: GradeScale) -> None:
        for code in codes:
            if code not in scale.codes:
                fix = f"use some of: {', '.join(scale.codes)}"
                raise self._text.wrong(path, f"{scale.column} has no grade {code}", fix)

    def _kpis(self, *, later: bool) -> Iterator[Quotient]:
        for name, kpi in self._file.kpis.items():
            if kpi.added_later == later:
                yield self._kpi(name, kpi)

    def _kpi(self, name: str, kpi: KpiTable) -> Quotient:
        source, target = kpi.source or self._file.source, _target(kpi)
        if kpi.rate_of:
            condition = self.condition(kpi.rate_of, "kpis", name, "rate_of")
            if texts := sorted(set(TEXTS).intersection(columns_of(condition))):
                what = f"a KPI that looks at {texts[0]}, which tables of scores keep of some rows alone"
                fix = "make a column with this value, and write rate_of = ... its name"
                raise self._text.wrong(("kpis", name, "rate_of"), what, fix)
            return Quotient(name, one_if(condition), kpi.title, source, target=target)
        with self._text.at("kpis", name, "mean_of"):
            if self.kinds.get(kpi.mean_of, Kind("null")).type == "truth":
                raise RuleError(
                    f"{kpi.mean_of} is a condition, no score", fix="write rate_of for its share of the rows"
                )
            return self._mean(name, kpi.mean_of, kpi.title, source, target)

    def _mean(self, name: str, score: str, title: str, source: str, target: Target | None = None) -> Quotient:
        column = ex.Column(score)
        kind = kind_of(column, self.kinds)
        if target:
            refuse_out_of_reach(kind, "at_least" if target.operator == ">=" else "at_most", target.value)
        if kind.type == "score":
            return Quotient(name, ex.Tenths(column), title, source, scale=10, target=target)
        kind_of(ex.Sum((column,)), self.kinds)
        return Quotient(name, column, title, source, target=target)

    def _missing_means(self, scores: tuple[str, ...]) -> Iterator[Quotient]:
        """The means of scores that are not defined as KPIs: every table has them."""
        for score in scores:
            name = f"mean_{score}"
            called = self._file.kpis.get(name)
            if called is None:
                with self._text.at("columns", score):
                    yield self._mean(name, score, f"평균 {self._titles[score]}", self._file.source)
            elif called.mean_of != score:
                fix = f'write mean_of = "{score}", or call it otherwise'
                raise self._text.wrong(("kpis", name), f"{name} is the mean of {score} in every table", fix)

    def _crosstab(self, scales: tuple[GradeScale, ...], scores: dict[str, str]) -> Crosstab:
        table, by_column = self._file.crosstab, {scale.column: scale for scale in scales}
        for key, name in (("rows", table.rows), ("columns", table.columns)):
            if name not in by_column:
                fix = f"use one of: {', '.join(by_column)}" if by_column else "add columns with grades_of a part"
                raise self._text.wrong(("crosstab", key), f"{name} are no grades of a part", fix)
        if table.rows == table.columns:
            raise self._text.wrong(("crosstab", "columns"), "rows and columns are the same grades", "take two")
        framed = None
        if pairs := table.framed:
            self._refuse_other_codes(("crosstab", "framed", "rows"), pairs.rows, by_column[table.rows])
            self._refuse_other_codes(("crosstab", "framed", "columns"), pairs.columns, by_column[table.columns])
            framed = FramedPairs(pairs.rows, pairs.columns, pairs.title, pairs.action)
        return Crosstab(
            table.rows,
            table.columns,
            (scores[table.rows], scores[table.columns]),
            caption=table.caption,
            note=table.note,
            framed=framed,
        )


def _target(kpi: KpiTable) -> Target | None:
    if kpi.at_least is not None:
        return Target(">=", kpi.at_least)
    return None if kpi.at_most is None else Target("<=", kpi.at_most)
