"""People's decisions about alerts in the state database: snoozed rules, and rates accepted as usual.

Two tables: `alert_snoozes`, a row a snooze; `alert_acceptances`, a row a rate that somebody accepted. Expired rows
stay: they record who decided what and why. `tenant_id` is `*` for all tenants, NULL for rows without one.
"""

from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import AlertPolicy
from tasks.config.alerts import AlertsSettings
from tasks.state.database import STATE_TABLES, StateDatabase, columns_for, columns_of


@dataclass(frozen=True)
class Acceptance:
    """The rate of a rule on a day, accepted as its usual one, of one tenant or of all together and each (`*`)."""

    rule: str
    tenant_id: str | None
    day: date
    why: str
    who: str
    made_at: datetime


def _table(name: str, record: type[Snooze | Acceptance]) -> sa.Table:
    own = (sa.Column("id", sa.Integer, primary_key=True), *columns_for(record), sa.Column("service", sa.String))
    return sa.Table(name, STATE_TABLES, *own)


_snoozes, _acceptances = _table("alert_snoozes", Snooze), _table("alert_acceptances", Acceptance)


class AlertChoices:
    """Snoozes and acceptances of the database's service. Every method is one transaction.

    Raises:
        StorageError: the state database cannot be used; any method may raise it.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_snoozes, _acceptances)
        self._database = database

    def snooze(self, made: Snooze) -> None:
        """Adds a snooze; it replaces the one of the same rule and tenant."""
        rates = list(made.rates.items())  # pairs: JSON has no NULL as a name
        row = {**vars(made), "rates": rates, "service": self._database.service}
        with self._database.transaction(alone_in=_snoozes) as connection:
            connection.execute(self._ended(made.rule, made.tenant_id, made.made_at))
            connection.execute(sa.insert(_snoozes).values(**row))

    def end_snooze(self, rule: str, tenant_id: str | None, now: datetime) -> bool:
        """Ends the snooze of a rule and tenant; False if there is none."""
        return self._database.change(self._ended(rule, tenant_id, now)) > 0

    def snoozes(self, day: date) -> list[Snooze]:
        """The snoozes in force on this day, earliest first."""
        return [one for one in self.every_snooze() if one.ended_at is None and one.until >= day]

    def every_snooze(self) -> list[Snooze]:
        """All snoozes, including those that are over, earliest first."""
        mine = _snoozes.c.service == self._database.service
        rows = self._database.rows(sa.select(*columns_of(_snoozes, Snooze)).where(mine).order_by(_snoozes.c.id))
        return [Snooze(**{**row._mapping, "rates": dict(row.rates)}) for row in rows]

    def accept(self, made: Acceptance) -> None:
        """Adds an acceptance, which replaces earlier ones of the same rule and tenant."""
        row = {**vars(made), "service": self._database.service}
        self._database.change(sa.insert(_acceptances).values(**row))

    def acceptances(self) -> list[Acceptance]:
        """All acceptances, earliest first."""
        mine = _acceptances.c.service == self._database.service
        query = sa.select(*columns_of(_acceptances, Acceptance)).where(mine).order_by(_acceptances.c.id)
        return [Acceptance(*row) for row in self._database.rows(query)]

    def policy(self, settings: AlertsSettings) -> AlertPolicy:
        """The alert policy: the settings and what people have accepted."""
        accepted = {(one.rule, one.tenant_id): one.day for one in self.acceptances()}
        return AlertPolicy(settings.false_pages_per_year, frozenset(settings.days_off), accepted=accepted)

    def _ended(self, rule: str, tenant_id: str | None, now: datetime) -> sa.Update:
        same = (_snoozes.c.rule == rule, _snoozes.c.tenant_id == tenant_id, _snoozes.c.ended_at.is_(None))
        mine = _snoozes.c.service == self._database.service
        return sa.update(_snoozes).where(*same, mine).values(ended_at=now)
