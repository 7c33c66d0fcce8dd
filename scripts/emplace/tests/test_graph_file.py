"""Tests of graph_file.py: what is written, what is refused and with which words."""

import gzip
import json
import os
import pathlib
import unittest

from support import Folder, called, graph_file

from emplace.importers.graph_file import GraphBuilder, GraphError


def small_graph() -> GraphBuilder:
    """y = x w; w is updated in place from its gradient."""
    graph = GraphBuilder("small", source={"framework": "none", "batch": 2})
    x = graph.tensor("x", [2, 3], "f32", role="input")
    w = graph.parameter("w", [3, 4], "f32", colocate="w")
    y = graph.tensor("y", [2, 4], "f32", role="output")
    graph.op("matmul", "MatMul", [x, w], [y], flops=2 * 2 * 3 * 4)
    dw = graph.tensor("dw", [3, 4], "f32", role="gradient")
    graph.op("matmul_grad", "MatMul", [x, y], [dw], flops=48, phase="backward",
             attributes={"transpose_a": True})
    new_w = graph.tensor("new_w", [3, 4], "f32", role="output", alias_of=w)
    graph.op("update", "ApplyGradientDescent", [w, dw], [new_w], flops=24, phase="update",
             control_inputs=[1], colocate="w", bytes_accessed=3 * 48)
    return graph


class Writing(Folder):
    def test_round_trip_compressed_and_plain(self) -> None:
        graph = small_graph()
        graph.write(self.path("g.json"))
        graph.write(self.path("g.json.gz"))
        self.assertEqual(graph_file.read(self.path("g.json")), graph.document())
        self.assertEqual(graph_file.read(self.path("g.json.gz")), graph.document())

    def test_keys_equal_to_their_default_are_left_out(self) -> None:
        document = small_graph().document()
        self.assertEqual(set(document["ops"][1]),
                         {"id", "name", "kind", "inputs", "outputs", "flops"})
        # 48 B each of w, dw and new_w is what inputs plus outputs give anyway.
        self.assertNotIn("bytes_accessed", document["ops"][3])

    def test_where_an_op_may_run(self) -> None:
        graph = GraphBuilder("g")
        graph.op("a", "k", [], [], device_kinds=("gpu",), devices=("gpu:0", "gpu:1"))
        graph.write(self.path("g.json"))
        op = graph_file.read(self.path("g.json"))["ops"][0]
        self.assertEqual((op["device_kinds"], op["devices"]), (["gpu"], ["gpu:0", "gpu:1"]))
        self.assertEqual(list(op)[-2:], ["device_kinds", "devices"])  # as the program writes them

    def test_bytes_follow_from_shape_and_dtype(self) -> None:
        graph = GraphBuilder("g")
        for dtype, size in (("f32", 4), ("bf16", 2), ("i64", 8), ("bool", 1)):
            tensor = graph.tensor(dtype, [2, 5], dtype, role="input")
            self.assertEqual(graph.tensors[tensor].num_bytes, 10 * size)
        self.assertEqual(graph.tensors[graph.tensor("scalar", [], "f32")].num_bytes, 4)
        with self.assertRaisesRegex(GraphError, "no element size known for dtype 'str'"):
            graph.tensor("s", [2], "str")

    def test_same_bytes_whenever_and_wherever_it_is_written(self) -> None:
        small_graph().write(self.path("a.json.gz"))
        small_graph().write(self.path("b.json.gz"))
        first = pathlib.Path(self.path("a.json.gz")).read_bytes()
        self.assertEqual(first, pathlib.Path(self.path("b.json.gz")).read_bytes())
        self.assertEqual(first[4:8], b"\0\0\0\0", "the gzip time stamp")

    def test_compact_one_record_a_line(self) -> None:
        text = graph_file.serialize(small_graph().document()).decode()
        first = '{"id":0,"name":"x","shape":[2,3],"dtype":"f32","bytes":24,"role":"input"}'
        self.assertIn(f"\n{first},\n", text)
        self.assertEqual(json.loads(text), small_graph().document())

    def test_a_bad_graph_leaves_no_file(self) -> None:
        graph = small_graph()
        graph.ops[1].flops = float("nan")
        with self.assertRaisesRegex(GraphError, "op 1 'matmul': flops is nan"):
            graph.write(self.path("bad.json.gz"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_unwritable_place_leaves_the_old_file(self) -> None:
        small_graph().write(self.path("g.json"))
        before = pathlib.Path(self.path("g.json")).read_bytes()
        with self.assertRaises(OSError):
            small_graph().write(self.path("no_such_folder/g.json"))
        os.mkdir(self.path("taken"))
        with self.assertRaises(OSError):
            small_graph().write(self.path("taken"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["g.json", "taken"])
        self.assertEqual(pathlib.Path(self.path("g.json")).read_bytes(), before)


class Checking(unittest.TestCase):
    def errors_after(self, change) -> str:
        document = small_graph().document()
        change(document["tensors"], document["ops"], document)
        return "\n".join(graph_file.check(document))

    def test_a_good_graph_has_no_errors(self) -> None:
        self.assertEqual(graph_file.check(small_graph().document()), [])

    def test_each_broken_rule_is_named(self) -> None:
        cases = {
            "format is 'x', expected 'emplace-graph'": lambda t, o, d: d.update(format="x"),
            "version: expected at most 1, got 2: made by a newer version of emplace":
                lambda t, o, d: d.update(version=2),
            "version: expected 1, got 0": lambda t, o, d: d.update(version=0),
            "version: got True, expected a whole number": lambda t, o, d: d.update(version=True),
            "version: got '1', expected a whole number": lambda t, o, d: d.update(version="1"),
            "version: got None, expected a whole number": lambda t, o, d: d.pop("version"),
            "'ops' is missing or not a list": lambda t, o, d: d.pop("ops"),
            "tensor 1 'w': id is 7, expected 1": lambda t, o, d: t[1].update(id=7),
            "tensor 0 'x': bytes is -1": lambda t, o, d: t[0].update(bytes=-1),
            "tensor 0 'x': role is 'weight', expected one of input":
                lambda t, o, d: t[0].update(role="weight"),
            "tensor 2 'y': alias_of is 99": lambda t, o, d: t[2].update(alias_of=99),
            "alias_of forms a cycle": lambda t, o, d: t[2].update(alias_of=2),
            "op 2 'matmul_grad': id is 0": lambda t, o, d: o[2].update(id=0),
            "op 2 'matmul': op 1 has the same name": lambda t, o, d: o[2].update(name="matmul"),
            "inputs has 50, expected an id below 5": lambda t, o, d: o[1].update(inputs=[50]),
            "control_inputs has 9, expected an id below 4":
                lambda t, o, d: o[1].update(control_inputs=[9]),
            "tensor 2 'y' is already produced by op 1 'matmul'":
                lambda t, o, d: o[2].update(outputs=[2, 3]),
            "op 1 'matmul': flops is -3": lambda t, o, d: o[1].update(flops=-3),
            "bytes_accessed is inf": lambda t, o, d: o[1].update(bytes_accessed=float("inf")),
            "cost_ns of 'k80' is -1": lambda t, o, d: o[1].update(cost_ns={"k80": -1}),
            "op 1 'matmul': devices is [], expected a list of non-empty texts, or null for any":
                lambda t, o, d: o[1].update(devices=[]),
            "op 1 'matmul': devices is 'gpu:0', expected a list": lambda t, o, d: o[1].update(devices="gpu:0"),
            "op 1 'matmul': device_kinds is ['gpu', ''], expected a list":
                lambda t, o, d: o[1].update(device_kinds=["gpu", ""]),
            "phase is 'late'": lambda t, o, d: o[1].update(phase="late"),
            "tensor 0 'x': unknown element type 'float31'; choices: f64, f32, bf16, f16,":
                lambda t, o, d: t[0].update(dtype="float31"),
            'ops[0] "w": kind: a parameter costs nothing': lambda t, o, d: o[0].update(inputs=[0]),
            'tensors[1] "w": role: got parameter, but no op produces the tensor':
                lambda t, o, d: o[0].update(outputs=[]),
            'tensors[2] "y": role: got input, but ops[1] "matmul" produces the tensor':
                lambda t, o, d: t[2].update(role="input"),
            'tensors[2] "y": alias_of: got 3; expected a tensor that the alias\'s producer reads':
                lambda t, o, d: t[2].update(alias_of=3),
            'tensors[3] "dw": role: got buffer, but ops[2] "matmul_grad" of kind MatMul makes it in every step':
                lambda t, o, d: t[3].update(role="buffer"),
            "cycle: matmul -> matmul_grad -> matmul":
                lambda t, o, d: o[1].update(control_inputs=[2]),
        }
        for expected, change in cases.items():
            with self.subTest(expected):
                self.assertIn(expected, self.errors_after(change))

    def test_ops_in_any_order(self) -> None:
        graph = GraphBuilder("backwards")
        x, y, z = (graph.tensor(n, [1], "f32", role="input" if n == "x" else "activation")
                   for n in "xyz")
        graph.op("second", "Neg", [y], [z])
        graph.op("first", "Neg", [x], [y])
        self.assertEqual(graph_file.check(graph.document()), [])


class Reporting(Folder):
    def test_statistics_count_memory_once_and_sources_as_free(self) -> None:
        figures = graph_file.statistics(small_graph().document())
        self.assertEqual(figures["parameters"], 12)
        self.assertEqual(figures["parameter_bytes"], 48)
        self.assertEqual(figures["output_bytes"], 32)  # y; new_w shares the memory of w
        self.assertEqual((figures["forward_flops"], figures["backward_flops"]), (48, 48))
        # matmul 24 + 48 + 32, its gradient 24 + 32 + 48, the update 3 x 48, w itself nothing.
        self.assertEqual(figures["moved_bytes"], 104 + 104 + 144)
        self.assertEqual(figures["colocation_groups"], 1)

    def test_the_program(self) -> None:
        small_graph().write(self.path("good"))
        document = small_graph().document()
        document["ops"][1]["inputs"] = [77]
        bad = self.write("bad", gzip.compress(graph_file.serialize(document)))
        status, out, _ = called(graph_file.main, self.path("good"))
        self.assertEqual(status, 0)
        self.assertIn("small: 4 ops, 5 tensors, 12 parameters", out)
        for paths, expected in (([self.path("good"), bad], "inputs has 77"), ([self.write("c", "{")], "cannot be read"),
                                ([self.write("d", "[]")], "contains no JSON object"), ([self.path("none")], "none")):
            status, _, err = called(graph_file.main, *paths)
            self.assertEqual(status, 2)
            self.assertIn(expected, err)


if __name__ == "__main__":
    unittest.main()
