"""Tests of `emplace import --from chakra`: execution traces by hand, Chakra's protobuf, traces of PyTorch."""

import copy
import gzip
import json
import struct
import unittest

from support import Folder, by_name, graph_file, needs
from traces_support import node, tensor, training_step

from emplace import importers
from emplace.importers.chakra import import_chakra, protobuf
from emplace.importers.traces import aten


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(number: int, name: str, kind: int, duration: int = 0, data: tuple = (), control: tuple = (),
            attributes: bytes = b"", outputs: bytes = b"") -> bytes:
    """A Node of et_def.proto, behind its length; data dependencies packed, others one by one."""
    body = field(1, number) + field(2, name) + field(3, kind) + b"".join(field(4, other) for other in control)
    body += field(5, b"".join(map(varint, data))) if data else b""
    body += field(7, duration) + (field(9, outputs) if outputs else b"") + attributes
    return varint(len(body)) + body


def attribute(name: str, number: int, value: int | str) -> bytes:
    return field(10, field(1, name) + field(number, value))


METADATA = field(1, "0.0.4")
METADATA = varint(len(METADATA)) + METADATA
INT64, BOOL = 9, 27


class ExecutionTraces(unittest.TestCase):
    def imported(self, document: dict) -> importers.Imported:
        imported = import_chakra(document)
        self.assertEqual(graph_file.check(imported.document), [])
        return imported

    def test_a_training_step(self) -> None:
        document = self.imported(training_step()).document
        ops = by_name(document)
        tensors = document["tensors"]
        names = [tensor["name"] for tensor in tensors]
        self.assertEqual(list(ops), ["parameter_2", "optimizer_state_3", "mm_0", "ones_like_0", "t_0", "mm_1", "mul_0",
                                     "add_0"])
        self.assertEqual(ops["mm_0"]["flops"], 2 * 4 * 6 * 3)
        self.assertEqual([names[i] for i in ops["mm_0"]["inputs"]], ["input_1", "parameter_2"])
        self.assertEqual(tensors[ops["mm_0"]["outputs"][0]]["role"], "output")  # where the backward pass begins
        self.assertEqual(ops["mm_1"]["phase"], "backward")
        self.assertEqual(ops["mm_1"]["attributes"], {"forward_op": "mm_0"})
        self.assertEqual([names[i] for i in ops["mm_1"]["inputs"]], ["t_0", "ones_like_0"])
        view = tensors[ops["t_0"]["outputs"][0]]
        self.assertEqual((view["alias_of"], view["shape"]), (names.index("input_1"), [6, 4]))
        self.assertEqual(ops["t_0"]["bytes_accessed"], 0)
        # In place: what was read before has to be read before.
        update = ops["add_0"]
        self.assertEqual((update["phase"], update["colocate"]), ("update", "parameter_2"))
        self.assertEqual(tensors[update["outputs"][0]]["alias_of"], names.index("parameter_2"))
        self.assertEqual(update["control_inputs"], [ops["mm_0"]["id"]])
        self.assertEqual(ops["optimizer_state_3"]["colocate"], "parameter_2")
        self.assertEqual(ops["mul_0"]["colocate"], "parameter_2")
        figures = graph_file.statistics(document)
        self.assertEqual((figures["parameters"], figures["optimizer_state_bytes"], figures["input_bytes"]),
                         (18, 72, 96))

    def test_the_old_form_gives_the_same(self) -> None:
        old = training_step()
        for record in old["nodes"]:
            for side in ("input", "output"):
                group = record.pop(side + "s")
                record |= {side + "s": group["values"], side + "_shapes": group["shapes"],
                           side + "_types": group["types"]}
            record |= {item["name"]: item["value"] for item in record.pop("attrs")}
            record["parent"] = record.pop("ctrl_deps")
        old["schema"] = "1.0.1"
        new = self.imported(training_step()).document
        found = self.imported(old).document
        self.assertEqual((found["ops"], found["tensors"]), (new["ops"], new["tensors"]))
        self.assertEqual(found["source"]["framework"], "execution trace 1.0.1")

    def test_memory_that_is_given_away_again_is_new(self) -> None:
        x, a, b = tensor(1, [8]), tensor(2, [8]), tensor(2, [8])
        document = {"schema": "1.1.1", "nodes": [
            node(1, 1, "[pytorch|profiler|execution_trace|process]"), node(2, 1, "aten::relu", [x], [a]),
            node(3, 1, "aten::neg", [x], [b]), node(4, 1, "aten::exp", [b], [tensor(3, [8])])]}
        ops = by_name(self.imported(document).document)
        self.assertEqual(ops["exp_0"]["inputs"], ops["neg_0"]["outputs"])

    def test_what_was_made_inside_of_a_call_is_its_result(self) -> None:
        x, inner, y = tensor(1, [8]), tensor(2, [8]), tensor(3, [1])
        document = {"schema": "1.1.1", "nodes": [
            node(1, 1, "[pytorch|profiler|execution_trace|process]"),
            node(3, 2, "aten::exp", [x], [inner]), node(2, 1, "aten::special", [x], [y]),
            node(4, 1, "aten::neg", [inner], [tensor(4, [8])])]}
        document = self.imported(document).document
        ops = by_name(document)
        self.assertNotIn("exp_0", ops)
        self.assertEqual(ops["neg_0"]["inputs"], ops["special_0"]["outputs"][1:])

    def test_lists_are_taken_apart(self) -> None:
        first, second = tensor(1, [2]), tensor(2, [6])
        lists = ([first[0], second[0]], [first[1], second[1]], "GenericList[Tensor(float),Tensor(float)]")
        document = {"schema": "1.1.1", "nodes": [
            node(1, 1, "[pytorch|profiler|execution_trace|process]"),
            node(2, 1, "aten::_foreach_mul_", [lists, 3], [], "aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar s) "
                 "-> ()", inclusive_dur=8.0)]}
        imported = import_chakra(document, device_kind="cpu2")
        ops = [op for op in imported.document["ops"] if op["kind"] == "aten._foreach_mul"]
        self.assertEqual([op["cost_ns"] for op in ops], [{"cpu2": 2000}, {"cpu2": 6000}])  # 8 us, 8 B and 24 B
        self.assertIn("calls on lists of tensors x 1", "\n".join(map(str, imported.dropped)))

    def test_kernels_that_were_linked_are_the_time(self) -> None:
        document = training_step()
        for record in document["nodes"]:
            record["inclusive_dur"] = 100.0
        document["nodes"] += [node(50, 4, "sgemm", cat="kernel", dur=2.5), node(51, 4, "sgemm2", cat="kernel", dur=1.0)]
        with self.assertRaisesRegex(importers.ImportFailure, "does not name the device; give --device-kind NAME"):
            import_chakra(document)
        ops = by_name(import_chakra(document, device_kind="h100").document)
        self.assertEqual(ops["mm_0"]["cost_ns"], {"h100": 3500})
        self.assertEqual(ops["add_0"]["cost_ns"], {"h100": 0})

    def test_collectives(self) -> None:
        gradient, shard = tensor(1, [100]), tensor(2, [25])
        parameters = [gradient, 7, (["pg0", "data parallel"], [[], []], "GenericList[String,String]"), 0,
                      "_reduce_scatter_base"]
        document = {"schema": "1.1.1", "nodes": [
            node(1, 1, "[pytorch|profiler|execution_trace|process]"),
            node(2, 1, "aten::neg", [tensor(3, [100])], [gradient]),
            node(3, 1, "c10d::_reduce_scatter_base_", [shard, gradient], [],
                 "c10d::_reduce_scatter_base_(Tensor output, Tensor input) -> (Tensor, Work)"),
            node(4, 3, "record_param_comms", parameters, [shard]), node(5, 4, "nccl:_reduce_scatter_base", [gradient]),
            node(6, 1, "record_param_comms", [7, 0, 0, "wait"]), node(7, 1, "aten::exp", [shard], [tensor(4, [25])])]}
        ops = by_name(self.imported(document).document)
        self.assertEqual((ops["reduce_scatter_0"]["kind"], ops["reduce_scatter_0"]["attributes"]),
                         ("collective.reduce_scatter", {"bytes": 400, "group": "pg0"}))
        self.assertLess({*ops["neg_0"]["outputs"]}, {*ops["reduce_scatter_0"]["inputs"]})
        self.assertEqual(ops["exp_0"]["inputs"], ops["reduce_scatter_0"]["outputs"])  # written, if the schema hides it
        self.assertFalse([name for name in ops if "wait" in name or "param" in name.replace("parameter", "")])

    def test_work(self) -> None:
        def flops(name, inputs, values=(), output=None):
            return aten.flops(f"aten::{name}", inputs, [*values], output)
        self.assertEqual(flops("addmm", [[3], [4, 6], [6, 3]]), 2 * 4 * 6 * 3)
        self.assertEqual(flops("bmm", [[5, 4, 6], [5, 6, 3]]), 5 * 2 * 4 * 6 * 3)
        # 2 images of 8 x 8, 3 channels, 16 filters 3 x 3, stride 2, padding 1: 4 x 4 results.
        images, filters = [2, 3, 8, 8], [16, 3, 3, 3]
        values = [None, None, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1]
        expected = 2 * (2 * 16 * 4 * 4) * 27
        self.assertEqual(flops("convolution", [images, filters, None], values, [2, 16, 4, 4]), expected)
        self.assertEqual(flops("convolution", [images, filters, None], values), expected)  # of the shapes alone
        values = [None] * 7 + [False, [0, 0], 1, [False, True, False]]
        self.assertEqual(flops("convolution_backward", [[2, 16, 4, 4], images, filters], values), expected)
        # 2 x 4 heads, 10 queries, 12 keys of 8, values of 16.
        shapes = [[2, 4, 10, 8], [2, 4, 12, 8], [2, 4, 12, 16]]
        self.assertEqual(flops("_scaled_dot_product_flash_attention", shapes), 2 * 8 * 10 * 12 * (8 + 16))
        self.assertEqual(flops("relu", [[5]]), 0)
        self.assertIsNone(flops("_cudnn_rnn", [[5]]))

    def test_what_is_refused(self) -> None:
        for change, expected in ((lambda d: d.update(nodes=3), "trace: 'nodes' is int, expected a list"),
                                 (lambda d: d["nodes"][2].pop("id"), "trace: nodes[2]: expected an object with 'id'"),
                                 (lambda d: d["nodes"][2].update(id=2), "'aten::mm': the id 2 is used twice"),
                                 (lambda d: d["nodes"][2].update(ctrl_deps="x"), "ctrl_deps is 'x', expected the id"),
                                 (lambda d: d["nodes"][2]["inputs"].update(shapes=[]), "2 inputs, 0 shapes, 2 types"),
                                 (lambda d: d["nodes"][2]["inputs"]["values"][0].__setitem__(1, "x"),
                                  "a tensor is [1, 'x', 0, 24, 4, 'cpu'], expected [id, storage,"),
                                 (lambda d: d["nodes"][2]["inputs"]["shapes"].__setitem__(0, [-1]), "a shape is [-1]"),
                                 (lambda d: d["nodes"][2].update(dur="x"), "a duration is 'x'"),
                                 (lambda d: d["nodes"][3].update(dur=-1), "nodes[3] 'aten::matmul': a duration is -1"),
                                 (lambda d: [record.update(ctrl_deps=77) for record in d["nodes"][:4]],
                                  "3 of 12 nodes are inside nodes that the trace does not have, such as 2"),
                                 (lambda d: d["nodes"][7].update(ctrl_deps=8),
                                  "3 of 12 nodes are inside each other; ctrl_deps form a cycle"),
                                 (lambda d: d["nodes"][4]["attrs"][0].update(value=3), "two calls have the rf_id 3"),
                                 (lambda d: d["nodes"].extend(node(i, i - 1, "aten::neg") for i in range(13, 420)),
                                  "more than 400 nodes are inside each other"),
                                 (lambda d: d.update(nodes=d["nodes"][:2]), "holds no call of an operator")):
            document = copy.deepcopy(training_step())
            change(document)
            with self.subTest(expected), self.assertRaises(importers.ImportFailure) as caught:
                import_chakra(document)
            self.assertIn(expected, str(caught.exception))


class Chakra(Folder):
    """A product that needs 3 us, an all-reduce of its 4 kB, a node behind both; read from a file."""

    def setUp(self) -> None:
        super().setUp()
        shapes = field(1, "[[7, 8, 0, 1024, 4, 'cuda:0']]") + field(2, "[[32, 32]]") + field(3, "['Tensor(float)']")
        self.trace = (METADATA
                      + message(1, "aten::mm", 4, 3, attributes=attribute("num_ops", INT64, 65536), outputs=shapes)
                      + message(2, "sync", 7, 5, data=(1,), attributes=attribute("comm_size", INT64, 4096)
                                + attribute("comm_type", INT64, 0))
                      + message(300, "load", 2, 0, control=(1,), attributes=attribute("tensor_size", INT64, 100))
                      + message(4, "end", 4, 1, data=(2, 300), control=(1,)))

    def document(self, data: bytes, *options: str, name: str = "trace.et") -> dict:
        return self.imported(self.write(name, data), "--from", "chakra", *options)

    def test_nodes(self) -> None:
        document = self.document(self.trace, "--device-kind", "h100")
        ops, tensors = by_name(document), document["tensors"]
        product, sync, load, end = (ops[name] for name in ("aten::mm#1", "sync#2", "load#300", "end#4"))
        self.assertEqual((product["kind"], product["flops"], product["cost_ns"]), ("aten.mm", 65536, {"h100": 3000}))
        self.assertEqual([tensors[product["outputs"][0]][key] for key in ("shape", "dtype", "bytes")],
                         [[32, 32], "f32", 4096])
        self.assertEqual((sync["kind"], sync["inputs"]), ("collective.all_reduce", product["outputs"]))
        self.assertEqual((load["kind"], load["control_inputs"]), ("chakra.mem_load", [product["id"]]))
        self.assertEqual(tensors[load["outputs"][0]]["bytes"], 100)
        self.assertEqual(end["inputs"], [*sync["outputs"], *load["outputs"]])
        self.assertEqual(end["control_inputs"], [product["id"]])
        self.assertEqual(document["source"]["framework"], "chakra 0.0.4")

    def test_host_nodes_give_their_dependencies_on(self) -> None:
        def host(value: int) -> bytes:
            return attribute("is_cpu_op", BOOL, value)
        trace = (METADATA + message(1, "aten::mm", 4, 9, attributes=host(1))
                 + message(2, "gemm", 4, 3, data=(1,), attributes=host(0))
                 + message(3, "aten::relu", 4, 9, data=(2,), attributes=host(1))
                 + message(4, "relu", 4, 2, data=(3,), attributes=host(0)))
        ops = by_name(self.document(trace, "--device-kind", "h100"))
        self.assertEqual(list(ops), ["gemm#2", "relu#4"])
        self.assertEqual(ops["relu#4"]["inputs"], ops["gemm#2"]["outputs"])

    def test_the_json_form(self) -> None:
        records = [{"version": "0.0.4"},
                   {"id": "1", "name": "aten::mm", "type": "COMP_NODE", "durationMicros": "3",
                    "attr": [{"name": "num_ops", "int64Val": "65536"}],
                    "outputs": {"values": "[[7, 8, 0, 1024, 4, 'cuda:0']]", "shapes": "[[32, 32]]",
                                "types": "['Tensor(float)']"}},
                   {"id": "2", "name": "sync", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "durationMicros": "5",
                    "attr": [{"name": "comm_size", "int64Val": "4096"}, {"name": "comm_type", "int64Val": "0"}]},
                   {"id": "300", "name": "load", "type": "MEM_LOAD_NODE", "ctrlDeps": ["1"],
                    "attr": [{"name": "tensor_size", "int64Val": "100"}]},
                   {"id": "4", "name": "end", "type": "COMP_NODE", "dataDeps": ["2", "300"], "ctrlDeps": ["1"],
                    "durationMicros": "1"}]
        text = "\n".join(map(json.dumps, records)).encode()
        options = ("--device-kind", "h100")
        self.assertEqual(self.document(gzip.compress(text), *options, name="trace.json"),
                         self.document(self.trace, *options))

    def test_edges_to_nodes_that_are_not_there(self) -> None:
        trace = METADATA + message(1, "a", 4, control=(3, 1)) + message(2, "b", 4, data=(1, 9), control=(3,))
        imported = importers.read(self.write("trace.et", trace))
        ops = by_name(imported.document)
        self.assertEqual((ops["b#2"]["inputs"], ops["b#2"].get("control_inputs")), (ops["a#1"]["outputs"], None))
        self.assertEqual([str(dropped) for dropped in imported.dropped][:3], [
            "edges of data_deps x 1: they lead to 1 nodes that the trace does not have; --strict refuses them",
            "edges of ctrl_deps x 2: they lead to 1 nodes that the trace does not have; --strict refuses them",
            "edges of ctrl_deps x 1: they lead from a node to itself"])
        self.refused("node 2 'b': data_deps names 9, but there is no such node (1 such edges)", self.path("trace.et"),
                     "--strict")

    def test_every_kind_of_attribute(self) -> None:
        packed = field(10, field(1, "list") + field(10, field(1, varint(3) + varint(-1))))
        fixed = field(10, field(1, "double") + varint(3 << 3 | 1) + struct.pack("<d", 1.5))
        _, nodes = protobuf.read(METADATA + message(1, "n", 4, attributes=packed + fixed + attribute("low", INT64, -2)
                                                    + attribute("zig", 17, 5) + attribute("text", 29, "t")))
        self.assertEqual(nodes[0]["attr"], {"list": [3, -1], "double": 1.5, "low": -2, "zig": -3, "text": "t"})

    def test_what_is_refused(self) -> None:
        for data, expected in ((self.trace, "has durations, but does not name the device; give --device-kind NAME"),
                               (self.trace[:-4], "is neither JSON nor a Chakra trace in protobuf: byte"),
                               (b"", "the file is empty"),
                               (b"\xff" * 20, "a number has no end"),
                               (METADATA + message(1, "a", 4) + message(1, "b", 4), "nodes have the id 1: 'a' and 'b'"),
                               (METADATA + message(1, "a", 99), "its type is 99"),
                               (METADATA + message(1, "a", 4, -3), "node 1 'a': duration_micros is -3, expected a "
                                                                   "number >= 0"),
                               (METADATA, "none of its 0 nodes does work"),
                               (METADATA + message(1, "a", 4, data=(2,)) + message(2, "b", 4, data=(1,)), "cycle"),
                               (b'{"schema": 1,', "trace.et:1: is not JSON"),
                               (b'{"id": "1"} {"id":', "is not JSON"),
                               (b'{"version": "1"} {"id": "x"}', "node 'x' '' cannot be read")):
            with self.subTest(expected):
                options = ("--device-kind", "k") if "duration_micros" in expected else ()
                self.refused(expected, self.write("trace.et", data), *options)


@needs("torch")
class Torch(Folder):
    def test_a_step_of_a_small_network(self) -> None:
        import torch
        from torch.profiler import ExecutionTraceObserver
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                  torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 5))
        rule = torch.optim.Adam(net.parameters(), foreach=False)

        def step() -> None:
            rule.zero_grad()
            torch.nn.functional.cross_entropy(net(torch.ones(2, 3, 8, 8)), torch.tensor([1, 2])).backward()
            rule.step()
        step()  # makes Adam's state
        path = self.path("trace.json")
        observer = ExecutionTraceObserver().register_callback(path)
        observer.start()
        step()
        observer.stop()
        observer.unregister_callback()
        imported = importers.read(path)  # known by what is in it
        document = imported.document
        self.assertEqual(graph_file.check(document), [])
        figures = graph_file.statistics(document)
        count = sum(parameter.numel() for parameter in net.parameters())
        self.assertEqual(figures["parameters"], count)
        # Adam: two values for each parameter, and a step count for each of six tensors.
        self.assertEqual(figures["optimizer_state_bytes"], 4 * (2 * count + 6))
        convolution, product = 2 * (2 * 8 * 6 * 6) * 27, 2 * 2 * 288 * 5
        self.assertEqual(figures["forward_flops"], convolution + product)
        # The convolution's gradient of the weights alone, both of the product.
        self.assertEqual(figures["backward_flops"], convolution + 2 * product)
        labels = {op["name"]: op.get("colocate") for op in document["ops"] if op["kind"] == "parameter"
                  and op["name"].startswith("parameter")}
        self.assertEqual(len(labels), 6)
        for op in document["ops"]:
            written = [document["tensors"][t] for t in op["outputs"] if document["tensors"][t].get("role") == "output"
                       and op.get("phase") == "update" and document["tensors"][t]["shape"]]
            if written:  # of a parameter, or of a state as large: not a step count
                self.assertIn(op["colocate"], labels.values(), op["name"])
        gradient = next(op for op in document["ops"] if op["kind"] == "aten.convolution_backward")
        self.assertEqual(gradient["attributes"]["forward_op"], "convolution_0")


if __name__ == "__main__":
    unittest.main()
