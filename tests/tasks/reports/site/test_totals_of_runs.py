"""The total stands wherever runs are compared over time, before the metrics that it is made of."""

from pathlib import Path

from scoring.stats.run_scores import TOTAL
from tasks.reports.site.testrun_tables import queries_of, read_testruns
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.site import SAMPLE_RUNS, Page, build, page, write_run
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv


def sample_run(tmp_path: Path, name: str, rubric: str) -> tuple[FolderWarehouse, Path]:
    """A warehouse with a run of the samples, and its site."""
    warehouse, site = FolderWarehouse(tmp_path / "warehouse"), tmp_path / "site"
    write_run(warehouse, next(path for path in SAMPLE_RUNS if path.name.startswith(name)), DAY, rubric)
    build(warehouse, site)
    return warehouse, site


def test_total_stands_first_in_the_list_of_runs_on_the_page_of_their_set_and_beside_every_query(
    tmp_path: Path,
) -> None:
    warehouse, site = sample_run(tmp_path, "resume", "aqb-1.2")
    (run,) = read_testruns(warehouse, 60)
    total = run.means[TOTAL]["mean"]
    assert f" 종합 점수 {total:.2f}(가중치의 70%만 채점) · " in page(site, "test-runs/index.html").text
    (path,) = (site / "test-runs").glob("set-*.html")
    of_set = Page(path)
    assert next(iter(of_set.charts)) == f"history-{TOTAL}"
    assert [point["value"] for point in of_set.charts[f"history-{TOTAL}"]["points"]] == [total]
    assert "질의 종합 점수 의도 충족" in of_set.text
    (path,) = (site / "test-runs").glob("resume*.html")
    text = Page(path).text
    totals = [known for query in queries_of(warehouse, run) if (known := query["columns"][TOTAL]) is not None]
    assert totals
    assert all(f"종합 점수 {known:.2f} 의도 충족" in text for known in totals)


def test_total_among_the_figures_of_the_set_stands_first_too(tmp_path: Path) -> None:
    warehouse, _ = sample_run(tmp_path, "plan", "recruit-agent")
    (run,) = read_testruns(warehouse, 60)
    assert next(iter(run.titles.items())) == (TOTAL, "종합 점수")


def test_run_of_two_agents_has_the_total_of_each_and_no_line_of_one(tmp_path: Path) -> None:
    warehouse, site = FolderWarehouse(tmp_path / "warehouse"), tmp_path / "site"
    header = [*WIDE_HEADER, "agent_type"]
    rows = [[*wide_row(f"A{n}"), agent] for n, agent in enumerate(("applicant_management", "move"))]
    write_run(warehouse, write_csv(tmp_path / "agents.csv", [header, *rows]), DAY, "aqb-1.2")
    build(warehouse, site)
    (run,) = read_testruns(warehouse, 60)
    assert len(run.parts.totals) == 2
    assert TOTAL not in run.means
    assert TOTAL not in run.titles
