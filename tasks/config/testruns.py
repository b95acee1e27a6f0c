"""`[test_runs]`: where test runs of agents arrive, their rubric, and a team's names of columns and filters."""

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
    """Files of the inbox with their own rubric or agent."""

    pattern: Annotated[str, Field(min_length=1)]
    """File names without folder, with `*` and `?`; case-insensitive. The first matching pattern counts."""

    rubric: str = ""
    """The rubric of these files. Empty: `test_runs.rubric`."""

    agent_type: _AgentName = ""
    """The agent of these files: `move`, `plan`, `applicant_management`. Empty: `test_runs.agent_type`."""


class InboxSettings(Section):
    """Test runs of agents: the inbox of their files."""

    inbox: LocalFolder = "data/inbox"
    """The folder whose new files (CSV, TSV, XLSX) are scored once each."""

    quiet_s: float = Field(default=5.0, ge=0, le=86_400)
    """Minimum seconds since the last change of a file: a younger one may be incomplete and waits for the next run."""

    rubric: str = ""
    """The rubric of all files of the inbox, like `--rubric`: id or rubric file. Empty: detected for each file."""

    rubrics: tuple[str, ...] = ()
    """Rubric files (`.toml`) besides the shipped rubrics, chosen by a test run's name and columns."""

    agent_type: _AgentName = ""
    """The agent of files that do not name it, like `--agent-type`. Empty: such files are refused if the agent matters.
    """

    files: tuple[InboxFiles, ...] = ()
    """`[[test_runs.files]]` with a `pattern` of file names and its `rubric` or `agent_type`."""

    columns: dict[str, str] = Field(default_factory=dict)
    """A team's column names: AQB's name = theirs (`"질의" = "Question"`, `"N차 답변" = "Answer {n}"`)."""

    filters: dict[str, str] = Field(default_factory=dict)
    """A team's filter names: name = code (`"외국어 시험" = "FOREIGN_EXAM"`), used before the common names."""

    @field_validator("columns")
    @classmethod
    def _known_columns(cls, columns: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(set(columns) - KNOWN_HEADERS):
            raise ValueError(f"no such column: {', '.join(unknown)}; use one of: {', '.join(sorted(KNOWN_HEADERS))}")
        return columns

    @property
    def names(self) -> TeamNames:
        """The team's names of columns and filters."""
        return TeamNames(self.columns, self.filters)

    @property
    def chosen_rubrics(self) -> tuple[str, ...]:
        """The ids and files of all rubrics that are named."""
        return tuple(filter(None, (*self.rubrics, self.rubric, *(one.rubric for one in self.files))))

    def of_file(self, file_name: str) -> InboxFiles:
        """The rubric and agent configured for a file, by its name without folder; '' if none is."""
        name = normalize("NFC", file_name).casefold()
        matching = (one for one in self.files if fnmatchcase(name, normalize("NFC", one.pattern).casefold()))
        own = next(matching, InboxFiles(pattern="*"))
        return InboxFiles(
            pattern=own.pattern, rubric=own.rubric or self.rubric, agent_type=own.agent_type or self.agent_type
        )
