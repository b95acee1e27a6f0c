"""The command line `aqb`: `app` lists the commands, which stand in files beside the texts that they print.

Heavy imports stand in the functions.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    """Runs `flows.cli.app`, imported here so that a module of this package does not bring all commands with it."""
    _open_closed_streams()
    if sys.getfilesystemencoding() != "utf-8":
        _start_in_utf8_mode()
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - an account that the system does not know
        os.environ["HOME"] = "/"  # as container engines do; Prefect cannot be imported without one
    from flows.cli.app import main as run_app

    run_app()


def _open_closed_streams() -> None:
    """Lets standard streams that are closed lead nowhere, as programs expect that are started from here."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free, which is its own
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))


def _start_in_utf8_mode() -> None:
    """Starts Python once more in its UTF-8 mode, as it does by itself for `LANG=C`: in any other locale it, Polars and
    pyarrow take one name for different files.
    """
    os.environ["PYTHONUTF8"] = "1"  # of worker processes
    # Some locales lose signs of `sys.orig_argv`.
    python, *arguments = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    os.execvp(python, [python, b"-X", b"utf8", *arguments])  # noqa: S606  (ourselves again)
