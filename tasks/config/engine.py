"""`[engine]`: how the work of a run is distributed."""

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.config.section import Section

_PLACE = r"[^/\s]+:\d{1,5}"


class EngineSettings(Section):
    """How the work is distributed."""

    workers: int = Field(default=0, ge=0, le=256)
    """Processes that score the rows of a day or of a file; 0: one for each core, and a single one for small inputs."""

    task_runner: Literal["processes", "dask", "ray"] = "processes"
    """Where a flow scores the parts of a day: in processes of this machine, or on an existing cluster."""

    task_runner_address: str = ""
    """That cluster: the scheduler of Dask (`tcp://10.0.0.5:8786`), or the head of Ray (`ray://10.0.0.5:10001`)."""

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        if self.task_runner != "processes" and not self.task_runner_address:
            raise ValueError(f"task_runner = {self.task_runner} needs task_runner_address, that of the cluster")
        if self.task_runner == "dask" and not re.fullmatch(rf"((tcp|tls|wss?)://)?{_PLACE}", self.task_runner_address):
            raise ValueError("the task_runner_address of Dask is tcp://HOST:PORT, as its scheduler prints it")
        if self.task_runner == "ray" and not re.fullmatch(rf"(ray://)?{_PLACE}", self.task_runner_address):
            raise ValueError("the task_runner_address of Ray is ray://HOST:PORT, or HOST:PORT of a node here")
        return self
