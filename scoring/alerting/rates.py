"""Estimates the usual rate of a stream, and how improbable a count is under it: for one day, and for the last days
together.

A stream is one rule of one tenant: per scored day `counts` of `rows`. Its usual rate has a gamma posterior from up to
`REFERENCE_DAYS` earlier days. A rate also varies from day to day beyond chance, so that the count of one day is
beta-binomial. Business days and days off share data, the more the less a stream has of its own. Arrays are [streams] or
[streams, days]; `off` marks days off. The functions are deterministic and stateless.

Source: SPEC 8; A. Gelman et al., Bayesian Data Analysis, 2.6 (gamma-Poisson); J. Shin, A. Ramdas, A. Rinaldo 2024
(e-detectors).
"""

from dataclasses import dataclass

import numpy as np

from scoring.stats.distributions import Array, log_beta, log_gamma
from scoring.stats.intervals import Z_95

REFERENCE_DAYS = 28
"""Four weeks: every weekday occurs four times, and a change of the chatbot becomes the usual rate after a month.
Source: SPEC 8.
"""

DAILY_VARIATION, _VARIATION_SD, _LEAST_VARIATION = 0.10, 0.02, 0.05
"""Relative day-to-day variation of a rate beyond chance, as a default; the standard deviation of its square between
streams; and its minimum. For variations between none and 15 % these keep the false pages below the setting; see `python
-m benchmarks --only alerts`.
"""

_DAYS_OFF_DIFFER = 0.5
"""Standard deviation of the log ratio between rates of days off and of business days: the ratio is rarely below 1/3 or
above 3.
"""

_RISES = (1.5, 3.0)
"""The factors of lasting rises that are tested: the smallest to detect within days, and an outage. Factors between them
are detected as fast, and each additional factor would share the evidence.
"""

_STILL_HIGH, _SURELY_HIGH = 1.5, 2.0
"""The smallest factor that counts as higher than usual on days after a rise, and the one that always does on days whose
rows suffice to tell.
"""

_SELDOM = 0.2
"""A rule is seldom met if a day usually has less than this share of the rows that it takes to report one."""

_STEP = 64


@dataclass(frozen=True)
class Prior:
    """Prior knowledge of each stream before its first day: a rate, and the number of events that it is worth."""

    rate: Array
    events: Array

    @property
    def exposure(self) -> Array:
        """The number of rows in which so many events are expected at that rate."""
        return self.events / self.rate

    def of(self, streams: Array) -> "Prior":
        """Selects these streams."""
        return Prior(self.rate[streams], self.events[streams])


@dataclass(frozen=True)
class Usual:
    """The usual rate of each stream on business days [0] and days off [1], and its uncertainty.

    `doubt` is the relative variance of the estimated rate, `variation` its relative variance from day to day.
    """

    rate: Array
    doubt: Array
    variation: Array

    def on(self, off: bool) -> tuple[Array, Array]:
        """Rate and relative variance of a future day."""
        return self.rate[int(off)], self.variation + self.doubt[int(off)]

    def of(self, streams: Array) -> "Usual":
        """Selects these streams."""
        return Usual(self.rate[:, streams], self.doubt[:, streams], self.variation[streams])


def usual_rates(counts: Array, rows: Array, off: Array, prior: Prior) -> Usual:
    """Estimates the usual rates after these days ([streams, 2 * REFERENCE_DAYS], 0 rows for a day that does not count).

    The rate is estimated from the last `REFERENCE_DAYS`; its variation needs more days.
    """
    default: Array = np.full(len(counts), DAILY_VARIATION**2)
    rough = (counts.sum(-1) + prior.events) / (rows.sum(-1) + prior.exposure)
    # The weights of the days need the variation, and the variation needs the rates.
    rates, _ = _weighted(counts, rows, off, rough, default, prior)
    variation = _variation(counts, _expected(rates, rows, off))
    counts, rows, off = (each[:, -REFERENCE_DAYS:] for each in (counts, rows, off))
    return Usual(*_weighted(counts, rows, off, rough, variation, prior), variation)


def _weighted(
    counts: Array, rows: Array, off: Array, rough: Array, variation: Array, prior: Prior
) -> tuple[Array, Array]:
    """The rates of both kinds of days and their relative variances, from days weighted by their information."""
    weight = _weight(rows * rough[:, None], variation[:, None])
    events, exposure = (np.stack([(each * weight * kind).sum(-1) for kind in (~off, off)]) for each in (counts, rows))
    return _of_kinds(events, exposure, prior.events, prior.exposure)


def _expected(rates: Array, rows: Array, off: Array) -> Array:
    """The expected counts of days ([streams, days]) under the rates of both kinds of days."""
    expected: Array = rows * np.where(off, rates[1][:, None], rates[0][:, None])
    return expected


def _weight(expected: Array, variation: Array | float) -> Array:
    """The weight of a day's events: a thousand events on one day contain less information about the rate than a
    thousand over ten days.
    """
    return 1 / (1 + expected * variation)


def _of_kinds(events: Array, exposure: Array, prior_events: Array, prior_exposure: Array) -> tuple[Array, Array]:
    """The rates of both kinds of days and their relative variances: from the own events of a kind, and some of the
    other's.
    """
    lent_rate = (prior_events + events[::-1]) / (prior_exposure + exposure[::-1])
    lent = 1 / (1 / (prior_events + events[::-1]) + _DAYS_OFF_DIFFER**2)
    known = lent + events
    return known / (lent / lent_rate + exposure), 1 / known


def _variation(counts: Array, expected: Array) -> Array:
    """The day-to-day variation beyond chance, by moments, shrunk towards the default by its uncertainty."""
    days = (expected > 0).sum(-1)
    lost = (days / np.maximum(days - 1, 1))[:, None]  # the rate is fitted to the same days
    weight = _weight(expected, DAILY_VARIATION**2) ** 2
    known = (weight * expected**2).sum(-1)
    beyond = (weight * ((counts - expected) ** 2 * lost - expected)).sum(-1)
    default = 1 / _VARIATION_SD**2
    drawn = (DAILY_VARIATION**2 * default + beyond / 2) / (default + known / 2)
    variation: Array = np.maximum(drawn, _LEAST_VARIATION**2)
    return variation


def chance_of(counts: Array, rows: Array, rate: Array, variance: Array) -> Array:
    """The probability of so many or more (beta-binomial); 1 if a count is hardly above the expectation.

    `variance` is the relative variance of the rate.
    """
    chances = np.ones(len(counts))
    above = np.flatnonzero((rows > 0) & (counts > rows * rate * 1.05))
    x, n, p = (values[above].astype(float) for values in (counts, rows, rate))
    strength = np.maximum((1 - p) / (p * variance[above]) - 1, 1e-2)
    a, b = p * strength, (1 - p) * strength
    choose = log_gamma(n + 1) - log_gamma(x + 1) - log_gamma(n - x + 1)
    term = np.exp(choose + log_beta(x + a, n - x + b) - log_beta(a, b))
    total = term.copy()
    while len(above) and (term > total * 1e-9).any():
        j = np.minimum(x[:, None] + np.arange(_STEP), n[:, None])
        left = n[:, None] - j
        terms = term[:, None] * np.cumprod(
            left * (a[:, None] + j) / ((j + 1) * (b[:, None] + np.maximum(left - 1, 0))), 1
        )
        total, term, x = total + terms.sum(1), terms[:, -1], x + _STEP
    chances[above] = np.minimum(total, 1)
    return chances


@dataclass(frozen=True)
class Lasting:
    """Evidence for a lasting rise up to the last day, [streams].

    `log_evidence` is the log of a Shiryaev-Roberts e-detector: without a change it exceeds log(d) at most once in d
    days. `days` is how long ago the most probable change was: 1 is today.
    """

    log_evidence: Array
    days: Array


def lasting_rise(
    counts: Array, rows: Array, off: Array, usual: Usual, prior: Prior, min_days: int, most_days: Array | int
) -> Lasting:
    """The evidence that the rate rose on one of the last `REFERENCE_DAYS`, each compared with all days before it.

    The arrays end with today and are [streams, 2 * REFERENCE_DAYS + 1]; a change is searched in the last `most_days`
    ([streams]), with at least `min_days` before it. A rise by a given factor has the likelihood ratio of two
    gamma-Poisson predictions in closed form.
    """
    weight = _weight(_expected(usual.rate, rows, off), usual.variation[:, None])
    sums = [np.stack([_cumulated(values * weight * kind) for kind in (~off, off)]) for values in (counts, rows)]
    last = counts.shape[1]
    starts = last - np.arange(1, REFERENCE_DAYS + 1)
    events, exposure = (each[..., starts] for each in sums)
    rate, doubt = _of_kinds(events, exposure, prior.events[:, None], prior.exposure[:, None])
    events_since, exposure_since = (each[..., [last]] - each[..., starts] for each in sums)
    expected = exposure_since * rate
    total, seen = np.maximum(expected.sum(0), 1e-9), events_since.sum(0)
    known = total**2 / np.maximum((expected**2 * doubt).sum(0), 1e-12)
    ratios = [
        seen * np.log(rise) + (known + seen) * (np.log(known + total) - np.log(known + rise * total)) for rise in _RISES
    ]
    evidence = np.logaddexp.reduce(ratios, axis=0) - np.log(len(_RISES))
    days_before = _cumulated(rows > 0)[:, starts]
    is_recent = np.arange(1, REFERENCE_DAYS + 1) <= np.reshape(most_days, (-1, 1))
    evidence = np.where((days_before >= min_days) & (seen > 0) & is_recent, evidence, -np.inf)
    return Lasting(np.logaddexp.reduce(evidence, axis=1), evidence.argmax(1) + 1)


def _cumulated(values: Array) -> Array:
    """The cumulated sums of the first 0, 1, ... days."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)


def usual_range(rows: Array | int, rate: Array | float, variance: Array | float) -> tuple[Array, Array]:
    """The lowest and highest rate of 95 of 100 usual days with so many rows; `variance` is the relative variance of the
    rate.
    """
    rate = np.asarray(rate, float)
    half = Z_95 * np.sqrt(rate * (1 - rate) / np.maximum(rows, 1) + rate**2 * variance)
    return np.maximum(rate - half, 0.0), np.minimum(rate + half, 1.0)


def evidence_of_return(
    counts: Array, rows: Array, usual: Usual, off: bool, reported_times: Array, reportable: Array
) -> Array:
    """The log likelihood ratio of a day ([streams]): its rate is as usual again, or still high.

    High is half way (log scale) to the reported rate, which was so many times the usual one, and at least 1.5 times the
    usual rate. For a rule that is seldom met half way is hardly a row a day: so high is at least the lowest rate of 95
    of 100 such days at the reported one. After an outage of all rows either would be many times the usual rate: so high
    is at most twice that, or the upper end of the usual range, or the lowest rate that a day can report
    (`reportable`), whichever is highest. Both use the gamma-Poisson prediction of `lasting_rise`.
    """
    rate, doubt = usual.rate[int(off)], usual.doubt[int(off)]
    _, highest = usual_range(rows, *usual.on(off))
    surely = np.maximum(_SURELY_HIGH, np.maximum(highest, reportable) / rate)
    lowest, _ = usual_range(rows, np.minimum(reported_times * rate, 1), usual.variation)
    least = np.where(rate < _SELDOM * reportable, lowest / rate, 0.0)
    times = np.clip(np.maximum(reported_times**0.5, least), _STILL_HIGH, surely)
    expected = rows * rate
    weight = _weight(expected, usual.variation)
    total, seen, known = expected * weight, counts * weight, 1 / np.maximum(doubt, 1e-12)
    # What was reported is certain, so half way to it is half as doubtful as what is usual: four times as much is known.
    known_high = np.where(times > _STILL_HIGH, 4 * known, known)
    found: Array = _log_likelihood(seen, total, known) - _log_likelihood(seen, times * total, known_high)
    return found


def _log_likelihood(seen: Array, expected: Array, known: Array) -> Array:
    """The log likelihood of a count (gamma-Poisson), without the term that depends on the count only; the expectation
    is based on `known` events.
    """
    chances = seen * np.log(np.maximum(expected, 1e-300)) - (known + seen) * np.log(known + expected)
    likelihood: Array = log_gamma(known + seen) - log_gamma(known) + known * np.log(known) + chances
    return likelihood
