import gc
import weakref
from collections.abc import Callable, Iterator

import polars as pl
import pytest

from scoring.chat.text_columns import ParsedColumn, Timestamps, instants, numbers


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """What is kept by a cycle of references stays, as it does between two rare collections."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
@pytest.mark.parametrize(
    "parse", [lambda texts: numbers("input_tokens", texts), lambda texts: instants(texts, None)], ids=["number", "time"]
)
def test_cell_that_cannot_be_read_keeps_no_column_in_memory(
    parse: Callable[[pl.Series], ParsedColumn | Timestamps],
) -> None:
    texts = pl.Series(["12x"])
    column = weakref.ref(texts)
    parsed = parse(texts)
    del texts
    assert list(parsed.problems) == [0]
    assert column() is None
