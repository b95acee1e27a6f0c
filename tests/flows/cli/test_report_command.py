import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.steps.judge_quality import judge_trust_anew
from flows.steps.site import SiteOutcome, site_after
from scoring.errors import TakenError
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.report_paths import SITE_LOCK, ReportPaths
from tasks.waiting import begun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import write_day
from tests.builders.state import in_context
from tests.flows.conftest import Command


def test_site_stands_beside_the_reports_unless_told_otherwise(aqb: Command, folder: Path) -> None:
    write_day(FolderWarehouse(folder / "data" / "warehouse"), DAY, [best(), refused()])
    first = aqb("report")
    assert first.exit_code == 0
    assert first.out.splitlines()[-1] == f"dashboard: {Path('data/reports/index.html')}"
    assert (folder / "data" / "reports" / "monitoring" / f"{DAY}.html").is_file()
    elsewhere = aqb("report", "--out", "elsewhere", "--days", "1", "--json")
    pages = {path.relative_to("elsewhere").as_posix() for path in Path("elsewhere").rglob("*.html")}
    assert pages >= {"index.html", f"monitoring/{DAY}.html", "test-runs/index.html"}
    assert json.loads(elsewhere.out) == {
        "path": str(Path("elsewhere/index.html")),
        "pages": len(pages),
        "written": len(pages),
    }


def test_chosen_days_get_a_report_and_a_page_beside_the_site(aqb: Command, folder: Path) -> None:
    write_day(FolderWarehouse(folder / "data" / "warehouse"), DAY, [best(), refused()])
    found = json.loads(aqb("report", "--from", f"{DAY}", "--to", f"{DAY}", "--json").out)
    name = f"days-{DAY}-{DAY}"
    assert found["report"] == str(Path(f"data/reports/monitoring-{name}.md"))
    assert found["page"] == str(Path(f"data/reports/monitoring/{name}.html"))
    assert "1일 동안 2행을 채점했습니다." in Path(found["report"]).read_text(encoding="utf-8")
    assert f"{DAY} ~ {DAY}" in Path(found["page"]).read_text(encoding="utf-8")
    week = json.loads(aqb("report", "--week", f"{DAY}", "--json").out)
    assert Path(week["report"]).is_file()
    assert Path(week["page"]).is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--from", f"{DAY}"], "--from and --to go together"),
        (["--week", f"{DAY}", "--to", f"{DAY}"], "--week says the days already"),
        (["--from", "2026-03-02", "--to", "2026-03-01"], "is after --to"),
    ],
)
def test_days_that_make_no_range_are_a_wrong_usage(aqb: Command, options: list[str], said: str) -> None:
    refused_command = aqb("report", *options)
    assert refused_command.exit_code == 2
    assert said in refused_command.err


def test_empty_warehouse_gives_a_page_that_says_so(aqb: Command, folder: Path) -> None:
    assert aqb("report").exit_code == 0
    assert "아직 채점한 날이 없습니다" in (folder / "data" / "reports" / "index.html").read_text(encoding="utf-8")


def test_report_of_several_services_wants_one_chosen_and_leaves_nothing_behind(aqb: Command, folder: Path) -> None:
    services = (f'[[monitoring.service]]\nname = "{name}"\nsource = "a"\n' for name in ("hiring", "support"))
    (folder / "aqb.toml").write_text("".join(services), encoding="utf-8")
    refused_command = aqb("report")
    assert (refused_command.exit_code, "choose one" in refused_command.err) == (2, True)
    assert [path.name for path in folder.iterdir()] == ["aqb.toml"]


def test_report_and_a_night_write_their_pages_one_after_the_other(aqb: Command, folder: Path) -> None:
    """Else the older pages of one could stay under the newer inputs that the other has noted."""
    warehouse = FolderWarehouse(folder / "data" / "warehouse")
    write_day(warehouse, DAY, [best(), refused()])
    state = ReportPaths(folder / "data" / "reports").site_state
    state.parent.mkdir(parents=True)
    os.mkfifo(state)  # the build waits where it reads it

    def look() -> bool:
        with state.open("w") as noted:
            noted.write("{}")
            try:
                warehouse.lock(SITE_LOCK, wait_s=0).__enter__()
            except TakenError:
                return True
        return False

    is_alone = begun(look)
    assert aqb("report").exit_code == 0
    assert is_alone()


def test_no_days_are_a_wrong_usage(aqb: Command) -> None:
    assert aqb("report", "--days", "0").exit_code == 2


def test_site_that_cannot_be_built_is_a_warning_of_the_run(tmp_path: Path) -> None:
    settings = Settings(warehouse="nowhere://at/all", reports=str(tmp_path / "reports"))

    outcome = in_context(site_after, settings)
    assert outcome.path is None
    assert outcome.problems[0].startswith("the report site could not be built: UsageError: ")


@pytest.mark.parametrize(
    ("place", "begun", "said"),
    [
        ("flows.steps.site.build_pages", site_after, "the report site could not be built"),
        ("flows.steps.judge_quality.newest", judge_trust_anew, "labels could not be compared with the scores"),
    ],
)
def test_warning_of_the_run_quotes_no_error_of_a_library(
    place: str, begun: Callable[[Context], Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("could not parse `홍길동` as dtype `i64`")

    monkeypatch.setattr(place, fail)
    settings = Settings(warehouse=str(tmp_path / "warehouse"), reports=str(tmp_path / "reports"))
    outcome = in_context(begun, settings)
    problems = outcome.problems if isinstance(outcome, SiteOutcome) else outcome
    assert problems == (f"{said}: ValueError: see the log",)
