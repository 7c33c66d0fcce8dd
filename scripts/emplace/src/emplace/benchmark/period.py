"""The period of a placement by a plain implementation, which reads an instance's file and nothing of the program.

simulator/README.md, "The second objective: pipelined steps", defines the period. Slow and plain on purpose.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import ceil
from typing import Any, Mapping, Sequence


def period(document: Mapping[str, Any], place: Sequence[str]) -> tuple[int, bool]:
    """Returns the period [ns], the largest load of a device, and whether the placement fits into memory.

    document  of an instance file
    place     [num_ops] names of devices, each of a kind on which the op has a cost
    """
    ops, tensors, machine = document["ops"], document["tensors"], document["instance"]["cluster"]
    kind = {device["name"]: device["kind"] for device in machine["devices"]}
    channels = {channel["name"]: channel for channel in machine.get("channels", ())}
    routes = {(route["from"], route["to"]): [channels[name] for name in route["via"]] for route in machine.get("routes", ())}
    load, used = dict.fromkeys(kind, 0), dict.fromkeys(kind, 0)

    def pay(device: str, time: int) -> None:
        if machine["device_kinds"][kind[device]].get("pays_transfers", True):
            load[device] += time

    read: defaultdict[int, set[str]] = defaultdict(set)  # devices by tensor
    awaited: defaultdict[int, set[str]] = defaultdict(set)  # devices by op that control edges leave
    for op, home in zip(ops, place):
        load[home] += op["cost_ns"][kind[home]]
        for tensor in op["inputs"]:
            read[tensor].add(home)
        for before in op.get("control_inputs", ()):
            awaited[before].add(home)
    made: dict[int, str] = {}  # device by tensor
    for number, (op, home) in enumerate(zip(ops, place)):
        made.update(dict.fromkeys(op["outputs"], home))
        for size, readers in [(tensors[t]["bytes"], read[t]) for t in op["outputs"]] + [(0, awaited[number])]:
            times = {device: sum(_time(size, hop) for hop in routes[home, device]) for device in readers - {home}}
            for device, time in times.items():
                pay(device, time)
            pay(home, max(times.values(), default=0))
    for number, tensor in enumerate(tensors):
        if "alias_of" not in tensor:
            for device in {made[number]} if number in made else read[number]:
                used[device] += tensor["bytes"]
    fits = all(used[device["name"]] <= _figure(device["memory"], "B") for device in machine["devices"] if "memory" in device)
    return max(load.values()), fits


def _time(size: int, channel: Mapping[str, Any]) -> int:
    """Returns the time of a transfer that is alone on a channel [ns]. size: [B]."""
    wire = _figure(channel.get("setup", "0ns"), "ns") + ceil(size * 10**9 / _rate(channel["bandwidth"]))
    return int(_figure(channel.get("latency", "0ns"), "ns") + (wire if size > 0 else 0))


def _rate(text: str) -> Fraction:
    """Returns a rate that the program wrote, as in "1500000000B/s" or "1500000000B/7s" [B/s]."""
    size, seconds = text.removesuffix("s").split("B/")
    return Fraction(size) / Fraction(seconds or 1)


def _figure(text: str, unit: str) -> int:
    return int(text.removesuffix(unit))
