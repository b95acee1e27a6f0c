"""Calls to an OpenAI-compatible endpoint: a reply or one of the errors of `replies`."""

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

import httpx2
import openai

from scoring.errors import AqbError
from scoring.limits import LARGEST_JUDGE_REPLY
from tasks.config.connections import failed_connection, network_problem, network_shown
from tasks.config.judge import Endpoint, JudgeSettings
from tasks.judge.dialect import AnswerForm, Dialect
from tasks.judge.questions import Question
from tasks.judge.replies import (
    LateError,
    LimitReachedError,
    QuestionRefusedError,
    Reply,
    TransientError,
    UnreachableError,
    WordingRefusedError,
    first_of,
    mapping_of,
    reply_in,
    text_of,
)
from tasks.judge.timing import Timing

_CONNECT_S = 5.0
_LIST_S = 10.0
_IDLE_CONNECTIONS = 4  # every call looks at all that are idle
_PASSING = (408, 409, 425)
_OVERLOADED = (503, 529)
_MALFORMED = (400, 422)
_FILTERED = ("content_filter", "content_policy_violation")
_TOO_LONG = ("context_length_exceeded", "string_above_max_length")
_TOO_LONG_IN_WORDS = re.compile(
    r"context (length|size|window)|(prompt|input) is too long|reduce the length|request too large", re.IGNORECASE
)
_UNKNOWN_ARGUMENT = re.compile(r"unexpected keyword argument")  # how Python fails where a server passes all on
_OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "budget_exceeded")
_LONGEST_MESSAGE = 300
_MISFITS_AT_FIRST = 5
_BUCKETS = ("requests", "tokens")
_UNPACKED = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = zlib.MAX_WBITS + 32
_FIRST_OF_PACKED = (0x08, 0x0F)  # the lower half of the first byte of zlib and of gzip
_PARTS_OF_ANSWERS = (b'"choices"', b'"output"', b'"usage"')


class _BoundedBody(httpx2.AsyncByteStream):
    """A body of at most `longest` bytes, unpacked where it is packed: no more than that is ever made of it."""

    def __init__(self, body: httpx2.AsyncByteStream, longest: int, *, is_packed: bool) -> None:
        self._body, self._longest = body, longest
        self._unpacker = zlib.decompressobj(_GZIP_OR_ZLIB) if is_packed else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length, is_empty = 0, True
        async for chunk in self._body:
            if self._unpacker and is_empty and chunk and chunk[0] & 0x0F not in _FIRST_OF_PACKED:
                self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without a header
            is_empty = is_empty and not chunk
            plain = self._unpacked(chunk, self._longest - length + 1)
            length += len(plain)
            if length > self._longest:
                raise httpx2.ReadError(f"the answer is longer than {self._longest:,} bytes")
            yield plain
        if self._unpacker and not (self._unpacker.eof or is_empty):  # an error may have a status alone
            raise httpx2.ReadError("the answer is packed, and cut")

    def _unpacked(self, chunk: bytes, most: int) -> bytes:
        if not self._unpacker:
            return chunk
        try:
            plain = self._unpacker.decompress(chunk, most)
            while len(plain) < most and (behind := self._unpacker.unused_data):  # gzip may have several members
                self._unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
                plain += self._unpacker.decompress(behind, most - len(plain))
        except zlib.error as error:
            raise httpx2.ReadError(f"the answer is packed, and damaged: {error}") from None
        return plain

    async def aclose(self) -> None:
        await self._body.aclose()


class JudgeEndpoint:
    """The connections of a run to an endpoint. It never retries; error messages hold no key.

    Raises:
        AqbError: the environment names a proxy or certificates that cannot be used.
    """

    def __init__(self, endpoint: Endpoint, settings: JudgeSettings, timing: Timing) -> None:
        self._endpoint, self.settings, self.timing = endpoint, settings, timing
        if problem := network_problem():
            raise self.unreachable(problem)
        self.answered = False
        """Whether a question was ever answered: an error of all questions would have come by then."""
        self.dialect = Dialect()
        """How requests are worded; it changes as the endpoint refuses some."""
        self.fits = False
        """Whether an answer ever had the form that was asked for."""
        self.proven_form: AnswerForm | None = None
        """The form that answers of earlier runs had: a rerun asks again what never fits, which proves nothing of it."""
        self._misfits = 0
        timeout_s = timing.longest_deadline_s
        self.client = openai.AsyncOpenAI(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=openai.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s / 2)),
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False,  # another host would get the questions and the key
                headers={"Accept-Encoding": "identity"},  # some servers pack all the same
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS),
                event_hooks={"response": [self._bound]},
            ),
        )
        self.longest_file = LARGEST_JUDGE_REPLY
        """Bytes that a file of the endpoint may have: the results of a batch."""

    async def _bound(self, response: httpx2.Response) -> None:
        """Lets the body of a response end with an error where it becomes too long."""
        packing = response.headers.pop("content-encoding", "identity").lower()
        if packing not in ("identity", *_UNPACKED):
            raise httpx2.DecodingError(f"the answer is packed as {packing[:20]}, which was not asked for")
        longest = self.longest_file if response.request.url.path.endswith("/content") else LARGEST_JUDGE_REPLY
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedBody(response.stream, longest, is_packed=packing in _UNPACKED)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.client.close()

    @property
    def name(self) -> str:
        """The name of limits, batches and wording in the state database."""
        return self._endpoint.of_model(self.settings.model)

    async def ask(self, question: Question, mark: str) -> Reply:
        """The reply to one question; `mark` must not occur in it.

        Raises:
            TransientError, LimitReachedError, QuestionRefusedError, WordingRefusedError: no reply.
            AqbError: no request will be answered.
        """
        path = "/responses" if self.settings.api == "responses" else "/chat/completions"
        dialect = self.dialect
        try:  # the typed methods check and copy the body field by field, which costs more than sending it
            response = await self.client.post(path, body=question.body(mark, dialect), cast_to=httpx2.Response)
        except openai.APIError as error:
            if isinstance(error, openai.APIStatusError):
                self.reword(dialect, error.status_code, error.body)
            self.explain(error)
        try:
            content = json.loads(response.content)
        except (ValueError, RecursionError):
            content = None
        reply = reply_in(content, question.largest_usage, _readings(response.headers))
        error_told = _error_in(content)
        said, status = text_of(error_told.get("message")), error_told.get("code")
        is_failure = bool(said) and not (reply.text or reply.refusal)
        if is_failure and reply.usage is None and type(status) is int and 400 <= status < 600:
            self.reword(dialect, status, content)  # a router says 200 before its provider has answered
            self.explain_status(status, content, response.headers)
        if is_failure or not mapping_of(content).keys() & {"choices", "output"}:
            kind = self._short(response.headers.get("content-type", "no type"))
            is_cut = content is None and any(name in response.content for name in _PARTS_OF_ANSWERS)
            why = f"status 200 ({kind}) without an answer of a model in it{said and ': '}{said}"
            raise TransientError(self._short(why), maybe_paid=is_cut or reply.usage is not None)
        self.answered = True
        return replace(reply, dialect=dialect)

    async def is_silent(self) -> bool:
        """Whether it gives no answer in time to a request for its models either, which no model has to write.

        Whatever answers, with an error too, may only be slow.
        """
        try:
            async with asyncio.timeout(min(_LIST_S, self.timing.longest_deadline_s)):
                await self.client.get("/models", cast_to=httpx2.Response)
        except TimeoutError:
            return True
        except openai.APIError:
            return False
        return False

    def reword(self, sent: Dialect, status: int, body: Any) -> None:
        """Changes the wording where a refusal names a part of the one that was sent.

        Raises:
            WordingRefusedError: it did; the question may be asked again.
        """
        error = _error_in(body)
        message = text_of(error.get("message"))
        told = text_of(error.get("param")) or message
        is_final = _is_of(error, (*_OUT_OF_MONEY, *_FILTERED)) or _is_too_long(error)
        is_refusal = status in _MALFORMED or (status == 500 and bool(_UNKNOWN_ARGUMENT.search(message)))
        if is_refusal and not is_final and (better := sent.after_refusal(told)):
            self.dialect = self.dialect.joined(better)
            raise WordingRefusedError(told) from None

    def learn_form(self, reply: Reply, *, fits: bool) -> None:
        """Asks for a simpler form where none of the first answers has the one that was asked for: some ignore it."""
        self.fits = self.fits or fits
        self._misfits += not fits and reply.dialect.form == self.dialect.form
        if not self.fits and self.dialect.form != self.proven_form and self._misfits == _MISFITS_AT_FIRST:
            self._misfits = 0
            self.dialect = self.dialect.in_simpler_form() or self.dialect

    def explain(self, error: openai.APIError) -> NoReturn:
        """Raises the error of ours for one of the client, without the key that it may quote."""
        if isinstance(error, openai.APIStatusError):
            self.explain_status(error.status_code, error.body, error.response.headers)
        reason = self._short(f"{type(error).__name__}: {failed_connection(error.__cause__ or error)}")
        if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            raise UnreachableError(reason, maybe_paid=False) from None
        if isinstance(error, openai.APITimeoutError):
            raise LateError(reason, maybe_paid=True) from None
        raise TransientError(reason, maybe_paid=True) from None

    def explain_status(self, status: int, body: Any, headers: Mapping[str, str]) -> NoReturn:
        """Raises the error for a status. `body` is the error object, in an envelope or not."""
        error = _error_in(body)
        message = self._short(str(error.get("message") or body or "no reason given"))
        if status == 402 or _is_of(error, _OUT_OF_MONEY):
            raise self._error(
                f"'s account has no money left: {message}",
                "pay in, or name another endpoint; verdicts so far are kept, the next run goes on",
                "판정 모델 계정의 잔액이 없습니다. 운영 담당자가 충전하면 이어서 물을 수 있습니다.",
            ) from None
        if 300 <= status < 400:  # with the key it would go wherever that leads
            raise self._error(
                f" redirects to another address, which is not followed: status {status}",
                "set judge.base_url to the address of the endpoint itself",
                "판정 모델의 주소가 다른 주소로 넘깁니다. 운영 담당자가 설정 judge.base_url을 고쳐야 합니다.",
            ) from None
        if status == 429 and not _is_too_long(error):  # what is larger than a limit never passes
            bucket = _bucket(error, headers)
            reason = f"its limit of {bucket} is used up" + (f": {message}" if error.get("message") else "")
            raise LimitReachedError(reason, bucket, _retry_after_s(headers)) from None
        if status in _OVERLOADED and (retry_after_s := _retry_after_s(headers)):
            raise LimitReachedError(f"it says status {status}", "requests", retry_after_s) from None
        if status in _PASSING or status >= 500:
            raise TransientError(f"status {status}: {message}", maybe_paid=False) from None
        if _is_of(error, _FILTERED):
            raise QuestionRefusedError(message, filtered=True) from None
        told = f"status {status}: {message}"
        if status in (413, 429) or _is_too_long(error) or (status in _MALFORMED and self.answered):
            raise QuestionRefusedError(told) from None
        unusable = self.unusable(told, status)
        if status == 403 or status in _MALFORMED:  # a firewall blocks some questions, a wrong parameter all of them
            raise QuestionRefusedError(told, if_all=unusable) from None
        raise unusable from None

    def unusable(self, message: str, status: int = 400) -> AqbError:
        """The error for an endpoint that refuses every question."""
        fix = {401: "check OPENAI_API_KEY", 403: "check what the key may do"}.get(
            status, f"check judge.model ({self.settings.model}), judge.base_url, judge.api and judge.temperature"
        )
        ko = "판정 모델이 모든 질문을 거절합니다. 운영 담당자가 API 키와 설정 [judge]를 확인해야 합니다."
        return self._error(f" refuses every question: {self._short(message)}", fix, ko)

    def full(self, message: str) -> AqbError:
        """The error for an endpoint that has no room for another batch."""
        return self._error(
            f"'s queue of batches is full: {self._short(message)}",
            "run again when other batches have ended; this one was not paid, verdicts so far are kept",
            "판정 모델의 배치 대기열이 가득 찼습니다. 다른 배치가 끝난 뒤 다시 실행하면 이어서 묻습니다.",
        )

    def unreachable(self, reason: str) -> AqbError:
        """The error for an endpoint that does not answer at all."""
        return self._error(
            f" gives no answer: {reason}",
            f"check judge.base_url and {network_shown()}; verdicts so far are kept, the next run goes on",
            "판정 모델이 답하지 않습니다. 운영 담당자가 설정 judge.base_url과 네트워크를 확인해야 합니다.",
        )

    def limited(self, reached: LimitReachedError, longest_s: float) -> AqbError:
        """The error for an endpoint whose limit stays used up: it asks to wait so long, or has refused for so long."""
        return self._error(
            f" takes no more questions for {longest_s:,.0f} s or longer: {reached}",
            "wait until its limit is free, or lower judge.rpm and judge.tpm; the next run goes on, verdicts are kept",
            "판정 모델의 사용 한도가 다했습니다. 한도가 풀린 뒤 다시 실행하면 이어서 묻습니다. "
            "자주 생기면 운영 담당자가 설정 judge.rpm과 judge.tpm을 낮추거나 한도를 늘려야 합니다.",
        )

    def _error(self, what: str, fix: str, ko: str) -> AqbError:
        return AqbError(f"the judge{what}", where=self._endpoint.shown, fix=fix, ko=ko)

    def _short(self, text: str) -> str:
        return " ".join(text_of(self._endpoint.redacted(text)).split())[:_LONGEST_MESSAGE]


def _error_in(body: Any) -> Mapping[str, Any]:
    """The error object of a body, in an envelope or not, with its message as text; a bare text becomes its message.

    Gemini puts the envelope into a list, routers put the error into the choice that has failed. Servers that check
    requests field by field say it in `detail`, or list the fields there: `body.seed: Extra inputs ...`.
    """
    body = first_of(body) if "error" in first_of(body) else body
    error = mapping_of(body).get("error") or first_of(mapping_of(body).get("choices")).get("error") or body
    error = error if isinstance(error, dict) else {"message": error}
    told = error.get("message") or error.get("detail")
    fields = mapping_of(told).get("detail", told)
    if isinstance(fields, list):
        return {**error, "message": "; ".join(map(_about_field, map(mapping_of, fields)))}
    return {**error, "message": fields} if isinstance(fields, str) else error


def _about_field(problem: Mapping[str, Any]) -> str:
    """What is wrong with which field, without the value that was sent."""
    place = problem.get("loc")
    name = ".".join(map(str, place)) if isinstance(place, list) else ""
    return ": ".join(filter(None, (name, text_of(problem.get("msg")))))


def _is_of(error: Mapping[str, Any], kinds: tuple[str, ...]) -> bool:
    """Whether an error is of one of the kinds; gateways give the kind as the type, and the status as the code."""
    return any(str(error.get(name)) in kinds for name in ("code", "type"))


def _is_too_long(error: Mapping[str, Any]) -> bool:
    """Whether an error says that the question does not fit the model; servers of local models say it in words alone."""
    return error.get("code") in _TOO_LONG or bool(_TOO_LONG_IN_WORDS.search(text_of(error.get("message"))))


def _readings(headers: Mapping[str, str]) -> dict[str, float]:
    remaining = {name: headers.get(f"x-ratelimit-remaining-{name}", "") for name in _BUCKETS}
    return {name: float(value) for name, value in remaining.items() if re.fullmatch(r"[0-9]{1,12}", value)}


def _bucket(error: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """The limit that a 429 names; requests where it names none."""
    words = f"{error.get('type')} {error.get('message')}".lower()
    if "token" in words or "tpm" in words:
        return "tokens"
    return "tokens" if _readings(headers).get("tokens") == 0 else "requests"


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that the endpoint asks for, in seconds or up to a moment by its own clock; None where it names none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", value := headers.get(name, "")):
            return float(value) * unit
    if until := _moment(headers.get("retry-after", "")):
        return max(0.0, (until - (_moment(headers.get("date", "")) or datetime.now(UTC))).total_seconds())
    return None


def _moment(told: str) -> datetime | None:
    """A moment as HTTP writes it; None for anything else."""
    try:
        moment = parsedate_to_datetime(told)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else None
