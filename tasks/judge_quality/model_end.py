"""The shutdown date of the judge's model, read nightly from its endpoint; pages and digests show it.

Source: SPEC 11.
"""

from datetime import date

import sqlalchemy as sa

from scoring.alerting.judge_messages import ModelEnd
from tasks.config.judge import SHUTDOWN_NOTICE, JudgeSettings, endpoint_of
from tasks.state.database import STATE_TABLES, StateDatabase

_models = sa.Table(
    "judge_models",
    STATE_TABLES,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("shutdown_date", sa.Date),
)


def look_up_end(database: StateDatabase, settings: JudgeSettings) -> None:
    """Reads the endpoint's list of models, at no cost, and stores the shutdown date of the judge's model.

    Raises:
        UsageError: there is no endpoint to ask.
        AqbError: it has no list of models.
    """
    from tasks.judge.check import shutdown_date  # imports the openai package, which pages do not need

    row = {"name": _name(settings), "shutdown_date": shutdown_date(settings)}
    database.create_tables(_models)
    with database.transaction() as connection:
        connection.execute(sa.delete(_models).where(_models.c.name == row["name"]))
        connection.execute(sa.insert(_models).values(**row))


def near_end(database: StateDatabase, settings: JudgeSettings, today: date) -> ModelEnd | None:
    """The shutdown date of the model from 60 days before; None if it is later or unknown. Makes no request."""
    if not settings.enabled or endpoint_of(settings) is None:
        return None
    database.create_tables(_models)
    last = database.value(sa.select(_models.c.shutdown_date).where(_models.c.name == _name(settings)))
    return ModelEnd(settings.model, last) if last and last - today <= SHUTDOWN_NOTICE else None


def _name(settings: JudgeSettings) -> str:
    endpoint = endpoint_of(settings)
    return endpoint.of_model(settings.model) if endpoint else settings.model
