"""Interference semantics: the commands of stream semantics, at rates that depend on what runs on
neighbouring devices. From one time at which something happens to the next."""

from commands import issued_commands
from model import wire_time
from timeline import Timeline

HELD = float("inf")  # when a server is free again that some command holds
FULL = 1024  # units of work that an activity does in a nanosecond where nothing slows it down


class Running:
    """A command at work. `alone`: what it takes where nothing slows it down [ns]."""

    def __init__(self, command, now, alone, device, figures):
        self.command, self.start, self.since = command, now, now
        self.left = alone * FULL  # at `since`
        self.device, (self.sensitivity, self.pressure) = device, figures
        self.rate = FULL

    def finish(self):
        return self.since + -(-self.left // self.rate)

    def go_on(self, now, machine, activities):
        """From `now` on at the rate that `activities` allow."""
        self.left -= self.rate * (now - self.since)
        self.since = now
        slowed = sum(
            self.sensitivity * other.pressure // 1024
            for other in activities
            if other is not self and frozenset((self.device, other.device)) in machine.neighbours
        )
        self.rate = max(16, 2**20 // (1024 + slowed))


class Interference:
    """One step: what holds which server, what runs, and what is there."""

    def __init__(self, step, order):
        self.step, self.line = step, Timeline(step)
        self.waiting = list(issued_commands(self.line, order))  # by number
        self.held = {command: {} for command in self.waiting}  # {device: slot, "channel": k}
        self.running = []
        self.there = {}  # stage -> when it is there
        self.now = 0

    def needs(self, command):
        """(channel or None, devices of which it needs a slot)"""
        source = self.step.place[command.producer]
        if command.hop is None:
            return None, [source]
        return self.step.servers(source, command.destinations, command.hop)

    def take(self, command):
        """Takes what it may of its servers; returns whether it has all. Commands are asked in the
        order of their numbers, so what an earlier one did not get is not free for a later one."""
        channel, ends = self.needs(command)
        line, held = self.line, self.held[command]
        for d in ends:
            slot = line.free_slot(d)
            if d not in held and line.slots[d][slot] <= self.now:
                held[d], line.slots[d][slot] = slot, HELD
        if channel is not None and "channel" not in held and line.free[channel] <= self.now:
            held["channel"], line.free[channel] = channel, HELD
        return len(held) == len(ends) + (channel is not None)

    def ready(self, command):
        return command.issued <= self.now and all(
            self.there.get(stage, HELD) <= self.now for stage in command.awaits
        )

    def begin(self, command):
        channel, ends = self.needs(command)
        machine, d = self.step.machine, self.step.place[command.producer]
        if command.hop is None:
            alone, figures = self.step.cost[command.producer], self.step.figures[command.producer]
            device = d
        else:
            alone = wire_time(self.step.bytes(command.tensor), machine.channels[channel])
            device = ends[0] if ends else None  # the source, if it occupies that
            figures = machine.transfer_figures(device) if ends else (0, 0)
        running = Running(command, self.now, alone, device, figures)
        if alone == 0:
            self.end(running)
        else:
            self.running.append(running)

    def end(self, running):
        command, held = running.command, self.held[running.command]
        v, d = command.producer, self.step.place[command.producer]
        if command.hop is None:
            self.line.op_ran(v, held[d], running.start, self.now)
            time = self.now
        else:
            slots = [item for item in held.items() if item[0] != "channel"]
            time = self.line.transferred(
                command.tensor,
                command.destinations,
                command.hop,
                d,
                slots,
                running.start,
                self.now,
            )
        self.there.update((stage, time) for stage in command.gives)

    def next_time(self):
        servers = [time for slots in self.line.slots for time in slots] + self.line.free
        times = [running.finish() for running in self.running] + list(self.there.values())
        times += [time for time in servers if time != HELD]
        times += [command.issued for command in self.waiting]
        return min(time for time in times if time > self.now)

    def run(self):
        while True:
            for running in [x for x in self.running if x.finish() == self.now]:
                self.running.remove(running)
                self.end(running)
            waiting = []
            for command in self.waiting:
                if self.take(command) and self.ready(command):
                    self.begin(command)
                else:
                    waiting.append(command)
            self.waiting = waiting
            for running in self.running:
                running.go_on(self.now, self.step.machine, self.running)
            if not self.waiting and not self.running:
                return self.line
            self.now = self.next_time()


def interference_timeline(step, order):
    """I: the timeline of the commands that `order` issues."""
    return Interference(step, order).run()
