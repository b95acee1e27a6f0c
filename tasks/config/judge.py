"""The `[judge]` section of the settings, and the endpoint from it and the environment."""

import os
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from scoring.errors import UsageError
from tasks.config.connections import is_http_address
from tasks.config.secret_places import secret_of
from tasks.config.secrets import Url, shown_url
from tasks.config.section import Section

OPENAI_URL = "https://api.openai.com/v1"
SHUTDOWN_NOTICE = timedelta(days=60)
"""How long before a model's shutdown people are notified."""
_NO_KEY = "no-key"  # local servers need none, but the client requires one


_none = BeforeValidator(lambda value: None if value == "none" else value)  # TOML and variables have no null


class Price(Section):
    """The list price of a model, in USD per million tokens."""

    model: str
    """The model, as in `judge.model`."""

    input_usd: float = Field(ge=0)
    """USD per million input tokens that the endpoint has not cached."""

    cached_usd: float = Field(ge=0)
    """USD per million input tokens that the endpoint has cached."""

    output_usd: float = Field(ge=0)
    """USD per million output tokens, including reasoning."""

    cache_write_usd: Annotated[float | None, _none] = Field(default=None, ge=0)
    """USD per million input tokens that the endpoint writes to its cache; "none": the same as other input."""

    as_of: date | None = None
    """The day on which the price was looked up."""

    source: str = ""
    """The source of the price."""


_OPENAI_MODELS = "https://developers.openai.com/api/docs/models"
_READ_ON = date(2026, 11, 23)

_LIST_PRICES = (
    Price(
        model="gpt-6-luna",
        input_usd=0.1,
        cached_usd=0.01,
        output_usd=0.5,
        cache_write_usd=0.125,
        as_of=_READ_ON,
        source=f"{_OPENAI_MODELS}/gpt-6-luna",
    ),
    Price(
        model="gpt-6.1-terra",
        input_usd=1.0,
        cached_usd=0.05,
        output_usd=5.0,
        cache_write_usd=1.25,
        as_of=_READ_ON,
        source=f"{_OPENAI_MODELS}/gpt-6.1-terra",
    ),
    Price(  # until 2027-01-14
        model="gpt-4.1-mini",
        input_usd=0.4,
        cached_usd=0.1,
        output_usd=1.6,
        as_of=_READ_ON,
        source="https://vercel.com/ai-gateway/models/gpt-4.1-mini/api",
    ),
    Price(
        model="gpt-4.1",
        input_usd=2.0,
        cached_usd=0.5,
        output_usd=8.0,
        as_of=date(2025, 4, 14),
        source="https://openai.com/index/gpt-4-1/",
    ),
)


class JudgeSettings(Section):
    """The judge: disabled by default, because it costs money."""

    enabled: bool = False
    """Whether runs ask the judge; `--judge` does it for one run."""

    mode: Literal["live", "batch"] = "live"
    """One call per question, or the Batch API: half the price, an answer within a day."""

    api: Literal["chat", "responses"] = "chat"
    """Chat completions, which every compatible endpoint has, or the responses API."""

    base_url: Url = ""
    """The endpoint, for example http://localhost:8000/v1; empty: OPENAI_BASE_URL, else OpenAI."""

    api_key: SecretStr = SecretStr("")
    """The API key; better given as OPENAI_API_KEY and left empty here."""

    model: str = Field(default="gpt-6-luna", min_length=1)
    """The model that judges."""

    temperature: Annotated[float | None, _none] = Field(default=0.0, ge=0, le=2)
    """The sampling temperature; "none" omits it, as does a run whose model accepts none."""

    seed: Annotated[int | None, _none] = 1
    """The seed for reproducible answers; "none" omits it. The responses API has none."""

    reasoning_effort: str = Field(default="", pattern="^[a-z]*$")
    """The reasoning effort of a reasoning model, for example low; empty: the provider's default."""

    max_output_tokens: int = Field(default=1000, ge=1)
    """The maximum output tokens; a longer answer is truncated and invalid."""

    max_reasoning_tokens: int = Field(default=3000, ge=0)
    """Further output tokens for the reasoning before the answer; 0 saves budget if the model does not reason."""

    max_input_chars: int = Field(default=24_000, ge=1000)
    """The maximum characters of material; longer material keeps its beginning and its end."""

    rpm: int = Field(default=500, ge=0)
    """Requests per minute, over all processes that share the state database; 0 is no limit."""

    tpm: int = Field(default=200_000, ge=0)
    """Tokens per minute, over all processes that share the state database; 0 is no limit."""

    max_in_flight: int = Field(default=200, ge=1)
    """Concurrent calls, in one process."""

    max_usd: Annotated[float | None, _none] = Field(default=None, ge=0)
    """The maximum cost of one run in USD; "none" is no limit."""

    max_tokens: Annotated[int | None, _none] = Field(default=None, ge=0)
    """The maximum tokens of one run; "none" is no limit."""

    anchors: bool = False
    """Whether the nightly flow repeats a hundred judged questions, to detect a replaced judge model."""

    anchors_max_usd: float = Field(default=0.10, ge=0)
    """The maximum cost in USD of the anchors of one night."""

    anchors_max_tokens: int = Field(default=600_000, ge=0)
    """The maximum tokens of the anchors if the price of the model is unknown."""

    prices: tuple[Price, ...] = _LIST_PRICES
    """Prices by model; a model that is not among them has its list price, where there is one."""

    @field_validator("prices")
    @classmethod
    def _with_list_prices(cls, given: tuple[Price, ...]) -> tuple[Price, ...]:
        named = {price.model for price in given}
        return (*given, *(price for price in _LIST_PRICES if price.model not in named))

    @property
    def longest_output_tokens(self) -> int:
        """The maximum tokens of a call's output: those of the answer and of the reasoning before it."""
        return self.max_output_tokens + self.max_reasoning_tokens

    @property
    def price(self) -> Price | None:
        """The price of the judge's model, None if the table has none."""
        return next((price for price in self.prices if price.model == self.model), None)


@dataclass(frozen=True)
class Endpoint:
    """The endpoint to ask. The key is never shown."""

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)

    def redacted(self, text: str) -> str:
        """`text` without the key: endpoints often quote it in their errors."""
        return text.replace(self.api_key, "***") if self.api_key else text

    @property
    def shown(self) -> str:
        """The address for display, without secrets."""
        return shown_url(self.base_url)

    def of_model(self, model: str) -> str:
        """The key of a model's limits, batches and wordings in the state database: address and model."""
        return f"{self.shown} {model}"


def endpoint_of(settings: JudgeSettings) -> Endpoint | None:
    """The endpoint to ask; None if there is neither a key nor an address. Settings override the environment.

    Raises:
        UsageError: an invalid address, a key that no header can carry (its text is not shown), or a key that cannot be
            read from its place.
    """
    key = (settings.api_key.get_secret_value() or secret_of("OPENAI_API_KEY").value).strip()
    url = (settings.base_url or os.environ.get("OPENAI_BASE_URL", "")).strip()
    if not key and not url:
        return None
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the key holds signs that no key has", where="OPENAI_API_KEY", fix="copy the key once more")
    endpoint = Endpoint(url or OPENAI_URL, key or _NO_KEY)
    if not is_http_address(endpoint.base_url):
        raise UsageError(
            "the judge's address is no http address",
            where="judge.base_url or OPENAI_BASE_URL",
            fix="for example https://api.openai.com/v1",
        )
    parts = urlsplit(endpoint.base_url)
    if parts.query or parts.fragment or parts.path.rstrip("/").endswith(("/chat/completions", "/responses")):
        raise UsageError(
            "the judge's address is that of one of its services, to which nothing can be appended",
            where="judge.base_url or OPENAI_BASE_URL",
            fix="end it where its path ends in /v1; with Azure OpenAI https://RESOURCE.openai.azure.com/openai/v1",
        )
    return endpoint


def require_endpoint(settings: JudgeSettings) -> Endpoint:
    """The endpoint to ask.

    Raises:
        UsageError: there is none, or one that cannot be used.
    """
    if endpoint := endpoint_of(settings):
        return endpoint
    raise UsageError("there is nobody to ask", where="judge", fix="set OPENAI_API_KEY, or judge.base_url")
