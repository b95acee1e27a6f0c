"""What the page of alerts says: what would have been reported, from when on, and what is snoozed."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.alert_days import KpiDays, Load, kpi_days
from scoring.alerting.decision import WatchedDays
from scoring.alerting.messages import RouteFilter
from scoring.alerting.preview import preview_days
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpis import ALL_TENANTS
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.kpi_tables import write_kpis
from tests.builders.site import build, page, write_day

SPAN = 10
OUTAGE, WEAK = 34, 37


@pytest.fixture(scope="module")
def days() -> KpiDays:
    """Quiet days of the production load, one on which every third answer fails, and one with weak answers."""
    times = {(OUTAGE, "answer_failed"): 6.0, (WEAK, "weak_answer"): 4.0}
    return kpi_days(Load(), 40, 1, lambda day, rule: times.get((day, rule), 1.0))


@pytest.fixture(scope="module")
def site(days: KpiDays, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their pages, with a snooze that goes on, one that is over and one that was ended."""
    folder = tmp_path_factory.mktemp("site")
    warehouse, last = FolderWarehouse(folder / "warehouse"), max(days)
    write_kpis(warehouse, days)
    made_at = datetime(2025, 2, 1, tzinfo=UTC)
    snoozes = [
        Snooze("answer_failed", ALL_TENANTS, last, "<b>점검</b>", "kim", made_at),
        Snooze("weak_answer", "t0", last - timedelta(days=1), "원인을 앎", "lee", made_at),
        Snooze("weak_answer", None, last, "원인을 앎", "lee", made_at, ended_at=made_at + timedelta(days=2)),
    ]
    build(warehouse, folder / "site", SPAN, snoozes)
    return folder / "site"


def points(site: Path, rule: str = "answer_failed") -> dict[str, dict[str, Any]]:
    """The days of the chart of a rule."""
    return {point["day"]: point for point in page(site, "alerts.html").charts[f"rate-{rule}"]["points"]}


def test_page_of_alerts_tells_what_the_preview_tells(site: Path, days: KpiDays) -> None:
    shown = sorted(days)[-SPAN:]
    reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), shown, {"": RouteFilter()})
    pages, digests = (sum(one.kind == kind for one in reported) for kind in ("page", "digest"))
    found = page(site, "alerts.html")
    assert f"긴급 알림 {pages}건, 요약 {digests}건" in found.text
    assert pages
    for message in reported:
        assert f"{message.day} " in found.text
        assert message.incidents[0].reason in found.text


def test_chart_of_a_rule_has_each_day_with_what_is_usual(site: Path, days: KpiDays) -> None:
    found, outage = points(site), str(sorted(days)[OUTAGE])
    assert list(found) == [str(day) for day in sorted(days)[-SPAN:]]
    assert [day for day, point in found.items() if point["reported"] == "page"] == [outage]
    assert found[outage]["count"] / found[outage]["rows"] > 2 * found[outage]["high"]
    assert all(point["low"] < 0.054 < point["high"] for point in found.values())
    names = page(site, "alerts.html").charts["rate-answer_failed"]["names"]
    assert names == ["평소 범위(95%)", "그날의 비율", "요약으로 알림", "긴급 알림"]


def test_page_keeps_its_charts_where_the_last_day_has_no_rows(days: KpiDays, tmp_path: Path) -> None:
    """On call opens this page when the source sent nothing."""
    warehouse, last = FolderWarehouse(tmp_path / "warehouse"), max(days)
    write_kpis(warehouse, {day: rows for day, rows in days.items() if day > last - timedelta(days=30)})
    write_day(warehouse, last + timedelta(days=1), [])
    build(warehouse, tmp_path / "site", SPAN)
    assert list(points(tmp_path / "site"))[-1] == str(last)


def test_chart_of_a_rule_marks_the_day_whose_digest_tells_its_rise(site: Path, days: KpiDays) -> None:
    reported = {day: point["reported"] for day, point in points(site, "weak_answer").items() if point["reported"]}
    assert reported == {str(sorted(days)[WEAK]): "digest"}  # the digest after the outage says of it that it goes on


def test_page_of_alerts_says_how_many_rows_tell_a_rule(site: Path) -> None:
    text = page(site, "alerts.html").text
    assert "한 해에 약 0." in text
    assert "답변 실패 업무일" in text
    assert "합리적 질문에 부족한 답변 쉬는 날" in text


def test_rule_that_is_hardly_ever_met_is_reported_from_more_than_a_hundred_times_the_usual(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for back in range(7):
        write_day(warehouse, DAY - timedelta(days=back), [best()] * 6)
    build(warehouse, tmp_path / "site")
    text = page(tmp_path / "site", "alerts.html").text
    assert "(100배 이상)" in text
    assert not re.search(r"[0-9]{3}\.[0-9]배", text)


def test_page_of_alerts_shows_which_snoozes_go_on(site: Path, days: KpiDays) -> None:
    text = page(site, "alerts.html").text
    assert f"답변 실패 전체 일시 중지 중 {max(days)} kim <b>점검</b>" in text
    assert "t0 끝남" in text
    assert "(테넌트 없음) 2025-02-03에 해제" in text


def test_site_without_days_has_a_page_of_alerts(tmp_path: Path) -> None:
    build(FolderWarehouse(tmp_path / "warehouse"), tmp_path / "site")
    assert "아직 채점한 날이 없습니다" in page(tmp_path / "site", "alerts.html").text


@pytest.mark.parametrize(("rate", "is_quiet"), [(0.5, True), (0.1, False)])
def test_page_of_a_day_shows_which_alerts_were_snoozed(tmp_path: Path, rate: float, is_quiet: bool) -> None:
    """A snooze made at a rate of 10 % does not hold at 50 %."""
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [refused()] * 5 + [best()] * 5)
    made_at = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
    made = Snooze("answer_failed", ALL_TENANTS, DAY + timedelta(days=7), "점검", "kim", made_at, {"*": rate})
    build(warehouse, tmp_path / "site", snoozes=[made])
    assert ("일시 중지" in page(tmp_path / "site", f"monitoring/{DAY}.html").text) is is_quiet


def test_page_of_a_tenant_is_named_as_one_beside_the_rate_of_all_tenants(tmp_path: Path) -> None:
    """Else the rate of all would seem to have paged."""
    tenant = 5
    times = {(OUTAGE - 3, "answer_failed"): np.where(np.arange(6) == tenant, 12.0, 1.0)}
    of_tenants = kpi_days(Load(6), OUTAGE + 1, 1, lambda day, rule: times.get((day, rule), 1.0))
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_kpis(warehouse, of_tenants)
    build(warehouse, tmp_path / "site", SPAN, [])
    assert f"긴급 알림(테넌트 t{tenant})" in page(tmp_path / "site", "alerts.html").text
