"""`aqb automations`: creates or replaces the automations of a file on the Prefect server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.runtime.prefect_env import reaching_prefect, require_lasting_server
from scoring.errors import UsageError

if TYPE_CHECKING:
    from prefect.events.schemas.automations import AutomationCore


def automations(
    file: Annotated[Path, typer.Option(help="The automations.")] = Path("deployments/automations.yaml"),
) -> None:
    """Bring the automations of a file to the Prefect server (PREFECT_API_URL); those of the same name are replaced.

    One that was switched off in the UI stays off.

    Example: aqb automations --file deployments/automations.yaml
    """
    from prefect.client.orchestration import get_client

    wanted = read_automations(file)
    require_lasting_server()
    with reaching_prefect(), get_client(sync_client=True) as client:
        for one in wanted:
            there = client.read_automations_by_name(one.name)
            if there:
                client.update_automation(there[0].id, one.model_copy(update={"enabled": there[0].enabled}))
            else:
                client.create_automation(one)
            typer.echo(f"{one.name}: {'replaced' if there else 'created'}")


def read_automations(file: Path) -> list[AutomationCore]:
    """Reads the automations of a file.

    Raises:
        UsageError: the file cannot be read, has no list `automations`, or one that Prefect does not accept.
    """
    import yaml
    from prefect.events.schemas.automations import AutomationCore

    try:
        return [AutomationCore(**one) for one in yaml.safe_load(file.read_text(encoding="utf-8"))["automations"]]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise UsageError(
            f"no automations can be read: {type(error).__name__}: {error}",
            where=str(file),
            fix="correct it, or name another with --file: the folder of AQB has deployments/automations.yaml",
        ) from error
