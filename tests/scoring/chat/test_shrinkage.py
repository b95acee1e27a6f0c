"""When a scored day may be replaced by fewer rows. Source: SPEC 6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.shrinkage import DayGuard, Loss, TenantRows

Rows = dict[str | None, TenantRows]


def all_rows(scored: int, excluded: int = 0) -> Rows:
    return {"*": TenantRows(scored, excluded)}


@pytest.mark.parametrize(
    ("scored", "now", "lost"),
    [(10, 5, False), (10, 4, True), (11, 5, True), (11, 6, False), (1, 1, False), (1, 0, True), (0, 0, False)],
)
def test_losses_begin_below_half_of_the_scored_rows(scored: int, now: int, lost: bool) -> None:
    found = DayGuard(all_rows(scored), {}).losses(all_rows(now))
    assert found == ((Loss("*", scored, now),) if lost else ())


def test_losses_count_a_few_excluded_rows_only_when_nothing_is_left() -> None:
    before = all_rows(0, 29)
    assert DayGuard(before, {}).losses(all_rows(0, 1)) == ()
    assert DayGuard(before, {}).losses({}) == (Loss("*", 29, 0),)


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        (all_rows(100), True),  # the view leaves out NULL answers
        (all_rows(100, 50), False),
        (all_rows(100, 49), True),
        (all_rows(160, 0), False),  # the answers came late
        (all_rows(200), False),
    ],
)
def test_losses_see_an_outage_of_null_answers_that_is_gone(now: Rows, lost: bool) -> None:
    found = DayGuard(all_rows(100, 100), {}).losses(now)
    assert found == ((Loss("*", 200, now["*"].both),) if lost else ())


def test_losses_see_scores_that_would_become_excluded_rows() -> None:
    assert DayGuard(all_rows(40), {}).losses(all_rows(0, 40)) == (Loss("*", 40, 0),)


@pytest.mark.parametrize(("rows", "lost"), [(29, False), (30, True)])
def test_losses_look_at_a_tenant_from_thirty_rows_on(rows: int, lost: bool) -> None:
    before: Rows = {"*": TenantRows(1000 + rows), "a": TenantRows(1000), "b": TenantRows(rows)}
    now: Rows = {"*": TenantRows(1000), "a": TenantRows(1000)}
    assert DayGuard(before, {}).losses(now) == ((Loss("b", rows, 0),) if lost else ())


def test_losses_name_the_day_or_else_its_tenants_the_largest_first() -> None:
    before: Rows = {None: TenantRows(30), "a": TenantRows(40), "b": TenantRows(90), "*": TenantRows(160)}
    guard = DayGuard(before, {})
    assert [one.tenant_id for one in guard.losses({})] == ["*"]
    assert [one.tenant_id for one in guard.losses({"*": TenantRows(90), "b": TenantRows(90)})] == ["a", None]


def test_losses_leave_out_rows_of_erased_sessions() -> None:
    before: Rows = {"*": TenantRows(40), "a": TenantRows(40)}
    now: Rows = {"*": TenantRows(15), "a": TenantRows(15)}
    assert DayGuard(before, {"*": 25, "a": 25}).losses(now) == ()
    assert DayGuard(before, {"*": 9, "a": 9}).losses(now) == (Loss("*", 31, 15),)


counts = st.builds(TenantRows, st.integers(0, 200), st.integers(0, 50))
tenants = st.dictionaries(st.sampled_from([None, "a", "b"]), counts)


@given(before=tenants, now=tenants, gone=st.dictionaries(st.sampled_from([None, "a", "b"]), st.integers(0, 50)))
def test_most_replaceable_lets_through_what_loses_nothing(
    before: dict[str | None, TenantRows], now: dict[str | None, TenantRows], gone: dict[str | None, int]
) -> None:
    erased = {tenant: min(count, before.get(tenant, TenantRows()).scored) for tenant, count in gone.items()}
    for rows in (before, now):
        rows["*"] = TenantRows(sum(one.scored for one in rows.values()), sum(one.excluded for one in rows.values()))
    erased["*"] = sum(erased.values())
    guard = DayGuard(before, erased)
    if guard.losses(now):
        return
    most = guard.most_replaceable(now)
    assert all(one.scored <= most.get(tenant, 0) for tenant, one in before.items() if tenant == "*" or one.scored >= 30)
