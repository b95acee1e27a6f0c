"""What services come through: one reader of `aqb.env`, and the template of a work pool."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import prefect.settings
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import PrefectHTTPStatusError

DEPLOYMENTS = Path("deployments").resolve()


@pytest.fixture
def as_aqb(tmp_path: Path) -> Path:
    """The script with its folders in the working folder, for whoever runs the tests."""
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    text = (DEPLOYMENTS / "as-aqb").read_text(encoding="utf-8")
    for folder in ("/etc/aqb", "/srv/aqb", "/opt/aqb"):
        (tmp_path / folder[1:]).mkdir(parents=True)
        text = text.replace(folder, str(tmp_path / folder[1:]))
    script = tmp_path / "as-aqb"
    script.write_text(text.replace("= aqb ]", f"= {user} ]"))
    script.chmod(0o755)
    return script


def test_as_aqb_hands_every_value_on_as_it_stands_and_runs_in_the_folder(as_aqb: Path, tmp_path: Path) -> None:
    url = "postgresql+psycopg://u:pa$$word@h/db?sslmode=require&connect_timeout=5#x"
    (tmp_path / "etc/aqb/aqb.env").write_text(
        f'# secrets\n\nAQB_STATE_URL={url}\nB="quoted" `id` \\\nC=', encoding="utf-8"
    )
    shown = subprocess.run([as_aqb, "sh", "-c", 'pwd; printf "%s\\n" "$AQB_STATE_URL" "$B" "$C"'], capture_output=True)
    assert shown.stdout.decode().splitlines() == [str(tmp_path / "srv/aqb"), url, '"quoted" `id` \\', ""]


def test_as_aqb_takes_the_line_ends_of_windows_for_line_ends(as_aqb: Path, tmp_path: Path) -> None:
    (tmp_path / "etc/aqb/aqb.env").write_bytes(b"# secrets\r\n\r\nA=https://a.example/x\r\nB=last")
    shown = subprocess.run([as_aqb, "sh", "-c", 'printf "%s|" "$A" "$B"'], capture_output=True, text=True)
    assert shown.stdout == "https://a.example/x|last|"


@pytest.mark.parametrize("line", ["export KEY=5ecret", "5ecret, the second line of a value", " KEY=5ecret"])
def test_as_aqb_names_the_line_that_is_no_variable_and_shows_nothing_of_it(
    as_aqb: Path, tmp_path: Path, line: str
) -> None:
    (tmp_path / "etc/aqb/aqb.env").write_text(f"# secrets\nA=1\n{line}\n")
    done = subprocess.run([as_aqb, "echo", "started"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{tmp_path}/etc/aqb/aqb.env: line 3 is no NAME=value\n"


def test_as_aqb_starts_nothing_without_its_environment(as_aqb: Path, tmp_path: Path) -> None:
    done = subprocess.run([as_aqb, "echo", "started"], capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stdout == ""
    assert f"{tmp_path}/etc/aqb/aqb.env" in done.stderr


@pytest.mark.skipif(shutil.which("runuser", path="/usr/sbin:/sbin") is None, reason="no runuser here")
def test_as_aqb_becomes_the_user_of_the_services_from_cron_too(tmp_path: Path) -> None:
    script = tmp_path / "as-nobody"
    script.write_text((DEPLOYMENTS / "as-aqb").read_text(encoding="utf-8").replace("aqb", "no-such-user"))
    as_cron_does = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    done = subprocess.run(["/bin/sh", script, "echo"], env=as_cron_does, capture_output=True, text=True)
    assert done.stderr.startswith("runuser: ")  # which is started, and refuses that user


def test_settings_of_prefect_in_deployments_are_settings_that_it_has() -> None:
    texts = [path.read_text(encoding="utf-8") for path in DEPLOYMENTS.rglob("*") if path.is_file()]
    named = set(re.findall(r"\bPREFECT_[A-Z_]+", "\n".join(texts)))
    assert "PREFECT_SERVER_DATABASE_CONNECTION_URL" in named
    assert [name for name in named if not hasattr(prefect.settings, name)] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here: its package checks the units")
@pytest.mark.parametrize("unit", sorted(path.name for path in (DEPLOYMENTS / "systemd").iterdir()))
def test_unit_is_one_that_systemd_takes_and_runs_what_is_installed(tmp_path: Path, unit: str) -> None:
    shutil.copytree(DEPLOYMENTS, tmp_path / "opt/aqb/deployments")
    units = shutil.copytree(DEPLOYMENTS / "systemd", tmp_path / "etc/systemd/system")
    for target in ("basic", "multi-user", "network", "network-online", "shutdown", "sysinit", "timers"):
        (units / f"{target}.target").write_text("[Unit]\n")
    (units / "system.slice").write_text("[Slice]\n")
    command = ["systemd-analyze", "verify", f"--root={tmp_path}", "--man=no", f"/etc/systemd/system/{unit}"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@pytest.mark.parametrize("unit", ["aqb-serve", "aqb-server", "aqb-web", "aqb-worker"])
def test_steps_of_an_upgrade_leave_no_service_with_the_code_of_before(unit: str) -> None:
    steps = Path("docs/operate.md").read_text(encoding="utf-8").partition("\n## Upgrade\n")[2].split("```")[1]
    before, after = steps.partition("deployments/install")[::2]
    ended, begun = ([line for line in part.splitlines() if re.search(rf"{unit}\b", line)] for part in (before, after))
    assert any("systemctl restart" in line for line in begun) or (ended and begun)


@pytest.mark.usefixtures("prefect_server")
def test_work_pool_of_kubernetes_jobs_is_one_that_prefect_takes() -> None:
    template = json.loads((DEPLOYMENTS / "gcp" / "kubernetes-pool.json").read_text(encoding="utf-8"))
    broken = {**template, "variables": {"type": "object", "properties": {}}}
    with get_client(sync_client=True) as client:
        made = client.create_work_pool(WorkPoolCreate(name="aqb-gke", type="kubernetes", base_job_template=template))
        with pytest.raises(PrefectHTTPStatusError, match="422"):
            client.create_work_pool(WorkPoolCreate(name="aqb-broken", type="kubernetes", base_job_template=broken))
    assert made.base_job_template == template
