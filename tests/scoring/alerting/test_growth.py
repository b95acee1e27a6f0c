"""What is named as the cause of a rise, and which rows show it."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scoring.alerting.growth import (
    NO_TOKENS,
    TEMPLATE,
    FiredRow,
    Grown,
    growth_by_rule,
    most_grown,
    rows_of_one_session,
    rules_with_rows_of,
)
from scoring.alerting.growth_wording import grown_texts
from scoring.chat.row_ids import OUTPUT_TOKENS
from scoring.chat.templates import WORD
from scoring.rubrics.ola_monitoring import RUBRIC

WEEK = 1 / 7
COLUMN = "failure_type"


def named(today: Mapping[Any, int], usual: Mapping[Any, int], scale: float = WEEK) -> str | None:
    found = most_grown(COLUMN, today, usual, scale)
    return found.value if found else None


def test_most_grown_names_the_value_that_made_the_rise() -> None:
    found = most_grown(
        COLUMN, {"refused": 64, "blocked": 6, "short": 9}, {"refused": 70, "blocked": 42, "short": 56}, WEEK
    )
    assert found is not None
    assert (found.value, found.count) == ("refused", 64)
    assert found.usual == pytest.approx(10)
    assert found.share == pytest.approx(54 / 55)
    assert 0.7 < found.low < found.share <= found.high <= 1


def test_most_grown_expects_nothing_of_a_value_that_never_came() -> None:
    found = most_grown(COLUMN, {"a": 60, "b": 7}, {"b": 49}, WEEK)
    assert found is not None
    assert (found.value, found.usual) == ("a", 0)


def test_most_grown_gives_figures_that_a_table_of_floats_takes() -> None:
    found = most_grown(COLUMN, {"a": 60, "b": 3}, {"a": 7, "b": 7}, WEEK)
    assert found is not None
    figures = (found.usual, found.share, found.low, found.high)
    assert [type(figure) for figure in figures] == [float] * 4


def test_most_grown_names_nothing_where_all_values_grew_alike() -> None:
    assert named({"a": 30, "b": 31, "c": 29}, {"a": 105, "b": 105, "c": 105}) is None


def test_most_grown_names_nothing_where_the_whole_did_not_grow() -> None:
    assert named({"a": 20, "b": 0}, {"a": 70, "b": 70}) is None
    assert named({"a": 10, "b": 10}, {"a": 70, "b": 70}) is None


def test_most_grown_names_nothing_where_a_few_rows_decide() -> None:
    assert named({"a": 3, "b": 0}, {"a": 0, "b": 0}) is None
    assert named({"a": 6, "b": 0}, {"a": 0, "b": 0}) == "a"


def test_largest_of_ten_values_needs_more_of_a_lead_than_the_larger_of_two() -> None:
    """Of ten that rose alike by chance, one is always ahead."""
    today, usual = {"a": 30, **dict.fromkeys("bcdefghij", 14)}, dict.fromkeys("abcdefghij", 70)
    assert named({"a": 30, "b": 14}, {"a": 70, "b": 70}) == "a"
    assert named(today, usual) is None
    assert named(today | {"a": 36}, usual) == "a"


def test_most_grown_takes_what_a_rate_varies_from_day_to_day_for_no_rise() -> None:
    usual = {"a": 7_000, "b": 7_000}
    assert named({"a": 1_150, "b": 1_000}, usual) is None  # surely more than b by its count alone
    assert named({"a": 1_600, "b": 1_000}, usual) == "a"


def test_most_grown_says_nothing_of_a_column_with_one_value() -> None:
    assert named({"a": 60}, {"a": 70}) is None


def test_most_grown_compares_days_of_different_lengths_by_their_turns() -> None:
    today, usual = {"a": 30, "b": 5}, {"a": 140, "b": 35}
    assert named(today, usual, scale=200 / 5600) == "a"  # a quarter of the turns of a usual day
    assert named(today, usual, scale=1200 / 5600) is None


def test_most_grown_gives_a_name_without_reason_at_most_one_time_in_twenty() -> None:
    chance = random.Random(7)
    false = 0
    for _ in range(400):
        usual = drawn(chance, 140)
        false += named(drawn(chance, 60), usual) is not None
    assert false / 400 <= 0.05


def test_most_grown_finds_a_share_of_two_thirds_and_its_interval_covers_it() -> None:
    chance = random.Random(11)
    found = []
    for _ in range(300):
        usual = drawn(chance, 175)
        today = drawn(chance, chance_count(chance, 45))  # 25 usual, 20 of the rise
        today["a"] += chance_count(chance, 40)
        found.append(most_grown(COLUMN, today, usual, WEEK))
    known = [one for one in found if one and one.value == "a"]
    assert len(known) / len(found) > 0.9
    truth = (40 + 20 / 5) / 60
    assert sum(one.low <= truth <= one.high for one in known) / len(known) > 0.93


def drawn(chance: random.Random, rows: int) -> Counter[str | None]:
    """So many rows of five values that are equally frequent."""
    return Counter(chance.choices("abcde", k=rows))


def chance_count(chance: random.Random, mean: int) -> int:
    """A Poisson count."""
    return sum(chance.random() < mean / 1_000 for _ in range(1_000))


def row(
    number: int, template: str | None = None, tenant: str = "t1", failure: str | None = None, score: float = 10
) -> FiredRow:
    values = {"tenant_id": tenant, COLUMN: failure}
    return FiredRow(f"{number:04}", tenant, ("answer_failed",), values, template, failure, score)


@pytest.mark.parametrize(
    ("sessions", "template", "named"),
    [
        (["a"] * 30, "{종목} 내 딸 이름으로 살까", []),
        (["a", "b"] * 15, "{종목} 내 딸 이름으로 살까", []),
        (["a", "b", "c"] * 10, "{종목} 공매도 잔고", ["{종목} 공매도 잔고"]),
        ([None] * 30, "{종목} 공매도 잔고", ["{종목} 공매도 잔고"]),
        (["a"] * 30, WORD, [WORD]),
    ],
)
def test_form_of_question_is_named_only_where_it_is_nobodys_own(
    sessions: list[str | None], template: str, named: list[str]
) -> None:
    today = [replace(row(number, template), session_id=session) for number, session in enumerate(sessions)]
    usual = [row(100 + number, f"old {number}") for number in range(4)]
    growth = growth_by_rule(today, usual, {"*": WEEK, "t1": WEEK}, {})["answer_failed", "*"]
    assert [one.value for one in growth.grown if one.column == TEMPLATE] == named


def test_growth_by_rule_shows_a_row_of_each_template_those_that_grew_most_first() -> None:
    usual = [row(number, "old", score=1) for number in range(70)]
    today = [row(number, "old", score=1) for number in range(10)]
    today += [row(100 + number, "new") for number in range(4)] + [row(200, "rare", score=2)]
    growth = growth_by_rule(today, usual, {"*": WEEK, "t1": WEEK}, {})["answer_failed", "*"]
    assert (growth.row_ids, growth.alike) == (("0100", "0200", "0000"), (4, 1, 10))


def test_growth_by_rule_counts_rows_of_one_template_that_failed_in_one_way() -> None:
    today = [row(number, "{낱말}", failure="refused") for number in range(3)]
    today += [row(10 + number, "{낱말}", failure="not understood", score=1) for number in range(2)]
    growth = growth_by_rule(today, [], {}, {})["answer_failed", "*"]
    assert (growth.row_ids, growth.alike) == (("0000", "0010"), (3, 2))


def test_growth_by_rule_shows_rows_that_have_all_that_is_named() -> None:
    today = [row(number, f"new {number}", "t2", "refused") for number in range(30)]
    today += [row(100 + number, "old", "t2", "not understood", score=0) for number in range(4)]
    today += [row(200 + number, "old", "t1", "refused", score=0) for number in range(4)]
    usual = [row(300 + number, "old", tenant, "not understood") for tenant in ("t1", "t2") for number in range(4)]
    growth = growth_by_rule(today, usual, {"*": 1.0}, {"t1": 0.5, "t2": 0.5})["answer_failed", "*"]
    assert [(one.column, one.value) for one in growth.grown] == [(COLUMN, "refused"), ("tenant_id", "t2")]
    assert growth.grown[0].low > growth.grown[1].low  # the most certain first
    assert growth.row_ids == tuple(f"{number:04}" for number in range(5))


def test_growth_by_rule_shows_the_worst_row_of_a_template() -> None:
    today = [row(1, "a", score=12), row(2, "a", score=8), row(3, "a", score=9)]
    assert growth_by_rule(today, [], {}, {})["answer_failed", "t1"].row_ids == ("0002",)


def test_growth_by_rule_shows_rows_of_what_is_named_and_not_the_lowest_of_all() -> None:
    usual = [row(number, f"q{number}", failure="short", score=1) for number in range(70)]
    today = usual[:10] + [row(300 + number, f"r{number}", failure="refused", score=19) for number in range(20)]
    growth = growth_by_rule(today, usual, {"*": WEEK, "t1": WEEK}, {})["answer_failed", "*"]
    assert [(one.column, one.value, one.count) for one in growth.grown] == [(COLUMN, "refused", 20)]
    assert len(growth.row_ids) == 5
    assert all(row_id >= "0300" for row_id in growth.row_ids)


def test_growth_by_rule_names_a_tenant_among_all_of_them_alone() -> None:
    usual = [row(number, f"q{number}", tenant=f"t{number % 2}") for number in range(140)]
    today = usual[:20] + [row(500 + number, f"r{number}", tenant="t1") for number in range(30)]
    found = growth_by_rule(today, usual, {"*": WEEK, "t0": WEEK, "t1": WEEK}, {})
    assert [(one.column, one.value) for one in found["answer_failed", "*"].grown] == [("tenant_id", "t1")]
    assert found["answer_failed", "t1"].grown == ()


def test_growth_by_rule_looks_at_the_wanted_rules_and_tenants_alone() -> None:
    today = [row(number, tenant=f"t{number % 3}") for number in range(30)]
    everything = growth_by_rule(today, [], {}, {})
    wanted = [("answer_failed", "t1"), ("answer_failed", "t9")]
    assert growth_by_rule(today, [], {}, {}, wanted) == {wanted[0]: everything[wanted[0]]}


def test_growth_by_rule_names_no_tenant_whose_turns_explain_its_part() -> None:
    usual = [row(number, f"q{number}", tenant="big" if number % 6 else "small") for number in range(42)]
    today = [row(500 + number, f"r{number}", tenant="big" if number % 6 else "small") for number in range(36)]
    for share, names in [(5 / 6, []), (0.3, ["big"])]:
        found = growth_by_rule(today, usual, {"*": WEEK}, {"big": share, "small": 1 - share})
        assert [one.value for one in found["answer_failed", "*"].grown] == names


def test_growth_by_rule_names_a_question_that_comes_many_times() -> None:
    today = [row(number, "{종목} 목표주가") for number in range(12)] + [
        row(50 + number, f"q{number}") for number in range(3)
    ]
    (template,) = growth_by_rule(today, [], {}, {})["answer_failed", "*"].grown
    assert template == Grown(TEMPLATE, "{종목} 목표주가", 12, 0.0, 0.8, template.low, template.high)


def test_growth_by_rule_names_no_template_of_questions_that_are_not_kept() -> None:
    growth = growth_by_rule([row(number) for number in range(30)], [], {}, {})["answer_failed", "*"]
    assert growth.grown == ()
    assert len(growth.row_ids) == 5


def test_growth_by_rule_keeps_no_personal_data_of_a_template() -> None:
    today = [row(number, "hong@naver.com 목표주가") for number in range(12)]
    (template,) = growth_by_rule(today, [], {}, {})["answer_failed", "*"].grown
    assert template.value == "[이메일] 목표주가"


@pytest.mark.parametrize(("risen", "before", "names"), [(NO_TOKENS, None, [NO_TOKENS]), (None, NO_TOKENS, [])])
def test_growth_by_rule_names_rows_without_tokens_and_never_those_with_them(
    risen: str | None, before: str | None, names: list[str]
) -> None:
    def rows(first: int, count: int, tokens: str | None) -> list[FiredRow]:
        found = [row(first + number, f"q{first + number}") for number in range(count)]
        return [replace(one, values={**one.values, OUTPUT_TOKENS: tokens}) for one in found]

    today = [*rows(0, 4, before), *rows(500, 40, risen)]
    found = growth_by_rule(today, rows(0, 28, before), {"*": WEEK}, {})["answer_failed", "*"]
    assert [one.value for one in found.grown if one.column == OUTPUT_TOKENS] == names


def test_no_end_of_the_interval_of_a_share_is_above_the_whole() -> None:
    more_than_all = Grown("tenant_id", "small", 60, 2.0, 1.12, 1.03, 1.21)  # the others fell
    assert grown_texts([more_than_all], RUBRIC) == [
        "테넌트 small 60건, 앞선 날들의 비율로는 2건 · 증가분의 100% (95% 구간 100~100%)"
    ]


@pytest.mark.parametrize(("shared", "mostly"), [(2, True), (1, False)])
def test_rules_have_mostly_the_same_rows_where_most_rows_of_the_rarer_one_meet_both(shared: int, mostly: bool) -> None:
    failed = [row(number) for number in range(20)]
    found = [replace(one, rules=("answer_failed", "final_failed")) for one in failed[:shared]] + failed[shared:]
    found += [replace(row(100 + number), rules=("final_failed",)) for number in range(3 - shared)]
    together = rules_with_rows_of(found)
    assert (together.get(("answer_failed", "*")) == {"final_failed"}) is mostly
    assert (together.get(("final_failed", "t1")) == {"answer_failed"}) is mostly


@pytest.mark.parametrize(("sessions", "most"), [("aaab", 3), ("aabb", 0), ("abcd", 0), ("a", 0), ("....aaaa.", 0)])
def test_rows_that_mostly_come_from_one_session_are_counted(sessions: str, most: int) -> None:
    """`.` is a row without a session, which is its own."""
    found = [replace(row(number), session_id=name.strip(".") or None) for number, name in enumerate(sessions)]
    expected = {("answer_failed", "t1"): most, ("answer_failed", "*"): most} if most else {}
    assert rows_of_one_session(found) == expected
