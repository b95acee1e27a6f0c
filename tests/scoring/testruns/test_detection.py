"""Recognition of layouts, agents and rubrics."""

import unicodedata

import pytest

from scoring.catalog import recognitions
from scoring.errors import UsageError
from scoring.rubrics.aqb import thresholds
from scoring.testruns.detection import (
    FileFacts,
    Layout,
    Recognition,
    agent_type_named,
    agent_type_of,
    layout_of,
    rubric_of,
    run_type_of,
    unknown_agent_type,
)
from scoring.testruns.executions import AGENT_TITLES, AgentType, LatencyClass
from scoring.testruns.team_names import COMMON_NAMES, TeamNames

LONG = ("Run ID", "Item ID", "Query ID", "질의", "기대결과", "방/반복", "Raw JSON")
WIDE = ("ID", "질의", "1차 답변", "2차 답변 raw")
CHAT = ("user_input", "llm_response", "timestamp")
RUBRICS = recognitions()


def facts(
    name: str = "결과.csv", headers: tuple[str, ...] = LONG, *, checks: bool = False, filters: bool = False
) -> FileFacts:
    return FileFacts(name, headers, has_accuracy_checks=checks, has_expected_filters=filters)


def test_headers_lose_marks_and_blanks() -> None:
    assert COMMON_NAMES.headers(["\ufeffRun ID ", " 질의\n", "\u200b카테고리\xa0\u2060"]) == (
        "Run ID",
        "질의",
        "카테고리",
    )


@pytest.mark.parametrize("broken", ["1차\n답변", "1차\r\n답변", "1차\xa0답변", "1차 \n 답변\xa0", "1차\u3000답변"])
def test_headers_that_were_broken_in_excel_are_read_on_one_line(broken: str) -> None:
    assert COMMON_NAMES.headers([broken, "방/반복"]) == ("1차 답변", "방/반복")
    assert TeamNames({"N차 답변": "Answer\n{n}"}).headers(["Answer\xa02"]) == ("2차 답변",)
    assert TeamNames({"N차 답변": "Answer {n}"}).headers(["Answer\n2"]) == ("2차 답변",)


@pytest.mark.parametrize(
    ("headers", "layout"),
    [
        (LONG, Layout.LONG),
        (("Query ID", "Raw JSON"), Layout.LONG),
        (WIDE, Layout.WIDE),
        (("ID", "질의", "10차 답변 raw"), Layout.WIDE),
        (CHAT, Layout.CHAT),
        (("USER_INPUT", "Llm_Response"), Layout.CHAT),
        (("ID", "질의", "답변"), None),
        (("ID", "질의", "응답"), Layout.WIDE),
        (("query_id", "query", "응답", "응답 시간(초)"), Layout.WIDE),
        (("ID", "질의", "1차 raw"), Layout.WIDE),
        (("ID", "응답"), None),
        (("1차 답변 시간(초)",), None),
        ((), None),
    ],
)
def test_headers_tell_the_layout(headers: tuple[str, ...], layout: Layout | None) -> None:
    assert layout_of(headers) is layout


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("move", AgentType.MOVE), ("이동 에이전트", AgentType.MOVE), ("url_agent", AgentType.MOVE),
        ("실행", AgentType.PLAN), ("plan_agent", AgentType.PLAN), ("PLAN", AgentType.PLAN),
        ("지원자 관리 에이전트", AgentType.APPLICANT_MANAGEMENT),
        ("applicant-management", AgentType.APPLICANT_MANAGEMENT), ("", None), ("기타", None),
    ],
)  # fmt: skip
def test_agents_have_names_in_two_languages(text: str, agent: AgentType | None) -> None:
    assert agent_type_named(text) is agent


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("plan_agent_0224.csv", AgentType.PLAN),
        ("URL_agent_x.xlsx", AgentType.MOVE),
        ("resume_agent_wide.csv", AgentType.APPLICANT_MANAGEMENT),
        ("Plan Agent 0224.csv", AgentType.PLAN),
        ("plan-agent (1).csv", AgentType.PLAN),
        ("url_agent.csv", AgentType.MOVE),
    ],
)
def test_file_name_comes_before_the_option(name: str, agent: AgentType) -> None:
    assert agent_type_of(facts(name), option="plan" if agent is not AgentType.PLAN else "move") is agent


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("이동_결과.csv", AgentType.MOVE),
        ("실행 0224.xlsx", AgentType.PLAN),
        ("플랜 생성_0224.csv", AgentType.PLAN),
        ("0224_실행 에이전트.csv", AgentType.PLAN),
        ("지원자 관리 에이전트_wide.csv", AgentType.APPLICANT_MANAGEMENT),
        ("지원자관리.csv", AgentType.APPLICANT_MANAGEMENT),
        (unicodedata.normalize("NFD", "이동 에이전트.csv"), AgentType.MOVE),
        ("실행결과.csv", None),
        ("테스트 이동.csv", None),
    ],
)
def test_korean_file_name_tells_the_agent_and_no_rubric(name: str, agent: AgentType | None) -> None:
    assert agent_type_of(facts(name)) is agent
    with pytest.raises(UsageError, match="which rubric"):
        rubric_of(facts(name), known=RUBRICS)


@pytest.mark.parametrize(
    ("name", "run_type"),
    [
        ("지원자 관리_전문가_0224.csv", "전문가"),
        ("전문가용 요청 흐름.xlsx", "전문가"),
        (unicodedata.normalize("NFD", "실행_전문가.csv"), "전문가"),
        ("resume_agent_Expert.csv", "전문가"),
        ("plan_agent_expert-flow_2.csv", "전문가"),
        ("비전문가_0224.csv", ""),
        ("plan_agent_expertise.csv", ""),
        ("plan_agent_0224.csv", ""),
    ],
)
def test_file_name_tells_the_expert_flow(name: str, run_type: str) -> None:
    assert run_type_of(name) == run_type


def test_columns_have_the_names_of_a_team() -> None:
    names = TeamNames({"질의": "Question", "N차 답변": "answer {n} (text)"})
    assert names.headers([" Question", "answer 2 (text)", "answer (text)"]) == ("질의", "2차 답변", "answer (text)")


def test_option_comes_before_expected_filters() -> None:
    assert agent_type_of(facts(filters=True), option="move") is AgentType.MOVE


def test_expected_filters_tell_the_applicant_agent() -> None:
    assert agent_type_of(facts(filters=True)) is AgentType.APPLICANT_MANAGEMENT


def test_nothing_tells_no_agent_and_the_error_says_how_to() -> None:
    assert agent_type_of(facts()) is None
    message = str(unknown_agent_type("결과.csv"))
    assert all(word in message for word in ("결과.csv", "--agent-type", "move", "plan", "applicant_management"))


def test_error_about_some_executions_says_how_many_have_no_agent() -> None:
    error = unknown_agent_type("결과.csv", 1, 40)
    assert "1 of 40 executions" in str(error) and "there is no agent_type" not in str(error)
    assert "40건 중 1건" in error.ko


def test_option_that_names_no_agent_is_refused() -> None:
    with pytest.raises(UsageError, match="applicant_management"):
        agent_type_of(facts("plan_agent_1.csv"), option="robot")


@pytest.mark.parametrize(
    ("file", "rubric"),
    [
        (facts(headers=CHAT), "ola-monitoring"),
        (facts("plan_agent_1.csv", checks=True), "recruit-agent"),
        (facts("plan_agent_1.csv"), "plan-agent"),
        (facts("plan_agent_1.csv", WIDE), "plan-agent"),
        (facts("plan agent 1.csv"), "plan-agent"),
        (facts("plan_agents.csv", WIDE), "aqb-1.2"),
        (facts("resume_agent_1.csv", WIDE), "aqb-1.2"),
        (facts(headers=(*LONG, "정답 수치")), "aqb-1.2"),
    ],
)
def test_file_shows_its_rubric(file: FileFacts, rubric: str) -> None:
    assert rubric_of(file, known=RUBRICS) == rubric


def test_rubric_of_asks_for_a_choice_where_two_rubrics_are_shown_equally() -> None:
    known = {name: Recognition(file_prefixes=("plan_",)) for name in ("one", "two")}
    with pytest.raises(UsageError, match="one, two"):
        rubric_of(facts("plan_1.csv"), known=known)


def test_file_shows_its_rubric_by_a_name_in_korean_as_a_mac_writes_it() -> None:
    known = {"own": Recognition(file_prefixes=("상담봇_",)), "wide": Recognition(layouts=frozenset({Layout.WIDE}))}
    assert rubric_of(facts(unicodedata.normalize("NFD", "상담봇 0224.csv"), WIDE), known=known) == "own"


def test_rubric_of_takes_a_column_of_a_rubric_above_the_layout_of_another() -> None:
    known = {"wide": Recognition(layouts=frozenset({Layout.WIDE})), "own": Recognition(columns=frozenset({"내 열"}))}
    assert rubric_of(facts(headers=(*WIDE, "내 열")), known=known) == "own"


def test_option_comes_first() -> None:
    assert rubric_of(facts(headers=CHAT), option="plan-agent", known=RUBRICS) == "plan-agent"


@pytest.mark.parametrize("option", ["", "plan"])
def test_error_lists_every_rubric(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        rubric_of(facts(), option=option, known=RUBRICS)
    assert all(rubric in str(caught.value) for rubric in RUBRICS)


@pytest.mark.parametrize("agent", AgentType)
def test_agent_is_known_everywhere_that_tells_one_from_another(agent: AgentType) -> None:
    error = unknown_agent_type("a.csv")
    assert agent_type_named(agent) is agent_type_named(AGENT_TITLES[agent]) is agent
    assert agent_type_of(facts(f"{AGENT_TITLES[agent]}_결과.csv")) is agent
    assert all(AGENT_TITLES[agent] in text for text in (error.fix, error.ko))
    assert agent in thresholds.PASSING_TOOLS
    assert {(latency_class, agent) for latency_class in LatencyClass} <= thresholds.SPEED_BANDS.keys()
