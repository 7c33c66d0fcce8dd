"""Small traces made by hand, for the tests of their readers."""

from __future__ import annotations

import math
import sqlite3
from typing import Any


def tensor(storage: int, shape: list[int], number: int | None = None, item: int = 4) -> tuple[list, list, str]:
    """(value, shape, type) of an f32 tensor as an execution trace has it; `number`: of the tensor itself."""
    elements = math.prod(shape)
    return [number or storage, storage, 0, elements, item, "cpu"], shape, "Tensor(float)"


def node(number: int, parent: int, name: str, inputs: list = (), outputs: list = (), schema: str = "", seq: int = -1,
         **more: Any) -> dict[str, Any]:
    """A node of an execution trace, schema 1.1.1-chakra.0.0.4; arguments as (value, shape, type)."""
    def group(arguments: list) -> dict[str, list]:
        full = [argument if isinstance(argument, tuple) else (argument, [], "Int") for argument in arguments]
        return {"values": [a[0] for a in full], "shapes": [a[1] for a in full], "types": [a[2] for a in full]}
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": group(inputs), "outputs": group(outputs),
            "attrs": [{"name": "rf_id", "type": "uint64", "value": number},
                      {"name": "seq_id", "type": "int64", "value": seq},
                      {"name": "op_schema", "type": "string", "value": schema}], **more}


MUL = "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
ADD = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"


def training_step() -> dict[str, Any]:
    """y = x w [4, 6] x [6, 3], its gradient, and w += state * gradient in place; w is 2, x is 1."""
    x, w, y = tensor(1, [4, 6]), tensor(2, [6, 3]), tensor(3, [4, 3])
    dy, xt, dw, state = tensor(4, [4, 3]), tensor(1, [6, 4], 9), tensor(5, [6, 3]), tensor(6, [6, 3])
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "now", "start_ts": 0, "finish_ts": 1, "nodes": [
        node(1, 1, "[pytorch|profiler|execution_trace|process]"),
        node(2, 1, "[pytorch|profiler|execution_trace|thread]"),
        node(4, 3, "aten::mm", [x, w], [y], seq=7),     # nodes stand in the order in which they ended
        node(3, 2, "aten::matmul", [x, w], [y], seq=7),
        node(5, 2, "aten::ones_like", [y], [dy]),
        node(8, 7, "aten::t", [x], [xt]),
        node(9, 7, "aten::mm", [xt, dy], [dw]),
        node(7, 6, "MmBackward0", [dy], [dw], seq=7),
        node(6, 2, "autograd::engine::evaluate_function: MmBackward0"),
        node(11, 10, "aten::mul_", [state, dw], [state], MUL),
        node(12, 10, "aten::add_", [w, state], [w], ADD),
        node(10, 2, "Optimizer.step#SGD.step")]}


def event(name: str, begin: float, duration: float, function: int, category: str = "cpu_op", thread: int = 1,
          **arguments) -> dict:
    """An event of the host; times in [us]. `function`: the number of the call."""
    arguments = {key.replace("_", " ") if key.startswith("Input") or key.startswith("Sequence") else key: value
                 for key, value in arguments.items()}
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": begin, "dur": duration,
            "args": {"External id": 500 + function, "Record function id": function, **arguments}}


def shapes(*sizes: list[int]) -> dict:
    return {"Input_Dims": list(sizes), "Input_type": ["float"] * len(sizes)}


def kernel(name: str, begin: float, duration: float, correlation: int, **arguments) -> dict:
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begin, "dur": duration,
            "args": {"stream": 7, "correlation": correlation, **arguments}}


def launch(begin: float, correlation: int, thread: int = 1) -> dict:
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": thread, "ts": begin,
            "dur": 1, "args": {"correlation": correlation}}


def cpu_trace() -> dict:
    """The step of training_step(), on the CPU, as torch.profiler writes it; times in [us]."""
    return {"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
        event("aten::matmul", 10, 30, 3, Sequence_number=7, **shapes([4, 6], [6, 3])),
        event("aten::mm", 15, 20, 4, Sequence_number=7, **shapes([4, 6], [6, 3])),
        event("aten::ones_like", 45, 5, 5, **shapes([4, 3])),
        event("autograd::engine::evaluate_function: MmBackward0", 60, 40, 6, thread=2, Sequence_number=7),
        event("MmBackward0", 61, 35, 7, thread=2, Sequence_number=7, **shapes([4, 3])),
        event("aten::t", 62, 3, 8, thread=2, **shapes([4, 6])),
        event("aten::mm", 70, 20, 9, thread=2, **shapes([6, 4], [4, 3])),
        event("Optimizer.step#SGD.step", 110, 50, 10, category="user_annotation"),
        event("aten::mul_", 120, 4, 11, **shapes([6, 3], [6, 3])),
        event("aten::add_", 130, 6, 12, **shapes([6, 3], [6, 3]))]}


def gpu_trace() -> dict:
    """The same on a GPU: kernels name their operator, or are found by their launch."""
    trace = cpu_trace()
    trace["deviceProperties"] = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    trace["traceEvents"] += [
        kernel("gemm", 50, 2.5, 1, **{"External id": 504}), kernel("split_k", 53, 0.5, 2, **{"External id": 504}),
        launch(47, 3), kernel("fill", 54, 1.25, 3),
        launch(75, 4, thread=2), kernel("gemm", 80, 3, 4),
        kernel("mul", 125, 1, 5, **{"External id": 511}), kernel("add", 135, 2, 6, **{"External id": 512}),
        kernel("of somebody else", 140, 9, 99)]
    return trace


def rank_trace(rank: int = 0, late: float = 0) -> dict:
    """A step of one of two ranks of A100s: a copy, two products, two collectives, a sum; times in [us].

    late: by how much later than another one the rank joins the all-reduce, whose transfer takes 30 us - late.
    """
    def collective(name: str, begin: float, number: int, operator: str, size: int, **recorded: Any) -> list[dict]:
        arguments = {key.replace("_", " "): value for key, value in recorded.items()}
        parameters = event("record_param_comms", begin + 1, 8, number + 1, **shapes([size]))
        parameters["args"] |= arguments
        return [event(operator, begin, 10, number), parameters,
                event(f"nccl:{name}", begin + 2, 6, number + 2, category="user_annotation", **shapes([size])),
                launch(begin + 3, number)]

    def on(stream: int, each: dict) -> dict:
        each["args"]["stream"] = stream
        return each
    copy = on(22, kernel("Memcpy HtoD (Pinned -> Device)", 13, 4, 1, bytes=96)) | {"cat": "gpu_memcpy"}
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": [
        event("aten::copy_", 10, 5, 1, **shapes([4, 6], [4, 6])), launch(11, 1), copy,
        event("aten::mm", 20, 5, 2, **shapes([4, 6], [6, 3])), launch(21, 2), kernel("gemm", 22, 20, 2),
        *collective("all_reduce", 30, 10, "c10d::allreduce_", 1000),
        on(20, kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 43 + late, 30 - late, 10)),
        event("aten::mm", 45, 5, 3, **shapes([4, 6], [6, 3])), launch(46, 3), kernel("gemm", 47, 10, 3),
        *collective("all_to_all", 60, 20, "c10d::alltoall_base_", 100, Collective_name="all_to_allv",
                    In_msg_nelems=200, dtype="Float", Group_size=4, Process_Group_Name="pg1",
                    Process_Group_Ranks="[0, 1, 2, 3]"),
        on(20, kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 75, 15, 20)),
        event("aten::add_", 80, 5, 4, **shapes([6, 3], [6, 3])), launch(81, 4), kernel("add", 95, 3, 4)]}


def host_trace() -> dict:
    """A step of one thread with two waits; times in [us]. Kernels begin 2 us after their launch, or 1 us after another.

    The stream is synchronised by a call and by a copy that blocks.
    """
    def call(name: str, begin: float, duration: float, number: int) -> dict:
        return launch(begin, number) | {"name": name, "dur": duration}
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": [
        event("aten::mm", 9, 10, 1, **shapes([4, 6], [6, 3])),
        call("cudaLaunchKernel", 10, 2, 1), kernel("gemm", 14, 10, 1),
        call("cudaLaunchKernel", 15, 2, 2), kernel("gemm", 25, 5, 2),
        call("cudaStreamSynchronize", 18, 15, 3),
        event("aten::add_", 35, 4, 2, **shapes([6, 3], [6, 3])),
        call("cudaLaunchKernel", 36, 2, 4), kernel("add", 40, 3, 4),
        event("aten::copy_", 43, 12, 3, **shapes([6, 3], [6, 3])), call("cudaMemcpyAsync", 44, 10, 5),
        kernel("Memcpy DtoH (Device -> Pageable)", 48, 4, 5, bytes=72) | {"cat": "gpu_memcpy"},
        event("aten::mul_", 55, 4, 4, **shapes([6, 3], [6, 3])),
        call("cudaLaunchKernel", 56, 2, 6), kernel("mul", 60, 1, 6),
        call("cudaDeviceSynchronize", 59, 5, 7)]}


def python_trace(module: str = "m", slow: float = 0) -> dict:
    """A step with Python functions and three launches; times in [us].

    From the first launch to the last, 4 to 40, a function of the module has 10 of its own and aten::add has 8.
    slow: by how much longer each of them takes.
    """
    def host(name: str, begin: float, duration: float, category: str = "python_function") -> dict:
        return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": duration, "args": {}}
    late = 2 * slow
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": [
        host("/a/main.py(1): main", 0, 60 + late),
        host("aten::mm", 1, 9, "cpu_op"), launch(2, 1) | {"dur": 2}, kernel("gemm", 6, 3, 1),
        host(f"/a/{module}.py(9): f", 11, 20 + late), host("aten::add", 13 + slow, 10 + slow, "cpu_op"),
        launch(17 + late, 2) | {"dur": 2}, kernel("add", 21 + late, 3, 2),
        host("aten::relu", 33 + late, 10, "cpu_op"), launch(38 + late, 3) | {"dur": 2},
        kernel("relu", 42 + late, 3, 3)]}


def nsight_database(path: str) -> None:
    """gpu_trace() as `nsys export --type sqlite` writes it: the documented tables, with the columns that are read."""
    trace = gpu_trace()["traceEvents"]
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE NVTX_EVENTS(start INT NOT NULL, end INT, eventType INT, text TEXT, globalTid INT, textId INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId INT, nameId INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, correlationId INT);
        CREATE TABLE TARGET_INFO_GPU(id INT, name TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');
        INSERT INTO NVTX_EVENTS VALUES (5000, NULL, 34, 'a mark', 1, NULL);
    """)
    hosts = [each for each in trace if each.get("cat") in ("cpu_op", "user_annotation")]
    operators = {each["args"]["External id"]: each for each in hosts if each["cat"] == "cpu_op"}
    for number, each in enumerate(hosts, 1):
        arguments = each["args"]
        text = each["name"]
        if "Sequence number" in arguments:
            text += f", seq = {arguments['Sequence number']}"
        text += f", op_id = {number}"
        if "Input Dims" in arguments:
            text += f", sizes = {arguments['Input Dims']}"
        database.execute("INSERT INTO StringIds VALUES (?, ?)", (number, text))
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?)", (*_nanos(each), each["tid"], number))
    for each in trace:
        if each.get("cat") == "kernel":
            correlation = each["args"]["correlation"]
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?)",
                             (*_nanos(each), correlation))
            operator = operators.get(each["args"].get("External id"))
            if operator is not None:  # launched within it
                begin = _nanos(operator)[0] + 100
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 0)",
                                 (begin, begin + 100, operator["tid"], correlation))
        elif each.get("cat") == "cuda_runtime":
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 0)",
                             (*_nanos(each), each["tid"], each["args"]["correlation"]))
    database.commit()
    database.close()


def _nanos(each: dict[str, Any]) -> tuple[int, int]:
    return round(1000 * each["ts"]), round(1000 * (each["ts"] + each["dur"]))
