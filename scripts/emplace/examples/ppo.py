"""PPO in PyTorch on emplace's improvement environment: moves one group at a time, and improves within a minute.

    pip install 'emplace-placement[env]' torch
    python ppo.py --graph inception_v3 --cluster 2xk80 --seconds 60

Proximal policy optimisation (Schulman et al., 2017) with generalised advantages. The network scores every pair
(group, device) from the group's features and the current placement.
"""

from __future__ import annotations

import argparse
import time

import emplace
import emplace.env
import numpy as np
import torch
from torch import nn

CLIP, GAMMA, LAMBDA, EPOCHS, ENTROPY = 0.2, 0.98, 0.95, 4, 0.003


class ActorCritic(nn.Module):
    """Maps observations to logits [N, num_groups * num_devices] of moves and values [N]."""

    def __init__(self, num_features: int, num_devices: int, width: int = 64) -> None:
        super().__init__()
        self.group = nn.Sequential(nn.Linear(num_features + num_devices, width), nn.ReLU())
        self.move = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, num_devices))
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, features: torch.Tensor, placement: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        groups = self.group(torch.cat([features, placement], dim=2))          # [N, G, width]
        whole = groups.mean(dim=1)                                             # [N, width]
        moves = self.move(torch.cat([groups, whole[:, None].expand_as(groups)], dim=2))
        return moves.flatten(1), self.value(whole)[:, 0]


def learn(problem: emplace.Problem, seconds: float, num_envs: int = 32, horizon: int = 32, seed: int = 0,
          updates: int = 10**9, quiet: bool = False) -> tuple[float, float, float]:
    """Returns (gain of the first episodes, gain of the last, best step time [ns]).

    A gain is the mean return: the improvement of a random placement by an episode, in units of the cost on the best
    single device.
    """
    torch.manual_seed(seed)
    envs = emplace.env.PlacementVectorEnv(problem, "improvement", num_envs, horizon=horizon)
    observed, infos = envs.reset(seed=seed)
    model = ActorCritic(observed["features"].shape[2], problem.num_devices)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    features = torch.from_numpy(observed["features"])
    gains, best, begin = [], float("inf"), time.monotonic()
    while (time.monotonic() - begin < seconds and len(gains) < updates) or len(gains) < 2:
        placements, masks, actions, chances, values, rewards = [], [], [], [], [], []
        for _ in range(horizon):                                               # one whole episode of each environment
            placement, mask = torch.from_numpy(observed["placement"]), torch.from_numpy(infos["action_mask"])
            with torch.no_grad():
                logits, value = model(features, placement)
                policy = torch.distributions.Categorical(logits=logits.masked_fill(~mask, -1e9))
                action = policy.sample()
            observed, reward, _, truncated, infos = envs.step(action.numpy())
            shown = infos["final_info"] if truncated.any() else infos
            best = min(best, float(np.where(shown["feasible"], shown["step_time"], np.inf).min()))
            for rows, row in zip((placements, masks, actions, chances, values, rewards),
                                 (placement, mask, action, policy.log_prob(action), value,
                                  torch.from_numpy(reward).float())):
                rows.append(row)
        advantages, following, ahead = [], torch.zeros(num_envs), torch.zeros(num_envs)
        for t in reversed(range(horizon)):
            ahead = rewards[t] + GAMMA * following - values[t] + GAMMA * LAMBDA * ahead
            following = values[t]
            advantages.insert(0, ahead)
        flat = [torch.cat(rows) for rows in (placements, masks, actions, chances, values, advantages)]
        placement, mask, action, before, value, advantage = flat
        target = advantage + value
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        repeated = features.repeat(horizon, 1, 1)
        for _ in range(EPOCHS):
            for part in torch.randperm(len(action)).chunk(4):
                logits, value = model(repeated[part], placement[part])
                policy = torch.distributions.Categorical(logits=logits.masked_fill(~mask[part], -1e9))
                ratio = (policy.log_prob(action[part]) - before[part]).exp()
                gain = torch.minimum(ratio * advantage[part], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[part])
                loss = -gain.mean() + 0.5 * (value - target[part]).pow(2).mean() - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        gains.append(float(torch.stack(rewards).sum(dim=0).mean()))
        if not quiet:
            print(f"update {len(gains):4}  gain {gains[-1]:7.3f}  best {best / 1e6:9.2f} ms")
    return gains[0], float(np.mean(gains[-5:])), best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("graph", "inception_v3"), ("cluster", "2xk80")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--groups", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    problem = emplace.Problem(options.graph, options.cluster, coarsen=[{"merge_cheapest": {"groups": options.groups}}])
    first, last, best = learn(problem, options.seconds)
    print(f"gain of an episode: {first:.3f} at first, {last:.3f} now; best {best / 1e6:.2f} ms")


if __name__ == "__main__":
    main()
