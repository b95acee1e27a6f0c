from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scoring.alerting.watch import AlertPolicy
from scoring.chat.templates import question_template
from tasks.chat.tables import read_alerts, read_examples, write_alerts
from tasks.reports.chat_folder import write_day_report
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, REFUSAL, RUBRIC, best, of_sessions, plain, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.site import build, page

MINUTES_A_DAY = 24 * 60
Row = Mapping[str, Any]
ScoreDay = Callable[[Sequence[Row], date], None]


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    return FolderWarehouse(tmp_path / "warehouse")


@pytest.fixture
def score_day(tmp_path: Path, warehouse: FolderWarehouse) -> ScoreDay:
    """Scores the rows of a day into every monitoring table of the warehouse, alerts and report included."""
    runs = iter(range(1000))

    def run(rows: Sequence[Row], day: date) -> None:
        folder = tmp_path / f"run{next(runs)}"
        outcome, tables = write_scored_day(warehouse, day, write_rows(folder / "rows.jsonl", rows))
        facts = write_alerts(warehouse, day, outcome.rubric, outcome.counts.rejected)
        report = tmp_path / "reports" / f"monitoring-{day}.md"
        write_day_report(warehouse, day, outcome, tables, facts, report, str(day), AlertPolicy())

    return run


def table(warehouse: FolderWarehouse, name: str, day: date = DAY) -> pl.DataFrame:
    found = warehouse.read(name, [day])
    assert found is not None
    return found.collect()


def alert(warehouse: FolderWarehouse, rule: str, tenant: str | None = "*", day: date = DAY) -> dict[str, Any]:
    alerts = table(warehouse, "alerts", day)
    return alerts.filter(pl.col("rule") == rule, pl.col("tenant_id").eq_missing(pl.lit(tenant))).row(0, named=True)


def test_scored_day_fills_every_table(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    score_day([best(0), refused(1), plain(2, llm_response=None), plain(3, output_tokens=-1)], DAY)
    assert table(warehouse, "monitoring_scores")["final_grade"].to_list() == ["STAR", "F"]
    assert table(warehouse, "monitoring_excluded")["reason"].to_list() == ["llm_response_null"]
    assert table(warehouse, "monitoring_kpis")["tenant_id"].to_list() == ["*", "t1"]
    assert table(warehouse, "monitoring_crosstab")["cnt"].sum() == 2
    rejected = table(warehouse, "rejected").row(0, named=True)
    assert (rejected["line"], rejected["code"]) == (4, "negative_tokens")
    for name in ("monitoring_scores", "monitoring_kpis", "monitoring_crosstab", "alerts"):
        identity = table(warehouse, name).select("score_date", "rubric", "rubric_version").unique().rows()
        assert identity == [(DAY, "ola-monitoring", RUBRIC.version)]
    assert table(warehouse, "rejected").select("score_date", "rubric").rows() == [(DAY, "ola-monitoring")]


@pytest.mark.long
@pytest.mark.parametrize(("tenant", "where"), [("t1", ""), ("t2", "주로 테넌트 t2에서 ")])
def test_report_and_page_of_a_day_begin_with_what_rose_that_day(
    warehouse: FolderWarehouse, score_day: ScoreDay, tmp_path: Path, tenant: str, where: str
) -> None:
    usual = [*(best(minute) for minute in range(40)), best(50, llm_response=REFUSAL, output_tokens=20.0)]
    days = [DAY + timedelta(days=number) for number in range(9)]
    for number, day in enumerate(days):
        rows = [*usual, *(refused(100 + minute, tenant_id=tenant) for minute in range(20 * (day == days[-1])))]
        moved = timedelta(days=number)
        score_day([{**row, "timestamp": str(datetime.fromisoformat(row["timestamp"]) + moved)} for row in rows], day)
    build(warehouse, tmp_path / "site")
    for day, said in (
        (days[-2], "가장 먼저 볼 것은 GOLD MINE(좋은 질문 S·A에 나쁜 답변 D·F) 1행입니다."),
        (days[-1], f"가장 먼저 볼 것은 {where}평소보다 늘어난 '답변 실패' 21행입니다."),
    ):
        assert said in (tmp_path / "reports" / f"monitoring-{day}.md").read_text()
        shown = page(tmp_path / "site", f"monitoring/{day}.html").text
        assert said.replace(" ", "") in shown.replace(" ", "")  # the number is a link
    assert "'답변 실패' 외 알림 " in page(tmp_path / "site").text
    report = (tmp_path / "reports" / f"monitoring-{days[-1]}.md").read_text()
    of_day = page(tmp_path / "site", f"monitoring/{days[-1]}.html").text
    assert "| 앞서 채점한 7일 |\n|---|---|---|---|\n| 거절: 투자 자문(법률) | 21 | 34.4% | 2.4% |" in report
    assert "앞서 채점한 7일 거절: 투자 자문(법률) 21 (34.4%) 2.4%" in of_day
    grown = "주로 낱말 하나뿐인 질문 20건, 앞선 날들의 비율로는 0건 · 증가분의 "
    assert f"- 답변 실패: {grown}" in report
    assert grown in of_day


def test_day_whose_tokens_were_not_recorded_is_told_as_such_not_as_worse_answers(
    warehouse: FolderWarehouse, score_day: ScoreDay, tmp_path: Path
) -> None:
    """Volume and efficiency have no points without tokens: the same answers fail."""
    answer = "하늘전자는 반도체 장비를 만드는 회사로 최근 실적이 개선되고 있습니다. " * 4
    days = [DAY + timedelta(days=number) for number in range(9)]
    for number, day in enumerate(days):
        start, lost = number * MINUTES_A_DAY, {} if day != days[-1] else {"output_tokens": None}
        usual = [refused(start), *(best(start + minute) for minute in range(1, 40))]
        score_day([*usual, *(best(start + minute, llm_response=answer) | lost for minute in range(40, 60))], day)
    build(warehouse, tmp_path / "site")
    said = "출력 토큰이 기록되지 않은 행은 답변과 상관없이 점수가 낮습니다. 토큰을 기록하는 곳을 고치고"
    assert said in (tmp_path / "reports" / f"monitoring-{days[-1]}.md").read_text()
    text = page(tmp_path / "site", f"monitoring/{days[-1]}.html").text
    assert said in text
    assert "주로 출력 토큰이 기록되지 않은 행 " in text


def test_report_of_a_day_says_how_often_failures_came_before_where_something_rose(
    warehouse: FolderWarehouse, score_day: ScoreDay, tmp_path: Path
) -> None:
    days = [DAY + timedelta(days=number) for number in range(3)]
    for number, (day, failed) in enumerate(zip(days, (1, 1, 20), strict=True)):
        start = number * MINUTES_A_DAY
        rows = [*(best(start + minute) for minute in range(40)), *(refused(start + 100 + n) for n in range(failed))]
        score_day(rows, day)
    usual, risen = ((tmp_path / "reports" / f"monitoring-{day}.md").read_text("utf-8") for day in days[1:])
    assert "| 유형 | 행 | 비율 |\n" in usual
    assert "| 유형 | 행 | 비율 | 앞서 채점한 2일 |\n" in risen
    assert "| 거절: 투자 자문(법률) | 20 | 33.3% | 2.4% |\n" in risen


def test_day_without_rows_is_known_as_such(warehouse: FolderWarehouse, score_day: ScoreDay, tmp_path: Path) -> None:
    score_day([best(MINUTES_A_DAY)], DAY)
    kpis = table(warehouse, "monitoring_kpis").row(0, named=True)
    assert table(warehouse, "monitoring_kpis").height == 1
    assert (kpis["tenant_id"], kpis["rows"], kpis["excluded"], kpis["critical_rows"]) == ("*", 0, 0, 0)
    rates = ("answer_excellent_rate", "failure_rate", "gold_mine_rate", "mean_final_score", "excluded_rate")
    assert [kpis[rate] for rate in rates] == [None] * 5
    assert kpis["failure_rate_met"] is None
    assert table(warehouse, "monitoring_scores").height == 0
    assert table(warehouse, "alerts").select("rule", "level", "tenant_id", "count", "rows").rows() == [
        ("no_rows", "critical", "*", 0, 0)
    ]
    assert (tmp_path / "reports" / f"monitoring-{DAY}.md").exists()


def test_day_of_excluded_rows_only_has_rows(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    score_day([plain(0, llm_response=None)], DAY)
    assert table(warehouse, "monitoring_kpis")["excluded_rate"].to_list() == [1.0, 1.0]
    assert "no_rows" not in table(warehouse, "alerts")["rule"].to_list()


def test_alerts_hold_each_rule_that_fired_with_its_level_and_share(
    warehouse: FolderWarehouse, score_day: ScoreDay
) -> None:
    score_day([best(0), best(1), refused(2), plain(3, output_tokens=0, tenant_id="t2")], DAY)
    alerts = table(warehouse, "alerts").filter(pl.col("tenant_id") == "*", pl.col("count").is_not_null())
    assert alerts.select("rule", "level", "count", "rows").rows() == [
        ("answer_failed", "critical", 1, 4),
        ("llm_blocked", "critical", 1, 4),
        ("final_failed", "critical", 1, 4),
        ("weak_answer", "warning", 1, 4),
        ("very_short_answer", "warning", 1, 4),
    ]
    assert alert(warehouse, "llm_blocked", "t2")["count"] == 1
    assert table(warehouse, "alerts").filter(rule="llm_blocked", tenant_id="t1").is_empty()


def test_kpi_that_misses_its_target_is_an_alert_with_value_and_target(
    warehouse: FolderWarehouse, score_day: ScoreDay
) -> None:
    turns = [*(best(minute) for minute in range(30)), *(refused(30 + minute) for minute in range(10))]
    score_day(of_sessions(turns), DAY)
    missed = alert(warehouse, "kpi_failure_rate")
    assert (missed["level"], missed["value"], missed["limit"], missed["count"]) == ("warning", 0.25, 0.03, None)
    rules = set(table(warehouse, "alerts")["rule"])
    assert {rule for rule in rules if rule.startswith("kpi_")} == {"kpi_answer_excellent_rate", "kpi_failure_rate"}


def test_target_that_is_just_reached_is_no_alert(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    score_day([*(best(minute) for minute in range(97)), *(refused(minute) for minute in range(3))], DAY)
    kpis = table(warehouse, "monitoring_kpis").row(0, named=True)
    assert (kpis["failure_rate"], kpis["failure_rate_met"]) == (0.03, True)
    assert table(warehouse, "alerts").filter(rule="kpi_failure_rate").is_empty()


def test_usual_counts_are_those_of_the_last_seven_scored_days_latest_first(
    warehouse: FolderWarehouse, score_day: ScoreDay
) -> None:
    # Nine earlier days with 1, 2, ... 9 refusals; one of the days between was never scored, and a later one was.
    earlier = [DAY - timedelta(days=back) for back in (1, 2, 3, 5, 6, 7, 8, 9, 10)]
    for count, day in zip(range(1, 10), earlier, strict=True):
        start = (day - DAY).days * MINUTES_A_DAY
        score_day([refused(start + minute) for minute in range(count)], day)
    score_day([refused(MINUTES_A_DAY)] * 30, DAY + timedelta(days=1))
    score_day([refused(0), refused(1)], DAY)
    assert alert(warehouse, "answer_failed")["usual"] == [1, 2, 3, 4, 5, 6, 7]
    assert alert(warehouse, "answer_failed", "t1")["usual"] == [1, 2, 3, 4, 5, 6, 7]


# Of each template one row: the five lowest of all were often the same question of five companies.
def test_examples_are_the_worst_row_of_each_template(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    asked = ["하늘전자 목표주가", "가온뜰 목표주가", "살까", "하늘전자 주가 전망?", "새솔미 주가 전망", "팔까"]
    score_day([refused(minute, user_input=question) for minute, question in enumerate(asked)], DAY)
    worst_first = table(warehouse, "monitoring_scores").sort("final_score", "row_id").select("user_input", "row_id")
    worst: dict[str, str] = {}
    for question, row_id in worst_first.iter_rows():
        worst.setdefault(question_template(question, stocks=True), row_id)
    found = alert(warehouse, "answer_failed")
    assert set(found["row_ids"]) == set(worst.values())
    assert found["alike"] == [2, 2, 2]


def test_what_grew_is_named_in_the_alert_table(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    for back in range(3, 0, -1):
        start = -back * MINUTES_A_DAY
        of_day = [refused(start + minute, user_input=f"{minute}번 질문 {back}") for minute in range(3)]
        score_day(
            [*of_day, *(best(start + 10 + minute, tenant_id="t2") for minute in range(50))], DAY - timedelta(back)
        )
    new = [refused(minute, tenant_id="t2", user_input=f"{chr(0xAC00 + minute)} 알려줘") for minute in range(20)]
    score_day([*new, *(best(40 + minute) for minute in range(40))], DAY)
    (fact,) = [
        fact for fact in read_alerts(warehouse, [DAY])[DAY] if (fact.rule, fact.tenant_id) == ("answer_failed", "*")
    ]
    tenant = next(one for one in fact.grown if one.column == "tenant_id")
    assert (tenant.value, tenant.count, tenant.usual) == ("t2", 20, 0)
    assert len(fact.row_ids) == 5


def test_examples_belong_to_the_tenant(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    tenants = ("t1", None, "t2")
    asked = [
        refused(minute, tenant_id=tenant, user_input=f"{'가나다'[minute]} 알려줘")
        for minute, tenant in enumerate(tenants)
    ]
    score_day(asked, DAY)
    by_tenant = dict(table(warehouse, "monitoring_scores").select("tenant_id", "row_id").iter_rows())
    for tenant in tenants:
        assert alert(warehouse, "final_failed", tenant)["row_ids"] == [by_tenant[tenant]]
    assert len(alert(warehouse, "final_failed")["row_ids"]) == 3


def test_rejected_rows_are_an_alert(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    score_day([best(0), plain(1, output_tokens=-1), plain(2, output_tokens=-1)], DAY)
    assert alert(warehouse, "rows_rejected")["count"] == 2
    assert alert(warehouse, "rows_rejected")["level"] == "warning"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([plain(1, output_tokens=-1)], "1행이 들어왔지만 하나도 읽지 못해 거부했습니다."),
        ([best(0), plain(1, output_tokens=-1)], "2행 가운데 1행을 채점했고, 1행은 읽지 못해 거부했습니다."),
        (
            [best(0), plain(1, output_tokens=-1), plain(2, llm_response=None)],
            "3행 가운데 1행을 채점했고, 1행은 제외했으며(질문이나 답변이 없음) 1행은 읽지 못해 거부했습니다.",
        ),
        ([best(0), plain(2, llm_response=None)], "2행 가운데 1행을 채점하고 1행을 제외했습니다(질문이나 답변이 없음)."),
        ([best(0)], "1행을 모두 채점했습니다."),
    ],
)
def test_pages_say_what_became_of_every_row(
    warehouse: FolderWarehouse, score_day: ScoreDay, tmp_path: Path, rows: Sequence[Row], said: str
) -> None:
    score_day(rows, DAY)
    build(warehouse, tmp_path / "site")
    for name in ("index.html", f"monitoring/{DAY}.html"):
        assert said in page(tmp_path / "site", name).text


def excluded_rows(count: int, day: date = DAY) -> list[dict[str, Any]]:
    """A hundred scored rows and `count` without an answer."""
    start = (day - DAY).days * MINUTES_A_DAY
    scored = [best(start + minute) for minute in range(100)]
    return [*scored, *(plain(start + 100 + minute, llm_response=None) for minute in range(count))]


@pytest.mark.parametrize(
    ("usual", "count", "alerts"),
    [
        ([], 4, False),
        ([], 10, False),  # a first day has nothing to be compared with but a guess
        ([], 50, True),
        ([1, 1, 4], 5, False),  # no more than chance
        ([1, 1, 4], 20, True),
    ],
)
def test_rise_of_excluded_rows_alerts_by_itself(
    warehouse: FolderWarehouse, score_day: ScoreDay, usual: list[int], count: int, alerts: bool
) -> None:
    for back, usual_count in enumerate(usual, start=1):
        day = DAY - timedelta(days=back)
        score_day(excluded_rows(usual_count, day), day)
    score_day(excluded_rows(count), DAY)
    rising = table(warehouse, "alerts").filter(rule="excluded_rate_rising", tenant_id="*")
    assert rising.height == alerts
    if alerts:
        fact = rising.row(0, named=True)
        assert (fact["level"], fact["count"], fact["rows"]) == ("critical", count, count + 100)
        assert fact["value"] == count / (count + 100)
        assert fact["usual"] == usual


def test_scoring_a_day_again_gives_the_same_bytes_in_every_table(
    warehouse: FolderWarehouse, score_day: ScoreDay
) -> None:
    rows = [best(0), refused(1), refused(1), plain(2, llm_response=None), plain(3, output_tokens=-1), plain(4)]
    score_day(excluded_rows(2, DAY - timedelta(days=1)), DAY - timedelta(days=1))
    score_day(rows, DAY)

    def contents() -> dict[str, bytes]:
        files = sorted(warehouse.folder.rglob("*.parquet"))
        return {str(path.relative_to(warehouse.folder)): path.read_bytes() for path in files}

    first = contents()
    before_rejected = table(warehouse, "rejected").drop("file")
    score_day(rows, DAY)
    second = contents()
    assert len(first) == 12
    # The rows were read from another file this time, which the rejected table names.
    differing = {name for name in first if first[name] != second[name]}
    assert differing == {f"rejected/{DAY}.parquet"}
    assert table(warehouse, "rejected").drop("file").equals(before_rejected)


def test_alert_facts_are_read_back_as_they_were_written(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    for number in range(4):
        start = number * MINUTES_A_DAY
        failed = [] if number == 1 else [refused(start + 20 + minute) for minute in range(20)]
        score_day([*(best(start + minute) for minute in range(20)), *failed], DAY + timedelta(number))
    last = DAY + timedelta(2)
    read = read_alerts(warehouse, [DAY, DAY + timedelta(1), last])
    assert list(read) == [DAY, DAY + timedelta(1), last]
    assert [fact for fact in read[DAY + timedelta(1)] if fact.rule == "answer_failed"] == []
    told = next(fact for fact in read[last] if (fact.rule, fact.tenant_id) == ("answer_failed", "*"))
    assert (told.count, told.rows, told.usual) == (20, 40, (0, 20))
    missed = next(fact for fact in read[last] if (fact.rule, fact.tenant_id) == ("kpi_failure_rate", "*"))
    assert (missed.value, missed.usual_values) == (0.5, (0.0, 0.5))
    assert read_alerts(warehouse, [last]) == {last: read[last]}


def test_examples_are_the_rows_that_facts_point_to(warehouse: FolderWarehouse, score_day: ScoreDay) -> None:
    score_day([best(0), refused(1)], DAY)
    (row_id, *_) = alert(warehouse, "answer_failed")["row_ids"]
    (example,) = read_examples(warehouse, RUBRIC, DAY, {row_id, "unknown"}).values()
    assert (example.row_id, example.failure) == (row_id, "거절: 투자 자문(법률)")
    assert example.question
    assert read_examples(warehouse, RUBRIC, DAY + timedelta(1), {row_id}) == {}
