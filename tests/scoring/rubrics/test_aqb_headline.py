"""What a report begins with: missed targets, lost points, failures, what a total covers, and queries for a person."""

from scoring.rubrics.aqb import RUBRIC
from tests.builders.aqb_runs import execution, move, report, run


def test_headline_joins_missed_targets_lost_points_and_failures_in_one_sentence() -> None:
    wrong = [execution(f"Q-{number}", used="") for number in range(40)]
    sentence = RUBRIC.headline(*run(*wrong, execution("Q-40", error="x")))[1]
    assert sentence.startswith("목표에 못 미친 것은 ")
    assert sentence.endswith("사용 없음' 40건), 실패하거나 빈 응답은 1건입니다.")
    assert sentence.count("이고, ") == 1


def test_headline_names_the_agent_of_a_missed_target_where_there_are_several() -> None:
    wrong = [execution(f"Q-{number}", used="") for number in range(40)]
    alone, of_two = (RUBRIC.headline(*run(*rows))[1] for rows in (wrong, [*wrong, move("Q-40")]))
    assert alone.startswith("목표에 못 미친 것은 도구 사용 정확도(필터/datakey) 0.0%(목표 98% 이상)")
    assert of_two.startswith(
        "목표에 못 미친 것은 지원자 관리 에이전트의 도구 사용 정확도(필터/datakey) 0.0%(목표 98% 이상)"
    )


def test_headline_says_what_a_total_covers() -> None:
    what, most, todo = RUBRIC.headline(*run(execution("Q-1"), execution("Q-2", error="x")))
    assert what == (
        "질의 2개의 실행 2건을 채점했고 종합 점수(5점 만점)는 지원자 관리 에이전트 2.29점"
        "(의도 충족·일관성 없이 가중치의 70%만 채점)입니다."
    )
    assert most == (
        "점수를 가장 많이 잃은 지표는 정확성(가장 큰 원인은 '응답 실패: x' 1건)이고, 실패하거나 빈 응답은 1건입니다."
    )
    assert todo == "수기 확인이 필요한 질의 1개를 '보훈 지원자 수'부터 확인하세요."


def test_queries_for_a_person_are_listed_by_the_points_they_lost() -> None:
    low = execution("Q-1", query_text="필터가 틀린 질의", used="LICENSE")
    failed = execution("Q-2", query_text="실패한 질의", error="x")
    text = report(low, failed)
    listed = text[text.index("## 수기 확인이 필요한 질의") :]
    assert listed.index("실패한 질의") < listed.index("필터가 틀린 질의")
