"""Asks with the Batch API: half the price, an answer within a day; after a crash the same batch is resumed."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import openai
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from scoring.errors import AqbError
from scoring.judging.prompts import absent_mark
from scoring.judging.requests import Verdict, VerdictStatus
from scoring.limits import LARGEST_BATCH_LINE, LARGEST_JUDGE_REPLY
from tasks.judge.budget import BATCH_DISCOUNT, OVER_BUDGET, Budget, Cost
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.questions import Question
from tasks.judge.replies import (
    LimitReachedError,
    QuestionRefusedError,
    TransientError,
    Usage,
    WordingRefusedError,
    mapping_of,
    reply_in,
    text_of,
)
from tasks.judge.verdict_store import Judgement, VerdictStore, WaitingBatch

_T = TypeVar("_T")
_ROUNDS = 3
_LINES_PER_BATCH = 20_000
_BYTES_PER_BATCH = 100_000_000
_UNDER_WAY = ("validating", "queued", "pending", "running", "in_progress", "finalizing", "cancelling")
_ANSWERED = ("completed", "expired", "cancelled", "canceled")
_FAILED = "failed"
_QUEUE_IS_FULL = "token_limit_exceeded"
_LONGEST_REASON = 300
_SLOWEST = 5  # times the longest deadline of a question: for the files
_NO_COST = Cost(0, 0.0)
_TRIES = 6


@dataclass(frozen=True)
class _BatchState:
    """What the endpoint says of a batch: its status in lower case, its result files, and why it failed."""

    status: str
    files: Sequence[str]
    error: Mapping[str, str]


class _GoneBatchError(Exception):
    """The endpoint does not know the batch, or has deleted its results: OpenAI keeps them for 30 days."""


class BatchRun:
    """Asks questions by batches, stores their judgements and passes each final one to `record`."""

    def __init__(
        self,
        endpoint: JudgeEndpoint,
        store: VerdictStore,
        worker: Executor,
        budget: Budget,
        record: Callable[[Judgement], None],
        resuming: asyncio.Lock,
    ) -> None:
        self._endpoint, self._budget, self._record = endpoint, budget, record
        self._resuming = resuming  # two runs may have questions in the same batch of an earlier one
        self._store, self._worker = store, worker
        self._open: dict[str, Question] = {}
        self._judgements: dict[str, Judgement] = {}
        self._reserved: dict[str, Cost] = {}

    async def ask(self, questions: Sequence[Question]) -> None:
        """Returns when every question has its judgement. Batches at the endpoint outlive this process.

        Raises:
            AqbError: no batch will be answered, or the database refuses verdicts.
        """
        unanswered = Verdict(VerdictStatus.FAILED, reason="배치가 답을 주지 않음")
        self._open = {question.key: question for question in questions}
        self._judgements = {key: question.judgement(unanswered) for key, question in self._open.items()}
        await self._collect_sent(list(self._open))
        for _ in range(_ROUNDS):
            sent = [batch for group in self._groups() if (batch := await self._send(group))]
            for batch in sent:
                try:
                    await self._collect(batch)
                except _GoneBatchError:  # sent again at once, it might be paid for in vain again
                    raise self._endpoint.unreachable(f"it has lost {batch.batch_id} or its results") from None
        for key in self._open:
            self._record(self._judgements[key])

    async def _collect_sent(self, keys: Sequence[str]) -> None:
        """Collects what other runs have sent of these questions, and takes what they have collected meanwhile."""
        async with self._resuming:
            for batch in await self._sent_already(keys):
                await self._resume(batch)
        asked = [key for key in keys if key in self._open]
        for known in (await self._in_thread(self._store.found, asked)).values():
            self._budget.settle(self._reserved.pop(known.key, _NO_COST), Usage(), BATCH_DISCOUNT)
            self._conclude(known)

    async def _sent_already(self, keys: Sequence[str]) -> list[WaitingBatch]:
        """The batches with some of the questions, when no other run is sending one any more."""
        while True:
            waiting = await self._in_thread(self._store.waiting_batches, self._endpoint.name)
            mine = [batch for batch in waiting if not set(keys).isdisjoint(batch.keys)]
            if not await self._in_thread(self._store.being_sent, [batch.token for batch in mine]):
                return mine
            await asyncio.sleep(self._endpoint.timing.poll_s)

    async def _resume(self, batch: WaitingBatch) -> None:
        """Collects a batch of another run; deletes one that the endpoint never got or no longer has."""
        found = batch.batch_id or await self._id_of(batch.token)
        try:
            if found:
                return await self._collect(WaitingBatch(batch.token, found, batch.keys))
        except _GoneBatchError:
            pass
        await self._in_thread(self._store.close_batch, batch.token, [], [])
        return None

    def _groups(self) -> Iterator[list[Question]]:
        """The open questions that the budget allows, in groups of the size of a batch."""
        group: list[Question] = []
        size = 0
        for question in list(self._open.values()):
            if not self._may_send(question):
                continue
            if len(group) == _LINES_PER_BATCH or (group and size + question.size_bytes > _BYTES_PER_BATCH):
                yield group
                group, size = [], 0
            group.append(question)
            size += question.size_bytes
        if group:
            yield group

    def _may_send(self, question: Question) -> bool:
        """Whether no other run has had the answer, and the budget has reserved the most that the question can cost."""
        if question.key in self._open and question.key not in self._reserved:
            if (reserved := self._budget.reserve(question, BATCH_DISCOUNT)) is None:
                self._conclude(self._judgements[question.key].with_verdict(OVER_BUDGET))
            else:
                self._reserved[question.key] = reserved
        return question.key in self._open

    async def _send(self, group: Sequence[Question]) -> WaitingBatch | None:
        """Sends what no other run has sent in a batch; None if nothing is left of the group."""
        while group := [question for question in group if self._may_send(question)]:
            token, keys = secrets.token_hex(16), [question.key for question in group]
            with ExitStack() as sending:
                opened = self._store.sending_batch(self._endpoint.name, token, keys)
                if await self._in_thread(sending.enter_context, opened):
                    return WaitingBatch(token, await self._create(token, group), keys)
            await self._collect_sent(keys)
        return None

    async def _create(self, token: str, group: Sequence[Question]) -> str:
        """Uploads and creates a batch that the store knows already, so that no crash loses one that is paid for."""
        content = "\n".join(self._line(question) for question in group).encode()
        client = self._endpoint.client

        async def uploaded() -> str:
            return (await client.files.create(file=("questions.jsonl", content), purpose="batch")).id

        async def created() -> str:
            if known := await self._id_of(token):  # an earlier attempt got through, its answer did not
                return known
            batch = await client.batches.create(
                input_file_id=file_id, endpoint=self._url, completion_window="24h", metadata={"aqb": token}
            )
            return batch.id

        file_id = await self._with_retries(uploaded)
        batch_id = await self._with_retries(created)
        await self._in_thread(self._store.name_batch, token, batch_id)
        return batch_id

    @property
    def _url(self) -> Any:
        return "/v1/responses" if self._endpoint.settings.api == "responses" else "/v1/chat/completions"

    def _line(self, question: Question) -> str:
        mark = absent_mark(question.payload, iter(lambda: secrets.token_hex(16), ""))
        line = {
            "custom_id": question.key,
            "method": "POST",
            "url": self._url,
            "body": question.body(mark, self._endpoint.dialect),
        }
        return json.dumps(line, ensure_ascii=False)

    async def _id_of(self, token: str) -> str:
        """The id of the batch that was created with a token, '' if there is none."""

        async def found() -> str:
            page = await self._endpoint.client.batches.list(limit=100)
            return next((batch.id for batch in page.data if (batch.metadata or {}).get("aqb") == token), "")

        return await self._with_retries(found)

    async def _collect(self, waiting: WaitingBatch) -> None:
        """Waits for a batch and stores its judgements; questions without a final one stay open."""
        while (batch := await self._state_of(waiting.batch_id)).status in _UNDER_WAY:
            await asyncio.sleep(self._endpoint.timing.poll_s)
        if batch.status not in (*_ANSWERED, _FAILED):  # it may still be under way, and is paid for
            raise self._endpoint.unreachable(f"{waiting.batch_id} has the status {batch.status!r}, which is unknown")
        if batch.status == _FAILED:
            await self._in_thread(self._store.close_batch, waiting.token, [], [])
            if batch.error.get("code") == _QUEUE_IS_FULL:
                raise self._endpoint.full(batch.error["message"])
            try:
                self._endpoint.explain_status(400, batch.error, {})
            except QuestionRefusedError as refused:
                raise refused.if_all or self._endpoint.unusable(str(refused)) from None
        lines = await self._lines(batch, len(waiting.keys))
        answers = [self._judgement(self._open[key], line) for key, line in lines.items() if key in self._open]
        for key in waiting.keys:
            self._budget.settle(self._reserved.pop(key, _NO_COST), Usage(), BATCH_DISCOUNT)
        paid = [answer for answer in answers if answer.status is not VerdictStatus.FAILED]
        of_others = [key for key in waiting.keys if key in lines and key not in self._open]
        await self._in_thread(self._store.close_batch, waiting.token, paid, of_others)
        for answer in answers:
            if answer.status in (VerdictStatus.OK, VerdictStatus.REFUSED):
                self._conclude(self._judgements[answer.key])

    def _judgement(self, question: Question, line: Mapping[str, Any]) -> Judgement:
        """The judgement in a line of a result file with the cost of this round; adds it to that of earlier rounds."""
        response, model, epoch = mapping_of(line.get("response")), "", None
        usage: Usage | None = Usage()
        if response.get("status_code") == 200:
            reply = reply_in(response.get("body"), question.largest_usage)
            verdict, usage, model = question.verdict(reply), reply.usage, reply.model
            epoch = question.epoch(replace(reply, dialect=self._endpoint.dialect))
        else:
            verdict = self._failed(response, mapping_of(line.get("error")))
        self._budget.settle(self._reserved.pop(question.key, _NO_COST), usage, BATCH_DISCOUNT)
        usd = self._budget.cost(usage, BATCH_DISCOUNT).usd if usage else None
        so_far = self._judgements[question.key]
        self._judgements[question.key] = so_far.with_call(usage, usd, None, model, epoch).with_verdict(verdict)
        return question.judgement(verdict).with_call(usage, usd, None, model, epoch)

    def _failed(self, response: Mapping[str, Any], error: Mapping[str, Any]) -> Verdict:
        if not response:
            reason = text_of(error.get("message"))[:_LONGEST_REASON] or "까닭을 알리지 않음"
            return Verdict(VerdictStatus.FAILED, reason=f"배치에서 답을 받지 못함: {reason}")
        status, body = response.get("status_code"), response.get("body")
        status = status if isinstance(status, int) else 500
        try:
            self._endpoint.reword(self._endpoint.dialect, status, body)
            self._endpoint.explain_status(status, body, {})
        except QuestionRefusedError as refused:
            return refused.verdict
        except (TransientError, LimitReachedError, WordingRefusedError, AqbError) as failure:
            return Verdict(VerdictStatus.FAILED, reason=f"배치에서 답을 받지 못함: {failure}")

    def _conclude(self, judgement: Judgement) -> None:
        del self._open[judgement.key]
        self._record(judgement)

    async def _state_of(self, batch_id: str) -> _BatchState:
        async def state() -> _BatchState:
            batch = await _there(self._endpoint.client.batches.retrieve(batch_id))
            first = next(iter((batch.errors and batch.errors.data) or []), None)
            error = {"message": f"the batch is {batch.status}"}
            if first:
                error = {"code": text_of(first.code), "message": text_of(first.message)}
            files = [name for name in (batch.output_file_id, batch.error_file_id) if name]
            return _BatchState(text_of(batch.status).lower(), files, error)

        return await self._with_retries(state)

    async def _lines(self, batch: _BatchState, questions: int) -> dict[str, Mapping[str, Any]]:
        """The lines of the result files, answers and errors, by question; what is no such line is left out."""
        self._endpoint.longest_file = LARGEST_JUDGE_REPLY + questions * LARGEST_BATCH_LINE
        lines: dict[str, Mapping[str, Any]] = {}
        for name in batch.files:
            content = await self._with_retries(partial(self._content, name))
            for text in content.split(b"\n"):
                with suppress(ValueError, RecursionError):
                    line = mapping_of(json.loads(text))
                    lines[text_of(line.get("custom_id"))] = line
        return lines

    async def _content(self, name: str) -> bytes:
        return (await _there(self._endpoint.client.files.content(name))).content

    async def _with_retries(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """The result of a call that asks no question; errors that may pass are retried."""

        async def once() -> _T:
            timing = self._endpoint.timing
            try:
                async with asyncio.timeout(_SLOWEST * timing.longest_deadline_s):
                    return await call()
            except openai.APIError as error:
                self._endpoint.explain(error)
            except TimeoutError:
                raise TransientError("no answer in time", maybe_paid=True) from None
            except (AttributeError, TypeError, ValueError):  # the client reads a web page as the object it expects
                raise self._endpoint.unusable("what it says is no answer of a Batch API") from None

        retrying = AsyncRetrying(
            retry=retry_if_exception_type((TransientError, LimitReachedError)),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(self._endpoint.timing.backoff_s, self._endpoint.timing.longest_backoff_s),
            reraise=True,
        )
        try:
            return await retrying(once)
        except LimitReachedError as reached:
            waited_s = reached.retry_after_s or self._endpoint.timing.longest_backoff_s
            raise self._endpoint.limited(reached, waited_s) from None
        except TransientError as failure:
            raise self._endpoint.unreachable(str(failure)) from None
        except QuestionRefusedError as refused:
            raise refused.if_all or self._endpoint.unusable(str(refused)) from None

    async def _in_thread(self, work: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)


async def _there(call: Awaitable[_T]) -> _T:
    try:
        return await call
    except openai.NotFoundError:
        raise _GoneBatchError from None
