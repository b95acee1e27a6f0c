"""Messages about invented days, for snapshots and pictures."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from scoring.alerting.all_clear import LateNight, Unfinished, all_clear_message, late_message
from scoring.alerting.day_messages import day_messages
from scoring.alerting.growth import TEMPLATE, Grown, Growth
from scoring.alerting.messages import Example, Message, RouteFilter
from scoring.alerting.run_messages import FlowFailure, failure_message
from scoring.alerting.snoozes import Snooze
from scoring.alerting.weekly import Week, weekly_message
from scoring.chat.periods import week_of
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, KpiRow, day_digest, days_of_facts, kpi_row

_DAYS = 12
_WEEK = ([29, 31, 27, 30, 22, 19, 28], [6, 5, 7, 6, 4, 3, 6], [8, 7, 9, 8, 6, 5, 8], [3, 2, 3, 4, 2, 3, 3])
_RULES = ("answer_failed", "final_failed", "weak_answer", "very_short_answer")
_ADVICE = "거절: 투자 자문(법률)"
_REFUSED = "법률상 투자 자문에 해당하는 내용은 답변드릴 수 없습니다."
_TEXTS: dict[str, Sequence[tuple[str, str, str, float]]] = {
    "answer_failed": (
        ("모란재중공업 686973 배당 일정 알려줘", _REFUSED, _ADVICE, 12.5),
        ("가온뜰로보틱스 지금 사도 돼?", _REFUSED, _ADVICE, 15.0),
        ("새솔미식품 목표주가 얼마로 봐, 연락은 010-1234-5678", _REFUSED, _ADVICE, 16.3),
        ("코스닥 반도체 장비주 가운데 하나만 골라줘", _REFUSED, _ADVICE, 17.5),
        ("연말까지 들고 갈 배당주는?", _REFUSED, _ADVICE, 18.8),
    ),
    "llm_blocked": (
        ("어제 거래량이 가장 많이 늘어난 종목 5개", "", "LLM 호출 차단(거절 문구 없음)", 11.3),
        ("모란재중공업 3분기 영업이익", "", "LLM 호출 차단(거절 문구 없음)", 12.5),
    ),
    "very_short_answer": (
        ("새솔미식품 배당 이력, 연락은 010-1234-5678", "어느 해를 볼까요?", "", 31.3),
        ("코스닥 반도체 장비주 비교해줘", "비교할 종목을 알려주세요.", "", 33.8),
        ("가온뜰로보틱스 최근 뉴스", "최근 뉴스는 다음과 같습니다.", "", 36.3),
        ("환율이 오르면 어떤 업종이 좋아", "수출 업종입니다.", "", 38.8),
        ("오늘 코스피 왜 떨어졌어", "외국인이 팔았습니다.", "", 40.0),
    ),
}


def _usual_day(number: int) -> dict[str, int]:
    return {rule: counts[number % 7] for rule, counts in zip(_RULES, _WEEK, strict=True)}


def _message(kind: str, last: dict[str, int], report_url: str = "", grown: tuple[Grown, ...] = ()) -> Message:
    """The message of that kind about a day like the others but for the rules of `last`, the first of which `grown`."""
    rows: list[Sequence[KpiRow]] = []
    for number in range(_DAYS):
        row = kpi_row(_usual_day(number) | (last if number == _DAYS - 1 else {}))
        rows.append([row, row | {"tenant_id": "t1"}])
    day = FIRST_DAY + timedelta(_DAYS - 1)
    facts = days_of_facts((FIRST_DAY + timedelta(number), of_day) for number, of_day in enumerate(rows))
    facts[day] = [replace(fact, grown=grown) if fact.rule == next(iter(last)) else fact for fact in facts[day]]
    ids = {row_id: hashlib.sha256(row_id.encode()).hexdigest()[:32] for fact in facts[day] for row_id in fact.row_ids}
    texts = {f"{rule}-{day}-{number}": text for rule, of in _TEXTS.items() for number, text in enumerate(of)}
    examples = {row_id: Example(ids[row_id], *text) for row_id, text in texts.items() if row_id in ids}
    report = f"data/reports/monitoring-{day}.md"
    urls = {row_id: f"{report_url}#row-{shown}" for row_id, shown in ids.items()} if report_url else {}
    about = day_digest(day, facts, rows[-1][0], examples, report=report, report_url=report_url, row_urls=urls)
    found = day_messages(about, RouteFilter())
    (message,) = (one for one in found if one.kind == kind)
    return message


def digest() -> Message:
    """A Warning that rose, a rule that is new, the rest as usual."""
    return _message(
        "digest", {"very_short_answer": 11, "llm_blocked": 2}, "https://aqb.example.com/monitoring/2026-03-13.html"
    )


def page() -> Message:
    """A Critical rule that tripled, most of it refusals of one kind, asked in one way."""
    refused = Grown("failure_type", "refused_advice", 71, 11.6, 0.89, 0.71, 1.0)
    asked = Grown(TEMPLATE, "{종목} {종목코드} 배당 일정 알려줘", 34, 2.1, 0.48, 0.36, 0.6)
    return _message("page", {"answer_failed": 94, "final_failed": 7}, grown=(refused, asked))


def weekly() -> Message:
    """A week in which refusals of one kind grew, beside the week before; one rule is snoozed."""
    last, kpis = FIRST_DAY + timedelta(13), {}
    for number in range(14):
        counts = _usual_day(number) | ({"answer_failed": 44 + number % 7} if number >= 7 else {})
        day = FIRST_DAY + timedelta(number)
        kpis[day] = [kpi_row(counts) | {"score_date": day, "rubric": RUBRIC.id, "rubric_version": RUBRIC.version}]
    growth: dict[tuple[str, str | None], Growth] = {
        ("answer_failed", "*"): Growth((Grown("failure_type", "refused_advice", 140, 60.0, 0.74, 0.5, 0.9),))
    }
    snooze = Snooze("weak_answer", "*", last + timedelta(4), "새 프롬프트를 시험하는 중", "이하늘", _MORNING)
    page = f"monitoring/{week_of(last).key}.html"
    week = Week(last, RUBRIC, kpis, growth, None, page, f"https://aqb.example.com/{page}", _RUN_ID, [snooze])
    (message,) = weekly_message(week, RouteFilter())
    return message


def failure() -> Message:
    """A night that failed and is not tried again."""
    night = FIRST_DAY + timedelta(11)
    (message,) = failure_message(
        FlowFailure(
            f"nightly-{night}",
            _RUN_ID,
            "failed",
            "SourceUnavailable",
            "the view view_ola_monitoring did not answer in 60 s",
            f"aqb nightly --date {night}",
            "score 1/4",
            3,
            3,
            Unfinished("nightly", night, night, "nightly"),
        )
    )
    return message


def late() -> Message:
    """A night that nothing has run in."""
    night = LateNight(FIRST_DAY + timedelta(11), time(7), "absent", last_day=FIRST_DAY + timedelta(10))
    (message,) = late_message({"": night}, _ZONE)
    return message


def all_clear() -> Message:
    """The end of a failed night and of the watch for it."""
    night = FIRST_DAY + timedelta(11)
    over = {Unfinished(work, night, night, work): _MORNING for work in ("nightly", "late")}
    (message,) = all_clear_message(over, _ZONE)
    return message


_RUN_ID = "7c1f0a5e9b3d4c62"
_MORNING, _ZONE = datetime(2026, 3, 13, 22, 0, tzinfo=UTC), ZoneInfo("Asia/Seoul")

MADE: dict[str, Callable[[], Message]] = {
    made.__name__: made for made in (digest, page, weekly, failure, late, all_clear)
}
