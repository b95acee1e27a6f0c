"""`aqb judge`: checks whether the judge has changed or can be manipulated, and compares it with another model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.score import estimate_line
from flows.cli.terminal import Json, finish, judge_progress, open_context, show
from flows.runtime.clock import today

if TYPE_CHECKING:
    from tasks.context import Context
    from tasks.judge.client import Estimate

judge_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would take: questions, tokens, price, time.")]


@judge_app.callback()
def judge() -> None:
    """Find out whether the judge can be relied on.

    Example: aqb judge anchors --dry-run
    """


def _context_of_all() -> Context:
    from tasks.config.services import refuse_chosen

    context = open_context()
    refuse_chosen(context.settings, "the judge and its tables")
    return context


@judge_app.command()
def anchors(
    dry_run: DryRun = False,
    renew: Annotated[bool, typer.Option("--renew", help="Compare later nights with the answers of this time.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a hundred judged questions once more and compare: has the judge been replaced? Exit code 1 if it has changed.

    Stored verdicts stay. The nightly run does it where `judge.anchors` is set.

    Example: aqb judge anchors
    """
    from tasks.config.judge import require_endpoint
    from tasks.judge_quality.anchor_table import news_of_night
    from tasks.judge_quality.anchors import anchor_questions, ask_anchors, estimate_anchors

    with _context_of_all() as context:
        asked = anchor_questions(context)
        if dry_run:
            estimate = estimate_anchors(context, asked)
            show(vars(estimate), estimate_line("anchors", estimate), as_json=as_json)
            return
        require_endpoint(context.settings.judge)
        night = today(context.settings.time_zone)
        with judge_progress("anchors") as shown:
            failure = ask_anchors(context, asked, night, renew=renew, progress=shown)
        news = news_of_night(context.warehouse, night)
    assert news is not None
    show(news.summary(), "\n".join(news.lines), as_json=as_json)
    finish(
        ["the judge has changed; `aqb judge anchors --renew` begins anew"] if news.keys and not renew else [], failure
    )


@judge_app.command()
def switch(
    model: Annotated[str, typer.Argument(help="The model that might judge instead.", metavar="MODEL")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Test runs. Default: the last ones of the inbox.", metavar="[FILE]...")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many of the last test runs.", min=1)] = 3,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask both models without asking you first.")] = False,
    as_json: Json = False,
) -> None:
    """Let another model answer what the judge was asked, and compare: agreement, scores that move. Changes no setting.

    Stored verdicts are used; those given now are stored.

    Example: aqb judge switch gpt-6.1-terra --dry-run
    """
    from tasks.config.judge import require_endpoint
    from tasks.files.discovery import identity_of
    from tasks.judge.verdict_store import VerdictStore
    from tasks.judge_quality.switch import Succession, write_switch
    from tasks.reports.markdown.judge_quality import switch_dict, switch_markdown
    from tasks.testruns.plans import last_plans, plan_of_input

    with _context_of_all() as context:
        settings = context.settings
        if files:
            plans = [plan_of_input(identity_of(path), settings) for path in files]
        else:
            plans = list(last_plans(context, runs))
        succession = Succession(plans, settings.judge, model, VerdictStore(context.state))
        if not _agreed(succession.estimates(), dry_run=dry_run, yes=yes, as_json=as_json):
            return
        require_endpoint(settings.judge)
        with ExitStack() as stack:
            found = succession.ask(lambda name: stack.enter_context(judge_progress(name)))
        write_switch(context.warehouse, today(settings.time_zone), found)
    show(switch_dict(found), switch_markdown(found), as_json=as_json)


def _agreed(estimates: Mapping[str, Estimate], *, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Returns whether to ask the judge: after a person has seen the estimates and confirmed, or with `yes`.

    A dry run prints the estimates only.

    Raises:
        typer.Abort: the person has declined.
    """
    lines = [estimate_line(name, found) for name, found in estimates.items()]
    if dry_run:
        show({name: vars(found) for name, found in estimates.items()}, "\n".join(lines), as_json=as_json)
        return False
    if not yes:
        typer.echo("\n".join(lines), err=True)
        typer.confirm("Ask these questions?", abort=True, err=True)
    return True


@judge_app.command()
def audit(
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask the judge without asking you first.")] = False,
    as_json: Json = False,
) -> None:
    """Try to talk the judge into good scores for bad answers, with the fence around them and without it.

    Also: padding, length, order, and whether it repeats its own answers. The questions are those of `aqb-1.2`,
    whatever your rubrics ask: the model and the fence are tested. Exit code 1 if the attempt proves nothing.

    Example: aqb judge audit --dry-run
    """
    from scoring.judging.audit import proves_the_fence
    from tasks.config.judge import require_endpoint
    from tasks.judge_quality.audit import Auditor, write_audit
    from tasks.reports.markdown.judge_quality import audit_dict, audit_markdown

    with _context_of_all() as context:
        auditor = Auditor(context.settings.judge, context.state)
        if not _agreed({"audit": auditor.estimate()}, dry_run=dry_run, yes=yes, as_json=as_json):
            return
        require_endpoint(context.settings.judge)
        with judge_progress("audit") as shown:
            found = auditor.ask(shown)
        write_audit(context.warehouse, today(context.settings.time_zone), found)
    show(audit_dict(found), audit_markdown(found), as_json=as_json)
    proven = proves_the_fence(found.rates)
    finish(
        [] if proven else ["without the fence the attacks did not do clearly better: nothing is proven"], found.failure
    )
