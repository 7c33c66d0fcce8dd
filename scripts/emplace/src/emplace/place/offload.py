"""Weights that stay in the CPU's memory and are copied to a GPU each time their module runs there.

There are two rules for the begin of a copy. Both are expressed by ops and control inputs of the graph, so that every
simulator supports them:

- `with_hooks`: a hook of accelerate copies the weights of a module before its forward() and drops them after it. The
  hook waits until the copy has ended, and the copy begins only after the run before it is over.
- `with_buffers`: each GPU has two buffers for copied weights. The weights of a run are copied as soon as their buffer
  is free. Its previous user is the second-last run with copies; the buffer is free after that run's last read.

A *run* is a sequence of ops of one module, in program order. For each weight and each run that reads it there is one
op without cost, a view of the parameter on the parameter's device. Its readers get the copy, which is freed after the
last of them. Views of a weight that an earlier run made are made again, so that no copy outlives its run. Updates read
the parameter itself: they run on its device, with the optimiser's state, as in ZeRO-Offload (Ren et al., USENIX ATC
2021).
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
    """ops: in program order. weights: [tensor] the weights that are read, and views of them, in the order of their
    first readers; last: the op that reads one of them last."""

    ops: list[int]
    weights: list[int] = dataclasses.field(default_factory=list)
    last: int = -1


@dataclasses.dataclass(frozen=True)
class Load:
    """A run whose weights are copied. run: its number; weights: [tensor] the copied weights; after: the op that it
    waits for (None: nothing); before: the op that it precedes in the program."""

    run: int
    weights: Sequence[int]
    after: int | None
    before: int


def with_hooks(document: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
    """Returns the document with loads of all weights by accelerate's rule.

    Loads on the parameter's own device copy nothing.

    Second result: [num_ops] the op of `document` whose device each op has; for a load, the parameter.
    """
    runs = runs_of(document)
    position = _first_readers(document, runs)
    loads = [Load(number, run.weights, runs[number - 1].ops[-1] if number else None, position[number])
             for number, run in enumerate(runs) if run.weights]
    return _with_loads(document, runs, loads)


def with_buffers(document: dict[str, Any], device_of_op: Sequence[int]) -> tuple[dict[str, Any], list[int]]:
    """Returns the document with loads of the weights that are on another device than a run that reads them.

    Each device has two buffers. device_of_op: [num_ops]. Second result: as of `with_hooks`. In the program, a load
    comes directly after the op that it waits for.
    """
    runs = runs_of(document)
    return _with_loads(document, runs, buffered(document, device_of_op, runs))


def buffered(document: dict[str, Any], device_of_op: Sequence[int], runs: Sequence[Run] | None = None) -> list[Load]:
    """Returns the loads of `with_buffers` in program order; the k-th load of a device uses its buffer k mod 2."""
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
    """Returns the runs of all modules, without sources and updates, in program order."""
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
    """Returns whether the op is a parameter or a load of one, which stays on the CPU if its module is offloaded."""
    return "loads" in op.get("attributes", {}) or (
        op["kind"] == "parameter" and document["tensors"][op["outputs"][0]].get("role") == "parameter")


def stays(document: dict[str, Any]) -> list[bool]:
    """Returns [num_ops] whether the op is on the CPU if its module is offloaded.

    This holds for a weight, its optimiser's state and its update.
    """
    ops = document["ops"]
    labels = {op["colocate"] for op in ops if is_weight(document, op) and op.get("colocate")}
    return [is_weight(document, op) or (op.get("phase") == "update" and op.get("colocate") in labels) for op in ops]


def _weights(document: dict[str, Any]) -> dict[int, int]:
    """Returns for each tensor that is a weight, or a view of one, that weight."""
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
    """Returns [num_runs] the first op of each run that reads a weight; its first op if none does."""
    weight_of = _weights(document)
    return [next((op for op in run.ops if any(tensor in weight_of for tensor in document["ops"][op]["inputs"])),
                 run.ops[0]) for run in runs]


class _Copies:
    """Tensors of one run that replace weights, and views of weights that an earlier run made."""

    def __init__(self, run: int, tensors: list[dict[str, Any]]) -> None:
        self.of: dict[int, int] = {}
        self._run, self._tensors = run, tensors

    def tensor(self, original: int, name: str, alias: int) -> int:
        """Returns a new tensor like `original`."""
        self.of[original] = len(self._tensors)
        self._tensors.append({**self._tensors[original], "id": len(self._tensors), "name": name, "role": "activation",
                              "alias_of": alias})
        return self.of[original]

    def again(self, op: dict[str, Any], reader: int) -> dict[str, Any]:
        """Returns a copy of the op that makes a view, to run where `reader` runs."""
        name = f"{op['name']}/run{self._run}"
        source = self.of[op["inputs"][0]]
        output = self.tensor(op["outputs"][0], name, source)
        attributes = {key: value for key, value in op.get("attributes", {}).items() if key != "forward_op"}
        return {**op, "id": reader, "name": name, "inputs": [source], "outputs": [output], "control_inputs": [],
                "attributes": {**attributes, "again": op["name"]}}


def _with_loads(document: dict[str, Any], runs: Sequence[Run],
                loads: Sequence[Load]) -> tuple[dict[str, Any], list[int]]:
    """Returns the document with these loads, and [num_ops] the op of `document` whose device each op has."""
    ops, tensors = document["ops"], list(document["tensors"])
    made, weight_of = grain.producers(document), _weights(document)
    before: dict[int, list[dict[str, Any]]] = {}  # op -> ops that are inserted before it
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
            for tensor in ops[op]["outputs"]:  # a view of the weight becomes a view of its copy
                shared = tensors[tensor].get("alias_of")
                if shared in copies.of:
                    tensors[tensor] = {**tensors[tensor], "alias_of": copies.of[shared]}
    listed = [entry for op in ops
              for entry in [*before.get(op["id"], ()), {**op, "inputs": changed.get(op["id"], op["inputs"])}]]
    return _numbered({**document, "tensors": tensors}, listed)


def _views(copies: _Copies, ops: list[dict[str, Any]], made: Sequence[int | None], weight_of: dict[int, int],
           tensor: int, inside: set[int], reader: int) -> list[dict[str, Any]]:
    """Returns ops that make `tensor` again, if it is a view of a copied weight that another run made."""
    if tensor in copies.of or weight_of.get(tensor) not in copies.of or _maker(made, tensor) in inside:
        return []
    maker = ops[_maker(made, tensor)]
    return [*_views(copies, ops, made, weight_of, maker["inputs"][0], inside, reader), copies.again(maker, reader)]


def _numbered(document: dict[str, Any], listed: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], list[int]]:
    """Returns the document with ops in this order; added ops have the ids of other ops, see Load."""
    added = ("loads", "again")
    number = {entry["id"]: index for index, entry in enumerate(listed)
              if not any(key in entry.get("attributes", {}) for key in added)}
    ops = []
    for index, entry in enumerate(listed):
        controls = {"control_inputs": [number[other] for other in entry["control_inputs"]]} \
            if entry.get("control_inputs") else {}
        ops.append({**entry, "id": index, **controls})
    return {**document, "ops": ops}, [entry["id"] for entry in listed]
