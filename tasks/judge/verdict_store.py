"""The judge's tables in the state database, so that no answer is paid for twice.

Four tables: `verdicts`, one row per question; `judge_limits`, the rest of an endpoint's limits, shared by all
processes; `judge_batches`, the batches that are not collected yet; `judge_dialects`, how endpoint and model are asked.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from scoring.judging.requests import Verdict, VerdictStatus
from tasks.judge.dialect import AnswerForm, Dialect
from tasks.judge.replies import Usage
from tasks.state.database import STATE_TABLES, StateDatabase
from tasks.state.leases import Leases

_T = TypeVar("_T")
_KEYS_PER_QUERY = 500
_USUAL_SHARE = 0.2
_USUAL_ANSWERS = 1_000
_FINAL = (VerdictStatus.OK, VerdictStatus.REFUSED)
_ADDED_UP = ("tokens_in", "tokens_cached", "tokens_out", "usd", "attempts")

_verdicts = sa.Table(
    "verdicts",
    STATE_TABLES,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("rubric", sa.String, nullable=False),
    sa.Column("rubric_version", sa.String, nullable=False),
    sa.Column("prompt_version", sa.String, nullable=False),
    sa.Column("model_asked", sa.String, nullable=False),
    sa.Column("model_answered", sa.String, nullable=False),
    sa.Column("input_hash", sa.String(64), nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("answer", sa.JSON, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("tokens_in", sa.Integer, nullable=False),
    sa.Column("tokens_cached", sa.Integer, nullable=False),
    sa.Column("tokens_out", sa.Integer, nullable=False),
    sa.Column("usd", sa.Float),
    sa.Column("latency_s", sa.Float),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.current_timestamp()),
    sa.Column("epoch", sa.String(16)),
    sa.Index("verdicts_by_time", "created_at"),
)
_limits = sa.Table(
    "judge_limits",
    STATE_TABLES,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("state", sa.JSON, nullable=False),
)
_batches = sa.Table(
    "judge_batches",
    STATE_TABLES,
    sa.Column("token", sa.String, primary_key=True),
    sa.Column("endpoint", sa.String, nullable=False),
    sa.Column("batch_id", sa.String),
    sa.Column("keys", sa.JSON, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.current_timestamp()),
)
_dialects = sa.Table(
    "judge_dialects",
    STATE_TABLES,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("left_out", sa.JSON, nullable=False),
    sa.Column("form", sa.String, nullable=False),
)


@dataclass(frozen=True)
class Judgement:
    """The verdict on one question and the cost of all its attempts. One row per `key`.

    `answer` is empty unless the status is `ok`; `usd` is None where the price is unknown, `latency_s` (of the call
    that answered) where no call answered. `epoch` is what judged: the same for verdicts that may be compared and
    averaged, None where no model answered, and of verdicts stored before there were epochs. `from_store` marks a
    judgement that this run did not have to ask for. Source: SPEC 11.
    """

    key: str
    kind: str
    rubric: str
    rubric_version: str
    prompt_version: str
    model_asked: str
    input_hash: str
    status: VerdictStatus
    model_answered: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    usd: float | None = None
    latency_s: float | None = None
    attempts: int = 0
    epoch: str | None = None
    from_store: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict alone."""
        return Verdict(self.status, self.answer, self.reason)

    def with_call(
        self,
        usage: Usage | None,
        usd: float | None,
        latency_s: float | None,
        model: str,
        epoch: str | None = None,
    ) -> "Judgement":
        """The judgement after one more call; `usage` is None where it is unknown."""
        used = usage or Usage()
        return replace(
            self,
            model_answered=model,
            epoch=epoch,
            tokens_in=self.tokens_in + used.tokens_in,
            tokens_cached=self.tokens_cached + used.cached,
            tokens_out=self.tokens_out + used.tokens_out,
            usd=usd if self.usd is None else self.usd + (usd or 0.0),
            latency_s=latency_s,
            attempts=self.attempts + 1,
        )

    def with_verdict(self, verdict: Verdict) -> "Judgement":
        """The judgement with another verdict and the same cost."""
        return replace(self, status=verdict.status, answer=dict(verdict.answer), reason=verdict.reason)


@dataclass(frozen=True)
class WaitingBatch:
    """A batch that was sent; `batch_id` is empty if the process died before it got the id."""

    token: str
    batch_id: str
    keys: Sequence[str]


class VerdictStore:
    """The judge's part of the state database. Every method may raise StorageError."""

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_verdicts, _limits, _batches, _dialects)
        self._database, self._leases = database, Leases(database)
        self._insert: Any = sqlite.insert if self._database.is_sqlite else postgresql.insert
        self._first_limit = self._insert(_limits).on_conflict_do_nothing()
        self._upsert = self._insert(_verdicts)
        replaced = {name: self._upsert.excluded[name] for name in _verdicts.c.keys() if name != "key"}  # noqa: SIM118
        added = {name: sa.func.coalesce(_verdicts.c[name], 0) + replaced[name] for name in _ADDED_UP}
        self._upsert = self._upsert.on_conflict_do_update(index_elements=["key"], set_=replaced | added)

    def found(self, keys: Collection[str]) -> dict[str, Judgement]:
        """The final judgements by key. An invalid answer is not final: its question is asked again."""
        with self._database.transaction() as connection:
            return self._found(connection, keys)

    def save(self, judgements: Sequence[Judgement]) -> None:
        """Stores judgements. Their cost is added to the cost that is stored for the same key."""
        with self._database.transaction() as connection:
            self._save(connection, judgements)

    def usual_tokens_out(self, model: str, most: int) -> float:
        """The mean tokens of a model's answers among the latest ones; a fifth of the `most` allowed if it has none."""
        tokens = (_verdicts.c.tokens_out / _verdicts.c.attempts).label("out")
        answers = sa.select(_verdicts.c.model_asked, tokens).where(_verdicts.c.status == VerdictStatus.OK)
        latest = answers.order_by(_verdicts.c.created_at.desc()).limit(_USUAL_ANSWERS).subquery()
        mean = self._database.value(sa.select(sa.func.avg(latest.c.out)).where(latest.c.model_asked == model))
        return most * _USUAL_SHARE if mean is None else min(float(mean), most)

    def usd_since(self, since: datetime) -> float | None:
        """The cost in USD of the questions that were last answered at `since` or later, whatever has become of the
        command that asked; None if that of one is unknown.
        """
        priced = (VerdictStatus.OK, VerdictStatus.INVALID)  # a refusal may come before any model has read the question
        unknown = _verdicts.c.usd.is_(None) & _verdicts.c.status.in_(priced)
        sums = sa.select(sa.func.sum(_verdicts.c.usd), sa.func.sum(sa.case((unknown, 1), else_=0)))
        ((usd, unknowns),) = self._database.rows(sums.where(_verdicts.c.created_at >= since))
        return None if unknowns else float(usd or 0.0)

    def dialect(self, name: str) -> Dialect | None:
        """How an endpoint and model are asked; None where nobody was ever answered."""
        query = sa.select(_dialects.c.left_out, _dialects.c.form).where(_dialects.c.name == name)
        found = self._database.rows(query)
        return Dialect(frozenset(found[0].left_out), AnswerForm(found[0].form)) if found else None

    def remember_dialect(self, name: str, dialect: Dialect) -> None:
        """Stores how an endpoint and model are asked, in place of what was known."""
        row = {"left_out": sorted(dialect.left_out), "form": dialect.form.value}
        insert = self._insert(_dialects).values(name=name, **row)
        self._database.change(insert.on_conflict_do_update(index_elements=["name"], set_=row))

    def forget(self, before: datetime, *, dry_run: bool) -> int:
        """Deletes older verdicts and returns their number. A question that is asked again is paid for again."""
        old = sa.delete(_verdicts).where(_verdicts.c.created_at < before)
        return self._database.take_away(old, dry_run=dry_run)

    def exchange(self, name: str, step: Callable[[Mapping[str, Any], float], tuple[Mapping[str, Any], _T]]) -> _T:
        """Replaces the state of a limit, `{}` at first, by the result of `step`, in one exclusive transaction.

        `step` also gets the time in seconds since 1970, of the database's clock, which all hosts share.
        """
        row = _limits.c.name == name
        with self._database.transaction() as connection:
            query = sa.select(_limits.c.state, self._database.clock).where(row).with_for_update()
            while (stored := connection.execute(query).one_or_none()) is None:
                connection.execute(self._first_limit, {"name": name, "state": {}})
            state, result = step(*stored)
            connection.execute(sa.update(_limits).where(row).values(state=dict(state)))
        return result

    @contextmanager
    def sending_batch(self, endpoint: str, token: str, keys: Sequence[str]) -> Iterator[bool]:
        """Stores a batch before it is sent, and shows others until it has an id that somebody is sending it.

        Yields False, and stores nothing, if another batch has or had some of the questions.
        """
        with self._leases.held(token):
            with self._database.transaction(alone_in=_batches) as connection:
                waiting = connection.execute(sa.select(_batches.c["keys"]).where(_batches.c.endpoint == endpoint))
                is_sent = any(not set(keys).isdisjoint(others) for others in waiting.scalars())
                is_new = not is_sent and not self._found(connection, keys)
                if is_new:
                    connection.execute(sa.insert(_batches).values(token=token, endpoint=endpoint, keys=list(keys)))
            yield is_new

    def being_sent(self, tokens: Collection[str]) -> set[str]:
        """The batches that a run is sending just now; those of a run that died are none of them after a minute."""
        return self._leases.alive(tokens)

    def name_batch(self, token: str, batch_id: str) -> None:
        """Stores the id that the endpoint gave to a batch."""
        self._database.change(sa.update(_batches).where(_batches.c.token == token).values(batch_id=batch_id))

    def waiting_batches(self, endpoint: str) -> list[WaitingBatch]:
        """The batches of an endpoint that are not collected yet, oldest first."""
        query = sa.select(_batches).where(_batches.c.endpoint == endpoint).order_by(_batches.c.created_at)
        rows = self._database.rows(query)
        return [WaitingBatch(row.token, row.batch_id or "", row._mapping["keys"]) for row in rows]

    def close_batch(self, token: str, judgements: Sequence[Judgement], of_others: Sequence[str]) -> None:
        """Stores the judgements of a batch and deletes it, or leaves it with the keys `of_others` for later runs.

        Of two runs that have waited for the same batch, the first one stores what it has cost.
        """
        closed = sa.update(_batches).values(keys=list(of_others)) if of_others else sa.delete(_batches)
        with self._database.transaction() as connection:
            if connection.execute(closed.where(_batches.c.token == token)).rowcount:
                self._save(connection, judgements)

    def _found(self, connection: sa.Connection, keys: Collection[str]) -> dict[str, Judgement]:
        wanted, found = list(keys), {}
        columns = [_verdicts.c[part.name] for part in fields(Judgement) if part.name != "from_store"]
        for start in range(0, len(wanted), _KEYS_PER_QUERY):
            some = wanted[start : start + _KEYS_PER_QUERY]
            query = sa.select(*columns).where(_verdicts.c.key.in_(some), _verdicts.c.status.in_(_FINAL))
            for row in connection.execute(query).mappings():
                found[row["key"]] = Judgement(**{**row, "status": VerdictStatus(row["status"])}, from_store=True)
        return found

    def _save(self, connection: sa.Connection, judgements: Sequence[Judgement]) -> None:
        if not judgements:
            return
        rows = [{name: value for name, value in asdict(one).items() if name != "from_store"} for one in judgements]
        connection.execute(self._upsert, rows)


class PastTheStore(VerdictStore):
    """The store for questions that are asked anew: it knows no verdict and keeps none, but shares limits."""

    def _found(self, connection: sa.Connection, keys: Collection[str]) -> dict[str, Judgement]:
        return {}

    def save(self, judgements: Sequence[Judgement]) -> None:
        """Stores nothing: what is asked anew never replaces a verdict."""
