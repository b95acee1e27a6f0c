"""What people read of two test runs: what moved, in which direction, and the reason of the run that is lower."""

from dataclasses import replace

import pytest

from scoring.stats.comparison import Comparison, compare_testruns
from scoring.stats.outages import Failures
from scoring.stats.run_scores import QueryScores, TestRunScores
from tasks.reports.markdown.comparison import comparison_headline, comparison_markdown

FAILED = (
    "1/1 체크 3개 중 통과한 것이 없어 0점: formType=ACTION: 맞는 항목이 없음 (실제: LINK); "
    "앞 조건에 맞는 항목이 없어 actionType=SAVE도 실패; 앞 조건에 맞는 항목이 없어 dataKey=A도 실패"
)


def compared(*pairs: tuple[float, float]) -> Comparison:
    """Runs of queries with an accuracy before and now."""
    base, candidate = [
        TestRunScores(
            f"{side}.csv",
            "plan-agent",
            "2",
            {
                str(place): QueryScores(f"질의 {place}", {"accuracy": pair[side]}, reasons={"accuracy": FAILED})
                for place, pair in enumerate(pairs)
            },
        )
        for side in (0, 1)
    ]
    return compare_testruns(base, candidate, {"accuracy": "정확성"})


def test_first_sentence_says_how_many_got_worse_also_where_no_verdict_is_due() -> None:
    counts, verdict, first = comparison_headline(compared((5, 0), (5, 5), (5, 4)))
    assert counts == "짝지은 질의 3개 가운데 답변이 나빠진 질의 2개, 좋아진 질의 0개입니다."
    assert "판단 보류" in verdict
    assert "정확성 5.00 → 3.00" in verdict
    assert "질의 0" in first


def test_nobody_is_sent_to_a_query_where_nothing_but_times_got_worse() -> None:
    base, candidate = [
        TestRunScores(
            "a.csv", "plan-agent", "2", {str(n): QueryScores(f"질의 {n}", {"speed": speed}) for n in range(3)}
        )
        for speed in (5, 3)
    ]
    found = compare_testruns(base, candidate, {"speed": "응답 속도"}, {"speed": 1})
    counts, verdict = comparison_headline(found)
    assert counts == "짝지은 질의 3개 가운데 속도만 느려진 질의 3개입니다."
    assert "응답 속도 5.00 → 3.00" in verdict


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ((0, 20), "후보의 실행 100건 중 20건(20%)이 실패하거나 빈 응답(기준 0건)이어서 그 0점이 차이에 들어 있습니다."),
        ((20, 0), "기준의 실행 100건 중 20건(20%)이 실패하거나 빈 응답(후보 0건)이어서 그 0점이 차이에 들어 있습니다."),
    ],
)
def test_headline_begins_with_the_run_of_which_more_executions_failed(failed: tuple[int, int], said: str) -> None:
    same = compared((5, 0), (5, 5), (5, 4))
    base, candidate = (
        replace(run, failures=Failures(count, 100))
        for run, count in zip((same.base, same.candidate), failed, strict=True)
    )
    assert comparison_headline(compare_testruns(base, candidate, {"accuracy": "정확성"}))[0] == said


def test_headline_without_a_total_says_that_it_is_not_compared() -> None:
    base, candidate = [
        TestRunScores(
            "a.csv",
            "aqb-1.2",
            "2",
            {
                str(n): QueryScores(f"질의 {n}", {"speed": 4 + (-1) ** n * moved, "weighted_total": 4})
                for n in range(30)
            },
            withheld,
        )
        for moved, withheld in ((0, frozenset[str]()), (0.01, frozenset({"semantic"})))
    ]
    found = compare_testruns(base, candidate, {"speed": "응답 속도", "weighted_total": "종합 점수"})
    verdict = comparison_headline(found)[1]
    chance = "판단 보류: 비교한 지표는 차이가 우연과 구별되지 않음"
    assert f"{chance}, 미판정 질의가 많아 비교하지 않은 지표: 종합 점수" in verdict


def test_runs_with_the_same_scores_are_said_to_be_the_same() -> None:
    found = compared((5, 5), (0, 0))
    assert comparison_headline(found) == ["두 실행에서 질의 2개의 점수가 모두 같습니다."]
    base, candidate = (replace(run, sha256="ab") for run in (found.base, found.candidate))
    again = comparison_headline(compare_testruns(base, candidate, {"accuracy": "정확성"}))
    assert again == ["두 실행에서 질의 2개의 점수가 모두 같습니다. 같은 결과 파일을 두 번 채점한 것입니다."]


def test_reason_names_its_run_and_no_consequences() -> None:
    worse, _, better = comparison_markdown(compared((5, 0), (0, 5)), []).partition("## 좋아진 질의")
    assert "정확성(후보): 1/1 체크 3개 중" in worse
    assert "정확성(기준): 1/1 체크 3개 중" in better
    assert "formType=ACTION: 맞는 항목이 없음" in better
    assert "앞 조건에 맞는 항목이 없어" not in worse + better


def test_reworded_queries_are_left_out_and_counted() -> None:
    found = compared((5, 0), (5, 5), (5, 4))
    queries = {**found.candidate.queries, "0": replace(found.candidate.queries["0"], text="다른 것을 묻는 질의")}
    again = compare_testruns(found.base, replace(found.candidate, queries=queries), {"accuracy": "정확성"})
    assert "짝지은 질의 2개" in comparison_headline(again)[0]
    assert comparison_headline(again)[0].endswith("(문장이 바뀐 1개는 비교에서 뺐습니다).")
    text = comparison_markdown(again, [])
    assert "| 정확성 | 5.00 | 4.50 |" in text
    assert "ID는 같지만 문장이 바뀌어 비교하지 않은 질의 1개: 다른 것을 묻는 질의" in text


# Of two runs of one agent one of four metrics seems to have changed in 15 of 100: each is judged at 95 % by itself.
def test_readers_are_told_that_one_metric_of_twenty_seems_to_have_changed_by_chance() -> None:
    text = comparison_markdown(compared((5, 4), (5, 5)), [])
    assert "달라진 것이 없어도 지표 스무 개 가운데 하나쯤은 달라졌다고 나옵니다" in text
