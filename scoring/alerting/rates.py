"""What is usual for a rate, and how improbable a count is given that: one day alone, and the last days together.

A stream is one rule of one tenant: per scored day `counts` of `rows`. Its usual rate has a gamma posterior from up to
`REFERENCE_DAYS` earlier days. A rate also varies from day to day beyond chance, so that the count of one day is
beta-binomial. Business days and days off lend each other what they know, the more the less a stream has of its own.
Arrays are [streams] or [streams, days]; `off` tells the days off. Nothing here is random or holds state.

Source: SPEC 8; A. Gelman et al., Bayesian Data Analysis, 2.6 (gamma-Poisson); J. Shin, A. Ramdas, A. Rinaldo 2024
(e-detectors).
"""

from dataclasses import dataclass

import numpy as np

from scoring.stats.distributions import Array, log_beta, log_gamma

REFERENCE_DAYS = 28
"""Four weeks: every weekday four times, and a change of the chatbot is the usual one month later. Source: SPEC 8."""

DAILY_VARIATION, _VARIATION_SD, _LEAST_VARIATION = 0.10, 0.02, 0.05
"""How much a rate varies from day to day beyond chance, as a share of itself, where its days do not say; the standard
deviation of the square of that from stream to stream; and the least that is believed. Between no variation and 15 %,
these keep the false pages below the setting; `python -m benchmarks --only alerts` shows it."""

_DAYS_OFF_DIFFER = 0.5
"""How much rates of days off differ from those of business days (log scale): seldom by more than a third or three
times."""

_RISES = (1.5, 3.0)
"""The lasting rises that evidence is weighed for: the least that is to be seen within days, and an outage. What lies
between is found as soon, and each more would take its part of the evidence."""

_STILL_HIGH = 1.5
"""The least that is worth to be called higher than usual, in days after a rise."""

_STEP = 64


@dataclass(frozen=True)
class Prior:
    """What is known of each stream before its first day: a rate, and how many events that knowledge is worth."""

    rate: Array
    events: Array

    @property
    def exposure(self) -> Array:
        """The rows in which so many events are seen at that rate."""
        return self.events / self.rate

    def of(self, streams: Array) -> "Prior":
        """The same of these streams."""
        return Prior(self.rate[streams], self.events[streams])


@dataclass(frozen=True)
class Usual:
    """The usual rate of each stream on business days [0] and days off [1], and how sure it is.

    `doubt` is the relative variance of the rate because it is estimated, `variation` the one from day to day.
    """

    rate: Array
    doubt: Array
    variation: Array

    def on(self, off: bool) -> tuple[Array, Array]:
        """Rate and relative variance of a day to come."""
        return self.rate[int(off)], self.variation + self.doubt[int(off)]

    def of(self, streams: Array) -> "Usual":
        """The same of these streams."""
        return Usual(self.rate[:, streams], self.doubt[:, streams], self.variation[streams])


def usual_rates(counts: Array, rows: Array, off: Array, prior: Prior) -> Usual:
    """What is usual after these days ([streams, 2 * REFERENCE_DAYS], 0 rows for a day that does not count).

    The rate is that of the last `REFERENCE_DAYS`; how much it varies takes more days to know.
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
    """The rates of both kinds of days and their relative variances, from days weighted by how much each can say."""
    weight = _weight(rows * rough[:, None], variation[:, None])
    events, exposure = (np.stack([(each * weight * kind).sum(-1) for kind in (~off, off)]) for each in (counts, rows))
    return _of_kinds(events, exposure, prior.events, prior.exposure)


def _expected(rates: Array, rows: Array, off: Array) -> Array:
    """The counts of days ([streams, days]) under the rates of both kinds of days."""
    expected: Array = rows * np.where(off, rates[1][:, None], rates[0][:, None])
    return expected


def _weight(expected: Array, variation: Array | float) -> Array:
    """What a day's events count for: a thousand on one day say less of the usual rate than a thousand over ten."""
    return 1 / (1 + expected * variation)


def _of_kinds(events: Array, exposure: Array, prior_events: Array, prior_exposure: Array) -> tuple[Array, Array]:
    """The rates of both kinds of days and their relative variances: a kind's own events, and a few of the other's."""
    lent_rate = (prior_events + events[::-1]) / (prior_exposure + exposure[::-1])
    lent = 1 / (1 / (prior_events + events[::-1]) + _DAYS_OFF_DIFFER**2)
    known = lent + events
    return known / (lent / lent_rate + exposure), 1 / known


def _variation(counts: Array, expected: Array) -> Array:
    """The variation from day to day beyond chance: by moments, drawn towards the default the more the less is known."""
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
    """The chance of so many or more, beta-binomial; 1 where a count is hardly above what is expected.

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

    `log_evidence` is the log of a Shiryaev-Roberts e-detector: without a change it exceeds log(d) once in d days at
    most. `days` is how long ago the likeliest change was: 1 is today.
    """

    log_evidence: Array
    days: Array


def lasting_rise(
    counts: Array, rows: Array, off: Array, usual: Usual, prior: Prior, min_days: int, most_days: Array | int
) -> Lasting:
    """The evidence that the rate rose on one of the last `REFERENCE_DAYS`, each against all days before it.

    The arrays end with today and are [streams, 2 * REFERENCE_DAYS + 1]; a change is looked for in the last `most_days`
    ([streams]), where `min_days` stand before it. A rise by a given factor has the likelihood ratio of two
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
    """Sums of the first 0, 1, ... days."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)


def evidence_of_return(counts: Array, rows: Array, usual: Usual, off: bool, reported_times: Array) -> Array:
    """The log likelihood ratio of a day ([streams]): its rate is as usual again, against still being high.

    High is half as high again as usual, or half way (log scale) to what was reported, which was so many times what was
    usual. Both have the gamma-Poisson prediction of `lasting_rise`.
    """
    rate, doubt = usual.rate[int(off)], usual.doubt[int(off)]
    half_way = reported_times**0.5
    times = np.maximum(_STILL_HIGH, half_way)
    expected = rows * rate
    weight = _weight(expected, usual.variation)
    total, seen, known = expected * weight, counts * weight, 1 / np.maximum(doubt, 1e-12)
    # What was reported is certain, so half way to it is half as doubtful as what is usual: four times as much is known.
    known_high = np.where(half_way > _STILL_HIGH, 4 * known, known)
    found: Array = _log_likelihood(seen, total, known) - _log_likelihood(seen, times * total, known_high)
    return found


def _log_likelihood(seen: Array, expected: Array, known: Array) -> Array:
    """Of a count (gamma-Poisson), but for a term of the count alone; `known` events tell what is expected."""
    chances = seen * np.log(np.maximum(expected, 1e-300)) - (known + seen) * np.log(known + expected)
    likelihood: Array = log_gamma(known + seen) - log_gamma(known) + known * np.log(known) + chances
    return likelihood
