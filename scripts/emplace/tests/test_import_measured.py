"""Tests of the importers with traces of real GPUs: the folder EMPLACE_MEASURED, which is no part of the project.

Its README names the sources. The expected times are sums of the kernels of the step in the files themselves.
"""

import io
import os
import pathlib
import tarfile
import unittest

from support import Folder, by_name, graph_file, run

MEASURED = os.environ.get("EMPLACE_MEASURED")
TRACES = pathlib.Path(MEASURED or "/none") / "traces"


@unittest.skipIf(MEASURED is None, "SKIPPED, NOT TESTED: EMPLACE_MEASURED does not name a folder with traces of GPUs")
class Measured(Folder):
    def kineto(self, *arguments: str) -> tuple[dict, str]:
        code, _, told = run("--from", "kineto", *arguments, "-o", self.path("g.json"))
        self.assertEqual(code, 0, told)
        return graph_file.read(self.path("g.json")), told

    def unpacked(self, name: str) -> list[str]:
        with tarfile.open(fileobj=io.BytesIO((TRACES / "param/et_replay/tests/inputs" / name).read_bytes())) as archive:
            return [self.write(pathlib.Path(member.name).name, archive.extractfile(member).read())
                    for member in sorted(archive.getmembers(), key=lambda member: member.name)
                    if member.name.endswith(".json")]

    def test_every_kernel_is_in_the_graph(self) -> None:
        for name, milliseconds in (
                ("hta/tests/data/trace_diff/control/control.json.gz", 87.620),
                ("tracelens/tests/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 31.905),
                ("tracelens/tests/traces/h100/Falconsai_nsfw_image_detection__1016002.json.gz", 1.225),
                ("tracelens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz", 0.309)):
            with self.subTest(name):
                document, _ = self.kineto(str(TRACES / name))
                time = sum(cost for op in document["ops"] for cost in op.get("cost_ns", {}).values())
                self.assertAlmostEqual(time / 1e6, milliseconds, delta=0.001)
                self.assertEqual(document["source"]["lost_ms"], 0)

    def test_collectives_of_a_rank(self) -> None:
        document, told = self.kineto(str(TRACES / "hta/tests/data/trace_diff/control/control.json.gz"))
        found = [op for op in document["ops"] if op["kind"].startswith("collective.")]
        self.assertEqual([op["kind"] for op in found], ["collective.all_to_all"] * 7 + ["collective.all_reduce"] * 3)
        # Its range has [8, 1024, 8816] numbers of f32.
        self.assertEqual(found[0]["attributes"]["bytes"], 8 * 1024 * 8816 * 4)
        self.assertIn("kernels of the time before the step x 7,875: 413.947 ms", told)

    def test_pairs_and_ranks(self) -> None:
        traces, executions = self.unpacked("dlrm_kineto.tar.gz"), self.unpacked("dlrm_pytorch_et.tar.gz")
        for trace, execution in zip(traces, executions, strict=True):
            document, told = self.kineto(trace, "--execution-trace", execution)
            self.assertRegex(told, r"joined by thread and order: 1,6[67]\d of 1,672 calls .*, 100.0% of the kernels'")
            self.assertEqual(document["source"]["lost_ms"], 0)
            if execution != executions[0]:
                self.refused("are not of the same run", "--from", "kineto", trace, "--execution-trace", executions[0])
        document, told = self.kineto(*traces)
        self.assertIn("kernels of the step: 6.851 ms, 1.270 ms in the graph, 5.581 ms waiting for other ranks", told)
        # 1.58 MB in 86 us on eight V100.
        self.assertEqual(by_name(document)["all_reduce_0"]["cost_ns"], {"tesla_v100_sxm2_32gb": 86_000})

    def test_a_pair_of_two_runs(self) -> None:
        folder = TRACES / "param/et_replay/tests/inputs"
        self.refused("calls in a step (30 and 3 steps): torch::autograd::AccumulateGrad 62 and 161", "--from", "kineto",
                     str(folder / "resnet_kineto.json.gz"), "--execution-trace", str(folder / "resnet_et.json.gz"))

    def test_chakra(self) -> None:
        with tarfile.open(TRACES / "chakra/tests/data/feeder_tests_trace.tar.gz") as archive:
            member = next(member for member in archive.getmembers() if member.name.endswith("chakra.0.et"))
            path = self.write("chakra.0.et", archive.extractfile(member).read())
        code, _, told = run(path, "--device-kind", "gpu", "-o", self.path("g.json"))
        self.assertEqual(code, 0, told)
        self.assertIn("edges of ctrl_deps x 1,277: they lead to 210 nodes that the trace does not have", told)
        self.refused("node 216 'aten::flatten_dense_tensors(0)': ctrl_deps names 3, but there is no such node (1,277 "
                     "such edges)", path, "--device-kind", "gpu", "--strict")


if __name__ == "__main__":
    unittest.main()
