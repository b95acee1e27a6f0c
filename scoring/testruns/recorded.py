"""Compares scores that a file already contains (of an earlier tool or a person) with ours. They replace no score.

Source: SPEC 2.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from scoring.stats.exact import exact, exact_sum, rounded
from scoring.stats.intervals import weighted_kappa
from scoring.stats.run_scores import TOTAL, TOTAL_TITLE
from scoring.testruns.rubric import Metric

_SHOWN_DIFFERENCES = 10


def recorded_agreement(
    recorded: Mapping[str, Mapping[str, float]],
    rows: Sequence[Mapping[str, Any]],
    metrics: Sequence[Metric],
    limits: Mapping[str, Mapping[str, str]],
) -> list[dict[str, Any]]:
    """A JSON object per metric, and for the total, over the `n` queries that have both scores.

    `recorded`: query id -> metric -> score; `rows` are those of `queries.parquet`; `limits`: query id -> metric -> why
    the query cannot have all points, counted by reason. `mean_difference` is ours minus recorded; `linear_kappa` and
    its 95 % interval use whole points (NULL if all are equal); `equal` counts equal whole points; `largest` are the ten
    largest differences.
    """
    found = []
    for name, title in ((metric.name, metric.title) for metric in (*metrics, Metric(TOTAL, TOTAL_TITLE))):
        column = name if name == TOTAL else f"{name}_score"
        pairs = [
            {"query_id": row["query_id"], "query_text": row["query_text"] or "", "recorded": known, "ours": float(ours)}
            for row in sorted(rows, key=itemgetter("query_id"))  # the interval draws from them in this order
            if (known := recorded.get(row["query_id"], {}).get(name)) is not None
            and (ours := row.get(column)) is not None
        ]
        if pairs:
            limited = Counter(why for pair in pairs if (why := limits.get(pair["query_id"], {}).get(name)))
            found.append({"metric": name, "title": title, **_agreement(pairs), "limits": dict(limited)})
    return found


def _agreement(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    n = len(pairs)
    of_file, of_rubric = ([exact(pair[side]) for pair in pairs] for side in ("recorded", "ours"))
    recorded, ours = ([float(rounded(points, 0)) for points in one] for one in (of_file, of_rubric))
    kappa = weighted_kappa(ours, recorded, range(n), "linear")
    largest = sorted(pairs, key=lambda pair: -abs(pair["ours"] - pair["recorded"]))[:_SHOWN_DIFFERENCES]
    return {
        "n": n,
        "recorded_mean": float(exact_sum(of_file) / n),
        "mean": float(exact_sum(of_rubric) / n),
        "mean_difference": float((exact_sum(of_rubric) - exact_sum(of_file)) / n),
        "equal": sum(theirs == mine for theirs, mine in zip(recorded, ours, strict=True)),
        **kappa.columns("linear"),
        "largest": [dict(pair) for pair in largest if pair["ours"] != pair["recorded"]],
    }
