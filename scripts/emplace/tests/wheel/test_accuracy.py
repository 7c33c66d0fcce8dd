"""`scripts/accuracy`: tables by hand; a part of the page again where $EMPLACE_MEASURED names the published data."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path += [str(ROOT / "scripts" / "emplace" / "tests"), str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import emplace.published  # noqa: E402, F401
from published_support import write_collective, write_link, write_sailor, write_step  # noqa: E402
from support import called  # noqa: E402
from wheel_support import TestCase  # noqa: E402

MEASURED = os.environ.get("EMPLACE_MEASURED", "")
LOADER = importlib.machinery.SourceFileLoader("accuracy", str(ROOT / "scripts" / "accuracy"))
accuracy = importlib.util.module_from_spec(importlib.util.spec_from_loader("accuracy", LOADER))
LOADER.exec_module(accuracy)


class Accuracy(TestCase):
    def run_script(self, *arguments: str) -> tuple[int, str, str]:
        return called(accuracy.main, self.folder, "--file", self.path("page.md"), *arguments)

    def test_a_table_of_the_page(self) -> None:
        for case, measured in (("bert_large-inf-512-8", 0.61), ("gpt3_xl-inf-2048-2", 1.22), ("c-inf-8-2", 0.61)):
            write_step(self.folder, case, measured, gpu="NVIDIA_L4")
        write_step(self.folder, "c-train-8-2", 1.6)
        page = pathlib.Path(self.path("page.md"))
        page.write_text("before\n<!-- steps -->\n| a |\n|---|\n<!-- end of steps -->\nafter\n", encoding="utf-8")
        self.assertEqual(self.run_script("steps", "--page"), (0, "", ""))
        # Three steps of 610 us, one of which is published with twice that; 1.52 ms of the training step. The factor
        # of the first two is 4/3 (test_published.py).
        written = """before
<!-- steps -->
| GPU | steps | MAPE | largest error | bias | Kendall's tau |
|---|---:|---:|---:|---:|---:|
| L4 | 3 | 16.67 % | -50.0 % | +0.00 % | nan |
| NVIDIA_X1 | 1 | 5.00 % | -5.0 % | -5.00 % | nan |
| L4 with a clock factor | 1 | 33.33 % | +33.3 % | +33.33 % | nan |
<!-- end of steps -->
after
"""
        self.assertEqual(page.read_text(encoding="utf-8"), written)
        self.assertEqual(self.run_script("steps"), (0, "\n".join(written.splitlines()[1:-1]) + "\n\n", ""))
        self.assertEqual(self.run_script("steps", "--check"), (0, "", ""))
        for before, after, expected in (
                ("16.67 %", "15.16 %", ""), ("-50.0 %", "-90.0 %", ""),
                ("16.67 %", "15.14 %", "steps: L4: MAPE: 16.67 %; on the page 15.14 %\n"),
                ("L4 | 3", "L4 | 4", "steps: L4: steps: 3; on the page 4\n"),
                ("X1", "X2", "steps: NVIDIA_X2: GPU: missing; on the page NVIDIA_X2\n"),
                ("bias", "median", "steps: the columns are GPU, steps, MAPE, ")):
            page.write_text(written.replace(before, after), encoding="utf-8")
            code, out, err = self.run_script("steps", "--check")
            self.assertEqual((code, err), (1 if expected else 0, ""))
            self.assertTrue(out.startswith(expected) if expected else not out, out)

    def test_refusals(self) -> None:
        write_step(self.folder, "c-train-8-2", 1.6)
        pathlib.Path(self.path("page.md")).write_text("", encoding="utf-8")
        for arguments, expected in ((("steps-data", "--check"), "no table steps-data; choices: steps, steps-"),
                                    (("graphs-fitted",), "the tables graphs*: need --graphs FOLDER"),
                                    (("traces",), "no case is left; NVIDIA_X1/c-train-8-2: 'traceEvents' is NoneType"),
                                    (("steps",), "--gpu L4: no such GPU")):
            code, out, err = self.run_script(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(expected, err)

    def test_shares_of_the_time_by_micro_batch(self) -> None:
        for batch in (1, 2, 4, 8):
            write_sailor(self.folder, batch)
        code, out, _ = self.run_script("sailor-ops")
        row = [cell.strip() for cell in out.splitlines()[3].split("|")[1:-1]]
        self.assertEqual((code, row[:2], len(row)), (0, ["X1", "16"], 10))
        wrong = sum(abs(case.simulated - case.measured)
                    for case in accuracy.command.compared("sailor-ops", self.folder)[0] if "_mbs4_" in case.case)
        share = wrong / sum((4000e3, 8000e3, 40e3, 80e3))  # [ns]: product and gelu, forward and backward
        self.assertEqual(row[8], f"{share:.1%}".replace("%", " %"))

    def test_rings_by_group_and_size(self) -> None:
        """Rings at 0.1 ms a MiB: 0.4, 3.2, 51.2 and 102.4 ms, all-gathers 0.8 and 1.6, on 4 GPUs 3 x 3.2 ms."""
        write_link(self.folder, {1: 100, 2: 200})
        write_collective(self.folder, "all_reduce_2gpus", [(4, 0.8), (32, 3.2), (512, 64), (1024, 128)])
        write_collective(self.folder, "all_gather_2gpus", [(8, 0.4), (16, 2)])
        write_collective(self.folder, "all_gather_4gpus", [(32, 19.2)])
        code, out, _ = self.run_script("sailor-rings")
        self.assertEqual((code, out.splitlines()[1:-1]), (0, [
            "| GPUs | collectives | all-gather | all-reduce | all-to-all | reduce-scatter | up to 16 MiB "
            "| up to 256 MiB | above 256 MiB | errors |", "|---|" + 9 * "---:|",
            "| X1, 2 | 6 | +40 % | -20 % |  |  | -20 % | +0 % | -20 % | -50 % to +100 % |",
            "| X1, 4 | 1 | -50 % |  |  |  |  | -50 % |  | -50 % to -50 % |", "<!-- end of sailor-rings -->"]))

    def test_the_page_has_every_table(self) -> None:
        page = accuracy.PAGE.read_text(encoding="utf-8")
        for name in accuracy.TABLES:
            self.assertGreater(len(accuracy.read_table(page, name)), 1, name)
        self.assertEqual(page.count("<!-- end of "), len(accuracy.TABLES))


@unittest.skipUnless(MEASURED, "SKIPPED, NOT TESTED: $EMPLACE_MEASURED does not name the published data")
class Published(TestCase):
    def test_no_error_has_grown_by_a_tenth(self) -> None:
        for folder, table in (("neusight", "steps"), ("sailor", "sailor-ops"), ("sailor", "sailor-rings"),
                              ("traces", "traces"), ("traces/tracelens", "traces-others")):
            self.assertEqual(called(accuracy.main, f"{MEASURED}/{folder}", table, "--check"), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
