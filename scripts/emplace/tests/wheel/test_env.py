"""The Gymnasium environments of the installed package."""

from __future__ import annotations

import unittest
import warnings

import emplace
import emplace.env
import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from wheel_support import chain

FORMULATIONS = emplace.env.FORMULATIONS



class Environments(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = chain([[10, 20, 40], [30, 5, 9], [7, 7, 7], [50, 40, 60]])

    def test_gymnasium_accepts_them(self) -> None:
        for formulation in FORMULATIONS:
            with self.subTest(formulation), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", message=".*spec.*")
                check_env(emplace.env.PlacementEnv(self.problem, formulation, horizon=5), skip_render_check=True)

    def test_the_registered_id(self) -> None:
        coarsen = ["colocate", {"merge_cheapest": {"groups": 8}}]
        for formulation in FORMULATIONS:
            env = gymnasium.make("emplace/Placement-v0", graph="inception_v3", cluster="2xk80", coarsen=coarsen,
                                 formulation=formulation, horizon=5)
            with self.subTest(formulation), warnings.catch_warnings():
                warnings.simplefilter("error")
                check_env(env.unwrapped, skip_render_check=True)
            self.assertEqual(env.spec.id if env.spec else "", "emplace/Placement-v0")
            observation, info = env.reset(seed=1)
            self.assertTrue(env.observation_space.contains(observation))
            self.assertEqual(info["placement"].shape, (8,))
        envs = gymnasium.make_vec("emplace/Placement-v0", num_envs=3, problem=self.problem, formulation="one_shot")
        _, infos = envs.reset(seed=0)
        self.assertEqual(infos["placement"].shape, (3, 4))
        again = gymnasium.make("emplace.env:emplace/Placement-v0", problem=self.problem)
        self.assertIsInstance(again.unwrapped, emplace.env.PlacementEnv)
        for wrong in ({}, {"graph": "inception_v3"}, {"problem": self.problem, "graph": "nmt", "cluster": "2xk80"}):
            with self.assertRaisesRegex(ValueError, "expected problem=, or graph= and cluster="):
                gymnasium.make("emplace/Placement-v0", **wrong)
        with self.assertRaisesRegex(ValueError, "got coarsen together with problem="):
            gymnasium.make("emplace/Placement-v0", problem=self.problem, coarsen=coarsen)

    def test_rewards_by_hand(self) -> None:
        """All on d0 takes 97 ns, on d1 72 ns, on d2 116 ns: the best single device, d1, is the scale."""
        env = emplace.env.PlacementEnv(self.problem, "one_shot")
        self.assertEqual(env.scale, 72)
        env.reset(seed=0)
        _, reward, terminated, truncated, info = env.step([1, 1, 1, 1])
        self.assertAlmostEqual(reward, -72 / 72)
        self.assertEqual((terminated, truncated, info["step_time"]), (True, False, 72))

        env = emplace.env.PlacementEnv(self.problem, "sequential")
        env.reset(seed=0)
        rewards = [env.step(1)[1] for _ in range(3)]
        _, reward, terminated, _, _ = env.step(1)
        self.assertEqual((rewards, terminated), ([0, 0, 0], True))
        self.assertAlmostEqual(reward, -72 / 72)

        env = emplace.env.PlacementEnv(self.problem, "improvement", start=[0, 0, 0, 0], horizon=2)
        env.reset(seed=0)
        _, first, _, truncated, info = env.step(1 * 3 + 1)  # op1 to d1: 10 + 1100 + 5 + 1100 + 7 + 50
        self.assertEqual((info["step_time"], truncated), (2272, False))
        self.assertAlmostEqual(first, (97 - 2272) / 72)
        _, second, terminated, truncated, _ = env.step(1 * 3 + 0)
        self.assertAlmostEqual(first + second, 0)
        self.assertEqual((terminated, truncated), (False, True))

    def test_what_does_not_fit(self) -> None:
        """All outputs on d0: 2000 B of 1500: 500 missing, the largest memory is 4000."""
        problem = chain([[10, 10], [10, 10]], memory=[1500, 4000])
        env = emplace.env.PlacementEnv(problem, "one_shot")
        env.reset()
        _, reward, _, _, info = env.step([0, 0])
        self.assertFalse(info["feasible"])
        self.assertAlmostEqual(reward, -(20 / env.scale + 1 + 500 / 4000))

    def test_masks_and_forbidden_actions(self) -> None:
        problem = chain([[10, -1], [30, 5]])
        for formulation, shape in (("one_shot", (2, 2)), ("sequential", (2,)), ("improvement", (4,))):
            env = emplace.env.PlacementEnv(problem, formulation)
            _, info = env.reset(seed=0)
            self.assertEqual(info["action_mask"].shape, shape)
            self.assertEqual(info["action_mask"].reshape(-1)[:2].tolist(), [True, False])
            with self.assertRaisesRegex(ValueError, "may not be on that device"):
                env.step([1, 1] if formulation == "one_shot" else 1)

    def test_a_vector_is_as_many_single_ones(self) -> None:
        rng = np.random.default_rng(0)
        for formulation in FORMULATIONS:
            envs = emplace.env.PlacementVectorEnv(self.problem, formulation, 5, horizon=3, autoreset_mode="Disabled")
            singles = [emplace.env.PlacementEnv(self.problem, formulation, horizon=3) for _ in range(5)]
            observed, infos = envs.reset(seed=[3, 4, 5, 6, 7])
            single = [env.reset(seed=3 + i) for i, env in enumerate(singles)]
            while True:
                for i in range(5):
                    for key in observed:
                        np.testing.assert_array_equal(observed[key][i], single[i][0][key])
                    for key in single[i][1]:
                        np.testing.assert_array_equal(infos[key][i], single[i][1][key])
                actions = np.array(
                    [rng.integers(0, 3, 4) if formulation == "one_shot" else
                     rng.integers(0, 3 if formulation == "sequential" else 12) for _ in range(5)])
                observed, rewards, terminated, truncated, infos = envs.step(actions)
                single = []
                for i, env in enumerate(singles):
                    seen, reward, over, cut, info = env.step(actions[i])
                    self.assertEqual((reward, over, cut), (rewards[i], terminated[i], truncated[i]))
                    single.append((seen, info))
                if (terminated | truncated).all():
                    break

    def test_autoreset(self) -> None:
        envs = emplace.env.PlacementVectorEnv(self.problem, "sequential", 2)
        self.assertIs(envs.metadata["autoreset_mode"], AutoresetMode.SAME_STEP)
        envs.reset(seed=0)
        for _ in range(4):
            observed, rewards, terminated, _, infos = envs.step(np.array([0, 1]))
        self.assertTrue(terminated.all())
        self.assertEqual(infos["final_info"]["step_time"].tolist(), [97, 72])
        self.assertEqual(observed["placement"].sum(), 0)
        self.assertEqual(infos["final_obs"]["placement"].sum(), 8)

        envs = emplace.env.PlacementVectorEnv(self.problem, "one_shot", 2, autoreset_mode=AutoresetMode.NEXT_STEP)
        envs.reset(seed=0)
        actions = np.ones((2, 4), dtype=int)
        self.assertTrue(envs.step(actions)[2].all())
        _, rewards, terminated, _, _ = envs.step(actions)  # the reset
        self.assertEqual((rewards.tolist(), terminated.tolist()), ([0, 0], [False, False]))
        self.assertTrue(envs.step(actions)[2].all())

        envs = emplace.env.PlacementVectorEnv(self.problem, "one_shot", 2, autoreset_mode=AutoresetMode.DISABLED)
        envs.reset(seed=0)
        envs.step(actions)
        with self.assertRaisesRegex(ValueError, r"environments \[0, 1\] are over"):
            envs.step(actions)
        envs.reset(options={"reset_mask": np.array([True, True])})
        envs.step(actions)

    def test_what_is_refused(self) -> None:
        for arguments, message in [(("sequentil",), "choices: one_shot"), (("improvement",), "choices: random")]:
            with self.assertRaisesRegex(ValueError, message):
                emplace.env.PlacementEnv(self.problem, *arguments, start="nowhere")


if __name__ == "__main__":
    unittest.main()
