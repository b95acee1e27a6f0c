"""Replies of an endpoint in one shape for all APIs, and the errors of a call without a reply.

TransientError           this call failed; the next one may succeed
├── UnreachableError     no connection
└── LateError            no answer in time
LimitReachedError        too many requests or tokens, for now; the question is not the reason
WordingRefusedError      the endpoint does not take a parameter; the question may be asked without it
QuestionRefusedError     the endpoint does not take this question; others may pass
AqbError                 no question can pass: wrong key, unknown model, no money
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scoring.errors import AqbError
from scoring.judging.requests import Verdict, VerdictStatus
from tasks.judge.dialect import Dialect

_LONGEST_MODEL = 200
_TEXTS = ("text", "output_text")
STOPPED = Verdict(VerdictStatus.FAILED, reason="판정 모델이 답을 멈추어 판정하지 못함")


@dataclass(frozen=True)
class Usage:
    """Tokens of a call; `cached` and `cache_written` are among `tokens_in`, those of reasoning among `tokens_out`."""

    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    cache_written: int = 0


@dataclass(frozen=True)
class Reply:
    """A model's reply. `usage` is None where the endpoint reports none; `readings` are its limit headers.

    `dialect` is the wording of the request.
    """

    text: str = ""
    refusal: str = ""
    cut: bool = False
    model: str = ""
    usage: Usage | None = None
    readings: Mapping[str, float] = field(default_factory=dict)
    dialect: Dialect = field(default_factory=Dialect)


class TransientError(Exception):
    """A call failed; the next one may succeed. `maybe_paid`: the model may have answered nevertheless."""

    def __init__(self, reason: str, *, maybe_paid: bool) -> None:
        super().__init__(reason)
        self.maybe_paid = maybe_paid


class UnreachableError(TransientError):
    """There was no connection to the endpoint."""


class LateError(TransientError):
    """There was no answer in time: the endpoint hangs, or has more questions than it can answer."""


class LimitReachedError(Exception):
    """A limit of the endpoint is used up (429), or it is overloaded: all questions have to wait, not only this one.

    `bucket` is the limit, `requests` or `tokens` a minute; `retry_after_s` the wait that the endpoint asks for, None
    where it names none.
    """

    def __init__(self, reason: str, bucket: str, retry_after_s: float | None) -> None:
        super().__init__(reason)
        self.bucket = bucket
        self.retry_after_s = retry_after_s


class WordingRefusedError(Exception):
    """The endpoint does not take a parameter of the request, or its form of answer; the next one goes without."""


class QuestionRefusedError(Exception):
    """The endpoint does not take this question: too long for the model, or blocked by a filter (`filtered`).

    `if_all` is the error where it takes no other question either; None where this question alone is the reason.
    """

    def __init__(self, reason: str, *, filtered: bool = False, if_all: AqbError | None = None) -> None:
        super().__init__(reason)
        self.filtered, self.if_all = filtered, if_all

    @property
    def verdict(self) -> Verdict:
        """The verdict on the question: a filter's refusal is final, everything else is a failure."""
        status = VerdictStatus.REFUSED if self.filtered else VerdictStatus.FAILED
        return Verdict(status, reason=f"판정 모델이 질문을 받지 않음: {self}")


def reply_in(body: Any, most: Usage, readings: Mapping[str, float] | None = None) -> Reply:
    """The reply in the body of a 200, of chat completions or of the responses API; empty if it is neither.

    A usage above `most`, what the call can use at all, or of no tokens for the question counts as not reported.
    """
    if not isinstance(body, dict):
        return Reply(readings=readings or {})
    contents, why, cut = _chat_parts(body) if "choices" in body else _response_parts(body)
    parts = [mapping_of(part) for part in contents]  # what a model thought before it answered is no text
    refusal = "".join(text_of(part.get("refusal")) for part in parts)
    return Reply(
        text="".join(text_of(part.get("text")) for part in parts if part.get("type") in _TEXTS),
        refusal=refusal or ("content filter" if why == "content_filter" else ""),
        cut=cut,
        model=text_of(body.get("model"))[:_LONGEST_MODEL],
        usage=_usage(body.get("usage"), most),
        readings=readings or {},
    )


def _chat_parts(body: Mapping[str, Any]) -> tuple[list[Any], Any, bool]:
    """The parts of a content, why it ended, and whether it was cut."""
    choice = first_of(body.get("choices"))
    message = mapping_of(choice.get("message"))
    finish = choice.get("finish_reason")
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [message, *parts], finish, finish == "length"


def _response_parts(body: Mapping[str, Any]) -> tuple[list[Any], Any, bool]:
    contents: list[Any] = []
    for item in body["output"] if isinstance(body.get("output"), list) else []:
        if isinstance(item, dict) and isinstance(item.get("content"), list):
            contents += item["content"]
    return contents, mapping_of(body.get("incomplete_details")).get("reason"), body.get("status") != "completed"


def _usage(reported: Any, most: Usage) -> Usage | None:
    reported = mapping_of(reported)
    details = mapping_of(reported.get("prompt_tokens_details") or reported.get("input_tokens_details"))
    tokens_in = reported.get("prompt_tokens", reported.get("input_tokens"))
    cached, written = (details.get(name) or 0 for name in ("cached_tokens", "cache_write_tokens"))
    tokens_out = reported.get("completion_tokens", reported.get("output_tokens"))
    if not all(type(count) is int and count >= 0 for count in (tokens_in, cached, written, tokens_out)):
        return None
    if type(total := reported.get("total_tokens")) is int:  # Gemini and Grok count what was reasoned there alone
        tokens_out = max(tokens_out, total - tokens_in)
    possible = cached + written <= tokens_in <= most.tokens_in and tokens_in > 0 and tokens_out <= most.tokens_out
    return Usage(tokens_in, cached, tokens_out, written) if possible else None


def first_of(values: Any) -> Mapping[str, Any]:
    """The first object of a list of JSON; empty for what is none."""
    return mapping_of(values[0]) if isinstance(values, list) and values else {}


def mapping_of(value: Any) -> Mapping[str, Any]:
    """An object of JSON; empty for what is none."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """A text that every database and file can hold: no half of a character, no NUL; '' for what is no text."""
    return value.encode(errors="replace").decode().replace("\0", "") if isinstance(value, str) else ""
