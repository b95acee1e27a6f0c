"""A rubric file that is wrong is refused with line, column and remedy; one that is right scores."""

from datetime import date

import polars as pl
import pytest

from scoring import score
from scoring.catalog import row_rubric_of_text
from scoring.chat.row_filter import RowFilter
from scoring.chat.sql_scores import scoring_query
from scoring.errors import UsageError
from tests.builders.chat_rows import plain
from tests.builders.rubric_files import STARTERS, assert_refused

STARTER = (STARTERS / "starter_rubric.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "at", "what", "fix"),
    [
        ('id = "support-bot"', 'id = "Support bot"', '"Support bot"', "id: String should match", "Latin letters"),
        ('id = "support-bot"', "id = support", "support", "no TOML: Invalid value", "quotes"),
        ('gives = "refused"', 'gives = "not-able"', '"not-able"', "gives: String should match", "Latin letters"),
        ('level = "critical"', 'lvl = "critical"', '"critical"', "no key lvl", "did you mean level?"),
        (
            '[columns.help_score]\ntitle = "Help"',
            "[columns.help_score]",
            "[columns.help",
            "title is missing",
            "add title",
        ),
        ("[columns.help_score]", "[columns.select]", "[columns.select]", "name select has a meaning", ""),
        ("[columns.help_score]", "[columns.tenant_id]", "[columns.tenant_id]", "name tenant_id has a meaning", ""),
        *(
            ("[columns.help_score]", f"[columns.{name}]", "[columns", f"name {name} has a meaning", "")
            for name in (
                "flagged",
                "step_2",
                "numbered",
                "key_ordinal",
                "counted",
                "day_total",
                "current_date",
                "alike",
                "place",
            )
        ),
        ("[kpis.good_rate]", "[kpis.added]", "[kpis.added]", "name added has a meaning", ""),
        ("[columns.help_score]", "[columns.self]", "[columns.self]", "name self has a meaning", ""),
        (
            "[columns.help_score]",
            "[columns.Help]",
            "[columns.Help]",
            "Help: String should match",
            "small Latin letters",
        ),
        ("[kpis.good_rate]", '[metrics.helpful]\ntitle = "H"\n[kpis.good_rate]', "[metrics", "no key metrics here", ""),
        ("[columns.help_score]", "[columns.page]", "[columns.page]", "name page has a meaning", ""),
        (
            "[alerts.no_answer]",
            "[alerts.no_rows]",
            "[alerts.no_rows]",
            "no_rows is the name of an alert",
            "another name",
        ),
        ("[alerts.no_answer]", "[alerts.kpi_x]", "[alerts.kpi_x]", "kpi_x is the name of an alert", "another name"),
        *(
            (
                "[kpis.good_rate]",
                f'[columns.name_length]\ntitle = "Length"\nvalue = "LENGTH({of})"\n'
                '[kpis.mean_length]\ntitle = "Length"\nmean_of = "name_length"\n[kpis.good_rate]',
                '"name_length"',
                "never NULL",
                "say what NULL earns",
            )
            for of in ("tenant_id", "session_id")
        ),
        ('when = "output_tokens = 0"', 'when = "output_tokens == 0"', '== 0"', "expected", "write ="),
        (
            "NOT REGEXP_CONTAINS(llm",
            "total_score > 1 AND REGEXP_CONTAINS(llm",
            "total_score >",
            "does not come before this",
            "move it up",
        ),
        ("total_grade = 'GOOD'", "total_grade = ‘GOOD’", "‘GOOD", "a sign that no rule has: ‘", "write it as '"),
        (
            "NOT REGEXP_CONTAINS(llm_response,",
            "STARTS_WITH(llm_response,",
            "STARTS_WITH",
            "found STARTS_WITH",
            "r'^text'",
        ),
        (
            'of = "LENGTH(llm_response)", at_least = [[120, 40], [40, 25], [15, 10]], called = "Characters"',
            'when = "input_tokens + output_tokens > 9", gives = 1',
            "input_tokens +",
            "found a number",
            "give points for it",
        ),
        (
            'when = "output_tokens = 0"',
            'when = "help_score = 0"',
            'help_score = 0"',
            "no column",
            "those that are there",
        ),
        ('when = "output_tokens = 0"', 'when = "LENGTH(output_tokens) = 0"', "LENGTH", "expected a text", ""),
        ("rate_of = \"total_grade = 'GOOD'\"", 'rate_of = "total_score"', 'total_score"', "expected a cond", "compare"),
        (
            "rate_of = \"total_grade = 'GOOD'\"",
            'mean_of = "total_grade"',
            '"total_grade"',
            "expected a whole number",
            "",
        ),
        (
            '[crosstab]\nrows = "help_grade"\ncolumns = "tone_grade"\ncaption = "Help and tone"\n',
            "",
            "# A rubric",
            "the table crosstab is missing",
            "add [crosstab]",
        ),
        (
            STARTER[STARTER.index("[kpis") : STARTER.index("[crosstab]")],
            "",
            "# A",
            "table kpis is missing",
            "[kpis.NAME]",
        ),
        ("rate_of = \"total_grade = 'GOOD'\"\n", "", "[kpis.good_rate]", "give one of the keys rate_of", ""),
        ("total_grade = 'GOOD'", "total_grade = 'GODO'", "total_grade =", "no code GODO", "did you mean GOOD?"),
        (
            "rate_of = \"total_grade = 'GOOD'\"",
            "rate_of = \"failure_type IN ('refused', 'late')\"",
            "failure_type IN",
            "no code late",
            "'refused'",
        ),
        ("{ help_score = 80, tone", "{ help_score = 70, tone", "{ help_score = 70", "90 %", ""),
        ("{ help_score = 80, tone", "{ help_score = 80, tones", "{ help_score", "no column tones_score", "tone_score?"),
        ("[[120, 40], [40, 25]", "[[12, 40], [40, 25]", "[[12, 40]", "must fall", ""),
        ("otherwise = 50", 'otherwise = "a"', "[{ when", "one of both", ""),
        ("otherwise = 50", "gives = 50", "[columns.tone_score]", "gives does not go with first", ""),
        ('grades_of = "tone_score"', 'grades_of = "tone_grade"', '"tone_grade"', "tone_grade does not come before", ""),
        ('grades_of = "tone_score"', 'grades_of = "help_score"', '"help_score"', "graded twice", ""),
        ("at_least = 100, ", "", "[{ code", "WARM needs the key at_least", ""),
        ('code = "PLAIN"', 'code = "warm"', "[{ code", "one code", ""),
        ('kept_grades = ["POOR"]', 'kept_grades = ["BAD"]', '["BAD"]', "no grade BAD", "GOOD, OKAY, POOR"),
        ('failure = "failure_type"', 'failure = "tone_grade"', '"tone_grade"', "no column tone_grade with", ""),
        ('gives = "refused", title = "Refused"', 'gives = "refused"', "[{ when", "refused has no title", "titles"),
        (
            'gives = "refused", title = "Refused" }',
            'gives = "refused", title = "Refused" }, { when = "output_tokens = 1", gives = "refused", title = "" }',
            "[{ when",
            "refused has two titles",
            "same title",
        ),
        (
            'rows = "help_grade"',
            'rows = "total_grade"',
            '"total_grade"',
            "no grades of a part",
            "help_grade, tone_grade",
        ),
        ('columns = "tone_grade"', 'columns = "help_grade"', '"help_grade"', "same grades", ""),
        ('title = "Tone"', 'title = "To\\nne"', '"To', "on one line", ""),
        ("[alerts.no_answer]", "[alerts.a]\n[alerts.no_answer]", "[alerts.a]", "key level is missing", ""),
        ("at_least = 70,", "at_least = nan,", "nan,", "expected a whole number or a number", ""),
        ("[120, 40]", "[120, 40.5]", "40.5]", "expected a whole number", ""),
        ("[120, 40]", "[120]", "[120]", "Field required", ""),
        ("[columns.help_score]", "[[columns.help_score]]", "[[columns", "expected a table", ""),
        ('{ of = "LENGTH(llm_response)", at', "{ at", "{ at_least", "at_least needs the key of", ""),
        ("called =", "at_most = [[9, 1]], called =", "{ of", "give one of the keys when", ""),
        ("[[120, 40]", "[[1e99, 40]", "[[1e99", "no value is at least 1e+99: they go from 0 to", "that they reach"),
        (
            "rate_of = \"total_grade = 'GOOD'\"",
            'rate_of = "help_score > 9 AND LENGTH(llm_response) > 9"',
            '"help_score > 9',
            "a KPI that looks at llm_response",
            "make a column",
        ),
        ("at_least = 75", "at_least = 750", '"total_score"', "no value is at least 750: they go from 0 to 100", ""),
        (
            "rate_of = \"total_grade = 'GOOD'\"\nat_least = 0.8",
            'mean_of = "total_score"\nat_most = -1',
            '"total_score"',
            "no value is at most -1: they go from 0 to 100",
            "that they reach",
        ),
        (
            "[kpis.good_rate]",
            "[kpis.mean_tone_score]",
            "[kpis.mean",
            "mean_tone_score is the mean of tone_score",
            'write mean_of = "tone_score"',
        ),
        (
            'title = "Refused" }]',
            'title = "Refused" }]\notherwise = "fine"\notherwise_title = "Fine"',
            '"fine"',
            "every row would have failed",
            "leave otherwise out",
        ),
        ("at_least = 0.8", "at_least = 80", "[kpis", "a share goes from 0 to 1, its target is 80", ""),
        ('caption = "Help and tone"', 'caption = "Help"\nid = "a"', '"a"', "no key id here", "to its table"),
        (
            "weights = { help_score = 80, tone_score = 20 }",
            'value = "help_score"',
            "[columns.help",
            "0 columns have",
            "",
        ),
    ],
)
def test_rubric_file_that_is_wrong_is_refused_with_its_place(old: str, new: str, at: str, what: str, fix: str) -> None:
    assert STARTER.count(old) == 1
    assert_refused(row_rubric_of_text, STARTER.replace(old, new), at, what, fix)


def test_rubric_file_with_too_many_alert_rules_says_how_many_there_may_be() -> None:
    rules = "".join(
        f'[alerts.rule_{number}]\ntitle = "R"\nlevel = "warning"\naction = "A"\nwhen = "output_tokens = {number}"\n'
        for number in range(12)
    )
    text = STARTER.replace("[alerts.no_answer]", f"{rules}[alerts.no_answer]")
    what = "alerts: more entries than the 12 that there may be"
    assert_refused(row_rubric_of_text, text, "[alerts.rule_0]", what, "keep the 12 that matter most")


def test_no_column_has_the_name_of_a_condition_that_addresses_of_rows_carry() -> None:
    day = date(2026, 2, 13)
    wanted = RowFilter(day, day, ("t1",), {}, ("rule",), "kpi", (13,), 0, 100, "text", "template", "session")
    for name, _ in wanted.pairs():
        column = f'\n[columns.{name}]\ntitle = "열"\nvalue = "answer_length > 1"\n'
        with pytest.raises(UsageError, match=f"the name {name} has a meaning of its own"):
            row_rubric_of_text(STARTER + column)


def test_mean_of_a_condition_is_refused_with_the_key_of_a_share() -> None:
    column = '[columns.answered]\ntitle = "Answered"\nvalue = "output_tokens > 0"\n'
    kpi = '[kpis.answered_rate]\ntitle = "Answered"\nmean_of = "answered"\n'
    text = STARTER.replace("[alerts.no_answer]", f"{column}{kpi}[alerts.no_answer]")
    assert_refused(row_rubric_of_text, text, '"answered"', "answered is a condition, no score", "write rate_of")


@pytest.mark.parametrize(
    ("score_of", "mean", "target", "verdict"),
    [
        ("help_score", 62.5, 50, "met"),
        ("answer_length", 150.0, 140, "met"),
        ("answer_length", 150.0, 1_000, "missed"),
        ("loss", -5.0, -2, "missed"),
    ],
)
def test_mean_of_whole_numbers_is_held_against_its_target(
    score_of: str, mean: float, target: int, verdict: str
) -> None:
    """It was taken for a share of the rows: `aqb score` ended with an error."""
    columns = (
        '[columns.answer_length]\ntitle = "Length"\nvalue = "LENGTH(llm_response)"\n'
        '[columns.loss]\ntitle = "Loss"\nwhen = "answer_length = 190"\ngives = -10\n'
    )
    kpi = f'[kpis.mean_{score_of}]\ntitle = "Mean"\nmean_of = "{score_of}"\nat_least = {target}\n'
    answers = ["x" * length for length in (110, 190) for _ in range(40)]
    rows = [plain(at, llm_response=answer, session_id=f"s{at}") for at, answer in enumerate(answers)]
    kpis = score(pl.DataFrame(rows), STARTER.replace("[alerts.no_answer]", f"{columns}{kpi}[alerts.no_answer]")).kpis
    name = f"mean_{score_of}"
    found = kpis.filter(tenant_id="*").row(0, named=True)
    assert (found[name], found[f"{name}_verdict"]) == (mean, verdict)
    assert found[f"{name}_low"] < mean < found[f"{name}_high"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "line 1, column 1"),
        ("a = " + "[" * 5_000, "line 1, column 1"),
        ("a = 1\nb = " + "1" * 5_000, "line 2, column 5"),
        ("a = 1\nb" + ".b" * 20 + " = 1", "line 2, column 40"),
        ("a = 1\nb" + ".b" * 10_000 + " = 1", "line 2, column 1"),
        ("[a]\nb = 1\n[a]\n", "line 3, column 3"),
        ("a = 1\n[b", "line 2, column 3"),
        ("#" * 500_001, "line 1, column 1"),
    ],
)
def test_text_that_is_no_rubric_file_is_refused_with_a_line(text: str, place: str) -> None:
    with pytest.raises(UsageError) as refused:
        row_rubric_of_text(text, "my.toml")
    assert refused.value.where == f"my.toml, {place}"


def test_rubric_file_of_an_editor_on_windows_is_the_same_rubric() -> None:
    assert row_rubric_of_text("\ufeff" + STARTER.replace("\n", "\r\n")) == row_rubric_of_text(STARTER)


def test_starting_file_scores_rows_in_python() -> None:
    answers = [
        "I cannot help with that.",
        "Happy to help: open Settings, then click Security and choose a new password.",
    ]
    rows = [plain(minute, llm_response=answer) for minute, answer in enumerate(answers)]
    scored = score(pl.DataFrame(rows), STARTER).scored
    assert scored["rubric"].unique().to_list() == ["support-bot"]
    assert scored.select("help_score", "tone_score", "total_score", "total_grade", "failure_type").rows() == [
        (10, 50, 18.0, "POOR", "refused"),
        (85, 50, 78.0, "GOOD", None),
    ]


def test_grade_without_a_sign_has_a_short_one() -> None:
    text = STARTER.replace('code = "OKAY", at_least', 'code = "OKAY", sign = "♡", at_least').replace('"HELPS"', '"AA"')
    final, part, _ = row_rubric_of_text(text).scales
    assert [grade.sign for grade in (*final.grades, *part.grades)] == ["G", "♡", "P", "AA", "L"]


def test_rubric_file_without_alerts_for_rows_that_are_not_scored_raises_none_of_them() -> None:
    rows = pl.DataFrame([plain(0, output_tokens=0.0), plain(1, output_tokens=0.0, llm_response=None)])
    alerts = {}
    for text in (STARTER, STARTER.replace("on_excluded_rows = true\n", "")):
        found = score(rows, text)
        alerts[text] = found.scored["alert_level"].to_list(), found.excluded["alert_level"].to_list()
    assert list(alerts.values()) == [(["critical"], ["critical"]), (["critical"], [None])]


def test_columns_and_kpis_added_later_stand_behind_those_that_were_there() -> None:
    later = '\n[columns.has_link]\ntitle = "Link"\nvalue = "LENGTH(llm_response) > 9"\nadded_later = true\n'
    kpi = '[kpis.link_rate]\ntitle = "Links"\nrate_of = "has_link"\nadded_later = true\n'
    before, after = row_rubric_of_text(STARTER), row_rubric_of_text(STARTER + later + kpi)
    for table in ("scores_schema", "kpis_schema"):
        old, new = getattr(before, table).names, getattr(after, table).names
        version = old.index("rubric_version") + 1
        assert new[:version] == old[:version]
    assert "has_link" in after.scores_schema.names[after.scores_schema.names.index("rubric_version") :]
    assert "link_rate" in after.kpis_schema.names[after.kpis_schema.names.index("rubric_version") :]


def test_sign_that_ends_lines_of_a_text_stays_in_the_rule_of_the_query() -> None:
    text = STARTER.replace("Settings|click", "Settings|next\u0085line")
    query = scoring_query(row_rubric_of_text(text), chat_rows="SELECT 1", time_zone="UTC", keep_text="none")
    assert r"r'https://|[0-9]\. |Settings|next" + "\u0085line'" in query
