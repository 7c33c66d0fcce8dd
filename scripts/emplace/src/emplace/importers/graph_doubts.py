"""Likely mistakes in graphs that keep every rule of the format; `emplace graph validate` warns of them.

framework/graph/graph_doubts.h has the same list in C++, with the reasons. Tests compare the messages of both with
tests/golden/graph_doubts.json.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from .dtypes import DTYPE_BITS, dtype_name

SOURCE_KINDS = ("parameter", "constant")  # kinds that keep a value between steps and cost nothing to run
RESIDENT_ROLES = ("parameter", "buffer", "optimizer_state")  # of tensors that must be stored on a device

_FACTOR = 1.9     # counting a multiply-add once, or f32 sizes for f16 elements, gives an error of factor 2
_ROUNDING = 512   # [B] that an allocator may add to a tensor
_DEVICE_CLASSES = ("cpu", "gpu", "network")
_PRODUCTS = {"matmul": 0, "batchmatmul": 0, "mm": 0, "bmm": 0, "gemm": 0, "linear": 0,
             "addmm": 1, "baddbmm": 1}  # position of the first factor
_CONVOLUTIONS = ("conv", "conv1d", "conv2d", "conv3d", "convolution")
_OTHER_WORK = ("convolution_backward", "convtranspose", "dot_general", "conv_general_dilated", "conv2dbackprop",
               "conv3dbackprop", "depthwiseconv2dnative")  # prefixes of kinds that have FLOPs but no formula here


def doubts(document: Mapping[str, Any], device_kinds: Sequence[str] = (), devices: Sequence[str] = ()) -> list[str]:
    """Returns one line for each sort of doubt: the first place, and how many more. `document` must keep the rules.

    If the graph's source says `contracted`, an op stands for a group of ops, and only device kinds and devices are
    checked. device_kinds: names that ops may ask for beside the classes "cpu", "gpu" and "network"; empty: only the
    classes are compared. devices: names of the cluster's devices; empty: `devices` of ops are not compared.
    """
    found: list[str] = []
    graph = _Graph(document)
    if not graph.is_contracted:
        for check in (*_OF_ROLES, _no_flops, _flops, _bytes, _forward_op, _label, _gradient):
            _fold(check(graph), found)
    _fold(_device_kinds(graph, device_kinds), found)
    _fold(_devices(graph, devices), found)
    return found


def role_errors(document: Mapping[str, Any]) -> list[str]:
    """Returns every doubt about roles and sources; files of exporters must have none."""
    graph = _Graph(document)
    return [line() for check in _OF_ROLES for line in check(graph)]


class _Graph:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self.tensors, self.ops = document["tensors"], document["ops"]
        self.is_contracted = document.get("source", {}).get("contracted") is True
        self.producer: list[int | None] = [None] * len(self.tensors)
        self.is_read = [False] * len(self.tensors)
        self.is_awaited = [False] * len(self.ops)
        for index, op in enumerate(self.ops):
            for tensor in op["outputs"]:
                self.producer[tensor] = index
            for tensor in op["inputs"]:
                self.is_read[tensor] = True
            for before in op.get("control_inputs", []):
                self.is_awaited[before] = True

    def at_op(self, index: int) -> str:
        return f"ops[{index}] {_quote(self.ops[index]['name'])}"

    def at_tensor(self, index: int) -> str:
        name = self.tensors[index].get("name", "")
        return f"tensors[{index}]" + (f" {_quote(name)}" if name else "")

    def shape(self, tensor: int) -> list[int]:
        return list(self.tensors[tensor].get("shape", []))


_Line = Callable[[], str]  # a line whose text is computed only if it is reported


def _fold(lines: Iterable[_Line], found: list[str]) -> None:
    first, count = "", 0
    for line in lines:
        first, count = first or line(), count + 1
    if count > 0:
        found.append(first + (f" (and {count - 1} more)" if count > 1 else ""))


def _no_producer(graph: _Graph) -> Iterator[_Line]:
    for t, tensor in enumerate(graph.tensors):
        role = tensor.get("role", "activation")
        if graph.producer[t] is None and role != "input":
            yield lambda: (f"{graph.at_tensor(t)}: role: got {role}, but no op produces the tensor, so every "
                           "device has it at no cost; expected input")


def _produced_input(graph: _Graph) -> Iterator[_Line]:
    for t, tensor in enumerate(graph.tensors):
        producer = graph.producer[t]
        if producer is not None and tensor.get("role", "activation") == "input":
            made_by = graph.at_op(producer)
            yield lambda: (f"{graph.at_tensor(t)}: role: got input, but {made_by} produces the tensor; expected "
                           "another role")


def _alias(graph: _Graph) -> Iterator[_Line]:
    for t, tensor in enumerate(graph.tensors):
        producer, of = graph.producer[t], tensor.get("alias_of")
        op = graph.ops[producer] if producer is not None else {"inputs": [], "outputs": []}
        if of is not None and of not in op["inputs"] and of not in op["outputs"]:
            yield lambda: (f"{graph.at_tensor(t)}: alias_of: got {of}; expected a tensor that the alias's producer "
                           "reads or makes")


def _resident(graph: _Graph) -> Iterator[_Line]:
    for t, tensor in enumerate(graph.tensors):
        producer, role = graph.producer[t], tensor.get("role", "activation")
        if producer is not None and tensor.get("alias_of") is None and role in RESIDENT_ROLES \
                and graph.ops[producer]["kind"] not in SOURCE_KINDS:
            made_by, kind = graph.at_op(producer), graph.ops[producer]["kind"]
            yield lambda: (f"{graph.at_tensor(t)}: role: got {role}, but {made_by} of kind {kind} makes it in every "
                           "step; expected an op of kind parameter or constant, or an alias_of")


def _source(graph: _Graph) -> Iterator[_Line]:
    for v, op in enumerate(graph.ops):
        if op["kind"] in SOURCE_KINDS and (op["inputs"] or op.get("flops", 0)):
            yield lambda: f"{graph.at_op(v)}: kind: a {op['kind']} costs nothing; expected neither inputs nor flops"


_OF_ROLES = (_no_producer, _produced_input, _alias, _resident, _source)


def _base(kind: str) -> str:
    """Returns the base of a kind: addmm for aten.addmm.default, batchmatmul for BatchMatMulV2, conv for onnx.Conv."""
    name = kind
    if kind.startswith(("aten.", "aten::")):
        name = kind[6 if kind[4] == ":" else 5:].partition(".")[0].removesuffix("_")
    elif kind.startswith("onnx."):
        name = kind[5:].rpartition(".")[2]
    elif kind.startswith("jax."):
        name = kind[4:]
    return re.sub(r"V[0-9]+$", "", name).lower()


def _has_work(base: str) -> bool:
    return base in _PRODUCTS or base in _CONVOLUTIONS or base.startswith(_OTHER_WORK)


def _is_counted(graph: _Graph, op: Mapping[str, Any]) -> bool:
    """Returns whether the op's cost depends on FLOPs and its output has elements."""
    return not op.get("cost_ns") and any(graph.tensors[t]["bytes"] > 0 for t in op["outputs"])


def _expected_flops(graph: _Graph, op: Mapping[str, Any]) -> list[float]:
    """Returns the possible FLOP of a product or convolution, the most likely first; empty: no formula applies."""
    base = _base(op["kind"])
    first = _PRODUCTS.get(base, 0)
    if len(op["outputs"]) != 1 or len(op["inputs"]) < first + 2:
        return []
    a, b = (graph.shape(t) for t in op["inputs"][first:first + 2])
    out = graph.shape(op["outputs"][0])
    if min(len(a), len(b), len(out)) < 2 or 0 in (*a, *b, *out):
        return []
    sizes = [float(math.prod(shape)) for shape in (a, b, out)]
    if base in _PRODUCTS:
        batch = math.prod(b[:-2])  # one matrix for each result, or 1: the same matrix for all
        if batch != 1 and batch != math.prod(a[:-2]):
            return []
        # (batch m k) (batch k n) / (batch m n) = batch k^2, however the factors are transposed
        inner = math.sqrt(sizes[0] * sizes[1] / sizes[2] / batch)
        return [2 * sizes[2] * size for size in a[-2:] if size in b[-2:] and abs(size - inner) < 0.5][:1]
    if base in _CONVOLUTIONS:
        names_first = op["kind"].startswith(("aten", "onnx"))  # [filters, channels, ...], else [..., channels, filters]
        filters = (b[0], b[-1]) if names_first else (b[-1], b[0])
        found = [2 * sizes[2] * sizes[1] / count for count in filters if count in out]
        return found + [2 * sizes[0] * sizes[1] / b[0]] if found else []  # the last one: transposed
    return []


def _factors(graph: _Graph, op: Mapping[str, Any]) -> str:
    shapes = [graph.shape(t) for t in op["inputs"]]
    return " x ".join(str(shape) for shape in shapes if len(shape) > 1)


def _no_flops(graph: _Graph) -> Iterator[_Line]:
    for v, op in enumerate(graph.ops):
        if op.get("flops", 0) == 0 and _has_work(_base(op["kind"])) and _is_counted(graph, op):
            yield lambda: (
                f"{graph.at_op(v)}: flops: got 0, so only the bytes of this {op['kind']} have a cost; expected "
                + ("".join(f"about {count:.0f} for {_factors(graph, op)}" for count in _expected_flops(graph, op)[:1])
                   or "its FLOPs, a multiply-add counting two"))


def _flops(graph: _Graph) -> Iterator[_Line]:
    for v, op in enumerate(graph.ops):
        flops = op.get("flops", 0)
        if flops == 0 or op.get("cost_ns") or not _has_work(_base(op["kind"])):
            continue
        expected = _expected_flops(graph, op)
        spare = 3 * math.prod(graph.shape(op["outputs"][0])) if expected else 0  # for a bias or a scale
        if expected and not any(count <= _FACTOR * flops and flops <= _FACTOR * count + spare for count in expected):
            yield lambda: (
                f"{graph.at_op(v)}: flops: got {flops:.0f}; expected about {expected[0]:.0f} for "
                f"{_factors(graph, op)}, a multiply-add counting two")


def _bytes(graph: _Graph) -> Iterator[_Line]:
    for t, tensor in enumerate(graph.tensors):
        shape, dtype = graph.shape(t), dtype_name(tensor.get("dtype", "")) or ""
        bits = DTYPE_BITS.get(dtype, 0)
        if not shape or not bits:
            continue
        expected, size = math.prod(float(extent) for extent in shape) * bits / 8, float(tensor["bytes"])
        if size > max(_FACTOR * expected, expected + _ROUNDING) or _FACTOR * size < expected:
            yield lambda: (
                f"{graph.at_tensor(t)}: bytes: got {graph.tensors[t]['bytes']}; expected about "
                f"{math.ceil(expected):.0f} for {shape} of {dtype}")


def _forward_op(graph: _Graph) -> Iterator[_Line]:
    names = {op["name"] for op in graph.ops}
    for v, op in enumerate(graph.ops):
        forward = op.get("attributes", {}).get("forward_op")
        if isinstance(forward, str) and forward not in names:
            yield lambda: (f"{graph.at_op(v)}: attributes.forward_op: no op is called {_quote(forward)}"
                           f"{_guess(forward, sorted(names))}")


def _label(graph: _Graph) -> Iterator[_Line]:
    count: dict[str, int] = {}
    for op in graph.ops:
        if op.get("colocate"):
            count[op["colocate"]] = count.get(op["colocate"], 0) + 1
    for v, op in enumerate(graph.ops):
        label = op.get("colocate")
        if label and count[label] == 1:
            yield lambda: (f"{graph.at_op(v)}: colocate: no other op has the label {_quote(label)}"
                           f"{_guess(label, sorted(count.keys() - {label}))}")


def _gradient(graph: _Graph) -> Iterator[_Line]:
    for t, tensor in enumerate(graph.tensors):
        producer, role = graph.producer[t], tensor.get("role", "activation")
        if producer is None or graph.is_read[t] or graph.is_awaited[producer] or tensor["bytes"] == 0:
            continue
        op = graph.ops[producer]
        alone = op.get("phase", "forward") == "backward" and role == "activation" \
            and not any(graph.is_read[other] for other in op["outputs"])
        if role == "gradient" or alone:
            made_by = graph.at_op(producer)
            yield lambda: (f"{graph.at_tensor(t)}: no op reads this gradient of {made_by}; expected an op that does, "
                           "or the role output")


def _device_kinds(graph: _Graph, device_kinds: Sequence[str]) -> Iterator[_Line]:
    choices = sorted({*_DEVICE_CLASSES, *device_kinds})
    for v, op in enumerate(graph.ops):
        for name in op.get("device_kinds") or []:
            if name in choices or not device_kinds and name.lower() not in _DEVICE_CLASSES:
                continue
            near = name.lower() if name.lower() in choices else ""
            yield lambda: (
                f"{graph.at_op(v)}: device_kinds: no device is of the class or kind {_quote(name)}"
                + (f"; did you mean {_quote(near)}?" if near else _guess(name, choices)))


def _devices(graph: _Graph, devices: Sequence[str]) -> Iterator[_Line]:
    for v, op in enumerate(graph.ops if devices else ()):
        for pattern in op.get("devices") or []:
            expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
            if any(re.fullmatch(expression, device, re.DOTALL) for device in devices):
                continue
            yield lambda: f"{graph.at_op(v)}: devices: no device matches {_quote(pattern)}" + _guess(pattern, devices)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _guess(value: str, choices: Sequence[str]) -> str:
    """Returns the nearest choice if one is near, by the rule of framework/base/error.h."""
    nearest, least = "", max(2, len(value.encode()) // 3) + 1
    for choice in choices:
        distance = _edit_distance(value.encode(), choice.encode(), least)
        if distance < least:
            nearest, least = choice, distance
    return f"; did you mean {_quote(nearest)}?" if nearest else ""


def _edit_distance(a: bytes, b: bytes, limit: int) -> int:
    """Returns the Levenshtein distance, or some number >= limit if it is not below the limit."""
    if abs(len(a) - len(b)) >= limit:
        return limit
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1]
