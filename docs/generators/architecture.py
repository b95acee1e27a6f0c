"""The picture of `docs/architecture.md`: the packages and their imports, as the code has them."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

_START, _END = "<!-- picture: made by `make docs` -->\n", "<!-- end of the picture -->\n"
_FOLDERS = ("flows", "tasks", "scoring")


def architecture_page(written: str, root: Path) -> str:
    """The page with its picture drawn anew; the text around it is written by hand."""
    before, _, rest = written.partition(_START)
    _, _, after = rest.partition(_END)
    return f"{before}{_START}\n```mermaid\n{picture(root)}\n```\n\n{_END}{after}"


def picture(root: Path) -> str:
    """A Mermaid flowchart: a box a package, in the layers of the import contracts, an arrow for what it imports.

    Arrows that follow from others are left out (a -> c where a -> b -> c).
    """
    graph = grimp.build_graph(*_FOLDERS)
    lines = ["flowchart TB"]
    for folder in _FOLDERS:
        rows = layers(root, folder)
        rooms = [room for row in rows for room in row]
        arrows = reduced(_imports(graph, folder, rooms), rooms)
        lines.append(f'  subgraph {folder}["{folder}/"]')
        lines += [f'    {_box(folder, room)}["{room}"]' for room in rooms]
        lines += [f"    {_box(folder, one)} --> {_box(folder, other)}" for one, other in arrows]
        lines.append("  end")
    lines += ["  flows ==> tasks", "  tasks ==> scoring"]
    return "\n".join(lines)


def layers(root: Path, folder: str) -> list[list[str]]:
    """The packages of a folder from the top down, as the import contract of the folder names them."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    mine = next(one for one in contracts if one.get("containers") == [folder])
    return [[room.strip() for room in row.split("|")] for row in mine["layers"]]


def reduced(arrows: set[tuple[str, str]], rooms: Iterable[str]) -> list[tuple[str, str]]:
    """The arrows without those that others imply, in the order of the rooms. There are no circles."""
    order = {room: place for place, room in enumerate(rooms)}

    def reached(start: str, without: tuple[str, str]) -> Iterator[str]:
        for one, other in arrows - {without}:
            if one == start:
                yield other
                yield from reached(other, without)

    kept = [arrow for arrow in arrows if arrow[1] not in set(reached(arrow[0], arrow))]
    return sorted(kept, key=lambda arrow: (order[arrow[0]], order[arrow[1]]))


def _imports(graph: grimp.ImportGraph, folder: str, rooms: Iterable[str]) -> set[tuple[str, str]]:
    names = {f"{folder}.{room}": room for room in rooms}

    def room_of(module: str) -> str | None:
        return names.get(".".join(module.split(".")[:2]))

    found = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            one, other = room_of(module), room_of(imported)
            if one and other and one != other:
                found.add((one, other))
    return found


def _box(folder: str, room: str) -> str:
    return f"{folder}_{room}"
