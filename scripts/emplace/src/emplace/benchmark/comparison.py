"""Is one agent better than another? A paired comparison by instance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

import numpy as np
import pandas as pd

from ..results.summaries import quantile
from .results_file import Results
from .scores import DRAWS, LEVEL

TIE = 1e-3  # values closer than this ratio are equal
ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """Agent a against agent b on the instances that both ran on, by the median over the seeds (infinite: does not fit).

    wins, ties, losses  of a; a tie is a difference of at most 0.1 %
    instances    their number        not_paired  number of instances on which only one of them ran
    ratio, ratio_low, ratio_high     geometric mean of value of a / value of b over `fitting` instances, on which both fit,
                 with a 95 % bootstrap interval over instances; NaN without any
    wilcoxon     two-sided p value of the signed-rank test on the logarithms of the ratios, exact given the ranks; ties are
                 left out, equal differences have their mean rank, and an instance on which only one of them fits has the
                 largest difference
    sign         two-sided p value of the sign test on wins and losses
    """

    a: str
    b: str
    wins: int
    ties: int
    losses: int
    instances: int
    not_paired: int
    fitting: int
    ratio: float
    ratio_low: float
    ratio_high: float
    wilcoxon: float
    sign: float
    leans: float  # signed ranks of wins - those of losses: above 0 if a is better

    def conclusion(self) -> str:
        """Returns a sentence."""
        if self.wilcoxon >= ALPHA or self.leans == 0:
            text = f"no significant difference between {self.a} and {self.b}"
        else:
            better, worse = (self.a, self.b) if self.leans > 0 else (self.b, self.a)
            wins, losses = (self.wins, self.losses) if self.leans > 0 else (self.losses, self.wins)
            text = f"{better} is better than {worse} on {wins} of {self.instances} instances and worse on {losses}"
        mean = "" if math.isnan(self.ratio) else (
            f"; values of {self.a} are {abs(self.ratio - 1):.2%} {'below' if self.ratio < 1 else 'above'} those of {self.b} "
            f"in the geometric mean (interval {self.ratio_low - 1:+.2%} to {self.ratio_high - 1:+.2%})")
        return f"{text}{mean}; p = {self.wilcoxon:.3g} (Wilcoxon signed-rank)"


def compare(first: Results, a: str, second: Results, b: str) -> Comparison:
    """Compares agent a of the first results with agent b of the second, which may be the same.

    Throws InputError for an agent without results, or if no instance is common.
    """
    from .. import InputError

    frame = pd.DataFrame({"a": _medians(first, a), "b": _medians(second, b)})
    pairs = frame.dropna()
    if pairs.empty:
        raise InputError(f"{a} and {b}: have no instance in common")
    with np.errstate(invalid="ignore"):
        logs = np.log(pairs["a"].to_numpy()) - np.log(pairs["b"].to_numpy())
    logs[np.isnan(logs)] = 0  # neither fits
    logs[np.abs(logs) <= np.log1p(TIE)] = 0
    both = np.isfinite(pairs["a"].to_numpy()) & np.isfinite(pairs["b"].to_numpy())
    exact = np.log(pairs["a"].to_numpy()[both] / pairs["b"].to_numpy()[both])
    low = high = mean = math.nan
    if len(exact):
        draws = exact[np.random.default_rng(0).integers(0, len(exact), (DRAWS, len(exact)))].mean(1)
        mean, low, high = (float(np.exp(value)) for value in (
            exact.mean(), quantile(draws, (1 - LEVEL) / 2), quantile(draws, (1 + LEVEL) / 2)))
    wins, losses = int((logs < 0).sum()), int((logs > 0).sum())
    p, leans = signed_rank(-logs)
    return Comparison(a, b, wins, len(logs) - wins - losses, losses, len(pairs), len(frame) - len(pairs), len(exact), mean,
                      low, high, p, sign_test(wins, losses), leans)


def _medians(loaded: Results, agent: str) -> pd.Series:
    from ..tuning.messages import refuse_unknown

    runs = loaded.runs[loaded.runs["agent"] == agent]
    if runs.empty:
        refuse_unknown("benchmark compare", "agent", agent, set(loaded.runs["agent"]))
    return runs["best_step_time_ns"].fillna(np.inf).groupby(runs["problem"]).apply(lambda some: float(quantile(some, 0.5)))


def sign_test(wins: int, losses: int) -> float:
    """Returns the two-sided p value: the probability of so uneven numbers or more, if both are equally likely."""
    count, least = wins + losses, min(wins, losses)
    return float(min(1, 2 * sum(math.comb(count, k) for k in range(least + 1)) / 2**count))


def signed_rank(differences: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Returns the two-sided p value of Wilcoxon's signed-rank test, and the sum of the signed ranks.

    The p value is exact given the ranks: of all 2^n choices of signs, those with a sum at least as far from 0. Zeros are left
    out; equal sizes have their mean rank. (F. Wilcoxon, Biometrics Bulletin 1(6), 1945.)
    """
    values = np.asarray(differences, float)
    values = values[values != 0]
    if not len(values):
        return 1.0, 0.0
    doubled = (2 * pd.Series(np.abs(values)).rank()).astype(int).to_numpy()  # mean ranks are multiples of a half
    total = int(doubled.sum())
    counts = [1] + [0] * total  # number of choices of the positive ones by the sum of their ranks
    for rank in doubled:
        counts = [here + (counts[i - rank] if i >= rank else 0) for i, here in enumerate(counts)]
    positive = int(doubled[values > 0].sum())
    distance = abs(2 * positive - total)
    extreme = sum(count for i, count in enumerate(counts) if abs(2 * i - total) >= distance)
    return extreme / 2**len(values), (2 * positive - total) / 2
