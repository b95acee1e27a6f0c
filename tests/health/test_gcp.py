"""The manifests for Google Cloud: each is of its kind, and names settings, commands and files that there are."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.main import get_command

from flows.cli.app import app
from tasks.config.settings import Settings
from tests.health.test_house import ROOT

GCP = ROOT / "deployments" / "gcp"
SETUP = (GCP / "setup.sh").read_text(encoding="utf-8")
POOL = json.loads((GCP / "kubernetes-pool.json").read_text(encoding="utf-8"))
JOBS = [GCP / f"cloud-run-{name}.yaml" for name in ("nightly", "watch")]
_PLACE = re.compile(r"@([A-Z]+)@")


def documents(path: Path) -> list[Any]:
    """The documents of a manifest, its placeholders filled in as `setup.sh` would."""
    return list(yaml.safe_load_all(_PLACE.sub("team", path.read_text(encoding="utf-8"))))


def containers(path: Path) -> list[dict[str, Any]]:
    """Every container of ours in a manifest of jobs."""
    found: list[dict[str, Any]] = []

    def look(part: Any) -> None:
        for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            look(value)
        if isinstance(part, dict) and part.get("image") == "team":
            found.append(part)

    look(documents(path))
    return found


@pytest.mark.parametrize("number", range(3))
def test_gke_manifest_is_what_kubernetes_takes(number: int) -> None:
    kubernetes_validate.validate(documents(GCP / "gke.yaml")[number], "1.34", strict=True)


def test_jobs_of_a_work_pool_are_what_kubernetes_takes() -> None:
    defaults = {name: one["default"] for name, one in POOL["variables"]["properties"].items()}
    defaults["env"] = [{"name": name, "value": value} for name, value in defaults["env"].items()]
    defaults["command"] = ["prefect", "flow-run", "execute"]

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: filled(value) for name, value in part.items()}
        if isinstance(part, list):
            return [filled(value) for value in part]
        whole = re.fullmatch(r"\{\{ (\w+) \}\}", part) if isinstance(part, str) else None
        if whole:
            return defaults[whole[1]]
        return re.sub(r"\{\{ (\w+) \}\}", lambda name: str(defaults[name[1]]), part) if isinstance(part, str) else part

    kubernetes_validate.validate(filled(POOL["job_configuration"]["job_manifest"]), "1.34", strict=True)


@pytest.mark.parametrize("path", [*JOBS, GCP / "gke.yaml"], ids=lambda path: path.name)
def test_manifest_names_commands_and_settings_that_there_are(path: Path) -> None:
    root: Any = get_command(app)
    assert containers(path)
    for container in containers(path):
        assert container["command"][0] == "aqb"
        assert container["command"][1] in root.commands
        names = {one["name"].removesuffix("_FILE") for one in container["env"]}
        assert_settings({name for name in names if name.startswith("AQB_")})


def test_work_pool_names_settings_that_there_are() -> None:
    names = POOL["variables"]["properties"]["env"]["default"]
    assert_settings({name.removesuffix("_FILE") for name in names if name.startswith("AQB_")})


def assert_settings(variables: set[str]) -> None:
    assert variables
    for variable in variables:
        part: Any = Settings.model_construct().model_dump()
        for name in variable.removeprefix("AQB_").lower().split("__"):
            part = part[name]


def test_setup_is_shell_and_fills_in_every_place_and_names_files_that_there_are() -> None:
    subprocess.run(["sh", "-n", GCP / "setup.sh"], check=True)
    filled = set(re.findall(r"s\|@([A-Z]+)@\|", SETUP))
    assert {place for path in JOBS for place in _PLACE.findall(path.read_text(encoding="utf-8"))} <= filled
    named = set(re.findall(r"deployments/[\w./-]+\.(?:yaml|sh)", SETUP))
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_setup_without_a_webhook_makes_no_empty_secret_because_secret_manager_refuses_one(tmp_path: Path) -> None:
    made = tmp_path / "made"
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(f'#!/bin/sh\ncase $2 in create) cat >"{made}-$3" ;; esac\n')
    gcloud.chmod(0o755)
    part = SETUP[SETUP.index("# Secrets, ") : SETUP.index("# The image, ")]
    given = {"PROJECT": "team-project", "gcloud": str(gcloud), "password": "p", "region": "r", "account": "aqb@team"}
    subprocess.run(["sh", "-euc", part], env={"PATH": os.environ["PATH"], **given}, check=True)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("made-*")}
    assert sizes["made-aqb-slack-webhook"] > 0 and sizes["made-aqb-state-url"] > 0


def test_page_fills_in_every_place_of_manifests_and_pool_with_a_source_that_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "gcp.md").read_text(encoding="utf-8")
    _, of_cluster, of_pool = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    done = dict.fromkeys(("gcloud", "prefect", "aqb"), "") | {"git": "echo 0a1b2c", "kubectl": "cat >>gke.yaml"}
    for tool, script in done.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / tool).chmod(0o755)
    (tmp_path / "deployments").symlink_to(ROOT / "deployments")
    surroundings = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["sh", "-euc", of_cluster + of_pool]
    subprocess.run(command, cwd=tmp_path, env=surroundings, stdin=subprocess.DEVNULL, check=True)
    for name in ("gke.yaml", "pool.json"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert (_PLACE.findall(text), "bigquery://source-project.chat.view_chat_rows" in text) == ([], True)
