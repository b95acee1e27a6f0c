"""What flows and commands work with."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Self

from scoring.chat.rubric import RowRubric
from tasks.config.services import refuse_several, services_of, settings_of_no_service
from tasks.config.settings import Settings
from tasks.files.report_paths import ReportPaths
from tasks.files.rubric_file import chosen_row_rubric
from tasks.state.database import StateDatabase
from tasks.warehouse import Warehouse, open_warehouse


class Context:
    """The settings of a flow or command with the places that they name, each opened once, when it is first used.

    The block of a `with` statement ends with the state database closed. Handed to another process it is one of that
    process's own, which all that are handed there with the same settings share and which ends with it. One that is
    `read_only` does not create or change the state database.

    Of several services each has a context of its own, in `services`; that of all has no rubric and no chat rows.
    """

    def __init__(self, settings: Settings, *, read_only: bool = False) -> None:
        self.settings = settings
        self._is_read_only = read_only

    @cached_property
    def services(self) -> tuple["Context", ...]:
        """A context for each service; this one where there is one alone, without a name or chosen."""
        if not self.settings.is_of_several:
            return (self,)
        return tuple(Context(one, read_only=self._is_read_only) for one in services_of(self.settings))

    @cached_property
    def of_no_service(self) -> "Context":
        """The context of test runs and the judge, which belong to no service; this one unless a service is chosen."""
        if not self.settings.service:
            return self
        return Context(settings_of_no_service(self.settings), read_only=self._is_read_only)

    @cached_property
    def rubric(self) -> RowRubric:
        """The rubric of chat rows.

        Raises:
            UsageError: there is no such rubric, its file is wrong, or there are several services.
        """
        refuse_several(self.settings)
        return chosen_row_rubric(self.settings.monitoring.rubric)

    @cached_property
    def reports(self) -> ReportPaths:
        """The folder of the reports, and the address where people open them."""
        return ReportPaths(Path(self.settings.reports), self.settings.alerts.reports_url)

    @cached_property
    def warehouse(self) -> Warehouse:
        """The warehouse of score tables.

        Raises:
            UsageError: the setting names a kind of warehouse that is not supported.
        """
        return open_warehouse(self.settings.warehouse, self.settings)

    @cached_property
    def state(self) -> StateDatabase:
        """The state database, for all stores in it.

        Raises:
            UsageError: the setting names a kind of database that cannot be used.
        """
        service = self.settings.stored_service
        return StateDatabase(self.settings.state_url, read_only=self._is_read_only, service=service)

    def __reduce__(self) -> tuple[Callable[[Settings], "Context"], tuple[Settings]]:
        return _handed, (self.settings,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (*vars(self).get("services", ()), vars(self).get("of_no_service", self)):
            if one is not self:
                one.__exit__()
        if "state" in vars(self):
            self.state.close()


_handed_before: list[Context] = []


def _handed(settings: Settings) -> Context:
    if not any(one.settings == settings for one in _handed_before):
        for former in _handed_before:
            former.__exit__()
        _handed_before[:] = [Context(settings)]
    return _handed_before[0]
