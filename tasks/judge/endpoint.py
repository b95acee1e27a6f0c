"""One call to an OpenAI-compatible endpoint: a reply, or one of the four ways not to get one (`replies`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NoReturn

import httpx2
import openai

from scoring.errors import AqbError, UsageError
from tasks.config.judge import Endpoint, JudgeSettings
from tasks.judge.replies import (
    LimitReachedError,
    QuestionRefusedError,
    Reply,
    TransientError,
    UnreachableError,
    reply_in,
)

_CONNECT_S = 5.0
_IDLE_CONNECTIONS = 16  # every call looks at all that are idle
_PASSING = (408, 409, 425)
_FILTERED = ("content_filter", "content_policy_violation")
_TOO_LONG = ("context_length_exceeded", "string_above_max_length")
_OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_LONGEST_MESSAGE = 300
BUCKETS = ("requests", "tokens")


class JudgeEndpoint:
    """An endpoint with its connections, for the time of a run. It never retries; texts of errors hold no key."""

    def __init__(self, endpoint: Endpoint, settings: JudgeSettings, longest_call_s: float) -> None:
        self._endpoint, self._settings = endpoint, settings
        self._answered = False
        self.client = openai.AsyncOpenAI(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=openai.Timeout(longest_call_s, connect=min(_CONNECT_S, longest_call_s)),
            http_client=openai.DefaultAsyncHttpxClient(
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS)
            ),
        )

    async def __aenter__(self) -> JudgeEndpoint:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.close()

    @property
    def answered(self) -> bool:
        """Whether a question was ever answered: what is wrong with all questions would have shown by then."""
        return self._answered

    async def ask(self, body: dict[str, Any]) -> Reply:
        """The reply to one request.

        Raises:
            TransientError, LimitReachedError, QuestionRefusedError: no reply.
            AqbError: no request will be answered.
        """
        path = "/responses" if self._settings.api == "responses" else "/chat/completions"
        try:  # the typed methods check and copy the body field by field, which costs more than sending it
            response = await self.client.post(path, body=body, cast_to=httpx2.Response)
        except openai.APIError as error:
            self.explain(error)
        self._answered = True
        try:
            content = json.loads(response.content)
        except (ValueError, RecursionError):
            content = None
        return reply_in(content, _readings(response.headers))

    def explain(self, error: openai.APIError) -> NoReturn:
        """Raises what `error` means, without the key that it may quote."""
        if isinstance(error, openai.APIStatusError):
            self.explain_status(error.status_code, error.body, error.response.headers)
        reason = self._short(f"{type(error).__name__}: {error.__cause__ or error}")
        if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout):
            raise UnreachableError(reason, maybe_paid=False) from None
        raise TransientError(reason, maybe_paid=True) from None

    def explain_status(self, status: int, body: Any, headers: Mapping[str, str]) -> NoReturn:
        """Raises what an error status means. `body` is the error object, in an envelope or not."""
        told = body.get("error", body) if isinstance(body, dict) else {}
        told = told if isinstance(told, dict) else {"message": told}
        code, message = str(told.get("code") or ""), self._short(str(told.get("message") or body or "no reason given"))
        if code in _OUT_OF_MONEY:
            raise AqbError(
                f"the judge's account has no money left: {message}",
                where=self._endpoint.shown,
                fix="pay in, or name another endpoint; verdicts so far are kept, the next run goes on",
            ) from None
        if status == 429:
            raise LimitReachedError(_bucket(told, headers), _retry_after_s(headers)) from None
        if status in _PASSING or status >= 500:
            raise TransientError(f"status {status}: {message}", maybe_paid=False) from None
        if code in _FILTERED:
            raise QuestionRefusedError(message, filtered=True) from None
        if status == 413 or code in _TOO_LONG or (status in (400, 422) and self._answered):
            raise QuestionRefusedError(f"status {status}: {message}", filtered=False) from None
        raise self.useless(f"status {status}: {message}", status) from None

    def useless(self, message: str, status: int = 400) -> UsageError:
        """The error for an endpoint that answers no question the way it is asked."""
        fix = {401: "check OPENAI_API_KEY", 403: "check what the key may do"}.get(
            status, f"check judge.model ({self._settings.model}), judge.base_url, judge.api and judge.temperature"
        )
        return UsageError(
            f"the judge refuses every question: {self._short(message)}", where=self._endpoint.shown, fix=fix
        )

    def unreachable(self, reason: str) -> AqbError:
        """The error for an endpoint that gives no answer to anything."""
        return AqbError(
            f"the judge gives no answer: {reason}",
            where=self._endpoint.shown,
            fix="check judge.base_url and the network; verdicts so far are kept, the next run goes on",
        )

    def _short(self, text: str) -> str:
        return " ".join(self._endpoint.redacted(text).split())[:_LONGEST_MESSAGE]


def _readings(headers: Mapping[str, str]) -> dict[str, float]:
    told = {name: headers.get(f"x-ratelimit-remaining-{name}", "") for name in BUCKETS}
    return {name: float(value) for name, value in told.items() if re.fullmatch(r"[0-9]{1,12}", value)}


def _bucket(told: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """The limit that a 429 names; requests where it names none."""
    words = f"{told.get('type')} {told.get('message')}".lower()
    if "token" in words or "tpm" in words:
        return "tokens"
    return "tokens" if _readings(headers).get("tokens") == 0 else "requests"


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", value := headers.get(name, "")):
            return float(value) * unit
    return None
