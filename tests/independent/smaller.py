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
    kept = [t for t in graph["tensors"] if t["id"] not in gone["outputs"]]
    tensor_id = {t["id"]: i for i, t in enumerate(kept)}
    graph["tensors"] = kept
    for t in kept:
        t["id"] = tensor_id[t["id"]]
        if t.get("alias_of") in tensor_id:
            t["alias_of"] = tensor_id[t["alias_of"]]
        else:
            t.pop("alias_of", None)
    for i, op in enumerate(graph["ops"]):
        op["id"] = i
        op["inputs"] = [tensor_id[t] for t in op["inputs"] if t in tensor_id]
        op["outputs"] = [tensor_id[t] for t in op["outputs"]]
        if "control_inputs" in op:
            op["control_inputs"] = [u - (u > v) for u in op["control_inputs"] if u != v]
    return small


def _drop_device(problem, d):
    small = copy.deepcopy(problem)
    cluster = small["cluster"]
    name = cluster["devices"].pop(d)["name"]
    if "routes" in cluster:
        cluster["routes"] = [r for r in cluster["routes"] if name not in (r["from"], r["to"])]
    return small


def _change(problem, path, value=None):
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


def _places(item, path):
    """Every key and element below `item`, as path and value, what holds others first."""
    pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for key, value in pairs:
        yield (*path, key), value
        yield from _places(value, (*path, key))


def candidates(problem):
    for v in reversed(range(len(problem["graph"]["ops"]))):
        yield lambda v=v: _drop_op(problem, v)
    for d in reversed(range(len(problem["cluster"]["devices"]))):
        yield lambda d=d: _drop_device(problem, d)
    places = [
        place
        for part in ("costs", "cluster", "graph")
        if part in problem
        for place in [((part,), None), *_places(problem[part], (part,))]
    ]
    for path, _ in places:
        yield lambda path=path: _change(problem, path)
    for path, number in places:
        for value in (0, 1, 10):
            if isinstance(number, (int, float)) and number > value and path[-1] != "id":
                yield lambda path=path, value=value: _change(problem, path, value)


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
