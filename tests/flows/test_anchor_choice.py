"""Which questions are the anchors: the same every night, until a better choice has been judged."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.judging.anchors import ANCHORS
from tasks.config.settings import Settings
from tasks.config.testruns import InboxFiles, InboxSettings
from tasks.context import Context
from tasks.judge_quality.anchor_store import AnchorStore
from tasks.judge_quality.anchors import anchor_questions, ask_anchors
from tests.builders.flows import score_inbox
from tests.builders.rubric_files import EXAMPLES
from tests.builders.settings import settings_in
from tests.builders.testruns import write_csv
from tests.fakes.judge_questions import settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

pytestmark = pytest.mark.long

DAY = date(2026, 3, 12)
HEADER = ["ID", "질의", "1차 답변", "2차 답변", "3차 답변"]


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, server: FakeOpenAI) -> Settings:
    (tmp_path / "inbox").mkdir()
    judge = settings_for(server.url, enabled=True, anchors=True)
    return settings_in(tmp_path, test_runs=InboxSettings(inbox=str(tmp_path / "inbox"), quiet_s=0), judge=judge)


def judge_run(settings: Settings, numbers: Sequence[int], third: str = "") -> None:
    """Has a run judged: two answers to each query, and the third one, with which they are compared."""
    rows = [[f"A{one}", f"{one}번 점수는?", "12점", f"{one}번은 12점입니다.", third] for one in numbers]
    write_csv(Path(settings.test_runs.inbox) / f"resume_agent_{numbers[0]}.csv", [HEADER, *rows])
    score_inbox(settings, DAY)


def asked(settings: Settings, night: int, *, renew: bool = False) -> set[tuple[str, str]]:
    """The kind and key of the anchors of a night."""
    with Context(settings) as context:
        anchors = anchor_questions(context)
        assert ask_anchors(context, anchors, DAY + timedelta(days=night), renew=renew) is None
        return {(one.kind, one.key) for one in anchors.anchors}


def test_anchors_of_a_small_first_run_give_way_when_twice_as_many_are_judged(settings: Settings) -> None:
    judge_run(settings, range(5))
    first = asked(settings, 0)
    assert len(first) == 10
    judge_run(settings, range(10, 14))
    assert asked(settings, 1) == first
    judge_run(settings, range(20, 80))
    second = asked(settings, 2)
    assert len(second) == ANCHORS
    judge_run(settings, range(100, 220))
    assert asked(settings, 3) == second


def test_kind_of_question_that_is_first_judged_later_gets_anchors_too(settings: Settings) -> None:
    judge_run(settings, range(60))
    assert {kind for kind, _ in asked(settings, 0)} == {"semantic"}
    judge_run(settings, range(100, 110), third="모두 12점으로 같습니다.")
    second = asked(settings, 1)
    assert {kind for kind, _ in second} == {"semantic", "conclusions"}
    assert asked(settings, 2) == second


def test_anchors_give_way_to_no_smaller_choice_that_has_a_further_kind(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.judge_quality.anchors._RUNS_READ", 1)
    judge_run(settings, range(60))
    first = asked(settings, 0)
    judge_run(settings, range(100, 110), third="모두 12점으로 같습니다.")
    assert asked(settings, 1) == first


def test_questions_of_a_second_rubric_get_anchors_though_those_of_the_first_have_the_same_name(
    settings: Settings, tmp_path: Path
) -> None:
    inbox, text = settings.test_runs, (EXAMPLES / "support-tests.toml").read_text("utf-8")
    files = tuple(InboxFiles(pattern=f"{one}*", rubric=str(tmp_path / f"{one}.toml")) for one in ("first", "second"))
    settings = settings.model_copy(update={"test_runs": inbox.model_copy(update={"files": files})})
    for name in ("first", "second"):
        (tmp_path / f"{name}.toml").write_text(text.replace('id = "support-tests"', f'id = "{name}"'), "utf-8")
    for night, (name, count) in enumerate((("first", 60), ("second", 10))):
        rows = [[f"t{one}", f"How do I reset password {one}?", "Open Settings.", "Thanks: 1."] for one in range(count)]
        write_csv(Path(inbox.inbox) / f"{name}.csv", [["query_id", "query", "1차 답변", "2차 답변"], *rows])
        score_inbox(settings, DAY)
        assert len(asked(settings, night)) == ANCHORS
    with Context(settings) as context:
        assert {one.rubric for one in AnchorStore(context.state).read()} == {"first", "second"}


def test_anchors_that_were_renewed_do_not_give_way_to_answers_of_the_judge_before(
    settings: Settings, server: FakeOpenAI
) -> None:
    judge_run(settings, range(5))
    first = asked(settings, 0)
    server.behaviour = Behaviour(release="2026-06-01")
    assert asked(settings, 1, renew=True) == first
    server.behaviour = Behaviour()
    judge_run(settings, range(20, 80))
    assert asked(settings, 2) == first
