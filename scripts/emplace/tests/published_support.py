"""Small published tables, made by hand in the forms of NeuSight and Sailor."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from typing import Any

COLUMNS = ("op", "target", "_input_nodes", "meta", "input_shapes", "fw_latency", "bw_latency", "acc_latency",
           "output_shape", "dtype", "Name")
GPU = "NVIDIA_X1"


def _meta(path: str, module: str) -> str:
    return f"{{'nn_module_stack': OrderedDict([('m', <class 'a.Model'>), ('{path}', <class 'torch.nn.{module}'>)])}}"


def step_rows() -> list[tuple[object, ...]]:
    """Rows of a model with one layer. Times in ms: 0.010 of each is launch, as the row "size" shows."""
    add, view = "<built-in function add>", "view"
    x, y = "(2, 8, 4)", "[[2, 8, 4]]"
    return [
        ("placeholder", "x", "{}", "{}", "[]", 0, 0, 0, "(2, 8)", "torch.int64", "x"),
        ("call_method", "size", "{x: None}", "{}", "[[2, 8]]", 0.010, 0, 0, "(1,)", "", "size"),
        ("call_module", "m.wte", "{x: None}", _meta("m.wte", "sparse.Embedding"), "[[2, 8]]", 0.030, 0.020, 0.5, x,
         "torch.float32", "wte"),
        ("call_module", "m.h.0.fc", "{wte: None}", _meta("m.h.0.fc", "linear.Linear"), y, 0.110, 0.210, 0.5, x,
         "torch.float32", "fc"),
        ("call_method", view, "{fc: None, size: None}", _meta("m.h.0", "a.Block"), "[[2, 8, 4], [1]]", 0.011, 0, 0, x,
         "torch.float32", "view"),
        ("call_function", add, "{view: None, wte: None}", _meta("m.h.0", "a.Block"), "[[2, 8, 4], [2, 8, 4]]", 0.040,
         0.010, 0, x, "torch.float32", "add"),
        ("call_module", "m.head", "{add: None}", _meta("m.head", "linear.Linear"), y, 0.210, 0.310, 0.5, "(2, 8, 16)",
         "torch.float32", "head"),
        ("output", "output", "{head: None}", "{}", "[[2, 8, 16]]", 0, 0, 0, "(2, 8, 16)", "torch.float32", "output")]


def table(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue()


def write_step(folder: str, case: str, measured: float, gpu: str = GPU, rows: list[tuple[object, ...]] | None = None,
               **numbers: object) -> pathlib.Path:
    """Writes a step of three layers; returns the path of its table. measured [ms]."""
    path = pathlib.Path(folder, "label", gpu, f"{case}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(COLUMNS, step_rows() if rows is None else rows), encoding="utf-8")
    path.with_suffix(".json").write_text(json.dumps({"num_layer": 3, "e2e_latency": measured, **numbers}),
                                         encoding="utf-8")
    return path


def write_products(folder: str, gpu: str = "NVIDIA X1", count: int = 16) -> pathlib.Path:
    """Writes products that take 0.1 ms and 1 ms per GFLOP; returns the path."""
    rows = [("linear", 0.1 + 2 * m * 64 * 64 / 1e9, gpu, 1, m, 64, 64) for m in range(4096, 4096 * (count + 1), 4096)]
    path = pathlib.Path(folder, "linear.csv")
    path.write_text(table(("OPName", "Latency", "Device", "B", "M", "N", "K"), rows), encoding="utf-8")
    return path


def write_collective(folder: str, name: str, rows: list[tuple[object, object]]) -> pathlib.Path:
    """Writes the times [ms] of a collective by size [MiB]; returns the path."""
    path = pathlib.Path(folder, "X1", "profiled-data-fp32", f"prim_OPT-350_{name}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(("data_size(MB)", "time(ms)"), rows), encoding="utf-8")
    return path


def write_link(folder: str, times: dict[int, float], name: str = "intra_node") -> pathlib.Path:
    """Writes the bandwidths of transfers with these times [us] by size [MiB]; returns the path."""
    path = pathlib.Path(folder, "X1", "profiled-data-fp32", f"p2p_{name}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    bandwidths = tuple(size / 1024 / (time / 1e6) for size, time in times.items())
    path.write_text(table(tuple(map(str, times)), [bandwidths]), encoding="utf-8")
    return path


def write_sailor(folder: str, batch: int, degree: int = 1) -> pathlib.Path:
    """Writes two ops of a micro-batch, whose times [us] are 1000 and 10 a sample; returns the path."""
    path = pathlib.Path(folder, "X1", "profiled-data-fp32", f"OPT-350_mbs{batch}_tp{degree}_algo0.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [(name, time * batch, 2 * time * batch, 8 * batch, 16 * batch, weights, 8 * batch)
            for name, time, weights in (("enc-MLP-GEMM-1", 1000, 16), ("enc-MLP-gelu", 10, 0))]
    path.write_text(table(("op_name", "forward-compute", "backward-compute", "input_size", "output_size", "weights",
                           "activations"), rows), encoding="utf-8")
    return path


def plan_document(layers: list[list[int]], replicas: int = 1, mbs: int = 1, gbs: int = 8, nodes: int = 2,
                  degree: int = 1, real: float = 0.5, memory: float = 7e9) -> dict[str, Any]:
    """Returns a plan of Sailor. real [s]; memory [B]."""
    stage = [[[["X1", degree, "z"]], degree] for _ in range(replicas)]
    pipeline = {"num_stages": len(layers), "layers_per_stage": layers,
                "tmp_per_stage": [json.loads(json.dumps(stage)) for _ in layers], "dp": [replicas] * len(layers)}
    return {"zone": "z", "pipeline_list": [pipeline], "mbs": mbs, "gbs": gbs, "real": real, "red_grads": 0.1,
            "max_mem": memory, "N": nodes}


def write_plan(folder: str, name: str, document: dict[str, Any]) -> pathlib.Path:
    """Writes a plan of the machine m1; returns the path."""
    path = pathlib.Path(folder, "validation", "m1", "OPT-350", f"{name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def write_plan_ops(folder: str, batch: int, degree: int = 1) -> pathlib.Path:
    """Writes the ops of a model by Sailor for plans: times [us], sizes [MiB]; returns the path.

    Embedding 10 and 20 us, a layer 80 + 20 and 160 + 40 us with weights of 4 MiB, the end 30 and 40 us.
    """
    path = write_sailor(folder, batch, degree)
    rows = [("encoder-embedding", 10, 20, 1, 1, 0, 1), ("enc-GEMM", 80, 160, 1, 4, 4, 4),
            ("enc-gelu", 20, 40, 4, 1, 0, 2), ("final-layernorm", 30, 40, 1, 0, 0, 1)]
    path.write_text(table(("op_name", "forward-compute", "backward-compute", "input_size", "output_size", "weights",
                           "activations"), [(name, *(batch * time for time in (forward, backward)), *sizes)
                                            for name, forward, backward, *sizes in rows]), encoding="utf-8")
    return path
