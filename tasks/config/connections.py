"""Checks HTTP addresses and what the environment says of the network, and explains failed connections."""

import os
import socket
import ssl
from functools import cache
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import getproxies


def is_http_address(url: str) -> bool:
    """Whether a text is an http or https address with a host and, if given, a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def spare_this_machine() -> None:
    """Has no client reach this machine through a proxy of the environment, which knows no way back: Prefect's temporary
    server and a local model are here.
    """
    found = getproxies()
    spared = found.pop("no", "")
    if found and spared != "*":
        value = ",".join(filter(None, (spared, "localhost", "127.0.0.1", "::1")))
        os.environ.update(NO_PROXY=value, no_proxy=value)


def network_problem() -> str:
    """What no HTTP client can use of the proxies and certificates that the environment names; '' for nothing.

    Values are not told: a proxy's may hold a password.
    """
    for scheme, address in getproxies().items():
        user, at, host = (address if "://" in address else f"http://{address}").rpartition("@")
        whole = user.replace("[", "").replace("]", "") + at + host  # clients take a bracket in a password
        is_socks = whole.partition("://")[0] in ("socks5", "socks5h") and find_spec("socksio")
        if scheme in ("http", "https", "all") and not (is_http_address(whole) or is_socks):
            return f"{scheme.upper()}_PROXY names no HTTP proxy: unset it, or name one, as in http://proxy:3128"
    if (authorities := os.environ.get("SSL_CERT_FILE")) and not _has_certificates(authorities):
        return "SSL_CERT_FILE names no file with certificates: unset it, or name one"
    return ""


@cache  # loading takes longer than posting a message
def _has_certificates(path: str) -> bool:
    try:
        ssl.create_default_context(cafile=path)
    except OSError:
        return False
    return True


def network_shown() -> str:
    """What lies between this machine and others: the network, and the proxies that the environment names."""
    named = [f"{scheme.upper()}_PROXY" for scheme in ("http", "https", "all") if scheme in getproxies()]
    return f"the network, and the proxy of {', '.join(named)}" if named else "the network"


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
