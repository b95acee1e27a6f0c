"""The image and the Compose file: what they name is there, and says what its format allows."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from typer.main import get_command

from flows.cli.app import app
from tests.health.test_house import ROOT

DEPLOYMENTS = ROOT / "deployments"
_DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")
COMPOSE = yaml.safe_load(_DEFAULT.sub(r"\1", (DEPLOYMENTS / "compose.yaml").read_text(encoding="utf-8")))
DOCKERFILE = (DEPLOYMENTS / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
INSTRUCTIONS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line.strip() and line[0] != "#"]
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def copied() -> Iterator[tuple[str, str]]:
    """Source in the project and target in the image of every file that is copied out of the project."""
    for name, rest in INSTRUCTIONS:
        if name == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            yield from ((source, target) for source in sources)


def test_every_file_that_the_image_copies_is_there_and_reaches_the_build() -> None:
    sources = [source for source, _ in copied()]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert "*" in IGNORED
    assert {source.split("/")[0] for source in sources} <= {line[1:] for line in IGNORED if line.startswith("!")}


def test_every_package_and_lock_that_installing_needs_is_copied_before() -> None:
    needed = {"pyproject.toml", "requirements.lock", "requirements-dev.lock", "scoring", "tasks", "flows"}
    assert needed <= {source for source, _ in copied()}


def test_image_runs_as_a_user_of_its_own_and_says_whether_it_is_healthy() -> None:
    of_image = dict(one for one in INSTRUCTIONS if len(one) == 2)  # the last of each name
    assert of_image["USER"] == "10001:10001"
    assert {"HEALTHCHECK", "LABEL", "CMD", "WORKDIR"} <= set(of_image)


def services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in COMPOSE["services"].items() if service["image"] == "aqb"}


def commands_of(service: dict[str, Any]) -> list[list[str]]:
    """What a service calls, each command with its arguments."""
    command = service.get("command") or []
    if command[:1] == ["sh"]:
        lines = re.split(r"\n|; *(?:do|done)?", command[-1])
        return [words for line in lines if (words := shlex.split(line)) and words[0] in ("aqb", "prefect")]
    return [command] if command else []


def test_compose_file_says_what_its_format_allows_and_names_what_is_declared() -> None:
    PyCompose.from_yaml(yaml.safe_dump(COMPOSE)).validate()
    names = COMPOSE["services"].keys()
    assert {other for one in COMPOSE["services"].values() for other in one.get("depends_on", {})} <= names
    for service in services().values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["init"] is True  # else what handles no SIGTERM is killed, after ten seconds


def test_compose_file_calls_commands_and_options_that_there_are() -> None:
    called = [words for service in services().values() for words in commands_of(service)]
    ours = [words[1:] for words in called if words[0] == "aqb"]
    assert {words[0] for words in ours} == {"upgrade", "automations", "watch", "status", "web"}
    root: Any = get_command(app)
    for name, *options in ours:
        known = {option for parameter in root.commands[name].params for option in parameter.opts}
        assert {option for option in options if option.startswith("--")} <= known


def test_postgres_is_healthy_only_when_its_databases_are_made() -> None:
    # docker-entrypoint.sh makes them on a server that listens on its socket alone.
    assert "--host=127.0.0.1" in COMPOSE["services"]["postgres"]["healthcheck"]["test"]


def test_every_file_of_the_image_that_a_service_names_is_copied_there() -> None:
    there = {f"{target}{Path(source).name}" for source, target in copied() if target.endswith("/")}
    named = set(re.findall(r"/opt/aqb/deployments/[\w.-]+", yaml.safe_dump(COMPOSE) + DOCKERFILE))
    assert {name for name in named if name != "/opt/aqb/deployments/"} <= there


def test_what_a_host_says_in_files_is_nothing_that_an_upgrade_changes() -> None:
    by_git = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    mounted = {one.split(":")[0] for service in services().values() for one in service["volumes"] if one[0] == "."}
    assert mounted == {"../aqb.toml", "./chat_rows"}
    for one in mounted:
        place = (DEPLOYMENTS / one).resolve().relative_to(ROOT)
        assert {f"/{place}", f"/{place}/"} & set(by_git)


def test_secrets_and_rows_beside_the_compose_file_reach_neither_git_nor_the_build() -> None:
    made = {secret["file"].split("/")[0] for secret in COMPOSE["secrets"].values()} | {"chat_rows"}
    by_git = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {f"/deployments/{name}/" for name in made} <= set(by_git)
    assert {f"deployments/{name}" for name in made} <= set(IGNORED)


def test_further_secrets_of_the_how_to_fit_the_compose_file_and_stay_out_of_git() -> None:
    page = (ROOT / "docs" / "how-to" / "containers.md").read_text(encoding="utf-8")
    added = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    both = {**COMPOSE, "secrets": {**COMPOSE["secrets"], **added["secrets"]}, "services": dict(COMPOSE["services"])}
    for name, more in added["services"].items():
        own = services()[name]
        environment = {**own["environment"], **more["environment"]}
        both["services"][name] = {**own, "environment": environment, "secrets": own["secrets"] + more["secrets"]}
        assert {Path(place).name for place in more["environment"].values()} == set(more["secrets"])
        assert set(more["secrets"]) == added["secrets"].keys()
    PyCompose.from_yaml(yaml.safe_dump(both)).validate()
    assert "/deployments/compose.override.yaml" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", ["install", "as-aqb"])
def test_every_script_may_be_executed(name: str) -> None:
    assert (DEPLOYMENTS / name).stat().st_mode & 0o111 == 0o111


def test_what_root_installs_under_a_strict_umask_may_be_read_by_the_services() -> None:
    head, _, rest = (DEPLOYMENTS / "install").read_text(encoding="utf-8").partition("umask 022")
    assert rest
    assert "venv" not in head.partition("set -eu")[2]
