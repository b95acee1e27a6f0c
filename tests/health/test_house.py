"""House rules that a machine can watch over: names, sizes, places, and words that belong to no project."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
IGNORED = {".git/", ".git", *(ROOT / ".gitignore").read_text(encoding="utf-8").split()}
MAX_LINES = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}
FOREIGN_TEXT = {
    "a path of one machine": r"(?<![\w.~-])/(?:root|work|tmp|home|Users)\b",
    "a package registry": r"py(?:pi\.org|thonhosted)|registry\.npm|deb\.debian",
    "a file outside the project": r"\bshared/(?:seeds|real|[A-Z])|/[.]library\b",
}


def project_files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file that is not ignored, as git would list them, but without needing git."""
    for entry in sorted(folder.iterdir()):
        end = "/" if entry.is_dir() else ""
        if {f"{entry.name}{end}", f"/{entry.relative_to(ROOT).as_posix()}{end}"} & IGNORED:
            continue
        if entry.is_dir():
            yield from project_files(entry)
        else:
            yield entry


FILES = list(project_files())
MODULES = [path for path in FILES if path.suffix == ".py"]


def imported_names(source: bytes) -> set[str]:
    """Top-level names that a module imports, wherever the import stands."""
    nodes = list(ast.walk(ast.parse(source)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    from_ = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in plain | from_}


def test_project_is_found() -> None:
    places = {path.relative_to(ROOT).parts[0] for path in MODULES}
    assert {"scoring", "tasks", "flows", "tests"} <= places
    assert ".venv" not in places


def test_types_of_the_packages_reach_those_who_import_them() -> None:
    assert [name for name in ("scoring", "tasks", "flows") if not (ROOT / name / "py.typed").is_file()] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [path for path in MODULES if {path.stem, path.parent.name} & VAGUE_NAMES] == []


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_class_of_the_product_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] in {"scoring", "tasks", "flows"}:
            for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_prefect_is_imported_only_by_flows_and_their_tests() -> None:
    sources = {path.relative_to(ROOT): path.read_bytes() for path in MODULES}
    importers = [path for path, code in sources.items() if b"prefect" in code and "prefect" in imported_names(code)]
    assert [path for path in importers if not {"flows", "faults", "benchmarks"} & set(path.parts[:2])] == []


def test_no_file_speaks_of_the_machine_it_was_written_on() -> None:
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # data: Parquet, spreadsheets, pictures
        for meaning, pattern in FOREIGN_TEXT.items():
            found += [f"{path}: {meaning}: {match.group()}" for match in re.finditer(pattern, text)]
    assert found == []
