"""One set of settings, used for a search on every problem and seed."""

from __future__ import annotations

import json
import math
import os
import statistics
from typing import TYPE_CHECKING, Any

from ..searches import Progress, observer
from .config import Config, Settings

if TYPE_CHECKING:
    import optuna

STEP_TIMES = "step_times_ns"  # attribute of a complete trial: median over seeds on each problem; null: does not fit


def make_trial(config: Config, trial: optuna.Trial, folder: str) -> float:
    """Searches, and writes the results of each problem into `folder`.

    Returns the geometric mean, over the problems, of the median step time over the bound; infinity if half of the
    searches of a problem found no placement that fits.

    @throws optuna.TrialPruned; InputError, RunError and KeyboardInterrupt as emplace.run()
    """
    import optuna

    from .. import _compiled

    settings = {key: drawn.draw(trial, key) for key, drawn in config.ranges.items()}
    watch = _Watch(config, trial)
    medians: list[float] = []
    for problem in range(len(config.problems)):
        watch.begin(problem)
        output = os.path.join(folder, f"{trial.number:04d}" + (f".{problem}" if len(config.problems) > 1 else "") + ".h5")
        _compiled().run_config(json.dumps(config.run_config(problem, settings)), _name(config, settings), config.beside,
                               output, False, False, 1, True, None, observer([watch]))
        if watch.pruned:
            raise optuna.TrialPruned()
        medians.append(statistics.median(watch.found))
    trial.set_user_attr(STEP_TIMES, [None if math.isinf(median) else median for median in medians])
    return _mean_ratio(medians, config.bounds)


class _Watch:
    """Reports the best so far to the pruner, `checkpoints` times per search, and ends the searches of a pruned trial.

    The reported value is the geometric mean of step time over bound of the ended searches and the running one.
    """

    def __init__(self, config: Config, trial: optuna.Trial) -> None:
        self.config, self.trial = config, trial
        self.pruned = False
        self.found: list[float] = []  # step times of the problem's ended searches [ns]
        self._problem = -1
        self._ratios: list[float] = []  # step time over bound of all ended searches
        self._reported = 0  # checkpoints of the running search
        self._last = config.checkpoints * sum(config.searches)

    def begin(self, problem: int) -> None:
        """Announces that the next searches are on this problem."""
        self._problem, self.found = problem, []

    def __call__(self, progress: Progress) -> bool:
        if self.pruned:
            return False
        step_time = math.inf if progress.step_time is None else progress.step_time
        due = self.config.checkpoints if progress.status else self._due(progress)
        ratios = [*self._ratios, step_time / self.config.bounds[self._problem]]
        while self._reported < due:
            self._reported += 1
            step = self.config.checkpoints * len(self._ratios) + self._reported
            self.trial.report(_geometric_mean(ratios), step)
            if step < self._last and self.trial.should_prune():
                self.pruned = True
                return False
        if progress.status:
            self.found.append(step_time)
            self._ratios, self._reported = ratios, 0
        return True

    def _due(self, progress: Progress) -> int:
        """Returns the number of checkpoints that the search has passed, not counting its end."""
        evaluations, seconds = self.config.limits[self._problem]
        share = max(progress.evaluations / evaluations if evaluations else 0.0,
                    progress.seconds / seconds if seconds else 0.0)
        return min(int(share * self.config.checkpoints), self.config.checkpoints - 1)


def _name(config: Config, settings: Settings) -> str:
    return f"{config.name} with {json.dumps(settings)}"


def _mean_ratio(step_times: list[float], bounds: list[int]) -> float:
    return _geometric_mean([step_time / bound for step_time, bound in zip(step_times, bounds)])


def _geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
