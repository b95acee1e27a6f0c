"""The Warning about a changed judge: another model answers, or the same questions get different answers.

Source: SPEC 11.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from scoring.alerting.blocks import Line, bold, bullets, code, inert, masked_text, paragraph, plain
from scoring.alerting.messages import Message, level_mark, messages
from scoring.judging.anchors import ANCHOR_QUERIES, ANCHORS
from scoring.markdown import percent, percent_interval, score_text
from scoring.stats.intervals import wilson_interval
from scoring.stats.self_agreement import WatchedNight

RENEW = "aqb judge anchors --renew"
_SHOWN, _QUERY_CHARACTERS, _NAME_CHARACTERS = 5, 120, 80
_NEVER = 0.0001


@dataclass(frozen=True)
class ModelChange:
    """Answers of another epoch than the stored ones, and the models that gave these; the same model if only its
    accepted parameters have changed.
    """

    epoch: str
    before: str
    after: str


@dataclass(frozen=True)
class ModelEnd:
    """The last day of the model that judges."""

    model: str
    last: date


def end_lines(end: ModelEnd, today: date) -> list[Line]:
    """The lines about the shutdown date of the model and what to do before it."""
    days = (end.last - today).days
    left = f"{days:,}일 남음" if days > 0 else "이미 종료됨"
    what = f"{inert(end.model, _NAME_CHARACTERS)}의 종료일은 {end.last}입니다({left}). "
    return [
        [bold("판정 모델  "), plain(f"{what}다음 모델과 비교해 보고 바꾸세요.")],
        [code("aqb judge switch MODEL --dry-run")],
    ]


@dataclass(frozen=True)
class JudgeNews:
    """The result of a night's anchors: `different` are the queries with another answer, among `questions` about
    `queries` queries.

    `usd` is their cost, None if price or usage are unknown.
    """

    anchor_set: str
    model: str
    watched: WatchedNight
    changes: tuple[ModelChange, ...]
    different: tuple[str, ...]
    questions: int
    queries: int
    usd: float | None

    @property
    def keys(self) -> list[str]:
        """The keys of the changes: one for each other epoch, and one for the night in which answers changed."""
        keys = [f"judge|{self.anchor_set}|epoch|{change.epoch}" for change in self.changes]
        return keys + ([f"judge|{self.anchor_set}|answers|{self.watched.night.day}"] if self.watched.is_change else [])

    def summary(self) -> dict[str, Any]:
        """The result for programs. `changed` is whether anything has changed; `usual` is None in a first night."""
        watched, night = self.watched, self.watched.night
        return {
            "night": str(night.day),
            "anchor_set": self.anchor_set,
            "model": self.model,
            "questions": self.questions,
            "queries": self.queries,
            "asked": night.asked,
            "agreed": night.agreed,
            "usual": watched.agreed_before / watched.asked_before if watched.asked_before else None,
            "chance": watched.chance,
            "changed": bool(self.keys),
            "models": [asdict(change) for change in self.changes],
            "different": list(self.different),
            "usd": self.usd,
        }

    @property
    def lines(self) -> list[str]:
        """The result of the night in Korean sentences."""
        watched, night = self.watched, self.watched.night
        if not night.asked:
            return [f"앵커 질문 {self.questions:,}개에 판정 모델이 하나도 답하지 않았습니다."]
        lines = [
            f"앵커 질문 {night.asked:,}개 가운데 {night.agreed:,}개({percent(night.agreed / night.asked)})에 "
            "저장된 판정과 같은 답을 했습니다."
        ]
        if interval := wilson_interval(watched.agreed_before, watched.asked_before):
            usual = percent(watched.agreed_before / watched.asked_before)
            lines.append(
                f"그 전의 밤에는 {usual}({watched.agreed_before:,}/{watched.asked_before:,}, 95% 구간 "
                f"{percent_interval(interval.low, interval.high)})였습니다."
            )
        if watched.is_change:
            chance = "0.01% 미만" if watched.chance < _NEVER else percent(watched.chance, 2)
            lines.append(f"판정 모델이 그대로인데 같은 답이 이만큼 적을 확률은 {chance}입니다.")
        if self.questions < ANCHORS or self.queries < ANCHOR_QUERIES:
            lines.append(
                f"앵커가 질의 {self.queries:,}개의 질문 {self.questions:,}개뿐이라(질의 {ANCHOR_QUERIES}개의 "
                f"질문 {ANCHORS}개가 알맞음) 작은 변화는 늦게 드러납니다."
            )
        cost = "가격이나 사용량을 몰라 계산하지 못함" if self.usd is None else f"{score_text(self.usd, 4)} USD"
        return [*lines, *(change_text(change) for change in self.changes), f"든 비용: {cost}."]


def change_text(change: ModelChange) -> str:
    """The change of the answering model, in Korean."""
    before, after = (inert(name, _NAME_CHARACTERS) for name in (change.before, change.after))
    if before == after:
        return f"같은 모델({after})이지만 묻는 조건이나 답의 형식이 저장된 판정과 다릅니다."
    return f"답하는 모델이 바뀌었습니다: {before} → {after}."


def judge_message(news: JudgeNews, known: Collection[str] = ()) -> list[Message]:
    """The Warning about a changed judge; none without a change, or if the change is known."""
    new = [key for key in news.keys if key not in known]
    if not new:
        return []
    what = f"판정 모델이 바뀐 것으로 보임: {inert(news.model, _NAME_CHARACTERS)}"
    to_do: list[Line] = [
        [
            bold("할 일  "),
            plain(
                "이 밤 앞뒤의 판정 점수는 서로 비교하지 마세요. 사람의 라벨로 다시 맞춰 보고(aqb agreement), "
                "이 모델로 계속하려면 아래 명령으로 앵커의 기준 답을 새로 잡으세요."
            ),
        ],
        [code(RENEW)],
    ]
    shown = [[plain(masked_text(query, _QUERY_CHARACTERS))] for query in news.different[:_SHOWN]]
    blocks = [
        *paragraph(*([plain(line)] for line in news.lines), *to_do),
        *(paragraph([bold("답이 달라진 질의")]) if shown else []),
        *bullets(shown),
    ]
    return messages("failure", "warning", new, (level_mark("warning"), what), blocks)
