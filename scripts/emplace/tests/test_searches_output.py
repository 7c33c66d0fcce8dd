"""Where a run writes that names no file: below results/, whatever its graph and its cluster are called."""

from __future__ import annotations

import unittest

import support  # noqa: F401

try:
    from emplace.searches import default_output
except ModuleNotFoundError as error:
    raise unittest.SkipTest(f"needs {error.name} (pip install scripts/emplace)") from None


class DefaultOutput(unittest.TestCase):

    def test_plain_names(self) -> None:
        self.assertEqual(default_output("inception_v3", "2xk80"), "results/inception_v3_2xk80.h5")

    def test_names_that_lead_elsewhere(self) -> None:
        for graph, name in (("../x", ".._x"), ("/etc/x", "_etc_x"), ("a/b", "a_b"), ("..", ".."), ("", ""),
                            ("con\0", "con_"), ("-rf", "-rf")):
            with self.subTest(graph):
                self.assertEqual(default_output(graph, "c"), f"results/{name}_c.h5")
                self.assertEqual(default_output("g", graph), f"results/g_{name}.h5")

    def test_long_names_are_cut(self) -> None:
        """200 bytes are 100 letters of two bytes; what the name had behind them is left out, half letters too."""
        self.assertEqual(default_output("é" * 300, "c"), f"results/{'é' * 100}.h5")
        self.assertEqual(default_output("a" + "é" * 300, "c"), f"results/a{'é' * 99}.h5")


if __name__ == "__main__":
    unittest.main()
