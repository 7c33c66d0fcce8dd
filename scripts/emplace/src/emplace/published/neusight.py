"""The tables of NeuSight (sitar-lab/NeuSight): op times, and steps of transformers with the op times of one layer.

Steps: label/GPU/MODEL-MODE-SEQ-BATCH.json has the measured step, the .csv beside it the torch.fx graph of the model
with one layer. A step is the forward pass, in training also the backward pass, without loss, optimiser and
accumulation of gradients. Ops: dataset/FOLDER/linear.csv, bmm.csv, vec.csv. All times are in ms, all values in f32.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import zlib
from typing import Sequence

from ..importers.dtypes import dtype_name
from . import tables
from .fx_step import FxRow
from .tables import LeftOut, OpCase, PublishedFailure, Row, Shape

_STEP = re.compile(r"(?P<model>.+?)-(?P<mode>inf|train)-(?P<seq>\d+)-(?P<batch>\d+)(?P<plan>-.+)?")
_COLUMNS = ("op", "target", "_input_nodes", "meta", "input_shapes", "fw_latency", "bw_latency", "output_shape", "dtype",
            "Name")
_FX_OPS = ("placeholder", "get_attr", "call_module", "call_function", "call_method", "output")
_LAYER = re.compile(r"\.0(?=['.])")  # of the module path "transformer.h.0.ln_1"
_VECTOR_OPS = {"ln": "layer_norm", "softmax": "softmax", "relu": "relu", "gelu": "gelu", "tanh": "tanh",
               **{f"{name}{operand}": name for name in ("add", "mul", "pow", "div") for operand in ("", "u")}}


@dataclasses.dataclass(frozen=True)
class StepFile:
    case: str
    gpu: str
    path: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Step:
    """A measured step. rows: of the model with one of its num_layers layers, or none; measured [ns]."""

    case: str
    gpu: str
    rows: list[FxRow]
    num_layers: int
    training: bool
    measured: float


def step_files(folder: pathlib.Path) -> list[StepFile]:
    """Returns the measured steps and executed plans. Throws PublishedFailure if there are none."""
    found = [StepFile(f"{path.parent.name}/{path.stem}", path.parent.name, path)
             for path in tables.files(folder, "*.json") if _STEP.fullmatch(path.stem)]
    if not found:
        raise PublishedFailure(f"{folder}: holds no file GPU/MODEL-MODE-SEQ-BATCH.json with MODE inf or train")
    return found


def read_step(file: StepFile, with_table: bool = True) -> Step | LeftOut:
    """Returns a step, or why it is left out, such as no op times. Throws PublishedFailure for a damaged file.

    with_table: read the op times.
    """
    plan = _STEP.sub(r"\g<plan>", file.path.stem)
    if plan:
        return LeftOut(file.case, "fused ops, which have no op times" if plan == "-fusion" else "an executed plan")
    layers, measured = tables.read_numbers(file.path, ("num_layer", "e2e_latency"))
    table = file.path.with_suffix(".csv")
    if with_table and (not table.exists() or layers == 0):
        return LeftOut(file.case, "no op times")
    if layers != int(layers) or layers > 1000:
        raise PublishedFailure(f"{file.path}: num_layer is {layers:g}, expected a whole number up to 1000")
    if measured <= 0:
        raise PublishedFailure(f"{file.path}: e2e_latency is {measured:g}, expected a time above 0")
    return Step(file.case, file.gpu, _rows(table) if with_table else [], int(layers), "-train-" in file.path.name,
                measured * 1e6)


def _rows(path: pathlib.Path) -> list[FxRow]:
    rows = tables.read(path, _COLUMNS)
    known: dict[str, FxRow] = {}
    for row in rows:
        name = row.cells["Name"]
        if not name or name in known:
            raise row.failure("Name", "a name that no row before has")
        for before in row.names("_input_nodes"):
            if before not in known:
                raise row.failure("_input_nodes", f"names of rows before, but there is no {before!r}")
        known[name] = _row(row)
    if rows[-1].cells["op"] != "output":
        raise rows[-1].failure("op", "output in the last row; is the file cut off?")
    if not any(row.in_layer for row in known.values()):
        raise PublishedFailure(f"{path}: has no row of a layer, whose module path has a part 0 (transformer.h.0)")
    return list(known.values())


def _row(row: Row) -> FxRow:
    dtype = dtype_name(row.cells["dtype"]) if row.cells["dtype"] else ""
    if dtype is None:
        raise row.failure("dtype", "an element type such as torch.float32, or nothing")
    in_layer = bool(_LAYER.search(row.cells["meta"])) or ".0." in row.cells["target"]
    return FxRow(row.cells["Name"], row.choice("op", _FX_OPS), _function(row), tuple(row.names("_input_nodes")),
                 row.shape("output_shape"), tuple(row.shapes("input_shapes")), dtype, row.number("fw_latency") * 1e6,
                 row.number("bw_latency") * 1e6, in_layer)


def _function(row: Row) -> str:
    """Returns "addmm" of "<built-in method addmm of type object at 0x..>", "layer_norm" of a module's LayerNorm."""
    target = row.cells["target"]
    if row.cells["op"] == "call_module":
        classes = re.findall(r"<class '(?:\w+\.)*(\w+)'>", row.cells["meta"])
        if not classes:
            raise row.failure("meta", "the classes of the modules, such as <class 'torch.nn.modules.linear.Linear'>")
        return str(classes[-1]).lower().replace("layernorm", "layer_norm")
    if row.cells["op"] != "call_function":
        return str(target.rstrip("_") or target)
    found = re.match(r"<(?:(?:built-in )?(?:function|method) |class ')(?:\w+\.)*(\w+)", target)
    if not found:
        raise row.failure("target", "a function such as <built-in function add>")
    return str(found[1])


def ops(folder: pathlib.Path) -> tuple[list[OpCase], list[LeftOut]]:
    """Returns the op times of all GPUs. Throws PublishedFailure for a damaged file."""
    paths = [path for path in tables.files(folder, "*.csv") if path.stem in ("linear", "bmm", "vec")]
    if not paths:
        raise PublishedFailure(f"{folder}: holds none of linear.csv, bmm.csv, vec.csv")
    cases = []
    for path in paths:
        sizes = "BH" if path.stem == "vec" else "BMNK"
        for row in tables.read(path, ("OPName", "Latency", "Device", *sizes)):
            cases.append(_op(row, [row.count(size) for size in sizes]))
    return cases, []


def _op(row: Row, sizes: Sequence[int]) -> OpCase:
    """Returns B products of [M, N] and [N, K], or an op on [B, H]; "addu" adds a number, "add" a second tensor."""
    gpu, name = row.cells["Device"].strip().replace(" ", "_"), row.cells["OPName"]
    inputs: tuple[Shape, ...] = (tuple(sizes),)
    output, kind, flops = inputs[0], row.path.stem, 0
    if len(sizes) == 4:
        row.choice("OPName", (kind,))
        b, m, n, k = sizes
        inputs, output = (((b, m, n), (b, n, k)), (b, m, k)) if kind == "bmm" else (((b * m, n), (k, n)), (b * m, k))
        flops = 2 * b * m * n * k
    else:
        kind = _VECTOR_OPS[row.choice("OPName", tuple(_VECTOR_OPS))]
        inputs *= 2 if name in ("add", "mul", "pow", "div") else 1
    if not gpu:
        raise row.failure("Device", "the name of a GPU")
    case = f"{gpu}/{name}-{'-'.join(map(str, sizes))}"
    return OpCase(case, gpu, name, f"aten.{kind}", inputs, output, flops, row.time("Latency") * 1e6,
                  zlib.crc32(case.encode()) % 4)  # the same fold for an op that was measured twice
