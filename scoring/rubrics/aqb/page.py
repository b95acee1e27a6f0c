"""What the page of a test run shows of `aqb-1.2`: totals and targets by agent, slow filters, failed steps."""

from collections.abc import Mapping
from typing import Any, cast

from scoring.markdown import score_text
from scoring.rubrics.aqb.summary import AgentFigures, FilterCombination
from scoring.testruns.executions import AGENT_TITLES, AgentType
from scoring.testruns.page_parts import AgentTotal, PageParts, PageTable, cause_table

_SLOWEST = 5


def page_parts(summary: Mapping[str, Any]) -> PageParts:
    """The parts of a summary as `summary.json` holds it; one of an earlier version may lack some."""
    agents = {
        AGENT_TITLES[AgentType(agent)]: cast(AgentFigures, figures)
        for agent, figures in summary.get("agents", {}).items()
    }
    return PageParts(
        totals=[
            AgentTotal(f"종합 점수 · {title}", figures["weighted_total"], figures["weight_coverage"])
            for title, figures in agents.items()
        ],
        review_count=sum(figures["manual_review"] for figures in agents.values()) if agents else None,
        targets=[
            (f"{target['title']} ({title})", target)
            for title, figures in agents.items()
            for target in figures["targets"].values()
        ],
        tables=(
            _slowest(summary.get("slowest_filter_combinations", [])),
            cause_table("실패한 단계", summary.get("failures_by_step", ()), "step", "n"),
        ),
    )


def _slowest(combinations: list[FilterCombination]) -> PageTable:
    return PageTable(
        "필터 조합별 평균 응답 시간",
        ["함께 쓴 필터", "실행", "평균"],
        [
            [", ".join(each["filters"]), f"{each['n']:,}", f"{score_text(each['mean_s'])}초"]
            for each in combinations[:_SLOWEST]
        ],
        id="slowest",
        title="가장 느린 필터 조합",
    )
