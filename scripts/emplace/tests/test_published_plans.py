"""Readers of executed plans, and the graphs of their steps: small files by hand, with the arithmetic beside them."""

from __future__ import annotations

import json
import pathlib
import unittest
from typing import Any

import numpy as np
from published_support import plan_document, write_plan, write_plan_ops, write_step
from support import Folder, graph_file

from emplace.published import neusight, neusight_plans, sailor_plans, sailor_tables
from emplace.published.fx_step import FxRow, step_graph
from emplace.published.least_squares import least_squares
from emplace.published.sailor_plan_files import Replica
from emplace.published.sailor_step import StepGraph
from emplace.published.tables import LeftOut, PublishedFailure


class Sailor(Folder):
    def plans(self) -> list[Any]:
        return sailor_plans.read(pathlib.Path(self.folder))

    def test_a_plan(self) -> None:
        write_plan(self.folder, "N2/plan_config_a", plan_document([[0, 1], [2, 3]], replicas=2, mbs=3, gbs=24))
        plan, = self.plans()
        self.assertEqual((plan.case, plan.gpu, plan.model), ("m1/OPT-350/N2/plan_config_a", "m1", "OPT-350"))
        # 24 samples by 2 replicas with 3 each: 4 micro-batches.
        self.assertEqual((plan.stages, plan.width, plan.micro_batch, plan.micro_batches), ([[0, 1], [2, 3]], 2, 3, 4))
        self.assertEqual((plan.measured, plan.memory, plan.replicas[1][0]), (5e8, 7e9, Replica("X1", 1)))
        # Two of the four stages of replicas on each of the two nodes.
        self.assertEqual([plan.node(r, s) for s in range(2) for r in range(2)], [0, 0, 1, 1])

    def test_the_graph_of_a_micro_batch(self) -> None:
        write_plan_ops(self.folder, 1)
        write_plan(self.folder, "N2/plan_config_a", plan_document([[0, 1], [2, 3]], mbs=1, gbs=2))
        plan, = self.plans()
        rows = sailor_tables.Tables(pathlib.Path(self.folder)).ops(plan, plan.replicas[0][0])
        step = StepGraph([rows, rows], plan, 0.5)
        document = step.builder.document()
        self.assertEqual(graph_file.check(document), [])
        ops = {op["name"]: place for place, op in enumerate(document["ops"])}
        self.assertEqual([step.stages[ops[name]] for name in (
            "1/enc-gelu", "forward/send 0 1", "forward/receive 0 1", "2/enc-GEMM", "backward/send 1 0",
            "backward/receive 1 0", "1/enc-GEMM/parameter", "2/enc-GEMM/update")], [0, 0, 1, 1, 1, 0, 0, 1])
        self.assertEqual(step.boundaries[0], 2**20)
        self.assertEqual(step.gradients, [4 * 2**20] * 2)
        times = step.times(rows, 5_000)  # [ns], less 5 us
        self.assertEqual([times[ops[name]] for name in ("1/enc-GEMM", "1/enc-GEMM/backward", "forward/send 0 1")],
                         [75_000, 155_000, 0])
        kept = {tensor["name"]: tensor["bytes"] for tensor in document["tensors"]}
        self.assertEqual(kept["1/enc-gelu/kept"], 2**20)  # half of 2 MiB

    def test_plans_that_are_left_out(self) -> None:
        several = plan_document([[0, 1, 2]], gbs=4)
        several["pipeline_list"] *= 2
        mixed = plan_document([[0, 1, 2]], gbs=4)
        mixed["pipeline_list"][0]["tmp_per_stage"][0][0][0] = [["X1", 1, "z"], ["X2", 1, "z"]]
        zones = plan_document([[0, 1], [2]], gbs=4)
        zones["pipeline_list"][0]["tmp_per_stage"][0][0][0][0][2] = "elsewhere"
        waiting = plan_document([[0, 1, 2]])
        del waiting["real"]
        for document, why in ((several, "several pipelines"), (mixed, "a replica of a stage has several kinds of GPU"),
                              (zones, "no table of links between zones"),
                              (waiting, "it was not executed (no key real)"),
                              (plan_document([[0, 1, 2]], replicas=2, mbs=2, gbs=6),
                               "gbs is no multiple of mbs x dp (6, 4)")):
            write_plan(self.folder, "N2/plan_config_a", document)
            self.assertEqual(self.plans(), [LeftOut("m1/OPT-350/N2/plan_config_a", why)])

    def test_plans_without_tables(self) -> None:
        folder = pathlib.Path(self.folder)
        write_plan_ops(self.folder, 1)
        for document, why in (
                (plan_document([[0, 1, 2]], mbs=2, gbs=2),
                 "no op table of X1 for OPT-350, micro-batch 2, degree 1"),
                (plan_document([[0, 1, 2]], replicas=64, gbs=64), "more than 64 devices, of which a network is one"),
                (plan_document([[0, 1, 2]], gbs=400_000), "more than 400,000 ops"),
                (plan_document([[0, 1], [2]], gbs=2, nodes=1), "no table of links within a node"),
                (plan_document([[0, 1], [2]], gbs=2), "no table of links between nodes, and fewer than 4 plans to fit "
                                                      "them")):
            write_plan(self.folder, "N2/plan_config_a", document)
            self.assertEqual(sailor_plans.compare(self.plans(), folder),
                             ([], [LeftOut("m1/OPT-350/N2/plan_config_a", why)]))

    def test_damaged_plans_are_refused(self) -> None:
        good = plan_document([[0, 1], [2]])

        def with_pipeline(**keys: object) -> dict[str, Any]:
            return {**good, "pipeline_list": [{**good["pipeline_list"][0], **keys}]}

        for document, expected in (
                ({**good, "mbs": 1.5}, "mbs is 1.5, expected a whole number above 0"),
                ({**good, "gbs": "8"}, 'gbs is "8", expected a number from 0'),
                ({**good, "N": 0}, "N is 0, expected a whole number above 0"),
                ({**good, "real": 0}, "real is 0, expected a number above 0"),
                ({**good, "max_mem": None}, "max_mem is null, expected a number from 0"),
                ({**good, "pipeline_list": {}}, "pipeline_list is {}, expected a list of pipelines"),
                (with_pipeline(layers_per_stage=[[0, 1], [3]]), "layers_per_stage is [[0, 1], [3]], expected the "
                                                                "layers 0, 1, 2, ... divided among stages"),
                (with_pipeline(layers_per_stage=[[0], [1]]), "expected 3 to 1000 layers"),
                (with_pipeline(layers_per_stage=[[0, "1"], [2]]), "expected the layers 0, 1, 2"),
                (with_pipeline(tmp_per_stage=[]), "tmp_per_stage is [], expected a list of 2 stages"),
                (with_pipeline(tmp_per_stage=[[[[["X1", 1]], 1]], [[[["X1", 1, "z"]], 1]]]),
                 "tmp_per_stage is [[[\"X1\", 1]], 1], expected a replica such as"),
                (with_pipeline(dp=[2, 2]), "dp is [2, 2], expected the numbers of replicas [1, 1]")):
            path = write_plan(self.folder, "N2/plan_config_a", document)
            with self.assertRaises(PublishedFailure) as refused:
                self.plans()
            self.assertIn(f"{path}: ", str(refused.exception))
            self.assertIn(expected, str(refused.exception))
        path.write_text("[]", encoding="utf-8")
        with self.assertRaisesRegex(PublishedFailure, "holds a JSON list"):
            self.plans()

    def test_damaged_op_tables_are_refused(self) -> None:
        write_plan(self.folder, "N1/plan_config_a", plan_document([[0, 1, 2]], nodes=1))
        path = write_plan_ops(self.folder, 1)
        text = path.read_text(encoding="utf-8")
        for old, new, expected in (("final-layernorm", "enc-last", "op_name: expected rows before, of and after"),
                                   ("80,160", "0,160", "forward-compute is '0', expected a time above 0"),
                                   ("activations", "kept", "has no column activations")):
            path.write_text(text.replace(old, new), encoding="utf-8")
            with self.assertRaisesRegex(PublishedFailure, expected):
                sailor_plans.compare(self.plans(), pathlib.Path(self.folder))

    def test_times_between_and_beyond_sizes(self) -> None:
        points = [(1.0, 10.0), (100.0, 1000.0), (10_000.0, 1000.0)]
        for size, time in ((10, 100), (0.1, 1), (1000, 1000), (1e6, 1000), (0, 0)):
            self.assertAlmostEqual(sailor_tables.interpolated(points, size), time)

    def test_a_fit_within_bounds(self) -> None:
        def errors(x: float, y: float) -> Any:
            return np.array([x + 2 * y - 8, x * y - 6])
        self.assertAlmostEqual(least_squares(errors, (1.5, 2.5), ((0, 3), (0, 10)))[1], 3, places=3)
        # With y at most 1 the best x is that of (x - 6)^2 + (x - 6)^2.
        x, y = least_squares(errors, (1, 0.5), ((0, 10), (0, 1)))
        self.assertAlmostEqual(x, 6, places=3)
        self.assertEqual(y, 1)


class Neusight(Folder):
    def test_plans(self) -> None:
        for name in ("a-train-8-8-dp4", "a-train-8-8-pp2_4", "a-train-8-6-dp4", "a-train-8-8-dp2tp2", "a-train-8-8",
                     "a-train-8-8-fusion", "a-train-8-128-dp64", "a-inf-8-8"):
            write_step(self.folder, name, 1.5, num_layer=0)
        found = neusight_plans.read(pathlib.Path(self.folder))
        plans = {plan.case.partition("-8-")[2]: plan for plan in found if isinstance(plan, neusight_plans.Plan)}
        self.assertEqual(sorted(plans), ["8-dp4", "8-pp2_4"])
        dp, pp = plans["8-dp4"], plans["8-pp2_4"]
        self.assertEqual((dp.model, dp.seq, dp.kind, dp.count, dp.part, dp.measured), ("a", 8, "dp", 4, 2, 1.5e6))
        self.assertEqual((pp.kind, pp.count, pp.micro_batches, pp.part), ("pp", 2, 4, 2))
        self.assertEqual([left.why for left in found if isinstance(left, LeftOut)],
                         ["more than 64 devices, of which a network is one",
                          "its batch cannot be divided among replicas or micro-batches",
                          "a plan of another form than dpN, tpN, ppN_M"])

    def rows(self) -> list[FxRow]:
        write_step(self.folder, "tiny-train-8-2", 1.6)
        step = neusight.read_step(neusight.step_files(pathlib.Path(self.folder))[0])
        assert isinstance(step, neusight.Step)
        return step.rows

    def test_another_batch(self) -> None:
        rows = neusight_plans.with_batch(self.rows(), 2, 6)
        self.assertEqual({row.name: row.shape for row in rows if row.name in ("x", "fc", "head", "size")},
                         {"x": (6, 8), "fc": (6, 8, 4), "head": (6, 8, 16), "size": (1,)})

    def test_a_rank_of_tensor_parallelism(self) -> None:
        """fc is divided by columns; proj, which reads its part, by rows and is reduced; head by columns."""
        rows = self.rows()
        proj = FxRow("proj", "call_module", "linear", ("view",), (2, 8, 4), ((2, 8, 4),), "f32", 0, 0, True)
        rows[5:6] = [proj, FxRow("add", "call_function", "add", ("proj", "wte"), (2, 8, 4), ((2, 8, 4),) * 2, "f32", 0,
                                 0, True)]
        by_name = {row.name: row for row in neusight_plans.divided(rows, 2, 2)}
        self.assertEqual({name: by_name[name].shape for name in ("wte", "fc", "view", "proj", "add", "head")},
                         {"wte": (2, 8, 4), "fc": (2, 8, 2), "view": (2, 8, 2), "proj": (2, 8, 4), "add": (2, 8, 4),
                          "head": (2, 8, 8)})
        self.assertEqual((by_name["proj"].input_shapes, by_name["add"].inputs), (((2, 8, 2),), ("proj_reduced", "wte")))
        # The rank's work is half of that of one GPU.
        self.assertEqual(by_name["proj"].flops * 2, proj.flops)
        self.assertEqual(by_name["proj_reduced"].function, "all_reduce")
        self.assertNotIn("head_reduced", by_name)

    def test_layers_of_stages(self) -> None:
        document = step_graph("tiny", self.rows(), 3, True, "x1")
        stages = dict(zip((op["name"] for op in document["ops"]), neusight_plans.stages_of(document, 3, 3)))
        self.assertEqual([stages[name] for name in ("wte", "0/fc", "1/fc/weight", "1/add", "2/fc", "head")],
                         [0, 0, 1, 1, 2, 2])
        self.assertEqual([stages[f"{name}/backward"] for name in ("wte", "0/fc", "1/add", "head")], [0, 0, 1, 2])


if __name__ == "__main__":
    unittest.main()
