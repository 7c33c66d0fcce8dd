"""The orders of pipelines: framework/plan/pipeline_order.h, written from its text."""

from fractions import Fraction

from plans import is_storage, predecessors, topological_order

SCHEDULES = ("gpipe", "1f1b")


def stages_of(ops, device_of_op):
    """(stage of each op of the step, number of stages)"""
    places = {}
    for position, v in enumerate(topological_order(ops)):
        if ops[v]["phase"] == "forward" and not is_storage(ops[v]):
            places.setdefault(device_of_op[v], []).append(position)
    means = sorted((Fraction(sum(x), len(x)), d) for d, x in places.items())
    number = {d: s for s, (_, d) in enumerate(means)}
    count = max(1, len(number))
    return [number.get(d, count - 1) for d in device_of_op], count


def passes_of_stage(stage, stages, micro_batches, schedule):
    """[(direction, micro-batch)] in the order in which the stage works on them."""
    forward = [("forward", m) for m in range(micro_batches)]
    backward = [("backward", m) for m in range(micro_batches)]
    if schedule == "gpipe":
        return forward + backward
    warm = min(micro_batches, stages - 1 - stage)
    result, forward = forward[:warm], forward[warm:]
    for each in backward:
        result += [forward.pop(0)] if forward else []
        result.append(each)
    return result


def begins(stages, micro_batches, schedule):
    """{(stage, direction, micro-batch): when the pass begins}"""
    left = [passes_of_stage(s, stages, micro_batches, schedule) for s in range(stages)]
    free, begin = [0] * stages, {}
    while any(left):
        progress = False
        for s in range(stages):
            while left[s]:
                direction, m = left[s][0]
                before = s - 1 if direction == "forward" else s + 1
                key = (before, direction, m)
                if 0 <= before < stages and key not in begin:
                    break
                ready = begin[key] + 1 if 0 <= before < stages else 0
                begin[s, direction, m] = max(free[s], ready)
                free[s] = begin[s, direction, m] + 1
                left[s].pop(0)
                progress = True
        assert progress, "the passes wait for each other"
    return begin


def pipeline_order(planned, stage_of_op, stages, schedule):
    """The issue order of a planned graph: ids."""
    ops, origins = planned.ops, planned.origins
    count = max([origin.micro_batch for origin in origins] + [0]) + 1
    begin, last = begins(stages, count, schedule), float("inf")
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
            key[v] = begin[stage_of_op[origin.op], phase, max(0, origin.micro_batch)]
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
