"""Changes that break files and replies as people, programs and attackers do: the same for the same `Random`."""

import io
import json
import random
import re
import zipfile
from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

# Texts that have meant something to a parser, a spreadsheet, a terminal, a report or a page before.
NASTY_TEXTS = (
    *("", " ", "0", "-1", "1e400", "nan", "9" * 400, "true", "null", "NULL", "None", "#N/A", "#REF!", "=1+1", "＝1+1"),
    *(
        "\0",
        "\0=1",
        "\x1b[31m",
        "\r",
        "\n\n",
        "\t",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\ufffe",
        "\u200d",
        "\U0010ffff",
    ),
    *('"', '""', "'", ",", ";", "|", "||", "\\", "\\u0000", "</script>", "<!--", "]]>", "&#0;", "`", "]("),
    *("{", "[", '{"', "[" * 3_000, '{"a":' * 500, "{}", "[]", '{"status": "에러"}', '{"error": 0}', "\\ud800"),
    *("가" * 5_000, "-" * 20_000, "1 " * 3_000, "a.a." * 2_000, "홍길동 010-1234-5678", "@check", "@check x" * 50),
    *(
        "2026-02-30",
        "9999-12-31T23:59:59+23:59",
        "0001-01-01",
        "1970-01-01T00:00:00Z",
        "10/1",
        "1/1",
        "999/999",
        "SINGLE",
    ),
    *(
        "%s%n",
        "${HOME}",
        "../../etc/passwd",
        "/agent/flow/process/{planId}",
        "https://[::1",
        "?dataKey=%ff",
        "1조 2천억",
    ),
)
NASTY_VALUES: tuple[Any, ...] = (
    *NASTY_TEXTS,
    *(None, True, False, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.1, -0.0, 1e308, float("inf"), float("nan")),
    *([], {}, [[]], {"": None}, "\ud800", "a\udfff", [None] * 100, {"a": {"b": {"c": []}}}),
)
_ENCODINGS = ("utf-8", "utf-8-sig", "cp949", "utf-16", "utf-16-le", "utf-32", "latin-1")
_TOKENS = tuple(text.encode("utf-8", "surrogatepass")[:200] for text in NASTY_TEXTS if text)
_LONGEST = 200_000

Rows = list[list[str]]


def mutated_bytes(data: bytes, draw: random.Random, most: int = 6) -> bytes:
    """Some bits flipped, spans removed, repeated, overwritten or moved, an end cut off."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, most)):
        at, length = draw.randrange(len(changed) + 1), int(2 ** draw.uniform(0, 8))
        match draw.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                del changed[at : at + length]
            case 2:
                changed[at:at] = changed[at : at + length] * draw.randint(1, 5)
            case 3:
                changed[at:at] = draw.choice(_TOKENS)
            case 4:
                changed[at : at + length] = draw.randbytes(length)
            case 5 if draw.random() < 0.3:
                del changed[at:]
            case _:
                other = draw.randrange(len(changed) + 1)
                changed[at:at] = changed[other : other + length]
    return bytes(changed[: len(data) + _LONGEST])


def mutated_rows(rows: Rows, draw: random.Random) -> Rows:
    """Cells replaced, rows and columns removed, repeated or exchanged."""
    changed = [list(row) for row in rows]
    for _ in range(draw.randint(1, 6)):
        if not changed or not changed[0]:
            break
        row = draw.choice(changed)
        column = draw.randrange(len(changed[0]))
        match draw.randrange(9):
            case 0:
                changed.remove(row)
            case 1:
                changed.insert(draw.randrange(len(changed) + 1), list(draw.choice(changed)))
            case 2:
                for each in changed:
                    del each[column : column + 1]
            case 3:
                for each in changed:
                    each.insert(column, each[column] if column < len(each) else "")
            case 4:
                del row[draw.randrange(len(row) + 1) :]
            case 5:
                row += draw.choices(NASTY_TEXTS, k=draw.randint(1, 3))
            case 6 if column < len(row):
                row[column] = mutated_text(row[column], draw)
            case _ if column < len(row):
                row[column] = draw.choice(NASTY_TEXTS)
    return changed


def mutated_text(text: str, draw: random.Random) -> str:
    """A text with something nasty in it, or JSON whose values are others."""
    if text[:1] in ("{", "[") and draw.random() < 0.8:
        try:
            return json.dumps(mutated_json(json.loads(text), draw), ensure_ascii=draw.random() < 0.5)
        except ValueError:
            pass
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(NASTY_TEXTS) + text[at + draw.randrange(3) :]


def mutated_json(value: Any, draw: random.Random) -> Any:
    """A value of which one part is another, away, or there twice."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        rest = {key: part for key, part in value.items() if key != name}
        match draw.randrange(8):
            case 0:
                return rest
            case 1:
                return {**rest, draw.choice(NASTY_TEXTS): value[name]}
            case _:
                return {**value, name: mutated_json(value[name], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        return [*value[:at], *[mutated_json(value[at], draw)] * draw.choice((0, 1, 1, 1, 2, 50)), *value[at + 1 :]]
    if isinstance(value, str) and draw.random() < 0.4:
        return mutated_text(value, draw)
    return draw.choice(NASTY_VALUES)


def delimited(rows: Rows, draw: random.Random, delimiter: str) -> bytes:
    """Rows as a text file in some encoding; quotes are sometimes forgotten, and sometimes bytes are damaged as well."""
    careless = draw.random() < 0.2
    lines = [delimiter.join(cell if careless else _quoted(cell, delimiter) for cell in row) for row in rows]
    text = draw.choice(("\n", "\r\n", "\r\n", "\r")).join(lines) + draw.choice(("", "\n", "\n\n\n"))
    encoding = draw.choice(_ENCODINGS) if draw.random() < 0.3 else "utf-8-sig"
    data = text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    return mutated_bytes(data, draw) if draw.random() < 0.3 else data


def _quoted(cell: str, delimiter: str) -> str:
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if re.search(f'["\r\n{delimiter}]', cell) else cell


def mutated_lines(rows: Sequence[dict[str, Any]], draw: random.Random) -> bytes:
    """JSON Lines whose values, lines and bytes are damaged."""
    lines = [
        json.dumps(mutated_json(row, draw) if draw.random() < 0.4 else row, ensure_ascii=draw.random() < 0.5)
        for row in rows
    ]
    for _ in range(draw.randrange(3)):
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(NASTY_TEXTS))
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return mutated_bytes(data, draw) if draw.random() < 0.4 else data


def mutated_workbook(data: bytes, draw: random.Random) -> bytes:
    """A workbook of which one part is damaged, or the archive itself."""
    if draw.random() < 0.2:
        return mutated_bytes(data, draw)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(list(parts))
        if draw.random() < 0.05:
            del parts[name]
        else:
            parts[name] = (_mutated_xml if draw.random() < 0.75 else mutated_bytes)(parts[name], draw)
        if not parts:
            break
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return written.getvalue()


_NUMBERS = ("0", "-1", "1048577", "99999999999", "ZZZZ9", "XFE1", "A1:ZZZZ9", "A0", "1e9", "", "x", "9" * 30)


def _mutated_xml(data: bytes, draw: random.Random) -> bytes:
    """An attribute or a text with another value, an element away or there twice, another encoding declared."""
    text = data.decode("utf-8", "replace")
    pattern = draw.choice((r'="[^"]*"', r'="[^"]*"', r">[^<]+<", r"<[^>]+>", r'encoding="[^"]*"', r"<row .*?</row>"))
    found = list(re.finditer(pattern, text))
    if not found:
        return mutated_bytes(data, draw)
    place = draw.choice(found)
    old = place.group()
    if old.startswith("="):
        new = f'="{draw.choice((*_NUMBERS, *(t[:100] for t in NASTY_TEXTS)))}"'
    elif old.startswith(">"):
        new = f">{draw.choice((*_NUMBERS, *NASTY_TEXTS))}<"
    elif old.startswith("encoding"):
        new = f'encoding="{draw.choice(("utf-16", "cp949", "x-unknown", "utf-7", "rot13"))}"'
    else:
        new = draw.choice(("", old * 2, old * 50))
    return (text[: place.start()] + new + text[place.end() :]).encode("utf-8", "surrogatepass")


def mutated_parquet(frame: pl.DataFrame, draw: random.Random) -> bytes:
    """A Parquet file whose columns have other names, types or values, or whose bytes are damaged."""
    table = frame.to_arrow()
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(table.num_columns)
        name, column = table.schema.field(at).name, table.column(at)
        match draw.randrange(6):
            case 0:
                table = table.remove_column(at)
            case 1:
                names = table.column_names
                table = table.rename_columns([*names[:at], draw.choice(("", "x", *names)), *names[at + 1 :]])
            case 2:
                table = table.set_column(at, name, pa.nulls(table.num_rows, draw.choice((pa.null(), pa.string()))))
            case 3:
                table = table.set_column(at, name, pa.array([draw.choice(_CELLS)] * table.num_rows))
            case 4:
                texts = (None if value is None else mutated_text(str(value), draw) for value in column.to_pylist())
                whole = [text and text.encode("utf-8", "replace").decode() for text in texts]
                table = table.set_column(at, name, pa.array(whole, pa.large_string()))
            case _:
                table = table.slice(draw.randrange(table.num_rows + 1), draw.randrange(table.num_rows + 1))
        if not table.num_columns:
            break
    written = io.BytesIO()
    pq.write_table(table, written, compression=draw.choice(("zstd", "snappy", "none")))
    return mutated_bytes(written.getvalue(), draw) if draw.random() < 0.4 else written.getvalue()


_CELLS: tuple[Any, ...] = (
    b"\xff\xfe",
    2**62,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    True,
    [],
    [1, None],
    {"a": 1},
    "",
    "가" * 3_000,
)
