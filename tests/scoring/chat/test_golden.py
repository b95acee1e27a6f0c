"""Which rows a Golden Set starts from: many questions, one each, and no kind crowded out."""

import polars as pl

from scoring.chat.golden import golden_candidates
from scoring.rubrics.ola_monitoring import RUBRIC


def rows(*questions: tuple[str, str]) -> pl.DataFrame:
    """Rows of a question and its category, best first."""
    return pl.DataFrame(
        {
            "row_id": [f"r{place}" for place in range(len(questions))],
            "user_input": [question for question, _ in questions],
            "question_category": [category for _, category in questions],
        },
        schema=dict.fromkeys(("row_id", "user_input", "question_category"), pl.String),
    )


def listed(frame: pl.DataFrame, limit: int, stratum: str | None = "question_category") -> list[str]:
    return list(golden_candidates(RUBRIC, frame, limit, stratum)["row_id"])


def test_golden_takes_the_best_row_of_each_template_and_counts_the_others() -> None:
    frame = rows(
        ("하늘전자 주가 알려줘", "price"), ("바다통신 주가 알려줘", "price"), ("배당 일정은 언제야", "dividend")
    )
    found = golden_candidates(RUBRIC, frame, 10, "question_category")
    assert [(row["row_id"], row["template"], row["same_template"]) for row in found.to_dicts()] == [
        ("r0", "{종목} 주가 알려줘", 2),
        ("r2", "배당 일정은 언제야", 1),
    ]


def test_golden_lets_each_stratum_give_its_best_in_turn() -> None:
    many = [(f"{word} 쉽게 풀어서 말해줘", "general") for word in ("호가", "공매도", "예수금", "상장")]
    frame = rows(*many, ("배당 일정은 언제야", "dividend"), ("배당 기준일은 언제야", "dividend"))
    assert listed(frame, 4) == ["r0", "r1", "r4", "r5"]
    assert listed(frame, 4, None) == ["r0", "r1", "r2", "r3"]
    assert listed(frame, 1) == ["r0"]


def test_golden_of_nothing_is_nothing() -> None:
    assert golden_candidates(RUBRIC, rows(), 5, "question_category").is_empty()
