"""Finds what grew among the rows of a fired rule: the tenant, category, failure type or template that caused the rise.

Rows of a day are compared with those of earlier days, scaled to the same number of turns. A value is named only if its
share of the rise is significantly larger than that of every other value; the examples are then rows with the named
values.

Source: SPEC 8; counts are Poisson, with additional day-to-day variation of the rate.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from statistics import NormalDist

from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.row_ids import OUTPUT_TOKENS
from scoring.chat.templates import WORD
from scoring.judging.masking import masked
from scoring.stats.intervals import TAIL, Z_95

TENANT = "tenant_id"
TEMPLATE = "template"
"""Name that represents the template of the question where a column is expected."""

NO_TOKENS = "none"
"""The value of `OUTPUT_TOKENS` of a row whose source did not record it; of the others it is None, and never named."""

EXAMPLES = 5

LEAST_SESSIONS = 3
"""Minimum number of sessions that asked in one form before it is named: fewer could identify a person."""

_DAILY_VARIATION = 0.15
"""Relative day-to-day variation of a value's rate without a change. Source: SPEC 8."""

_UNSEEN = 1  # a value that never came may come once


_Likeness = tuple[str, str | None]


@dataclass(frozen=True)
class FiredRow:
    """A row on which `rules` fired. `values` are the values of the compared columns, by column.

    `failure` is its failure type; `template` is None if the question is not kept, and `session_id` if it is unknown.
    """

    row_id: str
    tenant_id: str | None
    rules: tuple[str, ...]
    values: Mapping[str, str | None]
    template: str | None
    failure: str | None
    score: float
    session_id: str | None = None


@dataclass(frozen=True)
class Grown:
    """The value of a column that caused most of a rise: `count` rows, with `usual` expected.

    `share` is its share of the whole rise, with the 95 % interval `low` to `high`; it exceeds 1 if other values fell.
    """

    column: str
    value: str | None
    count: int
    usual: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Growth:
    """What grew among the rows of a rule and a tenant: the significant values, most certain first, and example rows.

    `row_ids` are one of each template and failure type, those that grew most first; `alike` is the number of rows with
    both.
    """

    grown: tuple[Grown, ...] = ()
    row_ids: tuple[str, ...] = ()
    alike: tuple[int, ...] = ()


def growth_by_rule(
    today: Sequence[FiredRow],
    usual: Sequence[FiredRow],
    scales: Mapping[str | None, float],
    turn_shares: Mapping[str | None, float],
    wanted: Collection[tuple[str, str | None]] | None = None,
) -> dict[tuple[str, str | None], Growth]:
    """The growth by rule and tenant (the tenant also as `*`), for the rules that fired today, or the `wanted` ones of
    them.

    `scales` give by tenant the ratio of today's turns to those of `usual`; 0 or missing without such days. A tenant is
    named only if its share of a rise is significantly larger than its share of the turns (`turn_shares`).
    """
    before = _by_rule(usual)
    return {
        key: _growth(rows, before.get(key, ()), scales.get(key[1], 0.0), turn_shares if key[1] == ALL_TENANTS else None)
        for key, rows in _by_rule(today).items()
        if wanted is None or key in wanted
    }


def rows_of_one_session(rows: Iterable[FiredRow]) -> dict[tuple[str, str | None], int]:
    """By rule and tenant (the tenant also as `*`) the number of rows of one session, where these are most of the rows:
    one person then looks like a rise of the service.
    """
    found = {}
    for key, of_rule in _by_rule(rows).items():
        sessions = Counter(row.session_id for row in of_rule if row.session_id)
        most = max(sessions.values(), default=0)
        if most > 1 and 2 * most > len(of_rule):
            found[key] = most
    return found


def rules_with_rows_of(rows: Iterable[FiredRow]) -> dict[tuple[str, str | None], set[str]]:
    """By rule and tenant (the tenant also as `*`) the rules with mostly the same rows: more than half of the smaller
    one.
    """
    counted: Counter[tuple[str, str, str | None]] = Counter()
    for row in rows:
        for rule, other in product(row.rules, repeat=2):
            counted.update([(rule, other, row.tenant_id), (rule, other, ALL_TENANTS)])
    found = defaultdict(set)
    for (rule, other, tenant), count in counted.items():
        least = min(counted[one, one, tenant] for one in (rule, other))
        if rule != other and 2 * count > least:
            found[rule, tenant].add(other)
    return found


def _by_rule(rows: Iterable[FiredRow]) -> dict[tuple[str, str | None], list[FiredRow]]:
    found = defaultdict(list)
    for row in rows:
        for rule in row.rules:
            found[rule, row.tenant_id].append(row)
            found[rule, ALL_TENANTS].append(row)
    return found


def _growth(
    today: Sequence[FiredRow],
    usual: Sequence[FiredRow],
    scale: float,
    turn_shares: Mapping[str | None, float] | None,
) -> Growth:
    """The growth among the rows of a rule; without `turn_shares` the rows are of one tenant."""
    columns = [column for column in today[0].values if turn_shares is not None or column != TENANT]
    compared = [
        most_grown(column, _counts(today, column), _counts(usual, column), scale) for column in (*columns, TEMPLATE)
    ]
    named = [one for one in compared if one and (one.column != TEMPLATE or _is_common(one.value, today))]
    named = [one for one in named if one.column != OUTPUT_TOKENS or one.value]
    named = [one for one in named if one.column != TENANT or one.low > (turn_shares or {}).get(one.value, 0.0)]
    grown = sorted(named, key=lambda one: -one.low)
    return Growth(tuple(map(_inert, grown)), *_examples(today, grown, usual, scale))


def examples_of(
    grown: Sequence[Grown], rows: Iterable[FiredRow], rule: str, tenant_id: str | None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Examples of what grew among the rows of a day on which a rule fired: their ids, and how many rows are like each.

    If no row has what grew, other rows of the rule are the examples.
    """
    return _examples(_by_rule(rows).get((rule, tenant_id), []), grown)


def _examples(
    rows: Sequence[FiredRow], grown: Sequence[Grown], usual: Iterable[FiredRow] = (), scale: float = 0.0
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The ids of the worst row of each template and failure type among those that show what grew, those that grew most
    first, and how many rows have both.
    """
    alike, before = Counter(map(_likeness, rows)), Counter(map(_likeness, usual))
    worst: dict[_Likeness, FiredRow] = {}
    for row in sorted(_showing(rows, grown), key=lambda row: (row.score, row.row_id)):
        worst.setdefault(_likeness(row), row)
    first = sorted(worst, key=lambda one: (scale * before[one] - alike[one], worst[one].row_id))[:EXAMPLES]
    return tuple(worst[one].row_id for one in first), tuple(alike[one] for one in first)


def _is_common(template: str | None, rows: Iterable[FiredRow]) -> bool:
    """Whether enough sessions asked in this form that it cannot identify a person.

    A row without a session counts as its own session.
    """
    if template in (None, WORD):
        return template is not None
    asked = [row.session_id or f"row {row.row_id}" for row in rows if row.template == template]
    return len(set(asked)) >= LEAST_SESSIONS


def _showing(rows: Sequence[FiredRow], grown: Iterable[Grown]) -> Sequence[FiredRow]:
    """The rows with all named values, or with as many of the most certain ones as one row has."""
    for one in grown:
        rows = [row for row in rows if _value(row, one.column) == one.value] or rows
    return rows


def _inert(one: Grown) -> Grown:
    """Removes personal data from the stored part of a template."""
    return replace(one, value=masked(one.value)) if one.column == TEMPLATE and one.value else one


def most_grown(
    column: str, today: Mapping[str | None, int], usual: Mapping[str | None, int], scale: float
) -> Grown | None:
    """The value that grew most, if its share of the rise is significantly larger than every other; else None.

    `scale` times the `usual` counts are expected today. A column with a single value has no result.
    """
    values = sorted(today.keys() | usual.keys(), key=str)
    if len(values) < 2:
        return None
    expected = {value: scale * usual.get(value, 0) for value in values}
    rises = {value: today.get(value, 0) - expected[value] for value in values}
    noise = {value: _variance(today.get(value, 0), usual.get(value, 0), scale) for value in values}
    whole = sum(rises.values())
    first = max(values, key=lambda value: rises[value])
    others = [value for value in values if value != first]
    rest = sum(noise[other] for other in others)
    separated = NormalDist().inv_cdf(1 - TAIL / len(others))  # the largest of many is large by chance
    if whole <= Z_95 * sqrt(noise[first] + rest) or any(
        rises[first] - rises[other] <= separated * sqrt(noise[first] + noise[other] + _UNSEEN) for other in others
    ):
        return None
    share = rises[first] / whole
    half = Z_95 * sqrt((1 - share) ** 2 * noise[first] + share**2 * rest) / whole
    return Grown(
        column,
        first,
        today.get(first, 0),
        expected[first],
        share,
        max(share - half, 0.0),
        min(share + half, max(share, 1.0)),
    )


def _variance(count: int, usual: int, scale: float) -> float:
    return count + scale**2 * usual + (_DAILY_VARIATION * scale * usual) ** 2


def _counts(rows: Iterable[FiredRow], column: str) -> Counter[str | None]:
    counted = Counter(_value(row, column) for row in rows)
    if column == TEMPLATE:
        counted[None] += 0  # there are always other questions
    return counted


def _value(row: FiredRow, column: str) -> str | None:
    return row.template if column == TEMPLATE else row.values[column]


def _likeness(row: FiredRow) -> _Likeness:
    """Template and failure type of a row; a question that is not kept equals no other."""
    return row.row_id if row.template is None else row.template, row.failure
