"""The outcome of a turn from its scores: final score and grade, failure type, alerts, cause.

One row per scored turn, after the columns of `metrics` and `scores`, in this order.
"""

from scoring.chat.rubric import AlertRule
from scoring.chat.standard_rubric import first_true
from scoring.rubrics.ola_monitoring import thresholds as t
from scoring.rubrics.ola_monitoring.metrics import ANSWER, ANSWER_LENGTH, METRICS, OUTPUT_TOKENS
from scoring.rubrics.ola_monitoring.scores import (
    A_GRADE,
    A_SCORE,
    ANSWER_SCORE,
    I_SCORE,
    INTERACTION_SCORE,
    Q_SCORE,
    Q_TIER,
    QUESTION_SCORE,
)
from scoring.rules.expressions import (
    AllOf,
    Case,
    Column,
    Compare,
    ContainsAny,
    Definition,
    IsIn,
    Matches,
    MostLost,
    Value,
    WeightedScore,
    When,
    banded,
)

FINAL_GRADE = Column("final_grade")
GOOD_QUESTION_BAD_ANSWER = AllOf((IsIn(Q_TIER, t.GOOD_TIERS), IsIn(A_GRADE, t.BAD_GRADES)))
LLM_BLOCKED = Compare(OUTPUT_TOKENS, "=", Value(0))

OUTCOME = (
    Definition(
        "final_score",
        WeightedScore(((t.Q_WEIGHT_PERCENT, Q_SCORE), (t.A_WEIGHT_PERCENT, A_SCORE), (t.I_WEIGHT_PERCENT, I_SCORE))),
        "종합 점수",
        "seed 002, 7.1",
    ),
    Definition("final_grade", banded(Column("final_score"), t.FINAL_GRADES, "종합 점수"), "종합 등급", "seed 002, 7.2"),
    Definition(
        "failure_type",
        first_true(
            [
                (Matches(ANSWER, t.ADVICE_REFUSAL), "refused_advice"),
                (Matches(ANSWER, t.DOMAIN_REFUSAL), "refused_domain"),
                (Matches(ANSWER, t.SCOPE_REFUSAL), "refused_scope"),
                (ContainsAny(ANSWER, (t.TOO_BROAD_PHRASE,)), "too_broad"),
                (ContainsAny(ANSWER, (t.NOT_UNDERSTOOD_PHRASE,)), "not_understood"),
                (LLM_BLOCKED, "blocked"),
                (Compare(ANSWER_LENGTH, "<=", Value(t.TOO_SHORT_MAX_LENGTH)), "too_short"),
            ],
            otherwise=None,
        ),
        "실패 유형",
        "SPEC 1.3",
    ),
)

# In the order in which a row lists them. Source: seed 002, 10.1 and 7.2; SPEC 1.3.
ALERTS = (
    AlertRule(
        "answer_failed",
        "critical",
        Compare(A_SCORE, "<", Value(t.ANSWER_FAILED_BELOW)),
        "답변 실패",
        "예시의 답변이 거절인지 빈 답변인지 읽고, 어떤 실패 유형이 늘었는지 실패 유형 표에서 확인하세요.",
        usual_rate=t.ANSWER_FAILED_USUAL_RATE,
    ),
    AlertRule(
        "good_question_bad_answer",
        "critical",
        GOOD_QUESTION_BAD_ANSWER,
        "좋은 질문에 나쁜 답변",
        "답할 수 있는 질문이 막히고 있습니다. 예시의 질문부터 읽고 거절 규칙과 의도 분류를 확인하세요.",
    ),
    AlertRule(
        "llm_blocked",
        "critical",
        LLM_BLOCKED,
        "LLM 호출 자체가 차단됨",
        "LLM 호출 로그에서 오류, 사용 한도, 안전 필터를 확인하세요.",
        usual_rate=t.LLM_BLOCKED_USUAL_RATE,
        # A row without texts has no scores, but a blocked call must not hide behind a NULL (SPEC 1.2).
        on_excluded_rows=True,
    ),
    AlertRule(
        "final_failed",
        "critical",
        Compare(FINAL_GRADE, "=", Value("F")),
        "종합 등급 F",
        "예시를 읽고 챗봇의 프롬프트·모델·데이터 가운데 무엇을 고칠지 정하세요.",
    ),
    AlertRule(
        "weak_answer",
        "warning",
        AllOf(
            (
                Compare(A_SCORE, "<", Value(t.WEAK_ANSWER_BELOW)),
                Compare(Q_SCORE, ">=", Value(t.REASONABLE_QUESTION_MIN)),
            )
        ),
        "합리적 질문에 부족한 답변",
        "예시에서 무엇이 부족했는지 보고 개선 대상을 정하세요.",
    ),
    AlertRule(
        "very_short_answer",
        "warning",
        AllOf(
            (
                Compare(OUTPUT_TOKENS, ">=", Value(t.VERY_SHORT_MIN_TOKENS)),
                Compare(OUTPUT_TOKENS, "<=", Value(t.VERY_SHORT_MAX_TOKENS)),
            )
        ),
        "답변했지만 매우 짧음",
        "답변이 중간에 끊겼는지, 되묻는 답인지 예시에서 확인하세요.",
        usual_rate=t.VERY_SHORT_USUAL_RATE,
    ),
)

CAUSE = Definition(
    "cause",
    Case(
        (When(Compare(FINAL_GRADE, "=", Value(t.CAUSE_GRADE)), MostLost(t.COMPONENT_MAXIMA)),),
        Value(None),
    ),
    "원인 태그",
    "seed 002, 7.2; SPEC 1.3",
)

SAYS_NO_DATA = Definition("answer_says_no_data", Matches(ANSWER, t.SAYS_NO_DATA), "데이터가 없다고 한 답변", "SPEC 1.5")

COLUMNS = (*METRICS, *QUESTION_SCORE, *ANSWER_SCORE, *INTERACTION_SCORE, *OUTCOME)
