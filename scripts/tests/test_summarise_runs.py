"""Tests of summarise_runs.py. Those that need numpy or h5py are skipped where they are not installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HAVE_NUMPY = importlib.util.find_spec("numpy") is not None
HAVE_H5PY = HAVE_NUMPY and importlib.util.find_spec("h5py") is not None

if HAVE_NUMPY:
    import numpy as np

    import summarise_runs
    from summarise_runs import Search, summarise

NAN = float("nan")


def search(agent: str, best: list[float], status: str = "budget", seconds: float = 2.0,
           hardware: float = 7200.0) -> Search:
    return Search(agent, status, np.array(best), seconds, hardware)


def run(*arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the program called with `arguments`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = summarise_runs.main(arguments)
    return code, out.getvalue(), err.getvalue()


@unittest.skipUnless(HAVE_NUMPY, "needs numpy (scripts/requirements-results.txt)")
class Summary(unittest.TestCase):

    def test_medians_over_seeds_sorted_by_time(self) -> None:
        # Within 1 % of the final 2 s, 1 s, 3 s: below 2.02 at the 3rd, 1.01 at the 2nd, at the 1st.
        rows = summarise([search("slow", [5.0]),
                          search("climb", [NAN, 2.5, 2.02, 2.0], seconds=1, hardware=3600),
                          search("climb", [1.02, 1.01, 1.0, 1.0], seconds=3, hardware=1800),
                          search("climb", [3.0, 3.0, 3.0, 3.0], seconds=8, hardware=9000)])
        self.assertEqual(rows, [
            ["climb", "2.0000", "1.0000 .. 3.0000", "3", "4", "2", "3.0", "1.00"],
            ["slow", "5.0000", "", "1", "1", "1", "2.0", "2.00"]])

    def test_what_does_not_fit_or_was_stopped_is_said(self) -> None:
        rows = summarise([search("never", [NAN, NAN]), search("failed", [], "failed"),
                          search("half", [NAN]), search("half", [4.0], "stopped")])
        self.assertEqual([row[:4] for row in rows], [
            ["half", "4.0000", "", "1 of 2 fit, stopped"],
            ["failed", "does not fit", "", "0 of 1 fit, failed"],
            ["never", "does not fit", "", "0 of 1 fit"]])
        self.assertEqual(rows[1][5], "")


@unittest.skipUnless(HAVE_H5PY, "needs h5py (scripts/requirements-results.txt)")
class Files(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "r.h5")

    def test_a_file_becomes_a_markdown_table(self) -> None:
        import h5py
        with h5py.File(self.path, "w") as file:
            file.create_group("problem").attrs.update(graph="g", cluster="c", bound_ns=1_500_000_000)
            group = file.create_group("agents/climb.seed0")
            group.attrs.update(label=b"climb", status="budget", seconds=0.5, hardware_seconds=36.0)
            group["evaluations"] = np.array([(NAN,), (2e9,)], dtype=[("best_step_time_ns", "f8")])
        code, out, err = run(self.path)
        self.assertEqual((code, err), (0, ""))
        lines = out.split("\n")
        self.assertEqual(lines[0], "**r.h5: g on c, bound 1.5 s**")
        self.assertEqual(lines[2][:34], "| agent | median [s] | range [s] |")
        self.assertEqual(lines[4], "| climb | 2.0000 |  | 1 | 2 | 2 | 0.5 | 0.01 |")

    def test_other_files_are_refused(self) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("no HDF5")
        for path in (self.path, self.path + ".missing"):
            code, out, err = run(path)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(f"{path}: expected a results file", err)


if __name__ == "__main__":
    unittest.main()
