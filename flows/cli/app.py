"""The program `aqb`: registers the commands and converts errors to messages and exit codes.

Exit codes: 0 done; 1 something failed, was rejected or needs attention, and the output says what; 2 wrong usage or
settings; 130 stopped by Ctrl-C, 143 by SIGTERM.
Heavy libraries are imported where a command needs them, so that `aqb --help` answers at once.
"""

import atexit
import codecs
import gc
import io
import locale
import os
import signal
import sys
import threading
from typing import Annotated

import typer

from flows.cli import (
    agreement,
    alerts,
    automations,
    backfill,
    compare,
    doctor,
    export,
    judge,
    nightly,
    report,
    retention,
    rows,
    rules,
    runs,
    score,
    serve,
    snoozes,
    status,
    thresholds,
    upgrade,
    watch,
    web,
    worker,
)
from flows.cli.terminal import INTERRUPTED, complain
from flows.runtime.code_version import code_version
from flows.runtime.prefect_env import PrefectGoneError, is_ctrl_c, leave_at_once
from scoring.errors import AqbError, StorageError, UnexpectedError, UsageError

_MOMENT_S = 0.05

app = typer.Typer(
    name="aqb",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aqb {code_version()}")
        raise typer.Exit


@app.callback()
def aqb(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and its commit.", is_eager=True, callback=_show_version)
    ] = False,
    service: Annotated[
        str, typer.Option("--service", help="The one of several services that the command is about.", metavar="NAME")
    ] = "",
) -> None:
    """Scores AI agents: chatbot production rows and agent test runs, by rule and by judge."""
    if service:  # every command, and every process that it starts, reads settings from the environment
        os.environ["AQB_SERVICE"] = service


app.command()(score.score)
app.command()(nightly.nightly)
app.command()(backfill.backfill)
app.command()(nightly.test_runs)
app.command()(worker.worker)
app.command()(serve.serve)
app.command()(automations.automations)
app.command()(nightly.demo)
app.add_typer(alerts.alerts_app, name="alerts")
for command in (snoozes.snooze, snoozes.snoozed, snoozes.unsnooze, snoozes.accept):
    alerts.alerts_app.command()(command)
app.command()(watch.watch)
app.command()(web.web)
app.command()(report.report)
app.command()(compare.compare)
app.command()(thresholds.thresholds)
app.command()(agreement.agreement)
app.add_typer(agreement.review_app, name="review")
app.add_typer(judge.judge_app, name="judge")
app.command()(rows.rows)
app.command()(rows.golden)
app.command()(export.export)
app.command()(rules.sql)
app.add_typer(rules.rubrics_app, name="rubrics")
app.add_typer(runs.runs_app, name="runs")
app.command()(retention.prune)
app.command()(retention.erase)
app.command()(status.status)
app.command()(upgrade.upgrade)
app.command()(doctor.doctor)


def main() -> None:
    """Runs the command line; prints an error in one or two lines, without a traceback.

    In Python's development mode unexpected errors keep their traceback.
    """
    if sys.unraisablehook is sys.__unraisablehook__:  # a test runner has its own
        sys.unraisablehook = _interrupt_again
        atexit.register(setattr, sys, "unraisablehook", sys.__unraisablehook__)  # after it our names are gone
    if any(name.lower().endswith("_proxy") for name in os.environ):
        from tasks.config.connections import spare_this_machine  # with what opens connections, which few commands do

        spare_this_machine()
    atexit.register(gc.freeze)  # with Prefect imported, garbage collection at exit takes half a second
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot encode Hangul shows escapes
            stream.reconfigure(encoding=_encoding_of_terminal(stream), errors="backslashreplace")
    try:
        app()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            _say_stopped()
        raise
    except PrefectGoneError as error:
        leave_at_once(error)
    except AqbError as error:
        complain(error)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except OSError as error:  # such as a permission or a disk, which a traceback would not explain
        where = str(error.filename or "")
        complain(StorageError(error.strerror or str(error), where=where, fix="check that it may be read and written"))
        _drop_what_cannot_be_written()
        sys.exit(1)
    except KeyboardInterrupt:  # before the command has begun
        _say_stopped()
        sys.exit(INTERRUPTED)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of Polars
            raise
        if isinstance(error, UnicodeEncodeError) and (broken := _arguments_of_other_bytes()):
            fix = "type it in a UTF-8 terminal, such as with LC_ALL=C.UTF-8"
            complain(UsageError("the bytes of this argument are no UTF-8", where=broken, fix=fix))
            sys.exit(2)
        if sys.flags.dev_mode:
            raise
        if is_ctrl_c(error):
            _say_stopped()
            sys.exit(INTERRUPTED)
        complain(UnexpectedError(error))
        sys.exit(1)


def _encoding_of_terminal(stream: io.TextIOWrapper) -> str | None:
    """The encoding that people's terminal shows, such as EUC-KR, where Python writes UTF-8; None: the stream's own.

    Files and pipes, which programs read, stay UTF-8.
    """
    encoding = locale.getencoding()
    is_ours = bool(sys.flags.utf8_mode) and stream.isatty() and "PYTHONIOENCODING" not in os.environ
    return encoding if is_ours and codecs.lookup(encoding).name != "ascii" else None


def _arguments_of_other_bytes() -> str:
    """The arguments that are not UTF-8: a path may be so, a text cannot be stored."""
    arguments = [os.fsencode(argument).decode(errors="backslashreplace") for argument in sys.argv[1:]]
    return " ".join(shown for shown, given in zip(arguments, sys.argv[1:], strict=True) if shown != given)


_SIGNALS = {"KeyboardInterrupt": signal.SIGINT, "TerminationSignal": signal.SIGTERM}
"""The signals by the exceptions that their handlers raise, Python's and Prefect's."""


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Sends a signal once more that came while Python removed objects: what is raised there is only printed."""
    number, main_thread = _SIGNALS.get(lost.exc_type.__name__), threading.main_thread().ident
    if number is None or main_thread is None:
        sys.__unraisablehook__(lost)
    else:  # when this has returned: here it would be lost again
        threading.Timer(_MOMENT_S, signal.pthread_kill, (main_thread, number)).start()


def _say_stopped() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C during exit would print a traceback
    typer.echo("stopped: nothing is half written, verdicts are kept; run the same command again", err=True)


def _drop_what_cannot_be_written() -> None:
    """Discards buffered output that cannot be written.

    Otherwise Python would try again at exit, print a second error and change the exit code to 120.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
