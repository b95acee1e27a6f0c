"""What QA people read has no codes, no clause numbers and one word for one thing. Source: SPEC 10.

Names of files, settings and commands may stand there, and the terms that the requirements fix; each exception below
says why. `scores.xlsx` has tests of its own: its tab of columns gives their stored names.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import openpyxl
import pytest

from scoring.alerting.watch import AlertPolicy
from scoring.catalog import TestRunChoices, plan_of
from scoring.chat.periods import week_of
from scoring.testruns.scoring import score_testrun
from tasks.reports.chat_folder import write_score_folder
from tasks.reports.markdown.comparison import comparison_markdown, comparison_page
from tasks.reports.markdown.period import period_report
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.review.queue import review_queue
from tasks.review.review_tab import STORED_NAME
from tasks.review.review_workbook import write_review_workbook
from tasks.samples import SAMPLE_INBOX
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import read_scored_folder
from tasks.warehouse.folder import FolderWarehouse
from tests.builders import chat_rows
from tests.builders.chat_rows import RUBRIC
from tests.builders.settings import settings_in
from tests.builders.site import SAMPLE_RUNS, Page, build, pages, write_day, write_run
from tests.builders.web import browser, opened_page

# A column or code in snake case that is no part of a file's name or path.
CODE = re.compile(
    r"(?<![A-Za-z0-9_./-])[a-z]+(?:_[a-z0-9]+)+(?![A-Za-z0-9_-]*\.(?:csv|xlsx|parquet|md|html|json)\b)(?![A-Za-z0-9_/-])"
)
FOREIGN = re.compile(r"\b(?:NULL|SPEC|seed [0-9]{3}|None|nan|undecided|no_judge)\b")
OTHER_WORDS = re.compile(r"라운드|문항|질의 id|행 id|모름|견[주준줄]|꼴의|꼴이|원천|인박스|조용히|십시오|미채점")
LATIN = re.compile(r"(?<![A-Za-z0-9_./@#=&?%:$-])[A-Za-z][A-Za-z-]*[a-z](?![A-Za-z0-9_./@=(-])")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

TERMS = {
    *(
        "Critical",
        "Warning",
        "Final",
        "Score",
        "Golden",
        "Set",
        "pass",
        "Happy",
        "path",
        "Top",
        "Query",
    ),  # of the seeds
    *("aqb", "rows", "report", "alerts", "snooze", "runs", "review", "import", "agreement"),  # commands
    *("error", "index", "message", "value", "true", "false", "datakey", "ms", "Raw"),  # of the agents' Raw JSON
    *("timestamp", "Track"),  # columns of people's own files
    *("vs", "https", "Excel"),
    "inbox",  # the folder of the setting of this name
    "ola-monitoring",  # in the last line of a message, for those who look its run up
}
NOT_SHOWN = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<(script|style|code)\b.*?</\1>", re.DOTALL)
SPOKEN = re.compile(r'(?:title|aria-label|placeholder|alt)="([^"]*)"')
# A particle behind a number, or behind a bracket or quote, where the word before it decides: `3건(5.0%)으로`.
PARTICLE = re.compile(
    r"(?:(?P<word>[가-힣0-9%])(?:[’'\"”]|\((?:[^()]|\([^()]*\))*\))+|(?P<number>[0-9%]))"
    r"(?P<particle>을|를|은|는|이|가|과|와|으로|로)(?=[\s.,])"
)
BEHIND_A_CONSONANT = ("을", "은", "이", "과", "으로")
_LIEUL = 8  # 로 follows it as it follows a vowel
_FINALS_OF_DIGITS = {"0": 21, "1": _LIEUL, "3": 16, "6": 1, "7": _LIEUL, "8": _LIEUL, "%": 0}
CAMEL_CASE = re.compile(r"[a-z]+[A-Z]")  # names in the agents' Raw JSON

ALLOWED = {
    "value_lookup",  # an option of plan-agent, named where the report says how it was scored
    "weighted_total",  # an option of recruit-agent, likewise
}


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Everything that the samples lead to, as people read it: name -> text without markup."""
    folder = tmp_path_factory.mktemp("words")
    texts = dict(testrun_texts(folder)) | dict(chat_texts(folder))
    for name in ("digest", "page", "all_clear", "weekly"):  # a failure and a late night are for those who run it
        texts[name] = Path(f"tests/cases/alerting/{name}.txt").read_text(encoding="utf-8")
    return texts


def testrun_texts(folder: Path) -> Iterator[tuple[str, str]]:
    runs = (
        *(("aqb-1.2", "resume_agent_sample.xlsx"), ("aqb-1.2", "url_agent_sample.csv")),
        *(("plan-agent", "plan_agent_sample.csv"), ("recruit-agent", "plan_agent_sample.csv")),
    )
    for rubric, name in runs:
        out, source = folder / rubric / name, SAMPLE_INBOX / name
        out.mkdir(parents=True)
        plan = plan_of(read_testrun_file(source), TestRunChoices(rubric), {})
        write_testrun_folder(out, score_testrun(plan, {}), source)
        yield f"{rubric} {name} report.md", markdown(out / "report.md")
        if (out / "review.csv").exists():
            yield f"{rubric} {name} review.csv", (out / "review.csv").read_text(encoding="utf-8-sig")
        scored = read_scored_folder(out)
        write_review_workbook(out / "review.xlsx", scored, review_queue(scored, Fraction(1, 2)))
        yield f"{rubric} {name} review.xlsx", workbook(out / "review.xlsx")
        compared = scored.rubric.compare(scored.run_scores(), scored.run_scores(), scored.titles)
        yield f"{rubric} {name} comparison.md", comparison_markdown(compared, []).replace("\\", "")
        (out / "comparison.html").write_text(comparison_page(compared, [], {}), encoding="utf-8")
        yield f"{rubric} {name} comparison.html", Page(out / "comparison.html").text


def chat_texts(folder: Path) -> Iterator[tuple[str, str]]:
    days = [chat_rows.DAY + timedelta(days=day) for day in range(3)]
    rows = [chat_rows.refused(), chat_rows.best(), chat_rows.plain(), chat_rows.plain(llm_response=None)] * 10
    warehouse = FolderWarehouse(folder / "warehouse")
    for day in days:
        write_day(warehouse, day, rows)
    for path in SAMPLE_RUNS:
        write_run(warehouse, path, chat_rows.DAY)
    build(warehouse, folder / "site")
    yield (
        "report of a week",
        period_report(warehouse, RUBRIC, week_of(days[0]), "Asia/Seoul", AlertPolicy()).replace("\\", ""),
    )
    for name, page in pages(folder / "site").items():
        yield name, page.text
    yield from web_texts(folder, warehouse, days[0])
    source = chat_rows.write_rows(folder / "rows.jsonl", [*rows, chat_rows.plain(timestamp="어제")])
    write_score_folder(folder / "chat", chat_rows.scored(source, folder / "staging"), tuple)
    yield "chat report.md", markdown(folder / "chat" / "report.md")


def web_texts(folder: Path, warehouse: FolderWarehouse, day: date) -> Iterator[tuple[str, str]]:
    """Pages of `aqb web` as people open them, and what stands in the templates of all others and of the judge's page.

    Commands and settings stand in templates as code, which is left out.
    """
    row = warehouse.day_queries(day, RUBRIC).worst_rows(["row_id"], 1).item()
    addresses = ("/rows", f"/rows/{day}/{row}", "/alerts", "/review", "/review/agreement", "/test-runs/index.html")
    with browser(settings_in(folder / "web", warehouse=warehouse.url)) as client:
        for address in addresses:
            yield f"aqb web {address}", opened_page(client, address).text
    for template in (*Path("tasks/web/templates").glob("*.html"), Path("tasks/reports/site/templates/judge.html")):
        markup = NOT_SHOWN.sub("", template.read_text(encoding="utf-8"))
        yield template.name, "\n".join([re.sub("<[^>]*>", " ", markup), *SPOKEN.findall(markup)])


def workbook(path: Path) -> str:
    """Names of tabs and texts of cells, a line a row; without the folded names that the tables have for the metrics."""
    sheets = openpyxl.load_workbook(path).worksheets
    columns = (column for sheet in sheets for column in sheet.iter_cols(values_only=True) if column[0] != STORED_NAME)
    texts = [str(cell) for column in columns for cell in column if cell is not None]
    return "\n".join([*(sheet.title for sheet in sheets), *texts])


def markdown(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("\\", "")


def test_words_are_no_codes(artefacts: dict[str, str]) -> None:
    found = {
        (name, code)
        for name, text in artefacts.items()
        for code in (*CODE.findall(text), *FOREIGN.findall(text))
        if code not in ALLOWED
    }
    assert found == set()


def test_words_are_korean_but_for_terms_of_the_requirements_commands_and_what_agents_say(
    artefacts: dict[str, str],
) -> None:
    found = {(name, word) for name, text in artefacts.items() for word in LATIN.findall(text)}
    assert {(name, word) for name, word in found if word not in TERMS and not CAMEL_CASE.match(word)} == set()
    assert {word for _, word in found} >= TERMS


def test_words_are_one_for_one_thing(artefacts: dict[str, str]) -> None:
    assert {(name, word) for name, text in artefacts.items() for word in OTHER_WORDS.findall(text)} == set()


def wrong_particles(text: str) -> Iterator[str]:
    for found in PARTICLE.finditer(text):
        spoken, particle = found["word"] or found["number"], found["particle"]
        final = (ord(spoken) - ord("가")) % 28 if "가" <= spoken <= "힣" else _FINALS_OF_DIGITS.get(spoken, 0)
        open_ones = (0, _LIEUL) if particle in ("로", "으로") else (0,)
        if (final not in open_ones) != (particle in BEHIND_A_CONSONANT):
            yield found[0]


def test_words_have_the_particles_that_are_spoken(artefacts: dict[str, str]) -> None:
    assert {(name, found) for name, text in artefacts.items() for found in wrong_particles(text)} == set()


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        *(("3건(5.0%)으로", 0), ("3건(5.0%)로 ", 1), ("2/3로 ", 1), ("2/2로 ", 0), ("1/1로 ", 0), ("회차 1/2은 ", 1)),
        *(("'답변 실패'가 ", 0), ("'답변 실패'이 ", 1), ("12%를 ", 0), ("단말(1개)로 ", 0), ("일(2일(3))를 ", 1)),
    ],
)
def test_particle_that_nobody_says_is_seen(said: str, wrong: int) -> None:
    assert len(list(wrong_particles(said.ljust(20)))) == wrong


def test_words_stand_where_an_id_would(artefacts: dict[str, str]) -> None:
    """An id stands behind what it names, never alone in the first cell of a row."""
    rows = {(name, line) for name, text in artefacts.items() for line in text.splitlines() if line.startswith("| ")}
    assert not [row for row in rows if UUID.fullmatch(row[1].split("|")[1].strip())]


def test_every_exception_is_still_one(artefacts: dict[str, str]) -> None:
    said = {code for text in artefacts.values() for code in CODE.findall(text)}
    assert said >= ALLOWED
