"""Anchors, asked again night by night, tell a judge that was replaced once; a switch compares two before it is made."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.steps.judge_quality import ask_of_night, watch_judge
from scoring.alerting.judge_messages import JudgeNews, ModelEnd, judge_message
from scoring.errors import AqbError, InputError
from scoring.judging.anchors import ANCHOR_QUERIES, ANCHORS
from scoring.testruns.scoring import TestRunPlan
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.judge import JudgeSettings, Price
from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.context import Context
from tasks.files.discovery import identity_of
from tasks.judge.client import Judge
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.judge_quality.anchor_table import anchor_nights, news_of_night
from tasks.judge_quality.anchors import anchor_questions, ask_anchors
from tasks.judge_quality.model_end import near_end
from tasks.judge_quality.switch import Succession
from tasks.samples import SAMPLE_INBOX
from tasks.testruns.plans import plan_of_input
from tasks.waiting import begun
from tasks.warehouse import open_warehouse
from tasks.warehouse.tables import ANCHORS as TABLE
from tests.builders.flows import score_inbox
from tests.builders.rubric_files import EXAMPLES
from tests.builders.settings import settings_in
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv
from tests.fakes.judge_questions import settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA, Command

pytestmark = pytest.mark.long

DAY = date(2026, 3, 12)
QUERIES = 60


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="module")
def judged(server: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a judged run of sixty queries, with two answers each to ask about."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "inbox").mkdir()
    rows = [
        wide_row(f"A{number}", **{"질의": f"{number}번 점수는?", "1차 답변": "12점", "2차 답변": f"{number}점입니다."})
        for number in range(QUERIES)
    ]
    write_csv(folder / "inbox" / "resume_agent_made.csv", [WIDE_HEADER, *rows])
    score_inbox(settings_of(folder, folder, server), DAY)
    return folder


def settings_of(folder: Path, inbox: Path, server: FakeOpenAI, **sections: Any) -> Settings:
    judge = settings_for(server.url, enabled=True, anchors=True)
    return settings_in(folder, test_runs=InboxSettings(inbox=str(inbox / "inbox"), quiet_s=0), judge=judge, **sections)


@pytest.fixture
def judge(server: FakeOpenAI) -> FakeOpenAI:
    server.behaviour, server.too_long = Behaviour(), ""
    return server


@pytest.fixture
def settings(tmp_path: Path, judged: Path, judge: FakeOpenAI, slack: FakeSlack) -> Settings:
    """What that run has left, and a route that hears everything."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    alerts = AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url)
    return settings_of(tmp_path, judged, judge, alerts=alerts)


@pytest.fixture
def context(settings: Settings) -> Iterator[Context]:
    with Context(settings) as context:
        yield context


def night(context: Context, number: int, *, renew: bool = False) -> JudgeNews:
    """What the anchors show in a night."""
    day = DAY + timedelta(days=number)
    assert ask_anchors(context, anchor_questions(context), day, renew=renew) is None
    news = news_of_night(context.warehouse, day)
    assert news is not None
    return news


def with_judge(context: Context, **changes: object) -> Context:
    judge = JudgeSettings(**{**dict(context.settings.judge), **changes})
    return Context(context.settings.model_copy(update={"judge": judge}))


def test_anchors_are_asked_past_the_store_and_leave_it_as_it_is(context: Context, judge: FakeOpenAI) -> None:
    asked = anchor_questions(context)
    assert len(asked.anchors) == ANCHORS
    assert len({one.query for one in asked.anchors}) >= ANCHOR_QUERIES
    assert {(one.kind, one.answer.get("score")) for one in asked.anchors} >= {("semantic", n) for n in range(6)}
    store, keys = VerdictStore(context.state), [one.key for one in asked.anchors]
    before, requests = store.found(keys), judge.stats()["asked"]
    judge.behaviour = Behaviour(fickle=1.0)
    news = night(context, 1)
    assert judge.stats()["asked"] == requests + ANCHORS
    assert store.found(keys) == before
    assert (news.watched.night.asked, news.questions) == (ANCHORS, ANCHORS)
    assert news.watched.night.agreed < 60
    assert not any("늦게 드러납니다" in line for line in news.lines)
    few = replace(news, questions=27, queries=11)
    assert any("질의 11개의 질문 27개뿐이라(질의 30개의 질문 100개가 알맞음) 작은 변화는" in line for line in few.lines)
    assert news.usd is not None and 0 < news.usd <= 0.10


def test_anchors_are_the_same_every_night(context: Context) -> None:
    first = night(context, 1)
    assert anchor_questions(context).chosen_now is False
    assert night(context, 2).anchor_set == first.anchor_set
    ((name, nights),) = anchor_nights(context.warehouse)
    assert name == first.anchor_set
    assert [(one.night.agreed, one.night.asked) for one in nights] == [(100, 100), (100, 100)]


@pytest.mark.long
def test_anchors_tell_a_replaced_judge_in_the_same_night_and_once(context: Context, judge: FakeOpenAI) -> None:
    assert not any(night(context, number).keys for number in range(1, 4))
    judge.behaviour = Behaviour(fickle=0.3)
    news = night(context, 4)
    assert news.watched.is_change
    (message,) = judge_message(news)
    assert message.text.startswith("🟡 Warning · 판정 모델이 바뀐 것으로 보임: judge-1")
    assert "aqb judge anchors --renew" in json.dumps(message.blocks)
    assert judge_message(news, message.keys) == []
    assert night(context, 5).keys == []


def test_anchors_of_the_nightly_run_tell_another_model_behind_the_same_name(
    context: Context, judge: FakeOpenAI, slack: FakeSlack
) -> None:
    judge.behaviour = Behaviour(release="2026-06-01")
    assert watch_judge(context) == ()
    requests = judge.stats()["asked"]
    assert watch_judge(context) == ()
    assert judge.stats()["asked"] == requests
    (told,) = slack.posted
    assert "답하는 모델이 바뀌었습니다: judge-1-2026-01-01 → judge-1-2026-06-01." in told.shown


def test_anchors_are_paid_for_once_by_two_runs_of_a_night(context: Context, judge: FakeOpenAI) -> None:
    paid = judge.paid.total()
    with context.warehouse.lock(TABLE):  # as the first one does
        second = begun(lambda: ask_of_night(context, DAY))
        night(context, 0)
    assert second() == ()
    assert judge.paid.total() == paid + ANCHORS


def test_end_of_the_model_is_asked_each_night_and_told_from_60_days_before(context: Context, judge: FakeOpenAI) -> None:
    settings, last = context.settings.judge, date(2026, 6, 30)
    judge.behaviour = Behaviour(model="judge-1", shutdown_date=str(last))
    assert near_end(context.state, settings, last) is None
    watch_judge(context)
    assert near_end(context.state, settings, last - timedelta(61)) is None
    assert near_end(context.state, settings, last - timedelta(60)) == ModelEnd("judge-1", last)
    judge.behaviour = Behaviour(model="judge-1")
    watch_judge(context)
    assert near_end(context.state, settings, last) is None


def test_anchors_that_are_renewed_compare_with_the_new_answers(context: Context, judge: FakeOpenAI) -> None:
    first = night(context, 1)
    judge.behaviour = Behaviour(release="2026-06-01")
    assert night(context, 2, renew=True).keys != []
    after = night(context, 3)
    assert after.keys == []
    assert after.watched.asked_before == 0
    assert {name for name, _ in anchor_nights(context.warehouse)} == {first.anchor_set, after.anchor_set}


def test_anchors_stay_within_their_budget(context: Context) -> None:
    with with_judge(context, anchors_max_usd=0.02) as poor:
        news = night(poor, 1)
    assert news.usd is not None and 0 < news.usd <= 0.02
    assert 0 < news.watched.night.asked < ANCHORS


def test_anchors_of_unknown_price_say_so_and_keep_to_tokens(context: Context) -> None:
    with with_judge(context, prices=(), anchors_max_tokens=60_000) as unpriced:
        news = night(unpriced, 1)
        rows = unpriced.warehouse.read(TABLE)
    assert news.usd is None
    assert "가격이나 사용량을 몰라" in news.lines[-1]
    assert 0 < news.watched.night.asked < ANCHORS
    assert rows is not None
    used = rows.select("tokens_in", "tokens_out").sum().collect()
    assert sum(used.row(0)) <= 60_000


def test_anchors_of_another_model_need_its_own_verdicts(context: Context) -> None:
    night(context, 1)
    with with_judge(context, model="judge-2") as other, pytest.raises(InputError, match="judge-2 would be asked now"):
        anchor_questions(other)


def test_anchors_of_a_rubric_file_are_asked_with_its_prompt_and_chosen_anew_when_it_changes(
    tmp_path: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (EXAMPLES / "support-tests.toml").read_text("utf-8")
    Path("support-tests.toml").write_text(text, "utf-8")
    Path("inbox").mkdir()
    answers = [f"Please open page {number} of the help and enter your number." for number in range(12)]
    rows = [[f"t{number}", f"Where is parcel {number}?", answer] for number, answer in enumerate(answers)]
    write_csv(Path("inbox/support_made.csv"), [["ID", "질의", "응답"], *rows])
    settings = settings_of(tmp_path, tmp_path, judge)
    runs = settings.test_runs.model_copy(update={"rubric": "support-tests.toml"})
    settings = settings.model_copy(update={"test_runs": runs})
    score_inbox(settings, DAY)
    with Context(settings) as context:
        asked = anchor_questions(context)
        assert {(one.rubric, one.kind) for one in asked.anchors} == {("support-tests", "helpful")}
        assert len({one.query for one in asked.anchors}) == len(asked.anchors) > 0
        night(context, 1)
        assert anchor_questions(context).chosen_now is False
        judge.behaviour = Behaviour(release="2026-06-01")
        assert night(context, 2).keys
        Path("support-tests.toml").write_text(
            text.replace("one answer of a support bot", "an answer of a bot"), "utf-8"
        )
        with pytest.raises(InputError, match="none of 1 judged test run:"):  # the new prompt has no verdicts
            anchor_questions(context)


def test_anchors_that_nobody_answers_write_no_night(context: Context, judge: FakeOpenAI) -> None:
    asked = anchor_questions(context)
    judge.behaviour = replace(judge.behaviour, api_key="another")
    with pytest.raises(AqbError, match="refuses every question"):
        ask_anchors(context, asked, DAY)
    assert context.warehouse.days(TABLE) == []
    (problem,) = watch_judge(context)
    assert problem.startswith("anchors: ")
    assert "the judge refuses every question" in problem


@pytest.fixture
def of_inbox(aqb: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command with these settings as variables, and no price that it knows."""
    for name in ("warehouse", "state_url"):
        monkeypatch.setenv(f"AQB_{name.upper()}", getattr(settings, name))
    monkeypatch.setenv("AQB_TEST_RUNS__INBOX", settings.test_runs.inbox)
    for name in ("base_url", "model", "rpm", "tpm", "max_reasoning_tokens"):
        monkeypatch.setenv(f"AQB_JUDGE__{name.upper()}", str(getattr(settings.judge, name)))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return aqb


def test_anchors_command_prices_asks_and_says_what_has_changed(of_inbox: Command, judge: FakeOpenAI) -> None:
    asked = judge.stats()["asked"]
    priced = of_inbox("judge", "anchors", "--dry-run")
    assert (priced.exit_code, judge.stats()["asked"]) == (0, asked)
    assert priced.out.startswith("anchors: 100 questions (0% already answered)")
    assert "price unknown" in priced.out
    same = of_inbox("judge", "anchors", "--json")
    assert same.exit_code == 0
    assert json.loads(same.out)["agreed"] == 100
    judge.behaviour = Behaviour(release="2026-06-01")
    changed = of_inbox("judge", "anchors")
    assert changed.exit_code == 1
    assert "답하는 모델이 바뀌었습니다: judge-1-2026-01-01 →" in changed.out
    assert "aqb judge anchors --renew" in changed.err
    assert of_inbox("judge", "anchors", "--renew").exit_code == 0


def test_switch_prices_both_models_and_asks_nothing_without_a_yes(of_inbox: Command, judge: FakeOpenAI) -> None:
    asked = judge.stats()["asked"]
    priced = json.loads(of_inbox("judge", "switch", "judge-2", "--dry-run", "--json").out)
    old, new = priced["judge-1"], priced["judge-2"]
    assert old["questions"] == old["from_store"] == new["questions"] > 0 == new["from_store"]
    assert (new["usd"], new["tokens_in"] > 0) == (None, True)
    unsaid = of_inbox("judge", "switch", "judge-2")
    assert unsaid.exit_code == 1
    assert "judge-2: " in unsaid.err
    assert judge.stats()["asked"] == asked


def test_switch_compares_the_scores_of_the_last_runs_and_changes_no_setting(
    of_inbox: Command, settings: Settings, judge: FakeOpenAI
) -> None:
    asked = judge.stats()["asked"]
    found = json.loads(of_inbox("judge", "switch", "judge-2", "--yes", "--json").out)
    assert judge.stats()["asked"] == asked + found["questions"]
    semantic = next(one for one in found["metrics"] if one["metric"] == "semantic")
    assert semantic["clusters"] == QUERIES
    assert semantic["shift_low"] <= semantic["shift"] <= semantic["shift_high"]
    assert semantic["shift"] == pytest.approx(semantic["mean_after"] - semantic["mean_before"])
    assert semantic["linear_low"] < 0 < semantic["linear_high"], "two judges that draw their scores agree by chance"
    assert found["moved"][0]["before"] != found["moved"][0]["after"]
    again = of_inbox("judge", "switch", "judge-2", "--yes")
    assert judge.stats()["asked"] == asked + found["questions"]
    assert 'model = "judge-2"' in again.out
    assert "점수가 달라진 질의" in again.out
    rows = open_warehouse(settings.warehouse).read("judge_switches")
    assert rows is not None
    assert set(rows.collect()["metric"]) == {one["metric"] for one in found["metrics"]}


def test_switch_takes_files_that_were_never_in_the_inbox(of_inbox: Command, tmp_path: Path, judge: FakeOpenAI) -> None:
    file = write_csv(tmp_path / "resume_agent_other.csv", [WIDE_HEADER, wide_row("B1", 질의="지원자 몇 명?")])
    found = json.loads(of_inbox("judge", "switch", "judge-2", file, "--yes", "--json").out)
    assert found["questions"] == 1
    assert [one["n"] for one in found["metrics"] if one["metric"] == "semantic"] == [2]


def made_run(settings: Settings, folder: Path, queries: int) -> TestRunPlan:
    """A run that no judge has seen."""
    rows = [wide_row(f"B{number}", **{"질의": f"{number}번은 몇 명?", "정답 수치": "12"}) for number in range(queries)]
    return plan_of_input(identity_of(write_csv(folder / "resume_agent_new.csv", [WIDE_HEADER, *rows])), settings)


def test_switch_spends_one_budget_on_both_models(context: Context, tmp_path: Path, judge: FakeOpenAI) -> None:
    prices = [Price(model=name, input_usd=1.0, cached_usd=0.5, output_usd=4.0) for name in ("judge-1", "judge-2")]
    asking = settings_for(judge.url, prices=tuple(prices), max_usd=0.024, max_in_flight=4)
    plan = made_run(context.settings, tmp_path, 20)
    found = Succession([plan], asking, "judge-2", VerdictStore(context.state)).ask(lambda name: lambda progress: None)
    assert found.unanswered["judge-1"] == {}
    assert found.unanswered["judge-2"].keys() == {"over_budget"}
    assert found.usd is not None and 0.012 < found.usd <= 0.024


def test_switch_compares_no_totals_of_different_metrics(context: Context, tmp_path: Path, judge: FakeOpenAI) -> None:
    plan, store = made_run(context.settings, tmp_path, 4), VerdictStore(context.state)
    asking = settings_for(judge.url)
    Judge(asking, store).ask(questions_of(plan, asking))
    judge.too_long = "3번은 몇 명?"  # for judge-2 alone; the store answers for the other
    found = Succession([plan], asking, "judge-2", store).ask(lambda name: lambda progress: None)
    assert found.unanswered["judge-1"] == {}
    (total,) = [one for one in found.shifts if one.metric == "weighted_total"]
    assert total.agreement.n == 3


def test_switch_to_the_same_model_and_without_questions_is_refused(of_inbox: Command) -> None:
    same = of_inbox("judge", "switch", "judge-1")
    assert (same.exit_code, "judge-1 is the judge already" in same.err) == (2, True)
    plan = SAMPLE_INBOX / "plan_agent_sample.csv"
    nothing = of_inbox("judge", "switch", "judge-2", plan)
    assert (nothing.exit_code, "no test run has a question for a judge" in nothing.err) == (2, True)


def test_audit_command_prices_asks_and_fails_where_nothing_is_proven(
    of_inbox: Command, settings: Settings, judge: FakeOpenAI
) -> None:
    priced = json.loads(of_inbox("judge", "audit", "--dry-run", "--json").out)["audit"]
    assert priced["questions"] == 740
    asked = judge.stats()["asked"]
    unsaid = of_inbox("judge", "audit")
    assert (unsaid.exit_code, judge.stats()["asked"]) == (1, asked)
    assert unsaid.err.startswith("audit: 740 questions (0% already answered)")
    judge.behaviour = Behaviour(gullible=0.5, gullible_fenced=0.5)
    found = of_inbox("judge", "audit", "--yes")
    assert found.exit_code == 1
    assert "아무것도 증명하지 못합니다" in found.out
    assert "nothing is proven" in found.err
    rows = open_warehouse(settings.warehouse).read("judge_audits")
    assert rows is not None
    assert rows.collect().height == 2 * 16 + 4
