"""What the pages of chat rows say, and that they say it whatever the rows hold."""

import re
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

from scoring.chat.periods import week_of
from scoring.figures import VERDICT_SIGNS, VERDICT_TITLES
from scoring.markdown import kpi_text
from scoring.rules.arrow_types import empty_frame
from scoring.stats.intervals import wilson_interval
from tasks.chat.tables import KPIS
from tasks.reports.site import listed_rows
from tasks.state.run_ledger import RUNS_SCHEMA
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import RUNS
from tests.builders.chat_rows import BEST_QUESTION, DAY, REFUSAL, RUBRIC, best, of_sessions, plain, refused
from tests.builders.site import Page, build, of_version, page, pages, sources, write_day

DAY_PAGE, ROWS_PAGE = f"monitoring/{DAY}.html", f"monitoring/{DAY}-rows.html"
HOSTILE = '</title></script><script>alert(1)</script><img src=x onerror="alert(2)">'


def segments(found: Page, kpi: str = "failure_rate") -> dict[str, int]:
    """Day -> the part of the line that it stands on."""
    return {point["day"]: point["segment"] for point in found.charts[f"trend-{kpi}"]["points"]}


def test_first_page_gives_each_kpi_with_target_interval_and_n(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, of_sessions([best()] * 30 + [refused()] * 10))
    build(warehouse, site)
    text = page(site).text
    interval = wilson_interval(10, 40)
    assert interval is not None
    card = text[text.index("실패율 목표 3% 이하") :]
    for fact in ("25.0% ■ 미달 하루", f"하루 25.0% ■ 미달 {interval.low * 100:.1f}~{interval.high * 100:.1f}% 40 –"):
        assert fact in card[:200], fact


def test_pages_of_a_day_say_how_many_rows_are_equal_to_an_earlier_one(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best(), best(), best(), plain()], apart=timedelta(0))
    write_day(warehouse, DAY + timedelta(days=1), [best(), plain()], apart=timedelta(0))
    build(warehouse, site)
    said = "질문·답변 길이가 모두 같은 행이 2건 있으니"
    assert said in page(site, DAY_PAGE).text
    assert "모두 같은 행이" not in page(site).text  # the last day has none
    build(warehouse, site)
    assert said in page(site, DAY_PAGE).text


def test_mean_is_as_sure_as_its_sessions_are_many(warehouse: FolderWarehouse, site: Path) -> None:
    rows = [best(), refused()] * 20
    write_day(warehouse, DAY, of_sessions(rows))
    write_day(warehouse, DAY + timedelta(days=1), [row | {"session_id": f"s{n % 2}"} for n, row in enumerate(rows)])
    build(warehouse, site)
    many, few = page(site).charts["trend-mean_final_score"]["points"]
    assert many["value"] == few["value"]
    assert few["high"] - few["low"] > many["high"] - many["low"]


def test_kpi_columns_hold_the_interval_and_the_verdict_that_pages_show(warehouse: FolderWarehouse, site: Path) -> None:
    sure, unsure, few = [best(tenant_id="t_1")] * 400, [best(tenant_id="t_2"), refused(tenant_id="t_2")] * 20, [plain()]
    rows = [row | {"session_id": f"s{number % 50}"} for number, row in enumerate(sure + unsure + few)]
    write_day(warehouse, DAY, rows)
    build(warehouse, site)
    table = warehouse.read(KPIS)
    assert table is not None
    kpis = {row["tenant_id"]: row for row in table.collect().to_dicts()}
    targets = [kpi for kpi in RUBRIC.quotients if kpi.target]
    for kpi in targets:
        (point,) = page(site).charts[f"trend-{kpi.name}"]["points"]
        assert (point["low"], point["high"]) == (kpis["*"][f"{kpi.name}_low"], kpis["*"][f"{kpi.name}_high"])
        assert point["low"] < point["high"]
        assert point["label"].split("\n")[2].endswith(VERDICT_TITLES[kpis["*"][f"{kpi.name}_verdict"]])
    shown, verdicts = page(site, DAY_PAGE).text, set()
    for tenant, row in kpis.items():
        of_tenant = [(kpi_text(row[kpi.name], is_rate=kpi.is_rate), row[f"{kpi.name}_verdict"]) for kpi in targets]
        marks = " ".join(f"{value} {VERDICT_SIGNS[verdict]} {VERDICT_TITLES[verdict]}" for value, verdict in of_tenant)
        assert tenant == "*" or f" {row['rows']} 0 {marks} " in shown
        verdicts |= {verdict for _, verdict in of_tenant}
    assert verdicts == {"met", "missed", "undecided"}


def test_every_chart_has_its_table_and_its_words(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    build(warehouse, site)
    for found in pages(site).values():
        places = [attributes for _, attributes in found.elements if "data-chart" in attributes]
        assert {place["data-chart"] for place in places} == set(found.charts)
        assert all(place["aria-label"] and place["role"] == "img" for place in places)
        drawn_in_cards = [place for place in places if place["data-chart"].startswith("kpi-")]  # type: ignore[union-attr]
        assert len(found.all("details", **{"class": "figures-of"})) == len(places) - len(drawn_in_cards)


def test_cell_of_the_heat_map_leads_to_its_rows(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best()] * 3 + [refused()] * 2 + [plain()])
    build(warehouse, site)
    cells = [a["href"] or "" for a in page(site).all("a") if "&a_grade=" in (a["href"] or "")]
    assert len(cells) == 3
    assert {urlsplit(href).path for href in cells} == {ROWS_PAGE}
    listed = sorted(len(rows_at(site, urlsplit(href).fragment)) for href in cells)
    assert listed == [1, 2, 3]


def rows_at(site: Path, fragment: str) -> list[str]:
    """The ids of the rows of the day that have what a link asks for."""
    rows = page(site, ROWS_PAGE).rows
    facets = {facet["name"]: facet for facet in rows["facets"]}
    found = set(range(len(rows["id"])))
    for name, (value,) in parse_qs(fragment).items():
        place, of = facets[name]["values"].index(value), facets[name]["of"]
        found &= {row for row, has in enumerate(of) if (has >> place & 1 if "many" in facets[name] else has == place)}
    return [rows["id"][row] for row in found]


def test_day_of_more_rows_than_a_page_holds_says_so_beside_each_count(
    warehouse: FolderWarehouse, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_rows, "MOST_ROWS", 3)
    write_day(warehouse, DAY, [best()] * 4 + [refused()] * 2)
    build(warehouse, site)
    listed = page(site, ROWS_PAGE)
    assert listed.rows["question"].count("살까") == 2
    assert len(listed.rows["id"]) == 3
    assert "6행 가운데 알림이나 낮은 등급이 있는 행, 그다음 점수가 낮은 행부터 3행만 담았습니다." in listed.text
    counts = [text for text, href in page(site).links if ROWS_PAGE in href and text[:1].isdigit()]
    assert counts
    assert [text for text in counts if ", 목록은 일부" not in text] == []


def test_day_lists_all_of_more_rows_than_a_period_shows_questions_of(
    warehouse: FolderWarehouse, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_rows, "_QUESTIONS_OF_PERIOD", 3)
    write_day(warehouse, DAY, [best()] * 4 + [refused()] * 2)
    build(warehouse, site)
    assert len(page(site, ROWS_PAGE).rows["id"]) == 6
    assert "6행을 모두 담았습니다." in page(site, ROWS_PAGE).text
    assert "목록은 일부" not in page(site).text


def test_list_says_how_many_of_its_rows_have_an_alert_and_no_score(warehouse: FolderWarehouse, site: Path) -> None:
    blocked = refused(llm_response=None, output_tokens=0.0)
    write_day(warehouse, DAY, [best(), best(1), blocked, refused(llm_response=None)])
    build(warehouse, site)
    said = "3행을 모두 담았습니다. {}이 가운데 1행은 질문이나 답변이 없어 점수 없이 알림만 있습니다."
    of_period = "답변과 나머지 글은 행마다 붙은 날짜를 눌러 봅니다. "
    assert said.format("") in page(site, ROWS_PAGE).text
    assert said.format(of_period) in page(site, f"monitoring/week-{week_of(DAY).first}-rows.html").text


def test_rows_to_read_first_are_one_for_each_template_of_questions(warehouse: FolderWarehouse, site: Path) -> None:
    asked = [refused(minute, user_input=f"{minute}번째로 살까") for minute in range(12)]
    write_day(warehouse, DAY, [*asked, refused(40, user_input="그래도 팔까")])
    build(warehouse, site)
    first = page(site).text.partition("먼저 읽을 행")[2]
    assert [first.count(question) for question in ("번째로 살까", "그래도 팔까")] == [1, 1]


@pytest.mark.long
def test_rows_to_read_first_are_those_of_what_rose_before_gold_mine(warehouse: FolderWarehouse, site: Path) -> None:
    gold = best(llm_response=REFUSAL, output_tokens=20.0)
    for offset, failed in enumerate((1, 1, 1, 1, 1, 40)):
        write_day(warehouse, DAY + timedelta(days=offset), [gold, *[best()] * (60 - failed), *[refused()] * failed])
    build(warehouse, site)
    first = page(site).text.partition("먼저 읽을 행")[2]
    assert "평소보다 높은 알림의 예, 그다음 GOLD MINE" in first
    assert first.index("살까") < first.index(gold["user_input"])


def test_worst_row_says_which_rule_gave_which_points(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [refused()])
    build(warehouse, site)
    text = page(site, DAY_PAGE).text
    assert "답변 점수 0점" in text
    assert "고정 템플릿 거절" in text
    assert "+5 한글이 절반 이상" in text
    assert "거절: 투자 자문(법률)" in text


def test_page_of_rows_lists_every_row_with_the_texts_that_are_kept(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [plain(), best(), refused()])
    build(warehouse, site)
    rows = page(site, ROWS_PAGE).rows
    assert [(question, total < 50) for question, total in zip(rows["question"], rows["total"], strict=True)] == [
        ("살까", True),
        (None, False),
        (None, False),
    ]
    assert "글을 보관하지 않은" not in page(site, DAY_PAGE).text


def test_rows_of_an_older_rubric_are_not_explained_by_the_rules_of_today(
    warehouse: FolderWarehouse, site: Path
) -> None:
    write_day(warehouse, DAY, [refused()], of_version("0"))
    build(warehouse, site)
    text = page(site, DAY_PAGE).text
    assert "살까" in text
    assert "고정 템플릿 거절" not in text


def test_personal_data_is_masked_on_every_page(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [refused(user_input="010-1234-5678로 전화해줘 hong@example.com")])
    build(warehouse, site)
    for found in pages(site).values():
        assert "1234-5678" not in found.source
        assert "hong@" not in found.source
    assert "[전화번호]" in page(site, DAY_PAGE).text


def test_texts_that_look_like_code_stay_texts(warehouse: FolderWarehouse, site: Path) -> None:
    calm = [refused(user_input="살까", tenant_id="t1"), best()]
    write_day(warehouse, DAY, calm)
    build(warehouse, site)
    expected = {name: [tag for tag, _ in found.elements] for name, found in pages(site).items()}
    hostile = refused(user_input=HOSTILE, llm_response=f"죄송합니다. {HOSTILE}", tenant_id=HOSTILE)
    write_day(warehouse, DAY, [hostile | {"output_tokens": 20.0}, best(tenant_id=HOSTILE)])
    build(warehouse, site)
    for name, found in pages(site).items():
        tags = [tag for tag, _ in found.elements]
        assert tags.count("script") == expected[name].count("script")
        assert "img" not in tags
        assert "alert" not in found.title
        assert all("onerror" not in attributes for _, attributes in found.elements)
    assert HOSTILE in page(site, DAY_PAGE).text


def test_new_rubric_version_is_marked_and_not_joined(warehouse: FolderWarehouse, site: Path) -> None:
    days = [DAY + timedelta(days=n) for n in range(4)]
    for day, version in zip(days, ("1", "1", "2", "2"), strict=True):
        write_day(warehouse, day, [best(), refused()], of_version(version))
    build(warehouse, site)
    found = page(site)
    first, second, third, fourth = segments(found).values()
    assert first == second != third == fourth
    assert found.charts["trend-failure_rate"]["changes"] == [{"day": str(days[2]), "label": "채점 기준 버전 1 → 2"}]
    assert f"{days[2]}: 채점 기준 버전 1 → 2" in found.text


def test_alerts_of_a_day_do_not_contradict_its_cards(warehouse: FolderWarehouse, site: Path) -> None:
    """A day of few rows decides nothing: what is said of its target is what longer windows decide."""
    for offset in range(7):
        write_day(warehouse, DAY + timedelta(days=offset), [best()] * 9 + [refused()])
    build(warehouse, site)
    text = page(site).text
    assert "목표 4개 중 1개 미달" in text
    assert "이날 실패율에 포함된 행: 1" in text


def test_windows_never_mix_rubric_versions(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [refused()] * 4, of_version("0"))
    write_day(warehouse, DAY + timedelta(days=1), [best()] * 4, of_version("1"))
    write_day(warehouse, DAY + timedelta(days=2), of_sessions([best(), refused()] * 2), of_version("1"))
    build(warehouse, site)
    card = page(site).text
    card = card[card.index("실패율 목표 3% 이하") :]
    assert "하루 50.0% ▲ 판단 보류(n 125 이상이어야 달성 가능) 15.0~85.0% 4 0.0% 최근 7일 25.0% ▲" in card[:300]


@pytest.mark.long
def test_headline_is_that_of_the_shortest_window_that_decides(warehouse: FolderWarehouse, site: Path) -> None:
    for offset in range(7):
        write_day(warehouse, DAY + timedelta(days=offset), [best()] * 9 + [refused()])
    build(warehouse, site)
    for text in (page(site).text, page(site, f"monitoring/{DAY + timedelta(days=6)}.html").text):
        assert "목표 미달은 1개입니다: 실패율 10.0%(최근 7일, 목표 3% 이하)." in text
    assert "실패율" not in page(site, DAY_PAGE).text.split("가장 먼저 볼 것은")[0]


@pytest.mark.parametrize("empty", [True, False])
def test_day_without_rows_or_without_a_run_leaves_a_gap(warehouse: FolderWarehouse, site: Path, empty: bool) -> None:
    days = [DAY, DAY + timedelta(days=1), DAY + timedelta(days=2)]
    for day in (days[0], days[2]):
        write_day(warehouse, day, [best()])
    if empty:
        write_day(warehouse, days[1], [plain(llm_response=None)])
    build(warehouse, site)
    found = page(site)
    assert list(segments(found)) == [str(days[0]), str(days[2])]
    before, after = segments(found).values()
    assert before != after
    assert (site / f"monitoring/{days[1]}.html").exists() == empty


def test_last_day_without_rows_claims_nothing(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [plain(llm_response=None)])
    build(warehouse, site)
    text = page(site).text
    assert "실패율 목표 3% 이하 – ▲ 미측정" in text
    assert "채점한 행이 없습니다" in text
    assert "1행을 모두 제외했습니다" in text
    assert "0.0%" not in text[: text.index("날짜별 핵심 지표")].replace("0.0% (0.0%)", "")


def test_without_any_day_the_site_says_so(warehouse: FolderWarehouse, site: Path) -> None:
    built = build(warehouse, site)
    assert built.pages == 4  # of nothing: days, alerts, test runs, the judge
    assert built.last_day_page is None
    assert "아직 채점한 날이 없습니다" in page(site).text


def test_alerts_lead_to_their_examples(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [refused()] * 3 + [best()])
    build(warehouse, site)
    of_day = page(site, DAY_PAGE)
    targets = [a["href"][1:] for a in of_day.all("a") if (a["href"] or "").startswith("#row-")]  # type: ignore[index]
    assert targets
    assert set(targets) <= of_day.ids


def test_alert_is_marked_where_its_rate_has_risen(warehouse: FolderWarehouse, site: Path) -> None:
    for offset, failed in enumerate((2, 2, 2, 40)):
        write_day(warehouse, DAY + timedelta(days=offset), [refused()] * failed + [best()] * (60 - failed))
    build(warehouse, site)
    usual, risen = (page(site, f"monitoring/{DAY + timedelta(days=offset)}.html") for offset in (2, 3))
    assert "급증" not in usual.text
    grown = r"답변 실패 급증 주로 .+건, 앞선 날들의 비율로는 .+ 40 \(66\.7%\) \d+\.\d% \(\d+\.\d~\d+\.\d%"
    assert re.search(grown, risen.text)
    assert "실패율 목표 미달 66.7% (목표 3% 이하) 앞서 채점한 3일의 중앙값 3.3%" in risen.text
    assert "평소보다 많음" in page(site).text


def test_day_at_its_usual_rate_is_not_called_higher_while_an_earlier_rise_is_watched(
    warehouse: FolderWarehouse, site: Path
) -> None:
    for offset, failed in enumerate((2, 2, 2, 2, 2, 40, 2)):
        write_day(warehouse, DAY + timedelta(days=offset), [refused()] * failed + [best()] * (60 - failed))
    build(warehouse, site)
    risen, after = (page(site, f"monitoring/{DAY + timedelta(days=offset)}.html").text for offset in (5, 6))
    assert "평소보다 많음" in risen
    assert "평소보다 많음" not in after
    assert "급증" not in after


def test_provisional_day_is_marked(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best()])
    run = {"run_id": "r", "kind": "intraday", "score_date": DAY, "outcome": "completed"}
    frame = pl.DataFrame([run], schema_overrides=dict(empty_frame(RUNS_SCHEMA).schema))
    frame = pl.concat([empty_frame(RUNS_SCHEMA), frame], how="diagonal")
    warehouse.replace_day(RUNS, DAY, RUNS_SCHEMA, [frame])
    build(warehouse, site)
    assert "잠정" in page(site).text
    warehouse.replace_day(RUNS, DAY, RUNS_SCHEMA, [frame.with_columns(kind=pl.lit("nightly"))])
    build(warehouse, site)
    assert "잠정" not in page(site).text


def test_span_counts_calendar_days_and_older_pages_stay(warehouse: FolderWarehouse, site: Path) -> None:
    for offset in (0, 5, 6):
        write_day(warehouse, DAY + timedelta(days=offset), [best()])
    build(warehouse, site)
    build(warehouse, site, span=2)
    assert list(segments(page(site))) == [str(DAY + timedelta(days=5)), str(DAY + timedelta(days=6))]
    assert (site / DAY_PAGE).exists()
    assert str(DAY) not in page(site, f"monitoring/{DAY + timedelta(days=5)}.html").text


def test_scores_of_a_pruned_day_are_not_needed(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best(), refused()])
    warehouse.path("monitoring_scores", DAY).unlink()
    build(warehouse, site)
    assert "50.0%" in page(site).text
    assert "점수표가 없거나" in page(site, DAY_PAGE).text


def test_best_question_is_not_quoted_because_it_was_not_kept(warehouse: FolderWarehouse, site: Path) -> None:
    write_day(warehouse, DAY, [best()])
    build(warehouse, site)
    assert all(BEST_QUESTION not in source for source in sources(site).values())


def test_links_between_days_follow_the_calendar(warehouse: FolderWarehouse, site: Path) -> None:
    days = [date(2026, 2, 27), date(2026, 2, 28), date(2026, 3, 2)]
    for day in days:
        write_day(warehouse, day, [best()])
    build(warehouse, site)
    middle = page(site, f"monitoring/{days[1]}.html")
    assert [a["href"] for a in middle.all("a", rel="prev") + middle.all("a", rel="next")] == [
        f"{days[0]}.html",
        f"{days[2]}.html",
    ]
