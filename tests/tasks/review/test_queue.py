"""The review workbook: what is in it, what is not, and the way back."""

from fractions import Fraction
from pathlib import Path

import openpyxl
import pytest

from scoring.errors import InputError, UsageError
from tasks.review.pairing import labelled_testruns
from tasks.review.queue import Review, review_queue, share_of
from tasks.review.review_tab import SHEET
from tasks.review.review_workbook import read_review_workbook, write_review_workbook
from tasks.testruns.read_folder import ScoredFolder
from tests.builders.scored_testruns import CHECK, plan_row, scored_folder
from tests.builders.testruns import LONG_HEADER

FORMULA = '=HYPERLINK("https://example.com","눌러 보세요")'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ScoredFolder:
    """Q0 failed in its second round, 99 queries passed; Q1 was asked a formula."""
    rows = [plan_row(f"Q{place}", question=FORMULA if place == 1 else "평가기간 바꿔줘") for place in range(100)]
    return scored_folder(tmp_path_factory.mktemp("run"), [*rows, plan_row("Q0", "2/1", passes=False)])


def queries(review: Review) -> list[str]:
    return list(dict.fromkeys(drawn.item.query_id for drawn in review.items))


def test_without_an_audit_only_flagged_queries_are_reviewed(run: ScoredFolder) -> None:
    review = review_queue(run, Fraction(0))
    assert (queries(review), review.flagged, review.audited) == (["Q0"], 1, 0)
    assert [(drawn.item.round, drawn.item.metrics) for drawn in review.items] == [
        ("1/1", ("intent", "accuracy")),
        ("2/1", ("intent", "accuracy")),
        ("", ("consistency",)),
    ]
    assert {drawn.why for drawn in review.items} == {"정확성 2점 이하인 회차 있음"}


def test_audit_takes_about_its_share_of_the_others_and_always_the_same(run: ScoredFolder) -> None:
    review = review_queue(run, Fraction(20, 100))
    assert 10 <= review.audited <= 30
    assert {drawn.probability for drawn in review.items if drawn.item.query_id != "Q0"} == {0.2}
    assert {drawn.probability for drawn in review.items if drawn.item.query_id == "Q0"} == {1.0}
    assert queries(review) == queries(review_queue(run, Fraction(20, 100)))
    assert set(queries(review)) < set(queries(review_queue(run, Fraction(40, 100))))
    assert review_queue(run, Fraction(1)).audited == 99


def test_queries_between_low_and_good_are_drawn_five_times_as_often(tmp_path: Path) -> None:
    half = f'{CHECK}\n2) assistantMessage에 "급여"와 관련된 내용이 언급되어 있는가'
    rows = [plan_row(f"Q{place}") for place in range(60)]
    for row in rows[:30]:
        row[LONG_HEADER.index("기대결과")] = half
    review = review_queue(scored_folder(tmp_path, rows), Fraction(1, 10))
    assert {drawn.probability for drawn in review.items if int(drawn.item.query_id[1:]) < 30} == {0.5}
    assert {drawn.probability for drawn in review.items if int(drawn.item.query_id[1:]) >= 30} == {0.1}
    assert (review.flagged, review.borderline + review.audited) == (0, len(queries(review)))
    assert review.borderline > review.audited > 0


def test_flagged_queries_do_not_stand_first(run: ScoredFolder) -> None:
    assert queries(review_queue(run, Fraction(1)))[0] != "Q0"


def test_another_run_draws_other_queries(run: ScoredFolder, tmp_path: Path) -> None:
    other = scored_folder(tmp_path, [plan_row(f"Q{place}", question="다시 물음") for place in range(100)])
    assert queries(review_queue(other, Fraction(1, 5))) != queries(review_queue(run, Fraction(1, 5)))


def test_reviewer_sees_question_and_answer_and_no_score(run: ScoredFolder, tmp_path: Path) -> None:
    write_review_workbook(tmp_path / "review.xlsx", run, review_queue(run, Fraction(1)))
    sheet = openpyxl.load_workbook(tmp_path / "review.xlsx")[SHEET]
    header = [cell.value for cell in sheet[1]]
    assert header == [
        *("질의", "회차", "기대 결과", "답변", "의도 충족", "정확성", "일관성", "메모"),
        *("사용한 조건", "화면 요소", "링크", "다른 회차의 답변", "검토하는 까닭", "질의 ID", "파일"),
        "뽑힐 확률",
    ]
    first = dict(zip(header, (cell.value for cell in sheet[2]), strict=True))
    assert first["답변"] == "평가기간을 바꿀 수 있어요."
    assert (first["기대 결과"], first["정확성"]) == (CHECK, None)
    *shown, why, _, _, _ = sheet.iter_cols()
    assert not any("점" in str(cell.value) or "통과" in str(cell.value) for column in shown for cell in column)
    assert {cell.value for cell in why[1:]} == {"무작위로 뽑음", "정확성 2점 이하인 회차 있음"}
    assert sheet.column_dimensions[why[0].column_letter].hidden


def test_reviewer_sees_what_the_other_round_answered(run: ScoredFolder, tmp_path: Path) -> None:
    write_review_workbook(tmp_path / "review.xlsx", run, review_queue(run, Fraction(0)))
    rows = list(openpyxl.load_workbook(tmp_path / "review.xlsx")[SHEET].iter_rows(min_row=2, values_only=True))
    assert [row[11] for row in rows] == ["[2/1]\n무엇을 도와드릴까요?", "[1/1]\n평가기간을 바꿀 수 있어요.", None]
    assert rows[2][3] == "[1/1]\n평가기간을 바꿀 수 있어요.\n\n[2/1]\n무엇을 도와드릴까요?"


def test_criteria_of_every_verdict_stand_in_a_tab_with_its_stored_name(run: ScoredFolder, tmp_path: Path) -> None:
    write_review_workbook(tmp_path / "review.xlsx", run, review_queue(run, Fraction(0)))
    rows = list(openpyxl.load_workbook(tmp_path / "review.xlsx")["점수 기준"].iter_rows(min_row=2, values_only=True))
    assert ("정확성", "3", "통과율 0.5 이상 0.75 미만", "accuracy") in rows
    assert {(title, name) for title, _, _, name in rows} == {
        *(("의도 충족", "intent"), ("정확성", "accuracy"), ("일관성", "consistency")),
    }


def test_verdicts_have_a_drop_down_and_no_cell_is_a_formula(run: ScoredFolder, tmp_path: Path) -> None:
    write_review_workbook(tmp_path / "review.xlsx", run, review_queue(run, Fraction(1)))
    sheet = openpyxl.load_workbook(tmp_path / "review.xlsx")[SHEET]
    assert {validation.formula1 for validation in sheet.data_validations.dataValidation} == {'"5,4,3,2,1,0,판단 불가"'}
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n", "inlineStr"}
    assert FORMULA in {cell.value for row in sheet.iter_rows() for cell in row}


def test_same_run_gives_the_same_workbook(run: ScoredFolder, tmp_path: Path) -> None:
    for name in ("one.xlsx", "two.xlsx"):
        write_review_workbook(tmp_path / name, run, review_queue(run, Fraction(0)))
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()


def filled(run: ScoredFolder, path: Path, **cells: object) -> Path:
    """The review of the flagged query, with these cells filled in: `E2=5`."""
    write_review_workbook(path, run, review_queue(run, Fraction(0)))
    book = openpyxl.load_workbook(path)
    for cell, value in cells.items():
        book[SHEET][cell] = value
    book.save(path)
    return path


def test_filled_workbook_comes_back_as_labels(run: ScoredFolder, tmp_path: Path) -> None:
    path = filled(run, tmp_path / "review.xlsx", E2=5, F2="4", F3="판단 불가", G4=0, H2=" =메모")
    labels = read_review_workbook(path, "kim")
    assert [(one.query_id, one.round, one.metric, one.label, one.reviewer) for one in labels] == [
        ("Q0", "1/1", "intent", "5", "kim"),
        ("Q0", "1/1", "accuracy", "4", "kim"),
        ("Q0", "", "consistency", "0", "kim"),
    ]
    assert {one.file for one in labels} == {run.file}
    assert labels[0].note == " =메모"


def test_review_tab_of_the_scores_comes_back_as_labels(run: ScoredFolder, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(run.folder / "scores.xlsx")
    sheet = book[SHEET]
    assert [(cell.value, sheet[f"M{cell.row}"].value) for cell in sheet["N"][1:]] == [
        ("Q0", "정확성 2점 이하인 회차 있음")
    ] * 3
    sheet["F3"] = 1
    book.save(tmp_path / "filled.xlsx")
    (label,) = read_review_workbook(tmp_path / "filled.xlsx", "kim")
    assert (label.query_id, label.round, label.metric, label.label) == ("Q0", "2/1", "accuracy", "1")
    assert labelled_testruns([label], [run], tmp_path).pairs[0].label == 1


def test_workbook_of_the_first_version_comes_back_as_labels(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = SHEET
    sheet.append(["파일", "Query ID", "방/반복", "질의", "기대결과", "답변", "화면 요소", "정확성 [accuracy]", "메모"])
    sheet.append(["run.csv", "Q1", "1/1", "질의", "", "답변", "", 4, "좋음"])
    book.save(tmp_path / "first.xlsx")
    (label,) = read_review_workbook(tmp_path / "first.xlsx", "kim")
    assert (label.file, label.query_id, label.round, label.metric, label.label, label.note) == (
        *("run.csv", "Q1", "1/1", "accuracy", "4", "좋음"),
    )


def test_verdict_that_is_none_is_named_with_its_row(run: ScoredFolder, tmp_path: Path) -> None:
    path = filled(run, tmp_path / "review.xlsx", E2=5, E3="좋음", F3="5점", F2=7)
    wrong = [r"line 2: '7' is no verdict \(accuracy\)", r"line 3: '5점' .*", r"line 3: '좋음' is no verdict \(intent\)"]
    with pytest.raises(InputError, match=".*; ".join(wrong)):
        read_review_workbook(path, "")


def test_row_that_stands_twice_is_refused_with_both_lines(run: ScoredFolder, tmp_path: Path) -> None:
    path = filled(run, tmp_path / "review.xlsx", E2=3)
    book = openpyxl.load_workbook(path)
    book[SHEET].append([cell.value for cell in book[SHEET][2]])
    book[SHEET].cell(book[SHEET].max_row, 5, 5)
    book.save(path)
    with pytest.raises(InputError, match="line 5: the same item as in line 2, by the same reviewer"):
        read_review_workbook(path, "kim")


def test_label_of_a_workbook_knows_its_row(run: ScoredFolder, tmp_path: Path) -> None:
    (label,) = read_review_workbook(filled(run, tmp_path / "review.xlsx", E3=4), "kim")
    assert label.line == 3


def test_verdict_by_a_formula_without_a_value_is_refused(run: ScoredFolder, tmp_path: Path) -> None:
    path = filled(run, tmp_path / "review.xlsx", E2=5, E3="=2+1")
    with pytest.raises(InputError, match=r"1 formula without a value\n  -> open the workbook in Excel"):
        read_review_workbook(path, "")


@pytest.mark.parametrize("cells", [{}, {"E2": "판단 불가", "H2": "메모"}])
def test_workbook_without_a_verdict_says_that_nothing_is_filled_in(
    run: ScoredFolder, tmp_path: Path, cells: dict[str, object]
) -> None:
    path = filled(run, tmp_path / "review.xlsx", **cells)
    with pytest.raises(UsageError, match=r"no yellow cell is filled with points yet\n  -> choose 0 to 5"):
        read_review_workbook(path, "")


def test_workbook_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.xlsx: cannot be read: No such file"):
        read_review_workbook(tmp_path / "missing.xlsx", "")


@pytest.mark.parametrize("content", [b"", b"no workbook"])
def test_what_is_no_review_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "review.xlsx").write_bytes(content)
    with pytest.raises(InputError, match="no review workbook"):
        read_review_workbook(tmp_path / "review.xlsx", "")


def test_header_that_was_changed_is_refused(run: ScoredFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"columns are missing: 질의 ID; found .*질문.*\n"):
        read_review_workbook(filled(run, tmp_path / "review.xlsx", N1="질문"), "")
    with pytest.raises(InputError, match="columns are missing: 파일, 뽑힐 확률; found 질의, "):
        read_review_workbook(filled(run, tmp_path / "review.xlsx", O1="", P1="", Q1="", R1=""), "")


def test_workbook_without_its_header_is_refused_without_a_word_of_its_first_row(
    run: ScoredFolder, tmp_path: Path
) -> None:
    path = filled(run, tmp_path / "review.xlsx")
    book = openpyxl.load_workbook(path)
    book["검토"].delete_rows(1)
    book.save(path)
    with pytest.raises(InputError, match=r"columns are missing: .*; found no known column\n  -> keep the header"):
        read_review_workbook(path, "")


@pytest.mark.parametrize(
    ("text", "share"), [("5%", "1/20"), ("0.05", "1/20"), ("0", "0"), ("100%", "1"), (" 2.5% ", "1/40")]
)
def test_share_is_written_as_people_write_it(text: str, share: str) -> None:
    assert share_of(text) == Fraction(share)


@pytest.mark.parametrize("text", ["", "5", "-5%", "101%", "five", "5%%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no share"):
        share_of(text)
