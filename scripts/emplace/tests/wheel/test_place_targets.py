"""Tests of `emplace place`: what is exported is what was simulated, against times by hand."""

from __future__ import annotations

import json
import pathlib
import random
import re
import unittest

import emplace
from place_wheel_support import cluster, place, with_costs
from wheel_support import TestCase, command

from emplace.importers import graph_file
from emplace.place import device_map, grain, modules, simulation
from emplace.place.grain import Grain, PlaceFailure
from place_support import transformer, wide

WEIGHT = 256 * 256 * 4      # B; embed, two layers, norm and head have one each
ACTIVATION = 256 * 4        # B
MOVE = 100 + ACTIVATION     # ns: latency, and 1 B a ns


class DeviceMaps(TestCase):
    def test_two_gpus_when_one_is_too_small(self) -> None:
        """7 ops of 1000 ns; room for three of five weights each: one cut, one activation across."""
        target, decision = place("transformers", with_costs(transformer(2), 1000, 50_000),
                                 cluster(["c0", "g0", "g1"], [10**7, 800_000, 800_000]), self.path("m"))
        self.assertEqual(decision.chosen.outcome.time, 7000 + MOVE)
        self.assertEqual(decision.exported.time, decision.chosen.outcome.time)
        self.assertTrue(decision.gain)
        with open(decision.paths[0], encoding="utf-8") as file:
            entries = json.load(file)
        self.assertEqual(set(entries.values()), {0, 1})
        self.assertEqual(device_map.lookup("embed.weight", entries), device_map.lookup("layers.0.up.weight", entries))
        self.assertEqual([row.outcome.fits for row in decision.rows if row.outcome], [False, True])

    def test_no_gain_is_not_sold(self) -> None:
        """Two towers could overlap on two GPUs, but hooks run one module after another: one GPU is as good."""
        target, decision = place("transformers", with_costs(wide(), 1000, 50_000),
                                 cluster(["c0", "g0", "g1"], [10**8] * 3), self.path("m"))
        self.assertFalse(decision.gain)
        self.assertEqual(decision.chosen.label, "one device, g0")
        self.assertEqual(pathlib.Path(decision.paths[0]).read_text(), '{\n "": 0\n}\n')

    def test_offloaded_weights_stream_to_the_gpu(self) -> None:
        """Room for one weight and one that is copied: four of five stay on the CPU. Each copy waits for the word that
        the op before is done (100 ns; there is none before the first op) and takes 100 ns and 1 ns a byte."""
        target, decision = place("transformers", with_costs(transformer(2), 1000, 10**7),
                                 cluster(["c0", "g0"], [10**7, 600_000]), self.path("m"), seconds=20.0)
        self.assertEqual(decision.exported.time, 7000 + 4 * (100 + WEIGHT) + 3 * 100)
        self.assertEqual(decision.chosen.outcome.time, decision.exported.time)
        with open(decision.paths[0], encoding="utf-8") as file:
            entries = json.load(file)
        self.assertEqual(sorted(map(str, entries.values())), ["0", "cpu", "cpu", "cpu", "cpu"])
        self.assertEqual(entries["embed"], "cpu")

    def test_loads_that_are_not_needed_change_nothing(self) -> None:
        """Without a CPU there are no loads in the graph; the time on one GPU is the same."""
        times = [place("transformers", with_costs(transformer(3), 1000, 50_000), cluster(names, [10**8] * len(names)),
                       self.path("m"))[1].chosen.outcome for names in (["c0", "g0"], ["g0"])]
        self.assertEqual((times[0].time, times[0].peaks[1]), (times[1].time, times[1].peaks[0]))

    def test_nothing_fits(self) -> None:
        """Room for two weights and for three, but beside the three for no activation of 1024 B."""
        with self.assertRaisesRegex(PlaceFailure, r"does not fit on cluster 'cluster': at least [\d,]+ bytes are "
                                                  r"missing \(found by the search: .*g0 needs [\d,]+ B and has 786,932"):
            place("pytorch", with_costs(transformer(2), 1000, 1000),
                  cluster(["c0", "g0"], [2 * WEIGHT + 6000, 3 * WEIGHT + 500]), self.path("m"))
        self.assertEqual(list(pathlib.Path(self.folder).glob("m*")), [])

    def test_memory_only(self) -> None:
        target, decision = place("transformers", with_costs(transformer(2), 1000, 50_000),
                                 cluster(["g0", "g1"], [800_000, 800_000]), self.path("m"), memory_only=True)
        self.assertTrue(decision.exported.fits)
        self.assertTrue(decision.gain)

    def test_modules_of_pytorch_on_the_cpu_compute_there(self) -> None:
        """The GPU has room for four of five weights: one end of the chain is on the CPU, 3000 instead of 1000 ns."""
        target, decision = place("pytorch", with_costs(transformer(2), 1000, 3000),
                                 cluster(["c0", "g0"], [10**7, 1_060_000]), self.path("m"))
        self.assertEqual(decision.exported.time, 6 * 1000 + 3000 + MOVE)
        self.assertIn('"cpu"', pathlib.Path(decision.paths[0]).read_text())

    def test_as_the_other_exporter_reads_it(self) -> None:
        """`emplace export --to huggingface` of the same placement: no conflict, and the same devices of ops."""
        chance = random.Random(0)
        for document in (wide(), transformer(3, tied=True), graph_file.read(emplace.Graph("gpt2_mini_torch").path),
                         graph_file.read(emplace.Graph("resnet50_b1_torch").path)):
            units = modules.find(document)
            on = emplace.Cluster("2xa100_pcie")
            with simulation.Simulation(document, on) as simulated:
                devices = [chance.choice([1, 2]) for _ in units.names]
                placement, graph, machine = simulated.files(units.expand(devices))
                done = command("export", placement, "--to", "huggingface", "--graph", graph, "--cluster", machine)
            self.assertNotIn("conflicts", done.stderr)
            mine = device_map.read(document, device_map.write(units, [device - 1 for device in devices]))
            self.assertEqual(device_map.read(document, json.loads(done.stdout)), mine, document["name"])

    def test_files_that_say_something_else_are_noticed(self) -> None:
        from emplace.place import accelerate_target

        class Wrong(accelerate_target.DeviceMapTarget):
            def write(self, payload: object, stem: str) -> list[str]:
                return super().write({"": "cpu"}, stem)

        target = Wrong(accelerate_target.Request(with_costs(transformer(2), 1000, 50_000), "m",
                                                 cluster(["c0", "g0"], [10**8] * 2), seconds=1.0))
        from emplace.place.decide import decide

        with self.assertRaisesRegex(PlaceFailure, "do not express the placement"):
            decide(target, self.path("m"))
        target.close()


class Units(TestCase):
    def test_units_and_ops_are_simulated_alike(self) -> None:
        """The search's problem, with units as groups, and `emplace simulate`, op by op."""
        document = graph_file.read(emplace.Graph("gpt2_mini_torch").path)
        units = modules.find(document)
        units = Grain(grain.one_after_another(document, units.unit_of_op), units.names, units.unit_of_op)
        with simulation.Simulation(units.document, emplace.Cluster("2xa100_pcie")) as simulated:
            problem = simulated.of_units(units, ["gpu"])
            unit_of_group = simulation.units_of_groups(problem, units)
            devices = [1 + unit % 2 for unit in range(len(units.names))]
            coarse = simulation.outcomes(problem, [[devices[unit] for unit in unit_of_group]])[0]
            exact = simulated.outcome(units.expand(devices))
        self.assertEqual(coarse.time, exact.time)
        self.assertGreaterEqual(coarse.peaks, exact.peaks)

    def test_part_of_a_cluster(self) -> None:
        part = simulation.part_of(emplace.Cluster("4xa100_nvlink"), ["cpu:0", "gpu:2"])
        self.assertEqual(list(part.device_names), ["cpu:0", "gpu:2"])
        whole = emplace.Cluster("4xa100_nvlink").transfer_times(10**6)
        self.assertEqual(part.transfer_times(10**6).tolist(), whole[[0, 3]][:, [0, 3]].tolist())
        with self.assertRaisesRegex(PlaceFailure, "has no device 'gpu:9'; choices: cpu:0"):
            simulation.part_of(emplace.Cluster("2xk80"), ["gpu:9"])


class Layers(TestCase):
    def test_llama_cpp(self) -> None:
        """The input is on the CPU (3000 ns); the GPU has room for three of four weights behind it."""
        target, decision = place("llama.cpp", with_costs(transformer(2), 1000, 3000),
                                 cluster(["c0", "g0"], [10**7, 800_000]), self.path("m"))
        # The first layer, two ops, is on the CPU as well; then one activation goes to the GPU.
        self.assertEqual(decision.exported.time, 3 * 3000 + MOVE + 4 * 1000)
        text = pathlib.Path(decision.paths[0]).read_text()
        self.assertIn("\n-ngl 2 -sm layer -ts 2 --no-op-offload\n", text)

    def test_stages(self) -> None:
        """8 layers: two ops each; embed is with the first, norm and head with the last stage. 19 ops of 1000 ns
        in all: 4,4 have 9 and 10 ops, 5,3 have 11 and 8. The period is the busier stage's load, transfer and all."""
        for name, stages in (("vllm", "PARTITION=4,4"), ("deepspeed", "BOUNDS = [0, 5, 10]")):
            target, decision = place(name, with_costs(transformer(8), 1000, 50_000),
                                     cluster(["g0", "g1"], [10**8] * 2), self.path("m"), objective="period")
            self.assertEqual(decision.exported.time, 10_000 + MOVE)
            self.assertIn(stages, pathlib.Path(decision.paths[0]).read_text())

    def test_memory_of_stages(self) -> None:
        """One step in a forward pass: the first of two stages has half the weights, the input, and up to 3 activations
        (of a sum: both summands and what comes out); in training those of two steps, the second stage those of one."""
        document = with_costs(transformer(4), 1000, 50_000)
        on = cluster(["g0", "g1"], [10**8] * 2)
        _, forward = place("vllm", document, on, self.path("m"), objective="period")
        self.assertEqual(forward.exported.peaks[0], 3 * WEIGHT + 4 * ACTIVATION)
        for op in document["ops"]:
            if op["name"] == "head/mm":
                op["phase"], op["attributes"]["forward_op"] = "backward", "norm/mm"
        _, training = place("vllm", document, on, self.path("m"), objective="period")
        self.assertEqual(training.exported.peaks[0] - 3 * WEIGHT, 2 * (forward.exported.peaks[0] - 3 * WEIGHT))
        self.assertEqual(training.exported.peaks[1], forward.exported.peaks[1])

    def test_uneven_devices(self) -> None:
        """g0 has room for two weights: its stage has embed and one layer, the other all else."""
        target, decision = place("vllm", with_costs(transformer(4), 1000, 50_000),
                                 cluster(["g0", "g1"], [600_000, 10**7]), self.path("m"), objective="period")
        self.assertTrue(decision.gain)
        self.assertIn("PARTITION=1,3", pathlib.Path(decision.paths[0]).read_text())


class TensorFlow(TestCase):
    def test_device_strings(self) -> None:
        document = graph_file.read(emplace.Graph("rnnlm").path)
        target, decision = place("tensorflow", document, emplace.Cluster("2xk80"), self.path("m"), seconds=3.0)
        self.assertEqual(decision.exported.time, decision.chosen.outcome.time)
        with open(decision.paths[0], encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)), len(document["ops"]))

    def test_another_framework_is_refused(self) -> None:
        with self.assertRaisesRegex(PlaceFailure, "is of torch 2.14.1, and its ops have other names"):
            place("tensorflow", transformer(2), cluster(["g0"], [10**8]), self.path("m"))


class Command(TestCase):
    def setUp(self) -> None:
        super().setUp()
        graph_file.write(transformer(4, flops=1e9), self.path("g.json.gz"))

    def test_table_and_json(self) -> None:
        for target, files in (("transformers", ["g.device_map.json"]), ("pytorch", ["g_devices.py"]),
                              ("llama.cpp", ["g.llama_cpp.txt"]), ("vllm", ["g.vllm.env"])):
            done = command("place", self.path("g.json.gz"), "--cluster", "2xa100_pcie", "--for", target, "--seconds",
                           "1", "-o", self.path("g"), "--json")
            told = json.loads(done.stdout)
            self.assertEqual(told["files"], [self.path(name) for name in files])
            self.assertEqual(told["as_exported"], told["as_placed"])
            self.assertIn("costs: modelled (roofline), because no measured table is given", done.stderr)
        done = command("place", self.path("g.json.gz"), "--cluster", "2xa100_pcie", "--for", "vllm", "--seconds", "1",
                       "-o", self.path("g"), "--quiet")
        self.assertRegex(done.stdout, r"as exported, read back +\d+\.\d{3} ")
        self.assertIn("text only", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_errors_are_one_sentence(self) -> None:
        graph, on = self.path("g.json.gz"), ["--cluster", "2xa100_pcie"]
        broken = self.path("broken.json")
        pathlib.Path(broken).write_text('{"format": "emplace-graph", "ops": 3}')
        for arguments, message in [
                ([graph, "--for", "vllm"], "--cluster is missing"),
                ([graph, *on], "--for is missing"),
                ([graph, *on, "--for", "tensorrt"], "no such target; choices: transformers"),
                ([graph, "--cluster", "2xa101", "--for", "vllm"], "2xa101"),
                ([graph, *on, "--for", "transformers", "--objective", "period"], "its only objective is step_time"),
                ([graph, *on, "--for", "vllm", "-o", self.path("no/x")], "there is no folder"),
                ([graph, *on, "--for", "onnxruntime"], "expected an .onnx file"),
                ([broken, *on, "--for", "vllm"], "broken.json: "),
                ([self.path("no.xyz"), *on, "--for", "vllm"], "give --from FORMAT")]:
            done = command("place", *arguments, code=2)
            self.assertIn(message, done.stderr)
            self.assertEqual(len(re.findall(r"^emplace place: ", done.stderr, re.M)), 1, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_help_names_all_targets(self) -> None:
        done = command("place", "--help")
        for name in ("transformers", "pytorch", "onnxruntime", "tensorflow", "llama.cpp", "vllm", "deepspeed"):
            self.assertRegex(done.stdout, rf"\n  {re.escape(name)} ")


if __name__ == "__main__":
    unittest.main()
