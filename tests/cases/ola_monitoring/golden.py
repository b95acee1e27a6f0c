"""What a golden row is: inputs, and the columns that the requirement gives them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Golden:
    """One chat row by name, the clause that it stands for, and some of the columns that it must be given.

    What a row does not say is an ordinary turn: a bare company name, a short sentence, 300 of 1000 tokens.
    """

    name: str
    source: str
    expected: dict[str, Any]
    user_input: str = "삼성전자"
    llm_response: str = "네, 확인했습니다."
    input_tokens: float | None = 1000.0
    output_tokens: float | None = 300.0

    @property
    def inputs(self) -> dict[str, Any]:
        """The input columns but for the timestamp. The session is the name, so that it can be found again."""
        names = ("user_input", "llm_response", "input_tokens", "output_tokens")
        return {name: getattr(self, name) for name in names} | {"tenant_id": None, "session_id": self.name}


def question(name: str, source: str, text: str, **expected: object) -> Golden:
    """A row of which only the question matters."""
    return Golden(name, f"seed 002, {source}", expected, user_input=text)


def answer(
    name: str,
    source: str,
    text: str,
    *,
    input_tokens: float | None = 1000.0,
    output_tokens: float | None = 300.0,
    **expected: object,
) -> Golden:
    """A row of which only the answer and its tokens matter."""
    return Golden(
        name,
        f"seed 002, {source}",
        expected,
        llm_response=text,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )
