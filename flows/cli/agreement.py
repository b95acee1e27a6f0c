"""`aqb agreement`, `aqb review`: people's labels, and how far scores agree with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.terminal import Json, open_context, refuse_other_than_csv, show
from flows.runtime.clock import now, today
from scoring.errors import UsageError, counted

if TYPE_CHECKING:
    from tasks.context import Context
    from tasks.review.label_store import KeptLabel
    from tasks.review.labels import Label
    from tasks.review.pairing import Labelled
    from tasks.testruns.read_folder import ScoredFolder

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
    from scoring.stats.agreement import agreements
    from tasks.reports.markdown.agreement import agreement_dict, agreement_markdown
    from tasks.review.label_store import exported_labels
    from tasks.review.labels import read_labels
    from tasks.testruns.read_folder import read_scored_folder
    from tasks.testruns.trusted_metrics import Measured, write_agreements

    folders = [read_scored_folder(folder) for folder in run or ()]
    exported = exported_labels(labels)
    given = read_labels(labels) if exported is None else _about(exported, folders, labels)
    if not given:
        raise UsageError("no row has a label yet", where=str(labels), fix="fill the column `label`")
    if not folders:
        _refuse_testrun(given, labels)
    with open_context() as context:
        labelled, _ = _kept(context, given, exported, folders, labels)
        found = agreements(labelled.pairs)
        least, day = context.settings.agreement.trusted_from, today(context.settings.time_zone)
        measured = Measured(labelled.rubric_version, found, labelled.epochs)
        warehouse = context.of_no_service.warehouse if folders else context.warehouse
        write_agreements(warehouse, day, labelled.rubric, [measured], least)
    unpaired = len(given) - len(labelled.pairs)
    text = agreement_markdown(labels.name, found, labelled.titles, labelled.grades, least, unpaired)
    show(agreement_dict(found, least, unpaired), text.removesuffix("\n"), as_json=as_json)


def _about(exported: Sequence[KeptLabel], folders: Sequence[ScoredFolder], path: Path) -> list[Label]:
    """The labels of an export of all labels that are about these runs, or about chat rows without runs.

    Raises:
        UsageError: there is none.
    """
    from tasks.review.label_store import labels_about

    files = {one.sha256: one.file for one in folders}
    found = labels_about(exported, folders[0].rubric.id if folders else "", files)
    if not found:
        raise UsageError(
            f"no label is about {'these runs' if folders else 'chat rows'}",
            where=str(path),
            fix="name the folders of labelled runs: --run out/resume",
        )
    return found


def _refuse_testrun(labels: Sequence[Label], path: Path) -> None:
    """Refuses labels of a test run whose folder is not given.

    Raises:
        UsageError: one of them is about no chat row.
    """
    if any(not label.row_id for label in labels):
        raise UsageError("these are labels of a test run", where=str(path), fix="name its folder: --run out/resume")


def _kept(
    context: Context,
    given: Sequence[Label],
    exported: Sequence[KeptLabel] | None,
    folders: Sequence[ScoredFolder],
    path: Path,
) -> tuple[Labelled, int]:
    """Pairs labels with the scores of these runs, or of chat rows, and stores them; also returns how many are new.

    Exported ones are stored as they were given. Those of them about rows that are not scored here, such as rows of
    another service, are left out.
    """
    from tasks.review.label_store import LabelStore, kept_labels
    from tasks.review.pairing import labelled_rows, labelled_testruns

    if folders:
        labelled = labelled_testruns(given, folders, path)
    else:
        labelled = labelled_rows(context.rubric, given, context.warehouse, path, are_exported=exported is not None)
    store = LabelStore(context.state)
    return labelled, store.restore(exported) if exported else store.add(kept_labels(given, labelled, now()))


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
    queries = (
        f"{counted(review.flagged, 'flagged query')}, {review.borderline} borderline and {review.audited} at random"
    )
    typer.echo(f"{queries}, {counted(len(review.items), 'row')}: {out}")


@review_app.command("import")
def import_(
    verdicts: Annotated[Path, typer.Argument(help="A filled workbook, or a CSV file of labels.", metavar="FILE")],
    run: Annotated[
        list[Path] | None,
        typer.Option(help="The folder whose review it is: keeps the labels. Labels of chat rows need none."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file of labels to write (.csv).")] = None,
    reviewer: Annotated[str, typer.Option(help="Who filled the workbook; tells two people's labels apart.")] = "",
) -> None:
    """Keep people's verdicts: every nightly run compares them with the scores.

    Example: aqb review import review.xlsx --run out/resume --reviewer kim
    """
    from tasks.review.label_store import LabelStore, exported_labels
    from tasks.review.labels import read_labels, write_labels
    from tasks.review.review_workbook import read_review_workbook
    from tasks.testruns.read_folder import read_scored_folder

    if out:
        refuse_other_than_csv(out)
    is_file_of_labels = verdicts.suffix.lower() in (".csv", ".tsv")
    exported = exported_labels(verdicts) if is_file_of_labels else None
    if exported is not None and not run and not out:
        with open_context() as context:
            new = LabelStore(context.state).restore(exported)
        typer.echo(f"{counted(len(exported), 'label')}, {new} of them new: kept")
        return
    folders = [read_scored_folder(folder) for folder in run or ()]
    if not is_file_of_labels:
        labels = read_review_workbook(verdicts, reviewer)
    else:
        labels = read_labels(verdicts) if exported is None else _about(exported, folders, verdicts)
    if not run and not out:
        _refuse_testrun(labels, verdicts)
    if run or not out:
        with open_context() as context:
            _, new = _kept(context, labels, exported, folders, verdicts)
        typer.echo(f"{counted(len(exported or labels), 'label')}, {new} of them new: kept")
    if out:
        write_labels(out, labels)
        typer.echo(f"{counted(len(labels), 'label')}: {out}")


@review_app.command("labels")
def labels(out: Annotated[Path, typer.Option(help="The file to write (.csv).")]) -> None:
    """Write the labels that are kept, the last one of each reviewer and item, with what it was given on.

    Example: aqb review labels --out labels.csv
    """
    from tasks.review.label_store import LabelStore, newest, write_kept_labels

    refuse_other_than_csv(out)
    with open_context() as context:
        kept = newest(LabelStore(context.state).every_label())
    write_kept_labels(out, kept)
    typer.echo(f"{counted(len(kept), 'label')}: {out}")
