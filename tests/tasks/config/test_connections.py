"""Why an address cannot be reached, as people are told it."""

import socket
import ssl

import httpx2
import pytest

from tasks.config.connections import failed_connection


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9)"), "Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (ssl.SSLError(1, "[SSL] record layer failure"), "[SSL] record layer failure"),
        (TimeoutError(), "no answer in time"),
    ],
)
def test_first_cause_of_a_failed_connection_is_told(first: Exception, said: str) -> None:
    error = httpx2.ConnectError("All connection attempts failed")
    error.__cause__ = OSError("no address left")
    error.__cause__.__context__ = first
    assert failed_connection(error) == said
