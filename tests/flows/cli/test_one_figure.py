"""A KPI of a scored day reads the same wherever people meet it."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.site import Page
from tests.flows.conftest import Command

KPIS = {
    "answer_excellent_rate": "답변 우수율",
    "failure_rate": "실패율",
    "gold_mine_rate": "GOLD MINE 비율",
    "mean_final_score": "평균 Final Score",
}


@pytest.mark.usefixtures("site_is_built")
def test_kpi_figures_are_the_same_in_terminal_json_report_page_and_slack(aqb: Command, folder: Path) -> None:
    rows = [*(refused(minute) for minute in range(9)), *(best(minute) for minute in range(9, 80))]
    by_session = [row | {"session_id": f"s{number}"} for number, row in enumerate(rows)]
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", by_session)
    day = DAY.isoformat()

    shown = aqb("nightly", "--date", day).out
    terminal = {name: line.split(maxsplit=1)[1] for line in shown.splitlines() for name in KPIS if name in line.split()}
    figures = json.loads(aqb("nightly", "--date", day, "--json").out)["figures"]
    assert {name: figure["text"] for name, figure in figures.items()} == terminal
    assert {figure["verdict"] for figure in figures.values()} == {"met", "missed", "undecided"}

    slack = aqb("alerts", "--date", day, "--dry-run").out
    report = (folder / "data" / "reports" / f"monitoring-{day}.md").read_text("utf-8").replace(r"\~", "~")
    page = Page(folder / "data" / "reports" / "monitoring" / f"{day}.html").text
    for name, title in KPIS.items():
        value, interval, target, verdict, n = parts(terminal[name])
        assert f"{title} {terminal[name]}" in slack
        assert f"| {title} | 하루 | {value} | {interval} | {target} | {verdict} | {n} |" in report
        assert re.search(
            f"{title} 목표 {target} {value} [●▲■] {re.escape(verdict)} ", page
        )  # all windows are of this day alone
        assert re.search(f"{title}, 기간별 .{{,40}}하루 {value} [●▲■] {re.escape(verdict)} {interval} {n} ", page)


@pytest.mark.usefixtures("site_is_built")
def test_verdict_that_a_day_alone_does_not_allow_is_that_of_the_same_window_in_report_and_page(
    aqb: Command, folder: Path
) -> None:
    days = [(DAY - timedelta(days=back)).isoformat() for back in range(3)]
    for day in days:
        rows = (best(minute) | {"session_id": f"s{minute}"} for minute in range(20))
        moved = (row | {"timestamp": row["timestamp"].replace(DAY.isoformat(), day)} for row in rows)
        write_rows(folder / "data" / "chat_rows" / f"{day}.jsonl", moved)
    assert aqb("backfill", "--from", days[-1], "--to", days[0]).exit_code == 0
    report = (folder / "data" / "reports" / f"monitoring-{days[0]}.md").read_text("utf-8")
    page = Page(folder / "data" / "reports" / "monitoring" / f"{days[0]}.html").text
    assert re.search(r"^\| 평균 Final Score \| 최근 7일 \| 97.5점 \| .+ \| 달성 \| 60 \|$", report, re.MULTILINE)
    assert "평균 Final Score 목표 65점 이상 97.5점 ● 달성 최근 7일 " in page


def parts(text: str) -> tuple[str, ...]:
    """Value, interval, target, verdict and n of the text of a figure."""
    found = re.fullmatch(r"(\S+) \(95% 구간 (\S+)\) · 목표 (.+) · (.+) · n=(.+)", text)
    assert found, text
    return found.groups()


@pytest.mark.long
def test_kpi_figures_of_a_file_of_days_are_those_of_the_period_report(aqb: Command, folder: Path) -> None:
    for number in range(3):
        rows = [*(refused(minute) for minute in range(2 * number)), *(best(minute) for minute in range(9, 60))]
        moved = (
            row | {"timestamp": row["timestamp"].replace(DAY.isoformat(), f"2026-02-{10 + number}")} for row in rows
        )
        write_rows(folder / "data" / "chat_rows" / f"{number}.jsonl", moved)
    summary = json.loads(aqb("score", "data/chat_rows", "--out", "out", "--json").out)
    assert aqb("backfill", "--from", "2026-02-10", "--to", "2026-02-12").exit_code == 0
    assert aqb("report", "--from", "2026-02-10", "--to", "2026-02-12").exit_code == 0
    (report,) = (folder / "data" / "reports").glob("monitoring-days-*.md")
    lines = report.read_text("utf-8").replace(r"\~", "~").splitlines()
    for name, title in KPIS.items():
        value, interval, target, verdict, n = parts(summary["kpis"][name]["text"])
        (line,) = (line for line in lines if line.startswith(f"| {title} | "))
        assert line.startswith(f"| {title} | {value} | {interval} | {target} | {verdict} | {n} |")
