"""Checks HTTP addresses and explains failed connections."""

import os
import socket
import ssl
from urllib.parse import urlsplit


def is_http_address(url: str) -> bool:
    """Whether a text is an http or https address with a host and, if given, a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def failed_connection(error: BaseException) -> str:
    """Why a connection failed, in the words of the operating system, else of the client."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    first = causes[-1]
    if any(isinstance(one, TimeoutError) for one in causes):
        return "no answer in time"
    if isinstance(first, ssl.SSLError | socket.gaierror):  # their numbers are not those of the system
        return first.strerror or str(first)
    if isinstance(first, OSError) and first.errno:
        return os.strerror(first.errno)
    return str(error) or type(error).__name__
