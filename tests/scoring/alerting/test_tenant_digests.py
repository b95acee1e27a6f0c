"""What a digest tells of the rows and KPIs of tenants, by whom its route names."""

from datetime import timedelta

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages, visible_to
from scoring.alerting.messages import NO_TENANT, RouteFilter
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, day_digest, days_of_facts, incidents_on, kpi_row, met

TENANTS = ["*", "acme", None, *(f"t{number}" for number in range(6))]


def digest_lines(*tenants: str, missing: str = "") -> list[str]:
    """The lines of the messages of a day on which the weak answers of all tenants rose, of whom one had no rows."""
    rows = {"*": 5350, "acme": 300, None: 160}
    counts = ({"weak_answer": 5}, {"weak_answer": 100})

    def of_day(number: int) -> list[dict[str, object]]:
        weak = counts[number == 7]
        found = [met(kpi_row(weak | {"answer_failed": 9}, rows.get(one, 535), tenant=one)) for one in TENANTS]
        return [row for row in found if number < 7 or row["tenant_id"] != missing]

    facts = days_of_facts((FIRST_DAY + timedelta(number), of_day(number)) for number in range(8))
    day = FIRST_DAY + timedelta(7)
    digest = day_digest(day, facts, facts.kpis[day][0])
    found = day_messages(digest, RouteFilter(tenants=frozenset(tenants)))
    return [line for message in found for line in readable(message.blocks).splitlines()]


def test_route_that_names_a_tenant_gets_the_rows_and_kpis_of_that_tenant_alone() -> None:
    lines = digest_lines("acme")
    assert "핵심 지표(테넌트 acme)  채점 300건 + 제외 0건" in lines
    assert sum(line.endswith("n=300") for line in lines) == len(RUBRIC.targeted)
    assert not any("5,350" in line or line.startswith("읽은 행") for line in lines)


def test_tenants_of_a_route_have_their_kpis_one_below_the_other() -> None:
    lines = digest_lines("acme", NO_TENANT, "t0", missing="t0")
    assert [line for line in lines if line.startswith("핵심 지표")] == [
        "핵심 지표(테넌트 없는 행)  채점 160건 + 제외 0건",
        "핵심 지표(테넌트 acme)  채점 300건 + 제외 0건",
        "핵심 지표(테넌트 t0)  이날은 행이 없음",
    ]


def test_of_many_tenants_of_a_route_five_have_their_kpis_in_the_message() -> None:
    lines = digest_lines("acme", *(f"t{number}" for number in range(6)))
    assert sum(line.startswith("핵심 지표(") for line in lines) == 5
    assert "다른 테넌트 2곳의 핵심 지표는 보고서에 있습니다." in lines
    all_shown = digest_lines(*(f"t{number}" for number in range(5)))
    assert not any(line.startswith("다른 테넌트") for line in all_shown)


def test_kpis_of_all_tenants_are_called_so_where_the_message_tells_of_one() -> None:
    lines = digest_lines()
    assert "핵심 지표" in lines
    assert "읽은 행 5,350건 = 채점 5,350건 + 제외 0건 + 거부 0건" in lines


def test_end_of_what_paged_nobody_is_told_to_routes_that_name_its_tenant() -> None:
    def of_day(weak: int) -> list[dict[str, object]]:
        return [met(kpi_row({"weak_answer": 60})), met(kpi_row({"weak_answer": weak}, 107, tenant="t1"))]

    facts = days_of_facts(
        (FIRST_DAY + timedelta(number), of_day(weak)) for number, weak in enumerate([4] * 10 + [40, 4, 4, 4])
    )
    found = incidents_on(facts, FIRST_DAY + timedelta(13))
    told = [
        [(one.fact.tenant_id, one.state) for one in visible_to(route, found) if one.is_over]
        for route in (RouteFilter(), RouteFilter(tenants=frozenset({"t1"})))
    ]
    assert told == [[], [("t1", "resolved")]]
