"""The pings of a piece of work: what a service outside gets, and that no service can disturb the work."""

import logging
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tasks.alerts.heartbeat import Heartbeat
from tests.fakes.hostile_server import HostileServer
from tests.fakes.ping_receiver import SECRET, PingReceiver


@pytest.fixture
def receiver() -> Iterator[PingReceiver]:
    with PingReceiver() as server:
        yield server


def beat(address: str, timeout_s: float = 5.0) -> Heartbeat:
    usual = Heartbeat(address)
    return replace(usual, post=replace(usual.post, timeout_s=timeout_s, sleep=lambda seconds: None))


def test_heartbeat_pings_at_start_and_after_success(receiver: PingReceiver) -> None:
    with beat(receiver.address).of("야간 실행"):
        assert receiver.pings == [("/start", "야간 실행 시작")]
    assert receiver.pings[1:] == [("", "야간 실행 완료")]


@pytest.mark.parametrize("error", [ValueError("010-1234-5678"), KeyboardInterrupt()])
def test_heartbeat_tells_of_a_failure_without_its_text_and_lets_it_pass(
    receiver: PingReceiver, error: BaseException
) -> None:
    with pytest.raises(type(error)), beat(receiver.address).of("야간 실행"):
        raise error
    assert receiver.pings[1:] == [("/fail", f"야간 실행 실패: {type(error).__name__}")]


def test_heartbeat_keeps_the_query_of_its_address_behind_the_signal(receiver: PingReceiver) -> None:
    with beat(f"{receiver.address}/?create=1").of("야간 실행"):
        pass
    assert [path for path, _ in receiver.pings] == ["/start?create=1", "/?create=1"]


@pytest.mark.parametrize("status", [302, 307, 404, 503])
def test_heartbeat_that_is_not_taken_is_logged_without_the_address_and_followed_nowhere(
    receiver: PingReceiver, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status, receiver.location = status, f"{receiver.address}/elsewhere"
    with caplog.at_level(logging.WARNING, "tasks"), beat(receiver.address).of("야간 실행"):
        pass
    assert {path for path, _ in receiver.pings} == {"/start", ""}
    assert [record.getMessage() for record in caplog.records] == [
        f"heartbeat start: HTTP {status}",
        f"heartbeat success: HTTP {status}",
    ]
    assert SECRET not in caplog.text


def test_heartbeat_that_cannot_be_reached_disturbs_no_work(caplog: pytest.LogCaptureFixture) -> None:
    with PingReceiver() as gone:
        address = gone.address
    done = []
    with caplog.at_level(logging.WARNING, "tasks"), beat(address).of("야간 실행"):
        done.append("work")
    assert done
    assert "the heartbeat cannot be reached" in caplog.text
    assert SECRET not in caplog.text


def test_heartbeat_waits_for_a_silent_service_no_longer_than_its_time(caplog: pytest.LogCaptureFixture) -> None:
    def drip(body: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 X\r\n"
        while True:
            time.sleep(0.05)
            yield b"X: x\r\n"

    with HostileServer(drip) as server, caplog.at_level(logging.WARNING, "tasks"):
        began = time.monotonic()
        with beat(f"{server.address}/{SECRET}", timeout_s=0.2).of("야간 실행"):
            pass
        assert time.monotonic() - began < 30
    assert "heartbeat start: no answer" in caplog.text
    assert SECRET not in caplog.text


def test_heartbeat_without_an_address_pings_nobody_and_shows_none() -> None:
    with beat("").of("야간 실행"):
        pass
    assert SECRET not in repr(beat(f"http://localhost/{SECRET}"))
