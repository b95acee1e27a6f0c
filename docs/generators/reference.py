"""Reference pages, generated from the code: every setting, every column of every table, every command."""

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, get_args

import pyarrow as pa
from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined
from typer.main import get_command

from docs.generators.row_rubric_readme import code_table
from flows.cli.app import app
from scoring.catalog import row_rubric
from scoring.chat.rubric import RowRubric
from scoring.inputs import REJECTED_SCHEMA
from scoring.markdown import one_line
from tasks.chat import tables as monitoring_tables
from tasks.config.judge import JudgeSettings, Price
from tasks.config.settings import MonitoringSettings, Settings
from tasks.judge_quality.anchor_table import ANCHORS_SCHEMA
from tasks.judge_quality.audit import AUDITS_SCHEMA
from tasks.judge_quality.switch import SWITCHES_SCHEMA
from tasks.state.run_ledger import RUNS_SCHEMA
from tasks.testruns import warehouse as run_warehouse
from tasks.testruns.trusted_metrics import AGREEMENTS, AGREEMENTS_SCHEMA
from tasks.warehouse.tables import ALERTS, ANCHORS, AUDITS, REJECTED, RUNS, SCORES, SWITCHES

_GENERATED = "Generated from the code by `make docs`."


def settings_page() -> str:
    """Every setting: its name in `aqb.toml`, its variable, its default, what it does."""
    rows: dict[str, tuple[str, ...]] = {}
    for name, default, meaning in _settings(Settings, ""):
        variable = "–" if "[]" in name else f"`AQB_{name.upper().replace('.', '__')}`"
        of_all = name.replace(".service[]", "")
        if of_all in rows and default != "required":  # a service inherits what it does not set
            default = f"that of `{of_all}`"
        rows[name] = (f"`{name}`", variable, default, one_line(meaning))
    prices = [_price_row(price) for price in JudgeSettings().prices]
    return f"""# Settings

{_GENERATED}
From `aqb.toml` in the folder where `aqb` runs, then the environment, then options of a command; the later one wins.
`aqb doctor` shows what is in force and where it came from. A name with `[]` stands in a list of tables, such as
`[[judge.prices]]`. In a variable a list or a table is JSON: `AQB_WEB__HOSTS='["aqb.example.com"]'`; keys of a table
have no variables of their own.

{code_table(("setting", "variable", "default", "what it does"), rows.values())}

## Prices

List prices in USD per million tokens. Check them against your endpoint's price page; `[[judge.prices]]` adds your
model, or takes the place of the price of one of these.

{code_table(("model", "input", "cached", "put into the cache", "output", "read on", "read at"), prices)}
"""


def _price_row(price: Price) -> tuple[str, ...]:
    written = price.input_usd if price.cache_write_usd is None else price.cache_write_usd
    usd = (price.input_usd, price.cached_usd, written, price.output_usd)
    return (f"`{price.model}`", *(f"{one:g}" for one in usd), str(price.as_of or "–"), price.source or "–")


def tables_page() -> str:
    """Every column of every table of the warehouse."""
    sections = []
    for name, grain, schema in warehouse_tables(row_rubric(MonitoringSettings().rubric)):
        rows = [(f"`{field.name}`", f"`{field.type}`", one_line(described(field))) for field in schema]
        sections.append(f"## {name}\n\n{grain}\n\n{code_table(('column', 'type', 'what'), rows)}\n")
    return f"""# Tables

{_GENERATED}
The tables of the warehouse: Parquet files `<table>/<day>.parquet` in a folder, or BigQuery tables partitioned by
`score_date`. Any column may be NULL where nothing is known. Remarks such as (seed 002, 1.2 M1) name
the [requirement](../requirements.md) that a column comes from.

""" + "\n".join(sections)


def described(field: pa.Field) -> str:
    """What a column means, as its schema says it."""
    text: bytes = (field.metadata or {}).get(b"description", b"")
    return text.decode()


def commands_page() -> str:
    """The help of every command."""
    aqb = get_command(app)
    helps = [f"## {path}\n\n```text\n{text}\n```\n" for path, text in (_help(aqb, "aqb"), *_helps(aqb, "aqb"))]
    return f"""# Commands

{_GENERATED}
Exit codes: 0 done; 1 something failed, was rejected or needs attention, and it says what; 2 wrong usage or settings;
130 stopped by Ctrl-C, 143 by SIGTERM (as every program that ends by it).
`aqb nightly` and `aqb backfill` end with 1 again where the day is done already and something is wrong with it.

""" + "\n".join(helps)


def _settings(
    section: type[BaseModel], prefix: str, defaults: BaseModel | None = None
) -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each setting; `defaults` are those where a section stands in another one."""
    meanings = dict(_meanings(section))
    for name, field in section.model_fields.items():
        inner = _section_of(field.annotation)
        default = field.get_default(call_default_factory=True, validated_data={})
        if defaults is not None:
            default = getattr(defaults, name)
        if inner and isinstance(default, BaseModel):
            yield from _settings(inner, f"{prefix}{name}.", default)
        elif inner:
            yield from _settings(inner, f"{prefix}{name}[].")
        else:
            yield f"{prefix}{name}", _default(default), meanings.get(name, "")


def _meanings(section: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Each setting with the text that stands below it, those that a section inherits first.

    Pydantic could keep them as descriptions, but then every command would read its own source.
    """
    for kind in reversed(section.__mro__):
        if issubclass(kind, BaseModel) and kind.__module__.startswith("tasks."):
            [written] = ast.parse(inspect.getsource(kind)).body
            for setting, text in pairwise(ast.iter_child_nodes(written)):
                match setting, text:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                        yield name, inspect.cleandoc(meaning)


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a setting is, or is a list of."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, SecretStr):
        return "not set"
    if value in (None, "", (), [], {}):
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple | list) and all(isinstance(one, str) for one in value):
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return f"`{value}`"


def warehouse_tables(rubric: RowRubric) -> list[tuple[str, str, pa.Schema]]:
    """Name, grain and columns of every table of the warehouse; `rubric` is that of the chat rows."""
    days, runs = monitoring_tables, run_warehouse
    return [
        (SCORES, "A row per scored chat turn.", rubric.scores_schema),
        (days.EXCLUDED, "A row per chat turn without a question or an answer.", rubric.excluded_schema),
        (days.KPIS, "A row per day and tenant, and one for all tenants (`*`).", rubric.kpis_schema),
        (days.CROSSTAB, "A row per day, question tier and answer grade.", rubric.crosstab_schema),
        (ALERTS, "A row per day, rule and tenant that people should hear of.", days.ALERTS_SCHEMA),
        (REJECTED, "A row per input row that could not be read.", REJECTED_SCHEMA),
        (runs.SCORES, "A row per execution of a test run.", runs.SCORES_SCHEMA),
        (runs.QUERIES, "A row per query of a test run.", runs.QUERIES_SCHEMA),
        (runs.SUMMARIES, "A row per test run.", runs.SUMMARIES_SCHEMA),
        (runs.JUDGEMENTS, "A row per question put to the judge.", runs.DAY_JUDGEMENTS_SCHEMA),
        (AGREEMENTS, "A row per day, metric and agent type that people have labelled.", AGREEMENTS_SCHEMA),
        (ANCHORS, "A row per night and judged question that was asked again.", ANCHORS_SCHEMA),
        (AUDITS, "A row per audit of the judge and what it looked at.", AUDITS_SCHEMA),
        (SWITCHES, "A row per comparison of two models as judges and metric.", SWITCHES_SCHEMA),
        (RUNS, "A row per run.", RUNS_SCHEMA),
    ]


def _helps(command: Any, path: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it, as a terminal of 100 columns shows it."""
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        yield _help(command, path)
    for name, one in inner.items():
        yield from _helps(one, f"{path} {name}")


def _help(command: Any, path: str) -> tuple[str, str]:
    context = command.make_context(path, [], resilient_parsing=True, terminal_width=100, max_content_width=100)
    return path, command.get_help(context).rstrip()
