"""`emplace costs`: traces by hand, with the arithmetic beside them, and real ones of the CPU.

The GPU traces are made by hand in the documented forms; test_h200_steps.py has a real one.
"""

from __future__ import annotations

import copy
import gzip
import importlib.util
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import emplace  # noqa: E402
from emplace.importers import ImportFailure  # noqa: E402
from emplace.importers.chakra import import_chakra  # noqa: E402
from emplace.trace_costs import command as trace_command  # noqa: E402
from emplace.trace_costs.build import CostsFailure, TraceCosts, costs_from_trace  # noqa: E402
from traces_support import cpu_trace, event, gpu_trace, nsight_database, training_step  # noqa: E402
from wheel_support import TestCase, command  # noqa: E402

needs_torch = unittest.skipUnless(importlib.util.find_spec("torch"), "SKIPPED, NOT TESTED: torch is missing")
H100 = "nvidia_h100_80gb_hbm3"


def timings(costs: TraceCosts, kind: str) -> dict[str, float]:
    """Median by signature, without shapes and attributes."""
    return {op["signature"].partition("(")[0] + str(op["signature"].count(":")): op["in_situ"]["median_ns"]
            for op in json.loads(costs.text)["ops"] if op["device_kind"] == kind}


class ByHand(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.graph = self.path("step.json")
        imported = import_chakra(training_step())
        imported.write(self.graph)

    def trace(self, document: dict[str, Any], name: str = "t.json") -> str:
        pathlib.Path(self.path(name)).write_text(json.dumps(document), encoding="utf-8")
        return self.path(name)

    def test_a_gpu(self) -> None:
        told = {"host_name": "box", "torch_version": "2.14.1", "cuda_runtime_version": 13000}
        costs = costs_from_trace(self.trace({**gpu_trace(), **told}), self.graph)
        report = costs.devices[0]
        # Kernels: mm 2.5 + 0.5, ones_like 1.25, the second mm (of a transposed input) 3, mul 1, add 2 us; t has none.
        self.assertEqual(timings(costs, H100), {"aten.mm0": 3000, "aten.ones_like0": 1250, "aten.mm1": 3000,
                                                "aten.mul0": 1000, "aten.add0": 2000})
        self.assertEqual((report.device_kind, report.device_class, report.steps), (H100, "gpu", 1))
        self.assertEqual((report.traced, report.matched, report.share), (10_250, 10_250, 1))
        self.assertEqual((report.ops, report.matched_ops, report.without_time), (6, 6, 0))
        # From the first kernel at 50 us to the end of the last, whose operator is not there, at 149 us.
        self.assertEqual(report.span, 99_000)
        assert report.simulated is not None
        self.assertEqual((report.simulated.total, report.simulated.step, report.residual), (10_250, 10_250, 88_750))
        # 5 ops are timed; 2 parameters (w, state) and the view t are free.
        self.assertEqual(report.simulated.ops["measured"], 5)
        self.assertEqual(report.simulated.shares["measured"], 1)
        self.assertEqual(set(report.simulated.ops), {"measured", "free"})
        self.assertIn("1 kernels have no launch in the trace", costs.warnings[0])
        document = json.loads(costs.text)
        self.assertEqual(document["machine"], f"box: {H100}")
        self.assertEqual(document["properties"], {
            "source": "t.json", "graph": "step", "torch": "2.14.1", "cuda": "13.0", "trace_schema": "1",
            "gpu": "NVIDIA H100 80GB HBM3"})
        kind = document["device_kinds"][0]
        # The first mm: 2 x 4 x 6 x 3 = 144 FLOP in 3 us.
        self.assertAlmostEqual(kind["peak"]["f32"], 144 / 3e-6, delta=1)
        self.assertIn("the most that any op reached", kind["source"])

    def test_the_origin_of_the_file(self) -> None:
        trace = self.trace({**gpu_trace(), "cuda_driver_version": 12090, "baseTimeNanoseconds": 1751410836 * 10**9})
        arguments = [trace, "--graph", self.graph, "--quiet", "-o", self.path("my costs.json")]
        self.assertEqual(trace_command.main(arguments), 0)
        properties = json.loads(pathlib.Path(arguments[-1]).read_text(encoding="utf-8"))["properties"]
        self.assertEqual(properties["command"], f"emplace costs {' '.join(arguments[:-1])} '{arguments[-1]}'")
        self.assertEqual((properties["date"], properties["driver"]), ("2025-07-01 23:00 UTC", "CUDA 12.9"))

    def test_several_steps_are_samples(self) -> None:
        document = gpu_trace()
        numbers = ("correlation", "External id", "Record function id")
        for number, factor in ((1, 2), (2, 4)):
            later = copy.deepcopy(gpu_trace()["traceEvents"][1:])
            for each in later:
                each["ts"] += 1000 * number
                each["dur"] *= factor if each["cat"] == "kernel" else 1
                each["args"] = {key: value + 1000 * number if key in numbers else value
                                for key, value in each["args"].items()}
            document["traceEvents"] += later
        document["traceEvents"] += [event(f"ProfilerStep#{number}", 1000 * number, 500, 90, category="user_annotation")
                                    for number in range(3)]
        costs = costs_from_trace(self.trace(document), self.graph)
        ops = {op["kind"]: op["in_situ"] for op in json.loads(costs.text)["ops"]}
        self.assertEqual(ops["aten.mul"], {"median_ns": 2000, "low_ns": 1000, "high_ns": 4000, "mean_ns": 1500,
                                           "samples": 3})
        self.assertEqual((costs.devices[0].steps, costs.devices[0].traced), (3, 10_250 * 7 / 3))
        # The same steps in three files.
        files = [self.trace(document, f"{number}.json") for number in range(2)]
        self.assertEqual(costs_from_trace(files, self.graph).devices[0].steps, 6)

    def test_gpu_and_cpu_in_one_file(self) -> None:
        costs = costs_from_trace([self.trace(gpu_trace()), self.trace(cpu_trace(), "c.json")], self.graph,
                                 ["h100", "epyc_9654"])
        self.assertEqual([report.device_kind for report in costs.devices], ["h100", "epyc_9654"])
        # matmul's own 10 us count with the mm that it calls; views have a time on a CPU.
        self.assertEqual(timings(costs, "epyc_9654"), {"aten.mm0": 30_000, "aten.ones_like0": 5000, "aten.t0": 3000,
                                                       "aten.mm1": 20_000, "aten.mul0": 4000, "aten.add0": 6000})
        self.assertEqual(timings(costs, "h100")["aten.mul0"], 1000)
        self.assertEqual(json.loads(costs.text)["device_kinds"][0]["source"], "traces")  # the menu has its figures

    def test_nsight(self) -> None:
        nsight_database(self.path("t.sqlite"))
        ours = costs_from_trace(self.path("t.sqlite"), self.graph)
        self.assertEqual(json.loads(ours.text)["ops"], json.loads(costs_from_trace(self.trace(gpu_trace()),
                                                                                  self.graph).text)["ops"])

    def test_links(self) -> None:
        document = gpu_trace()
        # 1 us and 1 ns a byte.
        for number, size in enumerate((1000, 1000, 2000, 4000, 8000)):
            document["traceEvents"].append({
                "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
                "ts": 300 + 20 * number, "dur": 1 + size / 1000,
                "args": {"device": 0, "bytes": size, "correlation": 700 + number}})
        link, = json.loads(costs_from_trace(self.trace(document), self.graph).text)["links"]
        self.assertEqual((link["from"], link["to"], link["memory"]), ("cpu:0", "gpu:0", "pinned"))
        self.assertEqual([(point["bytes"], point["samples"]) for point in link["points"]],
                         [(1000, 2), (2000, 1), (4000, 1), (8000, 1)])
        self.assertAlmostEqual(link["ranges"][0]["latency_ns"], 1000, places=3)
        self.assertAlmostEqual(link["ranges"][0]["bytes_per_second"] / 1e9, 1, places=6)

    def test_what_is_told(self) -> None:
        own = json.loads(pathlib.Path(self.graph).read_text(encoding="utf-8"))
        own["ops"][-1]["cost_ns"] = {"h100": 7}
        graph = self.trace(own, "own.json")
        document = gpu_trace()
        for each in document["traceEvents"]:
            each["args"].pop("Input Dims", None)
        document["traceEvents"] += [event("aten::sort", 170, 1, 60),
                                    {"ph": "X", "cat": "kernel", "name": "sort", "pid": 0, "tid": 7, "ts": 175,
                                     "dur": 0.75, "args": {"External id": 560, "correlation": 60}}]
        costs = costs_from_trace(self.trace(document), graph, "h100")
        # 0.75 of 11 us.
        self.assertEqual(costs.devices[0].unmatched, [("aten::sort", 750)])
        for text in ("graph step has cost_ns for h100, which have priority over the file",
                     "has no shapes (record_shapes=True), so ops are matched by kind and order only",
                     "h100: 6.8% of the traced time is not in any op: aten::sort 6.8%"):
            self.assertIn(text, "\n".join(costs.warnings))
        self.assertEqual(json.loads(costs.text)["warnings"], costs.warnings)
        self.assertIn("largest without an op [ms a step]: aten::sort 0.001", costs.report())

    def test_what_is_refused(self) -> None:
        def changed(**values: Any) -> dict[str, Any]:
            document = cpu_trace()
            document["traceEvents"][2] |= values
            return document
        other = cpu_trace()
        for each in other["traceEvents"]:
            each["name"] = each["name"].replace("aten::", "aten::other_")
        quick = cpu_trace()
        for each in quick["traceEvents"]:
            each["dur"] = 0
        larger = json.loads(json.dumps(cpu_trace()).replace("[4, 6]", "[8, 6]").replace("[6, 4]", "[6, 8]"))
        for document, kinds, expected in (
                (cpu_trace(), (), "t.json: the trace has no kernels of a named GPU; give --device-kind NAME"),
                (other, "k", "t.json: 0% of the traced time (without updates) is in ops of graph step, expected at "
                             "least 50%; without an op: aten::other_matmul 44%"),
                (larger, "k", "Is it the same model, with the same batch, shapes and dtype?"),
                (quick, "k", "t.json: its operators have no times"),
                (cpu_trace(), "h100", "device kind h100: is a gpu, but"),
                (cpu_trace(), ("a", "b"), "2 device kinds for 1 traces"),
                (changed(dur="long"), "k", "traceEvents[2] 'aten::mm': dur is 'long', expected a number"),
                ({"traceEvents": []}, "k", "has no event of the category cpu_op")):
            with self.subTest(expected), self.assertRaises(ImportFailure) as caught:
                costs_from_trace(self.trace(document), self.graph, kinds)
            self.assertIn(expected, str(caught.exception))
        with self.assertRaisesRegex(CostsFailure, "device kind k: .*t.json has kernels, .*c.json has no kernels"):
            costs_from_trace([self.trace(gpu_trace()), self.trace(cpu_trace(), "c.json")], self.graph, "k")
        with self.assertRaisesRegex(CostsFailure, "no trace is given"):
            costs_from_trace([], self.graph)

    def test_the_command(self) -> None:
        trace, output = self.trace(gpu_trace()), self.path("costs.json.gz")
        done = command("costs", trace, "--graph", self.graph, "--device-kind", "h100", "-o", output)
        self.assertEqual(done.stderr, "")
        self.assertIn("h100 (gpu): 1 step; matched 6 of 6 ops, 100.0 % of 0.010 ms traced in ops", done.stdout)
        self.assertIn("costs from: measured 100.0 % (5 ops)", done.stdout)
        self.assertIn("residual 0.089 ms", done.stdout)
        told = command("costs", trace, "--graph", self.graph, "--device-kind", "h100", "-o", self.path("b.json"),
                       "--json")
        self.assertEqual(json.loads(told.stdout)["device_kinds"][0]["residual"], 88_750)
        with gzip.open(output, "rb") as file:
            first, second = json.load(file), json.loads(pathlib.Path(self.path("b.json")).read_bytes())
        self.assertNotEqual(first["properties"].pop("command"), second["properties"].pop("command"))
        self.assertEqual(first, second)
        cluster = self.path("one.yaml")
        pathlib.Path(cluster).write_text("name: one\ndevices:\n- {name: 'gpu:0', kind: h100}\n", encoding="utf-8")
        placement = {"format": "emplace-placement", "version": 1, "graph": "step", "cluster": "one", "devices":
                     {op: "gpu:0" for op in emplace.Graph(self.graph).op_names}}
        simulated = command("simulate", "--graph", self.graph, "--cluster", cluster, "--costs", output, "--placement",
                            self.trace(placement, "p.json"), "--semantics", "stream")
        self.assertEqual(json.loads(simulated.stdout)["step_time_ns"], 10_250)
        for arguments, expected in (
                ([trace], "--graph"), ([trace, "--graph", "no_such_graph", "-o", output], "no_such_graph"),
                ([trace, "--graph", self.graph, "-o", self.path("no/costs.json")], "there is no folder"),
                ([self.path("none"), "--graph", self.graph, "-o", output], "none: cannot be read")):
            self.assertIn(expected, command("costs", *arguments, code=2).stderr)
        self.assertIn("profiler.export_chrome_trace", command("costs", "--help").stdout)
        self.assertEqual(command("help", "costs").stdout, command("costs", "--help").stdout)
        for words in ([], ["help"], ["--help"]):
            self.assertIn("  costs  ", command(*words).stdout)


if importlib.util.find_spec("torch"):
    import torch
    from torch import nn

    class Block(nn.Module):
        """A transformer's."""

        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down, self.heads = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), heads

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            batch, words, width = x.shape
            q, k, v = self.qkv(self.before(x)).view(batch, words, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, words, width))
            return x + self.down(nn.functional.gelu(self.up(self.after(x))))

    def words(batch: int = 4) -> tuple[Any, ...]:
        model = nn.Sequential(nn.Embedding(500, 128), Block(128, 4), Block(128, 4), nn.LayerNorm(128),
                              nn.Linear(128, 500))
        tokens = torch.randint(0, 500, (batch, 64))
        return model, tokens, tokens, lambda out, goal: nn.functional.cross_entropy(out.flatten(0, 1), goal.flatten())

    def images(batch: int = 8) -> tuple[Any, ...]:
        model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(32, 10))
        return (model, torch.randn(batch, 3, 32, 32), torch.zeros(batch, dtype=torch.int64),
                nn.functional.cross_entropy)

    OPTIMIZERS: dict[str, Any] = {
        "sgd": lambda parameters: torch.optim.SGD(parameters, 0.01),
        "momentum": lambda parameters: torch.optim.SGD(parameters, 0.01, momentum=0.9),
        "adam": lambda parameters: torch.optim.Adam(parameters, foreach=True),
        "adamw": lambda parameters: torch.optim.AdamW(parameters, fused=True)}


@needs_torch
class OfTheCpu(TestCase):
    def trace(self, setup: tuple[Any, ...], optimizer: str | None, **options: Any) -> str:
        """Six steps as torch.profiler traces them."""
        from torch.profiler import ProfilerActivity, profile, schedule

        model, data, goal, loss = setup
        rule = OPTIMIZERS[optimizer](model.parameters()) if optimizer else None
        with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=6),
                     **{"record_shapes": True, **options}) as profiler:
            for _ in range(8):
                if rule is None:
                    with torch.no_grad():
                        model.eval()(data)
                else:
                    rule.zero_grad()
                    loss(model(data), goal).backward()
                    rule.step()
                profiler.step()
        profiler.export_chrome_trace(self.path("trace.json.gz"))
        return self.path("trace.json.gz")

    def graph(self, setup: tuple[Any, ...], optimizer: str | None, capture: str = "aot") -> str:
        model, data, goal, loss = setup
        imported = emplace.import_torch(model, (data,), (goal,), loss, optimizer=optimizer or "sgd",
                                        inference=optimizer is None, capture=capture)
        imported.write(self.path("graph.json"))
        return self.path("graph.json")

    def test_most_of_the_time_is_matched(self) -> None:
        for setup, optimizer, capture in ((images, "sgd", "aot"), (images, "adam", "eager"), (words, "momentum", "aot"),
                                          (words, "adamw", "aot"), (words, "adam", "eager"), (words, None, "aot"),
                                          (images, None, "eager")):
            with self.subTest(setup=setup.__name__, optimizer=optimizer, capture=capture):
                graph = self.graph(setup(), optimizer, capture)
                costs = costs_from_trace(self.trace(setup(), optimizer), graph, "mine")
                report = costs.devices[0]
                self.assertEqual(report.steps, 6)
                self.assertGreaterEqual(report.share, 0.95, costs.report())
                self.assertEqual(report.matched_ops, report.ops, costs.report())
                assert report.simulated is not None, report.not_simulated
                # All that was matched is measured; sources are free.
                self.assertEqual(set(report.simulated.ops), {"measured", "free"})
                self.assertEqual(report.simulated.ops["measured"], report.ops)
                # Ops of one signature have one cost, the pooled timing of the file, rounded to whole ns.
                known = {op["signature"]: op["in_situ"] for op in json.loads(costs.text)["ops"]}
                self.assertEqual(report.simulated.total, sum(
                    math.floor((known[signature]["mean_ns"] or known[signature]["median_ns"]) + 0.5)
                    for signature in emplace.Graph(graph).op_signatures if signature in known))
                self.assertEqual(sum(timing["samples"] for timing in known.values()), 6 * report.ops)
                self.assertEqual(report.simulated.step, report.simulated.total)

    def test_without_shapes(self) -> None:
        costs = costs_from_trace(self.trace(words(), "sgd", record_shapes=False), self.graph(words(), "sgd"), "mine")
        self.assertGreaterEqual(costs.devices[0].share, 0.9, costs.report())
        self.assertIn("has no shapes", costs.warnings[0])

    def test_the_page(self) -> None:
        """The commands of doc/costs.md, with its files."""
        page = (pathlib.Path(__file__).resolve().parents[2] / "doc" / "costs.md").read_text(encoding="utf-8")
        for name, text in re.findall(r"```(?:python|yaml)\n# (\w+\.\w+)\n(.*?)```", page, re.DOTALL):
            pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")
        commands = re.findall(r"^\$ (.*)$", page, re.MULTILINE)
        self.assertEqual([line.split()[0] for line in commands], ["python3", "emplace", "emplace"])
        for line in commands:
            words = [sys.executable, *line.split()[1:]] if line.startswith("python3") else [
                sys.executable, "-m", *line.split()]
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("laptop (cpu): 10 steps; matched 24 of 24 ops", done.stdout)
        properties = json.loads(pathlib.Path(self.path("costs.json")).read_text(encoding="utf-8"))["properties"]
        self.assertEqual(properties["torch"], torch.__version__)
        costs = emplace.Costs(self.path("my_model.json.gz"), self.path("laptop.yaml"), self.path("costs.json"))
        self.assertEqual({costs.sources[source] for source in costs.source.ravel()}, {"measured", "free"})

    def test_wrong_graphs(self) -> None:
        trace = self.trace(words(), "sgd")
        for other in (images(), words(batch=2)):
            with self.assertRaisesRegex(CostsFailure, "is in ops of graph graph, .*Is it the same model"):
                costs_from_trace(trace, self.graph(other, "sgd"), "mine")
        costs = costs_from_trace(trace, self.graph(words(), "adam"), "mine")
        self.assertIn("updates by 'Optimizer.step#SGD.step', the graph by optimizer.adam: not matched",
                      "\n".join(costs.warnings))
        # The updates have no time of their own; their bytes give one.
        assert costs.devices[0].simulated is not None
        self.assertGreater(sum(costs.devices[0].simulated.ops.get(source, 0) for source in ("roofline", "default")), 0)

    def test_a_cut_off_file(self) -> None:
        trace = pathlib.Path(self.trace(images(), None))
        trace.write_bytes(trace.read_bytes()[:-200])
        with self.assertRaisesRegex(ImportFailure, "trace.json.gz: cannot be read"):
            costs_from_trace(str(trace), self.graph(images(), None), "mine")
        text = json.dumps({"traceEvents": [1, 2, 3]})[:-3]
        pathlib.Path(self.path("cut.json")).write_text(text, encoding="utf-8")
        with self.assertRaisesRegex(ImportFailure, "cut.json:1: is not JSON"):
            costs_from_trace(self.path("cut.json"), self.graph(images(), None), "mine")


if __name__ == "__main__":
    unittest.main()
