"""Asks with the Batch API: half the price, an answer within a day, and the same batch again after a crash."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

import openai
from openai.types import Batch
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from scoring.errors import AqbError
from scoring.judging.prompts import absent_mark
from scoring.judging.requests import Verdict, VerdictStatus
from tasks.config.judge import JudgeSettings
from tasks.judge.budget import Budget, Cost
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.questions import Effort, Sendable
from tasks.judge.replies import LimitReachedError, QuestionRefusedError, TransientError, Usage, reply_in
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import Judgement, VerdictStore, WaitingBatch

_T = TypeVar("_T")
_ROUNDS = 3
_LINES_PER_BATCH = 20_000
_BYTES_PER_BATCH = 100_000_000
_ENDED = ("completed", "failed", "expired", "cancelled")
_NOTHING = Cost(0, 0.0)
_TRIES = 6


class _GoneError(Exception):
    """The endpoint does not know the batch."""


class BatchRun:
    """Asks questions by batches and hands each final judgement to `record`; they are stored before that."""

    def __init__(
        self,
        endpoint: JudgeEndpoint,
        name: str,
        store: VerdictStore,
        worker: Executor,
        budget: Budget,
        record: Callable[[Judgement], None],
        settings: JudgeSettings,
        timing: Timing,
    ) -> None:
        self._endpoint, self._name, self._budget, self._record = endpoint, name, budget, record
        self._store, self._worker = store, worker
        self._settings, self._timing = settings, timing
        self._open: dict[str, Sendable] = {}
        self._efforts: dict[str, Effort] = {}
        self._last: dict[str, Verdict] = {}
        self._reserved: dict[str, Cost] = {}

    async def ask(self, questions: Sequence[Sendable]) -> None:
        """Returns when every question has its judgement. Batches that are waited for outlive this process.

        Raises:
            AqbError: no batch will be answered, or the database refuses verdicts.
        """
        self._open = {question.key: question for question in questions}
        for batch in await self._in_thread(self._store.waiting_batches, self._name):
            if self._open.keys() & set(batch.keys):
                await self._resume(batch)
        for _ in range(_ROUNDS):
            sent = [await self._send(group) for group in self._groups()]
            for batch in sent:
                await self._collect(batch)
        for key, question in self._open.items():
            verdict = self._last.get(key, Verdict(VerdictStatus.FAILED, reason="배치가 답을 주지 않음"))
            self._record(question.judgement(verdict, self._efforts.get(key)))

    async def _resume(self, batch: WaitingBatch) -> None:
        """Fetches a batch that an earlier run has sent; forgets one that was never created or is long gone."""
        found = batch.batch_id or await self._id_of(batch.token)
        try:
            if found:
                return await self._collect(WaitingBatch(batch.token, found, batch.keys))
        except _GoneError:
            pass
        await self._in_thread(self._store.close_batch, batch.token, [], [])
        return None

    def _groups(self) -> Iterator[list[Sendable]]:
        """The open questions that the budget allows, in portions that one batch may hold."""
        group: list[Sendable] = []
        size = 0
        for question in list(self._open.values()):
            if (reserved := self._budget.reserve(question)) is None:
                verdict = Verdict(VerdictStatus.OVER_BUDGET, reason="이 실행의 판정 예산이 다함")
                self._conclude(question.key, verdict)
                continue
            self._reserved[question.key] = reserved
            if len(group) == _LINES_PER_BATCH or (group and size + question.size_bytes > _BYTES_PER_BATCH):
                yield group
                group, size = [], 0
            group.append(question)
            size += question.size_bytes
        if group:
            yield group

    async def _send(self, group: Sequence[Sendable]) -> WaitingBatch:
        """Uploads and creates a batch. It is noted before, so that no crash forgets one that is paid for."""
        token, keys = secrets.token_hex(16), [question.key for question in group]
        content = "\n".join(self._line(question) for question in group).encode()
        client = self._endpoint.client
        await self._in_thread(self._store.open_batch, self._name, token, keys)
        file = await self._surely(lambda: client.files.create(file=("questions.jsonl", content), purpose="batch"))

        async def created() -> str:
            if known := await self._id_of(token):  # an earlier attempt got through, its answer did not
                return known
            batch = await client.batches.create(
                input_file_id=file.id, endpoint=self._url, completion_window="24h", metadata={"aqb": token}
            )
            return batch.id

        batch_id = await self._surely(created)
        await self._in_thread(self._store.name_batch, token, batch_id)
        return WaitingBatch(token, batch_id, keys)

    @property
    def _url(self) -> Any:
        return "/v1/responses" if self._settings.api == "responses" else "/v1/chat/completions"

    def _line(self, question: Sendable) -> str:
        mark = absent_mark(question.payload, iter(lambda: secrets.token_hex(16), ""))
        line = {"custom_id": question.key, "method": "POST", "url": self._url, "body": question.body(mark)}
        return json.dumps(line, ensure_ascii=False)

    async def _id_of(self, token: str) -> str:
        """The id of the batch that was created with a token, '' if there is none."""
        page = await self._surely(lambda: self._endpoint.client.batches.list(limit=100))
        return next((batch.id for batch in page.data if (batch.metadata or {}).get("aqb") == token), "")

    async def _collect(self, waiting: WaitingBatch) -> None:
        """Waits for a batch, stores what it brought, and leaves open what has to be asked again."""
        while (batch := await self._state_of(waiting.batch_id)).status not in _ENDED:
            await asyncio.sleep(self._timing.poll_s)
        if batch.status == "failed":
            await self._in_thread(self._store.close_batch, waiting.token, [], [])
            errors = batch.errors.data if batch.errors else None
            first = next(iter(errors or []), None)
            told = {"code": first.code, "message": first.message} if first else {"message": "the batch failed"}
            self._endpoint.explain_status(400, told, {})
        lines = {line["custom_id"]: line for line in await self._lines(batch)}
        verdicts = {key: self._verdict(self._open[key], line) for key, line in lines.items() if key in self._open}
        for key in waiting.keys:
            self._budget.settle(self._reserved.pop(key, _NOTHING), Usage())
        paid = [
            self._open[key].judgement(verdict, effort)
            for key, (verdict, effort) in verdicts.items()
            if verdict.status is not VerdictStatus.FAILED
        ]
        of_others = [key for key in waiting.keys if key in lines and key not in self._open]
        await self._in_thread(self._store.close_batch, waiting.token, paid, of_others)
        for key, (verdict, _) in verdicts.items():
            self._last[key] = verdict
            if verdict.status in (VerdictStatus.OK, VerdictStatus.REFUSED):
                self._conclude(key, verdict)

    def _verdict(self, question: Sendable, line: Mapping[str, Any]) -> tuple[Verdict, Effort]:
        """What a line of a result file says, and what this round of the question has cost."""
        response, usage, model = line.get("response") or {}, None, ""
        if response.get("status_code") == 200:
            reply = reply_in(response.get("body"))
            verdict, usage, model = question.verdict(reply), reply.usage, reply.model
        else:
            verdict = self._failed(response, line.get("error") or {})
        self._budget.settle(self._reserved.pop(question.key, _NOTHING), usage or Usage())
        usd = self._budget.cost(usage or Usage()).usd
        self._efforts[question.key] = self._efforts.get(question.key, Effort()).with_call(usage, usd, None, model)
        return verdict, Effort().with_call(usage, usd, None, model)

    def _failed(self, response: Mapping[str, Any], error: Mapping[str, Any]) -> Verdict:
        if not response:
            return Verdict(VerdictStatus.FAILED, reason=f"배치에서 답을 받지 못함: {error.get('message', '이유 없음')}")
        try:
            self._endpoint.explain_status(response.get("status_code", 500), response.get("body"), {})
        except QuestionRefusedError as refused:
            status = VerdictStatus.REFUSED if refused.filtered else VerdictStatus.FAILED
            return Verdict(status, reason=f"판정 모델이 질문을 받지 않음: {refused}")
        except (TransientError, LimitReachedError, AqbError) as failure:
            return Verdict(VerdictStatus.FAILED, reason=f"배치에서 답을 받지 못함: {failure}")

    def _conclude(self, key: str, verdict: Verdict) -> None:
        self._record(self._open.pop(key).judgement(verdict, self._efforts.get(key)))

    async def _state_of(self, batch_id: str) -> Batch:
        async def state() -> Batch:
            try:
                return await self._endpoint.client.batches.retrieve(batch_id)
            except openai.NotFoundError:
                raise _GoneError from None

        return await self._surely(state)

    async def _lines(self, batch: Batch) -> list[dict[str, Any]]:
        """What the result files say, the answers and the errors."""
        lines = []
        for name in filter(None, (batch.output_file_id, batch.error_file_id)):
            content = await self._surely(partial(self._endpoint.client.files.content, name))
            lines += [json.loads(line) for line in content.text.splitlines() if line.strip()]
        return lines

    async def _surely(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """The result of a call that is not a question, tried again while there is hope."""

        async def once() -> _T:
            try:
                return await call()
            except openai.APIError as error:
                self._endpoint.explain(error)
            except (AttributeError, TypeError, ValueError):  # the client takes a web page for what it has asked for
                raise self._endpoint.useless("what it says is no answer of a Batch API") from None

        retrying = AsyncRetrying(
            retry=retry_if_exception_type((TransientError, LimitReachedError)),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(self._timing.backoff_s, self._timing.longest_backoff_s),
            reraise=True,
        )
        try:
            return await retrying(once)
        except (TransientError, LimitReachedError) as failure:
            raise self._endpoint.unreachable(str(failure)) from None
        except QuestionRefusedError as refused:
            raise self._endpoint.useless(str(refused)) from None

    async def _in_thread(self, work: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)
