"""The first tab of `scores.xlsx`: what came of the test run, on one page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoring.figures import goal_figure
from scoring.markdown import score_text
from scoring.testruns.scoring import ScoredTestRun
from scoring.testruns.summaries import SCORE_KEYS, score_counts
from tasks.files.excel import LONGEST_CELL
from tasks.files.xlsx.sheet_xml import SheetColumn, Tab
from tasks.reports.wording import rules_text, weights_text

_COLUMNS = (
    *(SheetColumn("구분"), SheetColumn("지표"), SheetColumn("평균", "mean"), SheetColumn("채점한 수", "number")),
    SheetColumn("미판정 질의", "number"),
    *(SheetColumn("최저(미판정 0점)", "mean"), SheetColumn("최고(미판정 5점)", "mean")),
    *(SheetColumn("점수 없음" if points == "null" else f"{points}점", "number") for points in SCORE_KEYS),
)
_FIGURES = ("mean", "n", "undecided", "low", "high")


def summary_tab(scored: ScoredTestRun, summary: Mapping[str, Any], cut_cells: int, not_listed: int) -> Tab:
    """The first sentences of the report, metrics of the whole and of each round, then targets and what was read.

    `summary` is that of `summary.json`, `cut_cells` counts those of the input that are too long for Excel,
    `not_listed` the queries for a person that the tab of these leaves out, less than 1 if it has all.
    """
    head = (f"{scored.plan.rubric.title}: {scored.plan.run.name}", *summary["headline"])
    return Tab("점수 요약", _COLUMNS, list(_rows(scored)), _notes(scored, summary, cut_cells, not_listed), head)


def _rows(scored: ScoredTestRun) -> Iterator[list[Any]]:
    """A row per metric for the whole and for each round; counts of the whole are those of its rounds together."""
    titles = {**scored.plan.rubric.figure_titles, **{each.name: each.title for each in scored.plan.rubric.metrics}}
    summary = scored.summary
    for name, values in summary.set.items():
        if isinstance(values, Mapping):
            spread = [by_metric[name] for by_metric in summary.distributions.values() if name in by_metric]
            yield ["전체", titles.get(name, name), *map(values.get, _FIGURES), *_counts(spread)]
    for round_, means in summary.rounds.items():
        for name, values in means.items():
            if isinstance(values, Mapping):
                spread = [summary.distributions.get(round_, {}).get(name, {})]
                yield [f"회차 {round_}", titles.get(name, name), *map(values.get, _FIGURES), *_counts(spread)]


def _counts(spread: Sequence[Mapping[str, int]]) -> list[int | None]:
    if not any(spread):
        return [None] * len(SCORE_KEYS)
    totals = dict.fromkeys(SCORE_KEYS, 0)
    for distribution in spread:
        for points, count in score_counts(distribution):
            totals[points] += count
    return list(totals.values())


def _notes(scored: ScoredTestRun, summary: Mapping[str, Any], cut_cells: int, not_listed: int) -> list[tuple[str, str]]:
    run, plan = scored.plan.run, scored.plan
    parts, counts = plan.rubric.page_parts(summary), run.counts
    totals = [
        (one.title, one.missing or f"{score_text(one.total)}점, {weights_text(one.coverage)}") for one in parts.totals
    ]
    notes = [
        *totals,
        *((f"목표: {title}", goal_figure(figures).text) for title, figures in parts.targets),
        *([("참고", parts.notice)] if parts.notice else []),
        *(
            ("테스트 세트 점검", f"{one['title']} {len(one['query_ids']):,}개: {one['example']}")
            for one in summary["lint"]
        ),
        ("파일", run.name),
        ("채점 기준", f"{plan.rubric.title}({plan.rubric.id}), {rules_text(plan.rubric_version)}"),
        (
            "행",
            f"읽음 {counts.rows_in:,} = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}",
        ),
        ("파일 지문(SHA-256)", run.identity.sha256),
    ]
    if cut_cells:
        notes.append(
            (
                "잘린 칸",
                f"'입력' 탭에서 Excel 한 칸의 한도({LONGEST_CELL:,}자)를 넘는 칸 {cut_cells:,}개를 잘라 담았습니다. "
                "다시 채점할 때는 이 파일 말고 원본을 쓰세요.",
            )
        )
    if not_listed > 0:
        notes.append(("검토", f"'검토' 탭은 점수를 많이 잃은 질의부터 담았고, 그 밖에 {not_listed:,}개가 있습니다."))
    if unanswered := scored.questions.get("no_judge"):
        notes.append(("미판정", f"판정 모델을 쓰지 않아 질문 {unanswered:,}개의 점수를 비워 둠"))
    return notes
