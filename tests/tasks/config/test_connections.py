"""Why an address cannot be reached, as people are told it, and what the environment says of the network."""

import os
import socket
import ssl

import httpx2
import pytest

from tasks.config.connections import failed_connection, network_problem, spare_this_machine
from tests.fakes.hostile_server import UNTRUSTED, HostileServer, http

NOBODY = "http://127.0.0.1:1"
_OF_THE_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no proxy; what a test makes of it is gone afterwards."""
    for name in (*_OF_THE_NETWORK, *map(str.lower, _OF_THE_NETWORK)):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


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


@pytest.mark.parametrize("spared", ["", "intranet,::1", "*"])
def test_this_machine_is_reached_without_the_proxy_of_the_environment(network: pytest.MonkeyPatch, spared: str) -> None:
    network.setenv("HTTP_PROXY", NOBODY)
    if spared:
        network.setenv("NO_PROXY", spared)
    spare_this_machine()
    with HostileServer(lambda body: [http(b"here")]) as server:
        assert httpx2.get(server.url).text == "here"
    assert os.environ["NO_PROXY"].startswith(spared)


def test_environment_without_a_proxy_is_left_alone(network: pytest.MonkeyPatch) -> None:
    spare_this_machine()
    assert not os.environ.keys() & {"NO_PROXY", "no_proxy"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks5://user:5ecret@127.0.0.1:1080"),
        ("https_proxy", "socks5h://127.0.0.1:1080"),
        ("HTTPS_PROXY", "ftp://user:5ecret@127.0.0.1:3128"),
        ("HTTP_PROXY", "http://127.0.0.1:5ecret"),
        ("HTTP_PROXY", "http://[::5ecret"),
        ("SSL_CERT_FILE", "/nowhere/5ecret.pem"),
        ("SSL_CERT_FILE", __file__),
    ],
)
def test_environment_that_no_client_can_use_is_told_without_its_value(
    network: pytest.MonkeyPatch, name: str, value: str
) -> None:
    network.setenv(name, value)
    with pytest.raises((ImportError, ValueError, OSError, httpx2.InvalidURL)):
        httpx2.Client()
    assert network_problem().startswith(name.upper())
    assert "5ecret" not in network_problem()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PROXY", "127.0.0.1:3128"),
        ("HTTPS_PROXY", "http://user:pass%20word@proxy"),
        ("HTTPS_PROXY", "http://user:pa[ss@proxy:3128"),
        ("NO_PROXY", "::1,[::1],*.example"),
        ("FTP_PROXY", "ftp://proxy"),
        ("SSL_CERT_FILE", str(UNTRUSTED)),
        ("SSL_CERT_FILE", ""),
    ],
)
def test_environment_that_clients_can_use_is_no_problem(network: pytest.MonkeyPatch, name: str, value: str) -> None:
    network.setenv(name, value)
    httpx2.Client().close()
    assert network_problem() == ""
