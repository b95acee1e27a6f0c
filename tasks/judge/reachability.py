"""Whether a judge could be asked: its endpoint lists its models, which costs nothing."""

from __future__ import annotations

from typing import Any

from scoring.errors import AqbError, UsageError
from tasks.config.judge import Endpoint, JudgeSettings, endpoint_of

_PATIENCE_S = 10.0
_FIXES = {
    401: "check OPENAI_API_KEY, or judge.api_key",
    403: "check what the key may do",
    404: "check judge.base_url or OPENAI_BASE_URL: most end in /v1",
}


def check_endpoint(settings: JudgeSettings) -> str:
    """What the endpoint answers to `GET /models`, asked with the key as a run asks its questions.

    A model that is not listed is no error: some endpoints judge with models that they do not list.

    Raises:
        UsageError: neither a key nor an address, or one that cannot be used.
        AqbError: no connection, no list of models; neither the key nor what the endpoint said is repeated.
    """
    endpoint = endpoint_of(settings)
    if endpoint is None:
        raise UsageError("there is nobody to ask", where="judge", fix="set OPENAI_API_KEY, or judge.base_url")
    models = _models(endpoint)
    listed = "among" if settings.model in models else "not among"
    return f"{endpoint.shown} answers; {settings.model} is {listed} its {len(models)} models"


def _models(endpoint: Endpoint) -> list[str]:
    import httpx2  # two seconds of CPU with the openai package, which only those who ask should pay
    import openai

    client = openai.OpenAI(
        api_key=endpoint.api_key, base_url=endpoint.base_url, max_retries=0, timeout=openai.Timeout(_PATIENCE_S)
    )
    try:
        with client:
            answer: Any = client.get("/models", cast_to=httpx2.Response).json()
    except openai.APIStatusError as error:
        raise AqbError(
            f"the judge answers with status {error.status_code}",
            where=endpoint.shown,
            fix=_FIXES.get(error.status_code, "ask whoever runs it, or try again later"),
        ) from None
    except openai.APIConnectionError as error:
        reason = endpoint.redacted(str(error.__cause__ or error))
        raise AqbError(
            f"the judge cannot be reached: {reason}", where=endpoint.shown, fix="check judge.base_url and the network"
        ) from None
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
        raise AqbError(
            "this is no judge: it lists no models, as a web page does", where=endpoint.shown, fix=_FIXES[404]
        )
    return [str(model.get("id")) for model in answer["data"] if isinstance(model, dict)]
