"""The problem as simulator/README.md sees it: devices and channels, ops that wait and send."""

import fnmatch
import heapq
from fractions import Fraction

import readings
from costs import Costs, figures_of
from rounding import nearest, rounded_mean

RESIDENT_ROLES = ("parameter", "buffer", "optimizer_state")
CONTROL = float("inf")  # tensor id of a control edge: after every tensor


def matched(group, names):
    """The devices (as numbers) that a pattern, or one of several, matches."""
    patterns = [group] if isinstance(group, str) else group
    return [
        d for d, name in enumerate(names) if any(fnmatch.fnmatchcase(name, p) for p in patterns)
    ]


def _neighbours(shares, names):
    """The sets of two devices (as numbers) that share something."""
    groups = shares
    if not readings.EACH_PATTERN_SHARES and all(isinstance(item, str) for item in shares):
        groups = [shares]
    found = [matched(group, names) for group in groups]
    return {
        frozenset((a, b))
        for group in found
        for a in group
        for b in group
        if a != b or readings.A_DEVICE_IS_ITS_OWN_NEIGHBOUR
    }


class Machine:
    """The cluster with kinds, globs and shorthands resolved; devices and channels by index."""

    def __init__(self, cluster):
        kinds = cluster["device_kinds"]
        self.devices = []
        for device in cluster["devices"]:
            kind = kinds[device["kind"]]
            self.devices.append(
                {
                    "name": device["name"],
                    "kind": device["kind"],
                    "class": kind["class"],
                    "memory": device["memory"],
                    "slots": device.get("slots", 1),
                    "gap": nearest(kind.get("gap", 0)),
                    "issue": nearest(kind.get("issue", 0)),
                    "launch": nearest(kind.get("launch", 0)),
                    "cold_read": Fraction(kind["cold_read"]) if "cold_read" in kind else None,
                    "interference": kind.get("interference", {}),
                }
            )
        self.channels, self.routes = [], {}
        names = [device["name"] for device in self.devices]
        self.neighbours = _neighbours(cluster.get("shares", []), names)
        pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
        explicit = {}
        for channel in cluster.get("channels", []):
            self._add(channel["name"], channel)
        index = {channel["name"]: k for k, channel in enumerate(self.channels)}
        for route in cluster.get("routes", []):
            for a, b in pairs:
                if fnmatch.fnmatchcase(names[a], route["from"]) and fnmatch.fnmatchcase(
                    names[b], route["to"]
                ):
                    if readings.LAST_ROUTE_COUNTS or (a, b) not in explicit:
                        explicit[a, b] = [index[name] for name in route["via"]]
        for a, b in pairs if "all_to_all" in cluster else []:
            name = readings.ALL_TO_ALL_NAME.format(source=names[a], destination=names[b])
            self.routes[a, b] = [self._add(name, cluster["all_to_all"])]
        if "egress_bus" in cluster:
            bus = [
                self._add(readings.EGRESS_BUS_NAME.format(source=name), cluster["egress_bus"])
                for name in names
            ]
            self.routes = {(a, b): [bus[a]] for a, b in pairs}
        if readings.EXPLICIT_ROUTES_BEAT_SHORTHANDS:
            self.routes = {**self.routes, **explicit}
        else:
            self.routes = {**explicit, **self.routes}

    def transfer_figures(self, d):
        """(sensitivity, pressure) of the transfers of device d, in 1/1024."""
        return figures_of(self.devices[d]["interference"].get("transfer", {}))

    def _add(self, name, channel):
        self.channels.append(
            {
                "name": name,
                "latency": nearest(channel.get("latency", 0)),
                "setup": nearest(channel.get("setup", 0)),
                "bandwidth": Fraction(channel["bandwidth"]),
                "gap": nearest(channel.get("gap", 0)),
                "broadcast": channel.get("broadcast", False),
                "occupies": channel.get("occupies", "none"),
            }
        )
        return len(self.channels) - 1


def wire_time(size, channel):
    """How long a transfer of `size` bytes holds a channel [ns]."""
    return channel["setup"] - (-size * 10**9 // channel["bandwidth"]) if size > 0 else 0


class Step:
    """The problem as every semantics sees it: who depends on whom, and which copies leave each op."""

    def __init__(self, graph, machine, placement, costs=None):
        self.ops, self.tensors, self.machine = graph["ops"], graph["tensors"], machine
        index = {device["name"]: d for d, device in enumerate(machine.devices)}
        self.place = [index[placement["devices"][op["name"]]] for op in self.ops]
        self.costs = costs or Costs(graph, None, False)
        homes = [machine.devices[d] for d in self.place]
        self.cost = [self.costs.of(op, home["kind"]) for op, home in zip(self.ops, homes)]
        self.figures = [  # per op: (sensitivity, pressure) in 1/1024
            self.costs.figures(op, home["kind"], home["interference"])
            for op, home in zip(self.ops, homes)
        ]
        self.producer = {t: v for v, op in enumerate(self.ops) for t in op["outputs"]}
        self.readers = {t: [] for t in range(len(self.tensors))}
        self.waits_for = []  # per op: set of (producer op, tensor id or CONTROL)
        control_readers = [[] for _ in self.ops]
        for v, op in enumerate(self.ops):
            for t in set(op["inputs"]):
                self.readers[t].append(v)
            for u in set(op.get("control_inputs") or []):
                control_readers[u].append(v)
            self.waits_for.append(
                {(self.producer[t], t) for t in op["inputs"] if t in self.producer}
                | {(u, CONTROL) for u in op.get("control_inputs") or []}
            )
        for v, d in enumerate(self.place):
            self.cost[v] += sum(self.cold_read(t, v, d) for t in set(self.ops[v]["inputs"]))
        # sends[v]: (tensor, [remote devices]) in tensor-id order, control last
        self.sends, self.followers = [], [[] for _ in self.ops]
        for v, op in enumerate(self.ops):
            items = [(t, self.readers[t]) for t in sorted(op["outputs"])] + [
                (CONTROL, control_readers[v])
            ]
            self.sends.append(
                [
                    (t, sorted({self.place[r] for r in readers} - {self.place[v]}))
                    for t, readers in items
                ]
            )
            self.followers[v] = [(t, r) for t, readers in items for r in readers]

    def cold_read(self, tensor, reader, device):
        """How much longer `reader` takes for a tensor from elsewhere that it is the first to read."""
        rate = self.machine.devices[device]["cold_read"]
        made = self.producer.get(tensor)
        here = [v for v in self.readers[tensor] if self.place[v] == device]
        if rate is None or made is None or self.place[made] == device or reader != min(here):
            return 0
        return -(-self.tensors[tensor]["bytes"] * 10**9 // rate)

    def bytes(self, tensor):
        return 0 if tensor == CONTROL else self.tensors[tensor]["bytes"]

    def route(self, source, destination):
        return self.machine.routes[source, destination]

    def hops(self, source, destination):
        return len(self.route(source, destination)) if source != destination else 0

    def servers(self, source, destinations, hop):
        """(channel, devices of which it occupies a slot: the source first) of one hop."""
        channel = self.route(source, destinations[0])[hop]
        ends = {"none": [], "source": [source], "destination": [destinations[0]]}
        ends["both"] = ends["source"] + ends["destination"]
        return channel, ends[self.machine.channels[channel]["occupies"]]

    def parties(self, source, destinations):
        """Destinations by shared first hop: lists of devices, each served by one first transfer."""
        shared, result = {}, []
        for d in destinations:
            k = self.route(source, d)[0]
            if self.machine.channels[k]["broadcast"] and k in shared:
                shared[k].append(d)
            else:
                shared[k] = [d]
                result.append(shared[k])
        return result

    def memory_of(self, tensor):
        """Where a produced tensor lives: (tensor, None), or (tensor, device) for its copy there."""
        home = self.place[self.producer[tensor]]
        while self.tensors[tensor].get("alias_of") is not None:
            tensor = self.tensors[tensor]["alias_of"]
            root = self.tensors[tensor].get("alias_of") is None
            received = (
                tensor in self.producer
                and self.place[self.producer[tensor]] != home
                and any(self.place[r] == home for r in self.readers[tensor])
            )
            if received and (
                readings.SPREAD_ALIASES_PROLONG == "nearest copy"
                or root
                and readings.SPREAD_ALIASES_PROLONG == "root copy"
            ):
                return tensor, home
        return tensor, None


def allowed(op, device):
    """Whether the op may run on a device: one with name, kind and class."""
    kinds, names = op.get("device_kinds"), op.get("devices")
    if kinds is None and names is None:
        return device["class"] != "network"
    if kinds is not None and device["kind"] not in kinds and device["class"] not in kinds:
        return False
    return names is None or matched(names, [device["name"]]) == [0]


def upward_ranks(step):
    """[ops]: mean cost, and the largest of mean transfer + rank over all that awaits the op."""
    machine = step.machine

    def mean_transfer(size):
        return rounded_mean(
            [
                sum(
                    machine.channels[k]["latency"] + wire_time(size, machine.channels[k])
                    for k in route
                )
                for route in machine.routes.values()
            ]
        )

    ranks = {}
    for v in reversed(issue_order(step)):
        op = step.ops[v]
        own = [step.costs.of(op, d["kind"]) for d in machine.devices if allowed(op, d)]
        behind = [mean_transfer(step.bytes(t)) + ranks[r] for t, r in step.followers[v]]
        ranks[v] = rounded_mean(own) + max(behind, default=0)
    return [ranks[v] for v in range(len(step.ops))]


def issue_order(step, ranks=None):
    """Repeatedly, among the ops whose predecessors are all issued, the one of highest rank, of
    equals (or without ranks) the one of least id."""
    key = [(0 if ranks is None else -ranks[v], v) for v in range(len(step.ops))]
    before = [{u for u, _ in waits} for waits in step.waits_for]
    after = [[] for _ in step.ops]
    for v, producers in enumerate(before):
        for u in producers:
            after[u].append(v)
    missing = [len(producers) for producers in before]
    heap = [key[v] for v, count in enumerate(missing) if count == 0]
    heapq.heapify(heap)
    order = []
    while heap:
        _, u = heapq.heappop(heap)
        order.append(u)
        for v in after[u]:
            missing[v] -= 1
            if missing[v] == 0:
                heapq.heappush(heap, key[v])
    return order
