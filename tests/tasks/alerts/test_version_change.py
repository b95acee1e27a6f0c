"""A page that is open when the rubric's version changes is brought to an end: no later day tells it. Source: SPEC 8."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import DayDigest, KnownKey, Message, RouteFilter
from scoring.alerting.watch import AlertPolicy
from scoring.alerting.withdrawn_pages import closed_pages
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.alerts.day_digest import day_digest
from tasks.files.report_paths import ReportPaths
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.alert_days import FIRST_DAY, kpi_row, met
from tests.builders.kpi_tables import write_kpis

_PAGED, _NOW = 20, datetime(2026, 4, 1, tzinfo=UTC)


def night_messages(digest: DayDigest, known: Collection[str], pages: Collection[str]) -> list[Message]:
    """What a route is told of a day in its night."""
    found = day_messages(digest, RouteFilter(), known, pages)
    return [*found, *closed_pages(digest, pages, [*known, *(key for message in found for key in message.keys)])]


def ends_of(warehouse: FolderWarehouse, failed: dict[int, int], began: int, last: int) -> list[Message]:
    """The messages after the page, of days with so many failed answers (else 30 of 535), of which those before `began`
    have another version."""
    known: dict[str, KnownKey] = {}
    found = []
    for number in range(last + 1):
        day = FIRST_DAY + timedelta(number)
        version = {"rubric_version": "0" if number < began else RUBRIC.version}
        write_kpis(warehouse, {day: [met(kpi_row({"answer_failed": failed.get(number, 30)})) | version]})
        if number < _PAGED:
            continue
        digest = day_digest(warehouse, RUBRIC, day, [], ReportPaths(Path("reports")), AlertPolicy())
        pages = [key for key, one in known.items() if one.kind == "page"]
        new = night_messages(digest, known, pages)
        for message in new:
            known |= {key: KnownKey(_NOW, message.kind) for key in message.keys}
        found += [one for one in new if number > _PAGED and set(one.keys) & set(known) and "답변 실패" in one.text]
        assert number > _PAGED or [one.kind for one in new] == ["page"]
    return found


def test_page_of_a_version_that_is_no_more_is_brought_to_an_end_once(tmp_path: Path) -> None:
    (over,) = ends_of(FolderWarehouse(tmp_path), {_PAGED: 120}, began=_PAGED + 1, last=_PAGED + 10)
    assert (over.kind, over.level) == ("all_clear", "info")
    assert "채점 기준이 바뀌어 긴급 알림을 마침 · 답변 실패" in over.text
    text = readable(over.blocks)
    assert "채점 기준의 버전이 바뀌어, 앞 버전으로 알린 것이" in text
    assert "답변 실패 — 3월 23일(월)은 30/535건(5.6%)" in text


@pytest.mark.parametrize(("days", "began", "kinds"), [(3, 1, ["page", "digest"]), (1, 6, ["digest"])])
def test_page_has_one_end_where_a_version_tells_it(tmp_path: Path, days: int, began: int, kinds: list[str]) -> None:
    """The rise goes on under the new version, which pages anew; or it was over before that version began."""
    risen = {_PAGED + number: 250 for number in range(days)}
    found = ends_of(FolderWarehouse(tmp_path), risen, _PAGED + began, last=_PAGED + 12)
    assert [one.kind for one in found] == kinds
    assert "해소" in found[-1].text


def test_page_of_a_rule_that_the_new_version_lacks_is_brought_to_an_end_once(tmp_path: Path) -> None:
    """Whoever takes away a rule that paged for nothing has a page of it, which no later day tells of."""
    warehouse = FolderWarehouse(tmp_path)
    without = replace(
        RUBRIC, version="9", alert_rules=tuple(one for one in RUBRIC.alert_rules if one.id != "answer_failed")
    )
    known: dict[str, KnownKey] = {}
    found = []
    for number in range(_PAGED + 4):
        day, rubric = FIRST_DAY + timedelta(number), RUBRIC if number <= _PAGED else without
        counts = {"answer_failed": 250 if number == _PAGED else 30}
        write_kpis(warehouse, {day: [met(kpi_row(counts)) | {"rubric_version": rubric.version}]})
        if number < _PAGED:
            continue
        digest = day_digest(warehouse, rubric, day, [], ReportPaths(Path("reports")), AlertPolicy())
        pages = [key for key, one in known.items() if one.kind == "page"]
        found += (new := night_messages(digest, known, pages))
        for message in new:
            known |= {key: KnownKey(_NOW, message.kind) for key in message.keys}
    assert [one.kind for one in found] == ["page", "all_clear"]
    assert "채점 기준이 바뀌어 긴급 알림을 마침 · answer_failed" in found[-1].text
    assert "answer_failed — 이 버전에는 없는 규칙" in readable(found[-1].blocks)
