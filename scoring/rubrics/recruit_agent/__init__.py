"""`recruit-agent`: test runs of every recruiting agent: verdict, pass ratio, reproducibility, latency, stability.

Source: seed 004; SPEC 3.2.
"""

from scoring.rubrics.recruit_agent import formulas
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.intent import PROMPTS, RUBRIC_ID, requests
from scoring.rubrics.recruit_agent.report import CRITERIA, QUALITY_TITLES, headline, points_lost, report_values
from scoring.rubrics.recruit_agent.summary import summarise
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import LatencyClass
from scoring.testruns.page_parts import check_parts
from scoring.testruns.rubric import Option, TestRunRubric
from scoring.testruns.totals import MIN_COVERAGE

RUBRIC = TestRunRubric(
    id=RUBRIC_ID,
    version=t.VERSION,
    title="채용 에이전트 테스트 채점",
    summary="모든 채용 에이전트의 테스트 결과를 채점합니다. 의도는 판정 모델이, 나머지는 규칙이 정합니다.",
    metrics=formulas.METRICS,
    own_columns=formulas.OWN_COLUMNS,
    query_columns=formulas.QUERY_COLUMNS,
    requests=requests,
    score_query=formulas.score_query,
    summarise=summarise,
    headline=headline,
    report_values=report_values,
    package=__name__,
    recognition=Recognition(accuracy_checks=True),
    prompts=PROMPTS,
    speed_bands={
        (LatencyClass.SINGLE, None): t.SPEED_SINGLE_POINTS,
        (LatencyClass.MULTI, None): t.SPEED_MULTI_POINTS,
    },
    code_titles=QUALITY_TITLES,
    figure_titles={
        "weighted_total": "종합 점수",
        "ratio_a": "의도 일치율",
        "ratio_b": "화면 구성 일치율",
        "too_few_executions": "실행이 부족해 0점",
        "without_label": "의도 라벨이 없어 채점하지 않음",
    },
    value_titles={"intent_label": t.INTENT_LABELS},
    criteria=CRITERIA,
    points_lost=points_lost,
    page_parts=check_parts,
    options=(
        MIN_COVERAGE,
        Option(
            "weighted_total",
            "on",
            "on|off",
            "the seed calls its total optional: `off` leaves it out where teams compare metrics one by one",
            "종합 점수를 냅니다. off는 종합 점수 없이 지표만 봅니다.",
        ),
    ),
)
