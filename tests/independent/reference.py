"""A second, independent implementation of simulator/README.md, written from the text alone.

simulate() returns what `emplace simulate` prints and traces. Slow and plain on purpose; nothing is
shared with the C++ sources. Time is integer ns, memory integer bytes. Sentences of the page that
could be read in two ways: readings.py.

  graph      the JSON of a graph file (emplace-graph, version 1: framework/graph/FORMAT.md)
  placement  the JSON of a placement file (emplace-placement, version 1:
             framework/placement/FORMAT.md), with its issue_order if it has one
  cluster    a dict with the keys of a cluster file (framework/cluster/FORMAT.md), quantities as
             numbers instead of unit strings: times [ns] and bandwidth [B/s] (int, or an exact
             decimal string), memory [B]
"""

import heapq

import readings
from lower_bound import bound_range
from memory import queue_peaks, stream_peaks
from model import Machine, Step, issue_order, upward_ranks, wire_time


class Timeline:
    """What a simulation leaves behind: times per op and per transfer, and the servers' state."""

    def __init__(self, step):
        machine = step.machine
        self.step = step
        self.start, self.finish = [None] * len(step.ops), [None] * len(step.ops)
        self.slot, self.hops = [None] * len(step.ops), []
        self.slots = [[0] * device["slots"] for device in machine.devices]
        self.free = [0] * len(machine.channels)
        self.host = 0
        self.occupied = []  # (device, slot, start, wire, bytes, channel)
        self.first_arrivals = {}  # tensor -> latest arrival of its first hops
        self.copy_start = {}  # (tensor, destination) -> start of the last hop
        self.latest = self.latest_with_gaps = 0
        self.device_busy = [0] * len(machine.devices)
        self.channel_busy = [0] * len(machine.channels)
        self.channel_transfers = [0] * len(machine.channels)
        self.channel_bytes = [0] * len(machine.channels)

    def issue(self, d, ready=0):
        """The host issues a command for device d, not before `ready`; returns when it may start."""
        device = self.step.machine.devices[d]
        self.host = max(self.host, ready) + device["issue"]
        return self.host + device["launch"]

    def free_slot(self, d):
        return self.slots[d].index(min(self.slots[d]))

    def run_op(self, v, ready):
        d, cost = self.step.place[v], self.step.cost[v]
        slots, slot = self.slots[d], self.free_slot(d)
        self.slot[v] = slot
        self.start[v] = max(slots[slot], ready)
        self.finish[v] = self.start[v] + cost
        gap = self.step.machine.devices[d]["gap"] if cost > 0 else 0
        slots[slot] = self.finish[v] + gap
        self.device_busy[d] += cost + (gap if readings.DEVICE_BUSY_INCLUDES_GAPS else 0)
        self.latest = max(self.latest, self.finish[v])
        self.latest_with_gaps = max(self.latest_with_gaps, slots[slot])

    def transfer(self, tensor, destinations, hop, source, ready):
        """One hop for all `destinations`; returns the arrival."""
        channel_index = self.step.route(source, destinations[0])[hop]
        channel, size = self.step.machine.channels[channel_index], self.step.bytes(tensor)
        wire = wire_time(size, channel)
        ends = {"none": [], "source": [source], "destination": [destinations[0]]}
        ends["both"] = ends["source"] + ends["destination"]
        slots = [(d, self.free_slot(d)) for d in ends[channel["occupies"]]]
        start = max([self.free[channel_index], ready] + [self.slots[d][s] for d, s in slots])
        for d, slot in slots:
            self.slots[d][slot] = start + wire
            self.device_busy[d] += wire
            self.occupied.append((d, slot, start, wire, size, channel["name"]))
        arrival = start + channel["latency"] + wire
        self.free[channel_index] = start + wire + channel["gap"]
        self.channel_busy[channel_index] += wire
        if readings.CHANNEL_BUSY_INCLUDES_LATENCY:
            self.channel_busy[channel_index] += channel["latency"]
        if readings.CHANNEL_BUSY_INCLUDES_GAPS:
            self.channel_busy[channel_index] += channel["gap"]
        self.channel_transfers[channel_index] += 1
        self.channel_bytes[channel_index] += size
        self.latest = max(self.latest, arrival)
        self.latest_with_gaps = max(self.latest_with_gaps, arrival)
        if readings.COUNT_GAPS_INCLUDES_CHANNELS:
            self.latest_with_gaps = max(self.latest_with_gaps, self.free[channel_index])
        self.hops.append((channel_index, start, wire, arrival, size, hop, tuple(destinations)))
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
            line.run_op(v, line.issue(step.place[v], time))
            for tensor, remote in step.sends[v]:
                known(v, tensor, step.place[v], line.finish[v])
                for party in step.parties(step.place[v], remote):
                    heapq.heappush(heap, (line.finish[v], 0, (v, tensor, party[0], 0), party))
        else:
            v, tensor, _, hop = key
            earliest = line.issue(step.place[v], time) if hop == 0 else time
            arrival = line.transfer(tensor, destinations, hop, step.place[v], earliest)
            for d in destinations:
                if hop + 1 == len(step.route(step.place[v], d)):
                    known(v, tensor, d, arrival)
                else:
                    heapq.heappush(heap, (arrival, 0, (v, tensor, d, hop + 1), [d]))
    return line


def stream_timeline(step, order):
    """S: one pass in issue order."""
    line, arrival = Timeline(step), {}
    for v in order:
        d = step.place[v]
        line.run_op(v, max([line.issue(d)] + [arrival[u, t, d] for u, t in step.waits_for[v]]))
        for tensor, remote in step.sends[v]:
            arrival[v, tensor, d] = line.finish[v]
            shared = {party[0]: party for party in step.parties(d, remote)}
            after_first = {}
            turns = remote
            if not readings.BROADCAST_FOLLOWERS_TAKE_TURNS:
                turns = [x for party in shared.values() for x in party]
            for destination in turns:
                if destination in shared:
                    ready = max(line.finish[v], line.issue(d))
                    time = line.transfer(tensor, shared[destination], 0, d, ready)
                    after_first.update((other, time) for other in shared[destination])
                time = after_first[destination]
                for hop in range(1, len(step.route(d, destination))):
                    if not readings.ISSUE_ONCE_PER_COPY:
                        time = max(time, line.issue(d))
                    time = line.transfer(tensor, [destination], hop, d, time)
                arrival[v, tensor, destination] = time
    return line


def queue(step, placement, priority):
    """(timeline, peaks [devices])"""
    if priority is not None and priority != "id":
        raise ValueError("queue semantics has no issue order")
    line = queue_timeline(step)
    return line, queue_peaks(step, line)


def stream(step, placement, priority):
    """(timeline, peaks [devices])"""
    given = placement.get("issue_order")
    if priority is None:
        priority = "id" if given is None else "given"
    if priority == "given":
        number = {op["name"]: v for v, op in enumerate(step.ops)}
        order = [number[name] for name in given]
    else:
        order = issue_order(step, upward_ranks(step) if priority == "upward_rank" else None)
    return stream_timeline(step, order), stream_peaks(step, order)


# What --semantics may be.
SEMANTICS = {"queue": queue, "stream": stream}


def simulate(graph, cluster, placement, semantics, count_gaps=False, priority=None):
    """(outcome, trace). The outcome is the JSON of `emplace simulate`, with bound_ns the pair
    (least, greatest). The trace is {"op <id>": (device, slot, start, cost)}, and per channel under
    its name the sorted list of (start, wire, arrival, bytes, hop, "destination,...") of its
    transfers; under "slots of <device>" the sorted list of (slot, start, wire, bytes, channel) of
    the transfers that occupied them. `priority` is what --priority says, None: nothing."""
    step = Step(graph, Machine(cluster), placement)
    line, peaks = SEMANTICS[semantics](step, placement, priority)
    devices, channels = step.machine.devices, step.machine.channels
    deficits = [max(0, peak - device["memory"]) for peak, device in zip(peaks, devices)]
    outcome = {
        "step_time_ns": line.latest_with_gaps if count_gaps else line.latest,
        "feasible": not any(deficits),
        "devices": {
            device["name"]: {
                "busy_ns": line.device_busy[d],
                "peak_bytes": peaks[d],
                "deficit_bytes": deficits[d],
            }
            for d, device in enumerate(devices)
        },
        "channels": {
            channel["name"]: {
                "busy_ns": line.channel_busy[k],
                "transfers": line.channel_transfers[k],
                "bytes": line.channel_bytes[k],
            }
            for k, channel in enumerate(channels)
        },
        "bound_ns": bound_range(graph, step),
        "interval_ns": None,  # without measured costs
    }
    trace = {
        f"op {v}": (devices[d]["name"], line.slot[v], line.start[v], line.finish[v] - line.start[v])
        for v, d in enumerate(step.place)
    }
    for k, start, wire, arrival, size, hop, destinations in line.hops:
        names = ",".join(devices[d]["name"] for d in destinations)
        trace.setdefault(channels[k]["name"], []).append((start, wire, arrival, size, hop, names))
    for d, *rest in line.occupied:
        trace.setdefault(f"slots of {devices[d]['name']}", []).append(tuple(rest))
    return outcome, {
        key: sorted(value) if isinstance(value, list) else value for key, value in trace.items()
    }
