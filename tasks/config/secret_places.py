"""Reads secrets from an environment variable, a file, or Google Cloud's Secret Manager.

`NAME` contains the secret itself, `NAME_FILE` its place. Secrets in files and Secret Manager are read by each run, so
that a changed secret needs no restart.
"""

import base64
import binascii
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from scoring.errors import UsageError

ELSEWHERE = "_FILE"
_MANAGER = re.compile(r"gcp-secret://([a-z0-9:.-]+)/([\w-]+)(?:/(\d+|latest))?", re.ASCII)
_API = "https://secretmanager.googleapis.com/"
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Secret:
    """A secret, '' if there is none, and its origin, which may be shown."""

    value: str = field(repr=False)
    origin: str


def secret_of(variable: str) -> Secret:
    """The secret in an environment variable, or at the place named by `<variable>_FILE`.

    Raises:
        UsageError: that place cannot be read.
    """
    place = os.environ.get(f"{variable}{ELSEWHERE}", "")
    if os.environ.get(variable) or not place:
        return Secret(os.environ.get(variable, "").strip(), f"environment variable {variable}")
    kind = "Secret Manager" if _MANAGER.fullmatch(place) else "the file"
    return Secret(read_secret(place, f"{variable}{ELSEWHERE}"), f"{kind} of {variable}{ELSEWHERE}")


def is_set(variable: str) -> bool:
    """Whether this variable has a secret or names the place of one."""
    return bool(os.environ.get(variable) or os.environ.get(f"{variable}{ELSEWHERE}"))


def read_secret(place: str, variable: str) -> str:
    """The secret at a place: a path, or `gcp-secret://PROJECT/NAME/VERSION`, by default its latest version.

    Raises:
        UsageError: it cannot be read; names the `variable`.
    """
    if found := _MANAGER.fullmatch(place):
        project, name, version = found.groups("latest")
        return _of_secret_manager(project, name, version, variable)
    try:
        return Path(place).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"the secret cannot be read: {why}", where=variable, fix="correct the path") from None


def _of_secret_manager(project: str, name: str, version: str, variable: str) -> str:
    """Reads with the credentials of the machine (Application Default Credentials)."""
    import google.auth  # a half-second import that only users of Secret Manager need
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession
    from requests.exceptions import RequestException

    api = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", _API)  # gcloud's name for it
    try:
        credentials, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
        with AuthorizedSession(credentials) as session:  # type: ignore[no-untyped-call]
            answer = session.get(
                f"{api}v1/projects/{project}/secrets/{name}/versions/{version}:access", timeout=_PATIENCE_S
            )
            answer.raise_for_status()
            return base64.b64decode(answer.json()["payload"]["data"]).decode().strip()
    except (GoogleAuthError, RequestException, KeyError, TypeError, ValueError, binascii.Error) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        raise UsageError(
            f"Secret Manager does not give {project}/{name}: {f'status {status}' if status else type(error).__name__}",
            where=variable,
            fix="check its name, and that this account has roles/secretmanager.secretAccessor on it",
        ) from None
