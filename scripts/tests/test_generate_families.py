"""Tests of generate_families.py: what is drawn, what is committed, the words of refusals.

Drawing and the committed files are tested without TensorFlow. The tests that build graphs need it
and are skipped, loudly, without it.
"""

import collections
import functools
import gzip
import importlib.util
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from script import SCRIPTS
from support import called, graph_file, needs

import generate_families
from families import FAMILIES, GRAPHS, architectures, draw, files, graph_name, split
from families.chance import Chance

CONFIGS = SCRIPTS.parent / "configs"
run = functools.partial(called, generate_families.main)


def committed(family: str, index: int) -> pathlib.Path:
    return files.graph_path(CONFIGS, FAMILIES[family], index)


def source_of(path: pathlib.Path) -> dict:
    """The `source` of a graph file, from its first lines."""
    with gzip.open(path, "rt") as file:
        for line in file:
            if line.startswith('"source":'):
                return json.loads(line[len('"source":'):].rstrip().rstrip(","))
    raise AssertionError(f"{path} has no source")


class Drawing(unittest.TestCase):
    def test_the_same_on_every_run_without_site_packages(self) -> None:
        """-S: no TensorFlow to be found; hash seeds change the order of sets."""
        program = str(SCRIPTS / "generate_families.py")
        outputs = [subprocess.run([sys.executable, "-S", program, "--list"], text=True, check=True,
                                  capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
                   .stdout for seed in ("1", "2")]
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(len(outputs[0].splitlines()), 3 * GRAPHS)

    def test_no_two_alike_and_the_first_do_not_depend_on_the_count(self) -> None:
        for family, seed in itertools.product(FAMILIES.values(), range(5)):
            graphs = draw(family, seed)
            self.assertEqual(len({json.dumps(graph) for graph in graphs}), GRAPHS)
            self.assertEqual(draw(family, seed, 7), graphs[:7])
            self.assertNotEqual(draw(family, seed + 1), graphs)

    def test_a_network_drawn_twice_is_drawn_again(self) -> None:
        coarse = generate_families.Family("coin", "", lambda chance: {"side": chance.below(2)},
                                          "", {}, 1, 2)
        for seed in range(20):
            self.assertEqual(sorted(graph["side"] for graph in draw(coarse, seed, 2)), [0, 1])

    def test_cells_follow_the_search_spaces(self) -> None:
        seen = collections.Counter()
        for seed in range(20):
            for graph in draw(FAMILIES["cifar10"], seed):
                for text in (graph["normal"], graph["reduction"]):
                    cell = architectures.parse_convolutional(text)
                    self.assertEqual(len(cell), 5)
                    ops = [op for _, x_op, _, y_op in cell for op in (x_op, y_op)]
                    self.assertIn(sum(op.startswith("sep") for op in ops), range(3, 8))
                    for node, (x, _, y, _) in enumerate(cell):
                        self.assertLess(max(x, y), node + 2)
                    seen.update(ops)
            for graph in draw(FAMILIES["ptb"], seed):
                cell = architectures.parse_recurrent(graph["cell"])
                self.assertEqual(cell[0][0], -1)
                for node, (before, _) in enumerate(cell[1:], 1):
                    self.assertIn(before, range(node))
                seen.update("rnn " + activation for _, activation in cell)
        self.assertEqual(set(seen), {"id", "sep3", "sep5", "avg3", "max3", "rnn tanh", "rnn relu",
                                     "rnn id", "rnn sigmoid"})

    def test_loose_ends(self) -> None:
        # Values 0, 1 are the inputs, 2 .. 4 the nodes; 0 is never read, nor are 3 and 4.
        cell = architectures.parse_convolutional("1:id+1:sep3 2:avg3+1:max3 2:id+2:id")
        self.assertEqual(cell[1], (2, "avg3", 1, "max3"))
        self.assertEqual(architectures.convolutional_ends(cell), [0, 3, 4])
        chain = architectures.parse_recurrent("relu 0:tanh 0:id 2:sigmoid")
        self.assertEqual(chain, [(-1, "relu"), (0, "tanh"), (0, "id"), (2, "sigmoid")])
        self.assertEqual(architectures.recurrent_ends(chain), [1, 3])

    def test_chance_is_uniform_and_shuffles_everything(self) -> None:
        chance = Chance("x")
        counts = collections.Counter(chance.below(5) for _ in range(5000))
        self.assertEqual(set(counts), set(range(5)))
        # Binomial(5000, 1/5): standard deviation 28; five of them.
        self.assertTrue(all(abs(count - 1000) < 141 for count in counts.values()), counts)
        self.assertEqual(sorted(chance.shuffled(range(50))), list(range(50)))

    def test_splits_are_disjoint_and_complete(self) -> None:
        for name, sizes in (("cifar10", (17, 15)), ("ptb", (17, 15)), ("nmt", (5, 27))):
            for seed in range(5):
                train, test = split(FAMILIES[name], seed)
                self.assertEqual((len(train), len(test)), sizes)
                self.assertEqual(sorted(train + test), [graph_name(i) for i in range(GRAPHS)])
            self.assertNotEqual(split(FAMILIES[name], 0), split(FAMILIES[name], 1))
            self.assertEqual([len(side) for side in split(FAMILIES[name], 0, 2)], [1, 1])


class CommittedFiles(unittest.TestCase):
    def test_checksums(self) -> None:
        status, out, err = run("--check")
        self.assertEqual((status, err), (0, ""), out)
        self.assertIn("96 of 96 graphs", out)

    def test_every_graph_holds_what_is_drawn(self) -> None:
        for family in FAMILIES.values():
            for index, architecture in enumerate(draw(family, 0)):
                source = source_of(files.graph_path(CONFIGS, family, index))
                expected = {**generate_families.provenance(family, 0, index), **architecture}
                source.pop("framework")
                self.assertEqual(source, expected)

    def test_splits(self) -> None:
        for family in FAMILIES.values():
            path = CONFIGS / files.SPLITS_FOLDER / f"{family.name}.yaml"
            text = path.read_text()
            self.assertEqual(text, files.split_yaml(family, 0, GRAPHS))
            graphs = re.findall(r"^  - (.*)$", text, re.MULTILINE)
            self.assertEqual(len(set(graphs)), GRAPHS)
            for graph in graphs:
                self.assertTrue((path.parent / graph).is_file(), graph)

    def test_valid_and_of_the_size_meant(self) -> None:
        for family in FAMILIES.values():
            for index in range(0, GRAPHS, 8):
                document = graph_file.read(files.graph_path(CONFIGS, family, index))
                self.assertEqual(graph_file.check(document), [])
                self.assertEqual(document["name"], f"{family.name}_{graph_name(index)}")
                figures = graph_file.statistics(document)
                self.assertIn(figures["ops"], range(2000, 15000))
                # Of the convolutions of a stem on 3 channels no gradient goes to the images.
                ratio = figures["backward_flops"] / figures["forward_flops"]
                self.assertAlmostEqual(ratio, 2, delta=0.06)

    def test_the_whole_stays_small(self) -> None:
        size = sum(path.stat().st_size for path in (CONFIGS / files.GRAPHS_FOLDER).rglob("*"))
        self.assertLess(size, 30e6)

    def test_the_table_has_every_graph_on_its_side(self) -> None:
        text = (CONFIGS / files.GRAPHS_FOLDER / "README.md").read_text()
        rows = re.findall(r"^\| `(\w+)/(\d\d)` \| (\w+) \|", text, re.MULTILINE)
        expected = [(family.name, graph_name(index),
                     "train" if graph_name(index) in split(family, 0)[0] else "test")
                    for family in FAMILIES.values() for index in range(GRAPHS)]
        self.assertEqual(rows, expected)


class Folder(unittest.TestCase):
    """Against a configs folder of its own with some of the committed graphs."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.configs = pathlib.Path(folder.name)
        for family, index in (("ptb", 0), ("ptb", 1)):
            target = files.graph_path(self.configs, FAMILIES[family], index)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(committed(family, index), target)
        self.two = ["--family", "ptb", "--only", "0", "--only", "1", "--output", str(self.configs)]

    def test_what_is_there_is_kept(self) -> None:
        status, out, err = run(*self.two)
        self.assertEqual(status, 0, err)
        self.assertIn("0 graphs made, 2 kept", out)
        self.assertIn("[2/2]", err)
        sums = files.read_checksums(files.sums_file(self.configs))
        self.assertEqual(sums, {name: files.read_checksums(files.sums_file(CONFIGS))[name]
                                for name in ("ptb/00.json.gz", "ptb/01.json.gz")})
        self.assertTrue((self.configs / "families" / "ptb.yaml").is_file())
        self.assertEqual(run(*self.two, "--check")[0], 0)

    def test_check_says_which_graphs_differ(self) -> None:
        first, second = (files.graph_path(self.configs, FAMILIES["ptb"], i) for i in (0, 1))
        first.write_bytes(first.read_bytes() + b"x")
        second.unlink()
        status, out, _ = run(*self.two, "--check")
        self.assertEqual(status, 1)
        self.assertIn("ptb/00.json.gz: differs (SHA-256 ", out)
        self.assertIn("ptb/01.json.gz: missing", out)
        self.assertIn("0 of 2 graphs", out)
        self.assertEqual(files.differences(self.configs, {}, ["ptb/00.json.gz"]),
                         ["ptb/00.json.gz: has no checksum"])
        status, out, _ = run("--check", "--family", "nmt", "--count", "33", "--only", "32")
        self.assertEqual((status, out.splitlines()[0]), (1, "nmt/32.json.gz: missing"))

    def test_checksums_that_are_none(self) -> None:
        files.sums_file(self.configs).write_text("abc  ptb/00.json.gz\n")
        with mock.patch.object(generate_families, "CONFIGS", self.configs):
            status, _, err = run("--check")
            self.assertEqual(status, 2)
            self.assertIn('SHA256SUMS:1: expected "SHA256  NAME", got \'abc', err)
            files.sums_file(self.configs).unlink()
            self.assertEqual(run("--check")[0], 1)

    def test_another_draw_is_not_replaced_unasked(self) -> None:
        status, _, err = run(*self.two, "--seed", "1")
        self.assertEqual(status, 2)
        self.assertIn("00.json.gz holds another network: seed is 0, expected 1; --force", err)

    def test_wrong_requests_are_answered_with_the_choices(self) -> None:
        for arguments, expected in (
                (["--family", "cifar"], "invalid choice: 'cifar'"),
                (["--count", "1"], "--count is 1, expected at least 2"),
                (["--count", "4", "--only", "4"], "--only is 4, expected a number from 0 to 3"),
                (["--check", "--list"], "give one of --list, --check and --table"),
                (["--table", "--only", "1"], "--table applies to all graphs"),
                (["--table", "--emplace", "/no/such"], "program '/no/such' does not exist")):
            with self.subTest(arguments):
                status, _, err = run(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(expected, err)

    def test_the_table_holds_what_the_program_says(self) -> None:
        """An invented program: two searches, the better one counts; 2.5 ms / 1.25 ms = 2."""
        agents = [{"agent": name, "step_time_ns": {"median": time}} for name, time in
                  (("single_gpu", 2500000), ("hill_climb", 1250000),
                   ("simulated_annealing", 1300000))]
        program = self.configs / "program"
        program.write_text("#!/bin/sh\nif [ $1 = run ]; then cat <<'E'\n"
                           f"{json.dumps({'agents': agents})}\nE\n"
                           "else echo 'pass groups'; echo 'merge_cheapest 127'; fi\n")
        program.chmod(0o755)
        row = files.table_row(program, self.configs, FAMILIES["ptb"], 0, GRAPHS, 0)
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        self.assertEqual(cells[0], "`ptb/00`")
        self.assertIn(f"batch {source_of(committed('ptb', 0))['batch']}", cells[2])
        self.assertEqual([cells[4], *cells[6:]], ["127", "2.5", "1.2", "2.00"])
        text = files.replace_table(f"a\n{files.TABLE_BEGIN}old\n{files.TABLE_END}b\n", [row])
        self.assertEqual(text, f"a\n{files.TABLE_BEGIN}{files.TABLE_HEAD}{row}"
                               f"{files.TABLE_END}b\n")
        program.write_text("#!/bin/sh\necho no such cluster >&2; exit 2\n")
        with self.assertRaisesRegex(files.FileError, "no such cluster"):
            files.measure(program, FAMILIES["ptb"], self.configs)
        with self.assertRaisesRegex(files.FileError, "has no table between"):
            files.replace_table("nothing", [])


TINY = {
    "cifar10": {"batch": 2, "filters": 4, "cells": 1,
                "normal": "0:sep3+1:id 0:max3+2:avg3 1:sep5+1:max3 2:id+2:id 3:max3+4:sep3",
                # Nobody reads input 0, of twice the height and width of what the nodes make.
                "reduction": "1:id+1:sep5 1:max3+1:avg3 2:sep3+3:id 2:id+3:max3 4:id+5:id"},
    "ptb": {"batch": 2, "unroll": 3, "hidden": 8, "layers": 2, "vocab": 20,
            "cell": "tanh 0:relu 0:id 2:sigmoid"},
    "nmt": {"batch": 2, "unroll": 3, "hidden": 8, "layers": 2, "vocab": 20, "dropout": 0.2}}


@needs("tensorflow")
class Building(unittest.TestCase):
    def graph(self, name: str, **changes) -> tuple[dict, dict]:
        from families import export
        document = export.graph_document(FAMILIES[name], {**TINY[name], **changes}, name, {})
        self.assertEqual(graph_file.check(document), [])
        return document, graph_file.statistics(document)

    def test_convolutional_cells(self) -> None:
        document, figures = self.graph("cifar10")
        forward = collections.Counter(op["kind"] for op in document["ops"]
                                      if op.get("phase", "forward") == "forward")
        # Three normal cells of 3 separable convolutions, two reduction cells of 2, each applied
        # twice; maximum pools: 3 and 2.
        self.assertEqual(forward["DepthwiseConv2dNative"], 2 * (3 * 3 + 2 * 2))
        self.assertEqual(forward["MaxPool"], 3 * 3 + 2 * 2)
        self.assertEqual(forward["AddV2"], 5 * 5)  # nodes
        shapes = {tuple(t["shape"]) for t in document["tensors"]}
        # Loose ends: nodes 3 and 4 of a normal cell, values 0 and 6 of a reduction cell.
        for shape in ((2, 32, 32, 12), (2, 32, 32, 8), (2, 16, 16, 16), (2, 8, 8, 32), (2, 10)):
            self.assertIn(shape, shapes)
        self.assertEqual(figures["optimizer_state_bytes"], figures["parameter_bytes"])

    def test_recurrent_cells(self) -> None:
        for layers in (1, 2):
            document, figures = self.graph("ptb", layers=layers)
            v, h = 20, 8
            cell = 2 * h * 2 * h + 3 * h * 2 * h
            self.assertEqual(figures["parameters"], v * h + layers * cell + h * v + v)
            products = sum(op.get("flops", 0) for op in document["ops"] if op["kind"] == "MatMul"
                           and op.get("phase", "forward") == "forward")
            self.assertEqual(products, 2 * 2 * 3 * (layers * cell + h * v))  # batch 2, 3 steps
            activations = collections.Counter(
                op["kind"] for op in document["ops"] if op["name"].startswith("layer"))
            self.assertEqual(activations["Sigmoid"], 3 * layers * (4 + 1))  # gates, one activation
            self.assertEqual(activations["Tanh"], 3 * layers)
            self.assertEqual(activations["Relu"], 3 * layers)
        with self.subTest("one loose end"):
            self.graph("ptb", cell="id 0:tanh")

    def test_translation(self) -> None:
        document, figures = self.graph("nmt")
        self.assertEqual(document["source"]["layers"], 2)
        self.assertEqual(figures["backward_ops"] > figures["forward_ops"], True)

    def test_damaged_files_are_made_again_and_bytes_do_not_change(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = files.graph_path(pathlib.Path(folder), FAMILIES["nmt"], 1)
            path.parent.mkdir(parents=True)
            contents = set()
            for seed in ("1", "2"):
                path.write_bytes(b"\x1f\x8bcut off")
                program = str(SCRIPTS / "generate_families.py")
                result = subprocess.run(
                    [sys.executable, program, "--family", "nmt", "--only", "1", "--output", folder],
                    capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("1 graphs made, 0 kept", result.stdout)
                contents.add(path.read_bytes())
            self.assertEqual(len(contents), 1)
            import tensorflow
            theirs = source_of(committed("nmt", 1))["framework"]
            if theirs == f"tensorflow {tensorflow.__version__}":
                self.assertEqual(contents, {committed("nmt", 1).read_bytes()})


@unittest.skipIf(importlib.util.find_spec("tensorflow"), "about machines without TensorFlow")
class WithoutTensorFlow(unittest.TestCase):
    def test_the_missing_package_is_named_with_the_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            status, _, err = run("--family", "ptb", "--only", "0", "--output", folder)
            self.assertEqual(status, 2)
            self.assertIn("the Python package 'tensorflow' is missing", err)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
