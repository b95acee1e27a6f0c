"""The heartbeat of the nightly flow: pings to a service outside that notices when they stop, as healthchecks.io does.

A POST to `<url>/start` at the start, to `<url>` after a success, to `<url>/fail` after a failure. The URL is a secret:
anybody who knows it can suppress the service's alarm.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from tasks.alerts.http import HttpPost, NotSentError

_POST = HttpPost("the heartbeat", retried=frozenset({500, 502, 503, 504}), timeout_s=5.0)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Heartbeat:
    """Pings a URL; none if it is empty. A ping that fails is logged and has no other effect."""

    address: str = field(repr=False)
    post: HttpPost = _POST

    @contextmanager
    def of(self, work: str) -> Iterator[None]:
        """Pings at the start and end of the block; `work` is its Korean name. Of an error only the class is sent."""
        self._ping("start", f"{work} 시작")
        try:
            yield
        except BaseException as error:
            self._ping("fail", f"{work} 실패: {type(error).__name__}")
            raise
        self._ping("", f"{work} 완료")

    def _ping(self, signal: str, body: str) -> None:
        if not self.address:
            return
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        try:
            answer = self.post(_with(self.address, signal), longest_body=0, headers=headers, content=body.encode())
        except NotSentError as error:
            _log.warning("heartbeat %s: %s", signal or "success", error)
            return
        if not 200 <= answer.status < 300:
            _log.warning("heartbeat %s: HTTP %s", signal or "success", answer.status)


def _with(address: str, signal: str) -> str:
    """The URL of a signal: appended to the path, before the query."""
    parts = urlsplit(address)
    path = f"{parts.path.rstrip('/')}/{signal}" if signal else parts.path
    return urlunsplit(parts._replace(path=path))
