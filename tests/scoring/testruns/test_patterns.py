"""Patterns of what goes wrong: failed checks by key, causes of stability 0; and bands as Korean text."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from scoring.rules.bands import Bands, band_rows, band_text
from scoring.testruns.check_results import evaluate
from scoring.testruns.executions import Execution, LatencyClass, Round
from scoring.testruns.expected import parse_expected
from scoring.testruns.patterns import check_keys, check_patterns, failed_check_lines, outages
from scoring.testruns.raw_json import response_of
from scoring.testruns.rubric import Score, ScoredExecution

CHECKS = """@check assistantMessageContains=조회
dataUIList 내 formType 값이 "LINK"인 항목이 존재하는가
해당 항목의 value 내 dataKey 값이 "A]B"인가
{"accuracyChecks": [{"path": "guideList[0].text", "op": "exists"}, {"path": "[*]", "op": "exists"}]}"""
ITEMS = parse_expected(CHECKS).items
AT_MOST = Bands("at_most", ((5, 5), (8, 4)), beyond=0)
AT_LEAST = Bands("at_least", ((1, 5), (0.75, 4)), beyond=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(ScoredExecution):
    failed_checks: list[str]


def scored(query_id: str, message: str = "", *, stability: Score | None = None, failed: bool = False) -> Checked:
    results = evaluate(ITEMS, response_of({"assistantMessage": message}))
    return Checked(
        execution=Execution(query_id, Round(1, 1)),
        failed=failed,
        empty=False,
        latency_s=None,
        latency_class=LatencyClass.SINGLE,
        scores={"stability": stability or Score(5, "")},
        failed_checks=failed_check_lines(ITEMS, results),
    )


def test_a_check_is_named_by_what_it_looks_at() -> None:
    assert sorted(check_keys(ITEMS)) == ["assistantMessage", "dataKey", "formType", "path", "text"]


def test_failed_checks_are_counted_by_key_with_the_commonest_reason() -> None:
    patterns = check_patterns([scored("Q-2"), scored("Q-1"), scored("Q-3", "조회")], lambda _: ITEMS)
    by_key = {pattern.key: pattern for pattern in patterns}
    assert [pattern.failed for pattern in patterns] == [3, 3, 3, 3, 2]
    message = by_key["assistantMessage"]
    assert (message.asked, message.failed, message.query_ids) == (3, 2, ("Q-1", "Q-2"))
    assert (message.commonest, message.commonest_count) == ('답변에 "조회"의 언급이 없음', 2)


def test_what_failed_was_not_checked() -> None:
    assert check_patterns([scored("Q-1", failed=True)], lambda _: ITEMS) == []


def test_causes_of_failure_are_counted_without_their_ids_and_times() -> None:
    causes = ["오류: HTTP 502", "오류: HTTP 504", "오류: id 12345678", "오류: id 87654321"]
    found = outages([scored(f"Q-{n}", stability=Score(0, cause)) for n, cause in enumerate(causes)] + [scored("Q-9")])
    assert [(outage.cause, outage.count, outage.query_ids) for outage in found] == [
        ("오류: id …", 2, ("Q-2", "Q-3")),
        ("오류: HTTP 502", 1, ("Q-0",)),
        ("오류: HTTP 504", 1, ("Q-1",)),
    ]


def test_bands_are_written_with_the_edge_they_include() -> None:
    assert band_rows(AT_MOST, "초") == [("5초 이하", 5), ("5초 초과 8초 이하", 4), ("8초 초과", 0)]
    assert band_rows(AT_LEAST) == [("1 이상", 5), ("0.75 이상 1 미만", 4), ("0.75 미만", 1)]
    assert band_rows(AT_LEAST, maximum=1)[0] == ("1", 5)


@pytest.mark.parametrize(("number", "text"), [(Fraction(3, 4), "0.75 이상 1 미만"), (Fraction(2, 3), "0.75 미만")])
def test_a_number_is_shown_with_its_band(number: Fraction, text: str) -> None:
    assert band_text(AT_LEAST, number) == text
