"""Tests of fit_papers_machine.py: the search, the memory, the machines' files, the page; a fit of a small paper.

What simulates needs the program: $EMPLACE_PROGRAM.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import yaml

from script import SCRIPTS
from support import called

import fit_papers_machine
from emplace.importers.graph_file import GraphBuilder
from papers_machine import fit, machine, page
from papers_machine.bench import Bench, Step
from papers_machine.cells import Cell, read_cells

CONFIGS = SCRIPTS.parent / "configs"
PROGRAM = os.environ.get("EMPLACE_PROGRAM", "")

FITTED = [m for m in machine.MACHINES if m.cpu]


def cell(**published: float | str) -> Cell:
    return Cell("row", "graph", 2, "rules", published, 1.0)


class Cells(unittest.TestCase):

    def test_steps_are_compared_with_one_gpu(self) -> None:
        row = cell(single_cpu=8.0, single_gpu=2.0, expert=3.0, scotch=10.0)
        self.assertEqual(row.ratios(), {"single_cpu": 4.0, "expert": 1.5, "scotch": 5.0})
        self.assertEqual(row.fitted(), ["single_cpu", "expert"])

    def test_or_with_the_cpu_where_one_gpu_has_too_little_memory(self) -> None:
        row = cell(single_cpu=8.0, single_gpu="oom", expert=2.0, min_cut="oom")
        self.assertEqual((row.base, row.ratios()), ("single_cpu", {"expert": 0.25}))

    def test_an_expert_with_the_step_of_one_gpu_is_one_gpu(self) -> None:
        row = cell(single_cpu=8.0, single_gpu=2.0, expert=2.0)
        self.assertEqual((row.agent("expert"), row.fitted()), ("single_gpu", ["single_cpu"]))
        self.assertEqual(cell(single_gpu="oom", expert="oom").agent("expert"), "expert")

    def test_the_rows_of_the_papers(self) -> None:
        rows = {row.label: row for row in read_cells(CONFIGS, FITTED[0])}
        row = rows["NMT, 4 GPUs"]
        self.assertEqual((row.graph, row.gpus, row.rules, row.own), ("nmt", 4, "nmt", 3.92))
        self.assertEqual(row.published, {"single_cpu": 10.72, "single_gpu": "oom", "expert": 4.73,
                                         "scotch": 11.23, "min_cut": 11.78})
        self.assertEqual(len(rows), 6)


class Search(unittest.TestCase):
    FIGURES = [machine.Figure("a", "", 1, 100, "", ""), machine.Figure("b", "", 0.1, 10, "", "")]

    def search(self, a: float, b: float) -> dict[str, float]:
        return fit.pattern_search(lambda point: math.log(point["a"] / a) ** 2 + math.log(point["b"] / b) ** 2,
                                  self.FIGURES)

    def test_finds_the_least_within_its_step(self) -> None:
        point = self.search(33, 0.5)
        self.assertLess(abs(math.log(point["a"] / 33)), math.log(fit.PRECISION))
        self.assertLess(abs(math.log(point["b"] / 0.5)), math.log(fit.PRECISION))

    def test_stays_within_bounds(self) -> None:
        self.assertEqual(self.search(1e6, 1e-6), {"a": 100, "b": 0.1})


class Memory(unittest.TestCase):

    def test_lies_between_what_fits_and_what_must_not(self) -> None:
        self.assertEqual(fit.usable_memory([(7.0, True), (8.0, False), (3.0, True)]), 7.48)  # sqrt(56) = 7.483

    def test_contradicts_as_little_as_possible(self) -> None:
        # Below 7: one wrong (8); 7 to 8: two; 8 to 10: one, and the wider interval: sqrt(80) = 8.944.
        known = [(7.0, False), (8.0, True), (10.0, False)]
        self.assertEqual(fit.usable_memory(known), 8.94)
        self.assertEqual(fit.contradictions(known, 7.5), 2)

    def test_stays_within_its_range(self) -> None:
        self.assertEqual(fit.usable_memory([(21.0, True), (2.0, True)]), 8.12)  # sqrt(6 * 11)


class Files(unittest.TestCase):

    def test_those_in_configs_are_what_their_figures_make(self) -> None:
        for known in FITTED:
            figures = machine.read_figures(CONFIGS, known)
            with self.subTest(known.name):
                self.assertEqual(machine.kinds_file(CONFIGS, known, figures),
                                 (CONFIGS / "device_kinds" / f"{known.name}.yaml").read_text())
                for gpus in known.gpus:
                    self.assertEqual(machine.cluster_file(known, figures, gpus),
                                     (CONFIGS / "clusters" / f"{known.cluster(gpus)}.yaml").read_text())

    def test_figures_are_read_as_they_were_written(self) -> None:
        figures = {"issue": 12.5, "latency": 345.0, "bandwidth": 2.5, "cpu_share": 1.5, "memory": 7.25}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for part in ("clusters", "device_kinds"):
                (folder / part).mkdir()
            machine.write_files(folder, CONFIGS, FITTED[0], figures)
            self.assertEqual(machine.read_figures(folder, FITTED[0]), figures)

    def test_shares_stay_below_one(self) -> None:
        figures = {"issue": 1, "latency": 1, "bandwidth": 1, "cpu_share": 2}
        kinds = yaml.safe_load(machine.kinds_file(CONFIGS, FITTED[0], figures))["device_kinds"]
        shares = kinds["haswell_18c_tf_2016"]["efficiency"]
        self.assertEqual((shares["matmul"], shares["memory"]), (0.8, 1))  # twice 0.4; twice 0.6 is too much
        self.assertEqual(kinds["k80_tf_2016"]["efficiency"]["matmul"], 0.65)


class Page(unittest.TestCase):

    def test_has_the_marks_of_every_machine(self) -> None:
        text = (CONFIGS / "papers/machines.md").read_text()
        for known in machine.MACHINES:
            self.assertIn(f"<!-- {known.name} -->", page.replace_section(text, known.name, "nothing\n"))

    def test_a_section_is_replaced_between_its_marks(self) -> None:
        text = "a\n<!-- m -->\nold\n<!-- end of m -->\nb\n"
        self.assertEqual(page.replace_section(text, "m", "new\n"), text.replace("old", "new"))
        with self.assertRaisesRegex(ValueError, "no marks <!-- n -->"):
            page.replace_section(text, "n", "new\n")

    def test_quality_by_hand(self) -> None:
        row = cell(single_gpu=1.0, expert=2.0, scotch=4.0)
        steps = {row: {"single_gpu": Step(1.0, 1), "expert": Step(0.5, 1), "scotch": Step(4.0, 1)}}
        # The expert is off by 4 and on the other side of 1, Scotch is right: sqrt((ln 4)^2 / 2) = ln 2.665.
        self.assertEqual(page.quality([row], steps, ("expert", "scotch")),
                         "off by a factor of 2.67 (root mean square), 1 of 2 on the published side of 1")

    def test_memory_that_contradicts_the_paper_is_told(self) -> None:
        row = cell(single_cpu=8.0, single_gpu="oom", expert=2.0)
        steps = {row: {"single_gpu": Step(1.0, 7.0), "expert": Step(None, 12.0)}}
        self.assertEqual(page.memory_lines([row], steps), [
            "- row: what one GPU needs, 7.00 GiB of a GPU, fits here; in the paper it did not.",
            "- row: what the expert needs, 12.00 GiB of a GPU, does not fit here; in the paper it did."])
        agreed = {row: {"single_gpu": Step(None, 12.0), "expert": Step(1.0, 7.0)}}
        self.assertEqual(page.memory_lines([row], agreed), [])

    def test_a_row_tells_what_it_is_for(self) -> None:
        row = cell(single_cpu=8.0, single_gpu="oom", expert=2.0, scotch=4.0)
        steps = {row: {"single_cpu": Step(4.0, 0), "single_gpu": Step(None, 9.5), "expert": Step(2.0, 5),
                       "scotch": Step(4.0, 5)}}
        lines = page.steps_table([row], steps, {"row": 0.5}, True)[2:]
        self.assertEqual(lines[1], "| row | one GPU | memory: a GPU's peak is 9.50 GiB | oom | oom |  |  |  |")
        self.assertEqual(lines[2], "| row | expert | fitted | 2 | 2 | 0.25 | 0.5 | 2 |")
        self.assertEqual(lines[3], "| row | Scotch | held out | 4 | 4 | 0.5 | 1 | 2 |")
        self.assertEqual(lines[4], "| row | the paper's method | predicted | 1 | 0.5 | 0.125 | 0.125 | 1 |")


class CommandLine(unittest.TestCase):

    def refusal(self, *arguments: str) -> str:
        code, _, err = called(fit_papers_machine.main, *arguments)
        self.assertEqual(code, 2)
        return err

    def test_what_is_unknown_is_named(self) -> None:
        self.assertIn("unknown machine 'tf_2015' (the machines are: tf_2016, tf_2017, placeto)",
                      self.refusal("tf_2015"))
        self.assertIn("'/no/emplace' does not exist", self.refusal("--program", "/no/emplace"))


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs $EMPLACE_PROGRAM, the path of emplace")
class SmallPaper(unittest.TestCase):
    """A paper made of our own steps on a known machine."""

    TRUTH = {"issue": 20.0, "latency": 200.0, "bandwidth": 3.0, "cpu_share": 0.5}
    MACHINE = machine.Machine("small", "small2020", "k80", "haswell_18c", (2,), "a small paper",
                              machine.GRADIENTS_ON_THE_FIRST)

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.configs = pathlib.Path(holder.name)
        for part in ("graphs", "agents", "clusters", "device_kinds"):
            (self.configs / part).mkdir()
        for kind in ("k80", "haswell_18c"):
            (self.configs / "device_kinds" / f"{kind}.yaml").symlink_to(CONFIGS / "device_kinds" / f"{kind}.yaml")
        (self.configs / "agents/expert_small.yaml").write_text(
            "layers: 2\nrules:\n  - {match: \"*a/*\", layer: 0}\n  - {match: \"*b/*\", layer: 1}\n")
        self.bench = Bench(PROGRAM, self.configs, self.MACHINE)
        self.addCleanup(self.bench.close)
        self.rows = [self.row("wide", 4096, 3), self.row("long", 256, 40)]

    def row(self, name: str, width: int, steps: int) -> Cell:
        """Products in turns of two layers and their gradients; published is what the known machine does."""
        graph = GraphBuilder(name)
        x = graph.tensor("x", [64, width], "f32", role="input")
        for phase in ("forward", "backward"):
            for i in range(2 * steps):
                y = graph.tensor(f"{phase}{i}", [64, width], "f32")
                scope = ("gradients/" if phase == "backward" else "") + "ab"[i % 2]
                graph.op(f"{scope}/{i}", "MatMul", [x], [y], flops=2 * 64 * width * width, phase=phase)
                x = y
        graph.write(self.configs / "graphs" / f"{name}.json.gz")
        names = {"single_cpu": 1.0, "single_gpu": 1.0, "expert": 2.0}
        steps = self.bench.steps(Cell(name, name, 2, "small", names, 1.0), list(names), self.TRUTH)
        return Cell(name, name, 2, "small", {key: step.seconds for key, step in steps.items()}, 1.0)

    def test_the_fit_finds_its_ratios(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()), mock.patch.object(fit, "PRECISION", 1.5):
            figures = fit.fit(self.bench, self.rows)
        for row in self.rows:
            steps = self.bench.steps(row, list(row.published), figures)
            for name in row.fitted():
                self.assertLess(abs(fit.error(row, name, steps)), 0.15, (row.label, name, figures))
        self.assertEqual(figures["memory"], 8.12)  # everything is small: the middle of the range

    def test_what_a_row_needs_is_the_figure_that_it_was_made_with(self) -> None:
        wrong = {**self.TRUTH, "latency": 20.0}
        needed = fit.needed(self.bench, self.rows[1], "expert", wrong, "latency", 1, 1e6)
        self.assertAlmostEqual(needed / 200, 1, delta=0.1)
        slower = Cell("row", "long", 2, "small", {**self.rows[1].published, "expert": 1e9}, 1.0)
        self.assertIsNone(fit.needed(self.bench, slower, "expert", wrong, "latency", 1, 1e6))


if __name__ == "__main__":
    unittest.main()
