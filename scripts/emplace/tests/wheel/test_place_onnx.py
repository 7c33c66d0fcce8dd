"""Tests of `emplace place --for onnxruntime` and `--for onnx`.

Annotations, rules by name, and what ONNX Runtime makes of them; stages and devices of nodes, read by onnx.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import unittest
from typing import Any

from place_wheel_support import cluster, place
from wheel_support import TestCase, command

from emplace.place.grain import PlaceFailure

HAS_ONNX = importlib.util.find_spec("onnx") is not None
HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None
SIZE = 128  # of the square weights: 65536 B each


def chain(path: str, names: list[str]) -> None:
    """x [1, 128] times one weight after another; a Relu behind each."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    weights = []
    value = "x"
    for index, name in enumerate(names):
        weight = np.random.default_rng(index).standard_normal((SIZE, SIZE)).astype(np.float32) / SIZE
        weights.append(numpy_helper.from_array(weight, f"w{index}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{index}"], [f"m{index}"], name=name))
        value = "y" if index + 1 == len(names) else f"r{index}"
        nodes.append(helper.make_node("Relu", [f"m{index}"], [value], name=f"{name}/relu"))
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, SIZE])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, SIZE])], weights)
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def request(path: str) -> dict[str, Any]:
    """The graph of the model, each op 1000 ns on the GPU, 5000 ns on the CPU."""
    from emplace import importers
    from place_wheel_support import with_costs

    return with_costs(importers.read(path, "onnx").document, 1000, 5000)


@unittest.skipUnless(HAS_ONNX, "the package onnx is not installed")
class OnnxRuntime(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.model = self.path("m.onnx")
        chain(self.model, ["a", "b", "a/b"])

    def run_on(self, memory: list[int]) -> Any:
        """On a CPU and two GPUs, of which a session can use one."""
        return place("onnxruntime", request(self.model), cluster(["c0", "g0", "g1"], memory), self.path("out"),
                     model=self.model)

    def test_a_split_by_hand(self) -> None:
        """The GPU has room for two of three weights: the first product is on the CPU, the rest not, 512 B across."""
        import onnx

        target, decision = self.run_on([10**7, 140_000, 10**7])
        self.assertEqual(list(target.request.cluster.device_names), ["c0", "g0"])
        self.assertEqual(decision.chosen.outcome.time, 5000 + 5 * 1000 + 100 + 512)
        self.assertEqual(decision.exported.time, decision.chosen.outcome.time)
        devices = dict(zip([op["name"] for op in target.simulated_document()["ops"]], decision.chosen.device_of_op))
        annotated = onnx.load(decision.paths[0])
        for node in annotated.graph.node:
            annotation = {entry.key: entry.value for entry in node.metadata_props}["layer_ann"]
            self.assertEqual(annotation, ["emplace_cpu", "emplace_gpu"][devices[node.name]], node.name)
        with open(decision.paths[1], encoding="utf-8") as file:
            options = json.load(file)
        self.assertEqual(options["annotated_model"]["session_options"],
                         {"session.layer_assignment_settings": "gpu(=emplace_gpu); cpu(=emplace_cpu)"})

    def test_the_default_where_it_is_best(self) -> None:
        target, decision = self.run_on([10**7, 10**7, 10**7])
        self.assertFalse(decision.gain)
        self.assertEqual(decision.chosen.label, "one device, g0 (the default)")
        self.assertEqual(decision.exported.time, 6000)

    def test_changed_rules_by_name_are_noticed(self) -> None:
        target, decision = self.run_on([10**7, 140_000, 10**7])
        text = pathlib.Path(decision.paths[1]).read_text()
        self.assertIn("session.name_based_layer_assignment", text)
        swapped = text.replace("gpu(", "xpu(").replace("cpu(", "gpu(").replace("xpu(", "cpu(")
        by_annotation = '"session.layer_assignment_settings": "'
        start = swapped.index(by_annotation)
        end = swapped.index("\n", start)
        pathlib.Path(decision.paths[1]).write_text(
            swapped[:start] + by_annotation + 'gpu(=emplace_gpu); cpu(=emplace_cpu)"' + swapped[end:])
        with self.assertRaisesRegex(PlaceFailure, "rules by name put node '.*' on another device"):
            target.read(decision.paths)

    def test_names_that_rules_cannot_say(self) -> None:
        chain(self.model, ["a", "b(1)", "c"])
        target, decision = self.run_on([10**7, 140_000, 10**7])
        self.assertNotIn("name_based", pathlib.Path(decision.paths[1]).read_text())
        self.assertTrue(any(note.startswith("no rules by name") for note in target.notes))

    @unittest.skipUnless(HAS_RUNTIME, "the package onnxruntime is not installed")
    def test_onnx_runtime_takes_them(self) -> None:
        target, decision = self.run_on([10**7, 140_000, 10**7])
        self.assertRegex(target.notes[-1], r"ONNX Runtime [\d.]+ takes session.layer_assignment_settings and "
                                           r"session.name_based_layer_assignment; .* results are equal")

    @unittest.skipUnless(HAS_RUNTIME, "the package onnxruntime is not installed")
    def test_onnx_runtime_maps_the_rules(self) -> None:
        """Its log tells of each rule: without a GPU those for the CPU are mapped, the others are not."""
        import subprocess
        import sys

        _, decision = self.run_on([10**7, 140_000, 10**7])
        with open(decision.paths[1], encoding="utf-8") as file:
            options = json.load(file)
        for entry, rules in ((options["annotated_model"], 2), (options["model_as_it_is"], 6)):
            program = ("import json, sys, onnxruntime as ort\n"
                       "o = ort.SessionOptions(); o.log_severity_level = 0; o.log_verbosity_level = 1\n"
                       "for k, v in json.loads(sys.argv[2]).items(): o.add_session_config_entry(k, v)\n"
                       "ort.InferenceSession(sys.argv[1], o, providers=['CPUExecutionProvider'])\n")
            done = subprocess.run([sys.executable, "-c", program, self.path(entry["model"]),
                                   json.dumps(entry["session_options"])], capture_output=True, text=True, check=True)
            self.assertRegex(done.stderr, f"Parsed {rules} (annotation|name)-based layering rules")
            self.assertEqual(done.stderr.count("mapped to EP: CPUExecutionProvider"), 1)  # of the one node, or for it
            self.assertEqual(done.stderr.count("could not be mapped to any available"), rules - 1)

    @unittest.skipUnless(HAS_RUNTIME, "the package onnxruntime is not installed")
    def test_what_onnx_runtime_refuses(self) -> None:
        from emplace.place import ort_check

        target, decision = self.run_on([10**7, 140_000, 10**7])
        text = pathlib.Path(decision.paths[1]).read_text()
        pathlib.Path(decision.paths[1]).write_text(text.replace("gpu(=emplace_gpu); ", "gpu=emplace_gpu; "))
        with self.assertRaisesRegex(PlaceFailure, "refuses .*out.placed.onnx: .*Missing '\\('"):
            ort_check.run(self.model, decision.paths, [{"name": "x", "shape": [1, SIZE], "dtype": "f32"}])

    def test_the_command(self) -> None:
        done = command("place", self.model, "--cluster", "2xa100_pcie", "--for", "onnxruntime", "--seconds", "1", "-o",
                       self.path("n"), "--json")
        told = json.loads(done.stdout)
        self.assertEqual(told["as_exported"], told["as_placed"])
        pathlib.Path(self.path("bad.onnx")).write_bytes(b"\x08nonsense")
        done = command("place", self.path("bad.onnx"), "--cluster", "2xa100_pcie", "--for", "onnxruntime", "-o",
                       self.path("n"), code=2)
        self.assertRegex(done.stderr, r"^emplace place: .*bad.onnx: .*\n$")


@unittest.skipUnless(HAS_ONNX, "the package onnx is not installed")
class Onnx(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.model = self.path("m.onnx")
        chain(self.model, ["a", "b", "a/b"])

    def run_on(self, memory: list[int]) -> Any:
        return place("onnx", request(self.model), cluster(["c0", "g0", "g1"], memory), self.path("out"),
                     model=self.model, objective="period")

    def test_two_stages_by_hand(self) -> None:
        """Six nodes of 1000 ns, three on each GPU, and a transfer of 512 + 100 ns that keeps both busy."""
        import onnx

        target, decision = self.run_on([10**7] * 3)
        self.assertTrue(decision.gain or decision.chosen.default)
        self.assertEqual((decision.chosen.told.time, decision.exported.time), (3612, 3612))
        model = onnx.load(decision.paths[0])
        self.assertEqual(model.ir_version, 11)
        configuration, = model.configuration
        self.assertEqual((configuration.name, configuration.num_devices, list(configuration.device)),
                         ("emplace", 2, ["g0", "g1"]))
        for place, node in enumerate(model.graph.node):
            entry, = node.device_configurations
            spec, = entry.sharding_spec
            self.assertEqual((entry.configuration_id, entry.pipeline_stage, spec.tensor_name, list(spec.device),
                              len(spec.sharded_dim)), ("emplace", place // 3, node.output[0], [place // 3], 0))
        self.assertRegex(target.notes[-1], r"onnx [\d.]+: its checker accepts the annotated model")

    def test_memory_decides(self) -> None:
        """The first GPU has room for one of the three weights, so that the second one has four nodes."""
        _, decision = self.run_on([10**7, 70_000, 10**7])
        self.assertEqual(decision.chosen.told.time, 4612)

    def test_a_second_placement_replaces_the_first(self) -> None:
        import onnx

        _, decision = self.run_on([10**7] * 3)
        self.model = decision.paths[0]
        _, decision = self.run_on([10**7, 70_000, 10**7])
        model = onnx.load(decision.paths[0])
        self.assertEqual(len(model.configuration), 1)
        self.assertEqual([entry.pipeline_stage for node in model.graph.node for entry in node.device_configurations],
                         [0] * 2 + [1] * 4)

    def test_changed_files_are_noticed(self) -> None:
        import onnx

        target, decision = self.run_on([10**7] * 3)
        model = onnx.load(decision.paths[0])
        last = model.graph.node[5].device_configurations[0]
        last.pipeline_stage = 0
        onnx.save(model, decision.paths[0])
        with self.assertRaisesRegex(PlaceFailure, "stage 0 of node 'a/b/relu' is on several devices"):
            target.read(decision.paths)
        last.sharding_spec.clear()
        onnx.save(model, decision.paths[0])
        with self.assertRaisesRegex(PlaceFailure, "node 'a/b/relu' has 0 places; expected one stage on one device"):
            target.read(decision.paths)
        model.graph.node[5].input[0] = "nowhere"
        onnx.save(model, decision.paths[0])
        with self.assertRaisesRegex(PlaceFailure, r"onnx [\d.]+ refuses .*out.stages.onnx: "):
            target.try_out(decision.paths)

    def test_the_command(self) -> None:
        done = command("place", self.model, "--cluster", "2xa100_pcie", "--for", "onnx", "--json", "-o", self.path("n"))
        told = json.loads(done.stdout)
        self.assertEqual(told["as_exported"], told["as_placed"])
        done = command("place", self.model, "--cluster", "2xa100_pcie", "--for", "onnx", "--from", "torch", code=2)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
