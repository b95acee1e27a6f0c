"""The flow of test runs with a judge: files that arrive at the same time share its limit.

The questions of `benchmarks.judge` and its server, spread over files of the inbox. `limit used` is what the limit asks
for by the time from the first question to the last answer; the command itself takes longer, with Prefect and reports.
"""

import json
import tempfile
import urllib.request
from pathlib import Path

from benchmarks.children import AQB, cost_of
from benchmarks.flow_runs import prefect_server
from benchmarks.judge import RPM, server
from benchmarks.report import Scale, table
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv

FILES = 8
_ROUNDS = 2  # of each query: the judge is asked about each of them


def inbox(scale: Scale) -> str:
    """One run over all files; each takes most of a minute."""
    queries = scale.questions // FILES // _ROUNDS
    with tempfile.TemporaryDirectory() as folder, prefect_server(Path(folder) / "prefect") as prefect:
        _fill(Path(folder) / "inbox", queries)
        with server(RPM, 0) as url:
            environment = {
                "PREFECT_API_URL": prefect.url,
                "AQB_WAREHOUSE": f"{folder}/warehouse",
                "AQB_REPORTS": f"{folder}/reports",
                "AQB_STATE_URL": f"sqlite:///{folder}/state.db",
                "AQB_TEST_RUNS__INBOX": f"{folder}/inbox",
                "AQB_TEST_RUNS__QUIET_S": "0",
                "AQB_JUDGE__ENABLED": "true",
                "AQB_JUDGE__RPM": str(RPM),
                "AQB_JUDGE__TPM": "0",
                "OPENAI_BASE_URL": url,
                "OPENAI_API_KEY": "bench",
                "SLACK_WEBHOOK_URL": "",
            }
            cost = cost_of([AQB, "test-runs", "--json"], environment)
            with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:  # noqa: S310
                stats = json.load(answer)
    asked = FILES * queries * _ROUNDS
    lost = asked - sum(one["summary"]["judge"]["by_status"].get("ok", 0) for one in cost.printed["scored"])
    return table(
        f"Inbox with a judge: {asked:,} questions in {FILES} files, {RPM:,} a minute (target: 0.88 of the limit)",
        ("", "span s", "limit used", "lost", "paid twice", "429s", "s", "CPU s / 1,000"),
        [
            (
                "`aqb test-runs`",
                f"{stats['span_s']:.1f}",
                f"{asked * 60 / RPM / stats['span_s']:.2f}",
                str(lost),
                str(stats["paid_twice"]),
                str(stats["statuses"].get("429", 0)),
                f"{cost.wall_s:.1f}",
                f"{cost.cpu_s * 1000 / asked:.1f}",
            )
        ],
        "On the test server of the judge's table. `span s` is from the first question to the last answer, `s` the "
        "whole command, with Prefect, reports, tables and site.",
    )


def _fill(folder: Path, queries: int) -> None:
    folder.mkdir()
    for file in range(FILES):
        rows = [
            wide_row(f"AM-{number}", **{"질의": f"{file}번 공고 지원자 {number}번의 점수는?"} | _answers(file, number))
            for number in range(queries)
        ]
        write_csv(folder / f"resume_agent_{file}.csv", [WIDE_HEADER, *rows])


def _answers(file: int, number: int) -> dict[str, str]:
    """Different answers to the same query, each a question for the judge."""
    return {
        f"{turn}차 답변": f"{file}번 공고 {number}번 지원자는 {number % 90}점, {turn}위입니다." * 5 for turn in (1, 2)
    }
