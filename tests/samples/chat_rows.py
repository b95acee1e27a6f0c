"""Synthetic turns of a stock chatbot: the schema of the production view, the distributions of seed 002.

Everything is invented: companies, codes, people, prices and news. `python -m tests.samples.chat_rows`
rewrites the bundled `chat_rows.parquet`: five working days, the last of which has an incident.

The rows are a pure function of the arguments, in every Python version. Each day draws from a stream of its
own: it is the same whatever other days are asked for with it.
"""

import hashlib
import random
import unicodedata
from bisect import bisect
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import accumulate, islice
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from scoring.days import day_window
from tasks.samples import SAMPLE_DAYS, SAMPLE_FIRST_DAY, SAMPLE_PATH
from tests.samples.chat_answers import REFUSALS, answer
from tests.samples.chat_questions import COMPANIES, Company, question
from tests.samples.draws import near_middle, pick, stream

SCHEMA: Final = pa.schema(
    [
        ("user_input", pa.string()),
        ("llm_response", pa.string()),
        ("input_tokens", pa.float64()),
        ("output_tokens", pa.float64()),
        ("total_tokens", pa.float64()),
        ("success", pa.bool_()),
        ("message_length", pa.float64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("request_metadata", pa.struct([("session_id", pa.string()), ("x_enc_data", pa.string())])),
        ("tenant_id", pa.string()),
    ]
)

SAMPLE_ROWS_PER_DAY: Final = 400
SAMPLE_SEED: Final = 68  # with it every oddity below is in the sample
SAMPLE_INCIDENTS: Final = {date(2026, 3, 13): 0.06}

ROWS_PER_BATCH: Final = 10_000
TIME_ZONE: Final = "Asia/Seoul"


class Stratum(NamedTuple):
    """How many of the seed's 12,832 turns had an answer of `kind` and tokens in these ranges.

    `code_share` of their questions hold a stock code.
    """

    turns: int
    kind: str
    output_tokens: tuple[int, int]
    input_tokens: tuple[int, int]
    code_share: float


# The two margins are the seed's tables exactly. Source: seed 002, 2.2 and 2.3; code shares: 2.1 (M8)
STRATA: Final = (
    Stratum(223, "refused_advice", (0, 0), (0, 0), 0.0),
    Stratum(11, "too_short", (12, 29), (320, 500), 1.0),
    Stratum(14, "too_short", (12, 29), (501, 640), 1.0),
    Stratum(80, "not_understood", (24, 30), (860, 1_000), 0.0),
    Stratum(6, "not_understood", (24, 30), (1_001, 1_800), 0.0),
    Stratum(175, "refused_domain", (51, 60), (860, 1_000), 0.0),
    Stratum(14, "refused_domain", (51, 60), (1_001, 1_800), 0.0),
    Stratum(10, "refused_domain", (51, 60), (2_001, 4_000), 0.0),
    Stratum(2, "refused_domain", (51, 60), (4_001, 16_000), 0.0),
    Stratum(27, "refused_scope", (40, 47), (860, 1_000), 0.05),
    Stratum(3, "refused_scope", (40, 47), (1_001, 1_800), 0.05),
    Stratum(7, "refused_scope", (40, 47), (2_001, 4_000), 0.05),
    Stratum(3, "refused_scope", (40, 47), (4_001, 16_000), 0.05),
    Stratum(92, "too_broad", (71, 85), (860, 1_000), 0.0),
    Stratum(17, "too_broad", (71, 85), (1_001, 1_800), 0.0),
    Stratum(4, "too_broad", (71, 85), (2_001, 4_000), 0.0),
    Stratum(1, "too_broad", (71, 85), (4_001, 16_000), 0.0),
    Stratum(13, "brief", (22, 30), (340, 500), 0.6),
    Stratum(90, "brief", (31, 60), (340, 500), 0.6),
    Stratum(62, "brief", (31, 60), (501, 700), 0.6),
    Stratum(4, "brief", (31, 60), (1_001, 1_500), 0.6),
    Stratum(80, "brief", (61, 100), (340, 500), 0.6),
    Stratum(150, "brief", (61, 100), (501, 900), 0.6),
    Stratum(20, "brief", (61, 100), (1_001, 1_800), 0.6),
    Stratum(44, "brief", (61, 100), (2_001, 4_000), 0.2),
    Stratum(24, "limited", (101, 200), (400, 500), 0.4),
    Stratum(130, "limited", (101, 200), (501, 1_000), 0.4),
    Stratum(45, "limited", (101, 200), (1_001, 2_000), 0.4),
    Stratum(187, "limited", (101, 200), (2_001, 4_000), 0.2),
    Stratum(100, "limited", (101, 200), (4_001, 7_000), 0.2),
    Stratum(39, "full", (201, 420), (640, 1_000), 0.62),
    Stratum(100, "full", (201, 600), (1_001, 2_000), 0.62),
    Stratum(2_271, "full", (201, 1_200), (2_001, 4_000), 0.62),
    Stratum(250, "full", (300, 700), (12_000, 38_000), 0.1),
    Stratum(7_034, "full", (840, 1_740), (4_001, 7_700), 0.635),
    Stratum(1_500, "full", (840, 1_740), (7_001, 16_000), 0.635),
)
_STRATUM_ENDS: Final = tuple(accumulate(stratum.turns for stratum in STRATA))

_HOURS: Final = (3, 2, 1, 1, 1, 2, 5, 11, 28, 62, 58, 50, 40, 46, 50, 56, 34, 22, 17, 15, 14, 13, 10, 7)
_HOUR_ENDS: Final = tuple(accumulate(_HOURS))
_DAY_US: Final = 24 * 3_600 * 1_000_000
_SESSION_TURNS: Final = (1,) * 62 + (2,) * 20 + (3,) * 9 + (4,) * 5 + (5,) * 3 + (6,)
_SAME_COMPANY_SHARE: Final = 0.6
_TENANTS: Final = ("hanbit",) * 80 + ("narae",) * 19 + (None,)
_USERS: Final = 5_000
_NULL_SHARE: Final = 0.003
_ODD_TEXT_SHARE: Final = 0.009
_REPEAT_SHARE: Final = 0.003

_FULL_WIDTH: Final = str.maketrans("0123456789()?", "０１２３４５６７８９（）？")


class Turn(NamedTuple):
    """One chat turn; `timestamp_us` counts microseconds of UTC since 1970."""

    user_input: str | None
    llm_response: str | None
    input_tokens: int | None
    output_tokens: int | None
    timestamp_us: int
    session_id: str
    x_enc_data: str
    tenant_id: str | None


def generate_chat_rows(
    first_day: date, days: int, rows_per_day: int, seed: int, incidents: Mapping[date, float] | None = None
) -> pa.Table:
    """`days` days of `rows_per_day` turns each, as one table of `SCHEMA`. See `chat_row_batches`."""
    return pa.Table.from_batches(chat_row_batches(first_day, days, rows_per_day, seed, incidents), SCHEMA)


def chat_row_batches(
    first_day: date, days: int, rows_per_day: int, seed: int, incidents: Mapping[date, float] | None = None
) -> Iterator[pa.RecordBatch]:
    """The same turns in batches of at most `ROWS_PER_BATCH` rows, about 4 kB a row, each of one day.

    A day is a day in Seoul, and its sessions come in the order of their start. `incidents` maps a day to the
    share of its turns, whatever they ask, that the guardrail blocks on top of the usual 1.7 %. About 0.3 % of
    the rows have a NULL text or NULL tokens, 1 % a NULL tenant. Source: SPEC 1.1; seed 002, 2.
    """
    for offset in range(days):
        day = first_day + timedelta(days=offset)
        turns = islice(_day_turns(day, rows_per_day, seed, (incidents or {}).get(day, 0.0)), rows_per_day)
        while chunk := list(islice(turns, ROWS_PER_BATCH)):
            yield _record_batch(chunk)


def sample_table() -> pa.Table:
    """The bundled sample: five days of 400 turns, the last with an incident."""
    days, rows = SAMPLE_DAYS, SAMPLE_ROWS_PER_DAY
    return generate_chat_rows(SAMPLE_FIRST_DAY, days, rows, SAMPLE_SEED, SAMPLE_INCIDENTS)


def write_sample(path: Path) -> None:
    """Write the bundled sample to `path`."""
    pq.write_table(sample_table(), path, compression="zstd", compression_level=9)


def _day_turns(day: date, rows: int, seed: int, incident_share: float) -> Iterator[Turn]:
    """Turns of one day without end: the caller takes `rows` of them, which spread over the day."""
    rng = stream(f"{seed}/{day.isoformat()}")
    midnight_us = int(day_window(day, TIME_ZONE).start.timestamp()) * 1_000_000
    done = 0
    while True:
        at_us = _time_of_day_us(min((done + rng.random()) / rows, 1.0))
        session_id = f"{int(rng.random() * 2**48):012x}"
        x_enc_data = hashlib.sha256(f"{seed}/{int(rng.random() * _USERS)}".encode()).hexdigest()
        tenant_id = pick(rng, _TENANTS)
        company = pick(rng, COMPANIES)
        for _ in range(pick(rng, _SESSION_TURNS)):
            texts = _odd(rng, *_exchange(rng, day, company, incident_share))
            turn = Turn(*texts, midnight_us + min(at_us, _DAY_US - 1), session_id, x_enc_data, tenant_id)
            yield turn
            done += 1
            if rng.random() < _REPEAT_SHARE:
                yield turn
                done += 1
            at_us += int((15 + rng.random() * 240) * 1_000_000)
            company = company if rng.random() < _SAME_COMPANY_SHARE else pick(rng, COMPANIES)


def _time_of_day_us(quantile: float) -> int:
    target = quantile * _HOUR_ENDS[-1]
    hour = min(bisect(_HOUR_ENDS, target), 23)
    start = _HOUR_ENDS[hour - 1] if hour else 0
    return int((hour + (target - start) / (_HOUR_ENDS[hour] - start)) * 3_600_000_000)


def _exchange(rng: random.Random, day: date, company: Company, incident_share: float) -> tuple[str, str, int, int]:
    """A question, its answer, and the input and output tokens."""
    stratum = STRATA[bisect(_STRATUM_ENDS, rng.random() * _STRATUM_ENDS[-1])]
    asked = question(rng, stratum.kind, company, stratum.code_share)
    if rng.random() < incident_share:
        return asked.text, REFUSALS["refused_advice"], 0, 0
    output_tokens = near_middle(rng, *stratum.output_tokens)
    response = answer(rng, stratum.kind, day, company, asked.topic, output_tokens)
    return asked.text, response, near_middle(rng, *stratum.input_tokens), output_tokens


def _odd(
    rng: random.Random, text: str, response: str, input_tokens: int, output_tokens: int
) -> tuple[str | None, str | None, int | None, int | None]:
    """The same turn, or rarely what production also sees: a NULL, or text typed or copied in an odd form."""
    chance = rng.random()
    if chance < _NULL_SHARE:
        return pick(
            rng,
            (
                (None, response, input_tokens, output_tokens),
                (text, None, input_tokens, output_tokens),
                (text, None, 0, 0),
                (text, response, None, None),
            ),
        )
    if chance < _NULL_SHARE + _ODD_TEXT_SHARE:
        text, response = pick(
            rng,
            (
                (unicodedata.normalize("NFD", text), response),
                (text.translate(_FULL_WIDTH), response),
                (text + " 🙏📈", response),
                (text[:2] + "\u200b" + text[2:], response),
                (text.replace(" ", "\u3000") + "\u3000", response),
                (text + "\r\n", response.replace("\n", "\r\n")),
            ),
        )
    return text, response, input_tokens, output_tokens


def _record_batch(turns: list[Turn]) -> pa.RecordBatch:
    questions, responses, inputs, outputs, timestamps, sessions, users, tenants = zip(*turns, strict=True)
    columns = [
        questions,
        responses,
        inputs,
        outputs,
        [None if each is None else each + output for each, output in zip(inputs, outputs, strict=True)],
        [each is not None for each in responses],
        [None if each is None else len(each) for each in questions],
        timestamps,
        list(zip(sessions, users, strict=True)),
        tenants,
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


if __name__ == "__main__":
    write_sample(SAMPLE_PATH)
