"""What a route is told of a test run: queries that a person should look at, rows rejected, questions not asked.

The numbers count work to do; they are no sample of anything, so that they have no interval. Source: SPEC 3.3, 7, 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.alerting.blocks import (
    Block,
    Line,
    Span,
    bold,
    bullets,
    code,
    context,
    inert,
    link,
    masked_text,
    paragraph,
    plain,
)
from scoring.alerting.messages import Message, MessageLevel, RouteFilter, level_mark, messages
from scoring.markdown import score_text

_WORST = 5
_QUERY_CHARACTERS, _NAME_CHARACTERS = 120, 80


@dataclass(frozen=True)
class ReviewedQuery:
    """A query that a person should look at; `total` (0..5) is None where no metric is known. Reasons are Korean."""

    query_id: str
    text: str | None
    total: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class ReviewedTestRun:
    """A scored test run, known by its rubric and the hash of its input.

    `rejected` of `rows_in` rows could not be read. `flagged` of the `queries` need a look, `reasons` say how many for
    what (Korean), `worst` come first; `over_budget` questions were not asked because the judge's budget was spent.
    `review_list` and `report` are paths, `report_url` the report's address where it is served.
    """

    name: str
    input_sha256: str
    rubric: str
    rubric_version: str
    rubric_title: str
    agent_types: tuple[str, ...]
    rows_in: int
    rejected: int
    queries: int
    flagged: int
    over_budget: int
    reasons: tuple[tuple[str, int], ...]
    worst: tuple[ReviewedQuery, ...]
    review_list: str
    report: str
    run_id: str
    report_url: str = ""


def review_message(route: RouteFilter, run: ReviewedTestRun) -> list[Message]:
    """The message about one test run; none where nobody has to look at anything, or the route does not hear of it."""
    level: MessageLevel = "warning"
    what = _headline(run)
    if not what or not route.matches_testrun(level, run.rubric, run.agent_types):
        return []
    blocks = [
        *paragraph(
            [plain(f"{run.rubric_title} · "), code(inert(run.name, _NAME_CHARACTERS))],
            *_what_happened(run),
        ),
        *(bullets([[plain(f"{reason} "), bold(f"{count:,}개")] for reason, count in run.reasons])),
        *paragraph(
            *_to_do(run),
            [bold("보고서  "), link(run.report_url, "열기") if run.report_url else code(run.report)],
        ),
        *_worst(run.worst[:_WORST]),
        context(f"{run.rubric} {run.rubric_version}", run.run_id),
    ]
    keys, title = [f"{run.rubric}|{run.input_sha256}"], (level_mark(level), what)
    return messages("review", level, keys, title, blocks, [run.name])


def _headline(run: ReviewedTestRun) -> str:
    """The first of what is to be done, '' where nothing is."""
    if run.flagged:
        return f"테스트 결과 수기 확인 {run.flagged:,}건"
    if run.rejected:
        return f"테스트 결과 거부한 행 {run.rejected:,}건"
    return f"테스트 결과 판정하지 못한 질문 {run.over_budget:,}건" if run.over_budget else ""


def _what_happened(run: ReviewedTestRun) -> list[Line]:
    lines: list[Line] = []
    if run.flagged:
        lines.append([bold(f"질의 {run.queries:,}개 중 {run.flagged:,}개"), plain("를 사람이 확인해야 합니다.")])
    if run.rejected:
        lines.append([bold(f"행 {run.rows_in:,}건 중 {run.rejected:,}건"), plain("을 읽지 못해 채점하지 않았습니다.")])
    if run.over_budget:
        lines.append([plain(f"판정 예산이 다해 질문 {run.over_budget:,}건을 묻지 못했습니다.")])
    return lines


def _to_do(run: ReviewedTestRun) -> list[Line]:
    lines: list[Line] = []
    if run.over_budget:
        first = "먼저 " if run.flagged else ""  # with its verdicts fewer queries need a person
        lines.append([bold("할 일  "), plain(f"{first}judge.max_usd나 judge.max_tokens를 늘리고 다시 채점하세요.")])
        lines.append([plain("inbox는 같은 파일을 두 번 채점하지 않으니 aqb score를 쓰세요.")])
    if run.flagged:
        lines.append([bold("할 일  "), plain("목록의 질의를 위에서부터 읽고 판정을 적어 주세요.")])
        lines.append([bold("확인 목록  "), code(run.review_list)])
    if run.rejected:
        lines.append([bold("할 일  "), plain("보고서의 '입력 파일'에서 까닭을 보고, 파일을 고쳐 다시 넣어 주세요.")])
    return lines


def _worst(worst: Sequence[ReviewedQuery]) -> list[Block]:
    if not worst:
        return []
    lead: Line = [bold("종합 점수가 낮은 질의")]
    return [*paragraph(lead), *bullets(list(map(_query_lines, worst)))]


def _query_lines(query: ReviewedQuery) -> list[Span]:
    total = "종합 점수 없음" if query.total is None else f"{score_text(query.total)}점"
    text = "질의 없음" if query.text is None else masked_text(query.text, _QUERY_CHARACTERS)
    return [
        code(masked_text(query.query_id, _NAME_CHARACTERS)),
        plain(f" {total} · {text}\n"),
        plain(", ".join(query.reasons)),
    ]
