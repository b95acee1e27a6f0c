"""`aqb` on folders, terminals and machines as people have them."""

from pathlib import Path

from tasks.warehouse import open_warehouse
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.flows.conftest import Command, done


def test_scores_in_a_folder_whose_name_looks_like_a_pattern_are_those_of_its_rows(aqb: Command, folder: Path) -> None:
    rows, others = write_rows(folder / "rows.jsonl", [best(0), refused(1)]), write_rows(folder / "o.jsonl", [best(0)])
    done(aqb, "score", others, "--out", folder / "1")
    done(aqb, "score", rows, "--out", "plain")
    done(aqb, "score", rows, "--out", folder / "[1]")
    for name in ("report.md", "scores.parquet"):
        assert (folder / "[1]" / name).read_bytes() == (folder / "plain" / name).read_bytes()


def test_pattern_below_a_folder_whose_name_looks_like_one_finds_its_files(aqb: Command, folder: Path) -> None:
    for name, rows in (("[1]", [best(0), refused(1)]), ("1", [best(0)])):
        (folder / name).mkdir()
        write_rows(folder / name / "rows.jsonl", rows)
    assert "rows in 2 =" in done(aqb, "score", folder / "[1]" / "*.jsonl", "--out", "out")
    assert "rows in 2 =" in done(aqb, "score", "[1]/*.jsonl", "--out", "out")


def test_comparison_of_folders_whose_names_look_like_patterns_is_of_these_two(aqb: Command, folder: Path) -> None:
    scored_folder(folder / "v1", [plan_row("Q1")])
    scored_folder(folder / "v[1]", [plan_row("Q1", passes=False)])
    told = done(aqb, "compare", folder / "v1", folder / "v[1]")
    assert "나빠진 질의 (1개)" in told


def test_days_of_a_warehouse_whose_name_looks_like_a_pattern_are_its_own(folder: Path) -> None:
    rows = {"wh1": [best(0)], "wh[1]": [best(0), refused(1)]}
    for name, its_rows in rows.items():
        write_scored_day(
            open_warehouse(str(folder / name)), DAY, write_rows(folder / f"{len(its_rows)}.jsonl", its_rows)
        )
    found = open_warehouse(str(folder / "wh[1]")).read("monitoring_scores", [DAY])
    assert found is not None
    assert found.collect().height == 2
