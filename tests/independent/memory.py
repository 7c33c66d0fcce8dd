"""Peak bytes per device, by time (queue semantics) and by issue order (stream semantics)."""

import readings
from model import CONTROL, RESIDENT_ROLES

NEVER = float("inf")  # the end of a life that lasts to the end of the step


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
    """{memory: end of its life} of all that counts and is transient, with aliases and outputs taken
    in. A memory is (tensor, None), or (tensor, device) for a received copy.

    own_end(t): end of t's own life on its producer's device; copy_end(t, d): of d's copy."""
    ends = {}
    for v, sends in enumerate(step.sends):
        for t, remote in sends:
            for d in remote if t != CONTROL and copy_counts(step, t) else []:
                ends[t, d] = NEVER if copy_stays(step, t) else copy_end(t, d)
    for t in step.producer:
        memory = step.memory_of(t)
        resident = (
            memory[0] not in step.producer or step.tensors[memory[0]].get("role") in RESIDENT_ROLES
        )
        if memory in ends or memory[1] is None and not resident:
            stays = step.tensors[t].get("role") == "output" or (
                readings.RESIDENT_ALIASES_PROLONG_TO_THE_END
                and step.tensors[t].get("role") in RESIDENT_ROLES
            )
            end = NEVER if stays else own_end(t)
            ends[memory] = max(ends.get(memory, -1), end)
    return ends


def copy_counts(step, tensor):
    return readings.COPIES_OF_ALIASES_COUNT or step.tensors[tensor].get("alias_of") is None


def copy_stays(step, tensor):
    return (
        step.tensors[tensor].get("role") == "output" and not readings.COPIES_OF_OUTPUTS_ARE_RELEASED
    )


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
        return max(
            [position[v]] + [position[r] for r in step.readers[t] if step.place[r] == step.place[v]]
        )

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
        allocate(
            d, workspace + sum(step.bytes(t) for t in step.ops[v]["outputs"] if (t, None) in ends)
        )
        now[d] -= workspace
        for t, remote in step.sends[v]:
            for destination in remote:
                if (t, destination) in ends:
                    allocate(destination, step.bytes(t))
        for device, size in releases[p]:
            now[device] -= size
    return peaks
