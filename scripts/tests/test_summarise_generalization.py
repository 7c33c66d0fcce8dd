"""Tests of summarise_generalization.py. Those that need numpy or h5py are skipped where they are not installed."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HAVE_NUMPY = importlib.util.find_spec("numpy") is not None
HAVE_H5PY = HAVE_NUMPY and importlib.util.find_spec("h5py") is not None
HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

if HAVE_NUMPY:
    import numpy as np

    import summarise_generalization
    from summarise_generalization import quantile

NAN = float("nan")
INFINITE = float("inf")
TESTS = [("graph", "i8"), ("method", "i8"), ("seed", "i8"), ("final_step_time_ns", "f8"),
         ("best_step_time_ns", "f8"), ("best_known_ns", "f8"), ("evaluations", "i8"), ("seconds", "f8")]


def run(*arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the program called with `arguments`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = summarise_generalization.main(arguments)
    return code, out.getvalue(), err.getvalue()


@unittest.skipUnless(HAVE_NUMPY, "needs numpy (scripts/requirements-results.txt)")
class Quantiles(unittest.TestCase):

    def test_by_hand(self) -> None:
        # Of four values share 0.1 is at 0.3, between the first and the second.
        self.assertAlmostEqual(quantile(np.array([4.0, 1.0, 3.0, 2.0]), 0.1), 1.3)
        self.assertEqual(quantile(np.array([4.0, 1.0, 3.0, 2.0]), 1), 4)
        self.assertEqual(quantile(np.array([1.0, INFINITE, 3.0]), 0.5), 3)
        self.assertEqual(quantile(np.array([1.0, INFINITE, 3.0]), 0.9), INFINITE)
        self.assertEqual(quantile(np.array([INFINITE] * 4), 0.5), INFINITE)


@unittest.skipUnless(HAVE_H5PY, "needs h5py (scripts/requirements-results.txt)")
class Files(unittest.TestCase):

    def setUp(self) -> None:
        import h5py
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "g.h5")
        # Best known: 100 of graph 0, 200 of graph 1, none of graph 2.
        rows = [(0, 0, 0, 110.0, 100.0, 100.0, 4, 1.0), (1, 0, 0, 300.0, 240.0, 200.0, 6, 3.0),
                (2, 0, 0, NAN, NAN, NAN, 6, 3.0),
                (0, 1, 0, 100.0, 100.0, 100.0, 9, 5.0), (1, 1, 0, 250.0, 200.0, 200.0, 9, 5.0)]
        with h5py.File(self.path, "w") as file:
            self.write(file.create_group("families/fam"), rows, ["broke"])
            empty = file.create_group("families/training")
            empty["graphs"], empty["methods"] = ["x"], ["zero"]

    @staticmethod
    def write(group: Any, rows: list[tuple[float, ...]], failures: list[str]) -> None:
        group["graphs"], group["methods"], group["failures"] = ["x", "y", "z"], ["zero", "own"], failures
        group["tests"] = np.array(rows, dtype=TESTS)

    def test_a_file_becomes_tables(self) -> None:
        code, out, err = run(self.path, "--zero-shot", "zero", "--scratch", "own")
        self.assertEqual((code, err), (0, ""))
        lines = out.split("\n")
        self.assertEqual(lines[0], "g.h5: **fam** (3 unseen graphs)")
        # zero: final 1.1, 1.5, OOM at positions 0.2, 1, 1.8; best 1, 1.2, OOM.
        self.assertEqual(lines[4], "| zero | 1.180 | 1.500 | OOM | 1.040 | 1.200 | OOM | 6 | 3.00 |")
        self.assertEqual(lines[5], "| own | 1.025 | 1.125 | 1.225 | 1.000 | 1.000 | 1.000 | 9 | 5.00 |")
        # 110 / 100 and 300 / 250; over the best 300 / 200. Graph 2 is not there to compare with.
        self.assertEqual(lines[7], "- final of zero over final of own: median 1.150, within 10% on 50% of 2")
        self.assertEqual(lines[8], "- final of zero over best of own: median 1.300, within 10% on 50% of 2")
        self.assertIn("\nfailed: broke\n", out)
        self.assertIn("g.h5: **training** (1 unseen graphs)", out)

    def test_methods_to_compare_must_be_there(self) -> None:
        code, out, err = run(self.path, "--zero-shot", "zero", "--scratch", "none")
        self.assertEqual((code, out), (2, ""))
        self.assertIn(f"{self.path}: unknown method \"none\"; choices: zero, own", err)

    def test_other_files_are_refused(self) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("no HDF5")
        for path in (self.path, self.path + ".missing"):
            code, out, err = run(path)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(f"{path}: expected a results file of `emplace generalize`", err)

    def test_without_matplotlib_the_plot_is_refused(self) -> None:
        load = builtins.__import__

        def refuse(name: str, *arguments: Any) -> Any:
            if name.startswith("matplotlib"):
                raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")
            return load(name, *arguments)

        with mock.patch.object(builtins, "__import__", refuse):
            code, _, err = run(self.path, "--plot", self.path + ".png")
        self.assertEqual(code, 2)
        self.assertIn("matplotlib is missing: pip install matplotlib", err)
        self.assertFalse(os.path.exists(self.path + ".png"))

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_a_plot_is_drawn(self) -> None:
        code, _, err = run(self.path, "--plot", self.path + ".png")
        self.assertEqual((code, err), (0, ""))
        with open(self.path + ".png", "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
