"""What `aqb judge switch` prints."""

from scoring.testruns.two_judges import MovedQuery
from tasks.judge_quality.switch import Switch
from tasks.reports.markdown.judge_quality import switch_markdown


def moved(query_id: str, title: str) -> MovedQuery:
    return MovedQuery("resume.csv", query_id, "지원자 몇 명?", title, 4.0, 2.0)


def test_query_that_moved_in_two_metrics_is_one_query() -> None:
    moves = (moved("A1", "의도 충족"), moved("A1", "일관성"), moved("A2", "의도 충족"))
    text = switch_markdown(Switch("judge-1", "judge-2", 4, (), moves, {}, ("e1", "e2"), None))
    assert "## 점수가 달라진 질의 2개\n" in text
    assert text.count("resume.csv") == 3
    assert "그 밖에" not in text


def test_queries_that_are_not_listed_are_counted() -> None:
    moves = tuple(moved(f"A{number}", "의도 충족") for number in range(31))
    text = switch_markdown(Switch("judge-1", "judge-2", 31, (), moves, {}, ("e1", "e2"), None))
    assert text.count("resume.csv") == 20
    assert "많이 달라진 것부터 20줄만 실었습니다. 그 밖에 11줄이 있습니다." in text
