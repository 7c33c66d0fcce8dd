"""Makes a problem smaller while something about it stays true.

Each candidate is a changed copy; one that is no valid problem any more must not have the property.
"""

import copy


def _drop_op(problem, v):
    small = copy.deepcopy(problem)
    graph = small["graph"]
    gone = graph["ops"].pop(v)
    del small["placement"]["devices"][gone["name"]]
    if "issue_order" in small["placement"]:
        small["placement"]["issue_order"].remove(gone["name"])
    dead = set(gone["outputs"])
    tensor_id, kept = {}, []
    for t in graph["tensors"]:
        if t["id"] not in dead:
            tensor_id[t["id"]] = len(kept)
            kept.append(t)
    for t in kept:
        t["id"] = tensor_id[t["id"]]
        if "alias_of" in t:
            t["alias_of"] = tensor_id.get(t["alias_of"])
            if t["alias_of"] is None:
                del t["alias_of"]
    graph["tensors"] = kept
    for i, op in enumerate(graph["ops"]):
        op["id"] = i
        op["inputs"] = [tensor_id[t] for t in op["inputs"] if t in tensor_id]
        op["outputs"] = [tensor_id[t] for t in op["outputs"]]
        if "control_inputs" in op:
            op["control_inputs"] = [u - (u > v) for u in op["control_inputs"] if u != v]
    return small


def _drop_tensor(problem, t):
    small = copy.deepcopy(problem)
    graph = small["graph"]
    del graph["tensors"][t]
    for tensor in graph["tensors"]:
        tensor["id"] -= tensor["id"] > t
        if tensor.get("alias_of") == t:
            del tensor["alias_of"]
        elif "alias_of" in tensor:
            tensor["alias_of"] -= tensor["alias_of"] > t
    for op in graph["ops"]:
        for key in ("inputs", "outputs"):
            op[key] = [x - (x > t) for x in op[key] if x != t]
    return small


def _drop_device(problem, d):
    small = copy.deepcopy(problem)
    name = small["cluster"]["devices"].pop(d)["name"]
    if "routes" in small["cluster"]:
        small["cluster"]["routes"] = [
            r for r in small["cluster"]["routes"] if name not in (r["from"], r["to"])
        ]
    if "shares" in small["cluster"]:
        shares = [
            group if isinstance(group, str) else [pattern for pattern in group if pattern != name]
            for group in small["cluster"]["shares"]
        ]
        small["cluster"]["shares"] = [group for group in shares if group not in ([], name)]
    return small


def _at(problem, path):
    item = problem
    for key in path:
        item = item[key]
    return item


def _change(problem, *path, value=None):
    """A copy with the value at `path` replaced, or removed where `value` is None."""
    small = copy.deepcopy(problem)
    item = small
    for key in path[:-1]:
        item = item[key]
    if value is None:
        del item[path[-1]]
    else:
        item[path[-1]] = value
    return small


def candidates(problem):
    graph, cluster = problem["graph"], problem["cluster"]
    for v in reversed(range(len(graph["ops"]))):
        yield lambda v=v: _drop_op(problem, v)
    for t in reversed(range(len(graph["tensors"]))):
        yield lambda t=t: _drop_tensor(problem, t)
    for d in reversed(range(len(cluster["devices"]))):
        yield lambda d=d: _drop_device(problem, d)
    places = [
        ("graph", "ops", v, key, i)
        for v, op in enumerate(graph["ops"])
        for key in ("inputs", "control_inputs")
        for i in range(len(op.get(key, [])))
    ]
    optional = (
        "role",
        "alias_of",
        "workspace_bytes",
        "device_kinds",
        "colocate",
        "control_inputs",
        "gap",
        "cold_read",
        "interference",
        "setup",
        "issue",
        "launch",
        "slots",
        "broadcast",
        "occupies",
        "overhead",
        "pays_transfers",
    )
    for room in (
        ("graph", "ops"),
        ("graph", "tensors"),
        ("cluster", "devices"),
        ("cluster", "channels"),
    ):
        for i, item in enumerate(problem[room[0]].get(room[1], [])):
            places += [(*room, i, key) for key in item if key in optional]
    places += [
        ("cluster", "device_kinds", name, key)
        for name, kind in cluster["device_kinds"].items()
        for key in kind
        if key in optional
    ]
    places += [
        ("cluster", name, key)
        for name in ("all_to_all", "egress_bus")
        for key in cluster.get(name, {})
        if key in optional
    ]
    places += [
        ("cluster", key, i)
        for key in ("routes", "channels", "shares")
        for i in range(len(cluster.get(key, [])))
    ]
    places += [("cluster", "device_kinds", name) for name in cluster["device_kinds"]]
    places += [
        ("graph", "ops", v, "cost_ns", k)
        for v, op in enumerate(graph["ops"])
        for k in op.get("cost_ns", {})
        if k not in cluster["device_kinds"]
    ]
    places += [
        ("cluster", "shares", i, j)
        for i, group in enumerate(cluster.get("shares", []))
        for j in range(len(group) if isinstance(group, list) else 0)
    ]
    if "costs" in problem:
        entries = problem["costs"]["ops"]
        places += [("costs",)] + [("costs", "ops", i) for i in range(len(entries))]
        keys = ("in_situ", "isolated", "cold", "apart_ns", "interference")
        places += [
            ("costs", "ops", i, key)
            for i, entry in enumerate(entries)
            for key in keys
            if key in entry
        ]
    classes = [
        ("cluster", "device_kinds", name, "interference", op_class)
        for name, kind in cluster["device_kinds"].items()
        for op_class in kind.get("interference", {})
    ]
    figures = [(*path, key) for path in classes for key in _at(problem, path)]
    for path in places + classes + figures:
        yield lambda path=path: _change(problem, *path)
    for path in figures:
        for value in ("1", "0.5"):
            if len(_at(problem, path)) > len(value):
                yield lambda path=path, value=value: _change(problem, *path, value=value)
    for v, op in enumerate(graph["ops"]):
        if op["kind"] not in ("parameter", "test.op"):
            yield lambda v=v: _change(problem, "graph", "ops", v, "kind", value="test.op")
    numbers = [
        ("graph", "ops", v, "cost_ns", k)
        for v, op in enumerate(graph["ops"])
        for k in op.get("cost_ns", {})
    ]
    numbers += [("graph", "tensors", t, "bytes") for t in range(len(graph["tensors"]))]
    numbers += [
        ("cluster", "channels", k, "latency") for k in range(len(cluster.get("channels", [])))
    ]
    numbers += [
        ("cluster", name, "latency") for name in ("all_to_all", "egress_bus") if name in cluster
    ]
    for path in numbers:
        for value in (0, 1, 10):
            if float(_at(problem, path)) > value:
                yield lambda path=path, value=value: _change(problem, *path, value=value)


def minimise(problem, still, most_tries=3000):
    """The last of a chain of ever smaller problems for which `still(problem)` holds."""
    tries, shrunk = 0, True
    while shrunk and tries < most_tries:
        shrunk = False
        for candidate in candidates(problem):
            tries += 1
            try:
                small = candidate()
                holds = still(small)
            except (KeyError, ValueError, IndexError):
                continue  # not a problem any more
            if holds:
                problem, shrunk = small, True
                break
    return problem
