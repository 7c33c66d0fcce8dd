"""Readers of published tables, and the graphs of their steps: small tables by hand, with the arithmetic beside them."""

from __future__ import annotations

import json
import os
import pathlib
import unittest
from typing import Any

from published_support import GPU, step_rows, write_products, write_sailor, write_step
from support import Folder, by_name, graph_file

from emplace.published import neusight, sailor
from emplace.published.fx_step import launch_time, step_graph
from emplace.published.tables import LeftOut, PublishedFailure

MEASURED = os.environ.get("EMPLACE_MEASURED", "")


class Tables(Folder):
    def steps(self) -> list[Any]:
        return [neusight.read_step(file) for file in neusight.step_files(pathlib.Path(self.folder))]

    def document(self, training: bool) -> dict[str, Any]:
        write_step(self.folder, "tiny-train-8-2", 1.6)
        step = self.steps()[0]
        document = step_graph("tiny", step.rows, step.num_layers, training, "x1")
        self.assertEqual(graph_file.check(document), [])
        return document

    def test_a_step(self) -> None:
        write_step(self.folder, "tiny-train-8-2", 1.6)
        write_step(self.folder, "tiny-inf-8-2", 0.6)
        write_step(self.folder, "tiny-train-8-8-dp4", 0.6, num_layer=0)
        write_step(self.folder, "tiny-inf-8-4", 0.6).unlink()
        read = {step.case.partition("/")[2]: step for step in self.steps()}
        self.assertEqual((read["tiny-train-8-2"].training, read["tiny-inf-8-2"].training), (True, False))
        step = read["tiny-train-8-2"]
        self.assertEqual((step.gpu, step.num_layers, step.measured), (GPU, 3, 1.6e6))
        self.assertEqual(launch_time(step.rows), 10_000)
        self.assertEqual(read["tiny-train-8-8-dp4"], LeftOut(f"{GPU}/tiny-train-8-8-dp4", "an executed plan"))
        self.assertEqual(read["tiny-inf-8-4"].why, "no op times")

    def test_the_layer_is_repeated(self) -> None:
        document = self.document(training=False)
        ops, tensors = by_name(document), document["tensors"]
        # Less launch: embedding 20, three layers of 100 and 30, head 200 us.
        self.assertEqual({name: op["cost_ns"]["x1"] for name, op in ops.items() if op.get("cost_ns", {}).get("x1")},
                         {"wte": 20_000, "head": 200_000, **{f"{i}/fc": 100_000 for i in range(3)},
                          **{f"{i}/add": 30_000 for i in range(3)}})

        def read(name: str) -> list[str]:
            return [tensors[tensor]["name"] for tensor in ops[name]["inputs"]]

        self.assertEqual(read("0/fc"), ["wte", "0/fc/weight"])
        self.assertEqual(read("2/fc"), ["1/add", "2/fc/weight"])
        self.assertEqual(read("2/add"), ["2/view", "1/add"])
        self.assertEqual(read("head"), ["2/add", "head/weight"])
        self.assertEqual(tensors[ops["1/view"]["outputs"][0]]["alias_of"], ops["1/fc"]["outputs"][0])
        self.assertEqual(ops["head"]["flops"], 2 * 2 * 8 * 16 * 4)

    def test_rows_that_change_nothing_cost_nothing(self) -> None:
        """Dropout runs only in training, a cast to the same type never."""
        rows = step_rows()
        dropout = ("call_module", "m.h.0.drop", "{add: None}", rows[3][3].replace("linear.Linear", "dropout.Dropout"),
                   "[[2, 8, 4]]", 0.050, 0.060, 0, "(2, 8, 4)", "torch.float32", "drop")
        cast = ("call_method", "to", "{drop: None}", rows[4][3], "[[2, 8, 4]]", 0.050, 0, 0, "(2, 8, 4)",
                "torch.float32", "cast")
        head = (*rows[6][:2], "{cast: None}", *rows[6][3:])
        write_step(self.folder, "tiny-train-8-2", 1.6, rows=[*rows[:6], dropout, cast, head, rows[7]])
        step = self.steps()[0]
        for training, kinds in ((True, ("aten.dropout", "aten.view")), (False, ("aten.view", "aten.view"))):
            ops = by_name(step_graph("tiny", step.rows, step.num_layers, training, "x1"))
            self.assertEqual((ops["0/drop"]["kind"], ops["0/cast"]["kind"]), kinds)
            self.assertEqual(sum(ops["0/drop"].get("cost_ns", {}).values()), 40_000 if training else 0)

    def test_backward_ops_follow(self) -> None:
        document = self.document(training=True)
        ops, tensors = by_name(document), document["tensors"]
        # Backward: embedding 10, three layers of 200 (the add has only launch), head 300 us.
        self.assertEqual(sum(op.get("cost_ns", {}).get("x1", 0) for op in ops.values()),
                         (20 + 3 * 130 + 200 + 10 + 3 * 200 + 300) * 1000)
        received = [tensors[tensor]["name"] for tensor in ops["0/add/backward"]["inputs"]
                    if tensors[tensor].get("role") == "gradient"]
        self.assertEqual(received, ["1/add/gradient", "1/fc/gradient"])  # of both readers
        self.assertEqual(ops["head/backward"]["flops"], 2 * ops["head"]["flops"])
        self.assertEqual(graph_file.doubts(document), [])

    def test_damaged_steps_are_refused(self) -> None:
        for column, value, expected in (
                (5, "fast", "tiny-inf-8-2.csv:5: fw_latency is 'fast', expected a number from 0 to 1e+12"),
                (6, -1, "tiny-inf-8-2.csv:5: bw_latency is '-1'"),
                (0, "call", "op is 'call', expected one of placeholder, get_attr"),
                (2, "{gone: None}", "expected names of rows before, but there is no 'gone'"),
                (2, "wte", "_input_nodes is 'wte', expected names such as"),
                (3, "{}", "meta is '{}', expected the classes of the modules"),
                (4, "[[2", "input_shapes is '[[2', expected a list of shapes"),
                (8, "2, 8", "output_shape is '2, 8', expected a shape"),
                (9, "torch.f", "dtype is 'torch.f', expected an element type"),
                (10, "wte", "Name is 'wte', expected a name that no row before has")):
            rows = step_rows()
            rows[3] = (*rows[3][:column], value, *rows[3][column + 1:])
            write_step(self.folder, "tiny-inf-8-2", 0.6, rows=rows)
            with self.assertRaises(PublishedFailure) as refused:
                self.steps()
            self.assertIn(expected, str(refused.exception))

    def test_cut_off_files_are_refused(self) -> None:
        table = write_step(self.folder, "tiny-inf-8-2", 0.6)
        text, numbers = table.read_text(encoding="utf-8"), table.with_suffix(".json")
        for damaged, expected in ((text[:text.index("output,output")], ".csv:8: op is 'call_module', expected output"),
                                  (text[:text.index(",torch.int64")], ".csv:2: ends before the column dtype"),
                                  (text.replace("fw_latency", "fw"), ".csv:1: has no column fw_latency"),
                                  (text.replace(".0", ".1"), "has no row of a layer"), ("", "has no column"),
                                  (text.splitlines()[0], ".csv: has no row"), ("\0", ".csv")):
            table.write_text(damaged, encoding="utf-8")
            with self.assertRaisesRegex(PublishedFailure, expected.replace(".", r"\.")):
                self.steps()
        for document, expected in (('{"num_layer": 3', "cannot be read"), ("[]", "holds a JSON list"),
                                   ('{"num_layer": 2.5, "e2e_latency": 1}', "num_layer is 2.5, expected a whole"),
                                   ('{"num_layer": 3, "e2e_latency": NaN}', "e2e_latency is NaN, expected a number"),
                                   ('{"num_layer": true}', "num_layer is true"), ("[" * 100_000, "cannot be read")):
            numbers.write_text(document, encoding="utf-8")
            with self.assertRaisesRegex(PublishedFailure, expected):
                self.steps()
        with self.assertRaisesRegex(PublishedFailure, "is not a folder"):
            neusight.step_files(pathlib.Path(self.path("gone")))

    def test_ops(self) -> None:
        path = write_products(self.folder)
        op = neusight.ops(pathlib.Path(self.folder))[0][0]
        self.assertEqual((op.case, op.gpu, op.kind), (f"{GPU}/linear-1-4096-64-64", GPU, "aten.linear"))
        self.assertEqual((op.inputs, op.output, op.flops), (((4096, 64), (64, 64)), (4096, 64), 2 * 4096 * 64 * 64))
        self.assertAlmostEqual(op.measured, 133_554.432)
        path.write_text(path.read_text(encoding="utf-8").replace(",4096,", ",0,", 1), encoding="utf-8")
        with self.assertRaisesRegex(PublishedFailure, r"linear\.csv:2: M is '0', expected a whole number > 0"):
            neusight.ops(pathlib.Path(self.folder))
        pathlib.Path(self.path("vec.csv")).write_text("OPName,Latency,Device,B,H\nsort,1,X,2,3\n", encoding="utf-8")
        path.unlink()
        with self.assertRaisesRegex(PublishedFailure, "OPName is 'sort', expected one of ln, softmax"):
            neusight.ops(pathlib.Path(self.folder))

    def test_sailor(self) -> None:
        write_sailor(self.folder, 2)
        write_sailor(self.folder, 2, degree=4)
        cases, left_out = sailor.ops(pathlib.Path(self.folder))
        self.assertEqual(left_out, [LeftOut("X1/OPT-350_mbs2_tp4_algo0", "ops that contain collectives")])
        product = cases[1]
        self.assertEqual((product.case, product.kind), ("X1/OPT-350_mbs2_tp1_algo0/enc-MLP-GEMM-1/backward",
                                                        "aten.linear_backward"))
        # 2 samples of 2048 tokens and 16 MiB of weights in f32, without the weights' gradient; 4 ms.
        self.assertEqual((product.flops, product.measured), (2 * 2 * 2048 * 2**22, 4e6))
        path = write_sailor(self.folder, 2)
        path.write_text(path.read_text(encoding="utf-8").replace("gelu", "silu"), encoding="utf-8")
        with self.assertRaisesRegex(PublishedFailure, "op_name is 'enc-MLP-silu', expected one of encoder-embedding"):
            sailor.ops(pathlib.Path(self.folder))


@unittest.skipUnless(MEASURED, "SKIPPED, NOT TESTED: $EMPLACE_MEASURED does not name the published data")
class Published(unittest.TestCase):
    def test_graphs_of_all_steps_are_valid(self) -> None:
        for file in neusight.step_files(pathlib.Path(MEASURED)):
            step = neusight.read_step(file)
            if isinstance(step, neusight.Step):
                document = step_graph(step.case, step.rows, step.num_layers, step.training, "x1")
                self.assertEqual(graph_file.check(document), [], step.case)
                json.dumps(document)


if __name__ == "__main__":
    unittest.main()
