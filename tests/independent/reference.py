"""A second, independent implementation of the simulation contract, written from its text alone.

simulate(graph, cluster, placement, semantics, count_gaps) returns what `emplace simulate` prints, as a dict.
Slow and plain on purpose; nothing is shared with the C++ sources. Time is integer ns, memory integer bytes.

  graph      the JSON of a graph file (emplace-graph, version 1)
  placement  the JSON of a placement file (emplace-placement, version 1)
  cluster    a dict with the keys of a cluster file, quantities as numbers instead of unit strings:
             times [ns] (int, or a decimal string that is rounded to nearest), memory [B], bandwidth [B/s]

Where the contract leaves room, the choice is a constant below: the sentence, the readings, the choice.
"""
import fnmatch
import heapq
from fractions import Fraction

import lower_bound

# "Times become integer ns by rounding to nearest." A half: away from zero, or to even? -> up.
HALVES_ROUND_UP = True

# "role output is never released." Of an output read on another device: only the tensor itself, or the
# received copy too? "released" is said of both. -> the copy goes after its last reader there.
COPIES_OF_OUTPUTS_ARE_RELEASED = True

# "A tensor with alias_of counts nothing": does the copy of an alias that another device receives count?
# A copy over a channel cannot share memory with the original. -> it counts the alias's own bytes.
COPIES_OF_ALIASES_COUNT = True

# "... and prolongs the life of the one it shares", when the alias is made on another device than the tensor it
# names. "original": that tensor's, wherever it lives. "root copy": follow alias_of to the tensor that is no alias;
# prolong its received copy on the alias's device if there is one, else itself. "nearest copy": the first tensor on
# the way there that lives, or was received, on the alias's device; else the root. They part only for aliases across
# devices. By the letter the first, by the sense (an update in place works in what the device received) the last,
# -> the second, which parts from the last only for an alias of an alias.
SPREAD_ALIASES_PROLONG = "root copy"

# An alias with the role parameter, buffer or optimizer_state of a tensor without: is the shared memory resident
# "for the whole step", from the start, or from its producer's start on? "prolongs the life": an end moves, a
# beginning does not. -> from its producer on. (An alias of role output likewise keeps what it shares.)
RESIDENT_ALIASES_PROLONG_TO_THE_END = True

# Two routes for one pair, or a route beside a shorthand that covers the pair: which one counts?
# -> the last route; an explicit route rather than the shorthand's.
LAST_ROUTE_COUNTS = True
EXPLICIT_ROUTES_BEAT_SHORTHANDS = True

# "(`count_gaps: true` ... counts trailing gaps too.)" The gaps of devices only, or of channels too? The golden
# cases allow both (a channel is free 0.7 us before the last device in each). -> both.
COUNT_GAPS_INCLUDES_CHANNELS = True

# "devices: busy_ns", "channels: busy_ns" have no definition. -> a device: the costs of its ops, without gaps,
# summed over its slots; a channel: the wire times, without latency and gap; each hop on its own channel.
DEVICE_BUSY_INCLUDES_GAPS = False
CHANNEL_BUSY_INCLUDES_LATENCY = False
CHANNEL_BUSY_INCLUDES_GAPS = False

# "before each op launch and each copy it advances by `issue`": is every hop of a route a copy, or the whole way
# to one destination? "the copy goes onto its channel ... the next hop the same, at the arrival" -> one copy.
ISSUE_ONCE_PER_COPY = True

# "With `broadcast`, one transfer serves all destinations": all whose route *begins* on that channel; the routes
# may part after it. In S a served destination takes its turn in device order for its further hops, or all go at
# once after the shared hop? "each remote destination in device order" -> in turn. A broadcast channel as
# second or later hop: one transfer per destination, or per set of equal routes so far? -> undecided, not generated.
BROADCAST_FOLLOWERS_TAKE_TURNS = True

# "critical path at the best device costs", "an LP over device kinds": does a bound know that co-located ops share
# a device (a device kind forbidden to one is then forbidden to all, and a group is assigned as one item), or does
# it take every op by itself? Both are bounds, by group is at least as high. -> every op by itself.
BOUND_BY_GROUP = False

# The LP's value is a fraction, a step time an integer. -> rounded up.
BOUND_ROUNDS_UP = True

# The names of channels that the shorthands expand to are not in the contract.
ALL_TO_ALL_NAME = "{source}->{destination}"
EGRESS_BUS_NAME = "{source}->*"

# Sentences read in one way only, listed since they are easy to read over:
# - "once per (tensor, destination device)" and "a control edge ... once per (producer op, destination device)":
#   ops joined by data and by control pay both transfers.
# - "the copies received are transient": also of parameters, buffers and optimizer state.
# - "a tensor without producer [is resident] on every device that has a reader of it": whatever its role.
# - "finish + (c > 0 ? gap_d : 0)": trailing gaps of zero-cost ops are not counted by count_gaps either.
# - issue and launch act in S only; pays_transfers in the throughput objective only; overhead never on a cost_ns.
# - a workspace with alias and resident outputs still counts; zero-length lives count at their instant (Q).

RESIDENT_ROLES = ("parameter", "buffer", "optimizer_state")
CONTROL = float("inf")  # tensor id of a control edge: after every tensor
NEVER = float("inf")


def nearest(value):
    """A number, or a decimal string, to the nearest integer."""
    exact = Fraction(repr(value) if isinstance(value, float) else value)
    if HALVES_ROUND_UP:
        return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)
    return round(exact)


class Machine:
    """The cluster with kinds, globs and shorthands resolved; devices and channels by index."""

    def __init__(self, cluster):
        kinds = cluster["device_kinds"]
        self.devices = []
        for device in cluster["devices"]:
            kind = kinds[device["kind"]]
            self.devices.append({
                "name": device["name"], "kind": device["kind"], "class": kind["class"],
                "memory": device["memory"], "slots": device.get("slots", 1),
                "gap": nearest(kind.get("gap", 0)), "issue": nearest(kind.get("issue", 0)),
                "launch": nearest(kind.get("launch", 0))})
        self.channels, self.routes = [], {}
        names = [device["name"] for device in self.devices]
        pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
        explicit = {}
        for channel in cluster.get("channels", []):
            self._add(channel["name"], channel)
        index = {channel["name"]: k for k, channel in enumerate(self.channels)}
        for route in cluster.get("routes", []):
            for a, b in pairs:
                if fnmatch.fnmatchcase(names[a], route["from"]) and fnmatch.fnmatchcase(names[b], route["to"]):
                    if LAST_ROUTE_COUNTS or (a, b) not in explicit:
                        explicit[a, b] = [index[name] for name in route["via"]]
        for a, b in pairs if "all_to_all" in cluster else []:
            name = ALL_TO_ALL_NAME.format(source=names[a], destination=names[b])
            self.routes[a, b] = [self._add(name, cluster["all_to_all"])]
        if "egress_bus" in cluster:
            bus = [self._add(EGRESS_BUS_NAME.format(source=name), cluster["egress_bus"]) for name in names]
            self.routes = {(a, b): [bus[a]] for a, b in pairs}
        if EXPLICIT_ROUTES_BEAT_SHORTHANDS:
            self.routes = {**self.routes, **explicit}
        else:
            self.routes = {**explicit, **self.routes}

    def _add(self, name, channel):
        self.channels.append({
            "name": name, "latency": nearest(channel.get("latency", 0)), "bandwidth": channel["bandwidth"],
            "gap": nearest(channel.get("gap", 0)), "broadcast": channel.get("broadcast", False)})
        return len(self.channels) - 1


class Step:
    """The problem as both semantics see it: who depends on whom, and which copies leave each op."""

    def __init__(self, graph, machine, placement):
        self.ops, self.tensors, self.machine = graph["ops"], graph["tensors"], machine
        index = {device["name"]: d for d, device in enumerate(machine.devices)}
        self.place = [index[placement["devices"][op["name"]]] for op in self.ops]
        self.cost = [nearest(op["cost_ns"][machine.devices[d]["kind"]]) for op, d in zip(self.ops, self.place)]
        self.producer = {t: v for v, op in enumerate(self.ops) for t in op["outputs"]}
        self.readers = {t: [] for t in range(len(self.tensors))}
        self.waits_for = []  # per op: set of (producer op, tensor id or CONTROL)
        control_readers = [[] for _ in self.ops]
        for v, op in enumerate(self.ops):
            for t in set(op["inputs"]):
                self.readers[t].append(v)
            for u in set(op.get("control_inputs") or []):
                control_readers[u].append(v)
            self.waits_for.append({(self.producer[t], t) for t in op["inputs"] if t in self.producer} |
                                  {(u, CONTROL) for u in op.get("control_inputs") or []})
        # sends[v]: (tensor, [remote devices]) in tensor-id order, control last
        self.sends, self.followers = [], [[] for _ in self.ops]
        for v, op in enumerate(self.ops):
            items = [(t, self.readers[t]) for t in sorted(op["outputs"])] + [(CONTROL, control_readers[v])]
            self.sends.append([(t, sorted({self.place[r] for r in readers} - {self.place[v]}))
                               for t, readers in items])
            self.followers[v] = [(t, r) for t, readers in items for r in readers]

    def bytes(self, tensor):
        return 0 if tensor == CONTROL else self.tensors[tensor]["bytes"]

    def route(self, source, destination):
        return self.machine.routes[source, destination]

    def parties(self, source, destinations):
        """Destinations by shared first hop: lists of device indices, each served by one first transfer."""
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
        """Whose memory a produced tensor lives in: (tensor, None), or (tensor, device) for a received copy."""
        home = self.place[self.producer[tensor]]
        while self.tensors[tensor].get("alias_of") is not None:
            tensor = self.tensors[tensor]["alias_of"]
            root = self.tensors[tensor].get("alias_of") is None
            received = tensor in self.producer and self.place[self.producer[tensor]] != home and \
                any(self.place[r] == home for r in self.readers[tensor])
            if received and (SPREAD_ALIASES_PROLONG == "nearest copy" or
                             root and SPREAD_ALIASES_PROLONG == "root copy"):
                return tensor, home
        return tensor, None


class Timeline:
    """What a simulation leaves behind: times per op and per transfer, and the servers' state."""

    def __init__(self, step):
        machine = step.machine
        self.step = step
        self.start, self.finish = [None] * len(step.ops), [None] * len(step.ops)
        self.slots = [[0] * device["slots"] for device in machine.devices]
        self.free = [0] * len(machine.channels)
        self.first_arrivals = {}  # tensor -> latest arrival of its first hops
        self.copy_start = {}      # (tensor, destination) -> start of the last hop
        self.latest = self.latest_with_gaps = 0
        self.device_busy = [0] * len(machine.devices)
        self.channel_busy = [0] * len(machine.channels)
        self.channel_transfers = [0] * len(machine.channels)
        self.channel_bytes = [0] * len(machine.channels)

    def run_op(self, v, ready):
        d, cost = self.step.place[v], self.step.cost[v]
        slots = self.slots[d]
        slot = slots.index(min(slots))
        self.start[v] = max(slots[slot], ready)
        self.finish[v] = self.start[v] + cost
        gap = self.step.machine.devices[d]["gap"] if cost > 0 else 0
        slots[slot] = self.finish[v] + gap
        self.device_busy[d] += cost + (gap if DEVICE_BUSY_INCLUDES_GAPS else 0)
        self.latest = max(self.latest, self.finish[v])
        self.latest_with_gaps = max(self.latest_with_gaps, slots[slot])

    def transfer(self, tensor, destinations, hop, source, ready):
        """One hop for all `destinations`; returns the arrival."""
        channel_index = self.step.route(source, destinations[0])[hop]
        channel, size = self.step.machine.channels[channel_index], self.step.bytes(tensor)
        wire = -(-size * 10**9 // channel["bandwidth"])
        start = max(self.free[channel_index], ready)
        arrival = start + channel["latency"] + wire
        self.free[channel_index] = start + wire + channel["gap"]
        self.channel_busy[channel_index] += wire
        self.channel_busy[channel_index] += channel["latency"] if CHANNEL_BUSY_INCLUDES_LATENCY else 0
        self.channel_busy[channel_index] += channel["gap"] if CHANNEL_BUSY_INCLUDES_GAPS else 0
        self.channel_transfers[channel_index] += 1
        self.channel_bytes[channel_index] += size
        self.latest = max(self.latest, arrival)
        self.latest_with_gaps = max(self.latest_with_gaps, arrival)
        if COUNT_GAPS_INCLUDES_CHANNELS:
            self.latest_with_gaps = max(self.latest_with_gaps, self.free[channel_index])
        if hop == 0:
            self.first_arrivals[tensor] = max(self.first_arrivals.get(tensor, 0), arrival)
        for d in destinations:
            if hop + 1 == len(self.step.route(source, d)):
                self.copy_start[tensor, d] = start
        return arrival


def queue_timeline(step):
    """Q: one priority queue keyed (ready, transfers before ops, id)."""
    line = Timeline(step)
    missing = [len(waits) for waits in step.waits_for]
    ready = [0] * len(step.ops)
    heap = [(0, 1, (v,), None) for v in range(len(step.ops)) if missing[v] == 0]
    heapq.heapify(heap)

    def known(producer, tensor, device, time):
        for t, reader in step.followers[producer]:
            if t == tensor and step.place[reader] == device:
                ready[reader] = max(ready[reader], time)
                missing[reader] -= 1
                if missing[reader] == 0:
                    heapq.heappush(heap, (ready[reader], 1, (reader,), None))

    while heap:
        time, kind, key, destinations = heapq.heappop(heap)
        if kind == 1:
            v = key[0]
            line.run_op(v, time)
            for tensor, remote in step.sends[v]:
                known(v, tensor, step.place[v], line.finish[v])
                for party in step.parties(step.place[v], remote):
                    heapq.heappush(heap, (line.finish[v], 0, (v, tensor, party[0], 0), party))
        else:
            v, tensor, _, hop = key
            arrival = line.transfer(tensor, destinations, hop, step.place[v], time)
            for d in destinations:
                if hop + 1 == len(step.route(step.place[v], d)):
                    known(v, tensor, d, arrival)
                else:
                    heapq.heappush(heap, (arrival, 0, (v, tensor, d, hop + 1), [d]))
    return line


def issue_order(step):
    """Repeatedly the least id among the ops whose predecessors are all issued (equal priorities)."""
    before = [{u for u, _ in waits} for waits in step.waits_for]
    after = [[] for _ in step.ops]
    for v, producers in enumerate(before):
        for u in producers:
            after[u].append(v)
    missing = [len(producers) for producers in before]
    heap = [v for v, count in enumerate(missing) if count == 0]
    heapq.heapify(heap)
    order = []
    while heap:
        u = heapq.heappop(heap)
        order.append(u)
        for v in after[u]:
            missing[v] -= 1
            if missing[v] == 0:
                heapq.heappush(heap, v)
    return order


def stream_timeline(step, order):
    """S: one pass in issue order."""
    line, clock, arrival = Timeline(step), 0, {}
    for v in order:
        d = step.place[v]
        device = step.machine.devices[d]
        clock += device["issue"]
        line.run_op(v, max([clock + device["launch"]] + [arrival[u, t, d] for u, t in step.waits_for[v]]))
        for tensor, remote in step.sends[v]:
            arrival[v, tensor, d] = line.finish[v]
            shared = {party[0]: party for party in step.parties(d, remote)}
            after_first = {}
            turns = remote if BROADCAST_FOLLOWERS_TAKE_TURNS else [x for p in shared.values() for x in p]
            for destination in turns:
                if destination in shared:
                    clock += device["issue"]
                    ready = max(line.finish[v], clock + device["launch"])
                    time = line.transfer(tensor, shared[destination], 0, d, ready)
                    after_first.update((other, time) for other in shared[destination])
                time = after_first[destination]
                for hop in range(1, len(step.route(d, destination))):
                    if not ISSUE_ONCE_PER_COPY:
                        clock += device["issue"]
                        time = max(time, clock + device["launch"])
                    time = line.transfer(tensor, [destination], hop, d, time)
                arrival[v, tensor, destination] = time
    return line


def resident_bytes(step):
    """Per device: what stays for the whole step."""
    total = [0] * len(step.machine.devices)
    for t, tensor in enumerate(step.tensors):
        if tensor.get("alias_of") is not None:
            continue
        if t not in step.producer:
            for d in {step.place[v] for v in step.readers[t]}:
                total[d] += tensor["bytes"]
        elif tensor.get("role") in RESIDENT_ROLES:
            total[step.place[step.producer[t]]] += tensor["bytes"]
    return total


def last_use(step, own_end, copy_end):
    """{(tensor, None) or (tensor, destination) for received copies: end of life} of all that counts and is
    transient, with aliases and outputs taken in.

    own_end(t): end of t's own life on its producer's device; copy_end(t, d): of the copy that d received."""
    ends = {}
    for v, sends in enumerate(step.sends):
        for t, remote in sends:
            for d in remote if t != CONTROL and copy_counts(step, t) else []:
                ends[t, d] = NEVER if copy_stays(step, t) else copy_end(t, d)
    for t in step.producer:
        memory = step.memory_of(t)
        resident = memory[0] not in step.producer or step.tensors[memory[0]].get("role") in RESIDENT_ROLES
        if memory in ends or memory[1] is None and not resident:
            stays = step.tensors[t].get("role") == "output" or (
                RESIDENT_ALIASES_PROLONG_TO_THE_END and step.tensors[t].get("role") in RESIDENT_ROLES)
            end = NEVER if stays else own_end(t)
            ends[memory] = max(ends.get(memory, -1), end)
    return ends


def copy_counts(step, tensor):
    return COPIES_OF_ALIASES_COUNT or step.tensors[tensor].get("alias_of") is None


def copy_stays(step, tensor):
    return step.tensors[tensor].get("role") == "output" and not COPIES_OF_OUTPUTS_ARE_RELEASED


def queue_peaks(step, line):
    """Q: by time, allocations before releases."""
    events = [[] for _ in step.machine.devices]

    def live(device, begin, end, size):
        events[device].append((begin, 0, size))
        events[device].append((end, 1, -size))

    def own_end(t):
        v = step.producer[t]
        local = [line.finish[r] for r in step.readers[t] if step.place[r] == step.place[v]]
        return max([line.finish[v], line.first_arrivals.get(t, 0)] + local)

    def copy_end(t, d):
        return max(line.finish[r] for r in step.readers[t] if step.place[r] == d)

    for (t, d), end in last_use(step, own_end, copy_end).items():
        if d is None:
            live(step.place[step.producer[t]], line.start[step.producer[t]], end, step.bytes(t))
        else:
            live(d, line.copy_start[t, d], end, step.bytes(t))
    for v, op in enumerate(step.ops):
        live(step.place[v], line.start[v], line.finish[v], op.get("workspace_bytes", 0))
    peaks = resident_bytes(step)
    for d, items in enumerate(events):
        now = peaks[d]
        for _, _, size in sorted(items):
            now += size
            peaks[d] = max(peaks[d], now)
    return peaks


def stream_peaks(step, order):
    """S: by issue order."""
    position = {v: p for p, v in enumerate(order)}

    def own_end(t):
        v = step.producer[t]
        return max([position[v]] + [position[r] for r in step.readers[t] if step.place[r] == step.place[v]])

    def copy_end(t, d):
        return max(position[r] for r in step.readers[t] if step.place[r] == d)

    ends = last_use(step, own_end, copy_end)
    releases = [[] for _ in order]  # per position: (device, bytes)
    for (t, d), end in ends.items():
        if end != NEVER:
            releases[end].append((step.place[step.producer[t]] if d is None else d, step.bytes(t)))
    now = resident_bytes(step)
    peaks = list(now)

    def allocate(device, size):
        now[device] += size
        peaks[device] = max(peaks[device], now[device])

    for p, v in enumerate(order):
        d, workspace = step.place[v], step.ops[v].get("workspace_bytes", 0)
        allocate(d, workspace + sum(step.bytes(t) for t in step.ops[v]["outputs"] if (t, None) in ends))
        now[d] -= workspace
        for t, remote in step.sends[v]:
            for destination in remote:
                if (t, destination) in ends:
                    allocate(destination, step.bytes(t))
        for device, size in releases[p]:
            now[device] -= size
    return peaks


def bound_range(graph, step):
    """(least, greatest) value that bound_ns may have; equal unless the LP was left early."""
    devices, kinds = step.machine.devices, []
    for device in devices:
        if device["kind"] not in kinds:
            kinds.append(device["kind"])
    capacity = [sum(d["slots"] for d in devices if d["kind"] == kind) for kind in kinds]
    klass = {d["kind"]: d["class"] for d in devices}
    costs, groups = [], {}
    for v, op in enumerate(step.ops):
        allowed = op.get("device_kinds")
        costs.append([nearest(op["cost_ns"][k]) if allowed is None or k in allowed or klass[k] in allowed
                      else None for k in kinds])
        groups.setdefault(op["colocate"] if op.get("colocate") else v, []).append(v)
    for members in groups.values() if BOUND_BY_GROUP else []:
        for k in range(len(kinds)):
            if any(costs[v][k] is None for v in members):
                for v in members:
                    costs[v][k] = None
    finish = {}
    for v in issue_order(step):
        finish[v] = max([finish[u] for u, _ in step.waits_for[v]], default=0)
        finish[v] += min(c for c in costs[v] if c is not None)
    path = max(finish.values(), default=0)
    items = costs
    if BOUND_BY_GROUP:
        items = [[None if costs[members[0]][k] is None else sum(costs[v][k] for v in members)
                  for k in range(len(kinds))] for members in groups.values()]
    low, high = lower_bound.fractional_assignment(items, capacity)
    whole = (lambda x: -(-x.numerator // x.denominator)) if BOUND_ROUNDS_UP else (lambda x: x // 1)
    return max(path, whole(low)), max(path, whole(high))


def simulate(graph, cluster, placement, semantics, count_gaps=False):
    """The JSON of `emplace simulate`; bound_ns is the pair (least, greatest) that it may be."""
    step = Step(graph, Machine(cluster), placement)
    if semantics == "queue":
        line = queue_timeline(step)
        peaks = queue_peaks(step, line)
    else:
        order = issue_order(step)
        line = stream_timeline(step, order)
        peaks = stream_peaks(step, order)
    deficits = [max(0, peak - device["memory"]) for peak, device in zip(peaks, step.machine.devices)]
    return {
        "step_time_ns": line.latest_with_gaps if count_gaps else line.latest,
        "feasible": not any(deficits),
        "devices": {device["name"]: {"busy_ns": line.device_busy[d], "peak_bytes": peaks[d],
                                     "deficit_bytes": deficits[d]}
                    for d, device in enumerate(step.machine.devices)},
        "channels": {channel["name"]: {"busy_ns": line.channel_busy[k], "transfers": line.channel_transfers[k],
                                       "bytes": line.channel_bytes[k]}
                     for k, channel in enumerate(step.machine.channels)},
        "bound_ns": bound_range(graph, step)}
