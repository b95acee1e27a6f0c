"""Comparison of any two test runs of the warehouse or the uploads, as by `aqb compare`."""

from pathlib import Path

from starlette.responses import Response

from scoring.errors import UsageError
from tasks.reports.markdown.comparison import comparison_values
from tasks.testruns.answers import answers_side_by_side
from tasks.testruns.read_folder import read_scored_folder
from tasks.testruns.uploads import Upload
from tasks.web.asked import Asked, NotFoundError
from tasks.web.testruns_page import folder_of, known_runs, page_of_upload, sent_at


def comparison_page(asked: Asked) -> Response:
    """The choice of two runs, or their comparison.

    Raises:
        NotFoundError: one of them is unknown, or its report folder is on another machine.
        UsageError: they were scored by different rubrics.
    """
    known, wanted = _comparable(asked), dict(asked.pairs)
    base, candidate = wanted.get("base", ""), wanted.get("candidate", "")
    if not base or not candidate:
        names = {page: title for page, (title, _) in known.items()}
        title = "두 실행 비교"
        chosen = {"base": base, "candidate": candidate}
        return asked.page("comparison_choice.html", section="runs", title=title, runs=names, **chosen)
    if base not in known or candidate not in known:
        raise NotFoundError("그런 실행은 없습니다", fix="목록에서 두 실행을 고르세요.")
    asked.record("테스트 런 비교", f"{base} {candidate}")
    before, after = (read_scored_folder(known[page][1]) for page in (base, candidate))
    if before.rubric.id != after.rubric.id:
        raise UsageError(
            "채점 기준이 달라 비교할 수 없습니다",
            fix="채점 기준이 같은 두 실행을 고르거나, 한 파일을 다른 파일의 채점 기준으로 다시 채점하세요.",
        )
    compared = before.rubric.compare(
        before.run_scores(),
        after.run_scores(),
        before.titles,
        across_expectations=_are_versions(asked, base, candidate),
    )
    changed = (*compared.worse, *compared.better)
    return asked.page(
        "comparison.html",
        section="runs",
        title=f"{compared.base.name} → {compared.candidate.name}",
        answers=answers_side_by_side(before, after, changed, asked.context.settings.test_runs.names),
        **comparison_values(compared, []),
    )


def _are_versions(asked: Asked, base: str, candidate: str) -> bool:
    """Whether the runs are of two versions of one file, made to see the effect of a correction."""
    uploads = {one.id: one for one in asked.uploads.latest()}
    of_page = {page_of_upload(one): one for one in uploads.values()}

    def first(upload: Upload) -> str:
        while upload.of and upload.of.id in uploads:
            upload = uploads[upload.of.id]
        return upload.id

    return base in of_page and candidate in of_page and first(of_page[base]) == first(of_page[candidate])


def _comparable(asked: Asked) -> dict[str, tuple[str, Path]]:
    """Page -> title and report folder of the runs whose folder is on this machine, uploads first."""
    runs = [
        (run.page, f"{run.name} ({run.when_text}, {run.rubric_title})", folder_of(asked, run))
        for run in known_runs(asked)
    ]
    sent = [
        (page_of_upload(one), f"{one.name} (올린 파일, {sent_at(asked, one)}, {one.who})", one.report)
        for one in asked.uploads.latest()
    ]
    return {page: (title, folder) for page, title, folder in (*sent, *runs) if (folder / "summary.json").is_file()}
