"""The tables of Sailor (eth-easl/sailor): ops of OPT-350M in f32, collectives, and bandwidths of links.

They lie in GPU/profiled-data-fp32/. Sizes are in MiB.

OPT-350_mbsM_tpT_algoA.csv    named ops by micro-batch and tensor-parallel degree [us]. Ops of a degree above 1 contain
                              collectives and are left out. A fold is a micro-batch, so a fit predicts a micro-batch
                              that it has not seen.
prim_OPT-350_NAME_Ngpus.csv   a collective on N GPUs by the size of one GPU's input [ms]. Sizes are rounded down. Times
                              of 1e6 and more mark failures. A fold is every fourth size.
p2p_LINK.csv                  sizes, and below them the bandwidths of transfers from one GPU to another [GiB/s]
"""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import re
from typing import Iterator, Sequence

from . import tables
from .tables import LeftOut, LinkCase, OpCase, PublishedFailure, Row, Shape

_FILE = re.compile(r"(?P<model>.+)_mbs(?P<batch>\d+)_tp(?P<degree>\d+)_algo\d+")
_COLLECTIVE = re.compile(r"prim_.+_(?P<name>all_gather|all_reduce|all_to_all|reduce_scatter)"
                         r"_(?P<gpus>[2-9]|[1-9]\d{1,4})gpus")
_SIZE, _TIME = "data_size(MB)", "time(ms)"
_FAILED, _TOO_LARGE = 1e6, 1e9  # [ms] written in the place of a time
_LARGEST = 1e6  # [MiB], [GiB/s]
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


def ops(folder: pathlib.Path) -> tuple[list[OpCase | LinkCase], list[LeftOut]]:
    """Returns forward and backward ops, collectives and transfers, and those left out.

    Throws PublishedFailure for a damaged file, and if there is no file.
    """
    paths = tables.files(folder, "*.csv")
    found = [case for pattern, read in _READERS.items() for path in paths if path.match(pattern) for case in read(path)]
    if not found:
        raise PublishedFailure(f"{folder}: holds no file {', '.join(_READERS)}")
    collective = [case for case in found if isinstance(case, OpCase) and case.group_size > 1]
    return ([case for case in found if isinstance(case, OpCase) and case.group_size == 1] + _with_folds(collective)
            + [case for case in found if isinstance(case, LinkCase)],
            [case for case in found if isinstance(case, LeftOut)])


def _named_ops(path: pathlib.Path) -> Iterator[OpCase | LeftOut]:
    name = _FILE.fullmatch(path.stem)
    if not name or int(name["batch"]) == 0:
        raise PublishedFailure(f"{path}: expected a name such as OPT-350_mbs4_tp1_algo0.csv")
    if int(name["degree"]) != 1:
        yield LeftOut(_case(path), "ops that contain collectives")
        return
    for row in tables.read(path, _COLUMNS):
        op = row.choice("op_name", tuple(_KINDS))
        for backward, column in enumerate(("forward-compute", "backward-compute")):
            yield OpCase(
                _case(path, op, ("forward", "backward")[backward]), _gpu(path), op, f"aten.{_KINDS[op][backward]}",
                ((_elements(row, "input_size"),), (_elements(row, "weights"),)), (_elements(row, "activations"),),
                _flops(row, op, int(name["batch"]), bool(backward)), row.time(column) * 1e3, int(name["batch"]))


def collectives(path: pathlib.Path) -> Iterator[OpCase | LeftOut]:
    found = _COLLECTIVE.fullmatch(path.stem)
    if not found:
        raise PublishedFailure(f"{path}: expected a name such as prim_OPT-350_all_reduce_4gpus.csv, with all_gather, "
                               "all_reduce, all_to_all or reduce_scatter on at least 2 GPUs")
    name, gpus = found["name"], int(found["gpus"])
    for row in tables.read(path, (_SIZE, _TIME)):
        case, size, time = _case(path, f"{row.cells[_SIZE]}MiB"), row.number(_SIZE), row.time(_TIME)
        if size > _LARGEST:
            raise row.failure(_SIZE, f"a size from 0 to {_LARGEST:g}")
        count = _elements(row, _SIZE)
        output = {"all_gather": count * gpus, "reduce_scatter": count // gpus}.get(name, count)
        if time >= _FAILED:
            yield LeftOut(case, "its measurement failed" if time < _TOO_LARGE else "too large to be measured")
        elif count == 0:
            yield LeftOut(case, "its size is rounded down to 0")
        else:
            yield OpCase(case, _gpu(path), f"{name}, {gpus} GPUs", f"collective.{name}", ((count,),), (output,), 0,
                         time * 1e6, 0, _totals("collectives", size), gpus)


def _with_folds(cases: Sequence[OpCase]) -> list[OpCase]:
    """Returns collectives in four folds. A size is in the same fold in all tables of a GPU."""
    sizes: dict[str, set[tuple[Shape, ...]]] = collections.defaultdict(set)
    for case in cases:
        sizes[case.gpu].add(case.inputs)
    folds = {(gpu, size): place % 4 for gpu, found in sizes.items() for place, size in enumerate(sorted(found))}
    return [dataclasses.replace(case, fold=folds[case.gpu, case.inputs]) for case in cases]


def links(path: pathlib.Path) -> Iterator[LinkCase]:
    for row in tables.read(path):
        if all(column == cell for column, cell in row.cells.items()):
            continue  # the program that wrote the file appends further runs with their first line
        for column in row.cells:
            if not re.fullmatch(r"[1-9]\d{0,5}", column):
                raise PublishedFailure(f"{path}:1: has a column {column!r}, expected sizes such as 64 [MB]")
            if not 1 / _LARGEST <= row.number(column) <= _LARGEST:
                raise row.failure(column, f"a bandwidth from {1 / _LARGEST:g} to {_LARGEST:g}")
            yield LinkCase(_case(path, f"{column}MiB"), _gpu(path), path.stem, int(column) * 2**20,
                           int(column) / 1024 / row.number(column) * 1e9, _totals("transfers", int(column)))


_READERS = {"*_mbs*_tp*_algo*.csv": _named_ops, "prim_*.csv": collectives, "p2p_*.csv": links}


def _case(path: pathlib.Path, *parts: str) -> str:
    return "/".join((_gpu(path), path.stem, *parts))


def _gpu(path: pathlib.Path) -> str:
    return path.parent.parent.name


def _totals(what: str, mebibytes: float) -> tuple[str, str]:
    limit = next((f"up to {most} MiB" for most in (16, 256) if mebibytes <= most), "above 256 MiB")
    return f"all {what}", f"{what} {limit}"


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
