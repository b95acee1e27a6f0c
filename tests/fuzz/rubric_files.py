"""Rubric files, as people edit them: refused with a line, or the same scores on every engine."""

import random
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from scoring import score_runs
from scoring.catalog import rubric_of_text
from scoring.chat.rows import CHAT_ROW_SCHEMA
from scoring.chat.rubric import RowRubric
from scoring.chat.scorer import score_batch
from scoring.chat.sql_rows import chat_rows_query
from scoring.chat.sql_scores import scoring_query
from scoring.errors import UsageError
from scoring.rules.explain import explain
from tests.fakes.googlesql import TABLE, answers
from tests.fuzz.mutations import NASTY_TEXTS, mutated_text

_ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_]+|[=<>!]+|'[^']*'|\"[^\"]*\"")
_NUMBERS = ("0", "-1", "1", "100", "101", "0.5", "1e3", "9007199254740993", "1_000", "inf", "nan", "true")
_TEXTS = (
    (
        "How do I reset my password?",
        "Open Settings. Please click https://example.com 1. and 2. now: happy to help.",
    ),
    ("", ""),
    ("삼성전자 005930 주가 비교 뉴스", "| 가 | 나 | 다 |\n- 1,200원 **굵게** 2026-02-13 (KOSPI)\n---\n"),
    ('it\'s \\ a "test"? ㅋㅋ', "죄송합니다. 저는 법률 I cannot\r\n\t데이터가 없습니다 refund|return"),
)
_TOKENS = ((None, None), (0.0, 0.0), (10.0, 1200.0), (3.0, 1e300), (1e-300, 7.5))


def run_rubric(draw: random.Random) -> str:
    """A rubric file with a few changes."""
    text = mutated_rubric(draw.choice(_files()), draw)
    try:
        rubric = rubric_of_text(text, "my.toml")
    except UsageError as error:
        str(error).encode()
        assert re.fullmatch(r"my\.toml, line [0-9]+, column [0-9]+", error.where), error
        assert error.fix, error
        return "refused"
    if isinstance(rubric, RowRubric):
        assert_engines_agree(rubric)
    else:
        assert_scores_are_points(text)
    return "scored"


def mutated_rubric(text: str, draw: random.Random) -> str:
    """A line away, twice or elsewhere; a number, a word or a sign that is another."""
    lines = text.splitlines()
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at = draw.randrange(len(lines))
        match draw.randrange(10):
            case 0:
                del lines[at]
            case 1:
                lines.insert(draw.randrange(len(lines) + 1), lines[at])
            case 2:
                lines[at] = mutated_text(lines[at], draw)
            case 3 | 4 | 5:
                lines[at] = _with_another(lines[at], _NUMBER, draw.choice(_NUMBERS), draw)
            case 6:
                lines[at] = _with_another(lines[at], _WORD, draw.choice(NASTY_TEXTS), draw)
            case _:
                words = _WORD.findall(draw.choice(lines)) or ["NOT"]
                lines[at] = _with_another(lines[at], _WORD, draw.choice(words), draw)
    return "\n".join(lines) + "\n"


def _with_another(line: str, pattern: re.Pattern[str], new: str, draw: random.Random) -> str:
    found = list(pattern.finditer(line))
    if not found:
        return line
    place = draw.choice(found)
    return line[: place.start()] + new + line[place.end() :]


@cache
def _files() -> tuple[str, ...]:
    folders = (_ROOT / "flows" / "cli", _ROOT / "docs" / "examples")
    return tuple(place.read_text("utf-8") for folder in folders for place in sorted(folder.glob("*.toml")))


@cache
def _rows() -> list[dict[str, Any]]:
    begin = datetime(2026, 2, 13, tzinfo=UTC)
    return [
        {
            "user_input": question,
            "llm_response": answer,
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "timestamp": begin + timedelta(minutes=len(_TOKENS) * place + number),
            "tenant_id": ("kb", None)[number % 2],
            "session_id": f"s{number}",
        }
        for place, (question, answer) in enumerate(_TEXTS)
        for number, tokens in enumerate(_TOKENS)
    ]


def assert_engines_agree(rubric: RowRubric) -> None:
    """Polars, the explanation of a row and GoogleSQL give the same columns for rows that invite them to differ."""
    frame = pl.DataFrame(_rows(), schema={name: CHAT_ROW_SCHEMA[name] for name in _rows()[0]})
    frame = frame.with_columns(line=pl.int_range(pl.len()), source_id=pl.lit(None, pl.String))
    names = [definition.name for definition in rubric.definitions]
    here = score_batch(rubric, frame, "Asia/Seoul").scored.sort("timestamp").select(names).rows()
    explained = [explain(rubric.definitions, row).values for row in _rows()]
    assert here == [tuple(values[name] for name in names) for values in explained]
    query = scoring_query(rubric, chat_rows=chat_rows_query(TABLE), time_zone="Asia/Seoul", keep_text="none")
    there = answers(query, _rows())
    assert here == [tuple(row[name] for name in names) for row in there]


def assert_scores_are_points(text: str) -> None:
    """Every execution has each score from 0 to 5 or none, with its reason; a total is the weighted mean of them."""
    header = ["query_id", "query", "기대결과", "1차 답변", "1차 답변 시간(초)", "2차 답변", "2차 답변 시간(초)"]
    answers = [answer for _, answer in _TEXTS]
    rows = [
        [f"t{place}", question, "@check assistantMessageContains=Settings", answer, "1.5", answers[place - 1], ""]
        for place, (question, answer) in enumerate(_TEXTS)
    ]
    found = score_runs(pl.DataFrame(rows, schema=header, orient="row"), text)
    for name in found.scores.columns:
        if name.endswith("_score"):
            points = found.scores[name]
            assert set(points.drop_nulls()) <= {0, 1, 2, 3, 4, 5}, points
            assert found.scores[name.replace("_score", "_reason")].null_count() == 0
    totals = found.queries["weighted_total"].drop_nulls()
    assert totals.is_between(0, 5).all(), totals
