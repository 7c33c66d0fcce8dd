"""Times of collectives over channels: framework/plan/collective_time.h, written from its text."""

import collections
import math

from model import wire_time


def ring_order(members, hops):
    """The members with the least slowest hop that a search in depth finds, 1000 steps a bound, or None"""

    def found(most):
        left = 1000
        stack = [([members[0]], None)]  # beginning of a ring, members still to try behind it
        while stack:
            ring, following = stack[-1]
            if len(ring) == len(members):
                if hops[ring[-1], ring[0]] <= most:
                    return ring
                stack.pop()
                continue
            if following is None:
                near = [m for m in members if m not in ring and hops[ring[-1], m] <= most]
                following = sorted(near, key=lambda m: (hops[ring[-1], m], members.index(m)))
                stack[-1] = (ring, following)
            if not following:
                stack.pop()
                continue
            left -= 1
            if left < 0:
                return None
            stack.append((ring + [following.pop(0)], None))
        return None

    bounds = sorted({hop for hop in hops.values() if 0 < hop < math.inf})
    best, low, high = None, 0, len(bounds)
    while low < high:
        middle = (low + high) // 2
        ring = found(bounds[middle])
        best, low, high = (ring, low, middle) if ring else (best, middle + 1, high)
    return best


def collective_time(machine, name, members, size):
    """The time of the fastest of rings, tree and two levels [ns]; inf: without a route"""
    n = len(members)
    if n < 2:
        return 0
    passes = 2 if name == "all_reduce" else 1

    def at_once(pairs, bytes_):
        if any(pair not in machine.routes for pair in pairs):
            return math.inf
        busy = collections.Counter()
        for pair in pairs:
            for k in machine.routes[pair]:
                busy[k] += wire_time(bytes_, machine.channels[k])
        times = [
            [machine.channels[k]["latency"] + busy[k] for k in machine.routes[pair]]
            for pair in pairs
        ]
        return max(map(sum, times))

    def next_ones(groups, shift=1):
        return [(g[i], g[(i + shift) % len(g)]) for g in groups for i in range(len(g))]

    def hop(a, b):
        if (a, b) not in machine.routes:
            return math.inf
        channels = [machine.channels[k] for k in machine.routes[a, b]]
        return sum(c["latency"] + wire_time(2**20, c) for c in channels)

    hops = {(a, b): hop(a, b) for a in members for b in members if a != b}
    half = max((time for time in hops.values() if time < math.inf), default=0) / 2
    nodes, left = [], list(members)
    while left:
        node = {left[0]}
        while more := {
            b for a, b in hops if a in node and max(hops[a, b], hops[b, a]) <= half
        } - node:
            node |= more
        nodes.append([m for m in members if m in node])
        left = [m for m in left if m not in node]
    rings, times = [], []
    while len(rings) < 8 and (ring := ring_order(list(members), hops)):
        rings.append(ring)
        used = {k for pair in next_ones([ring]) for k in machine.routes[pair]}
        taken = [h for h in hops if h in machine.routes and used & set(machine.routes[h])]
        hops.update(dict.fromkeys(taken, math.inf))
    rings = rings or [list(members)]
    for k in range(1, len(rings) + 1):
        part = -(-size // (n * k))
        if name == "all_to_all":
            rounds = [at_once(next_ones(rings[:k], shift), part) for shift in range(1, n)]
            times.append(sum(rounds))
        else:
            times.append(passes * (n - 1) * at_once(next_ones(rings[:k]), part))
    if name == "all_reduce":
        tree, distance = 0, 1
        while distance < n:
            firsts = range(0, n - distance, 2 * distance)
            sums = [(members[i + distance], members[i]) for i in firsts]
            tree += at_once(sums, size) + at_once([(b, a) for a, b in sums], size)
            distance *= 2
        times.append(tree)
    g, count = len(nodes[0]), len(nodes)
    if name != "all_to_all" and g > 1 and count > 1 and len({len(node) for node in nodes}) == 1:
        across = [list(place) for place in zip(*nodes)]
        inner = (g - 1) * at_once(next_ones(nodes), -(-size // g))
        times.append(passes * (inner + (count - 1) * at_once(next_ones(across), -(-size // n))))
    return min(times)
