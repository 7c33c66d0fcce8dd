"""What the installed package offers, and what it carries along."""

from __future__ import annotations

import importlib.resources
import importlib.util
import inspect
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import emplace


class Package(unittest.TestCase):
    def test_every_name_is_there_and_says_what_it_is(self) -> None:
        for name in emplace.__all__:
            with self.subTest(name):
                if name == "import_torch" and importlib.util.find_spec("torch") is None:
                    continue
                value = getattr(emplace, name)
                self.assertTrue(inspect.getdoc(value))
        with self.assertRaisesRegex(AttributeError, "no attribute 'Probelm'"):
            emplace.Probelm
        self.assertLessEqual(set(emplace.__all__), set(dir(emplace)))

    def test_every_public_thing_of_the_compiled_part_is_described(self) -> None:
        for kind in (emplace.Graph, emplace.Cluster, emplace.Costs, emplace.Problem, emplace.Outcomes,
                     emplace.Timeline, emplace.Search, emplace.Evaluator):
            for name, value in vars(kind).items():
                if not name.startswith("_") and name not in ("name", "num_ops", "num_tensors", "num_groups",
                                                             "num_devices", "device_names", "channel_names", "graph",
                                                             "cluster", "feasible", "evaluations"):
                    with self.subTest(f"{kind.__name__}.{name}"):
                        self.assertTrue(inspect.getdoc(value))

    def test_importing_it_is_light(self) -> None:
        """No framework is loaded, nor the compiled part, before something of them is asked for."""
        code = ("import emplace, emplace.importers.command, sys; "
                "print([m for m in ('torch', 'numpy', 'onnx', 'emplace._emplace') if m in sys.modules])")
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_types_and_menus_are_in_it(self) -> None:
        files = importlib.resources.files("emplace")
        for name in ("py.typed", "_emplace.pyi", "configs/clusters/2xk80.yaml", "configs/graphs/inception_v3.json.gz"):
            self.assertTrue((files / name).is_file(), name)
        self.assertFalse((files / "configs/graphs/families").is_dir())

    def test_a_copy_for_a_level_is_loaded_in_the_place_of_the_one_for_any_processor(self) -> None:
        """With a package of links to the installed one, because only `scripts/wheel` compiles for several levels."""
        compiled = pathlib.Path(importlib.util.find_spec("emplace._emplace").origin)
        with tempfile.TemporaryDirectory() as name:
            package = pathlib.Path(name) / "emplace"
            shutil.copytree(compiled.parent, package, copy_function=os.symlink)
            (package / "levels/x86-64-v3").mkdir(parents=True)
            (package / "levels/x86-64-v3" / compiled.name).symlink_to(compiled)

            def run(level: str) -> subprocess.CompletedProcess[str]:
                code = "import emplace; print(emplace._compiled().__file__, len(emplace.agent_names()))"
                return subprocess.run([sys.executable, "-c", code], cwd=name, capture_output=True, text=True,
                                      env={**os.environ, "PYTHONPATH": name, "EMPLACE_LEVEL": level})
            self.assertEqual(run("x86-64-v3").stdout, f"{package}/levels/x86-64-v3/{compiled.name} {len(emplace.agent_names())}\n")
            self.assertEqual(run("x86-64").stdout, f"{package}/{compiled.name} {len(emplace.agent_names())}\n")
            refused = subprocess.run([sys.executable, "-m", "emplace", "--version"], cwd=name, capture_output=True, text=True,
                                     env={**os.environ, "PYTHONPATH": name, "EMPLACE_LEVEL": "v9"})
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn('EMPLACE_LEVEL is "v9"; choices on this processor: ', refused.stderr)

    def test_a_command_ends_quietly_if_nobody_reads_its_output(self) -> None:
        """As with `| head`. The commands of the C++ program end by the signal, as the program does."""
        for arguments, code in ((["emplace", "benchmark", "list"], 0), (["emplace", "benchmark", "check", "nmt_12_queue"], 0),
                                (["emplace", "import", "--help"], 0), (["emplace.published", "--help"], 0),
                                (["emplace.results", "--help"], 0), (["emplace", "list", "agents"], -signal.SIGPIPE)):
            with self.subTest(arguments):
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([sys.executable, "-m", *arguments], stdout=writer, stderr=subprocess.PIPE, text=True)
                os.close(writer)
                self.assertEqual((done.returncode, done.stderr), (code, ""))

    def test_an_imported_model_is_a_graph_at_once(self) -> None:
        profile = ("node1 -- Conv2d(3, 8) -- forward_compute_time=1.000, backward_compute_time=2.000, "
                   "activation_size=100.0, parameter_size=40.000\n")
        graph = emplace.import_pipedream(profile, "k80").graph()
        self.assertGreater(graph.num_ops, 1)
        self.assertIsInstance(graph, emplace.Graph)


if __name__ == "__main__":
    unittest.main()
