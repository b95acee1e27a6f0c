"""Patterns of what goes wrong: failed checks by key, causes of stability 0; and bands as Korean text."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from scoring.rules.bands import Bands, band_rows, band_text
from scoring.testruns.check_results import evaluate
from scoring.testruns.checks import Item
from scoring.testruns.executions import Execution, LatencyClass, Round
from scoring.testruns.expected import parse_expected
from scoring.testruns.page_parts import check_table
from scoring.testruns.patterns import check_patterns, failed_check_lines, main_causes, outages
from scoring.testruns.raw_json import parse_raw_json, response_of
from scoring.testruns.rubric import Score, ScoredExecution

CHECKS = """@check assistantMessageContains=조회
dataUIList 내 formType 값이 "LINK"인 항목이 존재하는가
해당 항목의 value 내 dataKey 값이 "A]B"인가
{"accuracyChecks": [{"path": "guideList[0].text", "op": "exists"}, {"path": "[*]", "op": "exists"}]}"""
ITEMS = parse_expected(CHECKS).items
AT_MOST = Bands("at_most", ((5, 5), (8, 4)), beyond=0)
AT_LEAST = Bands("at_least", ((1, 5), (0.75, 4)), beyond=1)


def scored(
    query_id: str,
    message: str = "",
    *,
    offers: Sequence[Mapping[str, object]] = (),
    stability: Score | None = None,
    failed: bool = False,
    items: Sequence[Item] = ITEMS,
) -> ScoredExecution:
    document = {"assistantMessage": message, "dataUIList": [{"uiValue": offer} for offer in offers]}
    return ScoredExecution(
        execution=Execution(query_id, Round(1, 1)),
        failed=failed,
        empty=False,
        latency_s=None,
        latency_class=LatencyClass.SINGLE,
        scores={"stability": stability or Score(5, "")},
        checks=evaluate(items, response_of(document)),
    )


def test_check_is_named_by_what_it_looks_at() -> None:
    keys = [check.key for check in scored("Q-1").checks]
    assert sorted(keys) == ["assistantMessage", "dataKey", "formType", "path", "text"]


def test_failed_checks_are_listed_with_their_key_consequences_included() -> None:
    assert failed_check_lines(scored("Q-1", "조회").checks)[:2] == [
        "[formType] formType=LINK: 맞는 항목이 없음 (실제: 없음)",
        "[dataKey] 앞 조건에 맞는 항목이 없어 dataKey=A]B도 실패",
    ]


def test_failed_checks_are_counted_by_what_was_expected_and_offered() -> None:
    runs = [
        scored("Q-2", offers=[{"formType": "ACTION"}]),
        scored("Q-1", offers=[{"formType": "ACTION"}, {"formType": "ACTION"}]),
        scored("Q-3", "조회", offers=[{"formType": "SELECT"}, {"formType": "ACTION"}]),
        scored("Q-4", "조회"),
    ]
    found = {(one.key, one.cause): (one.asked, one.failed, one.query_ids) for one in check_patterns(runs)}
    assert found["formType", "기대 LINK, 실제 ACTION"] == (4, 2, ("Q-1", "Q-2"))
    assert found["formType", "기대 LINK, 실제 ACTION, SELECT"] == (4, 1, ("Q-3",))
    assert found["formType", "기대 LINK, 실제 없음(화면 항목이 없음)"] == (4, 1, ("Q-4",))
    assert found["assistantMessage", '답변에 "조회" 언급이 없음'] == (4, 2, ("Q-1", "Q-2"))


@pytest.mark.parametrize(("offered", "named"), [("ABCDE", "A, B, C, D, E"), ("ABCDEF", "A, B, C, D, E 외 1개")])
def test_of_what_was_offered_five_are_named_and_the_others_counted(offered: str, named: str) -> None:
    found = check_patterns([scored("Q-1", offers=[{"formType": one} for one in offered])])
    assert f"기대 LINK, 실제 {named}" in [one.cause for one in found]


@pytest.mark.parametrize(
    ("of_both", "of_one"),
    [
        ("@check assistantMessageContains=조회", "@check assistantMessageContains=검색"),
        ("@check numberContains=3", "@check numberContains=4"),
        ("@check formType=LINK", "@check formType=SELECT"),
        (
            '{"accuracyChecks": [{"path": "a.text", "op": "eq", "value": "조회"}]}',
            '{"accuracyChecks": [{"path": "a.text", "op": "eq", "value": "검색"}]}',
        ),
    ],
)
def test_failed_check_is_one_of_those_that_want_the_same(of_both: str, of_one: str) -> None:
    both, one = (parse_expected(text).items for text in (of_both, f"{of_both}\n{of_one}"))
    other = parse_expected(of_one).items
    runs = [scored("Q-1", items=both), scored("Q-2", items=one), *(scored(f"Q-{n}", items=other) for n in range(3, 9))]
    assert sorted((pattern.failed, pattern.asked) for pattern in check_patterns(runs)) == [(2, 2), (7, 7)]


def test_followers_of_an_opener_that_fails_are_no_cause_of_their_own() -> None:
    patterns = check_patterns([scored("Q-1", "조회", offers=[{"formType": "ACTION"}])])
    assert "dataKey" not in {pattern.key for pattern in patterns}
    assert (patterns[0].key, patterns[0].failed, patterns[0].followers) == ("formType", 1, 1)


def test_follower_of_an_entry_that_is_there_is_a_cause() -> None:
    patterns = check_patterns([scored("Q-1", "조회", offers=[{"formType": "LINK", "value": {"dataKey": "C"}}])])
    assert ("dataKey", "기대 A]B, 실제 C", 0) in [(one.key, one.cause, one.followers) for one in patterns]


def test_cause_of_most_failed_checks_comes_first() -> None:
    two = [scored(name, offers=[{"formType": "ACTION"}]) for name in ("Q-1", "Q-2")]
    found = [(one.key, one.failed + one.followers) for one in check_patterns([*two, scored("Q-3")])]
    assert found[0] == ("formType", 4)
    assert [count for _, count in found] == sorted((count for _, count in found), reverse=True)


def test_what_failed_was_not_checked() -> None:
    assert check_patterns([scored("Q-1", failed=True)]) == []


def test_causes_of_failure_are_counted_without_their_ids_and_times() -> None:
    causes = ["오류: HTTP 502", "오류: HTTP 504", "오류: id 12345678", "오류: id 87654321"]
    found = outages([scored(f"Q-{n}", stability=Score(0, cause)) for n, cause in enumerate(causes)] + [scored("Q-9")])
    assert [(outage.cause, outage.count, outage.query_ids) for outage in found] == [
        ("오류: id …", 2, ("Q-2", "Q-3")),
        ("오류: HTTP 502", 1, ("Q-0",)),
        ("오류: HTTP 504", 1, ("Q-1",)),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("084f3dd6-415a-f341-ee52-bdb6d1020a15", "4C41D9C0-F075-34FE-EACC-110E4F73FD94"),  # UUIDs
        ("af8e1ec93b87", "d0d955517c4a"),
        ("5f0c1e7b2a9d4c3e8f6a7b1c2d3e4f50", "c7a84e2cbdbe4f8b9a0e1d2c3b4a5f69"),
    ],
)
def test_error_that_names_its_request_in_hexadecimal_digits_is_one_cause(first: str, second: str) -> None:
    reasons = [f"실행 실패: Read timed out (request {one}를 처리하지 못함)" for one in (first, second)]
    found = outages([scored(f"Q-{n}", stability=Score(0, one)) for n, one in enumerate(reasons)])
    assert [(outage.cause, outage.count) for outage in found] == [
        ("실행 실패: Read timed out (request …를 처리하지 못함)", 2)
    ]


def test_text_that_was_cut_at_many_places_is_one_cause() -> None:
    whole = '{"assistantMessage": "네, 찾았습니다"}'
    reasons = [parse_raw_json(whole[:length]) for length in (5, 20, 30)]
    assert len(set(map(str, reasons))) > 1  # each says where
    found = outages([scored(f"Q-{n}", stability=Score(0, str(one))) for n, one in enumerate(reasons)])
    cause = "Raw JSON을 해석할 수 없음: 형식이 잘못되었거나 내보낼 때 잘림"
    assert [(outage.cause, outage.count) for outage in found] == [(cause, 3)]


def test_bands_are_written_with_the_edge_they_include() -> None:
    assert band_rows(AT_MOST, "초") == [("5초 이하", 5), ("5초 초과 8초 이하", 4), ("8초 초과", 0)]
    assert band_rows(AT_LEAST) == [("1 이상", 5), ("0.75 이상 1 미만", 4), ("0.75 미만", 1)]
    assert band_rows(AT_LEAST, maximum=1)[0] == ("1", 5)


@pytest.mark.parametrize(("number", "text"), [(Fraction(3, 4), "0.75 이상 1 미만"), (Fraction(2, 3), "0.75 미만")])
def test_number_is_shown_with_its_band(number: Fraction, text: str) -> None:
    assert band_text(AT_LEAST, number) == text


def test_main_cause_of_an_answer_is_the_one_with_most_consequences() -> None:
    """The message comes first among the checks, yet the missing entry takes two other checks with it."""
    checks = """@check assistantMessageContains=조회
dataUIList 내 formType 값이 "LINK"인 항목이 존재하는가
해당 항목의 value 내 dataKey 값이 "A"인가
해당 항목의 value 내 buttonKey 값이 "B"인가"""
    answer = response_of({"assistantMessage": "", "dataUIList": [{"uiValue": {"formType": "SELECT"}}]})
    causes = main_causes(evaluate(parse_expected(checks).items, answer))
    assert [cause.partition(":")[0] for cause in causes] == ["formType", "assistantMessage"]


def test_table_of_checks_on_a_page_says_how_many_it_leaves_out() -> None:
    pattern = {"key": "formType", "cause": "없음", "failed": 1, "asked": 2, "followers": 0, "query_ids": ["Q-1"]}
    assert check_table([pattern] * 15).caption == "통과하지 못한 체크"
    cut = check_table([pattern] * 17)
    assert (len(cut.rows), cut.caption) == (15, "통과하지 못한 체크 (많은 것부터 15가지, 그 밖에 2가지)")
