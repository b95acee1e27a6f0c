"""The texts of messages about a rise, in Korean: what caused most of it, and example rows with links."""

from collections.abc import Iterable, Iterator, Sequence

from scoring.alerting.blocks import Block, Line, Span, bold, bullets, code, inert, link, masked_text, paragraph, plain
from scoring.alerting.growth import EXAMPLES, TEMPLATE, TENANT, Grown
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import DayDigest, Example
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.row_ids import OUTPUT_TOKENS
from scoring.chat.rubric import RowRubric
from scoring.chat.templates import WORD
from scoring.days import day_text
from scoring.markdown import percent, percent_interval, score_text

_FORMS_WITHOUT_TEXT = {WORD: "낱말 하나뿐인 질문", "": "글자가 없는 질문"}
_TOKENS_ACTION = (
    "출력 토큰이 기록되지 않은 행은 답변과 상관없이 점수가 낮습니다. "
    "토큰을 기록하는 곳을 고치고, 채워 넣은 뒤 다시 채점하세요."
)
_QUESTION_CHARACTERS, _ANSWER_CHARACTERS, _TEMPLATE_CHARACTERS = 100, 100, 60


def tokens_action(grown: Iterable[Grown]) -> str:
    """What to do about a rise whose rows lack their tokens (Korean): the answers did not change; else ''."""
    return _TOKENS_ACTION if any(one.column == OUTPUT_TOKENS for one in grown) else ""


def tenant_name(tenant: str | None) -> str:
    """The name of a tenant for people."""
    if tenant is None:
        return "테넌트 없는 행"
    if tenant == ALL_TENANTS:
        return "전체"
    return f"테넌트 {masked_text(tenant, 60)}" if tenant else "빈 테넌트"


def grown_name(one: Grown, rubric: RowRubric) -> str:
    """The name of what grew for people: a tenant, a failure type, a kind of question, or a template."""
    if one.column == TENANT:
        return tenant_name(one.value)
    if one.column == OUTPUT_TOKENS:
        return "출력 토큰이 기록되지 않은 행"
    if one.column == TEMPLATE:
        return _FORMS_WITHOUT_TEXT.get(one.value or "") or template_name(one.value or "")
    titles = {kind.column: kind.titles for kind in rubric.kinds}
    none = f"{rubric.titles.get(one.column, one.column)} 없는 행"
    return none if one.value is None else titles.get(one.column, {}).get(one.value, one.value)


def template_name(template: str) -> str:
    """The name of questions of one form, in messages and reports."""
    return f"'{masked_text(template, _TEMPLATE_CHARACTERS)}' 형태의 질문"


def headline_growth(found: Iterable[Incident], rubric: RowRubric) -> str:
    """What grew most, for a headline, and the tenant that caused most of it; '' if nothing can be named."""
    named = next((one.fact.grown for one in found if one.fires and one.fact.grown), ())
    if not named:
        return ""
    first, *others = _most_telling(named, rubric)
    tenant = next((tenant_name(one.value) for one in others if one.column == TENANT), "")
    return ", ".join(filter(None, (f"주로 {grown_name(first, rubric)}", tenant)))


def growth_lines(found: Sequence[Incident], rubric: RowRubric) -> Iterator[Line]:
    """All that grew and can be named, each once; for a rise of several days also the day from which it is counted, and
    its rule if that is not the first one.
    """
    named = {
        (one.column, one.value): (f"{incident.fact.title}: " if incident.fact.rule != found[0].fact.rule else "")
        + (f"{day_text(incident.since)}부터 " if incident.lasts else "")
        + _grown_text(one, rubric, compared=bool(incident.fact.usual))
        for incident in reversed(found)
        if incident.fires
        for one in reversed(_most_telling(incident.fact.grown, rubric))
    }
    yield from ([bold("주로  "), plain(text)] for text in reversed(named.values()))


def grown_texts(grown: Sequence[Grown], rubric: RowRubric, *, compared: bool = True) -> list[str]:
    """`질문을 이해하지 못함 20건, 앞선 날들의 비율로는 3건 · 증가분의 77% (95% 구간 57~100%)`, most informative first.

    If no earlier days were `compared`, the usual count is omitted.
    """
    return [_grown_text(one, rubric, compared=compared) for one in _most_telling(grown, rubric)]


def _grown_text(one: Grown, rubric: RowRubric, *, compared: bool) -> str:
    usual, whole = (f", 앞선 날들의 비율로는 {score_text(one.usual, 0)}건", "증가분") if compared else ("", "해당한 행")
    share, low, high = (min(value, 1) for value in (one.share, one.low, one.high))  # more where others fell
    of_whole = f"{whole}의 {percent(share, 0)} (95% 구간 {percent_interval(low, high, 0)})"
    return f"{grown_name(one, rubric)} {one.count:,}건{usual} · {of_whole}"


def _most_telling(grown: Sequence[Grown], rubric: RowRubric) -> list[Grown]:
    """What grew, most certain first; among equally certain values missing tokens, failure types, then tenants."""
    order = [OUTPUT_TOKENS, rubric.failure.column, TENANT]

    def place(one: Grown) -> tuple[bool, int]:
        tells = one.value is not None and one.column in order
        return one.high < grown[0].low, order.index(one.column) if tells else len(order)

    return sorted(grown, key=place)


def example_blocks(
    found: Sequence[Incident], digest: DayDigest, paged: Iterable[Incident] = (), *, of_one_cause: bool = False
) -> list[Block]:
    """Example rows of what grew, one per template and failure type, alternating between the incidents, five at most.

    Examples that a page (`paged`) has shown are not repeated. Unless several rules are `of_one_cause`, and have mostly
    the same rows, each row names its rule.
    """
    facts = [one.fact for one in found if one.fires]
    named = not of_one_cause and len({fact.rule for fact in facts if fact.row_ids}) > 1
    of_pages = {row_id for one in paged for row_id in one.fact.row_ids}
    by_place = [
        (fact.row_ids[place], fact.alike[place] if fact.alike else 1, fact.title if named else "")
        for place in range(EXAMPLES)
        for fact in facts
        if place < len(fact.row_ids) and fact.row_ids[place] not in of_pages
    ]
    shown: dict[tuple[str, str | None], Line] = {}
    for row_id, alike, rule in by_place:
        if (example := digest.examples.get(row_id)) and len(shown) < EXAMPLES:
            template = row_id if example.question is None else digest.rubric.template(example.question)
            shown.setdefault(
                (template, example.failure), _example_lines(example, alike, rule, digest.row_urls.get(row_id, ""))
            )
    again = any(row_id in of_pages for fact in facts for row_id in fact.row_ids)
    if not shown:
        return paragraph([bold("예시  "), plain("긴급 알림의 예시와 같은 행입니다.")]) if again else []
    title = "예시(긴급 알림에 없는 것)" if again else "예시"
    hint: Line = [bold(f"{title}  "), plain("규칙별 점수 보기: "), code("aqb rows 행ID")]
    return [*paragraph(hint), *bullets(list(shown.values()))]


def _example_lines(example: Example, alike: int, rule: str, url: str) -> list[Span]:
    """A row: id, score, the title of the rule if it is to be named, and failure type, then the beginnings of its texts,
    masked.
    """
    row_id = inert(example.row_id)
    facts = [f"{score_text(example.score, 1)}점", *filter(None, (rule, example.failure))]
    facts += [f"같은 형태의 질문 {alike:,}건"] if alike > 1 else []
    texts = (("질문", example.question, _QUESTION_CHARACTERS), ("답변", example.answer, _ANSWER_CHARACTERS))
    lines = [link(url, row_id) if url else code(row_id), plain(f" {' · '.join(facts)}")]
    for title, text, length in texts:
        shown = "(저장하지 않음)" if text is None else masked_text(text, length)
        lines.append(plain(f"\n{title}: {shown}"))
    return lines
