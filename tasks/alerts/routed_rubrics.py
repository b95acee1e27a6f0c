"""Checks that the rubrics which routes name exist: a route with a mistyped one would receive nothing."""

from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches

from scoring.catalog import rubrics
from scoring.errors import AqbError
from tasks.config.services import services_of
from tasks.config.settings import Settings
from tasks.files.rubric_file import chosen_row_rubric, chosen_testrun_rubric


def unknown_rubrics(settings: Settings) -> dict[str, str]:
    """Route -> a sentence on the rubrics that it names and that do not exist; empty if there are none.

    Known are the built-in rubrics, and those in files that the settings name for chat rows or test runs.
    """
    named = {one.name: one.rubrics for one in settings.alerts.route if one.rubrics}
    known = sorted({*rubrics(), *_ids_of_files(settings)}) if named else []
    found = {}
    for route, ids in named.items():
        if unknown := [one for one in ids if one not in known]:
            nearest = get_close_matches(unknown[0], known, 1)
            meant = f"'{nearest[0]}'?" if nearest else ", ".join(known)
            found[route] = f"receives nothing of {', '.join(map(repr, unknown))}: there is no such rubric; {meant}"
    return found


def _ids_of_files(settings: Settings) -> Iterator[str]:
    """The ids of the chosen rubrics; one that cannot be read is reported where it is used."""
    for service in services_of(settings):
        with suppress(AqbError):
            yield chosen_row_rubric(service.monitoring.rubric).id
    for chosen in settings.test_runs.chosen_rubrics:
        with suppress(AqbError):
            yield chosen_testrun_rubric(chosen).id
