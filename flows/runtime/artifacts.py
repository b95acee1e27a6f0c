"""What a flow run shows of itself in Prefect. Outside of a flow run there is nobody to show it to."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext


def show(create: Callable[..., Any], **content: Any) -> None:
    """Creates an artifact of the flow run by one of Prefect's functions, such as `create_markdown_artifact`."""
    if FlowRunContext.get():
        create(**content)


class ProgressArtifact:
    """A bar from 0 to 100 percent; it is updated for whole percents only, each of which is a request."""

    def __init__(self, description: str) -> None:
        self._id: UUID | None = None
        self._shown = 0
        if FlowRunContext.get():
            self._id = cast(UUID, create_progress_artifact(progress=0.0, description=description))

    def show(self, done: int, total: int) -> None:
        """Shows how much of the work is done."""
        percent = 100 * done // total
        if self._id and percent > self._shown:
            self._shown = percent
            update_progress_artifact(self._id, progress=float(percent))
