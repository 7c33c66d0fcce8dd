"""What differs between two graphs, op by op, whatever the numbers of their tensors."""


def op_fields(op, tensors):
    """The keys of an op, with defaults, without ids of tensors."""
    accessed = sum(tensors[t]["bytes"] for t in op["inputs"] + op["outputs"])
    given = op.get("bytes_accessed")
    return {
        "name": op["name"],
        "kind": op["kind"],
        "inputs": len(op["inputs"]),
        "outputs": len(op["outputs"]),
        "control_inputs": sorted(op.get("control_inputs") or []),
        "flops": op.get("flops", 0),
        "bytes_accessed": accessed if given is None else given,
        "workspace_bytes": op.get("workspace_bytes", 0),
        "phase": op.get("phase", "forward"),
        "colocate": op.get("colocate"),
        "device_kinds": op.get("device_kinds"),
        "devices": op.get("devices"),
        "cost_ns": op.get("cost_ns", {}),
        "attributes": op.get("attributes", {}),
    }


def tensor_fields(tensor):
    return {
        "bytes": tensor["bytes"],
        "role": tensor.get("role", "activation"),
        "shape": tensor.get("shape", []),
        "dtype": tensor.get("dtype", ""),
        "alias_of": tensor.get("alias_of"),
    }


def differences(expected, found):
    """[text] of two graphs in the JSON of a graph file."""
    names = [[op["name"] for op in graph["ops"]] for graph in (expected, found)]
    if names[0] != names[1]:
        same = " (in another order)" if sorted(names[0]) == sorted(names[1]) else ""
        return [f"names{same}: {names[0]}, program {names[1]}"]
    result, partner = [], {}

    def check(what, a, b):
        if a != b:
            result.append(f"{what}: {a}, program {b}")

    def pair(what, a, b):
        if partner.setdefault(a, b) != b:
            result.append(f"{what}: tensor {a} is {partner[a]} elsewhere, program {b}")

    for a, b in zip(expected["ops"], found["ops"]):
        fields = [op_fields(op, g["tensors"]) for op, g in ((a, expected), (b, found))]
        for key, value in fields[0].items():
            check(f"{a['name']}: {key}", value, fields[1][key])
        for key in ("inputs", "outputs"):
            for t, u in zip(a[key], b[key]):
                pair(f"{a['name']}: {key}", t, u)
    left = list(partner)
    while left:  # aliases that no op lists
        t = left.pop()
        bases = [g["tensors"][i].get("alias_of") for g, i in ((expected, t), (found, partner[t]))]
        if None not in bases and bases[0] not in partner:
            partner[bases[0]] = bases[1]
            left.append(bases[0])
    if len(set(partner.values())) != len(partner):
        result.append("two tensors are one")
    for t, u in partner.items():
        fields = [tensor_fields(g["tensors"][i]) for g, i in ((expected, t), (found, u))]
        base = fields[0]["alias_of"]
        fields[0]["alias_of"] = partner.get(base, "no op lists it") if base is not None else None
        name = found["tensors"][u].get("name")
        for key, value in fields[0].items():
            check(f"tensor {name}: {key}", value, fields[1][key])
    return result
