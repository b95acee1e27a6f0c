"""`aqb-1.2`: test runs of the three recruiting agents, six metrics. Source: seed 000; SPEC 3.3."""

from collections.abc import Iterable

from scoring.markdown import percent, table
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.prompts import PROMPTS
from scoring.rubrics.aqb.queries import METRICS, RUBRIC_ID, AqbQuery, requests, score_query
from scoring.rubrics.aqb.report import page_parts, report_values
from scoring.rubrics.aqb.review import REVIEW_TITLES
from scoring.rubrics.aqb.summary import QUALITY_TITLES, AqbSummary, summarise
from scoring.rubrics.aqb.tables import METRIC_TITLES, OWN_COLUMNS, QUERY_COLUMNS, query_json
from scoring.rubrics.aqb.thresholds import MAPPING_TITLES, MISSING_TITLES, NUMBERS_TITLES, MappingGrade
from scoring.rules.bands import Bands
from scoring.testruns.band_texts import band_rows
from scoring.testruns.detection import Layout, Recognition
from scoring.testruns.executions import AgentType, LatencyClass
from scoring.testruns.report_tables import testrun_rubric_readme
from scoring.testruns.rubric import Option, TestRunRubric

Rows = Iterable[tuple[object, ...]]


def _sections() -> list[tuple[str, str]]:
    """Heading and body of every table of the rubric."""
    weights = ((METRIC_TITLES[name], f"{share} %") for name, share in t.WEIGHTS.percents.items())
    return [
        ("Mapping grade", _part(_MAPPING, ("Grade", "Shown as"), MAPPING_TITLES.items())),
        ("Semantic", _part(_SEMANTIC, ("Points", "Level"), t.SEMANTIC_LEVELS.items())),
        ("Semantic by mapping", table(("Mapping", "Move agent", "Cap of the judge"), _semantic_rows())),
        ("Consistency", _part(_CONSISTENCY, ("Points", "When"), _ladder_rows())),
        ("Accuracy of move and plan", table(("Mapping", "Points", "Tools"), _datakey_rows())),
        (
            "Accuracy of applicant management",
            _part(_FILTERS, ("Filters", "Numbers", "Points", "Tools"), _filter_rows()),
        ),
        ("Speed", "\n\n".join((*_speed_tables(), f"TTFT passes up to {t.TTFT_MAX_S} s and is no part of the total."))),
        ("Stability", f"{t.ANSWERED_POINTS} for an answer, {t.UNANSWERED_POINTS} for a failed or empty one."),
        ("Weighted total", _part(_TOTAL, ("Metric", "Weight"), weights)),
        ("Manual review", table(("Code", "When"), REVIEW_TITLES.items())),
        ("Targets", table(("Code", "Rate", "At least", "Source"), _goal_rows())),
        ("Why a score is missing", table(("Code", "Meaning"), MISSING_TITLES.items())),
    ]


_MAPPING = (
    "Expected and used data keys, filters, or the page of a move. The period filter counts when it is expected and is "
    "never an extra. Grid columns are a weak check. A failed or empty answer used nothing."
)
_SEMANTIC = (
    "A move agent is scored by its mapping grade alone. For the others a judge scores, and the mapping grade caps what "
    "it gives. Failed or empty earns 0."
)
_CONSISTENCY = (
    f"The first execution of each room, {t.MIN_ROOMS} rooms (n) or more. Failed and empty answers agree with nothing. "
    f"k is {t.AGREEING_SHARE} of the rooms, rounded up; within tolerance is {percent(float(t.NUMBER_SPREAD), 0)} of "
    "the smallest magnitude. The first line that holds counts."
)
_FILTERS = (
    "`nothing expected` is a query with a ground truth and no expected filter; a filter name without a code leaves the "
    "score NULL. A failed or empty answer earns 0."
)
_TOTAL = "Over the metrics that are known, renormalised; `weight_coverage` says how much weight was there."


def _part(text: str, header: tuple[str, ...], rows: Rows) -> str:
    return f"{text}\n\n{table(header, rows)}"


def _semantic_rows() -> Rows:
    for grade, title in MAPPING_TITLES.items():
        yield title, t.MOVE_SEMANTIC_POINTS.get(grade, "NULL"), t.SEMANTIC_CAPS.get(grade, t.MAX_POINTS)


def _ladder_rows() -> Rows:
    return ((points, text.format(n="n", k="k")) for points, text in t.CONSISTENCY_LADDER)


def _datakey_rows() -> Rows:
    return ((MAPPING_TITLES[grade], row.points, row.tools) for grade, row in t.DATAKEY_ACCURACY.items())


def _filter_rows() -> Rows:
    for (mapping, numbers), row in t.FILTER_ACCURACY.items():
        filters = "nothing expected" if mapping is MappingGrade.UNKNOWN else MAPPING_TITLES[mapping]
        yield filters, NUMBERS_TITLES[numbers], row.points, row.tools


def _speed_tables() -> Iterable[str]:
    agents_of_bands: dict[tuple[LatencyClass, Bands[int]], list[AgentType | None]] = {}
    for (latency_class, agent), bands in t.SPEED_BANDS.items():
        agents_of_bands.setdefault((latency_class, bands), []).append(agent)
    for (latency_class, bands), agents in agents_of_bands.items():
        yield f"{latency_class}: {', '.join(filter(None, agents))}"
        yield table(("Seconds", "Points"), band_rows(bands, "초"))


def _goal_rows() -> Rows:
    for code, goal in t.GOALS.items():
        yield code, goal.title, percent(float(goal.at_least), 0), goal.source


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
    report_values=report_values,
    package=__name__,
    readme=lambda: testrun_rubric_readme(RUBRIC, _sections()),
    options=(
        Option(
            "tolerance_percent",
            t.DEFAULT_TOLERANCE_PERCENT,
            r"[0-9]{1,2}(\.[0-9]{1,2})?",
            "how far a number may be from the ground truth and still count as within tolerance",
        ),
    ),
    recognition=Recognition(
        columns=frozenset({"ground_truth", "검증 API 결과", "정답 수치"}), layouts=frozenset({Layout.WIDE})
    ),
    needs_agent_type=True,
    prompts=PROMPTS,
    speed_bands=t.SPEED_BANDS,
    figure_titles={"speed_single": "응답 속도: 단일 도구", "speed_multi": "응답 속도: 복수 도구"},
    page_parts=page_parts,
    code_titles={**QUALITY_TITLES, **REVIEW_TITLES},
)
