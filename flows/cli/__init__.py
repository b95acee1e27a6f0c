"""The command line `aqb`: `app` registers the commands, which are in modules with the texts that they print.

Heavy libraries are imported within functions.
"""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Prepares the process (SIGTERM, standard streams, UTF-8 mode, HOME) and runs `flows.cli.app`.

    The import is local, so that importing one module of this package does not import all commands.
    """
    if os.getpid() == 1:  # the kernel ends the first process of a container by no signal without a handler
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))
    _open_closed_streams()
    if sys.getfilesystemencoding() != "utf-8":
        _start_in_utf8_mode()
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - no HOME, and a user id without an account
        os.environ["HOME"] = "/"  # as container engines do; Prefect cannot be imported without HOME
    from flows.cli.app import main as run_app

    run_app()


def _open_closed_streams() -> None:
    """Opens closed standard streams on the null device, because child processes expect open streams."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor, which is the stream's own
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))


def _start_in_utf8_mode() -> None:
    """Restarts Python in UTF-8 mode, which Python itself chooses for `LANG=C`.

    In other locales without UTF-8, one file name means different files to Python, and to Polars and pyarrow.
    """
    os.environ["PYTHONUTF8"] = "1"  # for worker processes
    # In some locales `sys.orig_argv` has lost characters.
    python, *arguments = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    os.execvp(python, [python, b"-X", b"utf8", *arguments])  # noqa: S606  (the same program)
