"""A second, independent implementation of framework/plan, written from the text of its headers.

  step       the JSON of a graph file (framework/graph/FORMAT.md) with every key of its ops
  cluster    as reference.py takes it
  plan       {"replicas", "micro_batches", "recompute", "bucket" [B], "collectives", "states",
             "groups" (optional)}

apply_plan() returns a Planned: graph, origins and cluster. plan_orders.py has the issue orders.
"""

import dataclasses
import fnmatch
import heapq
import math

from model import Machine, matched
from plan_collectives import collective_time

STORAGE = ("parameter", "constant")
BITS = {"f32": 32, "f16": 16}  # of the element types that problems have


class Refused(Exception):
    """The plan does not fit step or cluster."""


@dataclasses.dataclass
class Origin:
    """Where an op comes from: framework/plan/planned_graph.h."""

    role: str  # copy, recompute, accumulate, collective
    op: int = -1
    micro_batch: int = -1
    replica: int = -1
    group: int = -1  # of ranks


@dataclasses.dataclass
class Planned:
    """A graph after some passes, or as far as it is made."""

    tensors: list = dataclasses.field(default_factory=list)
    ops: list = dataclasses.field(default_factory=list)
    origins: list = dataclasses.field(default_factory=list)
    cluster: dict = None

    def tensor(self, tensor):
        self.tensors.append(dict(tensor))
        return len(self.tensors) - 1

    def op(self, op, origin):
        self.ops.append(op)
        self.origins.append(origin)
        return len(self.ops) - 1

    def graph(self):
        for i, tensor in enumerate(self.tensors):
            tensor["id"] = i
        for i, op in enumerate(self.ops):
            op["id"] = i
        head = {"format": "emplace-graph", "version": 1, "name": "planned"}
        return {**head, "tensors": self.tensors, "ops": self.ops}


def whole(op):
    """An op with every key that the passes look at."""
    defaults = {"control_inputs": [], "attributes": {}, "phase": "forward", "colocate": None}
    return {**defaults, **op}


def is_storage(op):
    return op["kind"] in STORAGE


def producers(ops):
    return {t: v for v, op in enumerate(ops) for t in op["outputs"]}


def predecessors(ops):
    """[ops]: set of the ops that an op awaits."""
    made_by = producers(ops)
    return [
        {made_by[t] for t in op["inputs"] if t in made_by} | set(op["control_inputs"])
        for op in ops
    ]


def topological_order(ops, key=lambda v: v):
    """Of the ops whose predecessors are listed, the one of least key comes next."""
    before = predecessors(ops)
    after = [[] for _ in ops]
    for v, awaited in enumerate(before):
        for u in awaited:
            after[u].append(v)
    missing = [len(awaited) for awaited in before]
    heap = [(key(v), v) for v in range(len(ops)) if not missing[v]]
    heapq.heapify(heap)
    order = []
    while heap:
        _, u = heapq.heappop(heap)
        order.append(u)
        for v in after[u]:
            missing[v] -= 1
            if not missing[v]:
                heapq.heappush(heap, (key(v), v))
    assert len(order) == len(ops), "a cycle"
    return order


def named_anew(op, prefix):
    """The op with the prefix before its name and the name in its attribute forward_op."""
    attributes = dict(op["attributes"])
    if isinstance(attributes.get("forward_op"), str):
        attributes["forward_op"] = prefix + attributes["forward_op"]
    return {**op, "name": prefix + op["name"], "attributes": attributes}


# Recompute


class Layers:
    """Which op belongs to which layer, and which tensors are inner."""

    def __init__(self, tensors, ops, patterns):
        self.tensors, self.ops, self.made_by = tensors, ops, producers(ops)
        self.layer_of = [None] * len(ops)
        forward = [v for v, op in enumerate(ops) if op["phase"] == "forward" and not is_storage(op)]
        for number, pattern in enumerate(patterns):
            hits = [v for v in forward if fnmatch.fnmatchcase(ops[v]["name"], pattern)]
            if not hits:
                raise Refused(f"recompute: {pattern}")
            for v in hits:
                if self.layer_of[v] is None:
                    self.layer_of[v] = number
        self.readers = {t: set() for t in range(len(tensors))}
        for v, op in enumerate(ops):
            for t in op["inputs"]:
                self.readers[t].add(v)

    def layer_of_tensor(self, t):
        return self.layer_of[self.made_by[t]] if t in self.made_by else None

    def repeatable(self, v):
        """Whether an op of a layer may be executed again."""
        for t in self.ops[v]["outputs"]:
            if self.tensors[t].get("role", "activation") not in ("activation", "gradient"):
                return False
            base = self.tensors[t].get("alias_of")
            while base is not None:
                if self.layer_of_tensor(base) != self.layer_of[v]:
                    return False
                base = self.tensors[base].get("alias_of")
        return True

    def own(self, t):
        """Whether no forward op outside of its layer reads a tensor that may be made again."""
        layer = self.layer_of_tensor(t)
        if layer is None or not self.repeatable(self.made_by[t]):
            return False
        others = [v for v in self.readers[t] if self.layer_of[v] != layer]
        return all(self.ops[v]["phase"] != "forward" for v in others)

    def inner(self, t):
        return self.own(t) and any(self.ops[v]["phase"] != "forward" for v in self.readers[t])

    def repeated(self, layer):
        """The ops of a layer that get a copy."""
        left = [self.made_by[t] for t in self.made_by if self.inner(t)]
        left = [v for v in left if self.layer_of[v] == layer]
        found = set()
        while left:
            v = left.pop()
            if v not in found:
                found.add(v)
                left += [
                    self.made_by[t]
                    for t in self.ops[v]["inputs"]
                    if self.layer_of_tensor(t) == layer and self.own(t)
                ]
        return found


def recompute(tensors, ops, patterns):
    layers = Layers(tensors, ops, patterns)
    order = topological_order(ops)
    before = predecessors(ops)
    result = Planned([dict(tensor) for tensor in tensors])
    copy_of = {}  # tensor -> its copy
    waiting = {}  # first reader -> [(layer, ops in topological order)]
    for layer in range(len(patterns)):
        repeated = [v for v in order if v in layers.repeated(layer)]
        if not repeated:
            continue
        inner = {t for t in layers.made_by if layers.inner(t) and layers.layer_of_tensor(t) == layer}
        first = next(
            v for v in order if ops[v]["phase"] != "forward" and inner & set(ops[v]["inputs"])
        )
        waiting.setdefault(first, []).append(repeated)
        for v in repeated:
            for t in ops[v]["outputs"]:
                copy_of[t] = result.tensor(tensors[t])
    # In the copies, and in ops of other phases, what is read and what is shared.
    for t, copy in copy_of.items():
        base = tensors[t].get("alias_of")
        if base in copy_of and layers.own(base):
            result.tensors[copy]["alias_of"] = copy_of[base]
    for v, op in enumerate(ops):
        for t in op["outputs"] if op["phase"] != "forward" else []:
            base = tensors[t].get("alias_of")
            if base in copy_of and layers.own(base):
                result.tensors[t]["alias_of"] = copy_of[base]
    new_id, copy_id, controls = {}, {}, []  # controls: (new op, ids of the step, their layer)
    for v in range(len(ops)):
        repeated = [u for each in waiting.get(v, []) for u in each]
        if repeated:
            for u in sorted(repeated, key=order.index):
                reads = [copy_of[t] if t in copy_of and layers.own(t) else t for t in ops[u]["inputs"]]
                copy = {
                    **ops[u],
                    "name": f"recompute/{ops[u]['name']}",
                    "phase": "backward",
                    "inputs": reads,
                    "outputs": [copy_of[t] for t in ops[u]["outputs"]],
                }
                copy_id[u] = result.op(copy, Origin("recompute", u))
                layer = layers.layer_of[u]
                near = {w for w in repeated if layers.layer_of[w] == layer}
                awaited = list(ops[u]["control_inputs"])
                if reads == ops[u]["inputs"] and not near & set(awaited):
                    awaited += sorted(w for w in before[v] if ops[w]["phase"] == "backward")
                controls.append((copy_id[u], awaited, near))
        reads = ops[v]["inputs"]
        if ops[v]["phase"] != "forward":
            reads = [copy_of[t] if t in copy_of and layers.inner(t) else t for t in reads]
        new_id[v] = result.op({**ops[v], "inputs": reads}, Origin("copy", v))
        controls.append((new_id[v], ops[v]["control_inputs"], ()))
    for id_, awaited, near in controls:
        ids = [copy_id[u] if u in near else new_id[u] for u in awaited]
        result.ops[id_]["control_inputs"] = list(dict.fromkeys(ids))
    return result


# Micro-batches


def copy_micro_batches(step, count):
    if count == 1:
        return step
    tensors, ops = step.tensors, step.ops
    order, made_by = topological_order(ops), producers(ops)
    before = predecessors(ops)
    free = [is_storage(op) and not awaited for op, awaited in zip(ops, before)]
    copied = [op["phase"] != "update" and not free[v] for v, op in enumerate(ops)]
    ranks = {"forward": 0, "backward": 1, "update": 2}
    for v, op in enumerate(ops):
        phases = [ops[u]["phase"] for u in before[v] if not free[u]]
        if copied[v] and any(ranks[phase] > ranks[op["phase"]] for phase in phases):
            raise Refused(f"{op['name']} depends on a later phase")
    readers = {t: [v for v, op in enumerate(ops) if t in op["inputs"]] for t in range(len(tensors))}
    gradients = {
        t for t, v in made_by.items() if copied[v] and any(not copied[r] for r in readers[t])
    }
    result = Planned()

    def is_copied(t):
        if t in made_by:
            return copied[made_by[t]]
        return tensors[t].get("role") == "input" and all(copied[r] for r in readers[t])

    ids = {}  # (tensor, micro-batch) -> new tensor
    for t, tensor in enumerate(tensors):
        if is_copied(t):
            ids.update({(t, m): result.tensor(tensor) for m in range(count)})
        else:
            ids.update(dict.fromkeys([(t, m) for m in range(count)], result.tensor(tensor)))
    for (t, m), new in ids.items():
        if tensors[t].get("alias_of") is not None:
            result.tensors[new]["alias_of"] = ids[tensors[t]["alias_of"], m if is_copied(t) else 0]
    sums = {t: ids[t, 0] for t in gradients}
    op_ids = {}  # (op, micro-batch) -> new op
    controls = []

    def add_once(v):
        reads = [sums[t] if t in sums else ids[t, 0] for t in ops[v]["inputs"]]
        op = {**ops[v], "inputs": reads, "outputs": [ids[t, 0] for t in ops[v]["outputs"]]}
        for t in ops[v]["outputs"]:
            if tensors[t].get("alias_of") in sums:
                result.tensors[ids[t, 0]]["alias_of"] = sums[tensors[t]["alias_of"]]
        id_ = result.op(op, dataclasses.replace(step.origins[v]))
        op_ids.update({(v, m): id_ for m in range(count)})
        controls.append((id_, [(u, m) for u in op["control_inputs"] for m in range(count)]))

    def add_copy(v, m):
        op = named_anew(ops[v], f"m{m}/")
        op["inputs"] = [ids[t, m] for t in op["inputs"]]
        op["outputs"] = [ids[t, m] for t in op["outputs"]]
        op["colocate"] = ops[v]["colocate"] or ops[v]["name"]
        origin = dataclasses.replace(step.origins[v], micro_batch=m)
        op_ids[v, m] = result.op(op, origin)
        controls.append((op_ids[v, m], [(u, m) for u in op["control_inputs"]]))
        own = [t for t in ops[v]["outputs"] if t in gradients]
        for i, t in enumerate(own if m > 0 else []):
            total = result.tensor({**tensors[t], "alias_of": sums[t]})
            add = {
                "name": f"m{m}/accumulate/{ops[v]['name']}" + (f"/{i}" if i else ""),
                "kind": "aten.add",
                "phase": "backward",
                "inputs": [sums[t], ids[t, m]],
                "outputs": [total],
                "flops": math.prod(tensors[t].get("shape", [])),
                "colocate": op["colocate"],
            }
            add = {key: op[key] for key in ("device_kinds", "devices") if op.get(key)} | whole(add)
            result.op(add, Origin("accumulate", origin.op, m))
            sums[t] = total

    once = [v for v in order if not copied[v]]
    begin = min((order.index(v) for v in order if copied[v]), default=0)
    early = [v for v in once if order.index(v) < begin]
    early += [v for v in once if free[v] and v not in early]
    for v in early:
        add_once(v)
    for phase in ("forward", "backward"):
        for m in range(count):
            for v in order:
                if copied[v] and ops[v]["phase"] == phase:
                    add_copy(v, m)
    for v in once:
        if v not in early:
            add_once(v)
    for id_, awaited in controls:
        listed = list(dict.fromkeys(op_ids[key] for key in awaited))
        result.ops[id_]["control_inputs"] = listed
    return result


# Replicas


def gradient_buckets(planned, group_of, most_bytes):
    """[(tensors, bytes, last producer)]; group_of: of an op of the graph."""
    ops, made_by = planned.ops, producers(planned.ops)
    read = {t for op in ops if op["phase"] == "update" for t in op["inputs"]}
    made = [
        t
        for v in topological_order(ops)
        for t in ops[v]["outputs"]
        if ops[v]["phase"] != "update" and not is_storage(ops[v]) and t in read
    ]
    buckets, last = [], None
    for t in made:
        size = planned.tensors[t]["bytes"]
        group = (group_of(made_by[t]), planned.tensors[t].get("dtype", ""))
        if most_bytes and last == group and buckets[-1][1] + size <= most_bytes:
            tensors, total, after = buckets.pop()
            buckets.append((tensors + [t], total + size, max(after, made_by[t])))
        else:
            buckets.append(([t], size, made_by[t]))
        last = group
    return buckets


def restricted(op, names):
    """The devices on which a copy may run."""
    if not op.get("devices"):
        return list(names)
    found = [names[d] for d in matched(op["devices"], names)]
    if not found:
        raise Refused(f"{op['name']}: devices")
    return found


def copied_op(op, ids, r, names):
    """Op of replica r; its control inputs are still those of the step."""
    copy = named_anew(op, f"r{r}/")
    for key in ("inputs", "outputs"):
        copy[key] = [ids[t, r] for t in op[key]]
    copy["colocate"] = f"r{r}/{op['colocate']}" if op["colocate"] else None
    copy["devices"] = restricted(op, names[r])
    return copy


def copied_tensors(step, replicas):
    """(a graph with the tensors of all replicas, {(tensor, replica): its id})"""
    result, ids = Planned(), {}
    for t, tensor in enumerate(step.tensors):
        ids.update({(t, r): result.tensor(tensor) for r in range(replicas)})
    for (t, r), new in ids.items():
        if step.tensors[t].get("alias_of") is not None:
            result.tensors[new]["alias_of"] = ids[step.tensors[t]["alias_of"], r]
    return result, ids


def one_replica(step, names):
    ops = [{**op, "devices": restricted(op, names[0])} for op in step.ops]
    origins = [dataclasses.replace(origin, replica=0) for origin in step.origins]
    return Planned(step.tensors, ops, origins)


def replicate_by_tree(step, names):
    """names: [replicas] of devices"""
    replicas, ops = len(names), step.ops
    if replicas == 1:
        return one_replica(step, names)
    result, ids = copied_tensors(step, replicas)
    gradients = {t for tensors, _, _ in gradient_buckets(step, lambda v: v, 0) for t in tensors}
    sums = {(t, r): ids[t, r] for t in gradients for r in range(replicas)}
    op_ids, updates = {}, []
    for v, op in enumerate(ops):
        own = [t for t in op["outputs"] if t in gradients]
        for r in range(replicas):
            copy = copied_op(op, ids, r, names)
            copy["colocate"] = copy["colocate"] or (copy["name"] if own else None)
            op_ids[v, r] = result.op(copy, dataclasses.replace(step.origins[v], replica=r))
            updates += [(op_ids[v, r], v)] if op["phase"] == "update" else []
        for i, t in enumerate(own):
            distance = 1
            while distance < replicas:
                for r in range(0, replicas - distance, 2 * distance):
                    total = result.tensor({**step.tensors[t], "alias_of": sums[t, r]})
                    producer = result.ops[op_ids[v, r]]
                    add = {
                        "name": f"r{r}/reduce/{distance}/{op['name']}" + (f"/{i}" if i else ""),
                        "kind": "aten.add",
                        "phase": "backward",
                        "inputs": [sums[t, r], sums[t, r + distance]],
                        "outputs": [total],
                        "flops": math.prod(step.tensors[t].get("shape", [])),
                    }
                    kept = ("colocate", "device_kinds", "devices")
                    add |= {key: producer[key] for key in kept if producer.get(key)}
                    result.op(whole(add), dataclasses.replace(step.origins[v], role="accumulate", replica=r))
                    sums[t, r] = total
                distance *= 2
    for (v, r), id_ in op_ids.items():
        result.ops[id_]["control_inputs"] = [op_ids[u, r] for u in ops[v]["control_inputs"]]
    for id_, v in updates:  # read the sum of replica 0
        reads = zip(ops[v]["inputs"], result.ops[id_]["inputs"])
        result.ops[id_]["inputs"] = [sums.get((t, 0), own) for t, own in reads]
    return result


def replicate(step, names, buckets, cost_ns):
    """names: [replicas] of devices; cost_ns: [buckets], each as in a graph file."""
    replicas, ops = len(names), step.ops
    if replicas == 1:
        return one_replica(step, names)
    (result, ids), op_ids, controls = copied_tensors(step, replicas), {}, []
    reduced_by = {}  # bucket -> new op
    for v, op in enumerate(ops):
        for r in range(replicas):
            copy = copied_op(op, ids, r, names)
            op_ids[v, r] = result.op(copy, dataclasses.replace(step.origins[v], replica=r))
            awaited = [("op", u, r) for u in op["control_inputs"]]
            if op["phase"] == "update":
                awaited += [
                    ("bucket", b, r)
                    for b, (tensors, _, _) in enumerate(buckets)
                    if set(tensors) & set(op["inputs"])
                ]
            controls.append((op_ids[v, r], awaited))
        for b, (tensors, size, after) in enumerate(buckets):
            if after != v:
                continue
            dtype = step.tensors[tensors[0]].get("dtype", "")
            shape = [size * 8 // BITS[dtype]] if dtype in BITS else []
            reduced = {"bytes": size, "shape": shape, "dtype": dtype}
            collective = {
                "name": f"all_reduce/{b}",
                "kind": "collective.all_reduce",
                "inputs": [result.tensor({**reduced, "role": "input"})],
                "outputs": [result.tensor({**reduced, "role": "gradient"})],
                "phase": "backward",
                "device_kinds": ["network"],
                "attributes": {"group_size": replicas},
                **({"cost_ns": cost_ns[b]} if cost_ns else {}),
            }
            reduced_by[b] = result.op(whole(collective), Origin("collective"))
            made_by = producers(ops)
            makers = sorted({made_by[t] for t in tensors})
            controls.append((reduced_by[b], [("op", u, r) for u in makers for r in range(replicas)]))
    for id_, awaited in controls:
        result.ops[id_]["control_inputs"] = [
            op_ids[u, r] if sort == "op" else reduced_by[u] for sort, u, r in awaited
        ]
    return result


def shard_update(planned, step, buckets, replicas):
    """ZeRO-1. planned: of replicate(step, ..., buckets), in which the copies of an op stand side by side."""
    updates = [v for v in topological_order(step.ops) if step.ops[v]["phase"] == "update"]
    uses, before = {}, predecessors(step.ops)  # uses: update op -> buckets
    for v in updates:
        direct = [b for b, (ts, _, _) in enumerate(buckets) if set(ts) & set(step.ops[v]["inputs"])]
        uses[v] = set(direct).union(*(uses[u] for u in before[v] if u in uses))
    left = set()  # buckets left as they are
    while True:
        everywhere = [v for v in updates if uses[v] & left or len({b % replicas for b in uses[v]}) != 1]
        more = set().union(*(uses[v] for v in everywhere))
        if more == left:
            break
        left = more
    owner = {v: min(uses[v]) % replicas for v in updates if v not in everywhere}
    for v, op in enumerate(step.ops):
        read_by = {owner.get(u) for u, awaited in enumerate(before) if v in awaited}
        if is_storage(op) and len(read_by) == 1 and None not in read_by:
            owner[v] = read_by.pop()
    role = lambda t: step.tensors[t].get("role") if t is not None else None
    bases = {v: [step.tensors[t].get("alias_of") for t in step.ops[v]["outputs"]] for v in updates}
    writes = {v for v in updates if "parameter" in map(role, bases[v])}
    result = Planned(planned.tensors, cluster=planned.cluster)
    new, controls = {}, []
    copies = ((v, r) for v in range(len(step.ops)) for r in range(replicas))
    part = lambda t: {
        **planned.tensors[t],
        "bytes": -(-planned.tensors[t]["bytes"] // replicas),
        "shape": [-(-n // replicas) for n in planned.tensors[t]["shape"]],
    }
    half = lambda op: {key: time / 2 for key, time in op["cost_ns"].items()}
    step_op, reduction = {}, {}
    for id_, (op, origin) in enumerate(zip(planned.ops, planned.origins)):
        if origin.role == "collective":
            b = int(op["name"].split("/")[1])
            reduction[b] = op
            if b not in left:
                op = {**op, "name": f"reduce_scatter/{b}", "kind": "collective.reduce_scatter"}
                op["outputs"] = [result.tensor(part(op["outputs"][0]))]
                op |= {"cost_ns": half(op)} if op.get("cost_ns") else {}
            new[id_] = result.op(op, origin)
            controls.append((new[id_], planned.ops[id_]["control_inputs"]))
            continue
        v, r = next(copies)
        if owner.get(v, r) != r:  # what is written in its place without being read has a place of its own
            for tensor in result.tensors:
                if tensor.get("alias_of") in op["outputs"]:
                    tensor["alias_of"] = None
        else:
            new[id_] = step_op[v, r] = result.op(op, origin)
            controls.append((new[id_], op["control_inputs"]))
    for b in sorted(set(range(len(buckets))) - left):
        (sent,), (received,) = reduction[b]["inputs"], reduction[b]["outputs"]
        gather = {**reduction[b], "name": f"all_gather/{b}", "kind": "collective.all_gather"}
        gather["phase"] = "update"
        gather["inputs"] = [result.tensor({**part(sent), "role": "input"})]
        gather["outputs"] = [result.tensor({**planned.tensors[received], "role": "activation"})]
        gather |= {"cost_ns": half(reduction[b])} if reduction[b].get("cost_ns") else {}
        of_bucket = [v for v in updates if b in uses[v]]
        awaited = [v for v in of_bucket if v in writes] or of_bucket
        gather["control_inputs"] = [step_op[v, owner[v]] for v in awaited]
        result.op(gather, Origin("collective"))
    for id_, awaited in controls:
        result.ops[id_]["control_inputs"] = [new[u] for u in awaited if u in new]
    return result


# The plan


def device_groups(plan, machine):
    """[replicas]: the devices of each, ascending."""
    replicas, names = plan["replicas"], [device["name"] for device in machine.devices]
    of_class = {
        name: [d for d, device in enumerate(machine.devices) if device["class"] == name]
        for name in ("cpu", "gpu", "network")
    }
    if "groups" in plan:
        if len(plan["groups"]) != replicas:
            raise Refused("groups")
        groups = [
            [d for d in matched(patterns, names) if d not in of_class["network"]]
            for patterns in plan["groups"]
        ]
        for i, group in enumerate(groups):
            for other in groups[:i]:
                both = set(group) & set(other)
                if any(not of_class["gpu"] or d not in of_class["cpu"] for d in both):
                    raise Refused("groups")
        if not all(groups):
            raise Refused("groups")
        return groups
    divided = of_class["gpu"] or of_class["cpu"]
    if not divided or len(divided) % replicas:
        raise Refused("replicas")
    size = len(divided) // replicas
    beside = of_class["cpu"] if of_class["gpu"] else []
    return [sorted(divided[r * size : (r + 1) * size] + beside) for r in range(replicas)]


def slowest_collective(machine, name, groups, size):
    """The time of a collective in the slowest of the groups of devices [ns]"""
    slowest = max(collective_time(machine, name, group, size) for group in groups)
    if slowest == math.inf:
        raise Refused("no route")
    return slowest


def with_device(cluster, added, kind, slots):
    """The cluster with a network device that every other one reaches in no time."""
    device = {"name": added, "kind": kind, "memory": 2**63 - 1, "slots": slots}
    names = [each["name"] for each in cluster["devices"]]
    ends = [(name, added) for name in names] + [(added, name) for name in names]
    routes = [{"from": a, "to": b, "via": [f"{a}->{b}"]} for a, b in ends]
    channels = [{"name": r["via"][0], "latency": 0, "bandwidth": 10**18} for r in routes]
    return {
        **cluster,
        "device_kinds": {kind: {"class": "network"}, **cluster["device_kinds"]},
        "devices": cluster["devices"] + [device],
        "channels": cluster.get("channels", []) + channels,
        "routes": cluster.get("routes", []) + routes,
    }


def apply_plan(step, cluster, plan, together=None):
    """together: [step's ops], a number for each group; None: ops of one label are together."""
    by_tree, sharded = plan["collectives"] == "tree", plan["states"] == "zero1"
    if by_tree and sharded:
        raise Refused("states: zero1 needs collectives: network")
    ops, machine = [whole(op) for op in step["ops"]], Machine(cluster)
    groups = device_groups(plan, machine)
    names = [[machine.devices[d]["name"] for d in group] for group in groups]
    if together is not None:
        numbers = {}
        for group in together:
            numbers.setdefault(group, len(numbers))
        for op, group in zip(ops, together):
            if together.count(group) > 1:
                op["colocate"] = f"group {numbers[group]}"
    planned = recompute(step["tensors"], ops, plan["recompute"])
    planned = copy_micro_batches(planned, plan["micro_batches"])
    replicas = plan["replicas"]
    if by_tree:
        planned = replicate_by_tree(planned, names)
        planned.cluster = cluster
        return planned
    alone = all(len(group) == 1 for group in groups)

    def group_of(v):
        return 0 if alone else planned.ops[v]["colocate"] or ("op", v)

    buckets = gradient_buckets(planned, group_of, plan["bucket"]) if replicas > 1 else []
    costs = []
    if replicas > 1 and not any(device["class"] == "network" for device in machine.devices):
        rings = [
            sorted({group[min(i, len(group) - 1)] for group in groups})
            for i in range(max(len(group) for group in groups))
        ]
        costs = [
            {"network": slowest_collective(machine, "all_reduce", rings, size)}
            for _, size, _ in buckets
        ]
        cluster = with_device(cluster, "network", "network", max(len(group) for group in groups))
    copies = replicate(planned, names, buckets, costs)
    if sharded and replicas > 1:
        copies = shard_update(copies, planned, buckets, replicas)
    copies.cluster = cluster
    return copies
