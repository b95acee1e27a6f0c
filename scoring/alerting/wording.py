"""What a reader is told of one incident: what, since when, what to do, an example. Korean."""

from collections.abc import Iterable
from datetime import date

from scoring.alerting.blocks import Span, bold, code, inert, masked_text, plain
from scoring.alerting.facts import EXCLUDED_RATE_RISING, KPI_RULE, NO_ROWS, ROWS_REJECTED, AlertFact
from scoring.alerting.figures import brief_figure, times_usual
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import Example, MessageLevel
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.markdown import score_text

LEVEL_SIGNS = {"critical": "🔴", "warning": "🟡", "info": "⚪"}
_LEVEL_NAMES = {"critical": "Critical", "warning": "Warning", "info": "안내"}
_STATE_NAMES = {"new": "새로 나타남", "rising": "급증", "continuing": "계속", "resolved": "해소"}
RESOLVED_SIGN = "🟢"

_DAY_ACTIONS = {
    NO_ROWS: "원본 표와 적재 작업을 확인하고, 고친 뒤 이 명령으로 다시 채점하세요.",
    ROWS_REJECTED: "거부한 까닭은 rejected 표에 줄마다 있습니다. 원본을 고친 뒤 이 명령으로 다시 채점하세요.",
    EXCLUDED_RATE_RISING: "답변이 NULL로 쌓이고 있는지 LLM 호출과 로그 적재를 확인하세요.",
}
_KPI_ACTION = "보고서에서 등급 분포와 실패 유형을 보고 어디서 목표를 놓쳤는지 확인하세요."
_DROPPED_RULE_ACTION = "지금 루브릭에는 없는 규칙입니다. 이날을 채점한 버전의 예시를 읽으세요."
_WEEKDAYS = "월화수목금토일"
_QUESTION_CHARACTERS, _ANSWER_CHARACTERS = 100, 100


def level_mark(level: MessageLevel) -> str:
    """`🔴 Critical`."""
    return f"{LEVEL_SIGNS[level]} {_LEVEL_NAMES[level]}"


def day_name(day: date) -> str:
    """`3월 2일(월)`."""
    return f"{day.month}월 {day.day}일({_WEEKDAYS[day.weekday()]})"


def tenant_name(tenant: str | None) -> str:
    """A tenant as people call it."""
    if tenant is None:
        return "테넌트 없음"
    return "전체" if tenant == ALL_TENANTS else f"테넌트 {masked_text(tenant, 60)}"


def headline(one: Incident) -> str:
    """What it is and what became of it: `답변 실패 · 급증, 평소의 3.6배`."""
    times = times_usual(one.fact) if one.pages or one.state == "rising" else ""
    return f"{one.fact.title} · {', '.join(filter(None, (_STATE_NAMES[one.state], times)))}"


def since(one: Incident) -> str:
    """Since when it is there, or above its usual range."""
    if one.since_or_before:
        return f"적어도 {day_name(one.since)}부터"
    return "이날부터" if one.since == one.day else f"{day_name(one.since)}부터"


def action(one: Incident, rubric: RowRubric) -> list[Span]:
    """What to do, with the command where the day has to be scored again."""
    rule = one.fact.rule
    if rule.startswith(KPI_RULE):
        return [plain(_KPI_ACTION)]
    by_rule = {rule.id: rule.action for rule in rubric.alert_rules}
    told = plain((_DAY_ACTIONS | by_rule).get(rule, _DROPPED_RULE_ACTION))
    return [told, plain(" "), code(f"aqb nightly --date {one.day}")] if rule in (NO_ROWS, ROWS_REJECTED) else [told]


def resolved_line(one: Incident) -> list[Span]:
    """How an incident ended."""
    if one.fact.rule == NO_ROWS:
        how = "행이 다시 들어옴"
    elif one.fires:
        how = f"이날 {one.fact.count:,}건, 늘기 전 범위로 돌아옴"
    elif one.fact.rule.startswith(KPI_RULE):
        how = f"목표 달성이 이어짐, 마지막으로 놓친 날 {day_name(one.seen)}"
    else:
        how = f"이날은 없음, 마지막은 {day_name(one.seen)} {one.fact.count:,}건"
    return [plain(f"{RESOLVED_SIGN} 해소: "), bold(_title(one.fact)), plain(f" — {how}")]


def brief(found: Iterable[Incident], rubric: RowRubric) -> str:
    """Incidents in a few words each: `답변 실패 29건(평소 28건), ...`."""
    return ", ".join(f"{_title(one.fact)} {brief_figure(one.fact, rubric)}".strip() for one in found)


def example_lines(example: Example) -> list[Span]:
    """A row: score, failure and id, then the beginnings of its texts, masked."""
    facts = [f"{score_text(example.score, 1)}점", *([example.failure] if example.failure else [])]
    texts = (("질문", example.question, _QUESTION_CHARACTERS), ("답변", example.answer, _ANSWER_CHARACTERS))
    lines = [code(inert(example.row_id)), plain(f" {' · '.join(facts)}")]
    for title, text, length in texts:
        shown = "(저장하지 않음)" if text is None else masked_text(text, length)
        lines.append(plain(f"\n{title}: {shown}"))
    return lines


def _title(fact: AlertFact) -> str:
    return fact.title if fact.tenant_id == ALL_TENANTS else f"{fact.title}({tenant_name(fact.tenant_id)})"
