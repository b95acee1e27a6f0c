"""The page of one row: its texts, the effect of each rule, and the conversation around it."""

from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from starlette.responses import Response

from scoring.chat.kpis import rubric_version_of
from scoring.chat.row_ids import TEXTS
from scoring.markdown import score_text
from tasks.files.web_addresses import row_address
from tasks.reports.site.worst_rows import shown_row
from tasks.reports.wording import tenant_text
from tasks.web.asked import Asked, NotFoundError, href
from tasks.web.conversation import Row, around, conversation, lacks_texts, shown_text, with_source_texts


@dataclass(frozen=True)
class Turn:
    """One turn of the conversation; texts are None if they are not available."""

    href: str
    time: str
    grade: str
    tone: str
    score: str
    question: str | None
    answer: str | None
    is_this: bool


def row_page(asked: Asked) -> Response:
    """The page of a row by day and id; with `source=1` texts that the table does not store are read from the source.

    Raises:
        NotFoundError: the row does not exist.
    """
    context, rubric = asked.context, asked.context.rubric
    day, row_id = asked.day, asked.place["row_id"]
    rows = context.warehouse.day_queries(day, rubric).rows([row_id], rubric.scores_schema.names)
    if not rows:
        raise NotFoundError(
            "그런 행은 없습니다", fix="다시 채점한 날이면 행이 바뀌었을 수 있습니다. 목록에서 다시 고르세요."
        )
    from_source = ("source", "1") in asked.pairs
    asked.record("행과 원본" if from_source else "행", f"{day} {row_id}")
    stored = [rows[0], *conversation(asked, day, rows[0])]
    row, *turns = with_source_texts(asked, day, stored) if from_source else stored
    zone = context.settings.zone
    question, answer = (shown_text(asked, row[name]) for name in TEXTS)
    session_href = href("/rows", [*around(day, row).pairs(), ("sort", "timestamp")]) if row["session_id"] else ""
    return asked.page(
        "scored_row.html",
        section="rows",
        title="행 하나",
        rubric=rubric,
        row=replace(shown_row(rubric, row, zone), question=question, answer=answer),
        when=f"{row['timestamp'].astimezone(zone):%Y-%m-%d %H:%M:%S}",
        tenant=tenant_text(row["tenant_id"]),
        failure=rubric.failure.titles.get(row[rubric.failure.column] or "", ""),
        same_rules=rubric_version_of(row) == (rubric.id, rubric.version),
        lacks_texts=lacks_texts([row, *turns]),
        from_source=from_source,
        source_href=href(row_address(day, row_id), [("source", "1")]),
        session_href=session_href,
        turns=[_turn(asked, one, row_id, zone) for one in turns],
        sees_personal_data=asked.sees_personal_data,
    )


def _turn(asked: Asked, row: Row, shown_id: str, zone: ZoneInfo) -> Turn:
    rubric = asked.context.rubric
    grade = rubric.final_scale.grade(row[rubric.final_scale.column])
    question, answer = (shown_text(asked, row[name]) for name in TEXTS)
    return Turn(
        href=row_address(row["score_date"], row["row_id"]),
        time=f"{row['timestamp'].astimezone(zone):%m-%d %H:%M:%S}",
        grade=grade.sign,
        tone=grade.tone,
        score=score_text(row[rubric.total], 1),
        question=question,
        answer=answer,
        is_this=row["row_id"] == shown_id,
    )
