"""Weights that stay in the CPU's memory and are copied to a GPU each time their module runs there.

Two rules of when a copy begins; both are ops and control inputs of the graph, so that every simulator knows them:

- `with_hooks`: a hook of accelerate copies the weights of a module before its forward() and drops them after it. A hook
  that copies waits until the copy is there, so the run before it is over when the copy begins.
- `with_buffers`: each GPU has two buffers for what is copied. The weights of a run are copied as soon as the run that
  last had their buffer, the second before it among those that copy, has read its own for the last time.

A *run* is a row of ops of one module, in program order. For each weight and each run that reads it there is one op, a
view of the parameter, at no cost, where the parameter is; its readers get the copy, which is freed after the last of
them. Views of a weight that an earlier run made are made anew, so that no copy outlives its run. Updates read the
parameter itself: they run where it is, with the optimiser's state, as ZeRO-Offload has it (Ren et al., USENIX ATC 2021).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from . import grain
from .grain import is_source
from .modules import path_of

KIND = "aten.view"
BUFFERS = 2


@dataclasses.dataclass
class Run:
    """ops: in program order. weights: [tensor] those read, views of them too, in the order of their first readers;
    last: op that reads one of them last."""

    ops: list[int]
    weights: list[int] = dataclasses.field(default_factory=list)
    last: int = -1


@dataclasses.dataclass(frozen=True)
class Load:
    """A run whose weights are copied. run: its number; weights: [tensor] those that are copied; after: the op that it
    waits for (None: nothing); before: the op that it stands before in the program."""

    run: int
    weights: Sequence[int]
    after: int | None
    before: int


def with_hooks(document: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
    """The document with loads of all weights by accelerate's rule; on the parameter's own device they copy nothing.

    Second: [num_ops] the op of `document` whose device each op has: the parameter for what loads it.
    """
    runs = runs_of(document)
    position = _first_readers(document, runs)
    loads = [Load(number, run.weights, runs[number - 1].ops[-1] if number else None, position[number])
             for number, run in enumerate(runs) if run.weights]
    return _with_loads(document, runs, loads)


def with_buffers(document: dict[str, Any], device_of_op: Sequence[int]) -> tuple[dict[str, Any], list[int]]:
    """The document with loads of the weights that are not where a run reads them, by two buffers on each device.

    device_of_op: [num_ops]. Second: as of `with_hooks`. A load stands in the program behind the op that it waits for.
    """
    runs = runs_of(document)
    return _with_loads(document, runs, buffered(document, device_of_op, runs))


def buffered(document: dict[str, Any], device_of_op: Sequence[int], runs: Sequence[Run] | None = None) -> list[Load]:
    """The loads of `with_buffers` in program order; the k-th of a device has its buffer k mod 2."""
    runs = runs_of(document) if runs is None else runs
    made = grain.producers(document)
    order = grain.order(document)
    next_op = dict(zip(order, order[1:]))
    first = next(op for op in order if not is_source(document["ops"][op]))
    loads: list[Load] = []
    of_device: dict[int, list[int]] = {}  # runs that copy
    for number, run in enumerate(runs):
        device = device_of_op[run.ops[0]]
        away = [weight for weight in run.weights if device_of_op[_maker(made, weight)] != device]
        if not away:
            continue
        before = of_device.setdefault(device, [])
        after = runs[before[-BUFFERS]].last if len(before) >= BUFFERS else None
        loads.append(Load(number, away, after, first if after is None else next_op[after]))
        before.append(number)
    return loads


def runs_of(document: dict[str, Any]) -> list[Run]:
    """The runs of all modules, without sources and updates, in program order."""
    ops = document["ops"]
    weight_of = _weights(document)
    runs: list[Run] = []
    path: str | None = None
    for op in grain.order(document):
        if is_source(ops[op]) or ops[op].get("phase") == "update":
            continue
        if path_of(ops[op]) != path or not runs:
            path = path_of(ops[op])
            runs.append(Run([]))
        run = runs[-1]
        run.ops.append(op)
        for tensor in ops[op]["inputs"]:
            if tensor in weight_of:
                run.last = op
                if weight_of[tensor] not in run.weights:
                    run.weights.append(weight_of[tensor])
    return runs


def is_weight(document: dict[str, Any], op: dict[str, Any]) -> bool:
    """A parameter, or what loads it: what stays on the CPU if its module is offloaded."""
    return "loads" in op.get("attributes", {}) or (
        op["kind"] == "parameter" and document["tensors"][op["outputs"][0]].get("role") == "parameter")


def stays(document: dict[str, Any]) -> list[bool]:
    """[num_ops] is it on the CPU if its module is offloaded: a weight, its optimiser's state, its update?"""
    ops = document["ops"]
    labels = {op["colocate"] for op in ops if is_weight(document, op) and op.get("colocate")}
    return [is_weight(document, op) or (op.get("phase") == "update" and op.get("colocate") in labels) for op in ops]


def _weights(document: dict[str, Any]) -> dict[int, int]:
    """The weight that a tensor is, or is a view of."""
    ops, tensors = document["ops"], document["tensors"]
    found = {op["outputs"][0]: op["outputs"][0] for op in ops if is_weight(document, op)}
    for op in grain.order(document):
        if is_source(ops[op]) or ops[op].get("phase") == "update":
            continue
        for tensor in ops[op]["outputs"]:
            shared = tensors[tensor].get("alias_of")
            if shared in found and _is_view(ops[op]):
                found[tensor] = found[shared]
    return found


def _is_view(op: dict[str, Any]) -> bool:
    return not op.get("flops") and len(op["inputs"]) == 1 and len(op["outputs"]) == 1


def _maker(made: Sequence[int | None], tensor: int) -> int:
    maker = made[tensor]
    assert maker is not None  # a parameter is made by its op
    return maker


def _first_readers(document: dict[str, Any], runs: Sequence[Run]) -> list[int]:
    """[num_runs] the first op of each run that reads a weight; its first op if none does."""
    weight_of = _weights(document)
    return [next((op for op in run.ops if any(tensor in weight_of for tensor in document["ops"][op]["inputs"])),
                 run.ops[0]) for run in runs]


class _Copies:
    """Tensors of one run that stand for weights, and for views of them that an earlier run made."""

    def __init__(self, run: int, tensors: list[dict[str, Any]]) -> None:
        self.of: dict[int, int] = {}
        self._run, self._tensors = run, tensors

    def tensor(self, original: int, name: str, alias: int) -> int:
        """A new one like `original`."""
        self.of[original] = len(self._tensors)
        self._tensors.append({**self._tensors[original], "id": len(self._tensors), "name": name, "role": "activation",
                              "alias_of": alias})
        return self.of[original]

    def again(self, op: dict[str, Any], reader: int) -> dict[str, Any]:
        """The op that makes a view, once more, where `reader` runs."""
        name = f"{op['name']}/run{self._run}"
        source = self.of[op["inputs"][0]]
        output = self.tensor(op["outputs"][0], name, source)
        attributes = {key: value for key, value in op.get("attributes", {}).items() if key != "forward_op"}
        return {**op, "id": reader, "name": name, "inputs": [source], "outputs": [output], "control_inputs": [],
                "attributes": {**attributes, "again": op["name"]}}


def _with_loads(document: dict[str, Any], runs: Sequence[Run],
                loads: Sequence[Load]) -> tuple[dict[str, Any], list[int]]:
    """The document with these loads, and [num_ops] the op of `document` whose device each op has."""
    ops, tensors = document["ops"], list(document["tensors"])
    made, weight_of = grain.producers(document), _weights(document)
    before: dict[int, list[dict[str, Any]]] = {}  # op -> what stands before it
    changed: dict[int, list[int]] = {}            # op -> its inputs
    count: dict[int, int] = {}
    for load in loads:
        copies = _Copies(load.run, tensors)
        for weight in load.weights:
            parameter = ops[_maker(made, weight)]
            count[weight] = count.get(weight, 0) + 1
            name = f"{parameter['name']}/load{count[weight]}"
            before.setdefault(load.before, []).append({
                "id": parameter["id"], "name": name, "kind": KIND, "inputs": [weight],
                "outputs": [copies.tensor(weight, name, weight)], "bytes_accessed": 0,
                **({} if load.after is None else {"control_inputs": [load.after]}),
                "attributes": {**parameter.get("attributes", {}), "loads": parameter["name"]}})
        inside = set(runs[load.run].ops)
        for op in runs[load.run].ops:
            for tensor in ops[op]["inputs"]:
                before.setdefault(op, []).extend(_views(copies, ops, made, weight_of, tensor, inside, op))
            changed[op] = [copies.of.get(tensor, tensor) for tensor in ops[op]["inputs"]]
            for tensor in ops[op]["outputs"]:  # what was a view of the weight is one of its copy
                shared = tensors[tensor].get("alias_of")
                if shared in copies.of:
                    tensors[tensor] = {**tensors[tensor], "alias_of": copies.of[shared]}
    listed = [entry for op in ops
              for entry in [*before.get(op["id"], ()), {**op, "inputs": changed.get(op["id"], op["inputs"])}]]
    return _numbered({**document, "tensors": tensors}, listed)


def _views(copies: _Copies, ops: list[dict[str, Any]], made: Sequence[int | None], weight_of: dict[int, int],
           tensor: int, inside: set[int], reader: int) -> list[dict[str, Any]]:
    """Ops that make `tensor` again, if it is a view of a copied weight that another run made."""
    if tensor in copies.of or weight_of.get(tensor) not in copies.of or _maker(made, tensor) in inside:
        return []
    maker = ops[_maker(made, tensor)]
    return [*_views(copies, ops, made, weight_of, maker["inputs"][0], inside, reader), copies.again(maker, reader)]


def _numbered(document: dict[str, Any], listed: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], list[int]]:
    """The document with ops in this order; those that were added have ids of others, see Load."""
    added = ("loads", "again")
    number = {entry["id"]: index for index, entry in enumerate(listed)
              if not any(key in entry.get("attributes", {}) for key in added)}
    ops = []
    for index, entry in enumerate(listed):
        controls = {"control_inputs": [number[other] for other in entry["control_inputs"]]} \
            if entry.get("control_inputs") else {}
        ops.append({**entry, "id": index, **controls})
    return {**document, "ops": ops}, [entry["id"] for entry in listed]
