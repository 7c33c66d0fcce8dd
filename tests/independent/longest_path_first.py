"""How long the steps of benchmark instances take if servers do not serve first in, first out.

    python3 tests/independent/longest_path_first.py configs/benchmark/papers/NAME.json.gz ...

Prints for the best known placement of each instance the step in queue semantics, and the step if
each device and channel serves the waiting op or transfer with the longest path to the end [ms].
Every device has one slot. A transfer that occupies devices begins when all its servers are free.
"""

import gzip
import heapq
import json
import re
import sys

from costs import Costs
from model import Machine, Step, wire_time
from reference import queue_timeline


def plain(value):
    """Quantities of an instance file as numbers."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    quantity = re.fullmatch(r"(\d+)(ns|B|B/s)", value) if isinstance(value, str) else None
    return int(quantity[1]) if quantity else value


def read_step(path):
    """The problem of an instance with its best known placement."""
    with gzip.open(path) as file:
        graph = json.load(file)
    with gzip.open(path.replace(".json.gz", ".placement.json.gz")) as file:
        placement = json.load(file)
    machine = Machine(plain(graph["instance"]["cluster"]))
    return Step(graph, machine, placement, Costs(graph, None, apart=False))


def longest_paths(step):
    """[ops]: the longest path from the finish of each op to the end of the step [ns]."""
    channels, missing = step.machine.channels, [len(waits) for waits in step.waits_for]
    order = [v for v, count in enumerate(missing) if count == 0]
    for u in order:
        for _, reader in step.followers[u]:
            missing[reader] -= 1
            if missing[reader] == 0:
                order.append(reader)
    path = [0] * len(step.ops)
    for u in reversed(order):
        for tensor, reader in step.followers[u]:
            size, source, target = step.bytes(tensor), step.place[u], step.place[reader]
            hops = step.route(source, target) if source != target else []
            move = sum(wire_time(size, channels[k]) + channels[k]["latency"] for k in hops)
            path[u] = max(path[u], move + step.cost[reader] + path[reader])
    return path


class Servers:
    """Devices, then channels. Of the jobs whose servers are free, that of the longest path begins."""

    def __init__(self, step):
        self.step, self.path = step, longest_paths(step)
        self.num_devices = len(step.machine.devices)
        count = self.num_devices + len(step.machine.channels)
        self.waiting, self.busy = [[] for _ in range(count)], [False] * count
        self.missing = [len(waits) for waits in step.waits_for]
        self.events, self.host, self.number = [], 0, 0

    def run(self):
        """The step time [ns]."""
        for v, count in enumerate(self.missing):
            if count == 0:
                self.wait(self.step.place[v], v, ("op", v))
        time = 0
        while True:
            first = sorted((jobs[0], server) for server, jobs in enumerate(self.waiting) if jobs)
            for (*_, job), server in first:
                if not any(self.busy[needed] for needed in self.needed(server, job)):
                    heapq.heappop(self.waiting[server])
                    self.begin(server, job, time)
            if not self.events:
                return time
            time = self.events[0][0]
            while self.events and self.events[0][0] == time:
                self.happen(*heapq.heappop(self.events)[-1])

    def wait(self, server, reader, job):
        self.number += 1
        heapq.heappush(self.waiting[server], (-self.path[reader], reader, self.number, job))

    def at(self, time, *event):
        self.number += 1
        heapq.heappush(self.events, (time, self.number, event))

    def issued(self, device, time):
        self.host = max(self.host, time) + self.step.machine.devices[device]["issue"]
        return self.host + self.step.machine.devices[device]["launch"]

    def needed(self, server, job):
        """The servers that a job keeps busy: a transfer has devices besides its channel."""
        if job[0] == "op":
            return [server]
        _, v, _, party, hop = job
        return [server, *self.step.servers(self.step.place[v], party, hop)[1]]

    def begin(self, server, job, time):
        step, needed = self.step, self.needed(server, job)
        for one in needed:
            self.busy[one] = True
        if job[0] == "op":
            v = job[1]
            finish = self.issued(server, time) + step.cost[v]
            gap = step.machine.devices[server]["gap"] if step.cost[v] > 0 else 0
            self.at(finish, "made", v)
            self.at(finish + gap, "free", server)
            return
        _, v, tensor, _, hop = job
        channel = step.machine.channels[server - self.num_devices]
        start = self.issued(step.place[v], time) if hop == 0 else time
        finish = start + wire_time(step.bytes(tensor), channel)
        self.at(finish + channel["gap"], "free", server)
        for device in needed[1:]:
            self.at(finish, "free", device)
        self.at(finish + channel["latency"], "arrived", job)

    def happen(self, what, item):
        step = self.step
        if what == "free":
            self.busy[item] = False
        elif what == "made":
            for tensor, remote in step.sends[item]:
                self.known(item, tensor, step.place[item])
                for party in step.parties(step.place[item], remote):
                    self.send(item, tensor, party, 0)
        else:
            _, v, tensor, party, hop = item
            for device in party:
                if hop + 1 == len(step.route(step.place[v], device)):
                    self.known(v, tensor, device)
                else:
                    self.send(v, tensor, [device], hop + 1)

    def send(self, v, tensor, party, hop):
        readers = [r for t, r in self.step.followers[v] if t == tensor and self.step.place[r] in party]
        channel = self.step.route(self.step.place[v], party[0])[hop]
        urgent = max(readers, key=lambda reader: self.path[reader])
        self.wait(self.num_devices + channel, urgent, ("transfer", v, tensor, party, hop))

    def known(self, v, tensor, device):
        for item, reader in self.step.followers[v]:
            if item == tensor and self.step.place[reader] == device:
                self.missing[reader] -= 1
                if self.missing[reader] == 0:
                    self.wait(device, reader, ("op", reader))


def main(paths):
    for path in paths:
        step = read_step(path)
        first_in, longest = queue_timeline(step).latest, Servers(step).run()
        print(f"{path}: {first_in / 1e6:.6g} ms first in, first out; {longest / 1e6:.6g} ms longest path first")


if __name__ == "__main__":
    main(sys.argv[1:])
