"""Google Cloud on 127.0.0.1, as far as Secret Manager goes: an account, its token, and versions of secrets."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes.local_server import LocalServer, Request

TOKEN = "ya29.secret"


class FakeGoogleCloud(LocalServer):
    """`with FakeGoogleCloud({"projects/p/secrets/s/versions/latest": "..."}) as google: google.use(...)`."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = secrets

    def use(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """Makes this the Google Cloud of the process, with an account whose key lies in a folder."""
        key = rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        account = {
            "type": "service_account",
            "client_email": "aqb@team.iam.gserviceaccount.com",
            "private_key": key.decode(),
            "token_uri": f"{self.url}/token",
        }
        (folder / "account.json").write_text(json.dumps(account), encoding="utf-8")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "account.json"))
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "team")
        monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", f"{self.url}/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def answer(self, request: Request) -> None:
        """Gives a token to whoever asks, and a secret to whoever shows it."""
        if request.path == "/token":
            _reply(request, 200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})
            return
        name = request.path.removeprefix("/v1/").removesuffix(":access")
        if request.headers["Authorization"] != f"Bearer {TOKEN}":
            _reply(request, 401, {})
        elif name in self._secrets:
            _reply(request, 200, {"payload": {"data": base64.b64encode(self._secrets[name].encode()).decode()}})
        else:
            _reply(request, 404, {"error": {"message": "not found"}})


def _reply(request: Request, status: int, content: Any) -> None:
    request.reply(status, json.dumps(content).encode(), {"Content-Type": "application/json"})
