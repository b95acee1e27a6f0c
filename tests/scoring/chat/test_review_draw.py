"""Which rows people look at: reproducible, one of a conversation, each with the chance that it really had."""

from datetime import date, timedelta
from random import Random

import polars as pl
import pytest

from scoring.chat.review_draw import BORDERLINE, DRAWN, FLAGGED, OTHER, drawn_rows
from tests.builders.chat_rows import DAY, RUBRIC

RANDOM = Random(7)
ROWS = pl.DataFrame(
    {
        "row_id": [f"r{n}" for n in range(400)],
        "session_id": [f"s{RANDOM.randrange(150)}" if n % 9 else None for n in range(400)],
        "alert_level": ["critical" if RANDOM.random() < 0.2 else None for _ in range(400)],
        "q_score": [RANDOM.randrange(101) for _ in range(400)],
        "a_score": [RANDOM.randrange(101) for _ in range(400)],
    }
)


def draw(day: date = DAY, rows: pl.DataFrame = ROWS) -> pl.DataFrame:
    return drawn_rows(rows, RUBRIC, day)


def test_draw_is_the_same_in_any_order_of_the_rows_and_another_on_another_day() -> None:
    assert draw().equals(draw(rows=ROWS.sample(fraction=1.0, shuffle=True, seed=1)))
    assert set(draw()["row_id"]) != set(draw(DAY + timedelta(days=1))["row_id"])


def test_draw_takes_so_many_sessions_of_each_kind_and_one_row_of_each() -> None:
    drawn = draw().join(ROWS, on="row_id")
    assert dict(drawn["kind"].value_counts().iter_rows()) == DRAWN
    sessions = drawn.select("kind", pl.coalesce("session_id", "row_id"))
    assert sessions.is_unique().all()
    assert set(drawn.filter(kind=FLAGGED)["alert_level"]) == {"critical"}
    assert drawn.filter(kind=OTHER)["alert_level"].null_count() == DRAWN[OTHER]


def test_draw_calls_borderline_what_two_points_would_have_graded_otherwise() -> None:
    edges = {"q_score": (80, 60, 40, 20), "a_score": (85, 65, 40, 20)}  # seed 002, 4.3 and 5.3
    for row in draw().join(ROWS, on="row_id").filter(pl.col("kind") != FLAGGED).iter_rows(named=True):
        on_edge = any(cut - 2 <= row[score] < cut + 2 for score, cuts in edges.items() for cut in cuts)
        assert (row["kind"] == BORDERLINE) == on_edge, row


@pytest.mark.long
def test_draw_gives_each_row_the_chance_that_it_says() -> None:
    days = 300
    chances, drawn = {}, dict.fromkeys(ROWS["row_id"], 0)
    for n in range(days):
        for row_id, _, chance in draw(DAY + timedelta(days=n)).iter_rows():
            chances[row_id] = chance
            drawn[row_id] += 1
    # Over all rows: were a chance wrong, what is drawn would not weigh as much as there are rows.
    estimate = sum(drawn[row_id] / chance for row_id, chance in chances.items()) / days
    assert abs(estimate / ROWS.height - 1) < 0.03


def test_draw_of_few_rows_takes_all_of_them_with_certainty() -> None:
    few = draw(
        rows=ROWS.unique("session_id", keep="first", maintain_order=True)
        .filter(pl.col("session_id").is_not_null())
        .head(4)
    )
    assert set(few["probability"]) == {1.0}
    assert few.height == 4
