"""The first sentences about chat rows: what is missed, what got worse, where to look first."""

from collections.abc import Sequence
from datetime import timedelta

from scoring.alerting.rule_changes import risen_rules, rule_changes, tenant_of_rise
from scoring.chat.conclusion import Conclusion, FirstRows, conclusion
from scoring.chat.kpi_windows import kpi_windows
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, TURNS, KpiRow, kpi_row, met

LAST = FIRST_DAY + timedelta(27)
FAILURES = next(kpi for kpi in RUBRIC.quotients if kpi.name == "failure_rate")
TenantDays = dict[str | None, tuple[Sequence[KpiRow], Sequence[KpiRow]]]
FEW, MANY = TURNS // 100, TURNS // 30


def days(failed: Sequence[int]) -> list[KpiRow]:
    """KPI rows of all tenants of the days up to the last one, on which so many answers failed."""
    made = []
    for back, count in enumerate(reversed(failed)):
        named = {"score_date": LAST - timedelta(back), "rubric": RUBRIC.id, "rubric_version": RUBRIC.version}
        row = met(kpi_row({"answer_failed": count})) | named
        made.append(row | {"failure_rate": count / row["rows"]})
    return made[::-1]


def of_last_day(failed: Sequence[int]) -> Conclusion:
    rows = {row["score_date"]: row for row in days(failed)}
    return conclusion(RUBRIC, {FAILURES.name: kpi_windows(FAILURES, rows, LAST)}, TURNS, rows[LAST], framed=0)


def test_target_that_four_weeks_meet_is_not_said_without_the_week_in_which_it_got_worse() -> None:
    calm, worse = of_last_day([FEW] * 28), of_last_day([FEW] * 21 + [MANY] * 7)
    assert calm.happened == "미달로 판단한 목표는 없습니다: 달성 1개(하루), 판단 보류 0개."
    assert worse.happened == (
        "미달로 판단한 목표는 없습니다: 달성 1개(최근 28일), 판단 보류 0개; "
        "그러나 나빠진 지표: 실패율 0.9% → 3.2%(최근 7일, 목표 3% 이하)."
    )


def test_target_that_got_worse_stands_beside_one_that_is_missed() -> None:
    gold = next(kpi for kpi in RUBRIC.quotients if kpi.name == "gold_mine_rate")
    shares = [1 / TURNS] * 21 + [6 / TURNS] * 7
    made = zip(days([MANY * 2] * 28), shares, strict=True)
    rows = {row["score_date"]: row | {gold.name: share} for row, share in made}
    windows = {kpi.name: kpi_windows(kpi, rows, LAST) for kpi in (FAILURES, gold)}
    found = conclusion(RUBRIC, windows, TURNS, rows[LAST], framed=0)
    assert "목표 미달은 1개입니다: 실패율 6.4%" in found.happened
    assert "; 그 밖에 나빠진 지표: GOLD MINE 비율 0.2% → 1.1%(최근 7일, 목표 1% 이하)." in found.happened


def test_rows_that_could_not_be_read_are_said_before_any_verdict_and_many_of_them_come_first() -> None:
    rows = {row["score_date"]: row for row in days([MANY])}
    windows = {FAILURES.name: kpi_windows(FAILURES, rows, LAST)}

    def said(rejected: int, scored: int = TURNS) -> list[str]:
        return conclusion(RUBRIC, windows, scored, rows[LAST], framed=0, rejected=rejected).sentences

    few, many = said(TURNS // 20), said(TURNS // 2)
    assert few[0].startswith(f"{TURNS + TURNS // 20:,}행 가운데 {TURNS // 20:,}행을 읽지 못했고, 나머지에서 미달로 ")
    assert few[1].startswith("가장 먼저 볼 것은")
    assert many[1:] == ["왜 읽지 못했는지 거부한 까닭(rejected 테이블)부터 확인하고, 원본을 고쳐 다시 채점하세요."]
    assert said(99, scored=900)[1] == few[1]
    assert said(100, scored=900)[1:] == many[1:]  # every tenth
    assert said(300, scored=0)[0] == "300행이 들어왔지만 채점한 행이 없습니다."
    assert "읽지 못" not in said(0)[0]
    rows[LAST]["excluded"] = 10  # came as well
    assert said(99, scored=891)[0].startswith("1,000행 가운데 99행을 읽지 못했고, ")


def test_period_is_about_the_rule_that_rose_before_what_always_is_there() -> None:
    before, this = days([FEW] * 14 + [MANY] * 14)[-28:-14], days([FEW] * 14 + [MANY] * 14)[-14:]
    risen = risen_rules(RUBRIC, this, before)
    assert risen == ["answer_failed"]
    total = {f"alert_{rule.id}": 0 for rule in RUBRIC.alert_rules} | {"alert_answer_failed": 14 * MANY}
    said = conclusion(RUBRIC, {}, 14 * TURNS, total, framed=8, standing_out=risen, than="앞 주보다")
    assert said.sentences[1] == f"가장 먼저 볼 것은 앞 주보다 늘어난 '답변 실패' {14 * MANY}행입니다."
    assert risen_rules(RUBRIC, before, this) == []  # it fell
    assert [one.has_risen for one in rule_changes(RUBRIC, before, this)] == [False]


def test_of_rules_that_rose_a_critical_one_is_told_before_a_warning_that_is_surer() -> None:
    rows = [
        row | {"alert_weak_answer": 10 * row["alert_answer_failed"]}
        for row in days([FEW + day % 2 for day in range(14)])
    ]
    before = rows[:7]
    this = [row | {"alert_answer_failed": MANY, "alert_weak_answer": 20 * MANY} for row in rows[7:]]
    assert [one.rule.id for one in rule_changes(RUBRIC, this, before)] == ["weak_answer", "answer_failed"]
    assert risen_rules(RUBRIC, this, before) == ["answer_failed", "weak_answer"]


def test_days_without_days_before_them_say_nothing_of_a_rise() -> None:
    assert risen_rules(RUBRIC, days([MANY] * 7), []) == []


def test_tenant_of_a_rise_is_the_one_that_made_more_of_it_than_its_rows_are() -> None:
    calm, worse = days([FEW] * 7), days([MANY] * 7)
    of_tenants: TenantDays = {"*": (worse, calm), "risen": (worse, calm), "as before": (calm, calm), "left": ([], calm)}
    assert tenant_of_rise(RUBRIC, ["answer_failed"], of_tenants) == "테넌트 risen"
    alike: TenantDays = {"a": (worse, calm), "b": (worse, calm)}
    assert tenant_of_rise(RUBRIC, ["answer_failed"], alike) == ""
    assert tenant_of_rise(RUBRIC, [], of_tenants) == ""
    without_days_before: TenantDays = {"a": (worse, []), "b": (calm, [])}
    assert tenant_of_rise(RUBRIC, ["answer_failed"], without_days_before) == "테넌트 a"


def first_of_day(failed: int, framed: int) -> FirstRows:
    """The rows to look at first on a day without a history."""
    row = days([failed])[0] | {"gold_mine_rate": framed / TURNS}
    windows = {kpi.name: kpi_windows(kpi, {LAST: row}, LAST) for kpi in RUBRIC.quotients if kpi.target}
    first = conclusion(RUBRIC, windows, TURNS, row, framed).first
    assert first is not None
    return first


def test_day_is_about_the_target_that_is_surely_missed_by_the_most() -> None:
    failing = first_of_day(failed=TURNS // 3, framed=5)  # five may still be within the 1 % that is allowed
    assert (failing.kpi, failing.count) == (FAILURES, TURNS // 3)
    assert failing.before == "가장 먼저 볼 것은 목표에서 가장 많이 벗어난 실패율에 포함된 "
    framed = first_of_day(failed=TURNS // 10, framed=TURNS // 10)
    assert (framed.kpi, framed.rule, framed.count) == (None, None, TURNS // 10)


def test_day_that_misses_no_target_is_about_the_frame_of_the_cross_table() -> None:
    assert first_of_day(failed=0, framed=1).before.startswith("가장 먼저 볼 것은 GOLD MINE")
