"""The `[judge]` section of the settings, and the endpoint that it and the environment name."""

import os
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr

from scoring.errors import UsageError
from tasks.config.connections import is_http_address
from tasks.config.secret_places import secret_of
from tasks.config.secrets import Url, shown_url
from tasks.config.section import Section

OPENAI_URL = "https://api.openai.com/v1"
SHUTDOWN_NOTICE = timedelta(days=60)
"""How long before its end people are told of it."""
_NO_KEY = "no-key"  # local servers want none, the client wants one


_none = BeforeValidator(lambda value: None if value == "none" else value)  # neither TOML nor a variable has a null


class Price(Section):
    """The list price of a model, in USD per million tokens."""

    model: str
    """The model, as `judge.model` names it."""

    input_usd: float = Field(ge=0)
    """USD per million tokens of input that the endpoint has not cached."""

    cached_usd: float = Field(ge=0)
    """USD per million tokens of input that the endpoint has cached."""

    output_usd: float = Field(ge=0)
    """USD per million tokens of output, those of reasoning among them."""

    cache_write_usd: Annotated[float | None, _none] = Field(default=None, ge=0)
    """USD per million tokens of input that the endpoint puts into its cache; "none": as other input."""

    as_of: date | None = None
    """The day on which somebody read the price."""

    source: str = ""
    """Where it was read."""


_OPENAI_MODELS = "https://developers.openai.com/api/docs/models"
_READ_ON = date(2026, 11, 23)


class JudgeSettings(Section):
    """The judge: off until it is switched on, because it costs money."""

    enabled: bool = False
    """Whether runs ask the judge; `--judge` does it for one run."""

    mode: Literal["live", "batch"] = "live"
    """One call a question, or the Batch API: half the price, an answer within a day."""

    api: Literal["chat", "responses"] = "chat"
    """Chat completions, which every compatible endpoint has, or the responses API."""

    base_url: Url = ""
    """The endpoint, for example http://localhost:8000/v1; empty: OPENAI_BASE_URL, else OpenAI."""

    api_key: SecretStr = SecretStr("")
    """The key; better left empty here and given as OPENAI_API_KEY."""

    model: str = Field(default="gpt-6-luna", min_length=1)
    """The model that judges."""

    temperature: Annotated[float | None, _none] = Field(default=0.0, ge=0, le=2)
    """How freely the model words its answer; "none" leaves it out, and so does a run whose model takes none."""

    seed: Annotated[int | None, _none] = 1
    """Asks for the same answer to the same question; "none" leaves it out. The responses API has none."""

    reasoning_effort: str = Field(default="", pattern="^[a-z]*$")
    """How much a model that reasons does so before it answers, for example low; empty: as its provider chose."""

    max_output_tokens: int = Field(default=1000, ge=1)
    """An answer that is longer is cut, and does not count."""

    max_reasoning_tokens: int = Field(default=3000, ge=0)
    """Room for the reasoning before the answer; 0 saves budget where the model does not reason."""

    max_input_chars: int = Field(default=24_000, ge=1000)
    """Material that is longer keeps its head and its tail."""

    rpm: int = Field(default=500, ge=0)
    """Requests a minute, over all processes that share the state database; 0 is no limit."""

    tpm: int = Field(default=200_000, ge=0)
    """Tokens a minute, over all processes that share the state database; 0 is no limit."""

    max_in_flight: int = Field(default=200, ge=1)
    """Calls at the same time, in one process."""

    max_usd: Annotated[float | None, _none] = Field(default=None, ge=0)
    """What one run may spend; "none" is no limit."""

    max_tokens: Annotated[int | None, _none] = Field(default=None, ge=0)
    """The tokens that one run may use; "none" is no limit."""

    anchors: bool = False
    """Whether the nightly flow asks a hundred judged questions once more, to notice a judge that was replaced."""

    anchors_max_usd: float = Field(default=0.10, ge=0)
    """What the anchors of one night may cost."""

    anchors_max_tokens: int = Field(default=600_000, ge=0)
    """The tokens that they may use where the price of the model is unknown."""

    prices: tuple[Price, ...] = (
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
    """List prices; check them against the endpoint's price page."""

    @property
    def longest_output_tokens(self) -> int:
        """The most tokens that a call may return: those of the answer and of the reasoning before it."""
        return self.max_output_tokens + self.max_reasoning_tokens

    @property
    def price(self) -> Price | None:
        """The price of the model that judges, None where the table has none."""
        return next((price for price in self.prices if price.model == self.model), None)


@dataclass(frozen=True)
class Endpoint:
    """Where to ask. The key shows nowhere."""

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)

    def redacted(self, text: str) -> str:
        """`text` without the key: endpoints like to quote it in their errors."""
        return text.replace(self.api_key, "***") if self.api_key else text

    @property
    def shown(self) -> str:
        """The address as people may see it."""
        return shown_url(self.base_url)

    def of_model(self, model: str) -> str:
        """The name of limits, batches and wordings of a model in the state database: address and model."""
        return f"{self.shown} {model}"


def endpoint_of(settings: JudgeSettings) -> Endpoint | None:
    """The endpoint to ask; None where there is neither a key nor an address. Settings win over the environment.

    Raises:
        UsageError: an address that is none, a key that no header can carry (its text is not shown), or one that cannot
            be read where it lies.
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
    return endpoint


def require_endpoint(settings: JudgeSettings) -> Endpoint:
    """The endpoint to ask.

    Raises:
        UsageError: there is none, or one that cannot be used.
    """
    if endpoint := endpoint_of(settings):
        return endpoint
    raise UsageError("there is nobody to ask", where="judge", fix="set OPENAI_API_KEY, or judge.base_url")
