"""`plan-agent`: test runs of the execution agent, scored by check list. Source: seed 003; SPEC 3.1."""

from scoring.rubrics.plan_agent import formulas
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.prompt import prompt
from scoring.rubrics.plan_agent.report import (
    CRITERIA,
    QUALITY_TITLES,
    SAME_TITLE,
    headline,
    points_lost,
    report_values,
)
from scoring.rubrics.plan_agent.summary import summarise
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import LatencyClass
from scoring.testruns.page_parts import check_parts
from scoring.testruns.rubric import Option, TestRunRubric

RUBRIC = TestRunRubric(
    id="plan-agent",
    version=t.VERSION,
    title="실행 에이전트 테스트 채점",
    summary="기대결과의 체크 항목으로 실행 에이전트의 테스트 결과를 채점합니다(LLM 호출 없음). 총점은 만들지 않습니다.",
    metrics=formulas.METRICS,
    own_columns=formulas.OWN_COLUMNS,
    query_columns=formulas.QUERY_COLUMNS,
    score_query=formulas.score_query,
    summarise=summarise,
    headline=headline,
    report_values=report_values,
    package=__name__,
    recognition=Recognition(file_prefixes=("plan_agent_",)),
    options=(
        Option(
            "value_lookup",
            "nested",
            "nested|direct",
            "`nested` finds dataKey and buttonKey anywhere inside `value`, where the agents put them; `direct` looks "
            "right below `value` only, as older reports did, to compare with them",
            "dataKey와 buttonKey를 찾는 곳. nested는 value 안 어디서나, direct는 옛 보고서처럼 바로 아래서만 봅니다.",
        ),
    ),
    prompt=prompt,
    speed_bands={(latency_class, None): t.SPEED_POINTS for latency_class in LatencyClass},
    code_titles=QUALITY_TITLES,
    figure_titles={
        "both_pass": "모든 회차 통과",
        "both_fail": "모든 회차 미통과",
        "mixed": "회차마다 엇갈림",
        "one_round": "회차가 하나라 제외",
        "no_checks": "체크 항목이 없어 제외",
        "tools_not_shown": "Raw JSON이 없어 제외",
        "mode_ratio": SAME_TITLE,
    },
    criteria=CRITERIA,
    page_parts=check_parts,
    points_lost=points_lost,
)
