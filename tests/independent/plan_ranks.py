"""Graphs of several ranks: framework/plan/ranks.h, written from its text.

all_ranks() makes the step of every rank, which the header says that rank 0 stands for.
"""

import copy
import dataclasses

from model import Machine
from plans import (
    Origin,
    Planned,
    Refused,
    predecessors,
    producers,
    slowest_collective,
    topological_order,
    whole,
    with_device,
)

NAMES = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
VIEWS = ("Reshape",)  # of the kinds that problems have


def is_collective(op):
    return op["kind"].startswith("collective.")


def figures(graph, op):
    """(name, ranks, bytes of the whole tensor, of a part)"""
    name, ranks = op["kind"].split(".")[1], op["attributes"]["ranks"]
    size = sum(graph["tensors"][t]["bytes"] for t in op["outputs"])
    size *= len(ranks) if name == "reduce_scatter" else 1
    return name, ranks, size, -(-size // len(ranks))


def blocks(cluster, ranks):
    """[blocks][ranks]: devices"""
    machine = Machine(cluster)
    of_class = lambda name: [d for d, x in enumerate(machine.devices) if x["class"] == name]
    devices = of_class("gpu") or of_class("cpu")
    if len(devices) % ranks:
        raise Refused("ranks")
    return [devices[i : i + ranks] for i in range(0, len(devices), ranks)]


def first_rank(graph, cluster):
    """(step, cluster) of rank 0"""
    ranks = graph.get("ranks", 1)
    if ranks == 1:
        return graph, cluster
    machine, divided = Machine(cluster), blocks(cluster, ranks)
    network = [d for d, device in enumerate(machine.devices) if device["class"] == "network"]
    kept = [block[0] for block in divided] + network
    kinds = {machine.devices[d]["kind"] for d in kept if d not in network}
    graph = copy.deepcopy(graph)
    for op in graph["ops"]:
        if is_collective(op):
            name, group, size, _ = figures(graph, op)
            op["cost_ns"] = dict.fromkeys(sorted(kinds), 0)
            del op["device_kinds"]
            if not network:
                rings = [[block[rank] for rank in group] for block in divided]
                op["cost_ns"]["ranks"] = slowest_collective(machine, name, rings, size)
    names = [cluster["devices"][d]["name"] for d in kept]
    routes = [r for r in cluster["routes"] if r["from"] in names and r["to"] in names]
    used = {name for route in routes for name in route["via"]}
    return graph, {
        **cluster,
        "devices": [cluster["devices"][d] for d in kept],
        "routes": routes,
        "channels": [c for c in cluster["channels"] if c["name"] in used],
    }


def is_view(op, tensors):
    free = not any(op.get("cost_ns", {}).values())
    return op["kind"] in VIEWS and free and all("alias_of" in tensors[t] for t in op["outputs"])


def with_transfers(planned, graph):
    """The planned graph of rank 0 with its transfers; `graph`: the step, for its ranks."""
    if graph.get("ranks", 1) == 1:
        return planned
    tensors, ops, origins = planned.tensors, planned.ops, planned.origins
    made_by, before = producers(ops), predecessors(ops)
    passed = [set() for _ in ops]  # the collectives whose results an op passes on
    passes = [is_view(op, tensors) for op in ops]
    called = [is_collective(op) and origin.role != "collective" for op, origin in zip(ops, origins)]
    reader = {}  # tensor -> the first op that needs it whole
    for v in topological_order(ops):
        if called[v]:
            passed[v] = {v}
        elif passes[v]:
            passed[v] = set().union(*(passed[u] for u in before[v]), set())
        elif origins[v].role != "collective":
            for t in sorted(set(ops[v]["inputs"])):
                if t in made_by and passed[made_by[t]]:
                    reader.setdefault(t, v)
    result = Planned([dict(tensor) for tensor in tensors], cluster=planned.cluster)
    alias = {t: result.tensor({**tensors[t], "alias_of": t}) for t in reader}
    new, transfer, controls, groups = {}, {}, [], []
    labels = {made_by[t]: ops[made_by[t]]["colocate"] or ops[made_by[t]]["name"] for t in reader}
    for v, op in enumerate(ops):
        for t in sorted(t for t, first in reader.items() if first == v):
            u = made_by[t]
            place = ops[u]["outputs"].index(t)
            name = f"received/{ops[u]['name']}" + (f"/{place}" if place else "")
            received = {key: ops[u].get(key) for key in ("device_kinds", "devices", "phase")}
            received.update({"name": name, "kind": "aten.alias", "colocate": labels[u]})
            received.update({"inputs": [t], "outputs": [alias[t]]})
            id_ = result.op(whole(received), copy.copy(origins[u]))
            controls.append((id_, [], passed[u]))
        changed = {**op, "cost_ns": {k: c for k, c in op.get("cost_ns", {}).items() if k != "ranks"}}
        changed["colocate"] = labels.get(v, op["colocate"])
        waits = not called[v] and not passes[v]
        if waits:
            for t in op["outputs"]:
                if tensors[t].get("alias_of") in alias and tensors[t]["alias_of"] in op["inputs"]:
                    result.tensors[t]["alias_of"] = alias[tensors[t]["alias_of"]]
            changed["inputs"] = [alias.get(t, t) for t in op["inputs"]]
        reduction = origins[v].role == "collective"
        if reduction:
            every = planned.cluster["devices"]
            changed["devices"] = [d["name"] for d in every if is_network(planned.cluster, d)][:1]
        new[v] = result.op(changed, copy.copy(origins[v]))
        awaited = op["control_inputs"]
        late = set().union(*(passed[u] for u in awaited), set()) if waits else set()
        controls.append((new[v], [u for u in awaited if not (reduction and passed[u])], late))
        if called[v]:
            name, group, size, part = figures({"tensors": tensors}, op)
            groups += [group] if group not in groups else []
            shape = lambda n: {"bytes": n, "dtype": tensors[op["outputs"][0]].get("dtype", "")}
            parts = [name == "all_gather", name == "reduce_scatter"]
            ends = [shape(part if is_part else size) for is_part in parts]
            for end in ends:
                bits = {"f32": 32, "f16": 16}.get(end["dtype"])
                end["shape"] = [end["bytes"] * 8 // bits] if bits else []
            sent = {"name": f"network/{op['name']}", "kind": op["kind"], "phase": op["phase"]}
            sent.update({"device_kinds": ["network"], "devices": [f"ranks:{groups.index(group)}"]})
            sent["attributes"] = {"group_size": len(group)}
            sent["inputs"] = [result.tensor({**ends[0], "role": "input"})]
            sent["outputs"] = [result.tensor(ends[1])]
            if "ranks" in op["cost_ns"]:
                sent["cost_ns"] = {"ranks": op["cost_ns"]["ranks"]}
            group = groups.index(group)
            origin = dataclasses.replace(origins[v], role="collective", group=group)
            transfer[v] = result.op(whole(sent), origin)
            sources, left = ([], list(before[v])) if op["attributes"].get("ahead") else ([v], [])
            while left:
                u = left.pop()
                left += before[u] if passes[u] else []
                sources += [] if passes[u] else [u]
            late = set().union(*(passed[u] for u in before[v]), set())
            controls.append((transfer[v], sources, late))
    for id_, awaited, late in controls:
        listed = [new[u] for u in awaited] + [transfer[u] for u in sorted(late)]
        result.ops[id_]["control_inputs"] = sorted(set(listed))
    counts = [sum(origin.group == g for origin in result.origins) for g in range(len(groups))]
    own = [d["kind"] for d in planned.cluster["devices"] if is_network(planned.cluster, d)]
    kind = "ranks" if any("ranks" in op.get("cost_ns", {}) for op in ops) else (own + ["ranks"])[0]
    for g, count in enumerate(counts):
        result.cluster = with_device(result.cluster, f"ranks:{g}", kind, count)
    return result


def is_network(cluster, device):
    return cluster["device_kinds"][device["kind"]]["class"] == "network"


def all_ranks(graph, placement, full, slots):
    """(graph, cluster, placement) of the step of every rank, made of those of rank 0.

    full: the cluster of all devices; slots: of the device of all-reduces among replicas. The groups
    of rank r have the ranks of those of rank 0, each exclusive-or r, or all ranks. A group sends on
    a device of its own.
    """
    ranks = graph["ranks"]
    names = [device["name"] for device in full["devices"]]
    same = {names[block[0]]: [names[d] for d in block] for block in blocks(full, ranks)}
    cluster, ops, devices, ids = full, [], {}, {}

    def members(v):
        """The ranks that each rank's copy of an op is for: itself, or a group."""
        if not graph["ops"][v]["name"].startswith("network/"):
            return [(r,) for r in range(ranks)]
        group = graph["ops"][v - 1]["attributes"]["ranks"]
        if len(group) == ranks:
            return [tuple(range(ranks))] * ranks
        return [tuple(sorted(x ^ r for x in group)) for r in range(ranks)]

    for v, op in enumerate(graph["ops"]):
        place = placement["devices"][op["name"]]
        for r, group in enumerate(members(v)):
            if r != group[0]:
                ids[v, r] = ids[v, group[0]]
                continue
            ids[v, r] = len(ops)
            ops.append({**op, "name": f"k{r}/{op['name']}", "colocate": None, "devices": None})
            device = same[place][r] if place in same else f"{place}:{'-'.join(map(str, group))}"
            devices[ops[-1]["name"]] = device
            if device not in {each["name"] for each in cluster["devices"]}:
                among_replicas = place == "network"
                most = slots if among_replicas else len(graph["ops"])
                cluster = with_device(cluster, device, place if among_replicas else "ranks", most)
    shift = len(graph["tensors"])
    tensors = []
    for r in range(ranks):
        for tensor in graph["tensors"]:
            base = tensor.get("alias_of")
            base = None if base is None else base + r * shift
            tensors.append({**tensor, "alias_of": base, "id": len(tensors)})
    for (v, r), id_ in ids.items():
        op = graph["ops"][v]
        if r == members(v)[r][0]:
            for key in ("inputs", "outputs"):
                ops[id_][key] = [t + r * shift for t in op[key]]
            ops[id_]["control_inputs"] = []
            ops[id_]["id"] = id_
        awaited = {ids[u, r] for u in op["control_inputs"]}
        ops[id_]["control_inputs"] = sorted(awaited.union(ops[id_]["control_inputs"]))
    position = {op["name"]: v for v, op in enumerate(graph["ops"])}
    order = [ids[position[name], r] for name in placement["issue_order"] for r in range(ranks)]
    order = [ops[id_]["name"] for id_ in dict.fromkeys(order)]
    graph = {**graph, "tensors": tensors, "ops": ops}
    return graph, cluster, {"devices": devices, "issue_order": order}
