"""Tests of fake tensors that keep the values of constants, and of what of an input is taken for granted."""

from __future__ import annotations

import random
import unittest

from import_torch_support import HAVE_TORCH, Folder, needs_torch, net

if HAVE_TORCH:
    import torch
    from emplace.importers import Imported, ImportFailure, graph_file
    from emplace.importers.torch import import_torch
    from emplace.importers.torch.fake import MOST_ELEMENTS, shape_world
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException


@needs_torch
class ConstantTest(unittest.TestCase):
    def setUp(self) -> None:
        self.mode = self.enterContext(shape_world())

    def test_values_made_of_numbers_alone_can_be_read(self) -> None:
        rates = torch.linspace(0, 0.5, 3)
        self.assertEqual(rates.tolist(), [0.0, 0.25, 0.5])
        positions = torch.arange(6)
        self.assertEqual(positions[positions > 3].tolist(), [4, 5])  # the shape depends on values
        self.assertEqual(torch.tensor([[1, 2], [3, 4]]).sum().item(), 10)
        self.assertTrue(bool((positions.view(2, 3).max(1).values == torch.tensor([2, 5])).all()))

    def test_a_write_changes_what_shares_the_memory(self) -> None:
        table = torch.zeros(4)
        first = table[:2]
        table.add_(1)
        self.assertEqual(first.tolist(), [1.0, 1.0])
        first[0] = 5
        self.assertEqual(table.tolist(), [5.0, 1.0, 1.0, 1.0])

    def test_what_is_written_from_data_is_not_known(self) -> None:
        table = torch.zeros(4)
        view = table[1:]
        view.copy_(torch.empty(3))
        for tensor in (table, view, table + 1):
            with self.assertRaises(DataDependentOutputException):
                tensor.tolist()

    def test_data_chance_and_parameters_are_not_known(self) -> None:
        parameter = torch.nn.Parameter(torch.ones(3))
        self.mode.forget(parameter)
        for tensor in (torch.empty(3), torch.rand(3), torch.randperm(3), torch.zeros(3).uniform_(), parameter,
                       parameter.detach() * 2, torch.ones(MOST_ELEMENTS + 1)):
            with self.assertRaises(DataDependentOutputException):
                bool(tensor.sum() > 0)
        with self.assertRaises(DynamicOutputShapeException):
            torch.empty(3).nonzero()

    def test_initialisers_read_nothing(self) -> None:
        """One of them draws until it likes what it reads."""
        for name in ("trunc_normal_", "normal_", "uniform_", "orthogonal_", "xavier_uniform_", "kaiming_normal_",
                     "eye_"):
            weight = getattr(torch.nn.init, name)(torch.empty(4, 4))
            self.assertEqual(weight.shape, (4, 4), name)
            if name != "eye_":
                with self.assertRaises(DataDependentOutputException, msg=name):
                    weight.sum().item()

    def test_example_is_remembered_where_it_is_read(self) -> None:
        labels = torch.empty(3, dtype=torch.int64)
        self.mode.assume(labels, "labels", torch.tensor([1, -100, 2]))
        self.assertEqual((labels + 1).tolist(), [2, -99, 3])
        self.assertEqual(labels[labels >= 0].shape, (2,))
        self.assertEqual(list(self.mode.assumed_reads), ["labels"])
        places = self.mode.assumed_reads["labels"]
        self.assertTrue(all("tests/test_import_torch_values.py:" in place for place in places), places)


@needs_torch
class GroupedProductTest(unittest.TestCase):
    def test_shapes_are_those_of_the_kernel_and_work_that_of_the_rows(self) -> None:
        """3 groups; by hand: 2 FLOP for each of 8 rows (columns, terms) times the other two sizes, 16 and 4; and three
        whole products of 8x16 by 16x4."""
        from emplace.importers.torch import costs

        func, offsets = torch.ops.aten._grouped_mm.default, torch.tensor([2, 4, 8], dtype=torch.int32)
        for a, b, offs, flops in (((8, 16), (3, 16, 4), offsets, 2 * 8 * 16 * 4),
                                  ((16, 8), (8, 4), offsets, 2 * 8 * 16 * 4),
                                  ((3, 4, 16), (16, 8), offsets, 2 * 8 * 16 * 4),
                                  ((3, 8, 16), (3, 16, 4), None, 3 * 2 * 8 * 16 * 4)):
            real = func(torch.ones(a), torch.ones(b), offs)
            with shape_world():
                left, right = torch.empty(a), torch.empty(b)
                made = func(left, right, offs)
                self.assertEqual((made.shape, made.dtype), (real.shape, real.dtype), (a, b))
                self.assertEqual(costs.flops(func, (left, right, offs), {}, made), flops, (a, b))


@needs_torch
class ChanceTest(unittest.TestCase):
    def test_chance_falls_the_same_each_time_and_is_given_back(self) -> None:
        drawn, before = [], random.getstate()
        for _ in range(2):
            with shape_world():
                drawn.append(random.random())
        self.assertEqual(drawn[0], drawn[1])
        self.assertEqual(random.getstate(), before)


class ModelTest(Folder):
    @needs_torch
    def test_both_captures_read_constants_of_the_model(self) -> None:
        source = net("n = int(self.steps.sum())\nfor rate in torch.linspace(0, 1, n).tolist():\n"
                     "    x = self.inner(x) * rate\nreturn x", "self.register_buffer('steps', torch.tensor([1, 2]))")
        for self.capture in ("aot", "eager"):
            document = self.export(source)
            self.assertEqual(sum(op["kind"] == "aten.addmm" for op in document["ops"]), 3)  # 1 + 2

    @needs_torch
    def test_choice_by_an_input_is_told(self) -> None:
        source = net("return self.inner(x) * (2 if x.sum() > 1 else 3)").replace("torch.empty(2", "torch.ones(2")
        for self.capture in ("aot", "eager"):
            code, _, err = self.run_model(source)
            self.assertEqual(code, 0, err)
            self.assertRegex(err, r"choice by the value of input 'input_0' x 1: the value of the example was used at "
                                  r"\w+/model.py:8")

    @needs_torch
    def test_model_that_asks_is_told_that_it_is_recorded(self) -> None:
        source = net("y = self.inner(x)\nif not torch.compiler.is_compiling() and y.sum() > 0:\n    y = -y\nreturn y")
        for self.capture in ("aot", "eager"):
            self.export(source)
        self.assertFalse(torch.compiler.is_compiling())


@needs_torch
class DoorTest(unittest.TestCase):
    """import_torch: a module that is at hand."""

    def module(self) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))

    def check(self, imported: Imported) -> None:
        """By hand, batch 8: 2 * 8 * (6 * 5 + 5 * 3) = 720 FLOP forward, 53 parameters."""
        self.assertEqual(graph_file.check(imported.document), [])
        figures = graph_file.statistics(imported.document)
        self.assertEqual((figures["parameters"], figures["forward_flops"]), (53, 720))

    def test_module_is_left_as_it_was(self) -> None:
        module = self.module().eval()
        before = {name: parameter.clone() for name, parameter in module.named_parameters()}
        imported = import_torch(module, torch.ones(8, 6), [torch.zeros(8, dtype=torch.int64)],
                                torch.nn.functional.cross_entropy, optimizer="sgd", name="mine")
        self.check(imported)
        self.assertEqual(imported.document["name"], "mine")
        self.assertEqual(imported.document["source"]["optimizer"], "sgd")
        self.assertFalse(module.training)
        for name, parameter in module.named_parameters():
            self.assertTrue(torch.equal(parameter, before[name]), name)
            self.assertIsNone(parameter.grad)

    def test_module_without_memory_and_inference(self) -> None:
        with torch.device("meta"):
            module = self.module()
        imported = import_torch(module, {"input": torch.empty(8, 6, device="meta")}, inference=True)
        self.check(imported)
        self.assertEqual(imported.document["tensors"][0]["name"], "input")
        self.assertEqual(imported.document["source"]["mode"], "inference")
        self.assertEqual(graph_file.statistics(imported.document)["backward_flops"], 0)

    def test_without_loss_and_update(self) -> None:
        """Backward: 720 FLOP for the weights, 2 * 8 * 5 * 3 = 240 for the input of the second layer."""
        imported = import_torch(self.module(), torch.ones(8, 6), optimizer="none", loss_fn="none")
        self.check(imported)
        self.assertEqual(graph_file.statistics(imported.document)["backward_flops"], 720 + 240)
        self.assertEqual({key: imported.document["source"][key] for key in ("loss", "optimizer")},
                         {"loss": "none", "optimizer": "none"})

    def test_tied_parameters_stay_tied(self) -> None:
        class Tied(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.table, self.head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 9, bias=False)
                self.head.weight = self.table.weight

            def forward(self, words: torch.Tensor) -> torch.Tensor:
                return self.head(self.table(words))

        imported = import_torch(Tied(), torch.zeros(2, 3, dtype=torch.int64), (), lambda y: y.mean())
        self.assertEqual(graph_file.statistics(imported.document)["parameters"], 36)

    def test_mistakes(self) -> None:
        for arguments, options, error, message in (
                ((torch.ones(8, 7), (), lambda y: y.sum()), {}, ImportFailure, "RuntimeError in module '0'"),
                ((torch.ones(8, 6), (), lambda y: y), {}, ImportFailure, "expected a scalar"),
                ((torch.ones(8, 6),), {}, ImportFailure, "has no `loss`; give a loss function"),
                ((["x"],), {}, ImportFailure, "inputs and targets are tensors, got a str"),
                ((torch.ones(8, 6),), {"capture": "x"}, ValueError, "choices: aot, eager"),
                ((torch.ones(8, 6),), {"optimizer": "x"}, ValueError, "choices: sgd, momentum, adam, adamw, none"),
                ((torch.ones(8, 6), (), "x"), {}, ValueError, "choices: a function, None, 'none'")):
            with self.assertRaises(error) as caught:
                import_torch(self.module(), *arguments, **options)
            self.assertIn(message, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
