"""Tests of `emplace import --from kineto`: traces by hand in the documented form, and real ones of the CPU.

Those of GPUs are in EMPLACE_MEASURED, see test_import_measured.py.
"""

import copy
import gzip
import json
import unittest

from support import Folder, by_name, graph_file, needs, run
from traces_support import cpu_trace, event, gpu_trace, kernel, launch, rank_trace, training_step

from emplace import importers
from emplace.importers.chakra import import_chakra
from emplace.importers.kineto import copies, import_kineto
from emplace.importers.kineto.trace import read_steps


class ByHand(Folder):
    def ops(self, imported: importers.Imported) -> dict[str, dict]:
        self.assertEqual(graph_file.check(imported.document), [])
        return by_name(imported.document)

    def test_order_alone(self) -> None:
        imported = import_kineto(cpu_trace(), device_kind="cpu2")
        ops = self.ops(imported)
        self.assertEqual(list(ops), ["mm_0", "ones_like_0", "t_0", "mm_1", "mul_0", "add_0"])
        # aten::matmul only calls aten::mm, so mm has its 30 us.
        self.assertEqual([op["cost_ns"]["cpu2"] for op in ops.values()], [30_000, 5_000, 3_000, 20_000, 4_000, 6_000])
        self.assertEqual([op.get("phase", "forward") for op in ops.values()],
                         ["forward", "backward", "backward", "backward", "update", "update"])
        self.assertEqual((ops["mm_0"]["flops"], ops["mm_1"]["flops"]), (2 * 4 * 6 * 3, 2 * 6 * 4 * 3))
        self.assertEqual(ops["ones_like_0"]["inputs"], ops["mm_0"]["outputs"])
        self.assertEqual(ops["t_0"]["inputs"], [*ops["ones_like_0"]["outputs"], *ops["mm_0"]["outputs"]])
        self.assertEqual(ops["mm_1"]["attributes"], {"forward_op": "mm_0"})
        sizes = [imported.document["tensors"][ops[name]["outputs"][0]]["bytes"] for name in ("mm_0", "t_0", "mul_0")]
        self.assertEqual(sizes, [4 * 4 * 3, 4 * 6 * 4, 4 * 6 * 3])  # what the next op is given
        told = "\n".join(map(str, imported.dropped))
        self.assertIn("dependencies x 6: the trace does not have the tensors that a call read", told)
        # 30 + 5 + 40 + 50 us of outermost events, 68 us of ops.
        self.assertIn("host time outside of ops x 1: 0.057 ms", told)

    def test_with_the_execution_trace(self) -> None:
        imported = import_kineto(cpu_trace(), training_step(), device_kind="cpu2")
        ops = self.ops(imported)
        plain = by_name(import_chakra(training_step()).document)
        for name, op in ops.items():
            self.assertEqual({key: value for key, value in op.items() if key != "cost_ns"}, plain[name])
        self.assertEqual({name: op["cost_ns"]["cpu2"] for name, op in ops.items() if "cost_ns" in op},
                         {"mm_0": 30_000, "ones_like_0": 5_000, "t_0": 3_000, "mm_1": 20_000, "mul_0": 4_000,
                          "add_0": 6_000})
        self.assertEqual(imported.document["source"]["dependencies"], "execution trace")

    def test_kernels_of_a_gpu(self) -> None:
        for execution in (None, training_step()):
            with self.subTest(execution=execution is not None):
                imported = import_kineto(gpu_trace(), execution, allow_loss=True)
                kind = "nvidia_h100_80gb_hbm3"  # the trace names its GPU
                costs = {name: op["cost_ns"] for name, op in self.ops(imported).items() if "cost_ns" in op}
                self.assertEqual(costs, {"mm_0": {kind: 3000}, "ones_like_0": {kind: 1250}, "t_0": {kind: 0},
                                         "mm_1": {kind: 3000}, "mul_0": {kind: 1000}, "add_0": {kind: 2000}})
                self.assertEqual(imported.notes[-1], "kernels of the step: 0.019 ms, 0.010 ms in the graph, 0.009 ms "
                                                     "lost (46.8%)")
                self.assertEqual(str(imported.dropped[0]), "kernel of_somebody_else x 1: lost, 0.009 ms (46.8% of the "
                                                           "step's kernels): no launch in the trace")
                self.assertIn("46.8% of the kernels' time (0.009 ms of 0.019 ms) is not in the graph: of_somebody_else "
                              "x 1 0.009 ms", imported.warnings[0])

    def test_lost_kernels(self) -> None:
        def trace(duration: float) -> dict:
            """10.25 us of kernels in the graph, and one of `duration` that nobody launched."""
            document = gpu_trace()
            document["traceEvents"][-1] = kernel("lost", 100, duration, 99)
            return document
        for duration, warnings in ((0.2, 0), (0.3, 1), (1.1, 1)):  # 1.9 %, 2.8 %, 9.7 %
            with self.subTest(duration):
                self.assertEqual(len(import_kineto(trace(duration)).warnings), warnings)
        with self.assertRaisesRegex(importers.ImportFailure, "10.5% of the kernels' time .0.001 ms of 0.011 ms. is not "
                                                             "in the graph: lost x 1 0.001 ms; give --allow-loss"):
            import_kineto(trace(1.2))
        path = self.write("t.json", json.dumps(trace(0.3)))
        code, _, told = run("--from", "kineto", path, "-o", self.path("g.json"))
        self.assertEqual(code, 0)
        self.assertIn("emplace import: warning: ", told)

    def test_kernels_of_the_time_around_the_step(self) -> None:
        document = gpu_trace()
        document["traceEvents"][-1:] = [
            event("ProfilerStep#4", 0, 200, 90, category="user_annotation"),
            kernel("launched before the recording", 10, 7, 70), launch(300, 71), kernel("of the next", 305, 8, 71),
            kernel("launched after the recording", 400, 9, 72)]
        imported = import_kineto(document)
        told = "\n".join(map(str, imported.dropped))
        self.assertIn("kernels of the time before the step x 1: 0.007 ms, not of the step", told)
        self.assertIn("kernels of the time after the step x 2: 0.017 ms, not of the step", told)
        self.assertEqual(imported.document["source"]["lost_ms"], 0)

    def test_kernels_outside_of_operators(self) -> None:
        document = gpu_trace()
        document["traceEvents"][-1:] = [
            launch(97, 20, thread=2), kernel("void at::native::gather<float>(int)", 98, 4, 20),  # in evaluate_function
            launch(62, 21, thread=2), kernel("own", 63, 5, 21),  # in aten::t
            launch(61.5, 22, thread=2), kernel("own", 62, 6, 22),  # in MmBackward0 itself
            launch(112, 23), kernel("void fused_adam<4>(int)", 130, 7, 23)]  # in the optimiser's range
        imported = import_kineto(document)
        ops = self.ops(imported)
        costs = {name: (op["kind"], op["cost_ns"]["nvidia_h100_80gb_hbm3"]) for name, op in ops.items()}
        self.assertEqual(costs["t_0"], ("aten.t", 5000))
        self.assertEqual(costs["autograd.MmBackward0_0"], ("autograd.MmBackward0", 6000))
        self.assertEqual(costs["autograd.MmBackward0_1"], ("autograd.MmBackward0", 4000))
        self.assertEqual(costs["kernel.fused_adam_0"], ("kernel.fused_adam", 7000))
        self.assertEqual(ops["kernel.fused_adam_0"]["phase"], "update")
        self.assertEqual((imported.document["source"]["kernels_ms"], imported.document["source"]["lost_ms"]),
                         (0.03225, 0.0))

    def test_numbers_of_launches_are_not_numbers_of_operators(self) -> None:
        document = gpu_trace()
        document["traceEvents"].pop()
        for each in document["traceEvents"]:
            arguments = each.get("args", {})
            if each.get("cat") == "kernel":  # numbers that aten::ones_like and others have
                arguments["correlation"] += 500
                arguments["External id"] = arguments["correlation"]
            elif each.get("cat") == "cuda_runtime":
                arguments["correlation"] += 500
        document["traceEvents"] += [launch(16, 501), launch(17, 502), launch(121, 505), launch(131, 506)]
        costs = {name: op["cost_ns"]["nvidia_h100_80gb_hbm3"] for name, op in self.ops(import_kineto(document)).items()}
        self.assertEqual(costs, {"mm_0": 3000, "ones_like_0": 1250, "t_0": 0, "mm_1": 3000, "mul_0": 1000,
                                 "add_0": 2000})

    def test_collectives_copies_and_streams(self) -> None:
        document = rank_trace()
        imported = import_kineto(document)
        ops = self.ops(imported)
        kind = "nvidia_a100"
        self.assertEqual({name: (op["kind"], op["cost_ns"][kind], op["attributes"]) for name, op in ops.items()}, {
            "copy_host_to_device_0": ("copy.host_to_device", 4000, {"bytes": 96, "stream": 22}),
            "mm_0": ("aten.mm", 20_000, {"stream": 7}),
            "all_reduce_0": ("collective.all_reduce", 30_000, {"bytes": 4000, "stream": 20}),
            "mm_1": ("aten.mm", 10_000, {"stream": 7}),
            "all_to_all_0": ("collective.all_to_all", 15_000, {"bytes": 800, "group": "pg1", "group_size": 4,
                                                              "ranks": "[0, 1, 2, 3]", "stream": 20}),
            "add_0": ("aten.add", 3000, {"stream": 7})})
        number = {name: op["id"] for name, op in ops.items()}
        # On one stream by a tensor, on others by control: the product waits for the copy, the sum for the collectives.
        self.assertEqual({name: op.get("control_inputs", []) for name, op in ops.items()}, {
            "copy_host_to_device_0": [], "mm_0": [number["copy_host_to_device_0"]],
            "all_reduce_0": [number["copy_host_to_device_0"], number["mm_0"]], "mm_1": [],
            "all_to_all_0": [number["mm_1"]], "add_0": [number["all_to_all_0"]]})
        self.assertEqual(ops["mm_1"]["inputs"], ops["mm_0"]["outputs"])
        self.assertEqual(ops["all_to_all_0"]["inputs"], ops["all_reduce_0"]["outputs"])
        self.assertEqual((imported.document["source"]["rank"], imported.document["source"]["world_size"]), (0, 2))

    def test_ranges_of_gloo(self) -> None:
        document = cpu_trace()
        document["traceEvents"] += [event("c10d::allreduce_", 105, 3, 20, thread=2),
                                    event("gloo:all_reduce", 106, 9, 21, "user_annotation", thread=3)]
        found = [op for op in self.ops(import_kineto(document, device_kind="k")).values() if "collective" in op["kind"]]
        self.assertEqual([(op["name"], op["cost_ns"]["k"]) for op in found], [("all_reduce_0", 3000)])

    def test_streams_of_several_devices(self) -> None:
        document = rank_trace()
        document["traceEvents"][-1]["args"]["device"] = 1
        ops = self.ops(import_kineto(document))
        self.assertEqual((ops["mm_0"]["attributes"]["stream"], ops["add_0"]["attributes"]["stream"]), ("0:7", "1:7"))
        self.assertEqual(ops["add_0"]["inputs"], [])

    def test_waiting_and_transfer(self) -> None:
        # Rank 1 arrives 20 us later and needs 10 us; of the 30 us of rank 0, 20 are waiting. The other collective is
        # of four ranks.
        paths = [self.write(f"rank{rank}.json", json.dumps(rank_trace(rank, late)))
                 for rank, late in ((0, 0), (1, 20))]
        code, _, told = run("--from", "kineto", *paths, "-o", self.path("g.json"))
        self.assertEqual(code, 0, told)
        for line in ("rank 0: 0.045 ms in collectives, of it 0.020 ms waiting",
                     "rank 1: 0.025 ms in collectives, of it 0.000 ms waiting",
                     "kernels of the step: 0.082 ms, 0.062 ms in the graph, 0.020 ms waiting for other ranks, 0.000 ms "
                     "lost (0.0%)", "collectives with waiting x 1: not all ranks of their group are given"):
            self.assertIn(line, told)
        ops = by_name(graph_file.read(self.path("g.json")))
        self.assertEqual((ops["all_reduce_0"]["cost_ns"]["nvidia_a100"], ops["all_reduce_0"]["attributes"]),
                         (10_000, {"bytes": 4000, "stream": 20, "waiting_ns": 20_000}))
        self.assertEqual(ops["all_to_all_0"]["cost_ns"]["nvidia_a100"], 15_000)
        late = importers.read(paths[1], other_ranks=paths[:1])
        self.assertEqual(by_name(late.document)["all_reduce_0"]["attributes"]["waiting_ns"], 0)

    def test_ranks_that_do_not_fit(self) -> None:
        def changed(**values) -> dict:
            return rank_trace(1) | values
        renamed = json.loads(json.dumps(rank_trace(1)).replace("allreduce", "broadcast")
                             .replace("all_reduce", "broadcast"))
        for other, expected in (
                (rank_trace(0), "trace, r1: are all of rank 0; give one file for each rank"),
                (changed(distributedInfo={"rank": 1, "world_size": 8}), "world_size is 2 and 8"),
                (renamed, "trace, r1: have other collectives: all_reduce 1 and 0, broadcast 0 and 1")):
            with self.subTest(expected), self.assertRaises(importers.ImportFailure) as caught:
                import_kineto(rank_trace(0), others={"r1": other})
            self.assertIn(expected, str(caught.exception))

    def test_joined_by_order(self) -> None:
        def without_numbers() -> dict:
            document = gpu_trace()
            document["traceEvents"].pop()
            for each in document["traceEvents"]:
                each.get("args", {}).pop("Record function id", None)
            return document
        numbered = gpu_trace()
        numbered["traceEvents"].pop()
        expected = import_kineto(numbered, training_step())
        self.assertIn("joined by number: 10 of 10 calls (100.0%), 100.0% of the kernels' time", expected.notes)
        imported = import_kineto(without_numbers(), training_step())
        self.assertEqual(imported.document, expected.document)
        self.assertEqual(imported.notes[0], "joined by thread and order: 10 of 10 calls (100.0%), 100.0% of the "
                                            "kernels' time")

        twice = training_step()  # two steps, of which the trace has one
        later = copy.deepcopy(twice["nodes"][2:])
        for record in later:
            record["id"] += 100
            record["ctrl_deps"] += 100 if record["ctrl_deps"] > 2 else 0
            record["attrs"][0]["value"] += 100
        twice["nodes"] += later
        costs = [{name: op.get("cost_ns") for name, op in self.ops(each).items()}
                 for each in (import_kineto(without_numbers(), twice), expected)]
        self.assertEqual(*costs)

        document = without_numbers()  # a kernel outside of operators, and a call that the execution trace does not have
        document["traceEvents"] += [launch(112, 23), kernel("fused", 140, 7, 23),
                                    event("aten::empty", 46, 2, 30), launch(47, 24), kernel("inner", 55, 2, 24)]
        document["traceEvents"][-3]["args"].pop("Record function id")
        imported = import_kineto(document, training_step())
        costs = {name: op["cost_ns"]["nvidia_h100_80gb_hbm3"] for name, op in self.ops(imported).items()
                 if "cost_ns" in op}
        self.assertEqual((costs["kernel.fused_0"], costs["ones_like_0"], sum(costs.values())), (7000, 3250, 19_250))
        self.assertIn("joined by thread and order: 10 of 11 calls (90.9%), 100.0% of the kernels' time", imported.notes)

    def test_pairs_of_different_runs(self) -> None:
        def changed(*places: int, **values) -> dict:
            document = gpu_trace()
            for place, each in enumerate(document["traceEvents"]):
                each.get("args", {}).pop("Record function id", None)
                each.update(values if place in places else {})
            return document
        for trace, expected in (
                (changed(2, 7, name="aten::bmm"), "are not of the same run: calls in a step (1 and 1 steps): aten::bmm "
                                                  "2 and 0, aten::mm 0 and 2; record both at once"),
                (changed(2, args={"Input Dims": [[4, 8], [8, 3]], "Input type": ["float"] * 2, "External id": 504}),
                 "1 of 8 joined calls have other shapes, such as aten::mm [4, 8] and [4, 6]"),
                (changed(2, 3, ts=500), "the order of 2 of 10 calls differs")):
            with self.subTest(expected), self.assertRaises(importers.ImportFailure) as caught:
                import_kineto(trace, training_step())
            self.assertIn(expected, str(caught.exception))
        other = training_step() | {"pid": 77}  # of another process
        document = changed()
        document["traceEvents"].pop()
        self.assertIn("joined by thread", import_kineto(copy.deepcopy(document), other).notes[0])
        document["traceEvents"][3]["args"]["Input Dims"] = [[8, 3]]
        with self.assertRaisesRegex(importers.ImportFailure, r"same run \(processes 1 and 77\): 1 of 8 joined calls"):
            import_kineto(document, other)

    def test_one_of_several_steps(self) -> None:
        trace = cpu_trace()
        later = copy.deepcopy(trace["traceEvents"][1:])
        for place, each in enumerate(later):
            each["ts"] = 1000 + 2 * each["ts"]
            each["dur"] *= 2
            each["args"] |= {"Record function id": 100 + place, "External id": 600 + place}
        marks = [event("ProfilerStep#4", 0, 500, 90, category="user_annotation"),
                 event("ProfilerStep#5", 1000, 500, 91, category="user_annotation")]
        trace["traceEvents"] += later + marks
        for step, number, cost in ((None, 5, 60_000), (4, 4, 30_000)):
            imported = import_kineto(trace, device_kind="k", step=step)
            ops = self.ops(imported)
            self.assertEqual((len(ops), ops["mm_0"]["cost_ns"], imported.document["source"]["step"]),
                             (6, {"k": cost}, number))
        with self.assertRaisesRegex(importers.ImportFailure, "--step 7: the trace has the steps 4, 5"):
            import_kineto(trace, device_kind="k", step=7)
        with self.assertRaisesRegex(importers.ImportFailure, "marks no steps"):
            import_kineto(cpu_trace(), device_kind="k", step=0)

    def test_all_steps(self) -> None:
        document = gpu_trace()
        later = copy.deepcopy(document["traceEvents"][1:])
        for each in later:
            each["ts"] += 1000
            each["args"] = {key: value + 1000 if key in ("correlation", "External id", "Record function id") else value
                            for key, value in each["args"].items()}
        document["traceEvents"] += later
        unmarked = read_steps(copy.deepcopy(document), "t")  # both end with Optimizer.step
        document["traceEvents"] += [event("ProfilerStep#4", 0, 500, 90, category="user_annotation"),
                                    event("ProfilerStep#5", 1000, 500, 91, category="user_annotation")]
        marked = read_steps(document, "t")
        self.assertEqual([step.step for step in marked], [4, 5])
        for found in (unmarked, marked):
            for step, number in zip(found, (4, 1004), strict=True):
                # Each has its own kernels, and those that nobody launched: 140 .. 149 and 1140 .. 1149 us.
                self.assertEqual((len(step.kernels.lost), step.by_function[number].device), (1, 3000))
        # On the CPU: the marks' lengths; from 10 us (matmul) to 130 + 6 us (add_) without marks.
        self.assertEqual([step.span for step in read_steps(cpu_trace(), "t")], [126_000])
        host = cpu_trace()
        host["traceEvents"] += [event("ProfilerStep#4", 0, 500, 90, category="user_annotation")]
        self.assertEqual([step.span for step in read_steps(host, "t")], [500_000])
        host["traceEvents"] += [event("ProfilerStep#5", 1000, 500, 91, category="user_annotation")]
        self.assertEqual([step.step for step in read_steps(copy.deepcopy(host), "t")], [4])  # 5 is empty
        host["traceEvents"] = host["traceEvents"][-2:]
        with self.assertRaisesRegex(importers.ImportFailure, "t: step 4 has no event of the category cpu_op"):
            read_steps(host, "t")

    def test_copies(self) -> None:
        document = gpu_trace()
        for name, size, more in (("HtoD (Pinned -> Device)", 1000, {}), ("DtoH (Device -> Pageable)", 2000, {}),
                                 ("DtoD (Device -> Device)", 3000, {}), ("HtoD (Unknown -> Device)", 5000, {}),
                                 ("PtoP (Device -> Device)", 4000, {"fromDevice": 1, "toDevice": 0}),
                                 ("HtoD (Pinned -> Device)", 0, {})):
            arguments = {"device": 1, "bytes": size, "correlation": size, **more}
            document["traceEvents"].append({"ph": "X", "cat": "gpu_memcpy", "name": f"Memcpy {name}", "pid": 1,
                                            "tid": 7, "ts": 200, "dur": 1.5, "args": arguments})
        self.assertEqual(copies.copies(document, "t"), [
            copies.Copy("cpu:0", "gpu:1", "pinned", 1000, 1500), copies.Copy("gpu:1", "cpu:0", "pageable", 2000, 1500),
            copies.Copy("cpu:0", "gpu:1", "in_situ", 5000, 1500), copies.Copy("gpu:1", "gpu:0", "peer", 4000, 1500)])

    def test_without_shapes(self) -> None:
        trace = cpu_trace()
        for each in trace["traceEvents"]:
            each["args"].pop("Input Dims", None)
            each["args"].pop("Input type", None)
        imported = import_kineto(trace, device_kind="k")
        self.assertEqual(self.ops(imported)["mm_0"].get("flops", 0), 0)
        told = "\n".join(map(str, imported.dropped))
        self.assertIn("shapes x 6: the trace has none (record_shapes=True)", told)
        self.assertIn("FLOPs of aten.mm x 2", told)

    def test_what_is_refused(self) -> None:
        other = training_step()
        other["nodes"][2]["name"] = "aten::bmm"
        strange = training_step()
        for record in strange["nodes"]:
            record["attrs"][0]["value"] += 1000

        def changed(**values) -> dict:
            trace = cpu_trace()
            trace["traceEvents"][2] |= values
            return trace
        for trace, execution, expected in (
                (cpu_trace(), None, "does not name a device; give --device-kind NAME"),
                ({"traceEvents": 3}, None, "'traceEvents' is int, expected a list"),
                ({"traceEvents": []}, None, "has no event of the category cpu_op"),
                (changed(dur="long"), None, "traceEvents[2] 'aten::mm': dur is 'long', expected a number"),
                (changed(args=3), None, "traceEvents[2] 'aten::mm': args is 3, expected an object"),
                (changed(name=None), None, "traceEvents[2] None: name is None, expected a text"),
                (gpu_trace(), other, "call 4 is 'aten::mm' in one and 'aten::bmm' in the other"),
                (gpu_trace(), strange, "0 of 10 calls are in both; record both at once")):
            with self.subTest(expected), self.assertRaises(importers.ImportFailure) as caught:
                import_kineto(trace, execution)
            self.assertIn(expected, str(caught.exception))

    def test_damage(self) -> None:
        def damaged(change) -> dict:
            trace = gpu_trace()
            trace["traceEvents"].pop()
            for each in trace["traceEvents"]:
                if "ts" in each:
                    each["ts"] += 1000
            events = {each["args"].get("Record function id"): each for each in trace["traceEvents"][1:]}
            change(trace["traceEvents"], events)
            return trace
        nest = [event("aten::add", 2000 + place, 1000 - 2 * place, 1000 + place) for place in range(401)]
        for change, expected in (
                (lambda events, calls: calls[4].update(dur=-1.0), "traceEvents[2] 'aten::mm': dur is -1.0, expected"),
                (lambda events, calls: events.append(copy.deepcopy(calls[4])),
                 "two calls have the External id 504; the file is damaged"),
                (lambda events, calls: calls[4]["args"].update({"Record function id": 5}),
                 "two calls have the Record function id 5"),
                (lambda events, calls: events.append(copy.deepcopy(events[-1])), "the same kernel is there twice: "
                                                                                 "correlation 6"),
                (lambda events, calls: events.append(launch(1200, 3)), "two launches have the correlation 3"),
                (lambda events, calls: events.append(kernel("fill", 1060, 1, 3)), "two kernels have one launch, "
                                                                                  "correlation 3"),
                (lambda events, calls: events.append(launch(1300, 6)),
                 "1 of 6 kernels begin before their launch, such as 'add' at 1135 us"),
                (lambda events, calls: calls[4].update(dur=200),
                 "1 of 10 calls end after the call around them, such as 'aten::mm' at 1015 us"),
                (lambda events, calls: events.append(launch(1200, 50)), "1 of 7 launches of the step have no kernel in "
                                                                        "the trace"),
                (lambda events, calls: events.extend(nest), "more than 400 calls are within each other"),
                (lambda events, calls: events[-1]["args"].update(stream=[7]), "stream is [7], expected a number or")):
            with self.subTest(expected), self.assertRaises(importers.ImportFailure) as caught:
                import_kineto(damaged(change))
            self.assertIn(expected, str(caught.exception))
        turned = damaged(lambda events, calls: events.reverse())  # the order of a file means nothing
        self.assertEqual(import_kineto(turned).document, import_kineto(damaged(lambda events, calls: None)).document)

    def test_files(self) -> None:
        trace = self.write("t.json.gz", gzip.compress(json.dumps(gpu_trace()).encode()))
        execution = self.write("e.json", json.dumps(training_step()))
        first, second = (self.imported(trace, "--allow-loss", "--execution-trace", execution) for _ in range(2))
        self.assertEqual(graph_file.serialize(first), graph_file.serialize(second))
        with open(trace, "rb") as file:
            data = file.read()
        for bad in (data[:len(data) // 2], data[:60] + bytes([data[60] ^ 85]) + data[61:]):
            self.refused("half.json.gz: cannot be read", "--from", "kineto", self.write("half.json.gz", bad))
        cut, others = self.write("b.json", '{"traceEvents": ['), self.write("c.json", "[]")
        for arguments, expected in (([cut], "b.json:1: is not JSON"), ([others], "holds a JSON list"),
                                    ([self.path("none.json")], "cannot be read"),
                                    ([trace, "--execution-trace", self.path("no")], "cannot be read")):
            self.refused(expected, "--from", "kineto", *arguments)


@needs("torch")
class Torch(Folder):
    def test_a_real_step_on_the_cpu(self) -> None:
        import torch
        from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile
        net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
        rule = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

        def step() -> None:
            rule.zero_grad()
            torch.nn.functional.cross_entropy(net(torch.ones(8, 16)), torch.zeros(8, dtype=torch.int64)).backward()
            rule.step()
        step()
        execution, trace = self.path("e.json"), self.path("t.json.gz")
        observer = ExecutionTraceObserver()
        observer.register_callback(execution)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                     execution_trace_observer=observer) as profiler:
            step()
        profiler.export_chrome_trace(trace)
        imported = importers.read(trace, device_kind="cpu2", execution_trace=execution)
        ordered = importers.read(trace, device_kind="cpu2")
        figures = graph_file.statistics(imported.document)
        self.assertEqual(graph_file.check(imported.document), [])
        self.assertEqual(figures["parameters"], 16 * 32 + 32 + 32 * 4 + 4)
        self.assertEqual(figures["optimizer_state_bytes"], 4 * figures["parameters"])
        # 8 examples: 16 x 32 and 32 x 4; of the first layer no gradient of the input.
        self.assertEqual(figures["forward_flops"], 2 * 8 * (512 + 128))
        self.assertEqual(figures["backward_flops"], 2 * 8 * (512 + 2 * 128))
        for op in imported.document["ops"]:
            if op["kind"] not in ("parameter", "constant"):
                self.assertGreater(op["cost_ns"]["cpu2"], 0, op["name"])
        self.assertEqual(graph_file.check(ordered.document), [])
        self.assertEqual(graph_file.statistics(ordered.document)["forward_flops"], 2 * 8 * (512 + 128))


if __name__ == "__main__":
    unittest.main()
