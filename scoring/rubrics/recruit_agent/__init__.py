"""`recruit-agent`: test runs of every recruiting agent: verdict, pass ratio, reproducibility, latency, stability.

Source: seed 004; SPEC 3.2.
"""

from scoring.markdown import table
from scoring.rubrics.recruit_agent import formulas
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.intent import PROMPTS, RUBRIC_ID, requests
from scoring.rubrics.recruit_agent.report import QUALITY_TITLES, report_values
from scoring.rubrics.recruit_agent.summary import summarise
from scoring.testruns.band_texts import band_rows
from scoring.testruns.detection import Recognition
from scoring.testruns.executions import LatencyClass
from scoring.testruns.page_parts import check_parts
from scoring.testruns.report_tables import testrun_rubric_readme
from scoring.testruns.rubric import Option, TestRunRubric


def _readme() -> str:
    ratios = [
        ("실행 실패", t.FAILED_POINTS),
        ("체크 없음 (not_evaluable)", t.NOT_EVALUABLE_POINTS),
        *((f"가중 통과율 {text}", points) for text, points in band_rows(t.PASS_RATIO_POINTS, maximum=1)),
        ("가중 통과율 0", t.NOTHING_PASSED_POINTS),
    ]
    keys = ", ".join([*t.SIGNATURE_KEYS, *(f"value.{key}" for key in t.SIGNATURE_VALUE_KEYS), "filterType"])
    consistency = [
        ("실행 수", f"{t.MIN_EXECUTIONS}건 미만이면 {t.TOO_FEW_EXECUTIONS_POINTS}점"),
        ("ratioA", "intent_label 최빈값의 비율"),
        ("ratioB", "signature 최빈값의 비율"),
        ("점수", f"(ratioA + ratioB) / 2 × {t.MAX_POINTS}"),
        ("signature의 키", keys),
        ("dataUIList가 비었거나 응답이 없음", f"signature = {t.EMPTY_SIGNATURE}"),
        ("실패 또는 빈 응답", f"intent_verdict = {t.NOT_ANSWERED_VERDICT}, intent_label = {t.NOT_ANSWERED_LABEL}"),
    ]
    speeds = [("SINGLE", t.SPEED_SINGLE_POINTS), ("MULTI", t.SPEED_MULTI_POINTS)]
    return testrun_rubric_readme(
        RUBRIC,
        [
            (
                "의도 충족 (seed 004, 의도 충족)",
                table(
                    ["intent_verdict", "점수", "기준"], [(w, v.points, v.meaning) for w, v in t.INTENT_VERDICTS.items()]
                ),
            ),
            ("정확성 (seed 004, 정확성)", table(["조건", "점수"], ratios)),
            ("일관성 (seed 004, 일관성)", table(["항목", "값"], consistency)),
            ("intent_label (seed 004, 일관성)", table(["라벨", "뜻"], t.INTENT_LABELS.items())),
            *(
                (
                    f"응답 속도 {name} (seed 004, 응답 속도)",
                    table(["시간", "점수"], [*band_rows(bands, "초"), ("누락", t.NO_TIME_POINTS)]),
                )
                for name, bands in speeds
            ),
            (
                "안정성 (seed 004, 안정성)",
                table(
                    ["기준", "점수"],
                    [
                        ("에러 없음, 파싱 성공, 응답 존재", t.STABLE_POINTS),
                        ("에러, 타임아웃, 파싱 실패, 응답 부재", t.UNSTABLE_POINTS),
                    ],
                ),
            ),
            (
                "종합 점수 (seed 004, 종합 점수)",
                table(["지표", "가중치"], [(name, f"{share}%") for name, share in t.WEIGHTS.percents.items()]),
            ),
        ],
    )


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
    report_values=report_values,
    package=__name__,
    readme=_readme,
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
        "without_label": "의도 라벨이 없어 미채점",
    },
    page_parts=lambda summary: check_parts(summary, summary.get("manual_review"), summary.get("notice", "")),
    options=(
        Option(
            "weighted_total",
            "on",
            "on|off",
            "the seed calls its total optional: `off` leaves it out where teams compare metrics one by one",
        ),
    ),
)
