"""The questions of a test run, and the table of what was judged."""

import json
from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from scoring.rules.arrow_types import empty_frame, field
from scoring.testruns.scoring import TestRunPlan, judge_requests
from tasks.config.judge import JudgeSettings
from tasks.judge.questions import Question
from tasks.judge.verdict_store import Judgement

JUDGEMENTS_SCHEMA = pa.schema(
    [
        field("kind", pa.string(), "질문의 종류: intent | semantic | conclusions"),
        field("rubric", pa.string(), "루브릭 id"),
        field("rubric_version", pa.string(), "루브릭 버전"),
        field("prompt_version", pa.string(), "프롬프트 버전"),
        field("model_asked", pa.string(), "물은 모델"),
        field("model_answered", pa.string(), "답한 모델"),
        field("key", pa.string(), "모델, 조건, 프롬프트, 자료로 정해지는 판정의 id"),
        field("input_hash", pa.string(), "보낸 자료의 SHA-256"),
        field("status", pa.string(), "ok | refused | invalid | failed | over_budget | no_judge"),
        field("verdict", pa.string(), "판정(JSON)"),
        field("reason", pa.string(), "판정의 근거"),
        field("tokens_in", pa.int64(), "입력 토큰"),
        field("tokens_out", pa.int64(), "출력 토큰"),
        field("tokens_cached", pa.int64(), "입력 토큰 가운데 캐시된 것"),
        field("cost_usd", pa.float64(), "비용(USD). 가격을 모르면 NULL"),
        field("latency_s", pa.float64(), "답한 호출에 걸린 시간(초)"),
        field("attempts", pa.int64(), "물은 횟수"),
    ]
)


def questions_of(plan: TestRunPlan, settings: JudgeSettings) -> list[Question]:
    """The questions of a test run with the prompts of its rubric, each question once."""
    prompts = {prompt.kind: prompt for prompt in plan.rubric.prompts}
    return [Question(request, prompts[request.kind], plan.rubric_version, settings) for request in judge_requests(plan)]


def judgement_frame(judgements: Sequence[Judgement]) -> pl.DataFrame:
    """One row per question, in the columns of `JUDGEMENTS_SCHEMA`, in the order of kind and key."""
    rows = [
        {
            **vars(one),
            "model_answered": one.model_answered or None,
            "status": one.status.value,
            "verdict": json.dumps(dict(one.answer), ensure_ascii=False, sort_keys=True) if one.answer else None,
            "reason": one.reason or None,
            "cost_usd": one.usd,
        }
        for one in judgements
    ]
    return pl.DataFrame(rows, schema=empty_frame(JUDGEMENTS_SCHEMA).schema).sort("kind", "key")
