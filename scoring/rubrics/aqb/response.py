"""How one answer came: speed, time to first token, stability.

Source: seed 000, 2.4 to 2.6 and 3.4 to 3.6; SPEC 3.3.
"""

from typing import Literal

from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.grades import MISSING_TITLES, Missing
from scoring.testruns.band_texts import band_text
from scoring.testruns.executions import AgentType, LatencyClass, Reading
from scoring.testruns.rubric import Score

CLASS_TITLES = {LatencyClass.SINGLE: "단일 도구 호출", LatencyClass.MULTI: "복수 도구 호출"}


def speed_score(reading: Reading, latency_class: LatencyClass, agent: AgentType) -> Score:
    """Points of the seconds by class and agent; failed earns 0, NULL without a time.

    Source: seed 000, 3.4 and 3.5.
    """
    if reading.failure:
        return Score(t.UNANSWERED_POINTS, f"응답 실패: {reading.failure}")
    if reading.latency_s is None:
        return Score(None, MISSING_TITLES[Missing.NO_TIME], Missing.NO_TIME)
    bands = t.SPEED_BANDS[latency_class, agent]
    band = band_text(bands, reading.latency_s, "초")
    return Score(
        bands.points(reading.latency_s), f"응답 시간 {reading.latency_s:g}초 ({CLASS_TITLES[latency_class]}, {band})"
    )


def ttft_pass(ttft_s: float | None) -> Literal["PASS", "FAIL"] | None:
    """Whether the first token came in time; None where it was not measured. Source: seed 000, 2.4 and 5.4."""
    if ttft_s is None:
        return None
    return "PASS" if ttft_s <= t.TTFT_MAX_S else "FAIL"


def stability_score(reading: Reading) -> Score:
    """5 for an answer, 0 for a failed or empty one. Source: seed 000, 3.6."""
    if reading.answered:
        return Score(t.ANSWERED_POINTS, "정상 응답")
    what = f"실패: {reading.failure}" if reading.failure else f"빈 응답: {reading.emptiness}"
    return Score(t.UNANSWERED_POINTS, what)


def failed_steps(reading: Reading) -> tuple[str, ...]:
    """The steps at which an answer failed, each once; () for an answer. Source: seed 000, 2.6."""
    if reading.answered:
        return ()
    steps = tuple(dict.fromkeys(error.step for error in reading.response.step_errors))
    return steps or (("단계 기록 없음",) if reading.failure else ("빈 응답",))
