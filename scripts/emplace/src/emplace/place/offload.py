"""Weights that stay in the CPU's memory and are copied to a GPU each time their module runs there.

A hook of accelerate copies the weights of a module before its forward() and drops them after it. In the graph this is
one op for each parameter and each run of a module that reads it: a view of the parameter, at no cost, where the
parameter is, that waits for the op before the run. Its readers get the copy; on the parameter's own device there is
none. A hook that copies waits until the copy is there, so the run before it is over when the copy begins.
"""

from __future__ import annotations

from typing import Any

from . import grain
from .grain import is_source
from .modules import path_of

KIND = "aten.view"


def with_loads(document: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
    """The document with those ops, each before its first reader; `attributes.loads` names the parameter.

    Second: [num_ops] the op of `document` that each op is, or whose parameter it loads.
    """
    ops = document["ops"]
    tensors = list(document["tensors"])
    made = grain.producers(document)
    weights = {op["outputs"][0] for op in ops if is_weight(document, op)}
    loads: dict[int, list[dict[str, Any]]] = {}  # op -> what must be loaded before it
    inputs: dict[int, list[int]] = {}
    count: dict[int, int] = {}
    run, before_run, previous = None, None, None  # of a module, the op before it, the op before this one
    copies: dict[int, int] = {}                   # parameter -> its view, in this run
    for op in grain.order(document):
        if is_source(ops[op]):
            continue
        if path_of(ops[op]) != run:
            run, before_run, copies = path_of(ops[op]), previous, {}
        previous = op
        for tensor in ops[op]["inputs"]:
            if tensor not in weights or tensor in copies:
                continue
            parameter = ops[made[tensor]]
            count[tensor] = count.get(tensor, 0) + 1
            copies[tensor] = len(tensors)
            name = f"{parameter['name']}/load{count[tensor]}"
            tensors.append({**tensors[tensor], "id": len(tensors), "name": name, "role": "activation",
                            "alias_of": tensor})
            loads.setdefault(op, []).append({
                "id": made[tensor], "name": name, "kind": KIND, "inputs": [tensor], "outputs": [copies[tensor]],
                "bytes_accessed": 0, **({} if before_run is None else {"control_inputs": [before_run]}),
                "attributes": {**parameter.get("attributes", {}), "loads": parameter["name"]}})
        inputs[op] = [copies.get(tensor, tensor) for tensor in ops[op]["inputs"]]
        for tensor in ops[op]["outputs"]:  # what was a view of the parameter is one of its copy
            shared = tensors[tensor].get("alias_of")
            if shared in copies:
                tensors[tensor] = {**tensors[tensor], "alias_of": copies[shared]}
    listed = [entry for op in ops
              for entry in [*loads.get(op["id"], ()), {**op, "inputs": inputs.get(op["id"], op["inputs"])}]]
    number = {entry["id"]: index for index, entry in enumerate(listed) if "loads" not in entry.get("attributes", {})}
    renumbered = []
    for index, entry in enumerate(listed):
        controls = {"control_inputs": [number[other] for other in entry["control_inputs"]]} \
            if entry.get("control_inputs") else {}
        renumbered.append({**entry, "id": index, **controls})
    return {**document, "tensors": tensors, "ops": renumbered}, [entry["id"] for entry in listed]


def is_weight(document: dict[str, Any], op: dict[str, Any]) -> bool:
    """A parameter, or what loads it: what stays on the CPU if its module is offloaded."""
    return "loads" in op.get("attributes", {}) or (
        op["kind"] == "parameter" and document["tensors"][op["outputs"][0]].get("role") == "parameter")
