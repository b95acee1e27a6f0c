"""Settings: `aqb.toml`, then `AQB_*` variables, then options of a command; one frozen value and its origins."""

import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from scoring.errors import UsageError
from tasks.config.addresses import SERVICES_FOLDER
from tasks.config.alerts import AlertsSettings
from tasks.config.bigquery import BigQuerySettings
from tasks.config.chat_rows import ChatRowSettings, ServiceSettings
from tasks.config.engine import EngineSettings
from tasks.config.judge import JudgeSettings
from tasks.config.names import (
    PREFIX,
    environment,
    is_json,
    leaves,
    names_in_lists,
    nearest_names,
    problem_text,
    variable_of,
)
from tasks.config.secret_places import ELSEWHERE, read_secret
from tasks.config.secrets import Url, holds_secret, is_masked, part_of
from tasks.config.section import FolderOrAddress, LocalFolder, Section, Zone
from tasks.config.testruns import InboxSettings
from tasks.config.web import WebSettings

SETTINGS_FILE = "aqb.toml"
_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH

# `tolerance_percent = 1` equals "1".
_OptionValue = Annotated[str, Field(coerce_numbers_to_str=True)]


class MonitoringSettings(ChatRowSettings):
    """Chat rows of production."""

    engine: Literal["auto", "local", "bigquery"] = "auto"
    """Where rows are scored: on this machine or inside BigQuery; auto: in BigQuery if it has both source and tables."""

    lookback_days: int = Field(default=2, ge=0, le=31)
    """Number of earlier days that a nightly run scores again if their rows have changed (late rows)."""

    catch_up_days: int = Field(default=14, ge=0, le=366)
    """Number of earlier days that a nightly run scores first if no run has completed them."""

    parallel_days: int = Field(default=0, ge=0, le=64)
    """Number of days that a backfill scores in parallel, each in a process; 0: up to one per core if worthwhile."""

    service: tuple[ServiceSettings, ...] = ()
    """`[[monitoring.service]]`: several services, each with its rows, tables, pages and messages. None: one without a
    name.
    """

    @model_validator(mode="before")
    @classmethod
    def _inherited(cls, given: Any) -> Any:
        """Services inherit settings that they do not set."""
        if not isinstance(given, dict) or not isinstance(given.get("service"), list):
            return given
        common = {name: given[name] for name in ChatRowSettings.model_fields if name in given and name != "source"}
        services = [{**common, **one} if isinstance(one, dict) else one for one in given["service"]]
        return {**given, "service": services}

    @field_validator("service")
    @classmethod
    def _different_services(cls, services: tuple[ServiceSettings, ...]) -> tuple[ServiceSettings, ...]:
        if len({one.name for one in services}) < len(services):
            raise ValueError("every service needs a name of its own")
        if sum(one.has_unnamed_days for one in services) > 1:
            raise ValueError("has_unnamed_days is for one service alone")
        return services


class AgreementSettings(Section):
    """When a metric can be trusted without manual review."""

    trusted_from: float = Field(default=0.6, ge=-1, le=1)
    """A metric is trusted if the lower bound of its linear weighted kappa with people reaches this."""


class Settings(BaseSettings):
    """All settings of a run, read once at its start."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
    )

    time_zone: Zone = "Asia/Seoul"
    """The time zone of the calendar days that are scored."""

    warehouse: FolderOrAddress = "data/warehouse"
    """The location of the score tables: a folder, or `bigquery://project/dataset`."""

    reports: LocalFolder = "data/reports"
    """The folder of the reports for people."""

    state_url: Url = "sqlite:///data/state.db"
    """The database of runs: SQLite, or PostgreSQL for teams."""

    log_format: Literal["plain", "json"] = "plain"
    """Log lines on standard error: plain ones, or a JSON document a line."""

    service: str = ""
    """The selected one of several services; empty: all. `aqb --service` selects it for one command."""

    monitoring: MonitoringSettings = MonitoringSettings()

    engine: EngineSettings = EngineSettings()

    test_runs: InboxSettings = InboxSettings()

    judge: JudgeSettings = JudgeSettings()

    agreement: AgreementSettings = AgreementSettings()

    alerts: AlertsSettings = AlertsSettings()

    bigquery: BigQuerySettings = BigQuerySettings()

    web: WebSettings = WebSettings()

    rubric_options: dict[str, dict[str, _OptionValue]] = Field(default_factory=dict)
    """Options of rubrics, by rubric id: `[rubric_options.plan-agent]`, then `value_lookup = "direct"`. As a variable
    all of them as JSON: `{"plan-agent": {"value_lookup": "direct"}}`."""

    @model_validator(mode="after")
    def _has_routes_of_services(self) -> Self:
        routes = {route.name for route in self.alerts.route}
        for one in self.monitoring.service:
            if unknown := sorted(set(one.routes) - routes):
                raise ValueError(f"service {one.name} names routes that do not exist: {', '.join(unknown)}")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the calendar days."""
        return ZoneInfo(self.time_zone)

    @property
    def is_of_several(self) -> bool:
        """Whether there are named services and none is selected."""
        return bool(self.monitoring.service) and not self.service

    @property
    def stored_service(self) -> str | None:
        """The service's name in tables and keys; None if it has no name there."""
        of_name = (one for one in self.monitoring.service if one.name == self.service)
        return next((one.name for one in of_name if not one.has_unnamed_days), None)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options override the environment, the environment the file. There is no `.env` file.

        A variable `..._FILE` names the place of a secret's value; the variable itself overrides it.

        Prefect returns settings without their secrets: these are taken from the environment and the file.
        """
        given = init_settings()
        clear, masked = (InitSettingsSource(settings_cls, part_of(given, masked=one)) for one in (False, True))
        variables = EnvSettingsSource(settings_cls)
        # In a section the name of a place would be a field that does not exist.
        values = {name: value for name, value in variables.env_vars.items() if not name.upper().endswith(ELSEWHERE)}
        variables.env_vars = _values_elsewhere() | values
        return clear, variables, InitSettingsSource(settings_cls, _settings_in_file()), masked


def load_settings(**options: Any) -> Settings:
    """The settings of this run; `options` are those given on the command line.

    Raises:
        UsageError: a setting that does not exist or has a wrong value; names each and where it stands. Also a file
            that holds secrets and that others may read.
    """
    _refuse_unknown_variables()
    if Path(SETTINGS_FILE).is_dir():
        raise UsageError("is a folder", where=SETTINGS_FILE, fix="remove it, or put the settings file in its place")
    try:
        settings = Settings(**options)
    except ValidationError as error:
        raise _wrong(error, options) from error
    except SettingsError as error:
        fix = f'write it as JSON, such as ["a", "b"] or {{"name": "value"}}, or set it in {SETTINGS_FILE}'
        raise UsageError("a list or a table that is no JSON", where=", ".join(_no_json()), fix=fix) from error
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", where=SETTINGS_FILE, fix="check its permissions"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:  # the last of nested lists
        raise UsageError(
            f"not valid TOML in UTF-8: {error}", where=SETTINGS_FILE, fix="correct it, or save it as UTF-8"
        ) from error
    _refuse_unknown_options(settings)
    _refuse_readable_secrets(settings)
    return settings_of_service(settings, settings.service) if settings.service else settings


def settings_of_service(settings: Settings, name: str) -> Settings:
    """The settings of one service: its rows, reports and routes replace the general ones.

    Raises:
        UsageError: there is no such service.
    """
    services = {one.name: one for one in settings.monitoring.service}
    if name not in services:
        raise UsageError(
            f"there is no service '{name}'", fix=f"use one of: {', '.join(services) or '(none has a name)'}"
        )
    one, alerts = services[name], settings.alerts
    own = {field: getattr(one, field) for field in ChatRowSettings.model_fields}
    told = {
        "route": tuple(route for route in alerts.route if not one.routes or route.name in one.routes),
        "reports_url": alerts.reports_url and f"{alerts.reports_url.rstrip('/')}/{SERVICES_FOLDER}/{name}",
    }
    changed = {
        "service": name,
        "monitoring": settings.monitoring.model_copy(update=own),
        "reports": f"{settings.reports}/{SERVICES_FOLDER}/{name}",
        "alerts": alerts.model_copy(update=told),
        "web": settings.web.model_copy(update={"url": ""}),  # pages belong to one service
    }
    return settings.model_copy(update=changed)


def refuse_masked(settings: Settings) -> None:
    """Refuses masked secrets.

    Raises:
        UsageError: Prefect has stored settings of another folder or environment than this one.
    """
    if masked := [name for name, value in leaves(settings.model_dump()) if is_masked(value)]:
        variables = ", ".join(map(variable_of, masked))
        raise UsageError(
            f"only the mask is left of {', '.join(masked)}: Prefect keeps no passwords and no keys",
            where="settings of the run",
            fix=f"set {variables} where the run takes place, or put them into {SETTINGS_FILE}",
        )


def setting_origins(settings: Settings) -> list[tuple[str, Any, str]]:
    """Every setting as (dotted name, value, origin), in the order of declaration; secrets are masked."""
    in_file = (name for name, _ in leaves(_settings_in_file()))
    origins, given = dict.fromkeys(in_file, SETTINGS_FILE), environment()
    for ending in (ELSEWHERE, ""):
        variables = {name: variable_of(name) + ending for name in _names()}
        origins |= {name: variable for name, variable in variables.items() if variable in given}
    tree = settings.model_dump(mode="json")
    return [(name, value, _origin_of(name, origins)) for name, value in leaves(tree, empty_tables=True)]


def _origin_of(name: str, origins: Mapping[str, str]) -> str:
    """The origin of a setting; a table may come from one origin as a whole."""
    above = name.rpartition(".")[0]
    return origins.get(name) or (_origin_of(above, origins) if above else "default")


def _settings_in_file() -> dict[str, Any]:
    """`aqb.toml`, also with the byte-order mark that Windows' Notepad puts in front; empty where there is none."""
    file = Path(SETTINGS_FILE)
    return tomllib.loads(file.read_text(encoding="utf-8-sig")) if file.is_file() else {}


def _values_elsewhere() -> dict[str, str | None]:
    """The values whose place is named by a variable, by the variables as pydantic-settings names them."""
    given, variables = environment(), map(variable_of, _names())
    places = {variable: place for variable in variables if (place := given.get(variable + ELSEWHERE))}
    return {variable.lower(): read_secret(place, variable + ELSEWHERE) for variable, place in places.items()}


def _names() -> list[str]:
    """The dotted name of every setting, in the order of declaration."""
    return [name for name, _ in leaves(Settings.model_construct().model_dump(), empty_tables=True)]


def _wrong(error: ValidationError, options: Mapping[str, Any]) -> UsageError:
    """Names each invalid setting and its problem; its value may be a secret."""
    names = {".".join(map(str, problem["loc"])): problem for problem in error.errors()}
    given = dict(leaves(options))
    places = {f"--{name.rpartition('.')[2].replace('_', '-')}" if name in given else _origin(name) for name in names}
    unknown = [name for name, problem in names.items() if problem["type"] == "extra_forbidden"]
    known = [*_names(), *Settings.model_fields, *names_in_lists(Settings)]
    return UsageError(
        "settings are wrong: " + "; ".join(problem_text(name, problem["msg"]) for name, problem in names.items()),
        where=", ".join(sorted(places)),
        fix=nearest_names(unknown, known) if unknown else "correct it; docs/reference/settings.md says what each takes",
    )


def _origin(name: str) -> str:
    """The variable of an invalid setting, or the file. A list is one variable for all its elements; a problem of
    several settings of a table comes from all places that set one of them.
    """
    variable, given = variable_of(name), environment()
    if whole := next((one for one in given if f"{variable}__".startswith(f"{one}__")), None):
        return whole
    parts = sorted(one for one in given if one.startswith(f"{variable}__"))
    if not parts or any(one.startswith(f"{name}.") for one, _ in leaves(_settings_in_file())):
        parts.append(SETTINGS_FILE)
    return ", ".join(parts)


def _no_json() -> list[str]:
    """The variables of lists and tables whose value is no JSON."""
    defaults = Settings.model_construct().model_dump()
    texts = {
        variable_of(name) for name, value in leaves(defaults, empty_tables=True) if not isinstance(value, tuple | dict)
    }
    return sorted(
        name
        for name, value in environment().items()
        if name.removesuffix(ELSEWHERE) not in texts and not is_json(value)
    )


def _refuse_unknown_options(settings: Settings) -> None:
    """Refuses options that no rubric has: they would silently change nothing."""
    for rubric_id, options in settings.rubric_options.items():
        from scoring.catalog import rubric_of  # builds every rubric, which few commands need
        from scoring.testruns.rubric import TestRunRubric

        try:
            rubric = rubric_of(rubric_id)
            if not isinstance(rubric, TestRunRubric):
                raise UsageError(f"{rubric_id} has no options", fix="leave them out")
            rubric.chosen(options)
        except UsageError as error:
            raise UsageError(error.what, where=f"rubric_options.{rubric_id}", fix=error.fix) from None


def _refuse_readable_secrets(settings: Settings) -> None:
    """Refuses a key or a password in a file that every user of the machine can read.

    The ping address may stand there without a password: whoever has it can report a night as done, and nothing else.
    """
    file = Path(SETTINGS_FILE)
    if not file.is_file() or not stat.S_IMODE(file.stat().st_mode) & _READABLE_BY_OTHERS:
        return
    in_file = dict(leaves(_settings_in_file()))
    kinds = {**dict(leaves(settings.model_dump())), "alerts.heartbeat.url": ""}
    if secrets := [name for name, value in in_file.items() if _is_secret(value, kinds.get(name))]:
        raise UsageError(
            f"others may read this file, and it holds secrets: {', '.join(secrets)}",
            where=SETTINGS_FILE,
            fix=f"chmod 600 {SETTINGS_FILE}, or put them into {', '.join(map(variable_of, secrets))}",
        )


def _is_secret(value: Any, setting: Any) -> bool:
    """Whether a value is a secret; the setting may now have another value, because a variable overrides it."""
    return bool(value) if isinstance(setting, SecretStr) else holds_secret(str(value))


def _refuse_unknown_variables() -> None:
    known = set(map(variable_of, _names()))
    if unknown := sorted(name for name in environment().keys() - known if name.removesuffix(ELSEWHERE) not in known):
        what, options = f"there is no setting for {', '.join(unknown)}", variable_of("rubric_options")
        fix = f'{options}={{"plan-agent": {{"value_lookup": "direct"}}}} gives all options as JSON'
        of_options = any(name.startswith(f"{options}__") for name in unknown)
        raise UsageError(what, where="environment", fix=fix if of_options else nearest_names(unknown, known))
