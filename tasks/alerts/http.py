"""The POST of all channels: limited in time and size, without redirects, retried if nothing has arrived."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2

from tasks.alerts.channel import Delivery, DeliveryStatus
from tasks.config.connections import failed_connection, is_http_address, network_problem

_PAUSES_S = (1.0, 2.0)
"""Before each further attempt, within one run, at what has certainly not arrived."""
_PATIENCE_S = 30
"""The longest wait that a receiver may ask for; the next run tries again what has to wait longer."""

logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs the address, which is the secret of a webhook


@dataclass(frozen=True)
class HttpResponse:
    """A receiver's response; a long body is truncated."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSentError(Exception):
    """A message was not sent, or possibly sent; `delivery` tells which."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery.error)
        self.delivery = delivery


@dataclass(frozen=True)
class HttpPost:
    """Posts to a `receiver` (its name in errors); retries after a 429 and after the statuses in `retried`."""

    receiver: str
    retried: frozenset[int]
    timeout_s: float = 10.0
    """How long one attempt may take from the connection, which gets half of it, to the end of the answer."""
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __call__(self, address: str, *, longest_body: int, **content: Any) -> HttpResponse:
        """The response to a POST; `content` are the arguments of `httpx2.AsyncClient.stream`.

        Raises:
            NotSentError: no connection, or no response in time.
        """
        answer = self._attempt(address, longest_body, content)
        for pause_s in _PAUSES_S:
            wait_s = pause_s if isinstance(answer, str) or answer.status in self.retried else None
            if isinstance(answer, HttpResponse) and answer.status == 429:
                wait_s = _asked_wait_s(answer.headers)
            if wait_s is None:
                break
            self.sleep(wait_s)
            answer = self._attempt(address, longest_body, content)
        if isinstance(answer, str):
            raise NotSentError(Delivery(DeliveryStatus.DEFERRED, f"{self.receiver} cannot be reached: {answer}"))
        return answer

    def _attempt(self, address: str, longest_body: int, content: Mapping[str, Any]) -> HttpResponse | str:
        """The response, or why there is no connection."""
        if problem := network_problem():
            return problem
        try:
            with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop of its own
                return thread.submit(asyncio.run, self._post(address, longest_body, content)).result()
        except httpx2.InvalidURL:  # what it says may quote the address
            return "it has no valid address"
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            return failed_connection(error)
        except (httpx2.HTTPError, OSError) as error:
            raise NotSentError(unconfirmed(type(error).__name__)) from None

    async def _post(self, address: str, longest_body: int, content: Mapping[str, Any]) -> HttpResponse:
        headers = {**content.get("headers", {}), "Accept-Encoding": "identity"}  # what is packed has no known size
        async with (
            asyncio.timeout(self.timeout_s),
            httpx2.AsyncClient(
                timeout=httpx2.Timeout(None, connect=self.timeout_s / 2), verify=_certificates()
            ) as client,
            client.stream("POST", address, **{**content, "headers": headers}) as response,
        ):
            body = b""
            chunks = response.aiter_raw()
            while len(body) < longest_body and (chunk := await anext(chunks, b"")):
                body += chunk
            return HttpResponse(response.status_code, response.headers, body[:longest_body])


@dataclass(frozen=True)
class Webhook:
    """What channels have in common whose secret is the address that they post to."""

    address: str = field(repr=False)
    post: HttpPost

    @property
    def problem(self) -> str:
        """What is wrong with the address; empty if it can be used."""
        return "" if is_http_address(self.address) and self.address.isascii() else "holds no address of a webhook"


@cache
def _certificates() -> ssl.SSLContext:
    """The certificate authorities of the system; loading them takes longer than posting a message."""
    return httpx2.create_ssl_context()


def unconfirmed(reason: str) -> Delivery:
    """The outcome of a request without a valid response."""
    return Delivery(DeliveryStatus.UNCONFIRMED, f"no answer ({reason}): it may have arrived")


def _asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """The wait that a 429 asks for; None if it is longer than a run may wait."""
    asked = headers.get("Retry-After", "1")
    return float(asked) if asked.isdecimal() and len(asked) < 9 and int(asked) <= _PATIENCE_S else None
