"""A second, independent implementation of simulator/README.md, written from the text alone.

simulate() returns what `emplace simulate` prints and traces. Slow and plain on purpose; nothing is
shared with the C++ sources. Time is integer ns, memory integer bytes. Sentences of the page that
could be read in two ways: readings.py.

  graph      the JSON of a graph file (emplace-graph, version 1: framework/graph/FORMAT.md)
  placement  the JSON of a placement file (emplace-placement, version 1:
             framework/placement/FORMAT.md), with its issue_order if it has one
  cluster    a dict with the keys of a cluster file (framework/cluster/FORMAT.md), quantities as
             numbers instead of unit strings: times [ns], bandwidth [B/s] and the figures of
             interference (int, or an exact decimal string), memory [B]
"""

import heapq

from commands import issued_commands
from costs import Costs
from interference import interference_timeline
from lower_bound import bound_range
from memory import queue_peaks, stream_peaks
from model import Machine, Step, issue_order, upward_ranks
from timeline import Timeline


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
    line, there = Timeline(step), {}  # stage -> when it is there
    for command in issued_commands(line, order):
        ready = max([command.issued] + [there[stage] for stage in command.awaits])
        if command.hop is None:
            time = line.run_op(command.producer, ready)
        else:
            time = line.transfer(
                command.tensor,
                command.destinations,
                command.hop,
                step.place[command.producer],
                ready,
            )
        there.update((stage, time) for stage in command.gives)
    return line


def queue(step, placement, priority):
    """(timeline, peaks [devices])"""
    if priority is not None and priority != "id":
        raise ValueError("queue semantics has no issue order")
    line = queue_timeline(step)
    return line, queue_peaks(step, line)


def order_of(step, placement, priority):
    """The issue order of S and I."""
    given = placement.get("issue_order")
    if priority is None:
        priority = "id" if given is None else "given"
    if priority == "given":
        number = {op["name"]: v for v, op in enumerate(step.ops)}
        return [number[name] for name in given]
    return issue_order(step, upward_ranks(step) if priority == "upward_rank" else None)


def stream(step, placement, priority):
    """(timeline, peaks [devices])"""
    order = order_of(step, placement, priority)
    return stream_timeline(step, order), stream_peaks(step, order)


def interference(step, placement, priority):
    """(timeline, peaks [devices])"""
    order = order_of(step, placement, priority)
    return interference_timeline(step, order), stream_peaks(step, order)


# What --semantics may be.
SEMANTICS = {"queue": queue, "stream": stream, "interference": interference}


def simulate(
    graph, cluster, placement, semantics, count_gaps=False, priority=None, measured=None
):
    """(outcome, trace). The outcome is the JSON of `emplace simulate`, with bound_ns the pair
    (least, greatest). The trace is {"op <id>": (device, slot, start, duration)}, per channel under
    its name the sorted list of (start, duration, arrival, bytes, hop, "destination,...") of its
    transfers, and under "slots of <device>" that of (slot, start, duration, bytes, channel) of
    the transfers that occupied them. `priority` is what --priority says, None: nothing;
    `measured` the JSON of a cost file (emplace-costs, version 1: framework/cost/FORMAT.md)."""
    costs = Costs(graph, measured, apart=semantics == "interference")
    step = Step(graph, Machine(cluster), placement, costs)
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
        "interval_ns": None,  # without held-out placements
    }
    trace = {
        f"op {v}": (devices[d]["name"], line.slot[v], line.start[v], line.finish[v] - line.start[v])
        for v, d in enumerate(step.place)
    }
    for k, *rest, destinations in line.hops:
        names = ",".join(devices[d]["name"] for d in destinations)
        trace.setdefault(channels[k]["name"], []).append((*rest, names))
    for d, *rest in line.occupied:
        trace.setdefault(f"slots of {devices[d]['name']}", []).append(tuple(rest))
    return outcome, {
        key: sorted(value) if isinstance(value, list) else value for key, value in trace.items()
    }
