"""Tests of `emplace import --from kineto --host`: the host's part of a step, by hand."""

import json
import pathlib

from support import Folder, by_name, graph_file, run
from traces_support import gpu_trace, host_trace, launch, rank_trace

from emplace.importers.kineto import import_kineto


class Host(Folder):
    def ops(self, document: dict) -> dict[str, dict]:
        self.assertEqual(graph_file.check(document), [])
        return by_name(document)

    def waits(self, document: dict) -> dict[str, list[str]]:
        ops = document["ops"]
        return {op["name"]: [ops[number]["name"] for number in op.get("control_inputs", [])] for op in ops}

    def test_launches_and_waits(self) -> None:
        document = import_kineto(host_trace(), host_kind="xeon").document
        ops = self.ops(document)
        costs = {name: op["cost_ns"]["xeon"] for name, op in ops.items() if op["device_kinds"] == ["xeon"]}
        self.assertEqual(costs, {
            "host.launch_0": 0,         # the step begins with the end of the first launch, at 12
            "host.launch_1": 5000,      # 12 to 17
            "host.run_0": 1000,         # 17 to 18, where the call begins that waits
            "host.synchronize_0": 3000,  # it returns at 33, the kernel ended at 30
            "host.launch_2": 5000,      # 33 to 38
            "host.launch_3": 8000,      # 38 to 46: the copy began at 48, a latency of 2 later
            "host.synchronize_1": 2000,  # the call returns at 54, the copy ended at 52
            "host.launch_4": 4000})     # 54 to 58; the last synchronisation is behind the last launch
        costs = {name: op["cost_ns"]["nvidia_a100"] for name, op in ops.items() if op["device_kinds"] != ["xeon"]}
        self.assertEqual(costs, {"kernel.gemm_0": 10_000, "kernel.gemm_1": 5000, "kernel.add_0": 3000,
                                 "copy.device_to_host_0": 4000, "kernel.mul_0": 1000})
        self.assertEqual(self.waits(document), {
            "host.launch_0": [], "kernel.gemm_0": ["host.launch_0"],
            "host.launch_1": ["host.launch_0"], "kernel.gemm_1": ["kernel.gemm_0", "host.launch_1"],
            "host.run_0": ["host.launch_1"], "host.synchronize_0": ["host.run_0", "kernel.gemm_1"],
            "host.launch_2": ["host.synchronize_0"], "kernel.add_0": ["kernel.gemm_1", "host.launch_2"],
            "host.launch_3": ["host.launch_2"], "copy.device_to_host_0": ["kernel.add_0", "host.launch_3"],
            "host.synchronize_1": ["host.launch_3", "copy.device_to_host_0"],
            "host.launch_4": ["host.synchronize_1"], "kernel.mul_0": ["copy.device_to_host_0", "host.launch_4"]})
        self.assertEqual(ops["kernel.gemm_1"]["attributes"], {"operator": "aten.mm"})
        self.assertEqual(ops["host.synchronize_0"]["attributes"], {"call": "cudaStreamSynchronize", "correlation": 3})
        source = document["source"]
        self.assertEqual((source["step_ns"], source["launch_latency_ns"], source["kernel_gap_ns"], source["streams"]),
                         (61_000 - 14_000, 2000, 1000, 1))
        self.assertEqual((source["kernels_ms"], source["lost_ms"]), (0.023, 0))

    def test_a_copy_that_waits_for_its_stream(self) -> None:
        trace = host_trace()
        add = next(event for event in trace["traceEvents"] if event["name"] == "add")
        add["dur"] = 7  # to 47, when the copy's call had begun
        ops = self.ops(import_kineto(trace, host_kind="xeon").document)
        self.assertEqual(ops["host.launch_3"]["cost_ns"], {"xeon": 6000})  # 38 to 44

    def test_a_copy_that_ends_after_its_call(self) -> None:
        trace = host_trace()
        copy = next(event for event in trace["traceEvents"] if event["cat"] == "gpu_memcpy")
        for duration, cost in ((11, 0), (14, None)):  # of 48 to 59, and to 62, 6 are done when the call returns at 54
            copy["dur"] = duration
            op = self.ops(import_kineto(trace, host_kind="xeon").document).get("host.synchronize_1")
            self.assertEqual(op and op["cost_ns"]["xeon"], cost)

    def test_order_of_events_and_threads(self) -> None:
        plain = import_kineto(host_trace(), host_kind="xeon").document
        trace = host_trace()
        trace["traceEvents"].reverse()
        other = launch(20, 9, thread=3) | {"name": "cudaDeviceSynchronize"}  # of a thread that launches nothing
        trace["traceEvents"].append(other)
        self.assertEqual(import_kineto(trace, host_kind="xeon").document, plain)

    def test_streams(self) -> None:
        imported = import_kineto(rank_trace(), host_kind="xeon")
        ops = self.ops(imported.document)
        waits = self.waits(imported.document)
        self.assertEqual(imported.document["source"]["streams"], 3)
        # The all-reduce began when the first product had ended; the second product ran at that time.
        self.assertIn("kernel.gemm_0", waits["collective.all_reduce_0"])
        self.assertNotIn("collective.all_reduce_0", waits["kernel.gemm_1"])
        self.assertEqual(ops["collective.all_reduce_0"]["device_kinds"], ["nvidia_a100"])
        self.assertIn("waits between streams x 3: not in the trace", "\n".join(map(str, imported.dropped)))

    def test_kernels_without_a_launch(self) -> None:
        imported = import_kineto(gpu_trace(), host_kind="xeon", allow_loss=True)
        # fill and the last product have launches; four kernels name their operator only.
        self.assertIn("launches x 4: not in the trace", "\n".join(map(str, imported.dropped)))
        waits = self.waits(imported.document)
        self.assertEqual((waits["kernel.fill_0"], waits["kernel.gemm_1"], waits["kernel.mul_0"]),
                         (["host.launch_0"], ["kernel.split_k_0", "host.launch_1"], ["kernel.gemm_1"]))

    def test_command(self) -> None:
        path = self.write("t.json", json.dumps(host_trace()))
        code, _, told = run("--from", "kineto", path, "--host", "xeon", "-o", self.path("g.json"), "--cluster",
                            self.path("c.yaml"))
        self.assertEqual(code, 0, told)
        self.assertIn("step: 0.047 ms from the begin of the first kernel to the end of the last; a kernel begins 2,000 "
                      "ns after its launch, or 1,000 ns after the kernel before it", told)
        cluster = pathlib.Path(self.path("c.yaml")).read_text(encoding="utf-8")
        self.assertIn("nvidia_a100: {class: gpu, gap: 1000ns}", cluster)
        self.assertIn("{name: launches, latency: 2000ns, bandwidth: 1TB/s}", cluster)

    def test_refusals(self) -> None:
        path = self.write("t.json", json.dumps(host_trace()))
        self.refused("--cluster: needs --host KIND", "--from", "kineto", path, "--cluster", self.path("c.yaml"))
        self.refused("--host nvidia_a100: the GPU has this device kind", "--from", "kineto", path, "--host",
                     "nvidia_a100")
        self.refused("--host: its graph has the order of the launches in one trace", "--from", "kineto", path, path,
                     "--host", "xeon")
        trace = host_trace()
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] not in ("cuda_runtime",)]
        path = self.write("u.json", json.dumps(trace))
        self.refused("the trace does not have the launches of the step's kernels", "--from", "kineto", path, "--host",
                     "xeon", "--allow-loss")
        trace = host_trace()
        for number, each in enumerate(event for event in trace["traceEvents"] if event["cat"] == "kernel"):
            each["args"]["device"] = number % 2
        path = self.write("v.json", json.dumps(trace))
        self.refused("the kernels of the step ran on several GPUs", "--from", "kineto", path, "--host", "xeon")
