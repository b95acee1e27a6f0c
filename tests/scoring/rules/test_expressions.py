import re
from collections.abc import Mapping

import polars as pl
import pytest

from scoring.errors import RuleError
from scoring.rules.bands import Bands
from scoring.rules.explain import evaluate, findings
from scoring.rules.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    ContainsAny,
    Definition,
    Expression,
    Fired,
    IsIn,
    IsNull,
    MostLost,
    Not,
    Pattern,
    Ratio,
    Value,
    WeightedScore,
    When,
    alternation,
    banded,
)
from scoring.rules.googlesql_backend import to_sql
from scoring.rules.polars_backend import to_polars, with_definitions


@pytest.mark.parametrize(
    "escape", ["d", "D", "s", "S", "w", "W", "b", "B", "A", "Z", "z", "pL", "x41", "1", "v", "a", "<", ">"]
)
def test_escapes_that_engines_read_differently_are_refused(escape: str) -> None:
    with pytest.raises(RuleError, match=re.escape(f"\\{escape[0]}")):
        Pattern(f"가\\{escape}")


@pytest.mark.parametrize(r"regex", [r"[\d]", r"[^\s]", r"\\\d", r"a|\w"])
def test_refused_escapes_are_found_wherever_they_stand(regex: str) -> None:
    with pytest.raises(RuleError, match="read differently"):
        Pattern(regex)


@pytest.mark.parametrize(
    "regex",
    ["가$", "(가$|나)", "(?i)a", "(?s:.)", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?P<name>a)", "(?P=name)", "(?#a)"],
)
def test_anchors_flags_and_look_arounds_are_refused(regex: str) -> None:
    with pytest.raises(RuleError, match="read differently"):
        Pattern(regex)


@pytest.mark.parametrize(
    "regex",
    [
        *("[0-9]{6}", r"\|.*\|.*\|", r"\*\*.*\*\*", "^[-•*]|\n[-•*]", r"\n#{1,3}[\t\n\f\r ]", r"[ㄱ-ㅎㅏ-ㅣ]{2,}"),
        *("(?:가|나)+", "[$]", r"\$", r"[?]", "[(?=]", r"\\d", r"\.", "가*?", "a{2}", ""),
        *(r"\[[^\]]+\]\([^)]+\)", r"[\[][0-9]+[\]]", r"a+\++"),  # a link of Markdown, a number in brackets, `+++`
    ],
)
def test_everything_portable_is_accepted(regex: str) -> None:
    assert Pattern(regex).regex == regex


@pytest.mark.parametrize(
    "regex", ["a{,3}", "a++", "a*+", "[a&&b]", "[a[b]]", "[[:digit:]]", "(", "[a", "a**", r"[\]]a{,3}]"]
)
def test_regex_that_not_every_engine_reads_is_refused(regex: str) -> None:
    """RE2 reads `a{,3}` as a text, `a++` not at all; Rust reads `&&` and a bracket within a class as operators."""
    with pytest.raises(RuleError):
        Pattern(regex)


def test_refusal_says_what_to_write_instead() -> None:
    with pytest.raises(RuleError) as refused:
        Pattern(r"\d{6}")
    assert "[0-9]" in str(refused.value)


@pytest.mark.parametrize("weights", [(25, 50, 24), (25, 50, 26), (100, 1), ()])
def test_weights_that_do_not_add_up_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(RuleError, match="100 %"):
        WeightedScore(tuple((weight, Column("a")) for weight in weights))


def in_polars(expression: Expression, row: Mapping[str, object]) -> object:
    schema = {name: pl.Float64 if value is None else None for name, value in row.items()}
    return pl.DataFrame([row], schema=schema).select(to_polars(expression)).item()


@pytest.mark.parametrize(
    ("scores", "rounded"),
    [
        *(((45, 80, 40), 61.3), ((46, 80, 40), 61.5), ((47, 80, 40), 61.8), ((44, 80, 40), 61.0)),
        *(((0, 0, 1), 0.3), ((0, 0, 0), 0.0), ((100, 100, 100), 100.0), ((1, 0, 2), 0.8), ((1, 1, 0), 0.8)),
    ],
)
def test_weighted_scores_round_half_away_from_zero(scores: tuple[int, int, int], rounded: float) -> None:
    weighted = WeightedScore(((25, Column("q")), (50, Column("a")), (25, Column("i"))))
    row = dict(zip("qai", scores, strict=True))
    assert (in_polars(weighted, row), evaluate(weighted, row)) == (rounded, rounded)


def test_every_weighted_score_prints_with_one_decimal() -> None:
    weighted = WeightedScore(((25, Column("q")), (50, Column("a")), (25, Column("i"))))
    frame = pl.DataFrame({"q": range(401)}).select(q=pl.col("q") // 4, a=pl.lit(0), i=pl.col("q") % 101)
    scores = frame.select(s=to_polars(weighted))["s"].to_list()
    assert [score for score in scores if len(repr(score).partition(".")[2]) > 1] == []


TRUTHS = {"yes": True, "no": False, "unknown": None}


@pytest.mark.parametrize("right", TRUTHS)
@pytest.mark.parametrize("left", TRUTHS)
def test_logic_has_three_values(left: str, right: str) -> None:
    row: dict[str, object] = {"yes": 1.0, "no": 0.0, "unknown": None}
    one, other = (Compare(Column(name), "=", Value(1)) for name in (left, right))
    a, b = TRUTHS[left], TRUTHS[right]
    both = False if False in (a, b) else None if None in (a, b) else True
    either = True if True in (a, b) else None if None in (a, b) else False
    pair: tuple[Expression, ...] = (AllOf((one, other)), AnyOf((one, other)))
    assert [in_polars(expression, row) for expression in pair] == [both, either]
    assert [evaluate(expression, row) for expression in pair] == [both, either]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Compare(Column("missing"), "!=", Value(1)), None),
        (Not(Compare(Column("missing"), "=", Value(1))), None),
        (IsNull(Column("missing")), True),
        (IsNull(Column("zero")), False),
        (Case((When(Compare(Column("missing"), "<", Value(1)), Value(7)),), Value(8)), 8),
        (Ratio(Column("one"), Column("zero")), None),
        (Ratio(Column("zero"), Column("zero")), None),
        (Ratio(Column("missing"), Column("one")), None),
        (Ratio(Column("one"), Column("missing")), None),
        (Ratio(Column("zero"), Column("one")), 0.0),
        (banded(Column("missing"), Bands("at_least", ((1, 5),), beyond=2), ""), 2),
        (banded(Column("missing"), Bands("at_most", ((1, 5),), beyond=2), ""), 2),
        (
            Fired((("a", Compare(Column("missing"), "=", Value(0))), ("b", Compare(Column("zero"), "=", Value(0))))),
            ["b"],
        ),
        (Fired((("a", Compare(Column("one"), "=", Value(0))),)), []),
    ],
)
def test_null_is_read_as_in_bigquery(expression: Expression, value: object) -> None:
    row: dict[str, object] = {"missing": None, "zero": 0.0, "one": 1.0}
    found = in_polars(expression, row)
    assert (found.to_list() if isinstance(found, pl.Series) else found) == value
    assert evaluate(expression, row) == value


@pytest.mark.parametrize(
    ("bands", "beyond", "label"),
    [
        (Bands("at_least", ((61, 5), (31, 2)), beyond=0), 30, "출력 토큰 < 31 또는 값 없음"),
        (Bands("at_most", ((5, 5), (8, 4)), beyond=0), 9, "출력 토큰 > 8 또는 값 없음"),
    ],
)
def test_number_beyond_the_last_cut_is_told_with_that_cut(bands: Bands[int], beyond: int, label: str) -> None:
    volume = banded(Column("n"), bands, "출력 토큰")
    assert [found.label for n in (beyond, None) for found in findings("volume", volume, {"n": n})] == [label, label]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("divisor", [Value(35), banded(Column("n"), Bands("at_least", ((1, 7),), beyond=35), "")])
def test_ratio_is_divided_where_all_rows_have_one_divisor(divisor: Expression, rows: int) -> None:
    """Multiplied by 1 / 35 it would be 2.857142857142857e-302."""
    frame = pl.DataFrame({"n": [1e-300] * rows})
    definitions = (
        Definition("d", divisor, "", ""),
        Definition("of_value", Ratio(Column("n"), divisor), "", ""),
        Definition("of_column", Ratio(Column("n"), Column("d")), "", ""),
    )
    scored = with_definitions(frame, definitions)
    assert scored.select("of_value", "of_column").rows() == [(1e-300 / 35, 1e-300 / 35)] * rows


def test_null_is_in_no_list() -> None:
    among = IsIn(Column("grade"), ("A", "B"))
    grades: list[str | None] = ["A", "C", None]
    there = pl.DataFrame({"grade": grades}).select(found=to_polars(among))["found"].to_list()
    assert there == [evaluate(among, {"grade": grade}) for grade in grades] == [True, False, None]


def test_ties_of_the_most_lost_go_to_the_earlier() -> None:
    lost = MostLost((("a", 10), ("b", 20), ("c", 20)))
    rows = [
        {"a": 0, "b": 10, "c": 10},
        {"a": 1, "b": 10, "c": 10},
        {"a": 10, "b": 20, "c": 20},
        {"a": 5, "b": 20, "c": 0},
    ]
    there = pl.DataFrame(rows).select(lost=to_polars(lost))["lost"].to_list()
    assert there == [evaluate(lost, row) for row in rows] == ["a", "b", "a", "c"]


def test_signs_of_regexes_are_literal_in_words() -> None:
    words = ("a.b", "?", "(", "[x]", "|", "^", "$", "\\", "{2}", "*", "+")
    texts = [*words, "axb", "x", "", "ab2"]
    expected = [*[True] * len(words), False, False, False, False]
    there = pl.DataFrame({"text": texts}).select(found=to_polars(ContainsAny(Column("text"), words)))["found"]
    assert there.to_list() == expected
    assert [re.search(alternation(words), text) is not None for text in texts] == expected


def test_sql_keeps_or_within_and_together() -> None:
    a, b, c = (Compare(Column(name), "=", Value(1)) for name in "abc")
    assert to_sql(AllOf((AnyOf((a, b)), c))) == "(a = 1 OR b = 1) AND c = 1"
    assert to_sql(Not(AllOf((a, b)))) == "NOT (a = 1 AND b = 1)"


def test_sql_constants_cannot_break_out_of_their_quotes() -> None:
    assert to_sql(Value("it's \\ \n")) == r"'it\'s \\ \n'"
