"""`aqb judge`: whether the judge is still the same, can be talked into things, and what another model would say."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.score import estimate_line
from flows.cli.terminal import Json, finish, judge_progress, open_context, show

judge_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would take: questions, tokens, price, time.")]


@judge_app.callback()
def judge() -> None:
    """Find out whether the judge can be relied on.

    Example: aqb judge anchors --dry-run
    """


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
    from flows.runtime.clock import today
    from tasks.config.judge import require_endpoint
    from tasks.judge_quality.anchor_table import news_of_night
    from tasks.judge_quality.anchors import anchor_questions, ask_anchors, estimate_anchors

    with open_context() as context:
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
