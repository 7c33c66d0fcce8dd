"""Random small problems: graph, cluster, placement."""

from decimal import Decimal

from costs import CLASS_OF_KIND, FIGURES, signature
from model import allowed, matched

# What a problem may contain; each can be switched off (differential.py --without NAME,...).
FEATURES = {
    "aliases": "tensors that share another's memory",
    "broadcast": "channels where one transfer serves all destinations",
    "broadcast-hops": "routes that go on after a broadcast channel (off by default: "
    "BROADCAST_FOLLOWERS_TAKE_TURNS in readings.py)",
    "bare": "ops without costs where they may not run, and parameters without any",
    "cold-reads": "ops that take longer for what arrived from another device",
    "colocate": "labels of ops that share a device",
    "constraints": "ops that may run on some device kinds only",
    "control": "control edges",
    "copied-outputs": "tensors of role output with readers on other devices",
    "devices": "ops that may run on devices of some names only",
    "duplicates": "ops that list a tensor or a control input twice",
    "fractions": "costs and times that are not whole ns, bandwidths that are not whole B/s",
    "gaps": "idle times after ops and transfers",
    "globs": "routes with patterns",
    "graph-inputs": "tensors without producer",
    "halves": "costs and times that end in .5 ns",
    "hops": "routes of several channels",
    "interference": "devices that slow one another down, and ops of several classes",
    "issue": "a host clock that issues launches and copies",
    "issue-order": "an issue order in the placement, or a priority (stream semantics)",
    "large": "costs, bytes and capacities up to 1e15",
    "outputs": "tensors that are never released",
    "measured": "ops with times from a cost file, some with figures of interference",
    "network": "devices that run only ops that ask for them",
    "occupies": "channels that occupy devices",
    "overlaps": "pairs with several routes, and routes beside a shorthand",
    "resident": "parameters, buffers, optimizer state",
    "resident-aliases": "aliases with a resident role, of tensors that have or have not one",
    "setups": "transfers that take longer by a fixed time",
    "shared-channels": "channels that several pairs share",
    "slots": "devices that run several ops at once",
    "spread-aliases": "aliases made on another device than the tensor they share",
    "unordered": "ops that are not listed in topological order",
    "workspaces": "memory that an op needs while it runs",
    "zero-bytes": "tensors of no bytes",
}
OFF_BY_DEFAULT = set()
SIZES = ((1, 4), (2, 8), (4, 14), (10, 30), (25, 60))


def generate(rng, features):
    """One random problem as reference.py takes it: {"graph", "cluster", "placement"}, sometimes
    "priority" and "costs" (a cost file)."""
    has = {name: name in features and rng.random() < 0.7 for name in FEATURES}
    # One problem in ten: outputs that fan out over a broadcast channel and then part.
    fan = {"broadcast", "broadcast-hops", "hops", "shared-channels"}
    has["fan"] = fan <= set(features) and rng.random() < 0.1
    has.update({name: True for name in fan if has["fan"]})
    scale = rng.choice(["ties", "ties", "small", "medium", "large" if has["large"] else "medium"])
    cluster = _cluster(rng, has, scale)
    op_kinds = ["test.op"]
    if has["interference"]:
        op_kinds = rng.sample(sorted(CLASS_OF_KIND), rng.randint(1, 4))
        _add_interference(rng, cluster, op_kinds)
    graph, places = _graph(rng, has, scale, cluster, op_kinds)
    for device in cluster["devices"]:  # about half of the problems fit
        total = sum(t["bytes"] for t in graph["tensors"]) + 1
        device["memory"] = rng.choice([total * 4 + 100, total, total // 2 + 1, total // 5 + 1])
    placement = {
        "format": "emplace-placement",
        "version": 1,
        "graph": graph["name"],
        "cluster": cluster["name"],
        "devices": {
            op["name"]: cluster["devices"][d]["name"] for op, d in zip(graph["ops"], places)
        },
    }
    problem = {"graph": graph, "cluster": cluster, "placement": placement}
    if has["measured"]:
        _add_measured(rng, has, scale, problem)
    if has["issue-order"]:
        _add_order(rng, problem)
    return problem


def _add_order(rng, problem):
    """An issue order in the placement file, or a priority, or both."""
    choice = rng.choice(["order", "order", "both", "priority"])
    if choice != "order":
        priorities = ["id", "upward_rank"] + ["given"] * (choice == "both")
        problem["priority"] = rng.choice(priorities)
    if choice == "priority":
        return
    ops = problem["graph"]["ops"]
    producer = {t: op["id"] for op in ops for t in op["outputs"]}
    awaited = [
        {producer[t] for t in op["inputs"] if t in producer} | set(op.get("control_inputs") or [])
        for op in ops
    ]
    names, left = [], set(range(len(ops)))
    while left:
        v = rng.choice(sorted(v for v in left if not awaited[v] & left))
        left.remove(v)
        names.append(ops[v]["name"])
    problem["placement"]["issue_order"] = names


def _add_occupies(rng, cluster):
    """Lets channels occupy devices where their place on all routes allows it."""

    def choose(channel, only_first, only_last):
        choices = ["source"] * only_first
        if only_last and not channel.get("broadcast"):
            choices += ["destination"] + ["both"] * only_first
        if choices and rng.random() < 0.6:
            channel["occupies"] = rng.choice(choices + ["none"])

    for channel in cluster.get("channels", []):
        routes = [r["via"] for r in cluster.get("routes", []) if channel["name"] in r["via"]]
        choose(
            channel,
            all(channel["name"] not in via[1:] for via in routes),
            all(channel["name"] not in via[:-1] for via in routes),
        )
    for key in ("all_to_all", "egress_bus"):
        if key in cluster:
            choose(cluster[key], True, True)


def _add_measured(rng, has, scale, problem):
    """A cost file that knows some of the ops, and fewer costs in the graph file."""
    graph, kinds = problem["graph"], problem["cluster"]["device_kinds"]
    entries = {}

    def timing():
        median = _number(_time(rng, has, scale))
        result = {"median_ns": median, "low_ns": median, "high_ns": median, "samples": 9}
        if rng.random() < 0.4:
            result["mean_ns"] = _number(_time(rng, has, scale))
        return result

    def entry(op, kind, text):
        result = {"device_kind": kind, "signature": text, "kind": op["kind"]}
        result.update({"class": CLASS_OF_KIND[op["kind"]], "flops": 0, "bytes": 1})
        for name in ("in_situ", "isolated", "cold"):
            if rng.random() < 0.5:
                result[name] = timing()
        if rng.random() < 0.5:
            result["apart_ns"] = _number(_time(rng, has, scale))
        if rng.random() < 0.6:
            result["interference"] = {key: float(_figure(rng)) for key in FIGURES}
            if rng.random() < 0.2:
                del result["interference"][rng.choice(FIGURES)]
        return result

    for op in graph["ops"]:
        # What an op of unknown kind makes of another's memory may be a view, which signatures tell.
        views = any("alias_of" in graph["tensors"][t] for t in op["inputs"])
        for kind in sorted(op.get("cost_ns", {})):
            if not views and rng.random() < 0.5:
                text = signature(op, graph["tensors"])
                known = entries.setdefault((kind, text), entry(op, kind, text))
                timed = any(name in known for name in ("in_situ", "isolated", "cold"))
                if timed and rng.random() < 0.8:
                    del op["cost_ns"][kind]
    decoy = {"matmul": {"sensitivity": 3, "pressure": 3}, "transfer": {"pressure": 2}}
    problem["costs"] = {
        "format": "emplace-costs",
        "version": 2 if any(kind["class"] == "network" for kind in kinds.values()) else 1,
        "machine": "none",
        "device_kinds": [
            {"name": name, "class": kind["class"], "interference": decoy, "gap_ns": 777}
            for name, kind in kinds.items()
        ],
        "ops": list(entries.values()),
        "links": [],
    }


def _time(rng, has, scale):
    """A duration [ns]: an int, or a decimal string."""
    top = {"ties": 4, "small": 12, "medium": 3000, "large": 10**12}[scale]
    whole = rng.randint(0, top)
    if scale != "large" and has["fractions"] and rng.random() < 0.3:
        parts = [".1", ".25", ".4", ".49", ".51", ".6", ".75", ".9"] + (
            [".5"] * 3 if has["halves"] else []
        )
        return f"{whole}{rng.choice(parts)}"
    return whole


def _size(rng, has, scale):
    if has["zero-bytes"] and rng.random() < 0.1:
        return 0
    return rng.randint(1, {"ties": 4, "small": 30, "medium": 10**6, "large": 10**15}[scale])


def _bandwidth(rng, has, scale):
    """[B/s], such that a tensor takes about as long as an op: an int, or a decimal string."""
    if scale in ("ties", "small") and has["fractions"] and rng.random() < 0.3:
        return rng.choice(["1181116006.4", "333333333.3", "2684354.56", "750000000.5"])
    if scale == "large":
        return rng.randint(10**11, 10**13)
    if scale == "medium":
        return rng.choice([10**12, 300 * 10**9, 999999999937, rng.randint(10**11, 10**12)])
    return rng.choice([10**9, 2 * 10**9, 5 * 10**8, 3 * 10**9, 333333333, 7600 * 10**6, 1024**3])


def _figure(rng):
    """A sensitivity or pressure: decimal text from 0 to 16, with few or many digits."""
    most = rng.choice([1, 1, 4, 16, 16])
    half = Decimal(2 * rng.randint(0, most * 1024 - 1) + 1) / 2048  # of 1/1024; exact in decimal
    beside = half + rng.choice([-1, 1]) * Decimal(10) ** -rng.randint(6, 19)
    return rng.choice(
        [
            rng.choice(["0", "0.001", "0.5", "1", "1.5", "15.9995", "16"]),
            str(Decimal(rng.randint(0, most * 100)) / 100),
            format(Decimal(rng.randint(0, most * 10**15)) / 10**15, "f"),
            format(half, "f"),
            format(beside, "f"),
        ]
    )


def _add_interference(rng, cluster, op_kinds):
    """Neighbours, and figures of the classes that these op kinds have."""
    names = [device["name"] for device in cluster["devices"]]
    classes = sorted({CLASS_OF_KIND[kind] for kind in op_kinds} - {"view"}) + ["transfer"]
    for kind in cluster["device_kinds"].values():
        chosen = [name for name in classes if rng.random() < 0.9]
        if chosen:
            kind["interference"] = {
                name: {key: _figure(rng) for key in FIGURES if rng.random() < 0.9}
                for name in chosen
            }
    patterns = names + sorted({name.split(":")[0] + ":*" for name in names}) + ["*", "?pu:*"]
    patterns = [pattern for pattern in patterns if matched(pattern, names)]
    groups = [rng.choice(patterns) for _ in range(2)]
    groups += [rng.choices(patterns, k=rng.randint(1, 3)) for _ in range(3)]
    groups = [group for group in groups if len(matched(group, names)) > 1]
    if groups:
        cluster["shares"] = rng.choices(groups, k=rng.randint(1, 3))
    by_class = [group for group in ("cpu:*", "gpu:*") if len(matched(group, names)) > 1]
    if by_class and rng.random() < 0.2:
        cluster["shares"] = by_class


def _cluster(rng, has, scale):
    count = rng.choice([4, 5, 6] if has["fan"] else [1, 2, 2, 3, 3, 4, 4, 5, 6])
    kinds = {}
    for name in ["ka", "kb", "kc", "kd"][: rng.randint(1, 4)]:
        kinds[name] = {"class": rng.choice(["cpu", "gpu"] + ["network"] * has["network"])}
        if has["gaps"] and rng.random() < 0.7:
            kinds[name]["gap"] = _time(rng, has, scale)
        if has["cold-reads"] and rng.random() < 0.7:
            kinds[name]["cold_read"] = _bandwidth(rng, has, scale)
        if has["issue"]:
            for key in ("issue", "launch"):
                if rng.random() < 0.7:
                    kinds[name][key] = _time(rng, has, scale)
        if rng.random() < 0.3:  # none of these may matter
            kinds[name].update({"overhead": 777, "pays_transfers": rng.choice([True, False])})
    devices, seen = [], {"cpu": 0, "gpu": 0, "network": 0}
    for _ in range(count):
        kind = rng.choice(sorted(kinds))
        name = kinds[kind]["class"]
        devices.append(
            {
                "name": f"{name}:{seen[name]}",
                "kind": kind,
                **({"slots": rng.randint(1, 3)} if has["slots"] else {}),
            }
        )
        seen[name] += 1

    def channel(name=None, broadcast=False):
        return {
            **({"name": name} if name else {}),
            "latency": _time(rng, has, scale),
            **({"setup": _time(rng, has, scale)} if has["setups"] and rng.random() < 0.7 else {}),
            "bandwidth": _bandwidth(rng, has, scale),
            **({"gap": _time(rng, has, scale)} if has["gaps"] else {}),
            **({"broadcast": True} if broadcast else {}),
        }

    cluster = {"name": "random", "devices": devices, "device_kinds": kinds}
    names = [device["name"] for device in devices]
    style = rng.choice(["all_to_all", "egress_bus", "pairs", "pairs"] + ["globs"] * has["globs"])
    if has["fan"]:
        style = "pairs"
    if style == "all_to_all":
        cluster["all_to_all"] = channel()
    elif style == "egress_bus":
        cluster["egress_bus"] = channel(broadcast=has["broadcast"])
    elif style == "globs":
        cluster["channels"] = [channel("host"), channel("peer"), channel("switch")]
        cluster["routes"] = []
        classes = sorted({name.split(":")[0] for name in names})
        for a in classes:
            for b in classes:
                if a != b or seen[a] > 1:
                    via = ["peer" if a == b else "host"] + ["switch"] * (
                        has["hops"] and rng.random() < 0.5
                    )
                    cluster["routes"].append({"from": f"{a}:*", "to": f"{b}:*", "via": via})
    else:
        pairs = [(a, b) for a in names for b in names if a != b]
        shared = has["shared-channels"]
        firsts = [
            f"first {i}"
            for i in range(rng.randint(1, 2 if has["fan"] else 3) if shared else len(pairs))
        ]
        later = (
            [f"later {i}" for i in range(1 if has["fan"] else rng.randint(1, 3))]
            if has["hops"]
            else []
        )
        onward = rng.choice([0.3, 0.6, 0.9])
        cluster["channels"] = [channel(n, has["broadcast"] and rng.random() < 0.7) for n in firsts]
        cluster["channels"] += [channel(n) for n in later]
        last = {
            c["name"] for c in cluster["channels"] if "broadcast" in c and not has["broadcast-hops"]
        }
        cluster["routes"] = []
        for i, (a, b) in enumerate(pairs):
            via = [rng.choice(firsts + later[:1]) if shared else firsts[i]]
            if via[0] not in last and rng.random() < onward:
                rest = [name for name in later if name != via[0]]
                via += rng.sample(rest, min(rng.randint(1, 2), len(rest)))
            cluster["routes"].append({"from": a, "to": b, "via": via})
        rng.shuffle(cluster["routes"])
    if has["overlaps"] and count > 1:
        cluster.setdefault("channels", []).append(channel("detour"))
        for _ in range(rng.randint(1, 2)):
            a, b = rng.sample(names, 2)
            route = {"from": a, "to": rng.choice([b, "*"]), "via": ["detour"]}
            cluster.setdefault("routes", []).insert(
                rng.randint(0, len(cluster.get("routes", []))), route
            )
    if has["occupies"]:
        _add_occupies(rng, cluster)
    return cluster


def _graph(rng, has, scale, cluster, op_kinds):
    """The graph, and a device per op. Built in a hidden topological order, then renumbered."""
    n = rng.randint(*(SIZES[2] if has["fan"] else rng.choice(SIZES)))
    kinds, devices = cluster["device_kinds"], cluster["devices"]
    device_count, reach = len(devices), rng.choice([2, 5, 60])
    tensors, ops, places, alias_bases = [], [], [], []

    def tensor(role=None):
        tensors.append({"bytes": _size(rng, has, scale), **({"role": role} if role else {})})
        return len(tensors) - 1

    inputs = (
        [tensor(rng.choice(["input", "parameter", None])) for _ in range(rng.randint(1, 3))]
        if has["graph-inputs"]
        else []
    )
    if len(inputs) > 1 and has["aliases"] and rng.random() < 0.3:
        tensors[inputs[1]]["alias_of"] = inputs[0]
    labels = [f"group {i}" for i in range(rng.randint(1, 4))] if has["colocate"] else []
    label_place = {label: rng.randrange(device_count) for label in labels}
    hub = 0 if has["fan"] else rng.randrange(2 * n)  # an op that many others read
    favourite = rng.randrange(device_count)
    loyalty = 0.0 if has["fan"] else rng.choice([0.0, 0.0, 0.5, 0.9])
    for v in range(n):
        source = has["resident"] and v != hub and rng.random() < 0.15
        recent = list(range(max(0, v - reach), v))
        parents = [] if source else rng.sample(recent, min(len(recent), rng.randint(0, 3)))
        parents += (
            [hub] if v > hub and not source and rng.random() < (0.9 if has["fan"] else 0.5) else []
        )
        reads = [rng.choice(ops[u]["outputs"]) for u in parents if ops[u]["outputs"]]
        if inputs and not source and rng.random() < 0.3:
            reads.append(rng.choice(inputs))
        if has["duplicates"] and reads and rng.random() < 0.3:
            reads.insert(rng.randint(0, len(reads)), rng.choice(reads))
        controls = []
        if has["control"] and recent and rng.random() < 0.3:
            controls = rng.sample(recent, min(len(recent), rng.randint(1, 2)))
        label = rng.choice(labels) if labels and rng.random() < 0.4 else None
        if label is not None:
            place = label_place[label]
        else:
            place = favourite if rng.random() < loyalty else rng.randrange(device_count)
        role = rng.choice(["parameter", "buffer", "optimizer_state"]) if source else None
        writes = [
            tensor(role) for _ in range(rng.choice([0, 1, 1, 1, 2, 3] if v != hub else [2, 3]))
        ]
        for t in writes:
            if has["outputs"] and not source and rng.random() < 0.15:
                tensors[t]["role"] = "output"
            elif has["aliases"] and reads and rng.random() < 0.25:
                alias_bases.append((t, rng.choice(reads)))
            elif has["resident"] and rng.random() < 0.05:
                tensors[t]["role"] = "optimizer_state"
        op = {
            "kind": "parameter" if source else rng.choice(op_kinds),
            "inputs": reads,
            "outputs": writes,
            "cost_ns": {
                k: 0 if source or rng.random() < 0.1 else _number(_time(rng, has, scale))
                for k in kinds
            },
            "depth": v,
        }
        if has["bare"] and source and rng.random() < 0.5:
            del op["cost_ns"]
        if controls or rng.random() < 0.2:
            op["control_inputs"] = controls
        if label:
            op["colocate"] = label
        if has["workspaces"] and rng.random() < 0.4:
            op["workspace_bytes"] = _size(rng, has, scale)
        if has["constraints"] and rng.random() < 0.4:
            own = devices[place]["kind"]
            extra = rng.sample(sorted(kinds) + ["cpu", "gpu", "network"], rng.randint(0, 2))
            op["device_kinds"] = sorted({rng.choice([own, kinds[own]["class"]]), *extra})
        if has["devices"] and rng.random() < 0.4:
            op["devices"] = _patterns(rng, devices, place)
        described = [{**device, "class": kinds[device["kind"]]["class"]} for device in devices]
        if not allowed(op, described[place]):  # a network device, for which the op does not ask
            own = [devices[place]["kind"], "network"]
            op.update(
                rng.choice(
                    [
                        {"device_kinds": [rng.choice(own)]},
                        {"devices": _patterns(rng, devices, place)},
                    ]
                )
            )
        open_kinds = {device["kind"] for device in described if allowed(op, device)}
        for kind in sorted(set(kinds) - open_kinds) if has["bare"] else []:
            op.get("cost_ns", {}).pop(kind, None)
        ops.append(op)
        places.append(place)
    _add_aliases(has, tensors, ops, places, alias_bases)
    if "copied-outputs" not in has or not has["copied-outputs"]:
        _keep_outputs_home(tensors, ops, places)
    return _renumbered(rng, has, tensors, ops, places)


def _patterns(rng, devices, place):
    """Names and patterns of devices that match the one at `place`."""
    names = [device["name"] for device in devices]
    own = names[place]
    patterns = [own, own, own[:-1] + "?", own.split(":")[0] + ":*", "*:" + own[-1], "*"]
    return sorted({rng.choice(patterns), *rng.sample(names, rng.randint(0, min(2, len(names))))})


def _number(time):
    return time if isinstance(time, int) else float(time)


def _add_aliases(has, tensors, ops, places, bases):
    home = {t: place for op, place in zip(ops, places) for t in op["outputs"]}
    for t, base in bases:
        if has["spread-aliases"] or base not in home or home[base] == home[t]:
            tensors[t]["alias_of"] = base
            if has["resident-aliases"] and t % 3 == 0:
                tensors[t]["role"] = "parameter"


def _keep_outputs_home(tensors, ops, places):
    home = {t: place for op, place in zip(ops, places) for t in op["outputs"]}
    for op, place in zip(ops, places):
        for t in op["inputs"]:
            if tensors[t].get("role") == "output" and home.get(t, place) != place:
                del tensors[t]["role"]


def _renumbered(rng, has, tensors, ops, places):
    op_order, tensor_order = list(range(len(ops))), list(range(len(tensors)))
    if has["unordered"]:
        rng.shuffle(op_order)
        rng.shuffle(tensor_order)
    op_id = {old: new for new, old in enumerate(op_order)}
    tensor_id = {old: new for new, old in enumerate(tensor_order)}
    new_tensors = []
    for new, old in enumerate(tensor_order):
        item = {"id": new, **tensors[old]}
        if "alias_of" in item:
            item["alias_of"] = tensor_id[item["alias_of"]]
        new_tensors.append(item)
    new_ops = []
    for new, old in enumerate(op_order):
        item = {"id": new, "name": f"op {ops[old]['depth']}", **ops[old]}
        del item["depth"]
        item["inputs"] = [tensor_id[t] for t in item["inputs"]]
        item["outputs"] = [tensor_id[t] for t in item["outputs"]]
        if "control_inputs" in item:
            item["control_inputs"] = [op_id[u] for u in item["control_inputs"]]
            if has["duplicates"] and item["control_inputs"] and rng.random() < 0.3:
                item["control_inputs"].append(item["control_inputs"][0])
        new_ops.append(item)
    graph = {
        "format": "emplace-graph",
        "version": 1,
        "name": "random",
        "tensors": new_tensors,
        "ops": new_ops,
    }
    return graph, [places[old] for old in op_order]
