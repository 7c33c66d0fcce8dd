"""Tests of the graphs that the PyTorch importer makes, the same for both captures."""

from __future__ import annotations

import unittest
from typing import Any

from support import graph_file
from import_torch_support import TINY, Folder, needs_torch, net


@needs_torch
class GraphTest(Folder):
    """What holds for both captures, here with the default one."""

    def test_two_layers(self) -> None:
        """By hand, batch 8: 2 * 8 * (6 * 5 + 5 * 3) = 720 FLOP forward; backward the same for
        the weights' gradients, and 2 * 8 * 15 = 240 for the second layer's input."""
        document = self.export(TINY)
        figures = graph_file.statistics(document)
        self.assertEqual(figures["parameters"], 6 * 5 + 5 + 5 * 3 + 3)
        self.assertEqual(figures["forward_flops"], 720)
        self.assertEqual(figures["backward_flops"], 720 + 240)
        self.assertEqual(document["source"]["optimizer"], "momentum")
        self.assertEqual(document["source"]["capture"], self.capture)
        roles = [t.get("role") for t in document["tensors"]]
        self.assertEqual((roles.count("input"), roles.count("gradient"), roles.count("output")),
                         (2, 4, 1))

    def test_convolution_by_groups(self) -> None:
        """By hand, 2 images of 4 channels and 8x8: 2 * 2 * 64 * 4 * 9 = 9216 FLOP for each of two
        layers, and as much for each of their gradients but that of the images. A transposed layer
        of 2 groups makes 16x16 of that: 2 * 2 * 64 * 4 * 2 * 4 = 8192."""
        document = self.export("""
            import torch
            from torch import nn

            def build():
                module = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4),
                                       nn.Conv2d(4, 4, 3, padding=1, groups=4),
                                       nn.ConvTranspose2d(4, 4, 2, stride=2, groups=2))
                return module, torch.empty(2, 4, 8, 8), lambda y: y.sum()
        """)
        figures = graph_file.statistics(document)
        self.assertEqual(figures["forward_flops"], 2 * 9216 + 8192)
        self.assertEqual(figures["backward_flops"], 3 * 9216 + 2 * 8192)

    def test_view_shares_memory(self) -> None:
        document = self.export(TINY)
        view = self.op(document, "0/t")
        self.assertEqual(view["bytes_accessed"], 0)
        self.assertEqual(document["tensors"][view["outputs"][0]]["alias_of"], view["inputs"][0])

    def test_in_place_op(self) -> None:
        """Its own tensor in the functional graph, its input's memory when PyTorch runs it."""
        document = self.export(TINY)
        relu, addmm = self.op(document, "1/relu"), self.op(document, "0/addmm")
        self.assertEqual(relu["kind"], "aten.relu")
        self.assertEqual(relu["inputs"], addmm["outputs"])
        self.assertEqual(document["tensors"][relu["outputs"][0]].get("alias_of"),
                         addmm["outputs"][0] if self.capture == "eager" else None)

    def test_sum_of_gradients_belongs_to_the_last_of_them(self) -> None:
        document = self.export(net("y = self.inner(x).sin()\nreturn y + self.b(y)",
                                   "self.b = nn.Linear(4, 4)"))
        self.assertEqual(self.op(document, "0.b/backward/add")["attributes"]["module"], "0.b")

    def test_backward_op_names_its_forward_op(self) -> None:
        document = self.export(TINY)
        op = self.op(document, "0/backward/mm")
        self.assertEqual(op["phase"], "backward")
        self.assertEqual(op["attributes"], {"module": "0", "forward_op": "0/addmm"})

    def test_update_owns_its_state_and_waits_for_readers(self) -> None:
        document = self.export(TINY, "--optimizer", "adamw")
        update = self.op(document, "2.weight/adamw")
        self.assertEqual((update["kind"], update["phase"]), ("optimizer.adamw", "update"))
        for name in ("2.weight", "2.weight.exp_avg", "2.weight.exp_avg_sq", "2.weight/adamw"):
            self.assertEqual(self.op(document, name)["colocate"], "2.weight")
        # The second layer's input gradient reads the weight and is no ancestor of its update.
        self.assertEqual(update["control_inputs"], [self.op(document, "2/backward/mm")["id"]])
        self.assertNotIn("control_inputs", self.op(document, "0.weight/adamw"))

    def test_optimizer_state_by_optimizer(self) -> None:
        for optimizer, states in (("sgd", 0), ("momentum", 1), ("adam", 2), ("adamw", 2)):
            document = self.export(TINY, "--optimizer", optimizer)
            figures = graph_file.statistics(document)
            self.assertEqual(figures["optimizer_state_bytes"], states * 4 * 53, optimizer)

    def test_batch_and_dtype(self) -> None:
        document = self.export(TINY, "--batch", "2", "--dtype", "bf16")
        self.assertEqual(document["tensors"][0]["shape"], [2, 6])
        self.assertEqual({t["dtype"] for t in document["tensors"]}, {"bf16", "i64"})

    def test_running_statistics_stay_with_their_writer(self) -> None:
        document = self.export("""
            import torch
            def build():
                return torch.nn.BatchNorm2d(3), torch.empty(2, 3, 4, 4), lambda y: y.sum()
        """)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            tensor, writer = self.written_to(document, name)
            self.assertEqual(tensor["role"], "buffer")
            self.assertEqual(writer["colocate"], self.op(document, name)["colocate"])
        self.assertIn("native_batch_norm", self.written_to(document, "running_var")[1]["kind"])

    def test_memory_written_through_a_view_is_read_later(self) -> None:
        document = self.export(net("""
            y = self.inner(x)
            before = self.history.sum()
            self.history[1].copy_(y.detach().mean(0))
            return y * self.history.sum() * before
            """, "self.register_buffer('history', torch.zeros(2, 4))"))
        before, after = self.op(document, "0/sum"), self.op(document, "0/sum_1")
        if self.capture == "eager":  # in memory that both sums read
            writer = self.op(document, "0/copy")
            self.assertEqual(after["control_inputs"], [writer["id"]])
        else:                        # as a new value, for which the old one makes room
            tensor, writer = self.written_to(document, "0.history")
            self.assertEqual(writer["kind"], "aten.select_scatter")
            self.assertEqual((tensor["role"], after["inputs"]), ("buffer", [tensor["id"]]))
        self.assertEqual(writer["control_inputs"], [before["id"]])
        self.assertEqual(writer["colocate"], self.op(document, "0.history")["colocate"])
        self.assertIsNotNone(writer["colocate"])

    def test_state_whose_old_value_is_still_read_is_overwritten_later(self) -> None:
        document = self.export(net("""
            y, before = self.inner(x), self.mean.clone()
            self.mean.mul_(0.9).add_(y.detach().mean(0))
            return y * self.mean * before
            """, "self.register_buffer('mean', torch.zeros(4))"))
        _, writer = self.written_to(document, "0.mean")
        self.assertEqual(writer["kind"], {"eager": "aten.mul", "aot": "aten.copy"}[self.capture])
        self.assertEqual(writer["control_inputs"], [self.op(document, "0/clone")["id"]])

    def test_tensor_that_no_module_owns_is_a_constant(self) -> None:
        document = self.export("""
            import torch
            def build():
                scale = torch.ones(3)
                return torch.nn.Linear(4, 3), torch.empty(2, 4), lambda y: (y * scale).sum()
        """)
        constant = self.op(document, "constant")
        self.assertEqual(constant["kind"], "constant")
        self.assertIn(constant["outputs"][0], self.op(document, "loss/mul")["inputs"])

    def test_tied_weight_is_one_parameter_and_embedding_moves_rows(self) -> None:
        document = self.export("""
            import torch
            from torch import nn
            class Tied(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.embedding, self.head = nn.Embedding(100, 4), nn.Linear(4, 100, bias=False)
                    self.head.weight = self.embedding.weight
                def forward(self, tokens):
                    return self.head(self.embedding(tokens))
            def build():
                return Tied(), torch.empty(2, 3, dtype=torch.int64), lambda y: y.sum()
        """)
        self.assertEqual(graph_file.statistics(document)["parameters"], 400)
        # 6 indices of 8 B, and 6 rows of 16 B read and written.
        self.assertEqual(self.op(document, "embedding/embedding")["bytes_accessed"], 48 + 2 * 96)

    def test_inference_is_the_forward_pass_alone(self) -> None:
        """In evaluation mode: dropout is gone, and running statistics are read, not written."""
        document = self.export("""
            import torch
            from torch import nn

            def build():
                module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Flatten())
                return module, torch.empty(2, 3, 5, 5), lambda y: y.sum()
        """, "--inference")
        self.assertEqual({op.get("phase", "forward") for op in document["ops"]}, {"forward"})
        self.assertEqual(document["source"]["mode"], "inference")
        self.assertNotIn("optimizer", document["source"])
        self.assertFalse([op for op in document["ops"] if "dropout" in op["kind"] or op.get("colocate")])
        figures = graph_file.statistics(document)
        self.assertEqual(figures["forward_flops"], 2 * 2 * 25 * 3 * 4)
        self.assertEqual(figures["output_bytes"], 4 * 2 * 25 * 4)  # 2 images of 5x5 and 4 channels, f32
        last = document["tensors"][self.op(document, "3/view")["outputs"][0]]
        self.assertEqual(last["role"], "output")
        self.assertEqual(document["tensors"][last["alias_of"]]["role"], "output")

    def test_step_without_loss_and_update(self) -> None:
        """Backward begins with ones of 2x3; the input needs no gradient, so it has one product of 2*2*4*3 FLOP."""
        source = """
            import torch
            from torch import nn

            def build():
                return nn.Linear(4, 3), torch.empty(2, 4), torch.empty(2, 3), nn.functional.mse_loss
        """
        document = self.export(source, "--loss", "none", "--optimizer", "none")
        figures = graph_file.statistics(document)
        self.assertEqual((figures["forward_flops"], figures["backward_flops"]), (48, 48))
        self.assertEqual((document["source"]["loss"], document["source"]["optimizer"]), ("none", "none"))
        self.assertEqual({op.get("phase", "forward") for op in document["ops"]}, {"forward", "backward"})
        self.assertEqual([t["name"] for t in document["tensors"] if t.get("role") == "input"], ["input_0"])
        backward = [op for op in document["ops"] if op.get("phase") == "backward"]
        self.assertEqual((backward[0]["name"], backward[0]["bytes_accessed"]), ("model/backward/ones_like", 24))
        outputs = [t["shape"] for t in document["tensors"] if t.get("role") == "output" and "alias_of" not in t]
        self.assertEqual(outputs, [[2, 3], [3, 4], [1, 3]])  # the result, gradients of weight and bias

        with_update = self.export(source, "--loss", "none", "--optimizer", "sgd")
        self.assertEqual([op["kind"] for op in with_update["ops"] if op.get("phase") == "update"],
                         ["optimizer.sgd"] * 2)
        with_loss = self.export(source, "--optimizer", "none")
        self.assertNotIn("loss", with_loss["source"])
        self.assertEqual([op["name"] for op in with_loss["ops"] if op["name"].startswith("loss/")][:2],
                         ["loss/mse_loss", "loss/backward/ones_like"])

    def test_each_result_with_a_gradient_has_one(self) -> None:
        """The first two depend on the layer, the third is an input, the last an index."""
        document = self.export(net("y = self.inner(x)\nreturn y.tanh(), y.mean(0), x, y.argmax(1)"),
                               "--loss", "none", "--optimizer", "none")
        ones = [op for op in document["ops"] if op["kind"] == "aten.ones_like"]
        self.assertEqual([document["tensors"][op["outputs"][0]]["shape"] for op in ones], [[2, 4], [4]])
        self.assertTrue([op for op in document["ops"] if op["kind"] == "aten.tanh_backward"])
        code, _, err = self.run_model(net("self.inner(x)\nreturn x"), "--loss", "none")
        self.assertEqual(code, 2)
        self.assertIn("no result of the module depends on a parameter that requires a gradient", err)
        code, _, err = self.run_model(net("return self.inner(x)", "self.unused = nn.Linear(4, 4)"), "--loss", "none",
                                      "--optimizer", "none")
        self.assertEqual(code, 0, err)
        self.assertIn("gradient of a parameter x 2: no gradient reaches 0.unused.weight, 0.unused.bias", err)

    def test_same_bytes_twice(self) -> None:
        self.export(TINY)
        with open(self.path("g.json.gz"), "rb") as file:
            first = file.read()
        self.export(TINY)
        with open(self.path("g.json.gz"), "rb") as file:
            self.assertEqual(file.read(), first)

    def test_unknown_flops_and_unused_parameters_are_listed(self) -> None:
        code, _, err = self.run_model(net("return self.inner(x).tanh()",
                                          "self.unused = nn.Linear(4, 4)"))
        self.assertEqual(code, 0, err)
        self.assertIn("update of a parameter x 2: no gradient reaches 0.unused.weight, 0.unused.bias", err)
        self.assertIn("op kind aten.tanh x 1: no FLOP formula: only its 64 bytes have a cost", err)


@needs_torch
class EagerGraphTest(GraphTest):
    """The same with the other capture."""

    capture = "eager"


@needs_torch
class CapturesAgreeTest(Folder):
    SOURCE = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8),
                                          nn.ReLU(inplace=True), nn.Conv2d(8, 16, 3, groups=2))
                self.q, self.out = nn.Linear(16, 16), nn.Linear(16, 5, bias=False)
                self.table = nn.Embedding(5, 16)
                self.out.weight = self.table.weight
            def forward(self, x, tokens):
                x = self.stem(x).flatten(2).transpose(1, 2)
                x = x + self.table(tokens)[:, None]
                x = nn.functional.dropout((self.q(x) @ x.transpose(1, 2)).softmax(-1), 0.1) @ x
                return self.out(x.mean(1))

        def build():
            return (Net(), (torch.empty(2, 3, 8, 8), torch.empty(2, dtype=torch.int64)),
                    (torch.empty(2, dtype=torch.int64),), nn.functional.cross_entropy)
    """

    def test_same_work_and_state(self) -> None:
        found = {}
        for self.capture in ("aot", "eager"):
            document = self.export(self.SOURCE)
            self.assertEqual(graph_file.check(document), [])  # no cycle, among others
            work: dict[Any, float] = {}
            for op in document["ops"]:
                key = op.get("phase", "forward"), op["kind"]
                if op.get("flops"):
                    work[key] = work.get(key, 0) + op["flops"]
            state = [(t["name"], t["shape"], t["role"]) for t in document["tensors"]
                     if t.get("role") in graph_file.RESIDENT_ROLES and "alias_of" not in t]
            self.assertNotIn("table.weight", [name for name, _, _ in state])  # tied
            backward = [(op["name"], op["attributes"]["forward_op"].replace(
                            "_native_batch_norm_legit_functional", "native_batch_norm"))
                        for op in document["ops"]
                        if op.get("phase") == "backward" and op.get("flops", 0) > 0]
            updates = [op["name"] for op in document["ops"] if "optimizer." in op["kind"]]
            found[self.capture] = work, state, backward, updates
        self.assertEqual(found["aot"], found["eager"])
        work, state, _, updates = found["aot"]
        self.assertEqual({"aten.mm", "aten.bmm", "aten.convolution",
                          "aten.convolution_backward"}, {kind for _, kind in work})
        self.assertEqual(updates, [f"{name}/momentum" for name, _, role in state
                                   if role == "parameter"])  # one update each


if __name__ == "__main__":
    unittest.main()
