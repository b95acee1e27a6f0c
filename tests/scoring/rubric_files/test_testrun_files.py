"""A rubric file for test runs: what is wrong is refused at its place, what is right scores in Python."""

import tomllib
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import polars as pl
import pytest

from scoring import score_runs
from scoring.catalog import rubric_of_text, testrun_rubric_of_text
from scoring.errors import UsageError
from scoring.rubric_files.testruns.shape import testrun_rubric_schema
from scoring.testruns.executions import Execution, Round
from tasks.reports.testrun_folder import testrun_report
from tests.builders.rubric_files import EXAMPLES, STARTERS, assert_refused

STARTER = (STARTERS / "starter_testrun_rubric.toml").read_text("utf-8")
EXAMPLE = (EXAMPLES / "support-tests.toml").read_text("utf-8")
HEAD = 'kind = "testrun"\nid = "my-tests"\nversion = "1"\ntitle = "My tests"\nsummary = "Mine"\n'
ACCURACY = '[metrics.accuracy]\ntitle = "Accuracy"\nof = "pass_ratio"\nat_least = [[1, 5], [0.5, 3]]\n'
HEADER = ["query_id", "query", "카테고리", "기대결과", "1차 답변", "1차 답변 시간(초)", "2차 답변", "2차 답변 시간(초)"]


def scored(text: str, *rows: list[str]) -> Any:
    """The tables of a test run with two rounds whose cells are `HEADER`."""
    return score_runs(pl.DataFrame(list(rows), schema=HEADER, orient="row"), text)


def points(found: Any, metric: str) -> list[float | None]:
    values: list[float | None] = found.scores[f"{metric}_score"].to_list()
    return values


@pytest.mark.parametrize(
    ("old", "new", "at", "what", "fix"),
    [
        ('kind = "testrun"', 'kind = "tests"', '"tests"', "no kind of rubric", '"testrun"'),
        ('kind = "testrun"\n', "", "# A rubric", "the key kind is missing", "add kind"),
        ("[checks.polite]", "[chekcs.polite]", "[chekcs.polite]", "no key chekcs", "did you mean checks?"),
        ("weight = 2", "weight = 0", "0", "checks.no_refusal.weight", ""),
        ("only_if = \"category != 'out", "only_if = \"topic != 'out", "topic", "no column topic", "category"),
        ('of = "pass_ratio"', 'of = "answer"', "[[1, 5]", "a text >= a whole number", "texts with texts"),
        ("[0.75, 4], [0.5, 3]", "[0.75, 4], [0.8, 3]", "[[1, 5]", "must fall", "order"),
        ("[[1, 5], [0.75", "[[1, 6], [0.75", "[[1, 6]", "accuracy gives from 0 to 6 points", "from 0 to 5"),
        ('only_if = "answered"', 'only_if = "latency_s"', 'latency_s"', "expected a condition", "compare"),
        ('of = "accuracy_same"', 'of = "consistency_score"', 'consistency_score"', "no column consistency_", "accura"),
        ("per_query = true\n", "", 'accuracy_same"', "no column accuracy_same", ""),
        ("accuracy = 70", "accuracy = 60", "{ accuracy", "90 %", "change some"),
        ("{ accuracy = 70", "{ acuracy = 70", "70", "no metric acuracy", "accuracy, speed"),
        ("[[1, 5], [0.75, 4]", "[[100, 5], [75, 4]", "[[100", "no value is at least 100: they go from 0 to 1", ""),
        ("at_least = 4, title", "at_least = 80, title", "[{ code", "no value is at least 80: they go from 0 to 5", ""),
        ("at_least = 4, title", "at_least = 2, title", "[{ code", "must fall", ""),
        ('code = "WEAK"', 'code = "pass"', "[{ code", "one code", ""),
        ("[review.failed_test]", "[review.failed]", "[review.failed]", "name failed has a meaning", "another"),
        ("verdict = 'FAIL'", "verdict = 'FAILED'", "verdict =", "no code FAILED", "did you mean FAIL?"),
        ("category = 'how to'", "latency_class = 'single'", "latency_class", "no code single", "'SINGLE'"),
        ("unanswered > 0", "unanswerd > 0", "unanswerd", "no column unanswerd", "unanswered?"),
    ],
)
def test_rubric_file_for_test_runs_that_is_wrong_is_refused_with_its_place(
    old: str, new: str, at: str, what: str, fix: str
) -> None:
    assert STARTER.count(old) == 1
    assert_refused(rubric_of_text, STARTER.replace(old, new), at, what, fix)


def test_rubric_files_for_test_runs_fit_their_schema_and_misspelt_keys_do_not() -> None:
    schema = testrun_rubric_schema()
    for text in (STARTER, EXAMPLE):
        jsonschema.validate(tomllib.loads(text), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(STARTER.replace("called", "caled")), schema)


def test_checks_of_the_file_and_of_expected_results_count_by_their_weight() -> None:
    text = HEAD + (
        '[checks.short]\ntitle = "Short"\nwhen = "LENGTH(answer) <= 10"\nweight = 3\n'
        '[checks.how_to]\ntitle = "Steps"\nwhen = "REGEXP_CONTAINS(answer, \'1\')"\nonly_if = "category = \'how to\'"\n'
        f"{ACCURACY}[total]\nweights = {{ accuracy = 100 }}\n"
    )
    found = scored(text, ["a", "Q", "", "@check assistantMessageContains=yes", "yes", "1", "no", "1"])
    assert found.scores.select("pass_count", "check_count", "pass_ratio", "accuracy_score").rows() == [
        (2, 2, 1.0, 5.0),
        (1, 2, 0.75, 3.0),
    ]
    assert found.scores["failed_checks"].to_list() == [[], ['[assistantMessage] 답변에 "yes" 언급이 없음']]
    assert scored(text, ["b", "Q", "how to", "", "yes", "1", "", ""]).scores["check_count"].to_list() == [2]


def test_execution_without_an_answer_has_no_points_unless_the_metric_leaves_it_out() -> None:
    found = scored(STARTER, ["a", "Q", "order", "", "Thank you", "1", "", "3"])
    assert (points(found, "accuracy"), points(found, "speed")) == ([5.0, 0.0], [5.0, None])
    assert found.scores["accuracy_reason"][1] == "빈 응답: 답변이 비어 있음"
    assert found.queries["manual_review_reasons"].to_list() == [["failed_test"]]


def test_metric_without_its_number_is_not_scored_and_counted() -> None:
    text = HEAD + ACCURACY + "[total]\nweights = { accuracy = 100 }\n"
    found = scored(text, ["a", "Q", "", "", "yes", "1", "no", "1"])
    assert points(found, "accuracy") == [None, None]
    criteria = testrun_rubric_of_text(text).criteria["accuracy"]
    assert criteria[-1] == ("0", "체크 통과율 < 0.5")  # and not: or without a value
    assert found.summary["data_quality"]["no_value"] == 2
    assert found.queries["weighted_total"].to_list() == [None]


def test_sum_and_the_first_of_several_conditions_give_points_with_their_reasons() -> None:
    text = HEAD + (
        '[metrics.style]\ntitle = "Style"\nsum = [{ when = "REGEXP_CONTAINS(answer, \'please\')", gives = 2, '
        'label = "Polite" }, { of = "LENGTH(answer)", at_most = [[20, 3], [40, 1]], called = "Characters" }]\n'
        '[metrics.calls]\ntitle = "Calls"\nfirst = [{ when = "tool_calls IS NULL", gives = 1, label = "Unknown" }]\n'
        "[total]\nweights = { style = 60, calls = 40 }\n"
    )
    found = scored(text, ["a", "Q", "", "", "please wait", "1", "x" * 30, "1"])
    assert points(found, "style") == [5.0, 1.0]
    assert found.scores["style_reason"].to_list() == [
        "Polite 2점, Characters ≤ 20 3점: 5점",
        "Polite 0점, Characters ≤ 40 1점: 1점",
    ]
    assert found.scores["calls_reason"][0] == "Unknown: 1점"


def test_no_pattern_of_a_file_can_hang_a_run() -> None:
    text = HEAD + (
        '[metrics.style]\ntitle = "Style"\nwhen = "REGEXP_CONTAINS(answer, \'(a+)+b\')"\ngives = 5\n'
        "[total]\nweights = { style = 100 }\n"
    )
    found = scored(text, ["a", "Q", "", "", "a" * 2_000, "1", "a" * 2_000 + "b", "1"])
    assert points(found, "style") == [0.0, 5.0]


def test_query_has_its_own_metrics_total_and_verdict() -> None:
    alike = ["a", "Q", "order", "", "Thank you", "1", "Thank you", "1"]
    split = ["b", "Q2", "order", "", "Thank you", "1", "I cannot", "1"]
    once = ["c", "Q3", "order", "", "Thank you", "1", "", ""]
    queries = scored(STARTER, alike, split, once).queries
    shown = ("consistency_score", "weighted_total", "weight_coverage", "verdict", "flag_manual_review")
    assert queries.select(shown).rows() == [
        (5.0, 5.0, 1.0, "PASS", False),
        (0.0, 2.75, 1.0, "WEAK", False),
        (None, 5.0, 0.9, "PASS", False),
    ]


def test_report_lists_the_queries_that_lost_points_alone() -> None:
    def reported(*answers: str) -> str:
        rubric = testrun_rubric_of_text(STARTER)
        options = rubric.chosen({})
        asked = [
            Execution(query_id=f"Q-{n}", round=Round(1, 1), answer_text=answer, category="order", answer_time_s=1.0)
            for n, answer in enumerate(answers)
        ]
        queries = [rubric.score_query([one], options, {}) for one in asked]
        report = testrun_report(rubric, "runs.csv", queries, rubric.summarise(queries, options), options)
        return report[report.index("## 점수를 가장 많이 잃은 질의") :]

    assert "점수를 잃은 질의가 없습니다." in reported("Thank you", "Thank you")
    listed = reported("Thank you", "I cannot", "Thank you")
    assert ("| Q-1 |" in listed, "| Q-0 |" in listed) == (True, False)
    assert "나머지 2개는 점수표에 있습니다." in reported(*["I cannot"] * 12)


def test_tables_carry_the_rubric_and_the_summary_its_text() -> None:
    found = scored(STARTER, ["a", "Q", "order", "", "Thank you", "1", "", ""])
    assert found.scores.select("rubric", "rubric_version").rows() == [("support-tests", "1")]
    assert found.summary["rubric_file"] == STARTER
    assert found.summary["verdicts"] == {"PASS": 1, "WEAK": 0, "FAIL": 0}


@pytest.mark.parametrize("taken", ["plan-agent", "ola-monitoring"])
def test_rubric_file_for_test_runs_does_not_take_the_id_of_a_shipped_rubric(taken: str) -> None:
    with pytest.raises(UsageError, match=rf"line 4: AQB has a rubric of .* with the id {taken}"):
        testrun_rubric_of_text(STARTER.replace('id = "support-tests"', f'id = "{taken}"'))


def test_rubric_file_for_chat_rows_does_not_score_test_runs() -> None:
    chat = (STARTERS / "starter_rubric.toml").read_text("utf-8")
    with pytest.raises(UsageError, match="scores chat rows"):
        scored(chat, ["a", "Q", "", "", "yes", "1", "", ""])


def test_latency_class_of_the_criteria_is_that_of_the_query() -> None:
    slow = "first = [{ when = \"latency_class = 'MULTI'\", gives = 5, label = 'slow' }]"
    text = f"{HEAD}[metrics.kind]\ntitle = 'Kind'\n{slow}\n[total]\nweights = {{ kind = 100 }}\n"
    rows = [[f"q{kind}", "몇 명?", f'{{"meta": {{"latencyClass": "{kind}"}}}}', "3명"] for kind in ("MULTI", "SINGLE")]
    run = pl.DataFrame(rows, schema=["query_id", "query", "LLM 평가기준", "1차 답변"], orient="row")
    assert points(score_runs(run, text), "kind").count(5) == 1
