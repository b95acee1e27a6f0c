"""The pages of test runs: what the warehouse knows of them, under the names that they have on the site.

Their texts are masked for everybody, as on the site. What can be taken home is not.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import FileResponse, Response

from scoring.stats.intervals import Interval
from tasks.reports.site.build import SPAN_DAYS
from tasks.reports.site.pages import Link
from tasks.reports.site.testrun_charts import metric_intervals
from tasks.reports.site.testrun_history import agents_table, runs_by_set, values_of_set
from tasks.reports.site.testrun_pages import testrun_list, testrun_values
from tasks.reports.site.testrun_tables import RUN_FILES, PublishedTestRun, executions_of, queries_of, read_testruns
from tasks.warehouse import Warehouse
from tasks.web.asked import Asked, NotFoundError, RefusedError

FIRST = "/test-runs/index.html"
_KINDS = {
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def testruns_page(asked: Asked) -> Response:
    """Where every agent stands, and its runs, the latest first."""
    asked.record("테스트 런 목록", FIRST)
    runs = known_runs(asked)
    return asked.page(
        "test_runs.html",
        section="runs",
        title="테스트 런",
        agents=agents_table(runs),
        runs=[
            (agent, testrun_list([run for run in runs if run.agent_title == agent], ""))
            for agent in dict.fromkeys(run.agent_title for run in runs)
        ],
    )


def testrun_page(asked: Asked) -> Response:
    """The page of a run, or the history of a test set.

    Raises:
        NotFoundError: the warehouse knows neither among its last days.
    """
    name, runs = asked.place["page"], known_runs(asked)
    if run := next((run for run in runs if run.page == name), None):
        asked.record("테스트 런", f"/test-runs/{quote(name)}")
        values = shown_values(run, runs, asked.context.warehouse, _links(asked, run))
        return asked.page("run.html", section="runs", **values)
    if of_set := next((of_set for of_set in runs_by_set(runs) if of_set[-1].set_page == name), None):
        asked.record("테스트 세트", f"/test-runs/{quote(name)}")
        intervals = {(run.sha256, run.rubric_id): _intervals(asked.context.warehouse, run) for run in of_set}
        return asked.page("test_set.html", section="runs", **values_of_set(of_set, intervals))
    raise NotFoundError("그런 테스트 런은 없습니다", fix="테스트 런 목록에서 고르십시오.")


def testrun_file(asked: Asked) -> Response:
    """A file of the report folder of a run.

    Raises:
        RefusedError: it quotes people, whose words this person sees masked alone.
        NotFoundError: there is no such run or file.
    """
    folders = {folder_of(asked, run).name: folder_of(asked, run) for run in known_runs(asked)}
    folder, name = folders.get(asked.place["folder"]), asked.place["name"]
    if not asked.sees_personal_data:
        raise RefusedError(403, "글을 그대로 담은 파일이라 받을 수 없습니다")
    if folder is None or name not in files_of(folder):
        raise NotFoundError("그런 파일은 없습니다", fix="테스트 런 목록에서 고르십시오.")
    return saved_file(asked, folder / name)


def saved_file(asked: Asked, path: Path) -> Response:
    """A file of ours as a browser saves it; it is never shown."""
    asked.record("내려받기", f"{path.parent.name}/{path.name}")
    name = quote(f"{path.parent.name}-{path.name}", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Cache-Control": "no-store"}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=headers)


def known_runs(asked: Asked) -> list[PublishedTestRun]:
    """The runs of the warehouse's last days, those that ran last first."""
    return read_testruns(asked.context.warehouse, SPAN_DAYS)


def folder_of(asked: Asked, run: PublishedTestRun) -> Path:
    """The report folder of a run of the warehouse, whether it lies on this machine or not."""
    return asked.context.reports.testrun_folder(run.name, run.sha256)


def files_of(folder: Path) -> list[str]:
    """Those of its files that people take home."""
    return [name for name in RUN_FILES if (folder / name).is_file()]


def shown_values(
    run: PublishedTestRun, others: Sequence[PublishedTestRun], warehouse: Warehouse, files: Sequence[Link]
) -> dict[str, Any]:
    """What the page of a run shows; its rows are those of `warehouse`, `others` what it may have been compared with."""
    before = (run.summary.get("change") or {}).get("sha256", "")
    page = next((one.page for one in others if (one.sha256, one.rubric_id) == (before, run.rubric_id)), "")
    executions, queries = executions_of(warehouse, run), queries_of(warehouse, run)
    return testrun_values(run, executions, queries, metric_intervals(run, executions, queries), files, page)


def _intervals(warehouse: Warehouse, run: PublishedTestRun) -> dict[str, Interval | None]:
    return metric_intervals(run, executions_of(warehouse, run), queries_of(warehouse, run))


def _links(asked: Asked, run: PublishedTestRun) -> list[Link]:
    """What this person may take home of a run."""
    folder = folder_of(asked, run)
    names = files_of(folder) if asked.sees_personal_data else []
    return [Link(RUN_FILES[name], quote(f"{folder.name}/{name}")) for name in names]
