"""Tests of what calls of a trace are which ops: names, selection of calls, matching; no compiled part needed."""

import random
import unittest

import support  # noqa: F401
from traces_support import cpu_trace, event, gpu_trace, kernel, shapes

from emplace.importers.kineto import trace
from emplace.trace_costs import names, steps
from emplace.trace_costs.match import Item, Share, match
from emplace.trace_costs.steps import Call, Work


def item(number: int, kind: str, *sizes: int, view: bool = False, num_bytes: int = 8) -> Item:
    return Item(number, kind, Work(names.family_of_kind(kind), sizes, "f32"), view, num_bytes)


def call(name: str, *sizes: int, optimizer: str = "", dtype: str = "f32") -> Call:
    return Call(name, Work(names.family_of_call(name), sizes, dtype), 100, optimizer)


def pairs(shares: list[Share]) -> list[tuple[int, int, float]]:
    return sorted((share.op, share.call, round(share.part, 6)) for share in shares)


class Names(unittest.TestCase):
    def test_families(self) -> None:
        for kind, name in (("aten._native_batch_norm_legit_functional", "aten::cudnn_batch_norm"),
                           ("aten._scaled_dot_product_flash_attention_for_cpu", "aten::scaled_dot_product_attention"),
                           ("aten._scaled_dot_product_flash_attention_for_cpu_backward",
                            "aten::_scaled_dot_product_efficient_attention_backward"),
                           ("aten.relu", "aten::relu_"), ("aten.add.Tensor", "aten::add"), ("aten.t", "aten::t"),
                           ("aten.native_dropout", "aten::dropout"), ("aten.clone", "aten::_to_copy"),
                           ("aten.__and__", "aten::__and__")):
            self.assertEqual(names.family_of_kind(kind), names.family_of_call(name), (kind, name))
        for kind, name in (("aten.mm", "aten::bmm"), ("aten.convolution", "aten::convolution_backward"),
                           ("optimizer.adam", "aten::adam"), ("Conv2D", "aten::conv2d")):
            self.assertNotEqual(names.family_of_kind(kind), names.family_of_call(name), (kind, name))

    def test_optimizers(self) -> None:
        self.assertEqual(names.optimizer_kinds("Optimizer.step#AdamW.step"), ("optimizer.adamw",))
        self.assertEqual(names.optimizer_kinds("Optimizer.step#Lamb.step"), ())


class Steps(unittest.TestCase):
    def calls(self, document: dict, *families: str) -> list[tuple[str, int]]:
        step, = steps.read(trace.read_steps(document, "t"), set(families))
        return [(each.name, each.time) for each in step.calls]

    def test_outermost_operators_that_the_graph_knows(self) -> None:
        updates = [("aten::mul_", 4000), ("aten::add_", 6000)]
        backward = [("aten::ones_like", 5000), ("aten::t", 3000), ("aten::mm", 20_000), *updates]
        # mm is called by matmul, whose own 10 us count with it.
        self.assertEqual(self.calls(cpu_trace(), "mm"), [("aten::mm", 30_000), *backward])
        self.assertEqual(self.calls(cpu_trace(), "mm", "matmul"), [("aten::matmul", 30_000), *backward])
        self.assertEqual(self.calls(cpu_trace()), [("aten::matmul", 30_000), *backward])  # nothing is known
        device = self.calls(gpu_trace(), "mm")  # by kernels: nothing is matmul's own
        self.assertEqual(device, [("aten::mm", 3000), ("aten::ones_like", 1250), ("aten::t", 0), ("aten::mm", 3000),
                                  ("aten::mul_", 1000), ("aten::add_", 2000)])

    def test_an_operator_with_work_of_its_own(self) -> None:
        document = {"traceEvents": [event("aten::_fused_thing", 0, 30, 1, **shapes([4, 6])),
                                    event("aten::clone", 1, 14, 2, **shapes([4, 6]))]}
        self.assertEqual(self.calls(document, "copy"), [("aten::_fused_thing", 30_000)])
        document["traceEvents"][1]["dur"] = 15  # half of the time is not its own: it is mostly what it calls
        self.assertEqual(self.calls(document, "copy"), [("aten::clone", 30_000)])
        document["traceEvents"].append(kernel("fused", 40, 2, 7, **{"External id": 501}))
        self.assertEqual(self.calls(document, "copy"), [("aten::_fused_thing", 2000)])
        document["traceEvents"][2]["args"]["External id"] = 502
        self.assertEqual(self.calls(document, "copy"), [("aten::clone", 2000)])

    def test_a_reshape_that_copies_is_its_copy(self) -> None:
        document = {"traceEvents": [event("aten::reshape", 0, 10, 1, **shapes([4, 6])),
                                    event("aten::clone", 1, 7, 2, **shapes([4, 6])),
                                    event("aten::reshape", 20, 3, 3, **shapes([4, 6])),
                                    event("aten::view", 21, 1, 4, **shapes([4, 6]))]}
        self.assertEqual(self.calls(document, "copy"), [("aten::clone", 10_000), ("aten::reshape", 3000)])

    def test_what_calls_are_compared_by(self) -> None:
        document = {"traceEvents": [event("aten::mul", 0, 1, 1, **shapes([4, 6], [])), event("aten::mm", 2, 1, 2)]}
        document["traceEvents"][0]["args"]["Input type"] = ["c10::BFloat16", "double"]
        step, = steps.read(trace.read_steps(document, "t"), set())
        self.assertEqual([each.work for each in step.calls], [Work("mul", (24,), "bf16"), Work("mm", None, "")])


class Match(unittest.TestCase):
    def test_by_kind_sizes_and_order(self) -> None:
        items = [item(0, "aten.mm", 6, 8), item(2, "aten.relu", 12), item(3, "aten.mm", 8, 20)]
        calls = [call("aten::mm", 6, 8), call("aten::empty"), call("aten::relu_", 12), call("aten::mm", 8, 20)]
        self.assertEqual(pairs(match(items, calls)), [(0, 0, 1), (2, 2, 1), (3, 3, 1)])
        # Another batch, another type: other work.
        self.assertEqual(match(items, [call("aten::mm", 60, 80), call("aten::relu_", 12, dtype="bf16")]), [])
        # Shapes that the trace does not have.
        unknown = [Call(each.name, Work(each.work.family, None, ""), 1, "") for each in calls]
        self.assertEqual(pairs(match(items, unknown)), [(0, 0, 1), (2, 2, 1), (3, 3, 1)])

    def test_random_steps(self) -> None:
        """What was made of the ops is found again, between calls of other kinds, though some ops did not run."""
        draw = random.Random(3)
        kinds = ["aten.mm", "aten.relu", "aten.view", "aten._softmax", "aten.mul"]
        for _ in range(100):
            items = []
            for number in range(draw.randrange(1, 60)):
                kind = draw.choice(kinds)
                sizes = sorted(draw.choices((6, 8, 12, 20), k=2 if kind in ("aten.mm", "aten.mul") else 1))
                items.append(item(number, kind, *sizes, view=kind == "aten.view"))
            calls, made = [], []
            for each in items:
                for _ in range(draw.randrange(3)):
                    calls.append(call(draw.choice(("aten::empty", "aten::detach", "aten::sort")), 1000))
                if draw.random() < 0.8:
                    made.append((each, len(calls)))
                    calls.append(Call(each.kind.replace("aten.", "aten::"), each.work, 1, ""))
            shares = match(items, calls)
            by_op = {share.op: share.call for share in shares}
            self.assertEqual(len(by_op), len(shares))       # no call and no op twice
            self.assertEqual(len(set(by_op.values())), len(shares))
            self.assertEqual(set(by_op.values()), {place for _, place in made})  # all calls that are ops, no other
            for op, place in by_op.items():
                self.assertEqual(items[op].work, calls[place].work)

    def test_equal_sizes_count_more(self) -> None:
        items = [item(0, "aten.add", 6, 12)]
        self.assertEqual(pairs(match(items, [call("aten::add", 12), call("aten::add", 6, 12)])), [(0, 1, 1)])

    def test_another_order(self) -> None:
        items = [item(0, "aten.mm", 6, 8), item(1, "aten.sum", 30), item(2, "aten.exp", 7)]
        calls = [call("aten::sum", 30), call("aten::exp", 7), call("aten::mm", 6, 8)]
        self.assertEqual(pairs(match(items, calls)), [(0, 2, 1), (1, 0, 1), (2, 1, 1)])

    def test_several_calls_are_one_op(self) -> None:
        items = [item(0, "aten.mm", 6, 8), item(1, "aten.native_dropout", 12), item(2, "aten.relu", 12)]
        calls = [call("aten::mm", 6, 8), call("aten::empty_like", 12), call("aten::bernoulli_", 12),
                 call("aten::mul", 12, 12), call("aten::relu", 12)]
        self.assertEqual(pairs(match(items, calls)), [(0, 0, 1), (1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 4, 1)])
        other = [calls[0], call("aten::sort", 99), calls[4]]  # of other sizes
        self.assertEqual(pairs(match(items, other)), [(0, 0, 1), (2, 2, 1)])
        # Nothing but memory that is prepared is no work.
        self.assertEqual(pairs(match(items, [calls[0], calls[1], calls[4]])), [(0, 0, 1), (2, 2, 1)])

    def test_one_call_is_several_ops(self) -> None:
        items = [item(0, "aten.mm", 6, 8), item(1, "aten.pow", 12, num_bytes=30), item(2, "aten.view", 12, view=True),
                 item(3, "aten.rsqrt", 4, num_bytes=10), item(4, "aten.relu", 12)]
        calls = [call("aten::mm", 6, 8), call("aten::_fused_rms_norm", 12), call("aten::relu", 12)]
        self.assertEqual(pairs(match(items, calls)), [(0, 0, 1), (1, 1, 0.75), (3, 1, 0.25), (4, 2, 1)])

    def test_updates(self) -> None:
        adam = "Optimizer.step#Adam.step"
        items = [item(0, "aten.mm", 6, 8), item(1, "optimizer.adam", 24, 24, num_bytes=300),
                 item(2, "optimizer.adam", 24, 24, num_bytes=300), item(3, "optimizer.adam", 6, 6, num_bytes=100)]
        calls = [call("aten::mm", 6, 8), call("aten::lerp_", 24, 24, optimizer=adam),
                 call("aten::sqrt", 6, optimizer=adam), call("aten::_foreach_add_", optimizer=adam),
                 call("aten::sqrt", 7, optimizer=adam)]  # no parameter has 7
        # Parameters of 24 elements have half of the first call each; the last one is shared 300 : 300 : 100.
        self.assertEqual(pairs(match(items, calls)), [
            (0, 0, 1), (1, 1, 0.5), (1, 3, round(3 / 7, 6)), (2, 1, 0.5), (2, 3, round(3 / 7, 6)), (3, 2, 1),
            (3, 3, round(1 / 7, 6))])
        other = [Call(each.name, each.work, each.time, "Optimizer.step#SGD.step" if each.optimizer else "")
                 for each in calls]
        self.assertEqual(pairs(match(items, other)), [(0, 0, 1)])


if __name__ == "__main__":
    unittest.main()
