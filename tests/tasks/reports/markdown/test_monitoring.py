import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.kpi_figures import kpi_figures
from scoring.markdown import cell
from tasks.chat.sources import ChatRowFiles
from tasks.reports.chat_folder import write_score_folder
from tests.builders.chat_rows import REFUSAL, RUBRIC, best, plain, refused, scored, write_rows

HOSTILE = "a | b\r\n\n| c |\n# d\u2028<script>alert(1)</script> ![x](http://y) `z` **w** &lt; ~~u~~ \\| <!--"


def report(tmp_path: Path, *rows: dict[str, object]) -> str:
    source = write_rows(tmp_path / "rows.jsonl", rows)
    write_score_folder(tmp_path / "out", scored(source, tmp_path / "staging"), ChatRowFiles([source]).fingerprint)
    return (tmp_path / "out" / "report.md").read_text("utf-8")


def table_below(markdown: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading; bars that are escaped belong to their cell."""
    lines = markdown.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0].split("\n")
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("|")]


def test_report_is_korean_and_begins_with_counts_and_kpis(tmp_path: Path) -> None:
    rows = [best(0), refused(1), plain(2, llm_response=None), plain(3, output_tokens=-1)]
    text = report(tmp_path, *rows, *(plain(number, llm_response=None) for number in range(4, 14)))
    title, sentences, heading = text.split("\n\n")[:3]
    assert title == "# 주식 분석 챗봇 운영 모니터링 — 2026-02-13"
    assert sentences.startswith(
        "14행 가운데 1행을 읽지 못했고, 나머지에서 미달로 판단한 목표는 없습니다: 달성 0개, 판단 보류 4개. "
        "가장 먼저 볼 것은 '답변 실패' 1행입니다. "
    )
    assert sentences.count(". ") == 2
    assert heading == "## 핵심 지표"
    assert "행 14건 = 채점 2 + 제외 11 + 거부 1." in text
    assert [[cell.strip() for cell in line] for line in table_below(text, "핵심 지표")] == [
        ["지표", "값", "95% 구간", "목표", "판단", "n"],
        ["---"] * 6,
        ["답변 우수율", "50.0%", "5.5\\~94.5%", "90% 이상", "판단 보류(n 35 이상이어야 달성 가능)", "2"],
        ["실패율", "50.0%", "5.5\\~94.5%", "3% 이하", "판단 보류(n 125 이상이어야 달성 가능)", "2"],
        ["GOLD MINE 비율", "0.0%", "0.0\\~79.3%", "1% 이하", "판단 보류(n 381 이상이어야 달성 가능)", "2"],
        ["평균 Final Score", "53.8점", "–", "65점 이상", "판단 보류(n 30 이상이어야 달성 가능)", "2"],
    ]
    assert "- 제외 — 답변이 없음: 11건" in text
    assert "- 거부 — 음수인 토큰 수: 1건" in text


def test_every_alert_rule_and_every_failure_type_has_a_korean_title(tmp_path: Path) -> None:
    text = report(
        tmp_path,
        refused(0),
        refused(1, llm_response="죄송합니다. 저는 금융 상품을 추천하지 않습니다."),
        refused(2, llm_response="죄송합니다. 저는 주식 이야기만 합니다."),
        refused(3, llm_response="질문의 범위가 너무 넓어 답할 수 없습니다."),
        refused(4, llm_response="입력하신 내용을 정확히 이해하지 못했습니다."),
        refused(5, llm_response="네" * 60, output_tokens=0),
        refused(6, llm_response="네"),
    )
    failures = table_below(text, "실패 유형")[2:]
    assert {line[0].strip() for line in failures} == set(RUBRIC.failure.titles.values())
    titles = [line[0] for line in failures] + [line[1] for line in table_below(text, "알림")[2:]]
    assert [title for title in titles if not re.search("[가-힣]", title)] == []
    assert not re.search("[a-z]+_[a-z]+", text.split("## 데이터 상태")[0])


def test_report_holds_no_character_that_a_terminal_obeys(tmp_path: Path) -> None:
    hostile = "\x1b[31m빨강\x1b]0;제목\x07 \x00\x9b2J \u202eabc\u2066"
    text = report(tmp_path, refused(0, user_input=hostile), plain(1, tenant_id=hostile, output_tokens=hostile))
    assert "빨강" in text
    assert {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs")} == {"\n"}


def test_mean_is_rounded_half_away_from_zero() -> None:
    kpis = {kpi.name: 0.0625 for kpi in RUBRIC.quotients} | {"mean_final_score": 62.25, "rows": 16}
    figures = kpi_figures(RUBRIC.quotients, kpis)
    assert figures["mean_final_score"].value_text == "62.3점"
    assert figures["failure_rate"].value_text == "6.3%"


def test_days_stand_side_by_side_when_there_are_several(tmp_path: Path) -> None:
    text = report(tmp_path, best(0), best(24 * 60), refused(24 * 60))
    assert text.startswith("# 주식 분석 챗봇 운영 모니터링 — 2026-02-13 ~ 2026-02-14\n")
    assert "### 날짜별" in text
    assert "| 2026-02-14 | 2 | 0 | 50.0% | 50.0% |" in text


def test_figure_of_a_day_or_tenant_has_the_digits_that_show_its_side_of_the_target(tmp_path: Path) -> None:
    rows = [best(number, tenant_id="t_2") for number in range(32)] + [refused(40, tenant_id="t_2")]
    assert "| t_2 | 33 | 0 | 97.0% | 3.03% |" in report(tmp_path, *rows, best(50, tenant_id="t_3"))


def test_tenants_stand_side_by_side_on_a_single_day(tmp_path: Path) -> None:
    rows = best(0), best(1, tenant_id="t_2"), refused(2, tenant_id=None), best(3, tenant_id="")
    text = report(tmp_path, *rows)
    assert "### 테넌트별" in text
    assert "| t_2 | 1 | 0 | 100.0% | 0.0% |" in text
    assert "| (테넌트 없음) | 1 | 0 | 0.0% | 100.0% |" in text
    assert "| (빈 테넌트) | 1 | 0 | 100.0% | 0.0% |" in text


def test_forty_tenants_with_most_rows_stand_in_a_report_that_says_where_the_others_are(tmp_path: Path) -> None:
    rows = [best(number, tenant_id=f"t{number:02}") for number in range(45)]
    text = report(tmp_path, *rows, best(50, tenant_id="t44"))
    shown = [line for line in text.split("### 테넌트별")[1].split("\n## ")[0].splitlines() if line.startswith("| t")]
    assert (len(shown), shown[0].startswith("| t44 | 2 |")) == (40, True)
    assert "그 밖의 테넌트 5곳은 `monitoring_kpis` 테이블(`aqb score`는 `kpis.parquet`)에 있습니다." in text


def test_texts_of_people_cannot_break_the_report(tmp_path: Path) -> None:
    text = report(tmp_path, refused(user_input=HOSTILE, tenant_id=HOSTILE), refused(1))
    worst = table_below(text, "점수가 가장 낮은 행")
    assert {len(line) for line in worst} == {8}
    assert len(worst) == 4
    unescaped = re.sub(r"\\.", "", text)
    assert set(unescaped).isdisjoint("<>[]~")
    assert "alert(1)" in unescaped  # it is shown, as text


def test_worst_rows_come_first_and_are_twenty_at_most(tmp_path: Path) -> None:
    asked = (
        refused(minute, user_input=f"지금 {sign}라도 살까")
        for minute, sign in enumerate("가나다라마바사아자차카타파하거너더러머버서", 1)
    )
    text = report(tmp_path, best(0), *asked)
    worst = table_below(text, "점수가 가장 낮은 행")[2:]
    scores = [float(line[2]) for line in worst]
    assert len(worst) == 20
    assert scores == sorted(scores)
    assert "STAR" not in text


def test_questions_alike_stand_once_with_how_often_they_came(tmp_path: Path) -> None:
    asked = (refused(minute, user_input=f"{minute}번째로 살까") for minute in range(1, 22))
    text = report(tmp_path, *asked, refused(40, user_input="그래도 팔까"))
    worst = {line[0].strip(): line for line in table_below(text, "점수가 가장 낮은 행")[2:]}
    assert {question: line[1].strip() for question, line in worst.items()} == {"1번째로 살까": "21", "그래도 팔까": "1"}


def test_questions_alike_that_failed_in_other_ways_stand_apart(tmp_path: Path) -> None:
    short = refused(50, user_input="3번째로 살까", llm_response="네", output_tokens=20.0)
    text = report(tmp_path, *(refused(minute, user_input=f"{minute}번째로 살까") for minute in (1, 2)), short)
    worst = table_below(text, "점수가 가장 낮은 행")[2:]
    failures = {line[-2].strip(): line[1].strip() for line in worst}
    assert len(failures) == 2
    assert failures["거절: 투자 자문(법률)"] == "2"


def test_different_questions_of_one_word_are_called_so(tmp_path: Path) -> None:
    text = report(tmp_path, refused(1, user_input="살까"), refused(2, user_input="팔까"))
    (line,) = table_below(text, "점수가 가장 낮은 행")[2:]
    assert [line[0].strip(), line[1].strip()] == ["낱말 하나뿐인 질문(예: 살까)", "2"]


def test_gold_mine_rows_stand_first_with_what_they_are_and_apart_from_the_lowest(tmp_path: Path) -> None:
    gold = best(0, llm_response=REFUSAL, output_tokens=20.0)
    text = report(tmp_path, gold, *(refused(minute) for minute in range(1, 30)), best(40))
    heading = "GOLD MINE(좋은 질문 S·A에 나쁜 답변 D·F)"
    (row,) = table_below(text, heading)[2:]
    assert row[0].strip().startswith("하늘전자 005930")
    assert text.index(heading) < text.index("## 등급 분포") < text.index("## 점수가 가장 낮은 행")
    lowest = table_below(text, "점수가 가장 낮은 행")[2:]
    assert {line[0].strip() for line in lowest} == {"살까"}


def test_first_twenty_rejected_rows_are_listed_with_place_and_reason_and_no_text(tmp_path: Path) -> None:
    rejected = (plain(minute, timestamp="soon", user_input=f"비밀 {minute}") for minute in range(1, 23))
    text = report(tmp_path, plain(0), *rejected)
    listed = [[cell.strip() for cell in line] for line in table_below(text, "데이터 상태")]
    assert listed[0] == ["파일", "줄", "열", "거부한 까닭"]
    assert [(line[0].endswith("rows.jsonl"), *line[1:3]) for line in listed[2:]] == [
        (True, str(number), "timestamp") for number in range(2, 22)
    ]
    assert all(re.search("[가-힣]", line[3]) for line in listed[2:])
    assert "그 밖에 거부한 2건은" in text
    assert "비밀" not in text


def test_report_without_rejected_rows_lists_none(tmp_path: Path) -> None:
    assert "거부한 까닭" not in report(tmp_path, plain(0))


def test_report_says_in_korean_which_file_could_not_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    write_rows(folder / "a.jsonl", [best(0)])
    (folder / "b.csv").write_bytes("user_input,llm_response\n".encode("utf-16"))
    write_score_folder(tmp_path / "out", scored(folder, tmp_path / "staging"), ChatRowFiles([folder]).fingerprint)
    (line,) = re.findall("- 읽지 못한 파일 — .*", (tmp_path / "out" / "report.md").read_text("utf-8"))
    assert line.endswith(
        "b.csv: UTF-16(Excel의 유니코드 텍스트)으로 저장한 파일입니다. CSV UTF-8(쉼표로 분리)로 저장하세요."
    )


def test_report_of_nothing_says_so(tmp_path: Path) -> None:
    text = report(tmp_path)
    assert "채점한 행 없음" in text
    assert "채점한 행이 없습니다." in text
    assert "실패 유형에 해당하는 행이 없습니다." in text


@given(st.text())
def test_cell_is_one_line_in_which_nothing_means_anything_to_markdown(text: str) -> None:
    shown = cell(text)
    assert len(shown.splitlines()) <= 1
    assert set(re.sub(r"\\.", "", shown)).isdisjoint("|<>`*[]~#&")
    seen = "".join(sign for sign in text if sign.isspace() or unicodedata.category(sign) not in ("Cc", "Cs"))
    seen = re.sub("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", seen)
    assert re.sub(r"\\(.)", r"\1", shown).split() == seen.split()


@pytest.mark.parametrize(
    ("value", "shown"), [("refused_advice", "refused_advice"), ("_a_", r"\_a\_"), (None, "–"), (0, "0"), ("", "")]
)
def test_cells_of_codes_and_missing_values(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_blank_question_is_not_taken_for_one_that_is_not_kept(tmp_path: Path) -> None:
    text = report(tmp_path, refused(0, user_input=""))
    (row,) = table_below(text, "점수가 가장 낮은 행")[2:]
    assert row[0].strip() == "(빈 질문)"


def test_share_of_blocked_calls_is_that_of_scored_and_excluded_rows(tmp_path: Path) -> None:
    text = report(tmp_path, best(0), best(1), plain(2, llm_response=None, output_tokens=0))
    assert "| Critical | LLM 호출 자체가 차단됨 | 1 | 33.3% |" in text
    assert "| Critical | 답변 실패 | 0 | 0.0% |" in text


def test_report_says_why_failure_types_do_not_add_up_to_the_failure_rate(tmp_path: Path) -> None:
    text = report(tmp_path, best(0), plain(1, llm_response="네"))
    assert "실패 유형은 점수와 따로 붙입니다. 유형이 있어도 점수로는 실패가 아닌 행이 있고" in text


def test_report_of_a_file_says_how_many_empty_answers_were_scored(tmp_path: Path) -> None:
    text = report(tmp_path, best(0), plain(1, llm_response=""), plain(2, llm_response=None))
    assert "- 제외 — 답변이 없음: 1건\n- 답변이 빈 행 1건을 빈 답변으로 채점했습니다." in text
    assert "질문이 빈 행" not in text
    alone = report(tmp_path, best(0), plain(1, llm_response=""))
    assert (
        "빈 답변으로 채점했습니다.\n- 제외·거부한 행이 없고, " in alone
    )  # a line of its own, not the end of the one above
