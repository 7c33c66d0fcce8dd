"""The op tables of Sailor (eth-easl/sailor): OPT-350M in f32, named ops by micro-batch and tensor-parallel degree.

A file is GPU/profiled-data-fp32/OPT-350_mbsM_tpT_algoA.csv, with times in us and sizes in MiB. Ops of a degree above 1
contain collectives and are left out. A fold is a micro-batch, so a fit predicts a micro-batch that it has not seen.
"""

from __future__ import annotations

import pathlib
import re

from . import tables
from .tables import LeftOut, OpCase, PublishedFailure, Row

_FILE = re.compile(r"(?P<model>.+)_mbs(?P<batch>\d+)_tp(?P<degree>\d+)_algo\d+")
_SEQUENCE, _HEAD = 2048, 64  # OPT-350M: tokens of a sample; width of an attention head
# Kinds of the forward and the backward op.
_KINDS = {
    "encoder-embedding": ("embedding", "embedding_dense_backward"),
    "enc-1st-layernorm": ("layer_norm", "native_layer_norm_backward"),
    "enc-attention-qkv": ("linear", "linear_backward"),
    "enc-attention-score": ("baddbmm", "bmm"),
    "enc-attention-softmax": ("softmax", "_softmax_backward_data"),
    "enc-attention-dropout": ("native_dropout", "native_dropout_backward"),
    "enc-attention-context": ("baddbmm", "bmm"),
    "enc-attention-dense": ("linear", "linear_backward"),
    "enc-post-attention-dropout": ("native_dropout", "native_dropout_backward"),
    "enc-2nd-layernorm": ("layer_norm", "native_layer_norm_backward"),
    "enc-MLP-GEMM-1": ("linear", "linear_backward"),
    "enc-MLP-gelu": ("gelu", "gelu_backward"),
    "enc-MLP-GEMM-2": ("linear", "linear_backward"),
    "enc-post-MLP-dropout": ("native_dropout", "native_dropout_backward"),
    "final-layernorm": ("layer_norm", "native_layer_norm_backward"),
    "gpt-post-process": ("linear", "linear_backward"),
}
_COLUMNS = ("op_name", "forward-compute", "backward-compute", "input_size", "output_size", "weights", "activations")


def ops(folder: pathlib.Path) -> tuple[list[OpCase], list[LeftOut]]:
    """Returns forward and backward ops, and the files left out. Throws PublishedFailure for a damaged file."""
    cases: list[OpCase] = []
    left_out: list[LeftOut] = []
    for path in tables.files(folder, "*_mbs*_tp*_algo*.csv"):
        name = _FILE.fullmatch(path.stem)
        if not name or int(name["batch"]) == 0:
            raise PublishedFailure(f"{path}: expected a name such as OPT-350_mbs4_tp1_algo0.csv")
        gpu = path.parent.parent.name
        case = f"{gpu}/{path.stem}"
        if int(name["degree"]) != 1:
            left_out.append(LeftOut(case, "ops that contain collectives"))
            continue
        for row in tables.read(path, _COLUMNS):
            op = row.choice("op_name", tuple(_KINDS))
            for backward, column in enumerate(("forward-compute", "backward-compute")):
                cases.append(OpCase(
                    f"{case}/{op}/{'backward' if backward else 'forward'}", gpu, op, f"aten.{_KINDS[op][backward]}",
                    ((_elements(row, "input_size"),), (_elements(row, "weights"),)), (_elements(row, "activations"),),
                    _flops(row, op, int(name["batch"]), bool(backward)), row.time(column) * 1e3, int(name["batch"])))
    return cases, left_out


def _elements(row: Row, column: str) -> int:
    return round(row.number(column) * 2**20 / 4)


def _flops(row: Row, op: str, batch: int, backward: bool) -> int:
    """Returns the work of a product [FLOP]; other ops cost what their bytes do.

    The backward op has the gradients of all inputs, but not that of weights: it takes as long as the forward op, and
    two products would exceed the peak of every GPU.
    """
    if op == "enc-attention-score":
        return 2 * _elements(row, "activations") * _HEAD * (1 + backward)
    if op == "enc-attention-context":
        return 2 * _elements(row, "activations") * _SEQUENCE * (1 + backward)
    return 2 * batch * _SEQUENCE * _elements(row, "weights") if _KINDS[op][0] == "linear" else 0
