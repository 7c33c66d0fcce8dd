"""Steps of PyTorch on an H200 beside their simulations (profilers/FIDELITY.md, "Steps of PyTorch on the H200")."""

from __future__ import annotations

import json
import pathlib
import sys
import unittest

import numpy as np

import emplace
from emplace import _compiled
from emplace.trace_costs.build import costs_from_trace

sys.path.append(str(pathlib.Path(__file__).resolve().parent))

from wheel_support import TestCase  # noqa: E402

TRACE = pathlib.Path(__file__).resolve().parents[1] / "data" / "h200_gpt2_mini_b4.trace.json.gz"
# Costs of configs/costs -> graph, measured step as a CUDA graph [ms], largest errors with these costs and by the menu.
STEPS = {
    "h200_gpt2_mini_b4": ("gpt2_mini_torch", 1.720, 0.07, 0.32),
    "h200_gpt2_small_b8": ("gpt2_small_torch", 196.27, 0.005, 0.02),
    "h200_bert_base_b32": ("bert_base_torch", 70.39, 0.01, 0.08),
    "h200_resnet50_b1": ("resnet50_b1_torch", 5.768, 0.05, 0.05),
    "h200_resnet50_b32": ("resnet50_torch", 40.67, 0.01, 0.05),
    "h200_inception_v3_b32": ("inception_v3_torch", 62.21, 0.03, 0.05),
}


def step(graph: str, costs: str | None) -> float:
    """Returns the simulated step of a graph on one H200 [ms]."""
    cluster = _compiled().Cluster.parse('{name: one, devices: [{name: "gpu:0", kind: h200}]}', "one")
    problem = _compiled().Problem(emplace.Graph(graph), cluster, costs=costs, semantics="stream")
    placement = np.zeros((1, problem.num_groups), dtype=np.uint8)
    return float(problem.evaluate(placement).step_time[0]) / 1e6


class H200Steps(TestCase):

    def test_steps_with_costs_of_their_traces(self) -> None:
        for costs, (graph, measured, most, _) in STEPS.items():
            with self.subTest(costs):
                self.assertLessEqual(abs(step(graph, costs) / measured - 1), most)

    def test_steps_by_the_fits_of_the_menu(self) -> None:
        for costs, (graph, measured, _, most) in STEPS.items():
            with self.subTest(costs):
                self.assertLessEqual(abs(step(graph, None) / measured - 1), most)

    def test_a_trace_of_the_gpu(self) -> None:
        """One of the three steps from which the committed file is made."""
        found = costs_from_trace(TRACE, "gpt2_mini_torch", "h200")
        device, = found.devices
        self.assertEqual(device.share, 1)
        self.assertAlmostEqual(device.simulated.step / 1e6, step("gpt2_mini_torch", "h200_gpt2_mini_b4"), delta=0.02)
        properties = json.loads(found.text)["properties"]
        self.assertEqual((properties["gpu"], properties["driver"]), ("NVIDIA H200", "CUDA 13.0"))


if __name__ == "__main__":
    unittest.main()
