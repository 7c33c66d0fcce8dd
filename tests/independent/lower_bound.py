"""Lower bounds of a step: the critical path at the best costs, and the work bound, the least T such
that all work, being divisible, fits into T on every device kind:

  minimise T  subject to  sum_k x[i][k] = 1             for every item i,
                          sum_i cost[i][k] x[i][k] <= T capacity[k]   for every kind k

solved exactly in fractions. The items do not see each other, so a point of the LP is a mixture of
whole assignments; the simplex method below holds only len(capacity) + 1 rows, and the best whole
assignment for given prices is found item by item (column generation).
"""

import math
from fractions import Fraction

import readings
from model import allowed, issue_order


def _cheapest(costs, prices):
    """Loads per kind of the assignment that is cheapest at these prices, and its value."""
    loads, value = [0] * len(prices), Fraction(0)
    for row in costs:
        best, k = min((c * prices[k], k) for k, c in enumerate(row) if c is not None)
        loads[k] += row[k]
        value += best
    return loads, value


def _invert(matrix):
    n = len(matrix)
    rows = [
        [Fraction(x) for x in row] + [Fraction(i == j) for j in range(n)]
        for i, row in enumerate(matrix)
    ]
    for i in range(n):
        p = next(r for r in range(i, n) if rows[r][i] != 0)
        rows[i], rows[p] = rows[p], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return [row[n:] for row in rows]


def fractional_assignment(costs, capacity, most_pivots=200):
    """costs: per item and kind [ns], None where forbidden. Returns (low, high), low <= optimum <=
    high; the two are equal unless `most_pivots` did not suffice."""
    kinds = len(capacity)
    if not costs:
        return Fraction(0), Fraction(0)
    # Rows: load_k - capacity_k T + slack_k = 0, and sum of weights = 1.
    # Columns: T, slacks, assignments.
    loads, _ = _cheapest(costs, [Fraction(1, kinds)] * kinds)
    tight = max(range(kinds), key=lambda k: Fraction(loads[k], capacity[k]))
    time = [-c for c in capacity] + [0]

    def slack(k):
        return [int(j == k) for j in range(kinds)] + [0]

    columns = [time, loads + [1]] + [slack(k) for k in range(kinds) if k != tight]
    low = Fraction(0)
    for _ in range(most_pivots):
        inverse = _invert([list(row) for row in zip(*columns)])
        amounts = [row[kinds] for row in inverse]  # right-hand side (0, ..., 0, 1)
        high, duals = amounts[0], inverse[0]  # the objective is T, the first column
        prices = [-x for x in duals[:kinds]]  # sum of prices * capacity = 1
        worst = min(range(kinds), key=lambda k: prices[k])
        if prices[worst] < 0:
            entering = slack(worst)
        else:
            loads, value = _cheapest(costs, prices)
            low = max(low, value)
            if low >= high:
                return high, high
            entering = loads + [1]
        direction = [sum(a * b for a, b in zip(row, entering)) for row in inverse]
        ratios = [(amounts[i] / direction[i], i) for i in range(1, kinds + 1) if direction[i] > 0]
        columns[min(ratios)[1]] = entering
    return low, high


def bound_range(graph, step):
    """(least, greatest) value that bound_ns may have; equal unless the LP was left early."""
    devices = step.machine.devices
    kinds = list(dict.fromkeys(device["kind"] for device in devices))
    capacity = [sum(d["slots"] for d in devices if d["kind"] == kind) for kind in kinds]
    places, groups = [], {}  # places: per op, the devices where it may run
    for v, op in enumerate(step.ops):
        places.append({d for d, device in enumerate(devices) if allowed(op, device)})
        groups.setdefault(op["colocate"] if op.get("colocate") else v, []).append(v)
    for members in groups.values() if readings.BOUND_BY_GROUP else []:
        common = set.intersection(*(places[v] for v in members))
        for v in members:
            places[v] = common
    costs = [
        [step.costs.of(op, k) if k in {devices[d]["kind"] for d in places[v]} else None for k in kinds]
        for v, op in enumerate(step.ops)
    ]
    finish = {}
    for v in issue_order(step):
        finish[v] = max([finish[u] for u, _ in step.waits_for[v]], default=0)
        finish[v] += min(c for c in costs[v] if c is not None)
    path = max(finish.values(), default=0)
    items = costs
    if readings.BOUND_BY_GROUP:
        items = [
            [
                None if costs[members[0]][k] is None else sum(costs[v][k] for v in members)
                for k in range(len(kinds))
            ]
            for members in groups.values()
        ]
    low, high = fractional_assignment(items, capacity)
    whole = math.ceil if readings.BOUND_ROUNDS_UP else math.floor
    return max(path, whole(low)), max(path, whole(high))
