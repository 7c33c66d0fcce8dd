"""Placing as Gymnasium environments: one at a time, or many that share a batch of the simulator.

    import emplace.env
    env = emplace.env.PlacementEnv(problem, "sequential")
    envs = emplace.env.PlacementVectorEnv(problem, "improvement", num_envs=64, horizon=100)

Importing this module registers the id emplace/Placement-v0, whose keywords are those of make_env():

    env = gymnasium.make("emplace/Placement-v0", graph="inception_v3", cluster="2xk80", formulation="sequential")
    envs = gymnasium.make_vec("emplace/Placement-v0", num_envs=64, problem=problem, formulation="improvement")

and an id for each instance of the benchmark, whose keywords are the others of make_env():

    env = gymnasium.make("emplace/nmt_24_queue-v1", formulation="improvement", horizon=100)

Formulations, for G groups and D devices:

  one_shot     one action places everything: MultiDiscrete [D] * G; an episode is one step
  sequential   action: the device of the next group, Discrete(D); groups come in topological order, an episode has
               G steps and its reward at the end
  improvement  action: group * D + device, Discrete(G * D), moves a group; begins at a placement (`start`); an
               episode is truncated after `horizon` steps

The cost of a placement is its step time / `env.scale`, which is the time on the best single device (else the proven
bound). A placement that does not fit into memory costs an additional 1 + missing bytes / the largest memory. The reward
of one_shot and sequential is minus the cost of the final placement. The reward of improvement is the cost before the
move minus the cost after it, so the return is the total gain of the episode.

Observations are dictionaries of float32 arrays: `features` [G, 2 D + 3] (constant, see features_of), `placement` [G, D]
(one-hot; zeros: not placed yet) and, for sequential, `current` [G] (one-hot: the group to place).

infos: `action_mask` (allowed actions: [G, D], [D] or [G * D] bool), `step_time` [ns] and `feasible` (for a complete
placement), `placement` (uint8 [G]). A forbidden action is refused (ValueError).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

if TYPE_CHECKING:
    from . import Problem

FORMULATIONS = ("one_shot", "sequential", "improvement")
STARTS = ("random", "single")
ID = "emplace/Placement-v0"
UNPLACED = 255
Array = np.ndarray[Any, Any]


def features_of(problem: Problem) -> Array:
    """Returns the constant features: float32 [G, 2 D + 3], all about 0 to 1.

    Columns: cost on each device as a share of the largest (0 if forbidden); 1 if allowed, for each device; log of
    resident bytes, and of the bytes that the group exchanges, as shares of the largest; position in topological order.
    """
    costs = np.where(problem.allowed, problem.group_costs, 0).astype(np.float64)
    exchanged = np.zeros(problem.num_groups)
    for column in (0, 1):
        np.add.at(exchanged, problem.group_edges[:, column], problem.group_edges[:, 2])
    position = np.empty(problem.num_groups)
    position[problem.group_order] = np.arange(problem.num_groups) / max(1, problem.num_groups - 1)
    columns = [_share(np.log1p(costs)), problem.allowed.astype(np.float64),
               _share(np.log1p(problem.group_resident_bytes))[:, None], _share(np.log1p(exchanged))[:, None],
               position[:, None]]
    return np.concatenate(columns, axis=1).astype(np.float32)


def _share(values: Array) -> Array:
    largest = values.max() if values.size else 0
    return values / largest if largest > 0 else np.zeros_like(values)


class _Batch:
    """N environments as arrays; reset() and step() act on a selection of them at once."""

    def __init__(self, problem: Problem, formulation: str, count: int, horizon: int, start: str | Sequence[int]) -> None:
        if formulation not in FORMULATIONS:
            raise ValueError(f"formulation: got {formulation!r}; choices: {', '.join(FORMULATIONS)}")
        if isinstance(start, str) and start not in STARTS:
            raise ValueError(f"start: got {start!r}; choices: {', '.join(STARTS)}, or a placement [num_groups]")
        if horizon < 1:
            raise ValueError(f"horizon: got {horizon}, expected at least 1")
        self.problem, self.formulation, self.count, self.horizon, self.start = (
            problem, formulation, count, horizon, start)
        self.groups, self.devices = problem.num_groups, problem.num_devices
        self.features = features_of(problem)
        single = problem.best_single_device()
        self.scale = float((single[1] if single else problem.bounds().value) or 1)
        limited = problem.cluster.memory[problem.cluster.memory < 2**63 - 1]
        self.memory = float(limited.max()) if limited.size else 1.0
        self.random = [np.random.default_rng() for _ in range(count)]
        self.placement = np.full((count, self.groups), UNPLACED, dtype=np.uint8)
        self.steps = np.zeros(count, dtype=np.int64)
        self.cost = np.zeros(count)
        self.step_time = np.zeros(count, dtype=np.int64)
        self.feasible = np.zeros(count, dtype=bool)

    def spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        """Returns (observation space, action space) of one environment."""
        def unit(*shape: int) -> spaces.Box:
            return spaces.Box(0.0, 1.0, shape, np.float32)

        parts: dict[str, spaces.Space[Any]] = {"features": unit(*self.features.shape),
                                               "placement": unit(self.groups, self.devices)}
        if self.formulation == "one_shot":
            return spaces.Dict(parts), spaces.MultiDiscrete([self.devices] * self.groups)
        if self.formulation == "sequential":
            parts["current"] = unit(self.groups)
            return spaces.Dict(parts), spaces.Discrete(self.devices)
        return spaces.Dict(parts), spaces.Discrete(self.groups * self.devices)

    def reset(self, which: Array) -> None:
        """Begins new episodes in the environments selected by `which` [N]."""
        indices = np.flatnonzero(which)
        if not indices.size:
            return
        self.steps[indices] = 0
        self.placement[indices] = UNPLACED
        if self.formulation == "improvement":
            for i in indices:
                self.placement[i] = self._start(self.random[i])
            self._evaluate(indices)

    def step(self, actions: Array, which: Array) -> tuple[Array, Array, Array]:
        """Steps the environments `which` [N]. Returns rewards, terminated, truncated [N]."""
        reward = np.zeros(self.count)
        terminated = np.zeros(self.count, dtype=bool)
        truncated = np.zeros(self.count, dtype=bool)
        indices = np.flatnonzero(which)
        if not indices.size:
            return reward, terminated, truncated
        before = self.cost.copy()
        self._place(np.asarray(actions), indices)
        self.steps[indices] += 1
        if self.formulation == "improvement":
            self._evaluate(indices)
            reward[indices] = (before - self.cost)[indices]
            truncated[indices] = self.steps[indices] >= self.horizon
            return reward, terminated, truncated
        terminated[indices] = self.formulation == "one_shot" or self.steps[indices] == self.groups
        whole = np.flatnonzero(terminated)
        if whole.size:
            self._evaluate(whole)
            reward[whole] = -self.cost[whole]
        return reward, terminated, truncated

    def observations(self) -> dict[str, Array]:
        """Returns [N, ...] of each part of the observations."""
        one_hot = (self.placement[:, :, None] == np.arange(self.devices)).astype(np.float32)
        parts = {"features": np.broadcast_to(self.features, (self.count, *self.features.shape)).copy(),
                 "placement": one_hot}
        if self.formulation == "sequential":
            current = np.zeros((self.count, self.groups), dtype=np.float32)
            open_ = np.flatnonzero(self.steps < self.groups)
            current[open_, self.problem.group_order[self.steps[open_]]] = 1
            parts["current"] = current
        return parts

    def masks(self) -> Array:
        """Returns [N, G, D], [N, D] or [N, G * D] bool: allowed actions."""
        allowed = self.problem.allowed
        if self.formulation == "one_shot":
            return np.broadcast_to(allowed, (self.count, *allowed.shape)).copy()
        if self.formulation == "sequential":
            group = self.problem.group_order[np.minimum(self.steps, self.groups - 1)]
            return allowed[group].copy()
        return np.broadcast_to(allowed.reshape(-1), (self.count, allowed.size)).copy()

    def infos(self) -> dict[str, Array]:
        """Returns [N, ...] of each information; step_time is 0 for an incomplete placement."""
        whole = (self.placement != UNPLACED).all(axis=1)
        return {"action_mask": self.masks(), "step_time": np.where(whole, self.step_time, 0),
                "feasible": self.feasible & whole, "placement": self.placement.copy()}

    def _place(self, actions: Array, indices: Array) -> None:
        if self.formulation == "one_shot":
            groups: Array = np.arange(self.groups)[None, :]
            devices: Array = actions[indices].astype(np.int64)
        elif self.formulation == "sequential":
            groups, devices = self.problem.group_order[self.steps[indices]], actions[indices].astype(np.int64)
        else:
            groups, devices = np.divmod(actions[indices].astype(np.int64), self.devices)
        if devices.size and (devices.min() < 0 or devices.max() >= self.devices):
            raise ValueError(f"action: device {devices.min()} to {devices.max()}; there are {self.devices}")
        if not self.problem.allowed[groups, devices].all():
            raise ValueError("action: a group may not be on that device; info['action_mask'] has the allowed actions")
        if self.formulation == "one_shot":
            self.placement[indices] = devices
        else:
            self.placement[indices, groups] = devices

    def _evaluate(self, indices: Array) -> None:
        outcomes = self.problem.evaluate(np.ascontiguousarray(self.placement[indices]), peaks=False)
        missing = np.where(outcomes.feasible, 0.0, 1.0 + outcomes.deficit / self.memory)
        self.cost[indices] = outcomes.step_time / self.scale + missing
        self.step_time[indices] = outcomes.step_time
        self.feasible[indices] = outcomes.feasible

    def _start(self, random: np.random.Generator) -> Array:
        if not isinstance(self.start, str):
            return np.asarray(self.start, dtype=np.uint8)
        if self.start == "random":
            scores = random.random(self.problem.allowed.shape)
            drawn: Array = np.where(self.problem.allowed, scores, -1.0).argmax(axis=1)
            return drawn
        most = int(self.problem.allowed.sum(axis=0).argmax())  # the first of the devices that accept the most groups
        begin: Array = np.where(self.problem.allowed[:, most], most, self.problem.allowed.argmax(axis=1))
        return begin


class PlacementEnv(gymnasium.Env[dict[str, Array], Any]):
    """One environment. `horizon` and `start` ("random", "single" or a placement) are for improvement."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, problem: Problem, formulation: str = "sequential", *, horizon: int = 100,
                 start: str | Sequence[int] = "random") -> None:
        self._batch = _Batch(problem, formulation, 1, horizon, start)
        self.problem, self.scale = problem, self._batch.scale
        self.observation_space, self.action_space = self._batch.spaces()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[dict[str, Array], dict[str, Any]]:
        super().reset(seed=seed)
        self._batch.random[0] = self.np_random
        self._batch.reset(np.ones(1, dtype=bool))
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        reward, terminated, truncated = self._batch.step(np.asarray(action)[None], np.ones(1, dtype=bool))
        return self._observation(), float(reward[0]), bool(terminated[0]), bool(truncated[0]), self._info()

    def action_masks(self) -> Array:
        """Returns info["action_mask"]; sb3-contrib's MaskablePPO calls this method."""
        mask: Array = self._batch.masks()[0]
        return mask

    def _observation(self) -> dict[str, Array]:
        return {key: value[0] for key, value in self._batch.observations().items()}

    def _info(self) -> dict[str, Any]:
        return {key: value[0] for key, value in self._batch.infos().items()}


class PlacementVectorEnv(VectorEnv[dict[str, Array], Any, Array]):
    """num_envs environments whose placements are simulated as one batch.

    autoreset_mode: SAME_STEP (the observation after an episode's end is the first one of the next episode; infos have
    final_obs and final_info), NEXT_STEP, or DISABLED (reset with options={"reset_mask": [num_envs] bool}).
    seeds: reset(seed=[...]) seeds each environment by itself, reset(seed=s) with s, s + 1, ...
    """

    def __init__(self, problem: Problem, formulation: str = "sequential", num_envs: int = 64, *, horizon: int = 100,
                 start: str | Sequence[int] = "random",
                 autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP) -> None:
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.num_envs = num_envs
        self._batch = _Batch(problem, formulation, num_envs, horizon, start)
        self.problem, self.scale = problem, self._batch.scale
        self.single_observation_space, self.single_action_space = self._batch.spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
              ) -> tuple[dict[str, Array], dict[str, Any]]:
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"seed: {len(seeds)} seeds for {self.num_envs} environments")
            for i, one in enumerate(seeds):
                if one is not None:
                    self._batch.random[i] = np.random.default_rng(one)
        which = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        self._batch.reset(which)
        self._over[which] = False
        return self._batch.observations(), self._infos()

    def step(self, actions: Any) -> tuple[dict[str, Array], Array, Array, Array, dict[str, Any]]:
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            raise ValueError(f"environments {np.flatnonzero(self._over).tolist()} are over: reset them first")
        going = ~self._over
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            self._batch.reset(self._over)
        reward, terminated, truncated = self._batch.step(np.asarray(actions), going)
        self._over = terminated | truncated
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not self._over.any():
            return self._batch.observations(), reward, terminated, truncated, self._infos()
        final_obs, final_info, over = self._batch.observations(), self._infos(), self._over
        self._batch.reset(over)
        self._over = np.zeros(self.num_envs, dtype=bool)
        infos = self._infos()
        infos.update({"final_obs": final_obs, "_final_obs": over, "final_info": final_info, "_final_info": over})
        return self._batch.observations(), reward, terminated, truncated, infos

    def _infos(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, dtype=bool)
        infos: dict[str, Any] = {}
        for key, value in self._batch.infos().items():
            infos[key], infos[f"_{key}"] = value, every
        return infos


def make_env(formulation: str = "sequential", *, problem: Problem | None = None, graph: Any = None, cluster: Any = None,
             horizon: int = 100, start: str | Sequence[int] = "random", **options: Any) -> PlacementEnv:
    """Returns the environment of gymnasium.make("emplace/Placement-v0", ...).

    problem, or graph and cluster (names, files, or objects) with further options of emplace.Problem, such as coarsen
    """
    return PlacementEnv(_problem_of(problem, graph, cluster, options), formulation, horizon=horizon, start=start)


def make_vector_env(formulation: str = "sequential", *, num_envs: int = 1, problem: Problem | None = None,
                    graph: Any = None, cluster: Any = None, horizon: int = 100, start: str | Sequence[int] = "random",
                    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP, **options: Any) -> PlacementVectorEnv:
    """Returns the environments of gymnasium.make_vec("emplace/Placement-v0", ...); keywords as make_env()."""
    return PlacementVectorEnv(_problem_of(problem, graph, cluster, options), formulation, num_envs, horizon=horizon,
                              start=start, autoreset_mode=autoreset_mode)


def _problem_of(problem: Problem | None, graph: Any, cluster: Any, options: dict[str, Any]) -> Problem:
    import emplace

    if (problem is None) != (graph is not None and cluster is not None):
        raise ValueError(f"{ID}: expected problem=, or graph= and cluster=")
    if problem is None:
        return emplace.Problem(graph, cluster, **options)
    if options or graph is not None or cluster is not None:
        raise ValueError(f"{ID}: got {', '.join(options) or 'graph or cluster'} together with problem=, which has its "
                         "own")
    return problem


def _register() -> None:
    from .benchmark.instances import RECIPES, default_folder, instances

    if ID in gymnasium.registry:
        return
    gymnasium.register(ID, entry_point=f"{__name__}:make_env", vector_entry_point=f"{__name__}:make_vector_env")
    if not (default_folder() / RECIPES).exists():  # another folder of menus (EMPLACE_CONFIGS)
        return
    for one in instances():
        gymnasium.register(
            f"emplace/{one.name}-v1", entry_point=f"{__name__}:make_env", vector_entry_point=f"{__name__}:make_vector_env",
            kwargs={"graph": str(one.path), "cluster": str(one.path), "semantics": one.semantics,
                    "objective": one.objective, "count_gaps": one.count_gaps})


_register()
