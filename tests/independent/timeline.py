"""What every semantics writes down of a step, and the servers: slots, channels and the host."""

import readings
from model import wire_time


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
        self.occupied = []  # (device, slot, start, duration, bytes, channel)
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
        """Takes the slot that is free first; returns the finish."""
        d = self.step.place[v]
        slot = self.free_slot(d)
        start = max(self.slots[d][slot], ready)
        self.op_ran(v, slot, start, start + self.step.cost[v])
        return self.finish[v]

    def op_ran(self, v, slot, start, finish):
        d = self.step.place[v]
        self.slot[v], self.start[v], self.finish[v] = slot, start, finish
        gap = self.step.machine.devices[d]["gap"] if self.step.cost[v] > 0 else 0
        self.slots[d][slot] = finish + gap
        self.device_busy[d] += finish - start + (gap if readings.DEVICE_BUSY_INCLUDES_GAPS else 0)
        self.latest = max(self.latest, finish)
        self.latest_with_gaps = max(self.latest_with_gaps, finish + gap)

    def transfer(self, tensor, destinations, hop, source, ready):
        """One hop for all `destinations`, once its servers are free; returns the arrival."""
        k, ends = self.step.servers(source, destinations, hop)
        slots = [(d, self.free_slot(d)) for d in ends]
        start = max([self.free[k], ready] + [self.slots[d][s] for d, s in slots])
        finish = start + wire_time(self.step.bytes(tensor), self.step.machine.channels[k])
        return self.transferred(tensor, destinations, hop, source, slots, start, finish)

    def transferred(self, tensor, destinations, hop, source, slots, start, finish):
        """slots: [(device, slot)] that the hop occupied; returns the arrival."""
        k, _ = self.step.servers(source, destinations, hop)
        channel, size = self.step.machine.channels[k], self.step.bytes(tensor)
        duration = finish - start
        for d, slot in slots:
            self.slots[d][slot] = finish
            self.device_busy[d] += duration
            self.occupied.append((d, slot, start, duration, size, channel["name"]))
        arrival = finish + channel["latency"]
        self.free[k] = finish + channel["gap"]
        self.channel_busy[k] += duration
        if readings.CHANNEL_BUSY_INCLUDES_LATENCY:
            self.channel_busy[k] += channel["latency"]
        if readings.CHANNEL_BUSY_INCLUDES_GAPS:
            self.channel_busy[k] += channel["gap"]
        self.channel_transfers[k] += 1
        self.channel_bytes[k] += size
        self.latest = max(self.latest, arrival)
        self.latest_with_gaps = max(self.latest_with_gaps, arrival)
        if readings.COUNT_GAPS_INCLUDES_CHANNELS:
            self.latest_with_gaps = max(self.latest_with_gaps, self.free[k])
        self.hops.append((k, start, duration, arrival, size, hop, tuple(destinations)))
        if hop == 0:
            self.first_arrivals[tensor] = max(self.first_arrivals.get(tensor, 0), arrival)
        for d in destinations:
            if hop + 1 == len(self.step.route(source, d)):
                self.copy_start[tensor, d] = start
        return arrival
