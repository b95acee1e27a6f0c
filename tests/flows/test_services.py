"""Several services in one night: each has its rows, tables, pages and messages, and one that breaks stops no other."""

import json
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from flows.backfill import IncompleteBackfillError
from flows.nightly import IncompleteServicesError
from flows.steps.announce import announce, to_pipeline
from flows.steps.status import status_of
from flows.steps.watch import watch_services
from scoring.alerting.all_clear import Unfinished
from scoring.alerting.messages import KnownKey
from scoring.alerting.run_messages import FlowFailure, failure_message
from scoring.alerting.snoozes import Snooze
from scoring.errors import UsageError
from tasks.alerts.delivery import Clock
from tasks.alerts.outbox import Outbox
from tasks.alerts.unfinished import finished
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.chat_rows import ServiceSettings
from tasks.config.settings import MonitoringSettings, Settings, settings_of_service
from tasks.config.web import WebSettings
from tasks.context import Context
from tasks.retention import erase, prune
from tasks.state.alert_choices import AlertChoices
from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.builders.flows import backfill, nightly, score_inbox
from tests.builders.settings import settings_in
from tests.builders.site import page
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA

NEXT_DAY = DAY + timedelta(days=1)


def with_services(settings: Settings, *services: ServiceSettings) -> Settings:
    return settings.model_copy(update={"monitoring": MonitoringSettings(service=services)})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two services with rows of a day, and between them one whose source is gone."""
    write_rows(tmp_path / "hiring" / "a.jsonl", [best(0), refused(1), plain(2)])
    write_rows(tmp_path / "support" / "a.jsonl", [plain(0)])
    names = ("hiring", "gone", "support")
    services = [ServiceSettings(name=name, source=str(tmp_path / name)) for name in names]
    return with_services(settings_in(tmp_path), *services)


def scores(settings: Settings, service: str) -> pl.DataFrame:
    with Context(settings_of_service(settings, service)) as context:
        rows = context.warehouse.read("monitoring_scores", [DAY])
        return pl.DataFrame() if rows is None else rows.collect()


def test_messages_of_a_service_lead_to_no_pages_of_another(settings: Settings) -> None:
    with_pages = settings.model_copy(update={"web": WebSettings(url="https://aqb.example.com")})
    assert settings_of_service(with_pages, "hiring").web.url == ""


def test_service_that_breaks_stops_no_other_and_the_error_names_it(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError, match=r"1 of 3 services failed, hiring, support done: gone: ") as ended:
        nightly(settings, DAY)
    assert [one.own.service for one in ended.value.outcome.services if one.own.complete] == ["hiring", "support"]
    assert [scores(settings, name).height for name in ("hiring", "gone", "support")] == [3, 0, 1]
    assert [path for path in ended.value.outcome.problems if path.startswith("gone ")]


def test_problems_of_each_service_are_in_the_log_of_the_night(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings.model_copy(update={"log_format": "json"}), DAY)
    lines = map(json.loads, capsys.readouterr().err.splitlines())
    assert [line for line in lines if (line["level"], line["message"][:16]) == ("WARNING", f"gone {DAY}:")]


def test_services_have_tables_with_their_name_that_others_do_not_see(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    folder = Path(settings.warehouse) / "monitoring_scores"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")) == [
        f"hiring/{DAY}.parquet",
        f"support/{DAY}.parquet",
    ]
    stored = pl.read_parquet(folder / "hiring" / f"{DAY}.parquet")
    assert (stored.columns[-1], stored["service"].unique().to_list()) == ("service", ["hiring"])
    runs = pl.read_parquet(Path(settings.warehouse) / "runs" / "support" / f"{DAY}.parquet")
    assert runs["rows_in"].to_list() == [1]
    with Context(settings) as context:
        assert context.warehouse.days("monitoring_scores") == []


@pytest.mark.long
def test_days_of_before_go_on_as_those_of_the_service_that_has_them(tmp_path: Path) -> None:
    """What one unnamed service has written stays as it is and stays known: nothing is scored again."""
    source = tmp_path / "source"
    write_rows(source / "a.jsonl", [best(0), refused(1)])
    before = settings_in(tmp_path)
    nightly(before, DAY)
    table = Path(before.warehouse) / "monitoring_scores" / f"{DAY}.parquet"
    content = table.read_bytes()
    assert "service" not in pl.read_parquet(table).columns

    former = ServiceSettings(name="former", source=str(source), has_unnamed_days=True)
    other = ServiceSettings(name="other", source=str(source))
    several = with_services(before, former, other)
    outcome = backfill(DAY, DAY, settings=several)
    assert ([one.service for one in outcome.days], outcome.up_to_date) == (["other"], 1)
    assert table.read_bytes() == content
    assert scores(several, "former").equals(scores(several, "other"))


def test_backfill_goes_on_after_a_service_that_breaks(settings: Settings) -> None:
    with pytest.raises(IncompleteBackfillError, match="gone: ") as ended:
        backfill(DAY, DAY, settings=settings)
    assert [one.service for one in ended.value.outcome.days if one.complete] == ["hiring", "support"]
    assert scores(settings, "support").height == 1


def test_service_whose_rubric_is_broken_is_told_by_name(settings: Settings) -> None:
    broken = ServiceSettings(name="broken", source=settings.monitoring.service[0].source, rubric="no-such-rubric")
    with pytest.raises(IncompleteServicesError, match=r"hiring done: broken: .*no-such-rubric"):
        nightly(with_services(settings, settings.monitoring.service[0], broken), DAY)


def test_failure_of_a_night_is_over_when_every_service_is_done(settings: Settings, tmp_path: Path) -> None:
    failed = Unfinished("nightly", DAY, DAY, "run")
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    told = {failed.key: KnownKey(datetime.now(UTC), "failure")}
    with Context(settings) as context:
        assert not finished(context, told)
        write_rows(tmp_path / "gone" / "a.jsonl", [plain(0)])
        nightly(settings, DAY)
        assert list(finished(context, told)) == [failed]


def test_failed_night_is_not_over_when_the_service_of_the_unnamed_days_is_done(
    settings: Settings, tmp_path: Path, slack: FakeSlack
) -> None:
    alerts = AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url)
    hiring, gone, _ = settings.monitoring.service
    several = with_services(settings, hiring.model_copy(update={"has_unnamed_days": True}), gone)
    several = several.model_copy(update={"alerts": alerts})
    with pytest.raises(IncompleteServicesError) as ended:
        nightly(several, DAY)
    left = Unfinished("nightly", DAY, DAY, "run")
    failed = FlowFailure(f"nightly {DAY}", "run", "failed", "E", str(ended.value), "", unfinished=left)
    with Context(several) as context:
        announce(context, [("", to_pipeline(lambda _: failure_message(failed)))])

    def all_clears() -> list[str]:
        return [text for text in slack.texts() if "해소" in text]

    with pytest.raises(IncompleteServicesError):
        nightly(several, DAY)
    assert all_clears() == []
    write_rows(tmp_path / "gone" / "a.jsonl", [plain(0)])
    nightly(several, DAY)
    assert all_clears() == ["🟢 해소 · 2월 13일(금) 야간 실행"]


def test_failed_night_waits_for_no_service_that_was_added_since(settings: Settings) -> None:
    hiring, _, added = settings.monitoring.service
    failed = Unfinished("nightly", DAY, DAY, "run")
    told = {failed.key: KnownKey(datetime.now(UTC), "failure")}
    nightly(with_services(settings, hiring), DAY)
    several = with_services(settings, hiring, added)
    with Context(several) as context:
        assert not finished(context, told)
        nightly(several, NEXT_DAY)
        assert list(finished(context, told)) == [failed]


def test_failed_night_is_not_over_where_it_would_have_been_the_first_of_a_service(
    settings: Settings, tmp_path: Path
) -> None:
    failed = Unfinished("nightly", DAY, DAY, "run")
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    told = {failed.key: KnownKey(datetime.now(UTC), "failure")}
    write_rows(tmp_path / "gone" / "a.jsonl", [plain(0)])
    nightly(settings, NEXT_DAY)
    with Context(settings) as context:
        assert not finished(context, told)
        backfill(DAY, DAY, settings=settings)
        assert list(finished(context, told)) == [failed]


def test_runs_of_a_day_are_those_of_its_service(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    with Context(settings) as context:
        known = {
            one.settings.service: [run.outcome for run in RunLedger(one.state).of_day(DAY)] for one in context.services
        }
        assert RunLedger(context.state).of_day(DAY) == []
    assert known == {"hiring": ["completed"], "gone": ["failed"], "support": ["completed"]}


def test_fact_of_one_service_is_news_of_another_and_each_message_names_its_own(
    settings: Settings, tmp_path: Path, slack: FakeSlack
) -> None:
    write_rows(tmp_path / "gone" / "a.jsonl", [refused(0), refused(1)])
    quiet = settings.monitoring.service[2].model_copy(update={"routes": ("other",)})
    routes = (Route(name="qa", webhook_env=QA), Route(name="other", webhook_env=QA))
    alerts = AlertsSettings(route=routes, api_url=slack.api_url)
    services = (*settings.monitoring.service[:2], quiet)
    several = with_services(settings, *services).model_copy(update={"alerts": alerts})
    nightly(several, DAY)
    nightly(several, DAY)

    with Context(several) as context:
        outbox = Outbox(context.state)
        written = [(one.route, one.service, one.text.partition(" · ")[0]) for one in outbox.latest(100)]
        keys = {one.settings.service: set(Outbox(one.state).known_keys("qa")) for one in context.services}
        assert outbox.known_keys("qa") == {}
    assert set(written) == {(route, name, name) for route in ("qa", "other") for name in ("hiring", "gone")}
    assert keys["hiring"] & keys["gone"]
    assert keys["support"] == set()


def test_snooze_is_of_one_service(settings: Settings) -> None:
    with Context(settings) as context:
        hiring, _, support = (AlertChoices(one.state) for one in context.services)
        hiring.snooze(Snooze("weak_answer", "*", NEXT_DAY, "known", "kim", datetime.now(UTC), {}))
        assert ([one.rule for one in hiring.snoozes(DAY)], support.snoozes(DAY)) == (["weak_answer"], [])
        assert not support.end_snooze("weak_answer", "*", datetime.now(UTC))


def test_late_night_is_told_of_the_service_that_is_late(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    morning = datetime.combine(NEXT_DAY, time(8), ZoneInfo(settings.time_zone))
    with Context(settings) as context:
        reports = watch_services(context, Clock(lambda: morning))
    assert {one.service: one.late.day if one.late else None for one in reports} == {
        "hiring": None,
        "gone": DAY,
        "support": None,
        "": None,
    }


def test_night_that_all_services_missed_is_one_message_and_one_all_clear(
    settings: Settings, tmp_path: Path, slack: FakeSlack
) -> None:
    """The machine was off: what to do is the same for all."""
    alerts = AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url)
    settings = settings.model_copy(update={"alerts": alerts})

    def look(clock: time) -> list[bool]:
        morning = datetime.combine(NEXT_DAY, clock, ZoneInfo(settings.time_zone))
        with Context(settings) as context:
            return [bool(one.late) for one in watch_services(context, Clock(lambda: morning))]

    assert look(time(7)) == look(time(7, 10)) == [True, True, True, False]
    (message,) = slack.posted
    assert message.text == "🔴 Critical · 2월 14일(토) 07:00까지 끝난 야간 실행이 없음"
    assert "hiring, gone, support" in message.shown
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    assert look(time(8)) == [False, True, False, False]  # the one that is left is no news
    assert [text for text in slack.texts() if "야간 실행" in text] == [message.text]
    write_rows(tmp_path / "gone" / "a.jsonl", [plain(0)])
    nightly(settings, DAY)
    assert look(time(9)) == [False] * 4
    assert [text for text in slack.texts() if "야간 실행 지연" in text] == ["🟢 해소 · 2월 13일(금) 야간 실행 지연"]


@pytest.mark.usefixtures("site_is_built")
def test_first_page_leads_to_each_service_and_says_how_it_stands(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    first = page(Path(settings.reports))
    assert [link for link in first.links if link[0] in ("hiring", "gone", "support")] == [
        ("hiring", "services/hiring/index.html"),
        ("support", "services/support/index.html"),
    ]
    assert (Path(settings.reports) / "services" / "hiring" / "monitoring" / f"{DAY}.html").is_file()
    for name in ("index.html", "alerts.html", "test-runs/index.html"):
        assert (Path(settings.reports) / name).is_file()


@pytest.mark.usefixtures("site_is_built")
def test_site_of_a_service_leads_to_the_test_runs_and_the_judge_of_all(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    over_all, folder = Path(settings.reports), Path(settings.reports) / "services" / "hiring"
    leading = (
        ("index.html", "모든 서비스의 페이지", "test-runs/index.html"),
        ("test-runs/index.html", "테스트 런 보기", "test-runs/index.html"),
        ("judge.html", "판정 모델 보기", "judge.html"),
    )
    for name, text, there in leading:
        shown = page(folder, name)
        assert ((folder / name).parent / dict(shown.links)[text]).resolve() == over_all / there
        assert (over_all / there).is_file()
        assert "어느 서비스에도 속하지 않아" in shown.text


def test_status_knows_each_service(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    found = status_of(settings)
    assert found.facts["nights hiring"]["last_completed_day"] == DAY
    assert found.facts["nights gone"]["last_completed_day"] is None
    assert found.gauges['night_late{service="gone"}'] == 1.0


def test_what_is_about_one_service_wants_it_chosen(settings: Settings) -> None:
    with Context(settings) as context, pytest.raises(UsageError, match="several services: hiring, gone, support"):
        _ = context.rubric


@pytest.mark.usefixtures("site_is_built")
@pytest.mark.long
def test_erased_session_is_in_the_tables_and_reports_of_no_service(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_rows(source / "a.jsonl", [refused(0, session_id="somebody"), refused(1, session_id="other")])
    before = settings_in(tmp_path)
    nightly(before, DAY)
    former = ServiceSettings(name="former", source=str(source), has_unnamed_days=True)
    several = with_services(before, former, ServiceSettings(name="other", source=str(source)))
    nightly(several, DAY)
    (row_id,) = scores(several, "former").filter(session_id="somebody")["row_id"]

    with Context(several) as context:
        found = erase(context, "somebody", datetime.now(UTC), dry_run=False)
    assert found["monitoring_scores: rows"] == 2
    assert [scores(several, name)["session_id"].to_list() for name in ("former", "other")] == [[None, "other"]] * 2
    quoting = [path for path in Path(several.reports).rglob("*.html") if row_id in path.read_text(encoding="utf-8")]
    assert quoting == []


@pytest.mark.long
def test_old_texts_are_pruned_in_every_service(settings: Settings) -> None:
    with pytest.raises(IncompleteServicesError):
        nightly(settings, DAY)
    with Context(settings) as context:
        found = prune(context, NEXT_DAY, datetime.now(UTC), dry_run=False)
    assert found["monitoring_scores: texts"] == 1
    assert scores(settings, "hiring")["user_input"].to_list() == [None] * 3


def test_test_runs_are_of_no_service(settings: Settings) -> None:
    with pytest.raises(UsageError, match="test runs are of no service"):
        score_inbox(settings_of_service(settings, "hiring"), DAY)


@pytest.mark.long
def test_day_that_a_service_keeps_may_be_replaced_without_that_of_another(
    settings: Settings, tmp_path: Path, slack: FakeSlack
) -> None:
    """Both have lost their rows; what is said of one, followed to the letter, must not cost the scores of the other."""
    alerts = AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url)
    hiring, _, support = settings.monitoring.service
    several = with_services(settings, hiring, support).model_copy(update={"alerts": alerts})
    backfill(DAY, DAY, settings=several)
    for one in (hiring, support):
        write_rows(tmp_path / one.name / "a.jsonl", [plain(3 * 24 * 60)])
    outcome = backfill(DAY, DAY, settings=several)
    command = f"backfill --from {DAY} --to {DAY} --allow-shrink"
    for one in (hiring, support):
        (problem,) = [said for said in outcome.problems if said.startswith(one.name)]
        (message,) = [said.shown for said in slack.posted if said.text.startswith(f"{one.name} · ")]
        assert f"aqb --service {one.name} {command}" in problem
        assert f"aqb --service {one.name} {command}" in message
