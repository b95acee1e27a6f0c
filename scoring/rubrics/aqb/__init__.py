"""`aqb-1.2`: test runs of the three recruiting agents, six metrics. Source: seed 000; SPEC 3.3."""

from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.prompts import PROMPTS
from scoring.rubrics.aqb.queries import METRICS, RUBRIC_ID, AqbQuery, requests, score_query
from scoring.rubrics.aqb.report import CRITERIA, SAME_TITLE, SPEED_TITLES, headline, limits, page_parts, report_values
from scoring.rubrics.aqb.review import REVIEW_TITLES
from scoring.rubrics.aqb.summary import QUALITY_TITLES, AqbSummary, summarise
from scoring.rubrics.aqb.tables import OWN_COLUMNS, QUERY_COLUMNS, query_json
from scoring.rubrics.aqb.targets import RATES
from scoring.testruns.detection import Layout, Recognition
from scoring.testruns.rubric import Option, TestRunRubric
from scoring.testruns.totals import MIN_COVERAGE

RUBRIC: TestRunRubric[AqbQuery, AqbSummary] = TestRunRubric(
    id=RUBRIC_ID,
    version=t.VERSION,
    title="채용 에이전트 품질 평가",
    summary="이동·실행·지원자 관리 에이전트의 테스트를 6개 지표(0~5점)로 채점하고 가중 평균과 수기 확인 대상을 냅니다.",
    metrics=METRICS,
    own_columns=OWN_COLUMNS,
    query_columns=QUERY_COLUMNS,
    requests=requests,
    score_query=score_query,
    query_json=query_json,
    summarise=summarise,
    headline=headline,
    report_values=report_values,
    package=__name__,
    options=(
        Option(
            "tolerance_percent",
            t.DEFAULT_TOLERANCE_PERCENT,
            r"[0-9]{1,2}(\.[0-9]{1,2})?",
            "how far a number may be from the ground truth and still count as within tolerance",
            "정답 수치와 이만큼(%) 달라도 허용 범위 안으로 봅니다.",
        ),
        MIN_COVERAGE,
        Option(
            "consistency_min_runs",
            str(t.MIN_ROOMS),
            "2|3",
            "`2` compares the two rooms of older runs; such scores are marked as provisional: three are required",
            "일관성을 내는 데 필요한 방의 수. 2는 방이 둘인 옛 실행도 비교하되 잠정 점수로 표시합니다.",
        ),
    ),
    recognition=Recognition(
        columns=frozenset({"ground_truth", "검증 API 결과", "정답 수치"}), layouts=frozenset({Layout.WIDE})
    ),
    needs_agent_type=True,
    prompts=PROMPTS,
    speed_bands=t.SPEED_BANDS,
    points_lost=t.WEIGHTS.lost,
    limits=limits,
    rates=RATES,
    figure_titles={"provisional": "방이 부족해 잠정 점수인 질의", "mode_ratio": SAME_TITLE, **SPEED_TITLES},
    value_titles={"mapping_grade": t.MAPPING_TITLES, "numbers_grade": t.NUMBERS_TITLES},
    criteria=CRITERIA,
    page_parts=page_parts,
    code_titles={**QUALITY_TITLES, **REVIEW_TITLES},
)
