"""Files and batches of the judge endpoint, kept in memory."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.fakes.openai_answers import model_error

if TYPE_CHECKING:
    from tests.fakes.openai_server import FakeOpenAI

_Answer = tuple[int, dict[str, str], Any]


class Batches:
    """What was uploaded and what became of it. A batch is worked off when somebody looks after its time."""

    def __init__(self, server: FakeOpenAI) -> None:
        self._server = server
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._ready: dict[str, float] = {}
        self.uploading, self.created = threading.Event(), threading.Event()
        self.words: dict[str, str] = {}  # what it says in place of a status of OpenAI's
        self.full = False  # whether no batch fits into its queue

    def answer(self, method: str, route: str, headers: Mapping[str, str], body: bytes) -> _Answer:
        """The answer to any request that is not a question."""
        match method, route.strip("/").split("/"):
            case "POST", ["files"]:
                return 200, {}, self._uploaded(headers["content-type"], body)
            case "GET", ["files", name, "content"] if name in self.files:
                return 200, {}, self.files[name]
            case "POST", ["batches"]:
                return 200, {}, self._created(json.loads(body))
            case "GET", ["batches"]:
                newest = list(reversed(self.batches.values()))
                return 200, {}, {"object": "list", "data": newest, "has_more": False}
            case "GET", ["batches", name] if name in self.batches:
                return 200, {}, self._looked_at(self.batches[name])
        return 404, {}, model_error(f"no such thing: {method} {route}", "not_found")

    def _uploaded(self, content_type: str, body: bytes) -> dict[str, Any]:
        boundary = content_type.partition("boundary=")[2].strip('"').encode()
        parts = [part for part in body.split(b"--" + boundary) if b'name="file"' in part]
        name = f"file-{len(self.files)}"
        self.files[name] = parts[0].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        return {"id": name, "object": "file", "bytes": len(body), "created_at": 1, "filename": "x", "purpose": "batch"}

    def _created(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": wanted["endpoint"],
            "input_file_id": wanted["input_file_id"],
            "completion_window": wanted["completion_window"],
            "metadata": wanted.get("metadata"),
            "status": "in_progress",
            "created_at": 1,
        }
        self._ready[name] = time.monotonic() + self._server.behaviour.batch_s
        self.created.set()
        return self.batches[name]

    def _looked_at(self, batch: dict[str, Any]) -> dict[str, Any]:
        if batch["status"] == "in_progress" and time.monotonic() >= self._ready[batch["id"]]:
            self._work_off(batch)
        return batch | {"status": self.words.get(batch["status"], batch["status"])}

    def _work_off(self, batch: dict[str, Any]) -> None:
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        if self.full:
            error = model_error("Enqueued token limit reached for judge-1.", "token_limit_exceeded")["error"]
            batch |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
            return
        if refusal := self._server.refusal_of(lines[0]["body"]):
            error = refusal[1]["error"]
            batch |= {"status": "failed", "errors": {"object": "list", "data": [{**error, "line": 1}]}}
            return
        done: list[dict[str, Any]] = []
        failed: list[dict[str, Any]] = []
        for line in lines:
            self._server.requests.append(line["body"])
            fault = self._server.fault_of(line["body"])
            status, body = 200, None
            if fault in ("server_errors", "dropped"):
                status, body = 500, model_error("The server had an error", "server_error")
            elif fault != "hung":
                body = self._server.reply(re.sub("^/v1", "", line["url"]), line["body"], fault)
            response = {"status_code": status, "request_id": "r", "body": body}
            if body is None:  # the window closed before its turn came
                late = {"code": "batch_expired", "message": "This request could not be executed in time."}
                failed.append({"id": "x", "custom_id": line["custom_id"], "response": None, "error": late})
            else:
                (done if status == 200 else failed).append(
                    {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}
                )
        batch |= {"status": "expired" if any(line["error"] for line in failed) else "completed"}
        for field, found in (("output_file_id", done), ("error_file_id", failed)):
            if found:
                name = f"file-{len(self.files)}"
                self.files[name] = "\n".join(json.dumps(line, ensure_ascii=False) for line in found).encode()
                batch[field] = name
