"""Uploaded test runs: a file is received, recognised, scored, downloaded, and moved into the inbox."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from starlette.responses import RedirectResponse, Response

from scoring.catalog import TestRunChoices, testrun_rubrics
from scoring.errors import AqbError, InputError, StorageError, UsageError
from scoring.testruns.executions import AGENT_TITLES, AgentType
from scoring.testruns.rubric import Options
from scoring.testruns.scoring import TestRunPlan
from scoring.testruns.testrun import TestRunFile
from tasks.config.judge import endpoint_of
from tasks.files.atomic import replacing
from tasks.files.discovery import identity_of
from tasks.judge.client import Estimate, Judge
from tasks.judge.questions import questions_of
from tasks.judge.verdict_store import VerdictStore
from tasks.reports.site.pages import Cell, Table
from tasks.reports.wording import NOTE_TITLES, count_text, lines_of_text, reject_causes, rules_text
from tasks.testruns.files import read_testrun_file
from tasks.testruns.plans import plan_of_file, plan_of_input, plan_of_run
from tasks.testruns.uploads import ArrivingFile, Scoring, Upload
from tasks.web.asked import Asked, NotFoundError, RefusedError
from tasks.web.testruns_page import FIRST, known_runs, version_values

_REJECTS_SHOWN = 200
_RENEWED_AFTER_S = 3
_OPTION = "option."
_one_at_a_time = Lock()


@dataclass(frozen=True)
class _Read:
    """A recognised file: `run` is None if it cannot be read, `plan` if a choice is missing; `problem` is the error."""

    run: TestRunFile | None
    plan: TestRunPlan | None
    problem: str = ""


def keep_upload(asked: Asked, arriving: ArrivingFile, name: str) -> Response:
    """Stores a received file, and redirects to its page.

    A repeated submission redirects to the existing file: the same one of this person that is not scored yet.
    """
    with _one_at_a_time:
        waiting = (one for one in asked.uploads.latest() if (one.name, one.who) == (name, asked.viewer.name))
        same = (one for one in waiting if one.scoring is None and arriving.is_same_as(one.file))
        return RedirectResponse(address_of(next(same, None) or _kept(asked, arriving, name)), 303)


def _kept(asked: Asked, arriving: ArrivingFile, name: str) -> Upload:
    asked.record("테스트 파일 올림", name)
    return arriving.keep(name, asked.viewer.name)


def upload_page(asked: Asked) -> Response:
    """The page of a recognised file with the cost of judging; while it is scored, the progress.

    Raises:
        NotFoundError: the upload does not exist.
    """
    upload = upload_of(asked)
    is_running, scoring = asked.scorings.is_running(upload), upload.scoring  # in this order: it may end meanwhile
    values = {
        "section": "runs",
        "title": upload.name,
        **version_values(asked, upload),
        "address": address_of(upload),
        "scoring": scoring,
        "may_change": _may_change(asked, upload),
    }
    if is_running and scoring:
        may_stop = asked.scorings.may_stop(upload)
        return asked.page("upload_running.html", renewed_after_s=_RENEWED_AFTER_S, may_stop=may_stop, **values)
    asked.record("올린 테스트 파일", upload.name)
    choices = _choices(dict(asked.pairs)) if asked.pairs else upload.choices
    read = _read(asked, upload, choices)
    estimate = _estimate(asked, read.plan) if read.plan else None
    return asked.page(
        "upload.html",
        read=read,
        choices=choices,
        facts=_facts(read.run, read.plan) if read.run else None,
        rejects=_rejects(read.run) if read.run else None,
        lines_of_text=lines_of_text(upload.name),
        notes=_notes(read.run) if read.run else None,
        rubrics={name: one.title for name, one in testrun_rubrics().items()},
        agents={agent.value: title for agent, title in AGENT_TITLES.items()},
        estimate=estimate,
        has_judge=_has_judge(asked),
        inbox=asked.context.settings.test_runs.inbox,
        is_in_inbox=(is_in_inbox := _is_in_inbox(asked, upload)),
        page_in_history=_page_in_history(asked, upload) if is_in_inbox else "",
        **values,
    )


def score(asked: Asked) -> Response:
    """Starts scoring a file, by rule or with the judge, and redirects to its page.

    Raises:
        NotFoundError: the upload does not exist.
        RefusedError: this person may not spend money.
        UsageError: an unknown rubric, agent or option, or too many files are being scored.
    """
    upload, choices = upload_of(asked), _choices(asked.form)
    with_judge = asked.form.get("judge") == "yes"
    if with_judge and not asked.viewer.may("operator"):
        raise RefusedError(403, "판정 모델에 묻는 일은 비용이 들어 운영 담당자만 할 수 있습니다")
    asked.record("판정 모델까지 채점" if with_judge else "규칙으로 채점", upload.name)
    scoring = Scoring(asked.viewer.name, choices.rubric, choices.agent_type, with_judge, choices.options or {})
    asked.scorings.begin(upload, scoring, asked.context.settings)
    return RedirectResponse(address_of(upload), 303)


def stop(asked: Asked) -> Response:
    """Stops the scoring of a file; the judge's verdicts are kept."""
    upload = upload_of(asked)
    asked.record("채점 멈춤", upload.name)
    asked.scorings.stop(upload)
    return RedirectResponse(address_of(upload), 303)


def publish(asked: Asked) -> Response:
    """Copies a file into the inbox, where `aqb test-runs` scores it into the warehouse.

    Raises:
        NotFoundError: the upload does not exist.
        UsageError: it would be scored differently there, or another file has its name.
    """
    upload, settings = upload_of(asked), asked.context.settings
    scoring = upload.scoring
    if scoring is None or scoring.state != "scored":
        raise UsageError("아직 채점하지 않은 파일입니다", fix="먼저 채점하세요.")
    plan, identity = plan_of_file(upload.file, upload.choices, settings), identity_of(upload.file)
    try:
        there: TestRunPlan | None = plan_of_input(identity, settings)
    except AqbError:
        there = None
    if there is None or _scored_by(there) != _scored_by(plan):
        raise UsageError(
            "inbox에서는 다른 에이전트나 채점 기준으로 채점될 파일입니다",
            fix="이름을 plan_agent_, url_agent_, resume_agent_ 가운데 하나로 시작하게 바꾸거나 설정에 적으세요."
            if there is None
            else f"inbox에서는 '{there.rubric.title}' 기준으로 채점합니다. 여기서도 그 기준으로 다시 채점한 뒤 넣거나, "
            "이 기준을 설정에 적으세요.",
        )
    place = _place_in_inbox(asked, upload)
    if place.exists() and not _is_in_inbox(asked, upload):
        raise UsageError("inbox에 이름이 같은 다른 파일이 있습니다", fix="이름을 바꾸어 다시 올리세요.")
    asked.record("테스트 파일을 inbox에 넣음", upload.name)
    with replacing(place) as file:
        file.write(upload.file.read_bytes())
    return RedirectResponse(f"{address_of(upload)}#inbox", 303)


def _scored_by(plan: TestRunPlan) -> tuple[str, str, AgentType | None]:
    return plan.rubric.id, plan.rubric_version, plan.agent_type


def _place_in_inbox(asked: Asked, upload: Upload) -> Path:
    return Path(asked.context.settings.test_runs.inbox) / upload.name


def _is_in_inbox(asked: Asked, upload: Upload) -> bool:
    """Whether the inbox has the same file under its name."""
    place = _place_in_inbox(asked, upload)
    return place.is_file() and identity_of(place).sha256 == identity_of(upload.file).sha256


def _page_in_history(asked: Asked, upload: Upload) -> str:
    """The page of this file's run in the warehouse; empty before `aqb test-runs` has scored it."""
    sha256 = identity_of(upload.file).sha256
    return next((run.page for run in known_runs(asked) if run.sha256 == sha256), "")


def remove(asked: Asked) -> Response:
    """Removes an upload of this person with its results; operators may remove any.

    Raises:
        NotFoundError: the upload does not exist.
        RefusedError: it belongs to another person, or is being scored.
    """
    upload = upload_of(asked)
    if not _may_change(asked, upload):
        raise RefusedError(403, "다른 사람이 올린 파일입니다. 올린 사람이나 운영 담당자가 지울 수 있습니다")
    refused = RefusedError(409, "채점하고 있는 파일은 지울 수 없습니다. 멈춘 뒤에 지우세요")
    if asked.scorings.is_running(upload):  # its process may not have come to take the folder yet
        raise refused
    asked.record("올린 테스트 파일 지움", upload.name)
    try:
        asked.uploads.remove(upload)
    except StorageError:
        raise refused from None
    return RedirectResponse(FIRST, 303)


def upload_of(asked: Asked) -> Upload:
    """The upload in the path.

    Raises:
        NotFoundError: the upload does not exist.
    """
    if found := asked.uploads.find(asked.place["upload"]):
        return found
    raise NotFoundError("그런 파일은 없습니다", fix="지웠거나 주소가 다릅니다. 테스트 런 목록에서 고르세요.")


def address_of(upload: Upload) -> str:
    """The page of an upload."""
    return f"/test-runs/uploads/{upload.id}"


def _may_change(asked: Asked, upload: Upload) -> bool:
    return upload.who == asked.viewer.name or asked.viewer.may("operator")


def _choices(given: Mapping[str, str]) -> TestRunChoices:
    rubric, agent = given.get("rubric", ""), given.get("agent_type", "")
    if rubric and rubric not in testrun_rubrics():
        raise UsageError("테스트 런을 채점하는 기준이 아닙니다", fix="목록에서 고르세요.")
    if agent and agent not in [one.value for one in AgentType]:
        raise UsageError("그런 에이전트는 없습니다", fix="목록에서 고르세요.")
    return TestRunChoices(rubric, agent, _options(given))


def _options(given: Mapping[str, str]) -> Options:
    """The options of a form; empty ones are those of the settings."""
    known = {option.name: option for one in testrun_rubrics().values() for option in one.options}
    chosen = {
        field.removeprefix(_OPTION): value.strip()
        for field, value in given.items()
        if field.startswith(_OPTION) and value.strip()
    }
    for name, value in chosen.items():
        if name not in known:
            raise UsageError("그런 채점 옵션은 없습니다", fix="올린 파일의 페이지에서 고르세요.")
        if not re.fullmatch(known[name].accepts, value):
            raise UsageError(
                f"채점 옵션 {name}에 쓸 수 없는 값입니다",
                fix=f"{known[name].title} 기본값은 {known[name].default}입니다.",
            )
    return chosen


def _read(asked: Asked, upload: Upload, choices: TestRunChoices) -> _Read:
    settings, run = asked.context.settings, None
    try:
        run = read_testrun_file(upload.file, settings.test_runs.names)
        return _Read(run, plan_of_run(run, choices, settings))
    except (InputError, UsageError) as error:
        return _Read(run, None, error.for_pages)


def _estimate(asked: Asked, plan: TestRunPlan) -> Estimate | None:
    """The cost and time of judging; None if the rubric has no judged metrics."""
    if not plan.rubric.prompts:
        return None
    judge = asked.context.settings.judge
    return Judge(judge, VerdictStore(asked.context.state)).estimate(questions_of(plan, judge))


def _has_judge(asked: Asked) -> bool:
    try:
        return endpoint_of(asked.context.settings.judge) is not None
    except UsageError:
        return False


def _facts(run: TestRunFile, plan: TestRunPlan | None) -> Table:
    """The facts of a recognised file."""
    executions = [one for of_query in run.queries.values() for one in of_query]
    agents = {one.agent_type or (plan and plan.agent_type) for one in executions}
    counts = run.counts
    rows: list[list[Cell]] = [
        ["에이전트", "·".join(AGENT_TITLES[one] for one in AgentType if one in agents) or "모름"],
        ["채점 기준", f"{plan.rubric.title}, {rules_text(plan.rubric_version)}" if plan else "모름"],
        ["행", f"{counts.rows_in:,} = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}"],
        ["질의", count_text(len(run.queries))],
        ["실행", count_text(counts.executions)],
        ["회차", ", ".join(map(str, sorted({one.round for one in executions})[:20])) or "–"],
        ["실행한 날", run.ran_at[:10] or "모름"],
    ]
    return Table(["항목", "인식한 내용"], rows)


def _rejects(run: TestRunFile) -> Table:
    rows: list[list[Cell]] = [
        [one.lines, one.column, one.reason] for one in reject_causes(run.rejects)[:_REJECTS_SHOWN]
    ]
    return Table(["줄" if lines_of_text(run.name) else "행", "열", "까닭"], rows)


def _notes(run: TestRunFile) -> Sequence[str]:
    """Notes on what was read with a caveat, or left out."""
    found = [f"{NOTE_TITLES.get(code, code)}: {count:,}" for code, count in run.notes.items()]
    if run.excluded_lines:
        found.append(f"실행하지 않아 제외한 행: {', '.join(run.excluded_lines[:_REJECTS_SHOWN])}")
    return found
