"""Agents that the tests name in configs."""

import emplace
import numpy as np


class Sampler(emplace.Agent):
    """Random placements, a batch a step."""

    def __init__(self, problem, seed, batch: int = 16, rounds: int = 0):
        super().__init__(problem, seed)
        self.batch, self.rounds, self.done = batch, rounds, 0

    def step(self, evaluator):
        outcomes = evaluator.evaluate(self.random_placements(self.batch))
        self.log(mean=outcomes.step_time.mean(), least=outcomes.step_time.min())
        self.done += 1
        self.finished = self.rounds > 0 and self.done >= self.rounds


class Broken(emplace.Agent):
    """Fails."""

    def step(self, evaluator):
        raise KeyError("nothing here")


class Keeps(emplace.Agent):
    """Uses an evaluator after its step."""

    kept = None

    def step(self, evaluator):
        if self.kept is None:
            self.kept = evaluator
            return
        self.kept.evaluate(np.zeros((1, self.problem.num_groups), dtype=np.uint8))


class Fixed(emplace.Agent):
    """Everything on one device."""

    def __init__(self, problem, seed, device: int = 0, unused: float = 0.5):
        super().__init__(problem, seed)
        self.device = device

    def step(self, evaluator):
        evaluator.evaluate(np.full((1, self.problem.num_groups), self.device, dtype=np.uint8))
        self.finished = True
