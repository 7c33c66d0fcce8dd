"""Tests of weights on the CPU: which copies there are, what they wait for, who reads them."""

from __future__ import annotations

import unittest
from typing import Any

from place_support import Model, training, transformer

from emplace.importers import graph_file
from emplace.place import offload

CPU, GPU, OTHER = 0, 1, 2


def devices(document: dict[str, Any], on_gpu: tuple[str, ...] = ()) -> list[int]:
    """[num_ops] weights on the CPU but those named, all else on the GPU."""
    return [CPU if offload.is_weight(document, op) and op["name"] not in on_gpu else GPU for op in document["ops"]]


def waits(document: dict[str, Any]) -> dict[str, str | None]:
    """What each load waits for, by its name, in the order of the program."""
    names = [op["name"] for op in document["ops"]]
    return {op["name"]: next((names[other] for other in op.get("control_inputs", ())), None)
            for op in document["ops"] if "loads" in op.get("attributes", {})}


class Hooks(unittest.TestCase):
    def test_each_parameter_is_loaded_before_its_reader(self) -> None:
        document = transformer(2)
        loaded, origin = offload.with_hooks(document)
        self.assertEqual(graph_file.check(loaded), [])
        ops = {op["name"]: op for op in loaded["ops"]}
        load = ops["layers.1.up.weight/load1"]
        self.assertEqual(loaded["ops"][load["control_inputs"][0]]["name"], "layers.0/add")
        self.assertEqual(ops["layers.1.up/mm"]["inputs"][1], load["outputs"][0])
        self.assertEqual(loaded["tensors"][load["outputs"][0]]["alias_of"], load["inputs"][0])
        self.assertEqual([document["ops"][i]["name"] for i in origin if "load" not in loaded["ops"][i]["name"]][0],
                         document["ops"][0]["name"])
        order = [op["name"] for op in loaded["ops"] if op["kind"] != "parameter" and "loads" not in op["attributes"]]
        self.assertEqual(order, [op["name"] for op in document["ops"] if op["kind"] != "parameter"])

    def test_a_module_that_runs_twice_loads_twice(self) -> None:
        model = Model()
        x, weight = model.input(), model.weight("a")
        y = model.linear("b", model.linear("a", x, weight))
        model.linear("a", y, weight, role="output")
        loaded, _ = offload.with_hooks(model.graph.document())
        self.assertEqual([op["name"] for op in loaded["ops"] if "loads" in op["attributes"]],
                         ["a.weight/load1", "b.weight/load1", "a.weight/load2"])


class Buffers(unittest.TestCase):
    def test_each_load_waits_for_the_second_before_it(self) -> None:
        document = transformer(3)
        loaded, origin = offload.with_buffers(document, devices(document))
        self.assertEqual(graph_file.check(loaded), [])
        self.assertEqual(waits(loaded), {
            "embed.weight/load1": None, "layers.0.up.weight/load1": None,
            "layers.1.up.weight/load1": "embed/mm", "layers.2.up.weight/load1": "layers.0.up/mm",
            "norm.weight/load1": "layers.1.up/mm", "head.weight/load1": "layers.2.up/mm"})
        loads = offload.buffered(document, devices(document))
        self.assertEqual([document["ops"][load.after]["name"] for load in loads if load.after is not None],
                         [name for name in waits(loaded).values() if name])
        for op, other in zip(loaded["ops"], origin):  # what loads a weight is where that is, all else is the same op
            self.assertEqual(op["attributes"].get("loads", op["name"]), document["ops"][other]["name"])

    def test_weights_on_the_gpu_need_no_buffer(self) -> None:
        document = transformer(3)
        loaded, _ = offload.with_buffers(document, devices(document, on_gpu=("layers.0.up.weight", "norm.weight")))
        self.assertEqual(waits(loaded), {
            "embed.weight/load1": None, "layers.1.up.weight/load1": None, "layers.2.up.weight/load1": "embed/mm",
            "head.weight/load1": "layers.1.up/mm"})
        reader = next(op for op in loaded["ops"] if op["name"] == "layers.0.up/mm")
        self.assertEqual(loaded["tensors"][reader["inputs"][1]]["name"], "layers.0.up.weight")

    def test_each_gpu_has_buffers_of_its_own(self) -> None:
        document = transformer(3)
        places = [OTHER if device == GPU and op["name"].startswith(("layers.1", "layers.2")) else device
                  for op, device in zip(document["ops"], devices(document))]
        loaded, _ = offload.with_buffers(document, places)
        self.assertEqual({name: after for name, after in waits(loaded).items() if after},
                         {"norm.weight/load1": "embed/mm", "head.weight/load1": "layers.0.up/mm"})

    def test_nothing_is_copied_on_one_device(self) -> None:
        document = transformer(2)
        loaded, origin = offload.with_buffers(document, [GPU] * len(document["ops"]))
        self.assertEqual(loaded, document)
        self.assertEqual(origin, list(range(len(document["ops"]))))

    def test_training_loads_again_for_the_backward_pass(self) -> None:
        document = training()
        loaded, origin = offload.with_buffers(document, [CPU if stays else GPU for stays in offload.stays(document)])
        self.assertEqual(graph_file.check(loaded), [])
        # b runs forward and then backward: one run, of one copy.
        self.assertEqual(waits(loaded), {"a.weight/load1": None, "b.weight/load1": None, "a.weight/load2": "a/mm"})
        ops = {op["name"]: op for op in loaded["ops"]}
        tensors = loaded["tensors"]
        again = ops["a/t/run2"]  # the view of the second copy, where its reader is
        self.assertEqual(again["inputs"], ops["a.weight/load2"]["outputs"])
        self.assertEqual(tensors[again["outputs"][0]]["alias_of"], again["inputs"][0])
        self.assertEqual(ops["a/mm_1"]["inputs"][1], again["outputs"][0])
        self.assertEqual(document["ops"][origin[again["id"]]]["name"], "a/mm_1")
        self.assertEqual(tensors[ops["a/t"]["outputs"][0]]["alias_of"], ops["a.weight/load1"]["outputs"][0])

    def test_updates_read_the_weight_itself(self) -> None:
        document = training()
        loaded, _ = offload.with_buffers(document, [CPU if stays else GPU for stays in offload.stays(document)])
        for op in loaded["ops"]:
            if op.get("phase") == "update":
                self.assertEqual(loaded["tensors"][op["inputs"][0]]["role"], "parameter")
        self.assertEqual([op["name"] for op, stays in zip(document["ops"], offload.stays(document)) if stays],
                         ["a.weight", "b.weight", "b/sgd", "a/sgd"])


if __name__ == "__main__":
    unittest.main()
