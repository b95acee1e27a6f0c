"""`plan-agent`: test runs of the execution agent, scored by check list. Source: seed 003; SPEC 3.1."""

from scoring.markdown import table
from scoring.rubrics.plan_agent import formulas
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.prompt import prompt
from scoring.rubrics.plan_agent.report import QUALITY_TITLES, report_values
from scoring.rubrics.plan_agent.summary import summarise
from scoring.testruns.band_texts import band_rows
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import LatencyClass
from scoring.testruns.page_parts import check_parts
from scoring.testruns.report_tables import testrun_rubric_readme
from scoring.testruns.rubric import Option, TestRunRubric


def _readme() -> str:
    passes = f"{t.PASS_MIN_POINTS}점"
    ratios = [*band_rows(t.PASS_RATIO_POINTS, maximum=1), ("0", t.NOTHING_PASSED_POINTS)]
    sections = [
        (
            "의도 충족, 정확성 (seed 003, 2-2와 2-3)",
            table(
                ["통과율", "점수"],
                [
                    *ratios,
                    ("실패 또는 빈 응답", t.NOT_ANSWERED_POINTS),
                    ("체크 항목 없음", "NULL (no_checks)"),
                ],
            ),
        ),
        (
            "안정성 (seed 003, 2-4)",
            table(
                ["문항 점수", "점수"],
                [
                    (f"{t.STABLE_MIN_ITEM_POINTS} 이상", t.STABLE_POINTS),
                    ("0", t.UNSTABLE_POINTS),
                    ("체크 항목은 없고 응답은 정상", t.STABLE_POINTS),
                ],
            ),
        ),
        (
            "일관성 (seed 003, 2-5)",
            table(
                [f"{t.MIN_ROUNDS}개 라운드 이상인 Query ID", "점수"],
                [
                    (f"모든 라운드가 {passes} 이상", t.CONSISTENT_POINTS),
                    (f"모든 라운드가 {passes} 미만", t.CONSISTENT_POINTS),
                    ("그 밖", t.INCONSISTENT_POINTS),
                ],
            ),
        ),
        ("응답 속도 (seed 003, 2-6)", table(["responseTimeSec", "점수"], band_rows(t.SPEED_POINTS, "초"))),
    ]
    return testrun_rubric_readme(RUBRIC, sections)


RUBRIC = TestRunRubric(
    id="plan-agent",
    version=t.VERSION,
    title="실행 에이전트 테스트 채점",
    summary="기대결과의 체크 항목으로 실행 에이전트의 테스트 결과를 채점합니다(LLM 호출 없음). 총점은 만들지 않습니다.",
    metrics=formulas.METRICS,
    own_columns=formulas.OWN_COLUMNS,
    query_columns=formulas.QUERY_COLUMNS,
    requests=formulas.requests,
    score_query=formulas.score_query,
    summarise=summarise,
    report_values=report_values,
    package=__name__,
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
    speed_bands={(latency_class, None): t.SPEED_POINTS for latency_class in LatencyClass},
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
