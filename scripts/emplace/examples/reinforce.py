"""REINFORCE in PyTorch on emplace's one-shot environment: learns a placement of a corpus graph within a minute.

    pip install 'emplace-placement[env]' torch
    python reinforce.py --graph inception_v3 --cluster 2xk80 --seconds 60

The policy is a distribution over devices for each group, from a small network over the group's features; the
baseline is the mean reward of the batch. Every update simulates `--envs` placements in one batch.
"""

from __future__ import annotations

import argparse
import time

import emplace
import emplace.env
import numpy as np
import torch
from torch import nn


class Policy(nn.Module):
    """Logits [num_groups, num_devices] from features [num_groups, F] and from a vector learned for each group."""

    def __init__(self, features: torch.Tensor, num_devices: int, width: int = 64) -> None:
        super().__init__()
        self.register_buffer("features", features)
        self.own = nn.Parameter(torch.zeros(features.shape[0], width))
        self.layers = nn.Sequential(nn.Linear(features.shape[1] + width, width), nn.ReLU(),
                                    nn.Linear(width, num_devices))

    def forward(self) -> torch.Tensor:
        return self.layers(torch.cat([self.features, self.own], dim=1))


def learn(problem: emplace.Problem, seconds: float, num_envs: int, seed: int, updates: int = 10**9,
          quiet: bool = False) -> tuple[float, float, np.ndarray]:
    """Returns (mean step time of the first batch, best step time, best placement); times in [ns]."""
    torch.manual_seed(seed)
    envs = emplace.env.PlacementVectorEnv(problem, "one_shot", num_envs)
    observed, infos = envs.reset(seed=seed)
    allowed = torch.from_numpy(infos["action_mask"][0])
    policy = Policy(torch.from_numpy(observed["features"][0]), problem.num_devices)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    first, best, placement = None, float("inf"), np.zeros(problem.num_groups, dtype=np.uint8)
    begin, update = time.monotonic(), 0
    while time.monotonic() - begin < seconds and update < updates:
        chances = torch.distributions.Categorical(logits=policy().masked_fill(~allowed, -1e9))
        actions = chances.sample((num_envs,))                                  # [num_envs, num_groups]
        _, rewards, _, _, infos = envs.step(actions.numpy())
        reward = torch.from_numpy(rewards).float()
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        loss = -(advantage * chances.log_prob(actions).sum(dim=1)).mean() / problem.num_groups
        loss = loss - 0.01 * chances.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times = np.where(infos["final_info"]["feasible"], infos["final_info"]["step_time"], np.inf)
        first = times[np.isfinite(times)].mean() if first is None else first
        if times.min() < best:
            best, placement = float(times.min()), infos["final_info"]["placement"][times.argmin()]
        if not quiet and update % 100 == 0:
            print(f"update {update:5}  mean {np.ma.masked_invalid(times).mean() / 1e6:9.2f} ms  best {best / 1e6:9.2f} ms")
        update += 1
    return float(first), best, placement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="inception_v3")
    parser.add_argument("--cluster", default="2xk80")
    parser.add_argument("--groups", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    problem = emplace.Problem(options.graph, options.cluster, coarsen=[{"merge_cheapest": {"groups": options.groups}}])
    first, best, placement = learn(problem, options.seconds, options.envs, options.seed)
    single = problem.best_single_device()
    print(f"random {first / 1e6:.2f} ms, learned {best / 1e6:.2f} ms, " + (
        f"{single[0]} alone {single[1] / 1e6:.2f} ms" if single else "no single device holds the model"))
    problem.write_placement(placement, "reinforce.placement.json")
    print("reinforce.placement.json: emplace simulate --placement shows it")


if __name__ == "__main__":
    main()
