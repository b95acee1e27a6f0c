"""Runs with a judge as people start them: `aqb score --judge` and `aqb test-runs`, on the server of `benchmarks.judge`.

Its questions are spread over files. `limit used` is what the limit asks for by the time from the first question to the
last answer; `admitted` are the requests up to the last new question by those that the limit allowed until then.
"""

import json
import tempfile
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks.children import AQB, Cost, cost_of
from benchmarks.flow_runs import prefect_server
from benchmarks.inputs import ROUNDS, write_run_file
from benchmarks.judge import FAULTS, RPM, TPM, server
from benchmarks.report import Scale, table

FILES = 8
HEAVY = {"server-errors": 0.15, "dropped": 0.08, "hung": 0.02, "cut": 0.08}
_HEADER = ("", "span s", "limit used", "admitted", "lost", "paid twice", "429s", "s", "CPU s / 1,000")


class Case(NamedTuple):
    """The measured command or flow, its number of processes, its limit and its faults."""

    command: str = "score"
    processes: int = 1
    tpm: int = 0
    faults: str = "usual"
    times: float = 1

    @property
    def title(self) -> str:
        """The case in words."""
        command = "`aqb test-runs`" if self.command == "test-runs" else "`aqb score --judge`"
        parts = [command, f"{self.faults} faults"]
        parts += [f"{self.tpm:,} tokens a minute"] if self.tpm else []
        parts += [f"{self.processes} processes"] if self.processes > 1 else []
        parts += [f"{self.times} times the questions"] if self.times > 1 else []
        return ", ".join(parts)


_FAULTS: Mapping[str, Mapping[str, float]] = {"no": {}, "usual": FAULTS, "heavy": HEAVY}
_CASES = [
    *(Case(faults=faults) for faults in _FAULTS),
    Case(tpm=TPM),
    Case(processes=2),
    Case(times=2.5),
    *(Case("test-runs", faults=faults) for faults in _FAULTS),
    Case("test-runs", tpm=TPM),
    Case("test-runs", processes=2),
    Case("test-runs", times=2.5),
]


def judged_runs(scale: Scale) -> str:
    """Each case once, because each takes a minute or two."""
    with tempfile.TemporaryDirectory() as folder, prefect_server(Path(folder) / "prefect") as prefect:
        lines = []
        for number, case in enumerate(_CASES):
            lines.append(_measured(case, int(scale.questions * case.times), Path(folder) / str(number), prefect.url))
    return table(
        f"Runs with a judge: {scale.questions:,} questions in {FILES} files, {RPM:,} a minute (targets: 0.88 of the "
        "limit, 0.93 with 2.5 times the questions, 0.97 admitted, none lost, 1% paid twice)",
        _HEADER,
        lines,
        "On the test server of the judge's table; heavy faults are 15 % status 503, 8 % dropped connections, 2 % hung "
        "ones and 8 % cut answers. `span s` is from the first question to the last answer, `admitted` the requests up "
        "to the last new question by those that the limit allowed until then, `s` the whole command with reports, "
        "tables and site. CPU is that above the same run without a judge: the import of the client is part of it.",
    )


def _measured(case: Case, questions: int, folder: Path, prefect_url: str) -> tuple[str, ...]:
    queries = questions // FILES // ROUNDS
    per_process = FILES // case.processes
    for file in range(FILES):
        write_run_file(folder / str(file // per_process) / "inbox" / f"resume_agent_{file}.csv", file, queries)
    plain_cpu_s = sum(cost.cpu_s for cost in _costs(case, folder, "plain", {"PREFECT_API_URL": prefect_url}))
    with server(RPM, case.tpm, _FAULTS[case.faults]) as url:
        judge = {
            "PREFECT_API_URL": prefect_url,
            "AQB_JUDGE__ENABLED": "true",
            "AQB_JUDGE__RPM": str(RPM),
            "AQB_JUDGE__TPM": str(case.tpm),
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "bench",
        }
        costs = _costs(case, folder, "judged", judge)
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:  # noqa: S310
            stats = json.load(answer)
    asked = FILES * queries * ROUNDS
    needed_s = stats["tokens_needed"] * 60 / case.tpm if case.tpm else asked * 60 / RPM
    allowed_s = needed_s * stats["asked_in_new_span"] / asked
    return (
        case.title,
        f"{stats['span_s']:.1f}",
        f"{needed_s / stats['span_s']:.2f}",
        f"{allowed_s / stats['new_span_s']:.2f}",
        str(asked - stats["answered"]),
        f"{stats['paid_twice'] / asked:.1%}",
        str(stats["statuses"].get("429", 0)),
        f"{max(cost.wall_s for cost in costs):.1f}",
        f"{(sum(cost.cpu_s for cost in costs) - plain_cpu_s) * 1000 / asked:.1f}",
    )


def _costs(case: Case, folder: Path, run: str, environment: dict[str, str]) -> list[Cost]:
    """The cost of the processes of a case, which run at the same time and share a state database."""

    def cost(process: int) -> Cost:
        own = folder / str(process)
        places = {
            "AQB_WAREHOUSE": f"{own}/{run}/warehouse",
            "AQB_REPORTS": f"{own}/{run}/reports",
            "AQB_STATE_URL": f"sqlite:///{folder}/{run}.db",
            "AQB_TEST_RUNS__INBOX": f"{own}/inbox",
            "AQB_TEST_RUNS__QUIET_S": "0",
            "SLACK_WEBHOOK_URL": "",
        }
        command = ["test-runs"] if case.command == "test-runs" else ["score", f"{own}/inbox", "--out", f"{own}/{run}"]
        return cost_of([AQB, *command, "--json"], places | environment)

    with ThreadPoolExecutor(case.processes) as threads:
        return list(threads.map(cost, range(case.processes)))
