"""The pages of test runs: those of the warehouse, under the same names as on the site, and the results of uploaded
files, under `upload-<id>`.

Their texts are masked for everybody, as on the site. Downloads are not.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import FileResponse, RedirectResponse, Response

from scoring.stats.intervals import Interval
from scoring.testruns.history import compared_with
from scoring.testruns.scoring import epochs_of
from tasks.chat.tables import KPIS
from tasks.reports.site.build import SPAN_DAYS
from tasks.reports.site.pages import Cell, Link, Table
from tasks.reports.site.testrun_charts import metric_intervals
from tasks.reports.site.testrun_history import agents_table, runs_by_set, values_of_set
from tasks.reports.site.testrun_pages import file_links, testrun_list, testrun_values
from tasks.reports.site.testrun_tables import PublishedTestRun, executions_of, queries_of, read_testruns, report_files
from tasks.testruns.trusted_metrics import read_trust, untrusted_metrics
from tasks.testruns.uploads import Upload
from tasks.testruns.warehouse import SCORES as TESTRUN_SCORES
from tasks.warehouse import Warehouse
from tasks.web.asked import Asked, NotFoundError, RefusedError

FIRST = "/test-runs/index.html"
_OF_UPLOAD = "upload-"
_KINDS = {
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def first_page(asked: Asked) -> Response:
    """Redirects to the chat rows, or to the test runs if there are no chat rows."""
    only_runs = not asked.context.warehouse.days(KPIS) and asked.context.of_no_service.warehouse.days(TESTRUN_SCORES)
    return RedirectResponse(FIRST if only_runs else "/rows", 303)


def testruns_page(asked: Asked) -> Response:
    """The state of each agent, and its runs, latest first."""
    asked.record("테스트 런 목록", FIRST)
    runs = known_runs(asked)
    return asked.page(
        "test_runs.html",
        section="runs",
        title="테스트 런",
        uploads=_uploads_table(asked),
        megabytes=asked.access.settings.upload_megabytes,
        agents=agents_table(runs),
        runs=[
            (agent, testrun_list([run for run in runs if run.agent_title == agent], ""))
            for agent in dict.fromkeys(run.agent_title for run in runs)
        ],
    )


def testrun_page(asked: Asked) -> Response:
    """The page of a run or of an upload's result, or the history of a test set.

    Raises:
        NotFoundError: the last days of the warehouse have neither.
    """
    name, runs, warehouse = asked.place["page"], known_runs(asked), asked.context.of_no_service.warehouse
    if upload := scored_upload(asked, name):
        asked.record("테스트 런", f"/test-runs/{name}")
        return asked.page("run.html", section="runs", **_uploaded_values(asked, upload, runs))
    if run := next((run for run in runs if run.page == name), None):
        asked.record("테스트 런", f"/test-runs/{quote(name)}")
        folder = folder_of(asked, run)
        links = file_links(folder.name, report_files(folder) if asked.sees_personal_data else [])
        values = _shown_values(run, runs, warehouse, links)
        return asked.page("run.html", section="runs", **values)
    if of_set := next((of_set for of_set in runs_by_set(runs) if of_set[-1].set_page == name), None):
        asked.record("테스트 세트", f"/test-runs/{quote(name)}")
        intervals = {(run.sha256, run.rubric_id): _intervals(warehouse, run) for run in of_set}
        return asked.page("test_set.html", section="runs", **values_of_set(of_set, intervals))
    raise NotFoundError("그런 테스트 런은 없습니다", fix="테스트 런 목록에서 고르세요.")


def testrun_file(asked: Asked) -> Response:
    """A file of the report folder of a run.

    Raises:
        RefusedError: it quotes people, whose words this person may only see masked.
        NotFoundError: the run or file does not exist.
    """
    place, name = asked.place["folder"], asked.place["name"]
    if upload := scored_upload(asked, place):
        folder: Path | None = upload.report
        may_have = takes_home(asked, upload)
    else:
        folders = (folder_of(asked, run) for run in known_runs(asked))
        folder, may_have = next((one for one in folders if one.name == place), None), asked.sees_personal_data
    if not may_have:
        raise RefusedError(
            403, "개인정보를 가리지 않은 파일이라 받을 권한이 없습니다. 올린 사람이나 운영 담당자에게 요청하세요"
        )
    if folder is None or name not in report_files(folder):
        raise NotFoundError("그런 파일은 없습니다", fix="테스트 런 목록에서 고르세요.")
    path, run = folder / name, upload.file.stem if upload else place
    asked.record("내려받기", f"{run}/{name}")
    saved_as = quote(f"{run}-{name}", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{saved_as}", "Cache-Control": "no-store"}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=headers)


def known_runs(asked: Asked) -> list[PublishedTestRun]:
    """The runs of the warehouse's last days, latest first."""
    return read_testruns(asked.context.of_no_service.warehouse, SPAN_DAYS)


def folder_of(asked: Asked, run: PublishedTestRun) -> Path:
    """The report folder of a run of the warehouse, which may be on another machine."""
    return asked.context.of_no_service.reports.testrun_folder(run.name, run.sha256)


def scored_upload(asked: Asked, page: str) -> Upload | None:
    """The upload whose result has this page; None if there is none, or it is not scored."""
    found = asked.uploads.find(page.removeprefix(_OF_UPLOAD)) if page.startswith(_OF_UPLOAD) else None
    return found if found and found.is_scored else None


def page_of_upload(upload: Upload) -> str:
    """The page of an upload's result in the folder of test runs."""
    return f"{_OF_UPLOAD}{upload.id}"


def sent_at(asked: Asked, upload: Upload) -> str:
    """The local time of an upload."""
    return f"{upload.at.astimezone(asked.context.settings.zone):%Y-%m-%d %H:%M}"


def takes_home(asked: Asked, upload: Upload) -> bool:
    """Whether this person may download a file with its texts unmasked: the uploader knows them."""
    return asked.sees_personal_data or upload.who == asked.viewer.name


def later_versions(asked: Asked, upload: Upload) -> list[Upload]:
    """The later versions of a file, latest first."""
    return [one for one in asked.uploads.latest() if one.of and one.of.id == upload.id]


def version_values(asked: Asked, upload: Upload) -> dict[str, Any]:
    """The values of the version before a file and of those after it, for its pages."""
    return {
        "upload": upload,
        "before_it": asked.uploads.find(upload.of.id) if upload.of else None,
        "later_versions": later_versions(asked, upload),
        "may_correct": asked.viewer.may("reviewer") and takes_home(asked, upload),
    }


def _shown_values(
    run: PublishedTestRun, others: Sequence[PublishedTestRun], warehouse: Warehouse, files: Sequence[Link]
) -> dict[str, Any]:
    """The values of the page of a run; its rows are in `warehouse`, `others` are the runs that it may have been
    compared with.
    """
    compared = compared_with(run.summary), run.rubric_id
    page = next((one.page for one in others if (one.sha256, one.rubric_id) == compared), "")
    executions, queries = executions_of(warehouse, run), queries_of(warehouse, run)
    return testrun_values(run, executions, queries, metric_intervals(run, executions, queries), files, page)


def _uploaded_values(asked: Asked, upload: Upload, runs: Sequence[PublishedTestRun]) -> dict[str, Any]:
    """The values of the page of an upload's result, which is compared with runs of the warehouse."""
    (run,) = read_testruns(upload.warehouse, 1)
    if run.rubric:
        trust = read_trust(asked.context.of_no_service.warehouse)
        run = replace(run, untrusted=untrusted_metrics(trust, run.rubric, epochs_of(run.summary)))
    names = report_files(upload.report) if takes_home(asked, upload) else []
    values = _shown_values(run, runs, upload.warehouse, file_links(page_of_upload(upload), names))
    return {**values, **version_values(asked, upload)}


def _uploads_table(asked: Asked) -> Table:
    rows: list[list[Cell]] = [
        [
            Link(upload.name, f"uploads/{upload.id}"),
            sent_at(asked, upload),
            upload.who,
            _state(asked, upload),
        ]
        for upload in asked.uploads.latest()
    ]
    return Table(["파일", "올린 시각", "올린 사람", "상태"], rows)


def _state(asked: Asked, upload: Upload) -> Cell:
    if asked.scorings.is_running(upload):
        return "채점하는 중"
    scoring = upload.scoring
    if scoring is None:
        return "아직 채점하지 않음"
    if scoring.state == "scored":
        return Link("결과 보기", page_of_upload(upload))
    return "채점하지 못함" if scoring.state == "failed" else "채점이 중단됨"


def _intervals(warehouse: Warehouse, run: PublishedTestRun) -> dict[str, Interval | None]:
    return metric_intervals(run, executions_of(warehouse, run), queries_of(warehouse, run))
