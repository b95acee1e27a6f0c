"""Taking the rows of a session out of messages and labels: a program that talks to itself has very many."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scoring.alerting.block_kit import neutral_blocks
from scoring.alerting.blocks import Block, bullets, code, paragraph, plain
from scoring.alerting.messages import Message
from scoring.text_search import TextSearch
from tasks.alerts.outbox import Outbox
from tests.builders.state import opened

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def row_id(number: int) -> str:
    return f"{number:032x}"


def message(number: int, shown: int) -> Message:
    blocks: list[Block] = [
        *paragraph([plain("예시")]),
        *(block for one in range(10) for block in bullets([[code(row_id(10**9 + shown + one)), plain("질문")]])),
    ]
    return Message("digest", "warning", (f"key-{number}",), "제목", blocks)


def cpu_of_forgetting(outbox: Outbox, rows: int) -> float:
    began = time.process_time()
    assert outbox.forget([row_id(number) for number in range(rows)], dry_run=True) == 0
    return time.process_time() - began


def test_outbox_forgets_a_session_of_many_rows_as_fast_as_one_of_some(tmp_path: Path) -> None:
    with opened(Outbox, f"sqlite:///{tmp_path / 'state.db'}") as outbox:
        outbox.put("qa", "", [message(number, number) for number in range(60)], NOW)
        cpu_of_forgetting(outbox, 1)
        assert cpu_of_forgetting(outbox, 16_000) < 6 * cpu_of_forgetting(outbox, 1_000)
        shown = [row_id(number) for number in range(20_000)] + [row_id(10**9 + 3)]
        assert outbox.forget(shown, dry_run=False) == 4
        assert outbox.forget(shown, dry_run=False) == 0


def test_outbox_reads_the_blocks_of_those_messages_alone_that_show_a_row(
    state_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a session of many days are looked for once a day, in the messages of all days."""
    read = list[Sequence[Any]]()

    def reading(blocks: Sequence[Any]) -> list[Block]:
        read.append(blocks)
        return neutral_blocks(blocks)

    monkeypatch.setattr("tasks.alerts.outbox.neutral_blocks", reading)
    named = Message("page", "critical", ("named",), "제목", [*paragraph([plain('주로 "살까" 형태의 질문')])])
    with opened(Outbox, state_url) as outbox:
        outbox.put("qa", "", [named, *(message(number, 100 * number) for number in range(60))], NOW)
        assert outbox.forget([row_id(10**9 + 100), '"살까" 형태'], dry_run=False) == 2
    assert len(read) == 2


@pytest.mark.parametrize("others", [0, 1_000])
def test_text_search_finds_what_is_in_a_string_however_many_texts_there_are(others: int) -> None:
    wanted = TextSearch([*(row_id(number) for number in range(others)), "짧은 말", row_id(7777)])
    assert wanted.is_in(f"a-{row_id(7777)}")
    assert wanted.is_in(f"0{row_id(7777)}b"), "also right behind a hexadecimal digit"
    assert wanted.is_in("이 짧은 말")
    assert not wanted.is_in("짧은")
    assert not wanted.is_in("")
    assert not TextSearch([]).is_in("x")
