"""Random training steps, clusters and plans."""

import plan_ranks
import plans
import problems
from model import Machine, allowed, matched

PEAK = 10**9  # [FLOP/s] of every device
WISHES = {
    "aliases": 0.5,  # views, updates in place
    "control": 0.4,
    "cross-layer": 0.4,  # forward ops that read activations of earlier layers
    "device-kinds": 0.2,
    "devices": 0.2,
    "forward-to-update": 0.3,  # an update that reads what the forward pass makes
    "graph-inputs": 0.7,
    "labels": 0.4,
    "outputs": 0.3,
    "statistics": 0.3,  # forward ops that write a buffer
    "storage-after": 0.1,  # constants that await an op
    "types": 0.3,  # shapes and element types
    "unordered": 0.4,
    "workspaces": 0.3,
}
# What clusters may have; problems.py explains them.
CLUSTER_FEATURES = ("broadcast", "gaps", "globs", "hops", "issue", "setups", "shared-channels", "slots")


class StepMaker:
    """A training step of layers; ops in a hidden topological order."""

    def __init__(self, rng, cluster):
        self.rng, self.kinds = rng, cluster["device_kinds"]
        self.device_names = [device["name"] for device in cluster["devices"]]
        self.has = {name: rng.random() < chance for name, chance in WISHES.items()}
        self.tensors, self.ops = [], []
        self.most_bytes = rng.choice([4, 40, 3000])

    def tensor(self, role=None, alias_of=None):
        size = 0 if self.rng.random() < 0.05 else self.rng.randint(1, self.most_bytes)
        item = {"name": f"t{len(self.tensors)}", "bytes": size}
        item.update({"role": role} if role else {})
        if self.has["types"]:
            item["shape"] = self.rng.choice([[], [2, 3], [4]])
            item["dtype"] = self.rng.choice(["f32", "f16"])
        item.update({} if alias_of is None else {"alias_of": alias_of})
        self.tensors.append(item)
        return len(self.tensors) - 1

    def op(self, name, phase, inputs, outputs, **more):
        rng, kind = self.rng, more.pop("kind", "test.op")
        storage = kind in ("parameter", "constant")
        op = {"name": name, "kind": kind, "inputs": inputs, "outputs": outputs, "phase": phase}
        op["cost_ns"] = {k: 0 if storage else rng.randint(0, 9) for k in self.kinds}
        if not storage:
            op["flops"] = rng.randint(0, 99)
            if rng.random() < 0.3:
                op["bytes_accessed"] = rng.randint(0, 99)
        if self.has["workspaces"] and not storage and rng.random() < 0.3:
            op["workspace_bytes"] = rng.randint(1, self.most_bytes)
        op.update(more)
        self.ops.append(op)
        return len(self.ops) - 1

    def some(self, items, most):
        items = list(items)
        return self.rng.sample(items, self.rng.randint(0, min(most, len(items))))

    def make(self):
        rng, has = self.rng, self.has
        inputs = [self.tensor("input") for _ in range(rng.randint(1, 3))]
        if has["graph-inputs"]:
            inputs += [self.tensor(rng.choice([None, "buffer"])) for _ in range(rng.randint(0, 2))]
        forward, parameters, kept = [], [], []  # forward: (op, layer, what it reads, weights)
        arriving = [inputs[0]]
        layers = rng.randint(1, 4)
        for layer in range(layers):
            weights = []
            for i in range(rng.randint(0, 2)):
                role = rng.choice(["parameter", "parameter", "buffer"])
                t, name = self.tensor(role), f"w{layer}.{i}"
                label = {"colocate": name} if rng.random() < 0.5 else {}
                kind = rng.choice(["parameter", "parameter", "constant"])
                self.op(name, "forward", [], [t], kind=kind, **label)
                weights.append(t)
                parameters.append((t, label))
            fresh = []
            for i in range(rng.randint(1, 4)):
                reads = self.some(fresh, 2) or [rng.choice(arriving)]
                if has["cross-layer"] and kept and rng.random() < 0.3:
                    reads.append(rng.choice(kept))
                if rng.random() < 0.2:
                    reads.append(rng.choice(inputs + reads))
                own = self.some(weights, 2)
                writes = [self.tensor() for _ in range(rng.choice([1, 1, 1, 2, 3]))]
                for t in writes:
                    if has["aliases"] and rng.random() < 0.25:
                        self.tensors[t]["alias_of"] = rng.choice(reads)
                    elif has["outputs"] and rng.random() < 0.1:
                        self.tensors[t]["role"] = "output"
                if has["statistics"] and rng.random() < 0.2:
                    base = rng.choice(weights) if weights and rng.random() < 0.5 else None
                    writes.append(self.tensor("buffer", base))
                v = self.op(f"layer{layer}/f{i}", "forward", reads + own, writes)
                forward.append((v, layer, reads, own))
                fresh += writes
            kept += fresh
            arriving = self.some(fresh, 2) or fresh[-1:]
        gradients = self.backward(forward)
        self.updates(parameters, gradients, kept)
        self.refine()
        return self.numbered()

    def backward(self, forward):
        """{parameter: [gradients]}"""
        rng, flowing, gradients = self.rng, {}, {}
        for v, layer, reads, own in reversed(forward):
            if rng.random() < 0.1:
                continue
            op = self.ops[v]
            arriving = [flowing[t] for t in op["outputs"] if t in flowing]
            saved = self.some(set(op["outputs"] + reads + own), 3)
            if not arriving and not saved:
                saved = op["outputs"][:1]
            writes = []
            for t in reads:
                if rng.random() < 0.8:
                    flowing[t] = self.tensor("gradient" if rng.random() < 0.8 else None)
                    writes.append(flowing[t])
                    if self.has["aliases"] and rng.random() < 0.2:
                        self.tensors[flowing[t]]["alias_of"] = rng.choice(arriving + saved)
            writes = list(dict.fromkeys(writes))
            for t in dict.fromkeys(own):
                if rng.random() < 0.9:
                    gradients.setdefault(t, []).append(self.tensor("gradient"))
                    writes.append(gradients[t][-1])
            name = f"layer{layer}/b{op['name'].split('/f')[1]}"
            attributes = {"forward_op": op["name"]} if rng.random() < 0.7 else {}
            attributes.update({"axis": 1, "text": 'a "quoted" \u00e9'} if rng.random() < 0.3 else {})
            self.op(name, "backward", arriving + saved, writes, attributes=attributes)
            if writes and rng.random() < 0.1:  # a gradient of two producers, summed
                total = self.tensor("gradient")
                self.op(f"{name}/sum", "backward", self.some(writes, 2) or writes, [total])
        return gradients

    def updates(self, parameters, gradients, kept):
        rng, free = self.rng, [t for t, _ in parameters]
        labels = dict(parameters)
        while free:
            mine = free[: rng.choice([1, 1, 1, 2, 4])]
            free = free[len(mine) :]
            reads = mine + [g for t in mine for g in gradients.get(t, [])]
            if len(reads) == len(mine) and rng.random() < 0.7:
                continue
            if rng.random() < 0.4:
                state = self.tensor("optimizer_state")
                self.op(f"state{mine[0]}", "forward", [], [state], kind="parameter")
                reads.append(state)
            if self.has["forward-to-update"] and rng.random() < 0.4:
                reads.append(rng.choice(kept))
            writes = [self.tensor(rng.choice(["parameter", "output"]), alias_of=t) for t in mine]
            if self.has["aliases"] and rng.random() < 0.3:  # the gradient is scaled in place
                scaled = self.tensor("gradient", alias_of=reads[-1])
                self.op(f"scale{mine[0]}", "update", reads[-1:], [scaled])
                reads[-1] = scaled
            label = labels[mine[0]] if len(mine) == 1 else {}
            self.op(f"update{mine[0]}", "update", reads, writes, **label)

    def refine(self):
        """Control inputs, labels, restrictions."""
        rng, has = self.rng, self.has
        for v, op in enumerate(self.ops):
            storage = op["kind"] in ("parameter", "constant")
            earlier = [u for u in range(v) if self.ops[u]["phase"] != "update" or op["phase"] == "update"]
            earlier = [u for u in earlier if op["phase"] != "forward" or self.ops[u]["phase"] == "forward"]
            if has["storage-after"] and op["kind"] == "constant" and earlier and rng.random() < 0.3:
                op["control_inputs"] = [rng.choice(earlier)]
            if has["control"] and not storage and earlier and rng.random() < 0.25:
                op["control_inputs"] = rng.sample(earlier, min(len(earlier), rng.randint(1, 2)))
            if has["labels"] and "colocate" not in op and rng.random() < 0.3:
                op["colocate"] = rng.choice(["left", "right"])
            if has["device-kinds"] and rng.random() < 0.3:
                op["device_kinds"] = sorted(set(rng.choices(sorted(self.kinds) + ["cpu", "gpu"], k=4)))
            if has["devices"] and rng.random() < 0.3:
                patterns = ["*", "?pu:*", "gpu:*", "cpu:*", "*:0", "*:1"]
                patterns = [p for p in patterns if matched(p, self.device_names)]
                op["devices"] = rng.sample(patterns, min(len(patterns), rng.randint(1, 3)))
            if rng.random() < 0.1 and op["inputs"]:
                op["inputs"] = op["inputs"] + [rng.choice(op["inputs"])]

    def numbered(self):
        ops, tensors = list(range(len(self.ops))), list(range(len(self.tensors)))
        if self.has["unordered"]:
            self.rng.shuffle(ops)
            self.rng.shuffle(tensors)
        op_id = {old: new for new, old in enumerate(ops)}
        tensor_id = {old: new for new, old in enumerate(tensors)}
        graph = {"format": "emplace-graph", "version": 1, "name": "step", "tensors": [], "ops": []}
        for new, old in enumerate(tensors):
            item = {"id": new, **self.tensors[old]}
            if "alias_of" in item:
                item["alias_of"] = tensor_id[item["alias_of"]]
            graph["tensors"].append(item)
        for new, old in enumerate(ops):
            item = {"id": new, **self.ops[old]}
            for key in ("inputs", "outputs"):
                item[key] = [tensor_id[t] for t in item[key]]
            if "control_inputs" in item:
                item["control_inputs"] = [op_id[u] for u in item["control_inputs"]]
            graph["ops"].append(item)
        return graph


def random_cluster(rng):
    has = dict.fromkeys(problems.FEATURES, False)
    has.update({name: rng.random() < 0.4 for name in CLUSTER_FEATURES})
    has.update({"fan": False, "network": rng.random() < 0.15})
    cluster = problems._cluster(rng, has, rng.choice(["ties", "small", "medium"]))
    for device in cluster["devices"]:
        device["memory"] = 10**12
    for kind in cluster["device_kinds"].values():
        kind["overhead"] = rng.choice([0, 2])
        kind.update({"memory_bandwidth": rng.choice([1, 3]) * 10**9, "peak": {"f32": f"{PEAK}FLOP/s"}})
        kind["efficiency"] = {"memory": 1, "elementwise": 1}
    return cluster


def sharded(rng, graph, cluster):
    """Gives the graph ranks and collectives; returns a cluster with as many alike devices for each."""
    ranks = rng.choice([2, 2, 3, 4])
    groups = {2: [[0, 1]], 3: [[0, 1, 2]], 4: [[0, 1], [0, 2], [0, 1, 2, 3]]}[ranks]
    graph["ranks"] = ranks
    tensors, ops = graph["tensors"], graph["ops"]

    def add(op, base, **more):
        tensor = {"id": len(tensors), "name": f"t{len(tensors)}", "bytes": rng.randint(0, 60), **more}
        tensors.append({**{key: base[key] for key in ("shape", "dtype") if key in base}, **tensor})
        op.update({"id": len(ops), "outputs": [tensor["id"]]})
        ops.append(op)
        return tensor["id"]

    for op in list(ops):
        op.pop("devices", None)
        if op["kind"] in ("parameter", "constant") and rng.random() < 0.6 or op.get("phase") == "update":
            continue
        for t in op["outputs"]:
            if rng.random() < 0.6:
                continue
            name = rng.choice(plan_ranks.NAMES)
            group = rng.choice(groups)
            attributes = {"ranks": group, "group_size": len(group)}
            attributes.update({"ahead": True} if rng.random() < 0.4 else {})
            sent = {"name": f"{op['name']}/c{t}", "kind": f"collective.{name}", "inputs": [t]}
            sent.update({"attributes": attributes, "phase": op["phase"], "device_kinds": ["network"]})
            result = add(sent, tensors[t])
            if rng.random() < 0.5:
                kinds = {key: 0 for key in cluster["device_kinds"]}
                view = {"name": f"{sent['name']}/v", "kind": "Reshape", "inputs": [result]}
                view.update({"cost_ns": kinds, "phase": op["phase"]})
                result = add(view, tensors[t], alias_of=result)
            for reader in ops:
                if reader["name"].startswith(sent["name"]) or rng.random() < 0.2:
                    continue
                reader["inputs"] = [result if u == t else u for u in reader["inputs"]]
    machine, names = Machine(cluster), [device["name"] for device in cluster["devices"]]
    of_class = [device["class"] for device in machine.devices]
    divided = "gpu" if "gpu" in of_class else "cpu"
    kept = [d for d in range(len(names)) if of_class[d] in (divided, "network")]
    name = {}
    for d in kept:
        number = sum(of_class[u] == of_class[d] for u in kept if u < d)
        for r in range(ranks):
            copy = number if of_class[d] == "network" else number * ranks + r
            name[d, r] = f"{of_class[d]}:{copy}"
    channels, routes = [], []

    def channel(title, figures):
        keys = ("latency", "setup", "bandwidth", "gap")
        if title not in {each["name"] for each in channels}:
            channels.append({"name": title, **{key: int(figures[key]) for key in keys if figures.get(key)}})
            channels[-1].update({"broadcast": True} if figures.get("broadcast") else {})
        return title

    for r in range(ranks):
        for (a, b), via in machine.routes.items():
            if a in kept and b in kept and not (of_class[a] == of_class[b] == "network"):
                via = [channel(f"{machine.channels[k]['name']} of {r}", machine.channels[k]) for k in via]
                routes.append({"from": name[a, r], "to": name[b, r], "via": via})
        for d in kept if rng.random() < 0.98 else []:
            for s in range(ranks) if of_class[d] == divided else []:
                if r != s:
                    figures = {"latency": rng.randint(0, 5), "bandwidth": rng.choice([1, 2]) * 10**9}
                    title = channel(f"{name[d, r]}>{name[d, s]}", figures)
                    routes.append({"from": name[d, r], "to": name[d, s], "via": [title]})
    devices = []
    for d in kept:
        for r in range(ranks if of_class[d] == divided else 1):
            devices.append({**cluster["devices"][d], "name": name[d, r]})
    explicit = {"devices": devices, "channels": channels, "routes": routes}
    return {"name": "random", "device_kinds": cluster["device_kinds"], **explicit}


def random_plan(rng, graph, cluster):
    kinds, devices = cluster["device_kinds"], cluster["devices"]
    names = {c: [d["name"] for d in devices if kinds[d["kind"]]["class"] == c] for c in ("gpu", "cpu")}
    usable = names["gpu"] or names["cpu"]
    replicas = rng.choice([n for n in range(1, 5) if usable and len(usable) % n == 0] or [1])
    layers = {op["name"].split("/")[0] for op in graph["ops"] if "/f" in op["name"]}
    patterns = [f"{layer}/*" for layer in sorted(layers)] + ["*", "layer*/f?", "*/f0", "layer?/f1"]
    patterns = [p for p in patterns if rng.random() < rng.choice([0, 0, 0.3, 0.6])]
    rng.shuffle(patterns)
    plan = {
        "replicas": replicas,
        "micro_batches": rng.choice([1, 1, 2, 2, 3, 4]),
        "recompute": patterns,
        "bucket": rng.choice([0, 1, 10, 1000, 25 * 10**6]),
        "collectives": rng.choice(["network", "network", "tree"]),
        "states": "replicated",
    }
    if rng.random() < (0.05 if plan["collectives"] == "tree" else 0.8):
        plan["states"] = "zero1"
    if usable and rng.random() < 0.4:
        pool = rng.sample(usable, len(usable))
        plan["replicas"] = rng.randint(1, len(pool))
        groups = [[name] for name in pool[: plan["replicas"]]]
        for name in pool[plan["replicas"] :]:
            if rng.random() < 0.8:
                rng.choice(groups).append(name)
        if names["gpu"]:
            for name in names["cpu"]:
                for group in groups:
                    group += [name] * (rng.random() < 0.4)
        plan["groups"] = groups
    return plan


def random_devices(rng, graph, cluster, plan, in_turn):
    """A device of the first replica for each op; ops of a label are together. in_turn: on two or three devices in
    turn, as far as they may."""
    machine = Machine(cluster)
    try:
        group = plans.device_groups(plan, machine)[0]
    except plans.Refused:
        group = range(len(machine.devices))
    usual = rng.sample(list(group), rng.randint(1, len(group)))
    if in_turn:
        usual = rng.sample(list(group), min(rng.choice([2, 2, 3]), len(group)))
    # Labels are together, and the ops of a layer for the most part.
    end = None if in_turn else rng.choice([1, 1, None])
    keys = [op.get("colocate") or "/".join(op["name"].split("/")[:end]) for op in graph["ops"]]
    chosen = {}
    for key in keys:
        ops = [op for op, other in zip(graph["ops"], keys) if other == key]
        fit = [d for d in group if all(allowed(op, machine.devices[d]) for op in ops)]
        if in_turn and usual[len(chosen) % len(usual)] in fit:
            chosen.setdefault(key, usual[len(chosen) % len(usual)])
        elif key not in chosen:
            chosen[key] = rng.choice([d for d in usual if d in fit] or fit or usual)
    return [chosen[key] for key in keys]


def generate(rng):
    """{"graph", "cluster", "plan", "devices" of the step's ops in the first replica, "schedule",
    "virtual_stages", "semantics"}"""
    cluster = random_cluster(rng)
    graph = StepMaker(rng, cluster).make()
    whole = sharded(rng, graph, cluster) if rng.random() < 0.3 else cluster
    try:
        graph_zero, cluster = plan_ranks.first_rank(graph, whole)
    except plans.Refused:
        graph_zero, cluster = graph, whole
    plan = random_plan(rng, graph, cluster)
    schedule, virtual = rng.choice(["gpipe", "1f1b", "interleaved"]), 1
    if schedule == "interleaved":
        virtual = rng.choice([1, 2, 2, 3])
        plan["micro_batches"] = rng.choice([2, 4, 6, 6])
        if rng.random() < 0.7:  # most groups of several replicas have one device
            plan = {**plan, "replicas": 1, "states": "replicated"}
            plan.pop("groups", None)
    names = [device["name"] for device in whole["devices"]]
    first = [names.index(device["name"]) for device in cluster["devices"]]
    return {
        "graph": graph,
        "cluster": whole,
        "plan": plan,
        "devices": [first[d] for d in random_devices(rng, graph_zero, cluster, plan, virtual > 1)],
        "schedule": schedule,
        "virtual_stages": virtual,
        "semantics": rng.choice(["queue", "stream"]),
    }
