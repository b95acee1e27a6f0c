"""`aqb score`: scores files into a folder and prints a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.terminal import Json, show
from scoring.errors import UsageError, counted, shown_name
from scoring.markdown import percent, score_text

if TYPE_CHECKING:
    from flows.cli.score_files import ScoredFile
    from tasks.judge.client import Estimate


class TableFormat(StrEnum):
    """A format of tables besides Parquet."""

    CSV = "csv"
    XLSX = "xlsx"


def score(
    inputs: Annotated[
        list[str], typer.Argument(help="Files, folders or globs: chat rows, or test runs.", metavar="INPUT...")
    ],
    out: Annotated[Path, typer.Option(help="The folder for tables, summary.json and report.md.")],
    rubric: Annotated[
        str, typer.Option(help="A rubric's id (see `aqb rubrics`) or TOML file. Default: the file tells.")
    ] = "",
    agent_type: Annotated[str, typer.Option(help="Test runs: move, plan or applicant_management.")] = "",
    option: Annotated[
        list[str] | None, typer.Option(help="Test runs: an option of the rubric.", metavar="NAME=VALUE")
    ] = None,
    also: Annotated[
        list[TableFormat] | None,
        typer.Option(help="Chat rows: write the tables as CSV files, or a workbook for people, as well."),
    ] = None,
    format: Annotated[  # noqa: A002  (the option's name)
        str, typer.Option(help="Chat rows: what wrote them, otel-genai for example. Default: the setting.")
    ] = "",
    naive_timestamps: Annotated[
        str, typer.Option(help="Chat rows: the zone of timestamps that name none.", metavar="ZONE")
    ] = "",
    judge: Annotated[
        bool, typer.Option("--judge", help="Ask the judge what rules cannot tell. This costs money.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what judging would take: questions, tokens, price, time.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score files into a folder; several test runs go into a sub-folder each. Needs no server, no account and no key.

    Example: aqb score plan_agent_0224.csv --option value_lookup=direct --out out/
    """
    from flows.cli.score_files import ScoredFile, files_to_score, score_to_folder
    from scoring.catalog import TestRunChoices
    from tasks.config.settings import load_settings

    choices = TestRunChoices(rubric, agent_type, _options(option or []))
    given: dict[str, Any] = {"judge": {"enabled": True}} if judge else {}
    of_rows = {"format": format, "naive_timestamps": naive_timestamps}
    if chosen := {name: value for name, value in of_rows.items() if value}:
        given["monitoring"] = chosen
    settings = load_settings(**given)
    files, are_chat_rows = files_to_score(inputs, choices, out, settings)
    if are_chat_rows:
        if judge or dry_run:
            raise UsageError(
                "chat rows are scored by rule alone: there is nothing to ask a judge",
                fix=f"leave out {'--dry-run' if dry_run else '--judge'}",
            )
        summary = score_to_folder(inputs, rubric or settings.monitoring.rubric, out, settings, also or [])
        scored = [ScoredFile("", out, summary)]
    else:
        from flows.cli.score_testruns import estimate_testruns, score_testruns  # with judge and database: a second

        if dry_run:
            estimates = estimate_testruns(files, choices, settings)
            lines = [estimate_line(name, found) for name, found in estimates.items()]
            show({name: vars(found) for name, found in estimates.items()}, "\n".join(lines), as_json=as_json)
            return
        _refuse_for_testruns(also or [], list(chosen), settings.monitoring.rubric)
        scored = score_testruns(files, choices, out, settings)
    several = [{"name": one.name, "summary": one.summary, "error": one.error} for one in scored]
    texts = [_score_text(one, asked=settings.judge.enabled) for one in scored]
    show(scored[0].summary if len(scored) == 1 else several, "\n".join(texts), as_json=as_json)
    if errors := _errors(scored):
        typer.echo("\n".join(errors), err=True)
    if errors or any(one.nothing_scored for one in scored):
        raise typer.Exit(1)


def _options(given: list[str]) -> dict[str, str]:
    """Parses `NAME=VALUE` texts to a mapping.

    Raises:
        UsageError: one has no name or no `=`.
    """
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise UsageError(
            f"'{wrong[0]}' is no NAME=VALUE", where="--option", fix="for example --option value_lookup=direct"
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def _refuse_for_testruns(also: Sequence[str], of_rows: Sequence[str], rubric: str) -> None:
    """Refuses the formats of `--also`, and options that only chat rows have.

    Raises:
        UsageError: one of them is given.
    """
    fix = f"leave it out; if these are chat rows, --rubric {rubric} tells why they cannot be read"
    if also:
        raise UsageError("--also is for chat rows: a test run has its workbook", fix=fix)
    if of_rows:
        options = " and no ".join(f"--{name.replace('_', '-')}" for name in of_rows)
        raise UsageError(f"test runs take no {options}", fix=fix)


def estimate_line(name: str, found: Estimate) -> str:
    """An estimate of judging in one line, after the name of what is judged."""
    if not found.questions:
        return f"{name}: no questions for a judge"
    cached = f"{found.from_store / found.questions:.0%}"
    price = "unknown" if found.usd is None else f"{score_text(found.usd, 4)} USD"
    duration = "up to a day (batch)" if found.seconds is None else f"{found.seconds:,.0f} s"
    return (
        f"{name}: {counted(found.questions, 'question')} ({cached} already answered), "
        f"about {found.tokens_in:,} tokens in and {found.tokens_out:,} out, price {price}, time {duration}"
    )


def _score_text(scored: ScoredFile, *, asked: bool) -> str:
    """The summary of an input: counts, KPIs or means, and the path of the report; one line if it was not scored.

    `asked` is whether the judge is enabled; without an endpoint it was not asked nevertheless.
    """
    from scoring.chat.reading import naive_text
    from scoring.chat.row_ids import repeated_text

    if scored.summary is None:
        return f"{shown_name(scored.name)}: not scored"
    counts, quality = scored.summary["counts"], scored.summary["data_quality"]
    lines = [scored.nothing_scored] if scored.nothing_scored else []
    lines += [
        f"{shown_name(scored.name) + ': ' if scored.name else ''}{scored.summary['rubric']} "
        f"{scored.summary['rubric_version']}, {counts_text(counts)}"
    ]
    naive = naive_text(quality.get("naive_timestamps", 0), quality.get("naive_zone", ""))
    lines += [f"  {notice}" for notice in (naive, repeated_text(quality.get("repeated", 0))) if notice]
    if not counts["rows_in"]:
        lines.append("  there are no rows in it: docs/reference/formats.md says what is a row in each format")
    elif not scored.nothing_scored:
        lines += _figure_lines(scored.summary, asked=asked)
    lines.append(f"  report: {scored.folder / 'report.md'}")
    return "\n".join(lines)


def _figure_lines(summary: Mapping[str, Any], *, asked: bool) -> list[str]:
    """The KPIs of chat rows; the means of a test run, and lines on what limits them."""
    from scoring.testruns.summaries import short_rounds

    if "kpis" in summary:
        return [kpi_line(name, kpi["text"]) for name, kpi in summary["kpis"].items()]
    sizes = summary["queries_by_round"]
    lines = [
        f"  round {name}: {size:,} of {counted(max(sizes.values()), 'query')}, and a whole round in the means"
        for name, size in short_rounds(sizes).items()
    ]
    mixed = [kind for kind, verdicts in summary["judge"]["by_epoch"].items() if len(verdicts) > 1]
    lines += [f"  {kind}: verdicts of several models or conditions; do not rely on its means" for kind in sorted(mixed)]
    lines += [_mean_line(name, value) for name, value in summary["set"].items() if isinstance(value, Mapping)]
    if unanswered := summary["judge"]["by_status"].get("no_judge"):
        lines.append(f"  {no_judge_text(unanswered, asked=asked)}")
    elif asked and not summary["judge"]["questions"]:
        lines.append("  judge not asked: no score of this run needs one")
    return lines


def counts_text(counts: Mapping[str, int]) -> str:
    """The numbers of rows of an input or a day, by outcome."""
    return (
        f"rows in {counts['rows_in']:,} = scored {counts['scored']:,} + excluded {counts['excluded']:,}"
        f" + rejected {counts['rejected']:,}"
    )


def kpi_line(name: str, text: str) -> str:
    """The line of one KPI."""
    return f"  {name:<22} {text}"


def no_judge_text(unanswered: int, *, asked: bool) -> str:
    """The sentence that no judge was asked, and how to ask one; `asked` is whether the judge is enabled."""
    ask = (
        "there is nobody to ask: set OPENAI_API_KEY or judge.base_url"
        if asked
        else "--judge asks one (OPENAI_API_KEY or judge.base_url)"
    )
    return f"no judge: what {counted(unanswered, 'question')} would tell is NULL; {ask}"


def _errors(scored: Sequence[ScoredFile]) -> list[str]:
    """The lines on errors, repeated files, questions without a verdict and rejected rows."""
    from scoring.inputs import repeated_files

    lines = []
    for one in scored:
        if one.error:
            lines.append(f"error: {one.error}")
        if one.summary is None:
            continue
        lines += [f"error: {failure['error']}" for failure in one.summary["data_quality"].get("failed_files", [])]
        lines += repeated_files((file["name"], file["sha256"]) for file in one.summary["inputs"] if file["rows"])
        statuses = one.summary["judge"]["by_status"]
        if unanswered := {name: count for name, count in statuses.items() if name not in ("ok", "no_judge")}:
            counts = ", ".join(f"{count:,} {name}" for name, count in unanswered.items())
            lines.append(f"questions without a verdict: {counts}; their queries are marked for manual review")
        if rejected := one.summary["counts"]["rejected"]:
            lines.append(f"{counted(rejected, 'row')} rejected: {_rejected_table(one.folder)} says which and why")
    return lines


def _rejected_table(folder: Path) -> Path:
    """The file with the rejected rows: the workbook or CSV file if it was written, else the Parquet file."""
    from tasks.files.report_paths import WORKBOOK

    tables = (folder / name for name in (WORKBOOK, "rejected.csv"))
    return next((one for one in tables if one.exists()), folder / "rejected.parquet")


def _mean_line(name: str, value: Mapping[str, Any]) -> str:
    mean, undecided = value.get("mean"), value.get("undecided")
    provisional = f", {value['provisional']:,} provisional" if value.get("provisional") else ""
    if value.get("low") is not None:
        queries = value["decided"] + value["undecided"]
        ends = f"{score_text(value['low'])} to {score_text(value['high'])}"
        return f"  {name}: {ends} ({undecided:,} of {queries:,} queries undecided{provisional})"
    if value.get("missing"):
        return f"  {name}: not known ({percent(value['weight_coverage'], 0)} of the weights)"
    coverage = value.get("weight_coverage")
    basis = f"n {value.get('n', '-')}{provisional}" if coverage is None else f"{percent(coverage, 0)} of the weights"
    return f"  {name}: {'not known' if mean is None else score_text(mean)} ({basis})"
