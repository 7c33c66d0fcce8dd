"""Tests of draw_max_load.py: the graphs, and that a seed draws the same."""

from __future__ import annotations

import json
import pathlib
import tempfile
import unittest
from typing import Any

import script  # noqa: F401
from support import called

import draw_max_load


def draw(*arguments: str) -> Any:
    """The instance that the program writes, run in this process."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "drawn.json"
        code, _, _ = called(draw_max_load.main, *arguments, "-o", str(output))
        assert code == 0
        return json.loads(output.read_text())


class Draw(unittest.TestCase):
    """The instance of one seed."""

    def test_graphs_are_acyclic_and_each_output_has_one_cost(self) -> None:
        for kind in draw_max_load.KINDS:
            drawn = draw(kind, "--layers", "6", "--accelerators", "3")
            self.assertEqual(drawn["maxFPGAs"], 3)
            self.assertEqual([node["id"] for node in drawn["nodes"]], list(range(1, len(drawn["nodes"]) + 1)))
            costs: dict[int, set[float]] = {}
            for edge in drawn["edges"]:
                self.assertLess(edge["sourceId"], edge["destId"])
                costs.setdefault(edge["sourceId"], set()).add(edge["cost"])
            self.assertTrue(all(len(of_node) == 1 for of_node in costs.values()))

    def test_layers(self) -> None:
        training = draw("training", "--layers", "6")["nodes"]
        self.assertEqual([node["isBackwardNode"] for node in training], [0] * 6 + [1] * 6)
        self.assertEqual([node["colorClass"] for node in training], [0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0])
        # Two nodes, and eleven in each layer: three branches of three, a join, and the layer's last.
        operators = draw("operators", "--layers", "4")["nodes"]
        self.assertEqual(len(operators), 2 + 4 * 11)
        self.assertEqual(len({node["colorClass"] for node in operators}), len(operators))

    def test_a_seed_draws_the_same(self) -> None:
        self.assertEqual(draw("operators", "--seed", "3"), draw("operators", "--seed", "3"))
        self.assertNotEqual(draw("operators", "--seed", "3"), draw("operators", "--seed", "4"))


if __name__ == "__main__":
    unittest.main()
