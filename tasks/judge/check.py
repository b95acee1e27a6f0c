"""What an endpoint says of its models: whether it can be asked, and how long the model that judges will be there.

It asks for the list of models alone, which costs nothing.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import aclosing
from datetime import date
from typing import Any

import httpx2
import openai

from scoring.errors import AqbError
from tasks.config.connections import failed_connection, network_shown
from tasks.config.judge import SHUTDOWN_NOTICE, Endpoint, JudgeSettings, require_endpoint
from tasks.judge.dialect import Dialect
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.replies import text_of
from tasks.judge.timing import Timing

_TIMEOUT_S = 10.0
_FIXES = {
    401: "check OPENAI_API_KEY, or judge.api_key",
    403: "check what the key may do",
    404: "check judge.base_url or OPENAI_BASE_URL: most end in /v1",
}


def check_endpoint(settings: JudgeSettings, today: date, dialect: Dialect | None = None) -> str:
    """One line about the endpoint and the model that judges, with the key and address of a run.

    `dialect` is how it is asked, where it was asked before. A model that is not listed is no error: some endpoints
    judge with models that they do not list.

    Raises:
        UsageError: neither a key nor an address, or one that cannot be used.
        AqbError: no connection, no list of models, or a model that is shut down within 60 days; neither the key nor
            the endpoint's own message is repeated.
    """
    endpoint = require_endpoint(settings)
    models = asyncio.run(_models(endpoint, settings))
    if (last := models.get(settings.model)) and last - today <= SHUTDOWN_NOTICE:
        raise AqbError(
            f"{settings.model} is shut down on {last}, {_in_days(last, today)}",
            where=endpoint.shown,
            fix="choose another judge.model; its scores are not comparable with those before",
        )
    listed = "among" if settings.model in models else "not among"
    wording = dialect.shown() if dialect else ""
    asked = f"; {wording}" if wording else ""
    return f"{endpoint.shown} answers; {settings.model} is {listed} its {len(models)} models{asked}"


def shutdown_date(settings: JudgeSettings) -> date | None:
    """The day on which the endpoint says that the model is shut down; None where it names none.

    Raises:
        UsageError, AqbError: as `check_endpoint`.
    """
    return asyncio.run(_models(require_endpoint(settings), settings)).get(settings.model)


def _in_days(last: date, today: date) -> str:
    days = (last - today).days
    return f"in {days} days" if days > 0 else "so it answers no more"


async def _models(endpoint: Endpoint, settings: JudgeSettings) -> Mapping[str, date | None]:
    """The models that are listed, each with the day on which it is shut down, None where none is named."""
    timing = Timing(longest_deadline_s=_TIMEOUT_S)
    try:
        async with aclosing(JudgeEndpoint(endpoint, settings, timing)) as judge, asyncio.timeout(_TIMEOUT_S):
            answer: Any = (await judge.client.get("/models", cast_to=httpx2.Response)).json()
    except openai.APIStatusError as error:
        raise AqbError(
            f"the judge answers with status {error.status_code}",
            where=endpoint.shown,
            fix=_FIXES.get(error.status_code, "ask its operator, or try again later"),
        ) from None
    except (openai.APIConnectionError, TimeoutError) as error:
        reason = text_of(endpoint.redacted(failed_connection(error.__cause__ or error)))
        raise AqbError(
            f"the judge cannot be reached: {reason}",
            where=endpoint.shown,
            fix=f"check judge.base_url and {network_shown()}",
        ) from None
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
        raise AqbError(
            "this is no judge: it lists no models, as a web page does", where=endpoint.shown, fix=_FIXES[404]
        )
    listed = [model for model in answer["data"] if isinstance(model, dict)]
    return {str(model.get("id")): _day(model.get("shutdown_date")) for model in listed}


def _day(told: Any) -> date | None:
    """A day as OpenAI writes it; None for anything else."""
    if not isinstance(told, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", told):
        return None
    try:
        return date.fromisoformat(told)
    except ValueError:
        return None
