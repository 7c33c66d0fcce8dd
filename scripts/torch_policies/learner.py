"""Updates one policy repeatedly and measures the speed."""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

ENTROPY_WEIGHT = 0.01


class Learner:
    """Updates of a policy. `count` is the number of units that one update adds to the speed."""

    def __init__(self, policy: nn.Module, count: int, threads: int):
        self.policy, self.count, self.threads = policy, count, threads
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4, fused=True)

    def backward(self) -> None:
        raise NotImplementedError

    def update(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0, foreach=True)
        self.optimizer.step()

    def speed(self, seconds: float) -> float:
        """Returns units per second, measured over at least so many seconds."""
        torch.set_num_threads(self.threads)
        begin, updates = time.perf_counter(), 0
        while updates == 0 or time.perf_counter() - begin < seconds:
            self.update()
            updates += 1
        return self.count * updates / (time.perf_counter() - begin)


def loss_of(log_probability: Tensor, entropy: Tensor, advantages: Tensor) -> Tensor:
    return (advantages * log_probability).mean() - ENTROPY_WEIGHT * entropy.mean()
