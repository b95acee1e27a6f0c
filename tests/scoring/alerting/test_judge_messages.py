"""The Warning about a judge that has changed: what happened, how sure it is, what to do, once."""

from dataclasses import replace
from datetime import date

from scoring.alerting.blocks import readable
from scoring.alerting.judge_messages import JudgeNews, ModelChange, judge_message
from scoring.stats.self_agreement import AnchorNight, watched
from tests.scoring.alerting.slack_rules import assert_taken_by_slack

NIGHTS = watched([AnchorNight(date(2026, 3, 1), 950, 1000), AnchorNight(date(2026, 3, 2), 78, 100)])
QUERIES = tuple(f"{number}번 지원자의 연락처 010-1234-5678" for number in range(9))
NEWS = JudgeNews("set", "judge-1", NIGHTS[-1], (), QUERIES, 100, 40, 0.03)
OTHER = ModelChange("e2", "judge-1-2026-01-01", "judge-1-2026-06-01")


def test_judge_message_says_how_sure_the_change_is_and_what_to_type() -> None:
    (message,) = judge_message(NEWS)
    assert_taken_by_slack(message)
    assert (message.kind, message.level, message.keys) == ("failure", "warning", ("judge|set|answers|2026-03-02",))
    text = readable(message.blocks)
    assert "앵커 질문 100개 가운데 78개(78.0%)에 저장된 판정과 같은 답을 했습니다." in text
    assert "그 전의 밤에는 95.0%(950/1,000, 95% 구간 93.5~96.2%)였습니다." in text
    assert "같은 답이 이만큼 적을 확률은 0.01% 미만입니다." in text
    assert "aqb judge anchors --renew" in text
    assert text.count("번 지원자의 연락처 [전화번호]") == 5
    assert judge_message(NEWS, message.keys) == []


def test_judge_message_tells_another_model_even_where_answers_stay_the_same() -> None:
    news = replace(NEWS, watched=NIGHTS[0], changes=(OTHER,), different=())
    (message,) = judge_message(news)
    assert message.keys == ("judge|set|epoch|e2",)
    assert "답하는 모델이 바뀌었습니다: judge-1-2026-01-01 → judge-1-2026-06-01." in readable(message.blocks)
    assert judge_message(replace(news, changes=(OTHER, replace(OTHER, epoch="e3"))), message.keys)[0].keys == (
        "judge|set|epoch|e3",
    )


def test_judge_news_say_that_nobody_answered_and_that_a_cost_is_unknown() -> None:
    silent = replace(NIGHTS[-1], night=AnchorNight(date(2026, 3, 2), 0, 0))
    assert replace(NEWS, watched=silent).lines == ["앵커 질문 100개에 판정 모델이 하나도 답하지 않았습니다."]
    assert NEWS.lines[-1] == "든 비용: 0.0300 USD."
    assert replace(NEWS, usd=None).lines[-1] == "든 비용: 가격이나 사용량을 몰라 계산하지 못함."


def test_judge_message_is_not_sent_about_a_judge_that_is_the_same() -> None:
    assert judge_message(replace(NEWS, watched=NIGHTS[0])) == []


def test_judge_message_makes_what_an_endpoint_calls_itself_harmless() -> None:
    evil = replace(OTHER, after="<!channel> http://evil.test \u202e" + "x" * 500)
    (message,) = judge_message(replace(NEWS, model="<!here>", changes=(evil,)))
    assert_taken_by_slack(message)
    assert "http://evil" not in readable(message.blocks)
