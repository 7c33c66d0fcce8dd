"""Stable-Baselines3's PPO on emplace's sequential environment, group by group.

    pip install 'emplace-placement[env]' stable-baselines3
    python stable_baselines.py --graph inception_v3 --cluster 2xk80 --steps 20000
"""

from __future__ import annotations

import argparse
import warnings

import emplace
import emplace.env
import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import Logger


class OnlyAllowed(gymnasium.ActionWrapper):
    """Replaces a forbidden device by the first allowed one.

    Plain PPO does not support masks (sb3-contrib's MaskablePPO does).
    """

    def action(self, action: int) -> int:
        mask = self.unwrapped.action_masks()
        return int(action) if mask[action] else int(mask.argmax())


def learn(problem: emplace.Problem, steps: int, seed: int = 0) -> tuple[float, float]:
    """Returns the mean reward (minus step time / time on the best single device) before and after learning."""
    env = OnlyAllowed(emplace.env.PlacementEnv(problem, "sequential"))
    model = PPO("MultiInputPolicy", env, seed=seed, n_steps=512, batch_size=128, gamma=1.0, verbose=0)
    model.set_logger(Logger(None, []))  # the default one makes a folder in the temporary folder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the environment has no Monitor
        before, _ = evaluate_policy(model, env, n_eval_episodes=10, deterministic=False)
        model.learn(steps)
        after, _ = evaluate_policy(model, env, n_eval_episodes=10, deterministic=False)
    return float(before), float(after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="inception_v3")
    parser.add_argument("--cluster", default="2xk80")
    parser.add_argument("--groups", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    problem = emplace.Problem(options.graph, options.cluster, coarsen=[{"merge_cheapest": {"groups": options.groups}}])
    before, after = learn(problem, options.steps)
    print(f"step time / time on the best single device: {-before:.3f} before, {-after:.3f} after {options.steps:,} steps")


if __name__ == "__main__":
    main()
