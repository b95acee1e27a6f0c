"""Several services: the settings of each as if it were the only one, and checks for commands that need one or none.

Source: SPEC 13.
"""

from scoring.errors import UsageError
from tasks.config.addresses import SERVICES_FOLDER
from tasks.config.chat_rows import ServiceSettings
from tasks.config.settings import Settings, settings_of_service


def refuse_several(settings: Settings) -> None:
    """Refuses settings of several services for a command that needs one.

    Raises:
        UsageError: they are of several.
    """
    if settings.is_of_several:
        names = [one.name for one in settings.monitoring.service]
        raise UsageError(
            f"there are several services: {', '.join(names)}",
            fix=f"choose one before the command: aqb --service {names[0]} ...",
        )


def refuse_chosen(settings: Settings, what: str) -> None:
    """Refuses settings of a selected service for a command that concerns none.

    Raises:
        UsageError: one is selected.
    """
    if settings.service:
        raise UsageError(f"{what} are of no service", where=f"service {settings.service}", fix="choose none")


def services_of(settings: Settings) -> list[Settings]:
    """The settings of each service; the given ones for an unnamed or selected service."""
    if not settings.is_of_several:
        return [settings]
    return [settings_of_service(settings, one.name) for one in settings.monitoring.service]


def settings_of_no_service(settings: Settings) -> Settings:
    """The settings for what belongs to no service, from those of one: its reports are those of all."""
    of_service = f"/{SERVICES_FOLDER}/{settings.service}"
    return settings.model_copy(update={"service": "", "reports": settings.reports.removesuffix(of_service)})


def settings_of_former(settings: Settings, name: str | None) -> Settings:
    """Settings that reach the tables of a service that the settings do not name, called `name` there."""
    former = () if name is None else (ServiceSettings(name=name, source=settings.monitoring.source),)
    monitoring = settings.monitoring.model_copy(update={"service": former})
    alone = settings.model_copy(update={"monitoring": monitoring, "service": ""})
    return alone if name is None else settings_of_service(alone, name)
