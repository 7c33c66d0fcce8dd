"""The `device_map` of accelerate and transformers: module path -> device; the longest matching path decides.

`write` makes a map from the devices of units. `read` applies the loader's rules to any map and knows nothing of units:

- A parameter or buffer is placed by the longest entry that is its name or a module above it.
- An op is placed by the longest entry that is its module or above it: the hook of that module moves its inputs.
- An op of a module without an entry has no hook. It runs where its first input is. An op of the backward pass runs
  where its forward op ran. An op that reads nothing runs where its first reader runs.
- Optimiser state and updates are where their parameter is.

"cpu" beside GPUs does not mean that the CPU computes: weights stay in its memory and are copied to the main device,
the lowest GPU of the map, each time their module runs there (accelerate.dispatch_model).
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from . import grain
from .grain import Grain, PlaceFailure, is_source
from .modules import is_state, path_of, paths_to, within

DeviceMap = dict[str, Any]  # module path -> number of a GPU, "cuda:0", "cpu" or "disk"


def write(units: Grain, devices: Sequence[Any]) -> DeviceMap:
    """Returns the shortest map under which the ops of each unit are on its device.

    devices: [num_units] under their names in the map. A module gets an entry if everything below it, and its own ops,
    are on one device; otherwise its children get entries.
    """
    ops = units.document["ops"]
    device_below: dict[str, set[Any]] = {}
    names = []
    for op, unit in zip(ops, units.unit_of_op):
        path = path_of(op)
        for above in ["", *paths_to(path)]:
            device_below.setdefault(above, set()).add(devices[unit])
        if is_state(units.document, op) or (path and not is_source(op)):
            names.append((path, op["name"] if is_state(units.document, op) else path, devices[unit]))
    entries: DeviceMap = {}
    for path, name, device in names:
        agreeing = next((above for above in ["", *paths_to(path)] if len(device_below[above]) == 1), None)
        if agreeing is not None:
            entries[agreeing] = device
        elif name != path and len(name) > len(path):
            entries[name] = device  # state of a module whose children are on several devices
    return {name: device for name, device in entries.items() if not _covered(name, entries)}


def _covered(name: str, entries: Mapping[str, Any]) -> bool:
    """Returns whether a shorter entry already says the same."""
    above = [path for path in entries if path != name and within(name, path)]
    return bool(above) and entries[max(above, key=len)] == entries[name]


def lookup(name: str, entries: Mapping[str, Any]) -> Any | None:
    """Returns the device of the longest entry that is `name` or a module above it; None: there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        if key in entries:
            return entries[key]
    return entries.get("")


def read(document: dict[str, Any], entries: DeviceMap, offloads: bool = True) -> list[Any]:
    """Returns [num_ops] the device of each op: where a parameter is, where another op runs (never "cpu" beside GPUs).

    offloads: whether "cpu" means that weights are copied to the main device; otherwise modules run on the CPU.
    Throws PlaceFailure for a parameter without an entry.
    """
    ops, made = document["ops"], grain.producers(document)
    main = main_device(entries)
    runs = {key: main if offloads and device in ("cpu", "disk") else device for key, device in entries.items()}
    number = {op["name"]: op["id"] for op in ops}
    found: list[Any] = [None] * len(ops)
    by_label: dict[str, Any] = {}
    for op in ops:
        if is_state(document, op):
            role = document["tensors"][op["outputs"][0]].get("role")
            table = entries if role == "parameter" else runs  # buffers are not offloaded by default
            found[op["id"]] = lookup(op["name"], table)
            if found[op["id"]] is None:
                raise PlaceFailure(f"device_map: no entry covers {op['name']!r}")
            if op.get("colocate"):
                by_label[op["colocate"]] = found[op["id"]]
    hooked = {path: lookup(path, runs) for path in {path_of(op) for op in ops} if path}
    whole = entries.get("")
    order = grain.order(document)
    for op in order:
        record = ops[op]
        if "loads" in record.get("attributes", {}):  # a copy of a parameter's weights, see offload.py
            found[op] = found[number[record["attributes"]["loads"]]]
        elif found[op] is None and record.get("colocate") in by_label:
            found[op] = by_label[record["colocate"]]
        if found[op] is None and not is_source(record):
            found[op] = runs[""] if whole is not None else hooked.get(path_of(record))
        elif found[op] is None and path_of(record):
            found[op] = hooked[path_of(record)]
        if found[op] is None:
            forward = number.get(record.get("attributes", {}).get("forward_op"))
            before = [made[t] for t in record["inputs"] if made[t] is not None]
            before = ([forward] if forward is not None else []) + before
            found[op] = next((found[other] for other in before if found[other] is not None), None)
            if offloads and found[op] in ("cpu", "disk"):
                found[op] = main
    readers: list[list[int]] = [[] for _ in ops]
    for record in ops:
        for other in (made[t] for t in record["inputs"] if made[t] is not None):
            readers[other].append(record["id"])
    for op in reversed(order):
        if found[op] is None:
            found[op] = next((found[reader] for reader in readers[op] if found[reader] is not None), None)
    return [main if device is None else device for device in found]


def main_device(entries: Mapping[str, Any]) -> Any:
    """Returns the lowest GPU of the map; "cpu" if it has none."""
    gpus = [device for device in entries.values() if device not in ("cpu", "disk")]
    return min(gpus, key=lambda device: int(str(device).removeprefix("cuda:"))) if gpus else "cpu"
