"""Numbers in Korean reasons are those of the thresholds: a changed threshold changes its reason."""

import json
from collections.abc import Iterator
from importlib import reload

import pytest

from scoring.rubrics.aqb import thresholds as aqb
from scoring.rubrics.ola_monitoring import scores
from scoring.rubrics.ola_monitoring import thresholds as ola
from scoring.rubrics.plan_agent import formulas as plan
from scoring.rubrics.plan_agent import thresholds as plan_thresholds
from scoring.rubrics.recruit_agent import formulas as recruit
from scoring.rubrics.recruit_agent import thresholds as recruit_thresholds
from scoring.rules.explain import explain
from scoring.rules.expressions import Column, Definition, Length
from scoring.testruns.executions import Execution, ParsedExecution, Round, parse_execution
from scoring.testruns.rubric import Score


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Changes thresholds; afterwards the rules are built from the true ones again."""
    yield monkeypatch
    monkeypatch.undo()
    reload(scores)


def labels(column: str, text: str) -> list[str]:
    """What the rules of one column find in a question."""
    rule = next(one for one in scores.QUESTION_SCORE if one.name == column)
    length = Definition("question_length", Length(Column("user_input")), "", "")
    found = explain([length, rule], {"user_input": text}).findings
    return [finding.label for finding in found if finding.column == column]


def answered() -> ParsedExecution:
    """The reading of an answer without errors."""
    parsed = Round.parse("1/1")
    assert parsed is not None
    raw = json.dumps({"assistantMessage": "안내", "responseTimeSec": 3}, ensure_ascii=False)
    return parse_execution(Execution(query_id="Q-1", round=parsed, raw_json=raw))


def test_name_only_reason_names_the_length_of_the_threshold(restored: pytest.MonkeyPatch) -> None:
    assert "10자 이하 단순 입력" in labels("q_intent", "하늘전자")
    restored.setattr(ola, "NAME_ONLY_MAX_LENGTH", 7)
    reload(scores)
    assert "7자 이하 단순 입력" in labels("q_intent", "하늘전자")


def test_hangul_reason_names_the_share_of_the_threshold(restored: pytest.MonkeyPatch) -> None:
    assert "한글이 절반 이상" in labels("q_formality", "하늘전자")
    restored.setattr(ola, "HANGUL_MIN_SHARE", 0.7)
    reload(scores)
    assert "한글이 70% 이상" in labels("q_formality", "하늘전자")
    assert "한글이 70% 미만" in labels("q_formality", "stock price")


def test_plan_stability_reason_names_its_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_thresholds, "STABLE_MIN_ITEM_POINTS", 2)
    monkeypatch.setattr(plan_thresholds, "STABLE_POINTS", 4)
    assert plan.stability_score(answered(), Score(3, "")).reason == "응답이 정상이고 정확성이 2점 이상이라 4점"
    assert plan.stability_score(answered(), Score(None, "")).reason.endswith("응답이 정상이라 4점")


def test_recruit_stability_reason_names_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recruit_thresholds, "STABLE_POINTS", 4)
    assert recruit.stability_score(answered()).reason == "오류 없이 응답해 4점"


def test_aqb_goals_name_their_limits() -> None:
    assert aqb.GOALS["ttft_rate"].title == f"TTFT {aqb.TTFT_MAX_S}초 이하인 응답"
    assert f"{aqb.SINGLE_MEAN_MAX_S}초 이내" in aqb.GOALS["chat_wait_rate"].title
