"""The ops and hops of a step in the order in which stream semantics comes to them."""

from dataclasses import dataclass

import readings


@dataclass(eq=False)
class Command:
    """An op, or a hop of a copy. A stage is (producer, tensor, device, n): the item after n hops on
    its way to the device; (producer, tensor, its device, 0) is the item where it was made."""

    producer: int  # the op itself, or the one whose item is on its way
    issued: int  # [ns], may not start before; 0 of later hops, which nobody issues
    awaits: list  # stages
    gives: list  # stages, at its finish (op) or arrival (hop)
    tensor: object = None  # of a hop
    destinations: tuple = None  # of a hop
    hop: int = None  # None: an op


def issued_commands(line, order):
    """The commands in the order in which a pass over the ops comes to them; uses line's host."""
    step = line.step
    for v in order:
        d = step.place[v]
        awaits = [(u, t, d, step.hops(step.place[u], d)) for u, t in step.waits_for[v]]
        gives = [(v, tensor, d, 0) for tensor, _ in step.sends[v]]
        yield Command(v, line.issue(d), awaits, gives)
        for tensor, remote in step.sends[v]:
            shared = {party[0]: party for party in step.parties(d, remote)}
            turns = remote
            if not readings.BROADCAST_FOLLOWERS_TAKE_TURNS:
                turns = [x for party in shared.values() for x in party]
            for x in turns:
                if x in shared:
                    served = tuple(shared[x])
                    gives = [(v, tensor, y, 1) for y in served]
                    yield Command(v, line.issue(d), [(v, tensor, d, 0)], gives, tensor, served, 0)
                for hop in range(1, step.hops(d, x)):
                    issued = 0 if readings.ISSUE_ONCE_PER_COPY else line.issue(d)
                    awaits, gives = [(v, tensor, x, hop)], [(v, tensor, x, hop + 1)]
                    yield Command(v, issued, awaits, gives, tensor, (x,), hop)
