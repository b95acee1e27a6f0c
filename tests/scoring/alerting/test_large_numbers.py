"""How messages put large numbers: of tenants, and of times that a rate is what it was."""

import re
from datetime import timedelta

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import RouteFilter
from tests.builders.alert_days import FIRST_DAY, KpiRow, day_digest, days_of_facts, kpi_row, met


def failed(counts: list[int]) -> list[KpiRow]:
    """KPI rows of a day: all tenants together, then each with so many failed answers of 60."""
    of_tenants = [met(kpi_row({"answer_failed": count}, 60, tenant=f"t{n}")) for n, count in enumerate(counts)]
    return [met(kpi_row({"answer_failed": sum(counts)}, 60 * len(counts))), *of_tenants]


def test_page_about_all_tenants_names_five_and_counts_the_others() -> None:
    days = [*[failed([2] * 8)] * 7, failed([20, 22, 24, 26, 28, 30, 32, 34])]
    facts = days_of_facts((FIRST_DAY + timedelta(number), rows) for number, rows in enumerate(days))
    page, *_ = day_messages(day_digest(FIRST_DAY + timedelta(7), facts, days[-1][0]), RouteFilter())
    (line,) = (line for line in readable(page.blocks).splitlines() if line.startswith("테넌트 t7"))
    assert re.findall(r"테넌트 (\w+)", line) == ["t7", "t6", "t5", "t4", "t3"]
    assert line.endswith(" 외 3곳")


def test_page_about_all_tenants_names_those_with_the_most_rows_above_their_usual_rate() -> None:
    """A large tenant with its usual failures has more of them than a small one that fails."""
    usual, last = {"big": 30, "a": 3, "b": 3, "c": 3}, {"big": 29, "a": 12, "b": 26, "c": 18}
    days = [_of_tenants(counts) for counts in (*[usual] * 14, last)]
    facts = days_of_facts((FIRST_DAY + timedelta(number), rows) for number, rows in enumerate(days))
    page, *_ = day_messages(day_digest(FIRST_DAY + timedelta(14), facts, days[-1][0]), RouteFilter())
    (line,) = (line for line in readable(page.blocks).splitlines() if line.startswith("테넌트 b"))
    assert re.findall(r"테넌트 (\w+)", line) == ["b", "c", "a"]


def _of_tenants(counts: dict[str, int]) -> list[KpiRow]:
    """KPI rows of a day of a tenant with 600 rows and of small ones with 60."""
    rows = {tenant: 600 if tenant == "big" else 60 for tenant in counts}
    found = [met(kpi_row({"answer_failed": count}, rows[name], tenant=name)) for name, count in counts.items()]
    return [met(kpi_row({"answer_failed": sum(counts.values())}, sum(rows.values()))), *found]


def test_what_hardly_ever_happened_has_risen_a_hundred_times_or_more() -> None:
    days = [met(kpi_row({"final_failed": count})) for count in (*[0] * 28, 500)]
    last = FIRST_DAY + timedelta(28)
    facts = days_of_facts((FIRST_DAY + timedelta(number), [row]) for number, row in enumerate(days))
    page, *_ = day_messages(day_digest(last, facts, days[-1]), RouteFilter())
    assert readable(page.blocks[:1]) == "🔴 Critical · 종합 등급 F · 새로 나타남, 평소의 100배 이상"
