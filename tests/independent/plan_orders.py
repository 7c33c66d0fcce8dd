"""The orders of pipelines: framework/plan/pipeline_order.h, written from its text."""

from fractions import Fraction

from plans import Refused, is_storage, predecessors, topological_order

SCHEDULES = ("gpipe", "1f1b", "interleaved")


def parts(ops, device_of_op, count):
    """{op: part}, the ops of each device cut at the widest gaps of their places in `ops`."""
    result = {}
    for device in set(device_of_op):
        places = [i for i, v in enumerate(ops) if device_of_op[v] == device]
        gaps = sorted(zip(places, places[1:]), key=lambda gap: (gap[0] - gap[1], gap[0]))
        begins = [second for _, second in gaps[: count - 1]]
        result.update({ops[i]: sum(begin <= i for begin in begins) for i in places})
    return result


def stages_of(ops, device_of_op, virtual=1):
    """(stage of each op of the step, number of devices with stages)"""
    order = topological_order(ops)
    forward = [v for v in order if ops[v]["phase"] == "forward" and not is_storage(ops[v])]
    backward = [v for v in order if ops[v]["phase"] == "backward"]
    places = {}
    for v in forward:
        places.setdefault(device_of_op[v], []).append(order.index(v))
    if any(len(of) < virtual for of in places.values()):
        raise Refused("more virtual stages than forward ops")
    means = sorted((Fraction(sum(x), len(x)), d) for d, x in places.items())
    number = {d: s for s, (_, d) in enumerate(means)}
    count = max(1, len(number))
    stages = [number.get(d, count - 1) for d in device_of_op]
    for some in (forward, backward[::-1]):
        for v, part in parts(some, device_of_op, virtual).items():
            stages[v] += count * part
    return stages, count


def passes_of_device(device, devices, virtual, micro_batches, schedule):
    """[(direction, stage, micro-batch)] in the order in which the device works on them."""
    own = [device + devices * part for part in range(virtual)]
    rounds = [range(m, min(m + devices, micro_batches)) for m in range(0, micro_batches, devices)]
    forward = [("forward", k, m) for some in rounds for k in own for m in some]
    backward = [("backward", k, m) for some in rounds for k in reversed(own) for m in some]
    if schedule == "gpipe":
        return forward + backward
    warm = devices - 1 - device
    if virtual > 1:
        warm = 2 * warm + devices * (virtual - 1)
    result, forward = forward[:warm], forward[warm:]
    for each in backward:
        result += [forward.pop(0)] if forward else []
        result.append(each)
    return result


def begins(devices, virtual, micro_batches, schedule):
    """{(direction, stage, micro-batch): when the pass begins}"""
    if virtual > 1 and (schedule != "interleaved" or devices == 1 or micro_batches % devices != 0):
        raise Refused("no such interleaved schedule")
    left = [passes_of_device(d, devices, virtual, micro_batches, schedule) for d in range(devices)]
    free, begin = [0] * devices, {}
    while any(left):
        progress = False
        for d in range(devices):
            while left[d]:
                direction, k, m = left[d][0]
                before = k - 1 if direction == "forward" else k + 1
                key = (direction, before, m)
                if 0 <= before < devices * virtual and key not in begin:
                    break
                ready = begin[key] + 1 if 0 <= before < devices * virtual else 0
                begin[direction, k, m] = max(free[d], ready)
                free[d] = begin[direction, k, m] + 1
                left[d].pop(0)
                progress = True
        assert progress, "the passes wait for each other"
    return begin


def pipeline_order(planned, stage_of_op, devices, schedule, virtual=1):
    """The issue order of a planned graph: ids."""
    ops, origins = planned.ops, planned.origins
    count = max([origin.micro_batch for origin in origins] + [0]) + 1
    begin, last = begins(devices, virtual, count, schedule), float("inf")
    after = [[] for _ in ops]
    for v, awaited in enumerate(predecessors(ops)):
        for u in awaited:
            after[u].append(v)
    key = [last] * len(ops)
    for v in reversed(topological_order(ops)):
        origin, phase = origins[v], ops[v]["phase"]
        if phase != "update" and is_storage(ops[v]):
            key[v] = min([key[r] for r in after[v]] + [last])
        elif phase != "update" and (origin.role != "collective" or origin.group >= 0):
            key[v] = begin[phase, stage_of_op[origin.op], max(0, origin.micro_batch)]
    for v, awaited in enumerate(predecessors(ops)):
        if origins[v].role == "collective" and origins[v].group < 0:
            key[v] = max(key[u] for u in awaited)
    return topological_order(ops, key=lambda v: (key[v], v))


def in_order(ops, device_of_op, order):
    """The ops with an edge from each to the next one on its device."""
    result, last = [dict(op, control_inputs=list(op["control_inputs"])) for op in ops], {}
    for v in order:
        d = device_of_op[v]
        if not is_storage(ops[v]) and d is not None:
            if d in last and last[d] not in result[v]["control_inputs"]:
                result[v]["control_inputs"].append(last[d])
            last[d] = v
    return result
