"""`aqb agreement`, `aqb review`: people's labels, and how far scores agree with them."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import Json, open_context, show
from scoring.errors import UsageError

review_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@review_app.callback()
def review() -> None:
    """Hand out what people should look at as a workbook, and read their verdicts back as labels.

    Example: aqb review export out/resume --out review.xlsx
    """


def agreement(
    labels: Annotated[Path, typer.Argument(help="A CSV file of labels.", metavar="LABELS.csv")],
    run: Annotated[
        list[Path] | None,
        typer.Option(help="A folder that `aqb score` wrote for a labelled test run. Default: labels of chat rows."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare people's labels with the scores, and remember which metrics may be trusted.

    Example: aqb agreement labels.csv --run out/plan
    """
    from flows.runtime.clock import today
    from scoring.stats.agreement import agreements
    from tasks.reports.markdown.agreement import agreement_dict, agreement_markdown
    from tasks.review.labels import read_labels
    from tasks.review.pairing import labelled_rows, labelled_testruns
    from tasks.testruns.read_folder import read_scored_folder
    from tasks.testruns.trusted_metrics import write_agreements

    context = open_context()
    given = read_labels(labels)
    if not given:
        raise UsageError("no row has a label yet", where=str(labels), fix="fill the column `label`")
    if run:
        labelled = labelled_testruns(given, [read_scored_folder(folder) for folder in run], labels)
    else:
        labelled = labelled_rows(context.rubric, given, context.warehouse, labels)
    found = agreements(labelled.pairs)
    least, day = context.settings.agreement.trusted_from, today(context.settings.time_zone)
    write_agreements(context.warehouse, day, labelled.rubric, labelled.rubric_version, found, least, labelled.epochs)
    unpaired = len(given) - len(labelled.pairs)
    text = agreement_markdown(labels.name, found, labelled.titles, least, unpaired)
    show(agreement_dict(found, least, unpaired), text.removesuffix("\n"), as_json=as_json)


@review_app.command("export")
def export(
    run: Annotated[Path, typer.Argument(help="A folder that `aqb score` wrote for a test run.", metavar="RUN_FOLDER")],
    out: Annotated[Path, typer.Option(help="The workbook to write (.xlsx).")],
    audit: Annotated[
        str, typer.Option(help="Share of the other queries to look at as well.", metavar="PERCENT")
    ] = "5%",
) -> None:
    """Write what people should look at as a workbook with a drop-down per verdict, scores hidden.

    Example: aqb review export out/resume --out review.xlsx --audit 10%
    """
    from tasks.config.settings import load_settings
    from tasks.review.queue import review_queue, share_of
    from tasks.review.review_workbook import write_review_workbook
    from tasks.testruns.read_folder import read_scored_folder

    share = share_of(audit)
    if out.suffix != ".xlsx":
        raise UsageError(f"'{out}' is no workbook", fix="end its name in .xlsx")
    scored = read_scored_folder(run)
    review = review_queue(scored, share, load_settings().test_runs.names)
    write_review_workbook(out, scored, review)
    typer.echo(f"{review.flagged} flagged queries and {review.audited} at random, {len(review.items)} rows: {out}")


@review_app.command("import")
def import_(
    workbook: Annotated[Path, typer.Argument(help="A filled workbook.", metavar="REVIEW.xlsx")],
    out: Annotated[Path, typer.Option(help="The file of labels to write (.csv).")],
    reviewer: Annotated[str, typer.Option(help="Who filled it; tells two people's labels apart.")] = "",
) -> None:
    """Read the verdicts of a filled workbook into a file of labels.

    Example: aqb review import review.xlsx --out labels.csv --reviewer kim
    """
    from tasks.review.labels import write_labels
    from tasks.review.review_workbook import read_review_workbook

    if out.suffix != ".csv":
        raise UsageError(f"'{out}' is no CSV file", fix="end its name in .csv")
    labels = read_review_workbook(workbook, reviewer)
    write_labels(out, labels)
    typer.echo(f"{len(labels)} labels: {out}")
