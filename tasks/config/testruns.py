"""`[test_runs]`: where test runs of agents arrive, what scores them, what a team calls their columns and filters."""

from fnmatch import fnmatchcase
from typing import Annotated
from unicodedata import normalize

from pydantic import AfterValidator, Field, field_validator

from scoring.testruns.column_names import KNOWN_HEADERS
from scoring.testruns.detection import agent_type_named
from scoring.testruns.executions import AgentType
from scoring.testruns.team_names import TeamNames
from tasks.config.section import LocalFolder, Section


def _an_agent(name: str) -> str:
    if name and agent_type_named(name) is None:
        raise ValueError(f"there is no such agent; use one of: {', '.join(AgentType)}")
    return name


_AgentName = Annotated[str, AfterValidator(_an_agent)]


class InboxFiles(Section):
    """Files of the inbox with a rubric or an agent of their own."""

    pattern: Annotated[str, Field(min_length=1)]
    """Which files: their names without folder, with `*` and `?`; capitals do not matter. The first pattern counts."""

    rubric: str = ""
    """The rubric of these files. Empty: `test_runs.rubric`."""

    agent_type: _AgentName = ""
    """The agent of these files: `move`, `plan`, `applicant_management`. Empty: `test_runs.agent_type`."""


class InboxSettings(Section):
    """Test runs of agents: where their files arrive."""

    inbox: LocalFolder = "data/inbox"
    """The folder whose new files (CSV, TSV, XLSX) are scored once each."""

    quiet_s: float = Field(default=5.0, ge=0, le=86_400)
    """Seconds that a file must have rested: a younger one may still be on its way and is left for the next run."""

    rubric: str = ""
    """The rubric of all files of the inbox, as `--rubric` chooses it: id or rubric file. Empty: each file tells."""

    rubrics: tuple[str, ...] = ()
    """Rubric files (`.toml`) besides the shipped rubrics: a test run tells by its name and columns which scores it."""

    agent_type: _AgentName = ""
    """The agent of files that do not tell it, as `--agent-type`. Empty: such files are refused where it matters."""

    files: tuple[InboxFiles, ...] = ()
    """`[[test_runs.files]]` with a `pattern` of file names and its `rubric` or `agent_type`."""

    columns: dict[str, str] = Field(default_factory=dict)
    """What a team calls columns: our name = theirs (`"질의" = "Question"`, `"N차 답변" = "Answer {n}"`)."""

    filters: dict[str, str] = Field(default_factory=dict)
    """What a team calls filters: name = code (`"외국어 시험" = "FOREIGN_EXAM"`), before the common names."""

    @field_validator("columns")
    @classmethod
    def _known_columns(cls, columns: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(set(columns) - KNOWN_HEADERS):
            raise ValueError(f"no such column: {', '.join(unknown)}; use one of: {', '.join(sorted(KNOWN_HEADERS))}")
        return columns

    @property
    def names(self) -> TeamNames:
        """What the team calls columns and filters."""
        return TeamNames(self.columns, self.filters)

    def of_file(self, file_name: str) -> InboxFiles:
        """The rubric and agent chosen for a file, by its name without folder; '' where nothing is."""
        name = normalize("NFC", file_name).casefold()
        matching = (one for one in self.files if fnmatchcase(name, normalize("NFC", one.pattern).casefold()))
        own = next(matching, InboxFiles(pattern="*"))
        return InboxFiles(
            pattern=own.pattern, rubric=own.rubric or self.rubric, agent_type=own.agent_type or self.agent_type
        )
