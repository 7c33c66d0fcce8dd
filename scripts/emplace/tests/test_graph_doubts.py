"""Plausible mistakes in graphs and names of element types, beside what the C++ program says of them."""

import copy
import json
import os
import pathlib
import unittest
import warnings

from support import Folder, called, graph_file

from emplace.importers import dtypes, graph_doubts

SHARED = json.loads((pathlib.Path(__file__).resolve().parents[3] / "tests/golden/graph_doubts.json").read_text())


def changed(change: dict) -> dict:
    """The shared graph with values replaced, by JSON pointers."""
    document = copy.deepcopy(SHARED["graph"])
    for pointer, value in change.items():
        *path, last = pointer.split("/")[1:]
        place = document
        for part in path:
            place = place[int(part) if isinstance(place, list) else part]
        place[int(last) if isinstance(place, list) else last] = value
    return document


class Doubts(Folder):
    def test_messages_are_those_of_the_program(self) -> None:
        for case in SHARED["cases"]:
            with self.subTest(case["case"]):
                found = graph_doubts.doubts(changed(case["change"]), case.get("device_kinds", []),
                                            case.get("devices", []))
                self.assertEqual(found, case["doubts"])

    def test_a_builder_warns_or_refuses(self) -> None:
        graph = graph_file.GraphBuilder("g")
        x = graph.tensor("x", [32, 64], "torch.float32", role="input")
        w = graph.parameter("w", [64, 10], "float")
        graph.op("matmul", "MatMul", [x, w], [graph.tensor("y", [32, 10], "f32", role="output")])
        path = self.path("g.json")
        with self.assertRaisesRegex(graph_file.GraphError, "flops: got 0.*expected about 40960"):
            graph.write(path, strict=True)
        self.assertEqual(os.listdir(self.folder), [])
        with self.assertWarnsRegex(graph_file.GraphWarning, "g: ops.1. \"matmul\": flops: got 0"):
            graph.write(path)
        self.assertEqual({t["dtype"] for t in graph_file.read(path)["tensors"]}, {"f32"})
        self.assertEqual(called(graph_file.main, path)[0], 0)
        self.assertEqual(called(graph_file.main, path, "--strict")[0], 2)
        graph.ops[1].flops = 40960
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            graph.write(path, strict=True)


class Dtypes(unittest.TestCase):
    def test_names_and_aliases_are_those_of_the_program(self) -> None:
        self.assertEqual({name: entry["bits"] for name, entry in SHARED["dtypes"].items()}, dtypes.DTYPE_BITS)
        self.assertEqual({alias: name for name, entry in SHARED["dtypes"].items() for alias in entry["aliases"]},
                         dtypes.DTYPE_ALIASES)
        for text, name in SHARED["spellings"].items():
            self.assertEqual(dtypes.dtype_name(text), name, text)

    def test_an_alias_is_written_as_its_name_and_an_unknown_one_refused(self) -> None:
        graph = graph_file.GraphBuilder("g")
        graph.tensor("x", [2], "float16")
        self.assertEqual((graph.tensors[0].dtype, graph.tensors[0].num_bytes), ("f16", 4))
        with self.assertRaisesRegex(graph_file.GraphError, "tensor 'y': unknown element type 'flaot'; choices: f64,"):
            graph.tensor("y", [2], "flaot", num_bytes=8)


if __name__ == "__main__":
    unittest.main()
