"""Traces of AMD's GPUs, of CUDA and HIP graphs and of vLLM, made by hand in the form of the profiler's files."""

from __future__ import annotations

import unittest

from support import by_name
from traces_support import event, kernel, launch, shapes

from emplace import importers
from emplace.importers.kineto import import_kineto
from emplace.importers.kineto.trace import read_steps

KIND = "amd_instinct_mi300x"
NVIDIA = "nvidia_h100_80gb_hbm3"


def document(events: list[dict], name: str = "AMD Instinct MI300X") -> dict:
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": name}], "traceEvents": events}


def hip(name: str, begin: float, correlation: int, **arguments) -> dict:
    """A call of AMD's runtime, which has the category of NVIDIA's."""
    call = launch(begin, correlation) | {"name": name}
    call["args"] |= arguments
    return call


def bare(each: dict, external: int) -> dict:
    """A kernel of ROCm 5: it names its operator, but not its launch and stream."""
    return each | {"args": {"External id": external}}


def amd_trace(old: bool) -> dict:
    """A copy of 96 B to the GPU, a product, and a sum over two GPUs; times in [us]."""
    to_gpu = kernel("Memcpy HtoD (Host -> Device)", 12, 4, 1) | {"cat": "gpu_memcpy"}
    product = kernel("Cijk_Ailk_Bljk_SB_MT128x64x16", 23, 20, 2)
    add = kernel("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", 70, 3, 4)
    reduce = kernel("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", 44, 25, 3)
    if old:
        reduce = bare(reduce, 503)
        to_gpu = bare(to_gpu | {"name": "Memcpy ? (? -> ?)"}, 501)
        product, add = bare(product, 502), bare(add, 504)
    return document([
        event("aten::copy_", 10, 5, 1, **shapes([4, 6], [4, 6])),
        hip("hipMemcpyWithStream", 11, 1, size="96", kind="1", src="0x1", dst="0x2"), to_gpu,
        event("aten::mm", 20, 5, 2, **shapes([4, 6], [6, 3])), hip("hipExtModuleLaunchKernel", 21, 2), product,
        event("c10d::allreduce_", 30, 9, 3), event("nccl:all_reduce", 31, 7, 30, category="user_annotation",
                                                   **shapes([4, 3])),
        hip("hipExtLaunchKernel", 32, 3), reduce,
        event("aten::add_", 50, 5, 4, **shapes([4, 3], [4, 3])), hip("hipLaunchKernel", 51, 4), add])


def replay(begin: float, correlation: int, kernels: list[dict], name: str = "cudaGraphLaunch") -> list[dict]:
    """A graph's launch and its kernels, which all have its correlation."""
    return [launch(begin, correlation) | {"name": name}, *kernels]


def layer(begin: float, correlation: int) -> list[dict]:
    """Kernels of a graph: two beside each other in two streams, and their sum over the GPUs. They take 10 us."""
    names = ("void cutlass::Kernel2<cutlass_80_tensorop>(int)", "void flash::flash_fwd_splitkv_kernel<1>(int)",
             "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)")
    found = [kernel(name, begin + after, duration, correlation, **{"graph id": 3, "graph node id": 10 + place})
             for place, (name, after, duration) in enumerate(zip(names, (0, 1, 6), (5, 3, 2)))]
    found[1]["args"]["stream"] = found[1]["tid"] = 9
    return found


def vllm_trace() -> dict:
    """Steps of vLLM: one of a prompt without a graph, and two of a token with one; times in [us]."""
    def step(name: str, begin: float) -> dict:
        return event(name, begin, 50, 90, category="user_annotation") | {"args": {}}
    return document([
        event("aten::zeros", 1, 2, 1, **shapes([4])), launch(2, 1), kernel("fill", 3, 1, 1),  # before the first step
        step("execute_context_1(7)_generation_0(0)", 100),
        event("vllm::unified_attention_with_output", 110, 9, 2), launch(111, 2), kernel("flash", 115, 7, 2),
        event("vllm::all_reduce", 121, 9, 3, **shapes([7, 16])), event("_C_custom_ar::all_reduce", 122, 7, 4),
        launch(123, 3), kernel("void vllm::cross_device_reduce_2stage<float, 8>(int)", 130, 6, 3),
        event("aten::argmax", 160, 5, 5, **shapes([1, 32])), launch(161, 4), kernel("reduce", 165, 2, 4),  # the sampler
        step("execute_context_0(0)_generation_1(1)", 200), *replay(210, 5, layer(220, 5)),
        event("aten::argmax", 260, 5, 6, **shapes([1, 32])), launch(261, 6), kernel("reduce", 265, 2, 6),
        step("execute_context_0(0)_generation_1(1)", 300), *replay(310, 7, layer(320, 7))], "NVIDIA H100 80GB HBM3")


class Forms(unittest.TestCase):
    def costs(self, imported: importers.Imported, kind: str) -> dict[str, int]:
        return {name: op["cost_ns"][kind] for name, op in by_name(imported.document).items()}

    def test_amd(self) -> None:
        imported = import_kineto(amd_trace(old=False))
        self.assertEqual(self.costs(imported, KIND), {"copy_host_to_device_0": 4000, "mm_0": 20_000,
                                                      "all_reduce_0": 25_000, "add_0": 3000})
        ops = by_name(imported.document)
        self.assertEqual(ops["copy_host_to_device_0"]["attributes"]["bytes"], 96)  # as its launch says
        self.assertEqual((ops["all_reduce_0"]["kind"], ops["all_reduce_0"]["attributes"]),
                         ("collective.all_reduce", {"bytes": 4 * 4 * 3}))
        self.assertEqual((imported.warnings, imported.document["source"]["lost_ms"]), ([], 0.0))
        host = import_kineto(amd_trace(old=False), host_kind="epyc")
        self.assertEqual([op["kind"] for op in host.document["ops"]],
                         ["host.launch", "copy.host_to_device", "host.launch", "kernel.Cijk_Ailk_Bljk_SB_MT128x64x16",
                          "host.launch", "collective.all_reduce", "host.launch",
                          "kernel.vectorized_elementwise_kernel"])

    def test_amd_without_correlation(self) -> None:
        imported = import_kineto(amd_trace(old=True))
        self.assertEqual(self.costs(imported, KIND), {"copy_0": 4000, "mm_0": 20_000, "all_reduce_0": 25_000,
                                                      "add_0": 3000})
        self.assertEqual(imported.document["source"]["lost_ms"], 0.0)
        with self.assertRaisesRegex(importers.ImportFailure, "--host: the trace does not have the launches"):
            import_kineto(amd_trace(old=True), host_kind="epyc")

    def test_amd_launches_without_kernel(self) -> None:
        for name in ("hipExtModuleLaunchKernel", "hipMemcpyWithStream", "hipLaunchKernel", "hipGraphLaunch",
                     "hipModuleLaunchKernel"):
            with self.subTest(name):
                trace = amd_trace(old=False)
                trace["traceEvents"].append(hip(name, 52, 9))
                with self.assertRaisesRegex(importers.ImportFailure, "1 of 5 launches of the step have no kernel"):
                    import_kineto(trace)
        trace = amd_trace(old=False)
        trace["traceEvents"] += [hip(name, 52, 9 + place) for place, name in enumerate(
            ("hipGetDevice", "hipStreamSynchronize", "hipMemsetAsync", "hipGraphInstantiate", "hipLaunchHostFunc"))]
        import_kineto(trace)

    def test_kernels_of_a_graph_are_ops(self) -> None:
        for name in ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"):
            for around in ([], [event("aten::copy_", 9, 20, 1, **shapes([4], [4]))],
                           [event("replay", 9, 20, 1, category="user_annotation")]):
                with self.subTest(name, around=len(around)):
                    imported = import_kineto(document([*around, *replay(10, 1, layer(20, 1), name)]))
                    ops = by_name(imported.document)
                    costs = {op: ops[op]["cost_ns"][KIND] for op in ops if ops[op]["cost_ns"][KIND]}
                    self.assertEqual(costs, {"kernel.Kernel2_0": 5000, "kernel.flash_fwd_splitkv_kernel_0": 3000,
                                             "all_reduce_0": 2000})
                    self.assertEqual(ops["all_reduce_0"]["kind"], "collective.all_reduce")
                    # The sum waits for both streams.
                    waits = ops["all_reduce_0"]["control_inputs"]
                    self.assertEqual([imported.document["ops"][op]["name"] for op in waits],
                                     ["kernel.flash_fwd_splitkv_kernel_0"])
                    self.assertEqual(imported.document["source"]["lost_ms"], 0.0)

    def test_a_graph_with_the_host(self) -> None:
        trace = document([*replay(10, 1, layer(20, 1)), *replay(40, 2, layer(50, 2))])
        imported = import_kineto(trace, host_kind="epyc")
        kinds = [op["kind"].split(".")[0] for op in imported.document["ops"]]
        self.assertEqual(kinds, ["host", "kernel", "kernel", "collective"] * 2)
        self.assertEqual(imported.document["source"]["step_ns"], 38_000)  # 20 to 58 us
        self.assertEqual(imported.document["ops"][4]["cost_ns"], {"epyc": 30_000})  # between the returns of the launches

    def test_steps_of_vllm(self) -> None:
        steps = read_steps(vllm_trace(), "t")
        self.assertEqual([(step.step, len(step.kernels.own)) for step in steps], [(0, 3), (1, 4)])  # 2 has no operators
        prompt = import_kineto(vllm_trace(), step=0)
        self.assertEqual(self.costs(prompt, NVIDIA), {"vllm.unified_attention_with_output_0": 7000,
                                                      "all_reduce_0": 6000, "argmax_0": 2000})
        self.assertEqual(by_name(prompt.document)["all_reduce_0"]["attributes"], {"bytes": 4 * 7 * 16})
        self.assertEqual(prompt.notes[0], "step 0: execute_context_1(7)_generation_0(0)")
        token = import_kineto(vllm_trace(), step=1)
        self.assertEqual(self.costs(token, NVIDIA), {"kernel.Kernel2_0": 5000, "kernel.flash_fwd_splitkv_kernel_0": 3000,
                                                     "all_reduce_0": 2000, "argmax_0": 2000})
        last = import_kineto(vllm_trace())
        self.assertEqual((last.document["source"]["step"], len(last.document["ops"])), (2, 3))
        with self.assertRaisesRegex(importers.ImportFailure, "--step 3: the trace has the steps 0, 1, 2"):
            import_kineto(vllm_trace(), step=3)

    def test_older_names_of_vllm_steps(self) -> None:
        trace = vllm_trace()
        for each in trace["traceEvents"]:
            each["name"] = {"execute_context_1(7)_generation_0(0)": "execute_new_1_cached_0",
                            "execute_context_0(0)_generation_1(1)": "execute_new_0_cached_1"}.get(each["name"],
                                                                                                   each["name"])
        self.assertEqual(len(read_steps(trace, "t")), 2)


if __name__ == "__main__":
    unittest.main()
