"""Reviewing in a browser: the lists, one question at a time; verdicts are stored at once.

People see neither the score nor verdicts of others before their own verdict. Source: SPEC 12.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.responses import RedirectResponse, Response

from scoring.errors import UsageError
from tasks.review.label_store import LabelStore, newest
from tasks.review.questions import ReviewQuestion
from tasks.web.asked import Asked, NotFoundError, href
from tasks.web.conversation import shown_text
from tasks.web.review_queues import ReviewQueue, opened_queue, row_queues, run_queues

_NOTE_CHARACTERS = 1_000


def review_page(asked: Asked) -> Response:
    """The lists: the sampled rows of the last days, and the sampled queries of the last test runs."""
    asked.record("검토 목록", "")
    store = LabelStore(asked.context.state)
    queues: list[ReviewQueue] = [*row_queues(asked.context), *run_queues(asked.context)]
    lists = []
    for queue in queues:
        labels = newest(queue.labels(store))
        mine = [one for one in labels if one.reviewer == asked.viewer.name]
        lists.append((queue, queue.progress(mine), sorted({one.reviewer for one in labels if one.reviewer})))
    return asked.page("review.html", section="review", title="검토", lists=lists)


def question_page(asked: Asked) -> Response:
    """The question in the URL, or the first one that this person has not answered.

    Raises:
        NotFoundError: there is no such list or question.
    """
    queue = opened_queue(asked)
    labels = newest(queue.labels(LabelStore(asked.context.state)))
    mine = {one.item: one for one in labels if one.reviewer == asked.viewer.name}
    questions = queue.questions
    answered = {one.id for one in questions if one.blank.item in mine}
    shown = dict(asked.pairs).get("item") or _next_open(questions, answered, "")
    last = max(
        (one for one in questions if one.id in answered), key=lambda one: mine[one.blank.item].labelled_at, default=None
    )
    common: dict[str, Any] = {"section": "review", "title": "검토", "script": "keys.js", "queue": queue, "last": last}
    common |= {"done": len(answered), "total": len(questions)}
    if not shown:
        asked.record("검토", queue.address)
        return asked.page("review_done.html", **common)
    question = _question(questions, shown)
    asked.record("검토", _address(queue, question.id))
    place = questions.index(question)
    given = mine.get(question.blank.item)
    return asked.page(
        "review_question.html",
        **common,
        question=question,
        material=queue.material(asked, question),
        place=place + 1,
        before=questions[place - 1] if place else None,
        following=questions[place + 1] if place + 1 < len(questions) else None,
        given=given,
        scored=queue.scored(question) if given else None,
        others=[
            (one.reviewer or "이름 없음", _title(question, one.label), shown_text(asked, one.note))
            for one in labels
            if given and one.item == question.blank.item and one.reviewer != asked.viewer.name
        ],
        sees_personal_data=asked.sees_personal_data,
    )


def label(asked: Asked) -> Response:
    """Stores a verdict, and redirects to the next open question.

    Raises:
        NotFoundError: the item is no longer on the list.
        UsageError: an unknown verdict, or a note that is too long.
    """
    queue = opened_queue(asked)
    question = _question(queue.questions, asked.form.get("item", ""))
    verdict, note = asked.form.get("label", ""), asked.form.get("note", "").strip()
    if verdict not in {choice.label for choice in question.choices}:
        raise UsageError("그런 점수는 없습니다", fix="페이지에 있는 점수를 고르세요.")
    if len(note) > _NOTE_CHARACTERS:
        raise UsageError("메모가 너무 깁니다", fix=f"메모를 {_NOTE_CHARACTERS:,}자 안에서 쓰세요.")
    store = LabelStore(asked.context.state)
    _keep(asked, store, queue, question, verdict, note)
    mine = {one.item for one in newest(queue.labels(store)) if one.reviewer == asked.viewer.name}
    answered = {one.id for one in queue.questions if one.blank.item in mine}
    return RedirectResponse(_address(queue, _next_open(queue.questions, answered, question.id)), 303)


def take_back(asked: Asked) -> Response:
    """Withdraws this person's verdict of an item, and redirects to it."""
    queue = opened_queue(asked)
    question = _question(queue.questions, asked.form.get("item", ""))
    _keep(asked, LabelStore(asked.context.state), queue, question, "", "")
    return RedirectResponse(_address(queue, question.id), 303)


def _keep(
    asked: Asked, store: LabelStore, queue: ReviewQueue, question: ReviewQuestion, verdict: str, note: str
) -> None:
    asked.record("라벨" if verdict else "라벨 되돌림", f"{_address(queue, question.id)} {verdict}".strip())
    store.add([question.answered(verdict, note, asked.viewer.name, datetime.now(UTC))])


def _question(questions: Sequence[ReviewQuestion], item: str) -> ReviewQuestion:
    for one in questions:
        if one.id == item:
            return one
    raise NotFoundError("이 항목은 이제 목록에 없습니다", fix="검토 목록에서 다시 여세요.")


def _next_open(questions: Sequence[ReviewQuestion], answered: set[str], after: str) -> str:
    """The next question without an answer after a given one, wrapping around at the end; '' if all have one."""
    ids = [one.id for one in questions]
    start = ids.index(after) + 1 if after else 0
    return next((one for one in [*ids[start:], *ids[:start]] if one not in answered), "")


def _address(queue: ReviewQueue, item: str) -> str:
    return href(queue.address, [("item", item)] if item else [])


def _title(question: ReviewQuestion, verdict: str) -> str:
    return next((one.title.splitlines()[0] for one in question.choices if one.label == verdict and one.title), verdict)
