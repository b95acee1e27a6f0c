"""`[engine]`: how the work of a run is shared out."""

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.config.section import Section


class EngineSettings(Section):
    """How the work is shared out."""

    workers: int = Field(default=0, ge=0, le=256)
    """Processes that score the rows of a day or of a file; 0: one for each core, and one alone for small inputs."""

    task_runner: Literal["processes", "dask"] = "processes"
    """Where a flow has the parts of a day scored: in processes of this machine, or on an existing Dask cluster."""

    task_runner_address: str = ""
    """The scheduler of that cluster, for example `tcp://10.0.0.5:8786`."""

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        if self.task_runner != "processes" and not self.task_runner_address:
            raise ValueError(f"task_runner = {self.task_runner} needs task_runner_address, that of the scheduler")
        return self
