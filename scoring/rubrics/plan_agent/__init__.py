"""`plan-agent`: test runs of the execution agent, scored by check list. Source: seed 003; SPEC 3.1."""

from scoring.markdown import table
from scoring.rubrics.plan_agent import tables, thresholds
from scoring.rubrics.plan_agent.formulas import METRICS, requests, score_query
from scoring.rubrics.plan_agent.prompt import prompt
from scoring.rubrics.plan_agent.report import QUALITY_TITLES, report
from scoring.rubrics.plan_agent.summary import summarise
from scoring.testruns.band_texts import band_rows
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import LatencyClass
from scoring.testruns.page_parts import check_parts
from scoring.testruns.rubric import Option, TestRunRubric
from scoring.testruns.rubric_readme import testrun_rubric_readme


def _readme() -> str:
    passes = f"{thresholds.PASS_MIN_POINTS}점"
    ratios = [*band_rows(thresholds.PASS_RATIO_POINTS, maximum=1), ("0", thresholds.NOTHING_PASSED_POINTS)]
    sections = [
        (
            "의도 충족, 정확성 (seed 003, 2-2와 2-3)",
            table(
                ["통과율", "점수"],
                [
                    *ratios,
                    ("실패 또는 빈 응답", thresholds.NOT_ANSWERED_POINTS),
                    ("체크 항목 없음", "NULL (no_checks)"),
                ],
            ),
        ),
        (
            "안정성 (seed 003, 2-4)",
            table(
                ["문항 점수", "점수"],
                [
                    (f"{thresholds.STABLE_MIN_ITEM_POINTS} 이상", thresholds.STABLE_POINTS),
                    ("0", thresholds.UNSTABLE_POINTS),
                    ("체크 항목은 없고 응답은 정상", thresholds.STABLE_POINTS),
                ],
            ),
        ),
        (
            "일관성 (seed 003, 2-5)",
            table(
                [f"{thresholds.MIN_ROUNDS}개 라운드 이상인 Query ID", "점수"],
                [
                    (f"모든 라운드가 {passes} 이상", thresholds.CONSISTENT_POINTS),
                    (f"모든 라운드가 {passes} 미만", thresholds.CONSISTENT_POINTS),
                    ("그 밖", thresholds.INCONSISTENT_POINTS),
                ],
            ),
        ),
        ("응답 속도 (seed 003, 2-6)", table(["responseTimeSec", "점수"], band_rows(thresholds.SPEED_POINTS, "초"))),
    ]
    return testrun_rubric_readme(RUBRIC, sections)


RUBRIC = TestRunRubric(
    id="plan-agent",
    version=thresholds.VERSION,
    title="실행 에이전트 테스트 채점",
    summary="기대결과의 체크 항목으로 실행 에이전트의 테스트 결과를 채점합니다(LLM 호출 없음). 총점은 만들지 않습니다.",
    metrics=METRICS,
    own_columns=tables.OWN_COLUMNS,
    query_columns=tables.QUERY_COLUMNS,
    requests=requests,
    score_query=score_query,
    query_row=tables.query_row,
    summarise=summarise,
    report=report,
    readme=_readme,
    recognition=Recognition(file_prefixes=("plan_agent_",)),
    options=(
        Option(
            "value_lookup",
            "nested",
            "nested|direct",
            "`nested` finds dataKey and buttonKey anywhere inside `value`, where the agents put them; `direct` looks "
            "right below `value` only, as older reports did, to compare with them",
        ),
    ),
    prompt=prompt,
    speed_bands={(latency_class, None): thresholds.SPEED_POINTS for latency_class in LatencyClass},
    code_titles=QUALITY_TITLES,
    figure_titles={
        "both_pass": "모든 라운드 통과",
        "both_fail": "모든 라운드 미통과",
        "mixed": "라운드마다 엇갈림",
        "one_round": "라운드가 하나라 제외",
        "no_checks": "체크 항목이 없어 제외",
    },
    page_parts=check_parts,
)
