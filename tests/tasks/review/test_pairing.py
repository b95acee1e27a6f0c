"""Labels beside the scores of the same items, and what the warehouse remembers of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from scoring.catalog import rubric_of
from scoring.errors import InputError, UsageError
from scoring.rubrics.recruit_agent import RUBRIC as RECRUIT
from scoring.stats.agreement import Agreement, Pair, agreements
from scoring.testruns.rubric import TestRunRubric
from tasks.review.labels import Label
from tasks.review.pairing import labelled_rows, labelled_testruns
from tasks.testruns.read_folder import ScoredFolder
from tasks.testruns.trusted_metrics import AGREEMENTS, Measured, read_trust, untrusted_metrics, write_agreements
from tasks.warehouse import Warehouse, open_warehouse
from tests.builders import chat_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.scored_testruns import plan_row, scored_folder

NAME = "plan_agent_made.csv"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ScoredFolder:
    folder = tmp_path_factory.mktemp("run")
    return scored_folder(folder, [plan_row("Q1"), plan_row("Q1", "2/1", passes=False), plan_row("Q2")])


def label(metric: str = "accuracy", points: str = "4", round_: str = "1/1", **where: str) -> Label:
    return Label(metric, points, **{"query_id": "Q1", "round": round_, "line": 7, **where})  # type: ignore[arg-type]


def paired(run: ScoredFolder, *labels: Label) -> list[tuple[str, float, float]]:
    pairs = labelled_testruns(labels, [run], Path("labels.csv")).pairs
    return [(pair.metric, pair.score, pair.label) for pair in pairs]


def test_label_meets_the_score_of_its_round(run: ScoredFolder) -> None:
    assert paired(run, label(), label(round_="2/1")) == [("accuracy", 5, 4), ("accuracy", 0, 4)]


def test_label_without_a_round_meets_the_score_of_the_query(run: ScoredFolder) -> None:
    assert paired(run, label(round_=""), label("consistency", "1", "")) == [("accuracy", 2.5, 4), ("consistency", 0, 1)]


def test_item_without_a_score_is_left_out(run: ScoredFolder) -> None:
    assert paired(run, label("consistency", "5", "", query_id="Q2")) == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (label("acuracy"), "line 7: no metric 'acuracy'; there are intent, accuracy"),
        (label(query_id="Q9"), "line 7: no query 'Q9' in round 1/1"),
        (label(round_="9/1"), "line 7: no query 'Q1' in round 9/1"),
        (label("consistency"), "line 7: consistency is one score of the whole query"),
        (label(points="6"), "line 7: '6' is no number of points from 0 to 5"),
        (label(points="좋음"), "line 7: '좋음' is no number"),
        (label(points="nan"), "line 7: 'nan' is no number"),
        (label(file="other.csv"), "line 7: no run of the file 'other.csv'"),
    ],
)
def test_label_of_nothing_is_refused(run: ScoredFolder, wrong: Label, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        paired(run, wrong)


def test_runs_of_one_file_cannot_be_told_apart(run: ScoredFolder) -> None:
    with pytest.raises(UsageError, match="same file"):
        labelled_testruns([label()], [run, run], Path("labels.csv"))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A day with a refused row, a plain one and one of grade STAR."""
    folder = tmp_path_factory.mktemp("warehouse")
    rows = chat_rows.write_rows(folder / "rows.jsonl", [chat_rows.refused(0), chat_rows.plain(1), chat_rows.best(2)])
    warehouse = open_warehouse(str(folder / "warehouse"))
    write_scored_day(warehouse, chat_rows.DAY, rows)
    return warehouse


def row_ids(warehouse: Warehouse) -> list[str]:
    scores = warehouse.read("monitoring_scores")
    assert scores is not None
    return scores.sort("timestamp").collect()["row_id"].to_list()


def test_grades_are_places_on_their_scale(warehouse: Warehouse) -> None:
    worst, _, best = row_ids(warehouse)
    labels = [Label("a_grade", "D", row_id=worst), Label("final_grade", "STAR", row_id=best)]
    labelled = labelled_rows(chat_rows.RUBRIC, labels, warehouse, Path("labels.csv"))
    assert [(pair.metric, pair.score, pair.label) for pair in labelled.pairs] == [
        ("a_grade", 0, 1),
        ("final_grade", 4, 4),
    ]
    assert (labelled.rubric, labelled.rubric_version) == ("ola-monitoring", chat_rows.RUBRIC.version)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (Label("a_grade", "A", row_id="none", line=3), "line 3: no scored row 'none'"),
        (Label("a_grade", "STAR", row_id="", line=3), "line 3: 'STAR' is no a_grade; use F, D, C, B, A"),
        (Label("a_score", "90", row_id="", line=3), "line 3: no metric 'a_score'; there are q_tier, a_grade"),
    ],
)
def test_grade_of_nothing_is_refused(warehouse: Warehouse, wrong: Label, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        labelled_rows(chat_rows.RUBRIC, [wrong], warehouse, Path("labels.csv"))


def of_metric(metric: str, *, agrees: bool) -> list[Agreement]:
    """Sixty queries on which people and score agree, or have nothing in common."""
    return agreements(
        Pair(metric, "plan", place, float(place % 6), float(place % 6 if agrees else place // 6 % 6))
        for place in range(60)
    )


def judged(run: ScoredFolder, epoch: str) -> ScoredFolder:
    """The run as one of `recruit-agent`, whose intent is judged."""
    judge = {"judge": {"epochs": {"intent": [epoch]}}}
    return replace(run, rubric=RECRUIT, file=f"{epoch}.csv", summary=run.summary | judge)


def test_labels_of_runs_that_different_judges_judged_are_not_put_together(run: ScoredFolder) -> None:
    old, new = judged(run, "0ld"), judged(run, "new")
    labels = [label("intent", file="0ld.csv"), label("intent", file="new.csv")]
    with pytest.raises(UsageError, match="intent of these runs was judged by different models or prompts"):
        labelled_testruns(labels, [old, new], Path("labels.csv"))
    assert labelled_testruns(labels[:1], [old], Path("labels.csv")).epochs["intent"] == "0ld"
    by_rule = [label("accuracy", file="0ld.csv"), label("accuracy", file="new.csv")]
    assert len(labelled_testruns(by_rule, [old, new], Path("labels.csv")).pairs) == 2


def measured(found: list[Agreement], epochs: Mapping[str, str] | None = None) -> Measured:
    return Measured("1", found, epochs or {})


def untrusted(warehouse: Warehouse, rubric: str, epochs: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    known = rubric_of(rubric)
    assert isinstance(known, TestRunRubric)
    return untrusted_metrics(read_trust(warehouse), known, epochs or {})


def test_newest_labels_of_a_metric_decide(tmp_path: Path) -> None:
    warehouse = open_warehouse(str(tmp_path))
    assert untrusted(warehouse, "plan-agent") == ()
    for day, agrees in ((date(2026, 3, 2), True), (date(2026, 3, 1), False)):
        write_agreements(warehouse, day, "plan-agent", [measured(of_metric("accuracy", agrees=agrees))], 0.6)
    assert untrusted(warehouse, "plan-agent") == ()
    write_agreements(
        warehouse, date(2026, 3, 3), "plan-agent", [Measured("1", of_metric("accuracy", agrees=False), {})], 0.6
    )
    write_agreements(
        warehouse, date(2026, 3, 3), "recruit-agent", [Measured("1", of_metric("intent", agrees=False), {})], 0.6
    )
    assert untrusted(warehouse, "plan-agent") == ("accuracy",)
    assert untrusted(warehouse, "recruit-agent") == ("intent",)


def test_trust_in_a_judged_metric_ends_with_its_epoch_until_it_is_measured_again(tmp_path: Path) -> None:
    warehouse = open_warehouse(str(tmp_path))
    old, new = {"intent": "0ld"}, {"intent": "new"}
    intent, accuracy = (of_metric(metric, agrees=False) for metric in ("intent", "accuracy"))
    write_agreements(warehouse, date(2026, 3, 3), "recruit-agent", [measured(intent + accuracy, old)], 0.6)
    assert untrusted(warehouse, "recruit-agent", {"intent": ["0ld"]}) == ("intent", "accuracy")
    assert untrusted(warehouse, "recruit-agent", {"intent": ["new"]}) == ("accuracy",)  # rules have no epoch
    assert untrusted(warehouse, "recruit-agent", {"intent": ["0ld", "new"]}) == ("accuracy",)
    write_agreements(warehouse, date(2026, 3, 4), "recruit-agent", [measured(intent, new)], 0.6)
    assert untrusted(warehouse, "recruit-agent", {"intent": ["new"]}) == ("intent", "accuracy")


def test_setting_decides_what_is_enough(tmp_path: Path) -> None:
    warehouse = open_warehouse(str(tmp_path))
    write_agreements(
        warehouse, date(2026, 3, 1), "plan-agent", [Measured("1", of_metric("accuracy", agrees=False), {})], -1
    )
    assert untrusted(warehouse, "plan-agent") == ()


def test_comparing_again_replaces_the_day(tmp_path: Path) -> None:
    warehouse = open_warehouse(str(tmp_path))
    for _ in range(2):
        write_agreements(
            warehouse, date(2026, 3, 1), "plan-agent", [Measured("1", of_metric("accuracy", agrees=True), {})], 0.6
        )
    rows = warehouse.read(AGREEMENTS)
    assert rows is not None
    assert rows.collect().height == 1


def test_report_names_the_metrics_that_people_do_not_bear_out(tmp_path: Path) -> None:
    reports = {}
    for untrusted in ((), ("accuracy",)):
        folder = tmp_path / str(len(untrusted))
        scored_folder(folder, [plan_row("Q1")], untrusted=untrusted)
        reports[untrusted] = (folder / "report.md").read_text(encoding="utf-8")
    assert "신뢰 전 지표" not in reports[()]
    assert "신뢰 전 지표\n\n정확성:" in reports["accuracy",]
