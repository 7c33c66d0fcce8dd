"""Target `offload`: weights and optimiser state in the CPU's memory, copied ahead into two buffers of each GPU."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Iterator, Sequence

from . import device_map, grain, modules, offload
from .accelerate_target import DeviceMapTarget
from .grain import Grain, PlaceFailure
from .local_search import Choices, climb, single_changes, swaps
from .simulation import Outcome, Simulation, cpus, gpus, outcomes, units_of_groups
from .target import Request, Row, Target, read_json, write_json

FORMAT = "emplace-offload"
FAR = 2      # greatest distance of units that the search swaps
BATCH = 4    # each candidate is a graph of its own


@dataclasses.dataclass(frozen=True)
class _Options:
    """The choices of a unit with G GPUs. k: run on GPU k with its weights there; G + k: run there with its weights on
    the CPU; 2 G: run on the CPU."""

    gpus: list[int]
    cpu: int

    def all(self) -> range:
        return range(2 * len(self.gpus) + 1)

    def runs_on(self, choice: int) -> int:
        return self.cpu if choice == 2 * len(self.gpus) else self.gpus[choice % len(self.gpus)]

    def is_offloaded(self, choice: int) -> bool:
        return len(self.gpus) <= choice < 2 * len(self.gpus)


class OffloadTarget(Target):
    """The place of each module and weight, and the time of each copy: a plan for any runtime with streams."""

    name = "offload"
    sentence = "weights and optimiser state on the CPU, copied ahead into two buffers: a plan as JSON"
    text_only = True

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._document = request.document
        self._simulation = self._simulation_of(request.document)
        self._gpus, self._cpus = gpus(request.cluster), cpus(request.cluster)
        if not self._gpus or not self._cpus:
            raise PlaceFailure(f"--for {self.name}: cluster {request.cluster.name!r} has no "
                               f"{'GPU' if not self._gpus else 'CPU'}; both are needed")
        self._options = _Options(self._gpus, self._cpus[0])
        self._units = modules.find(request.document)
        self._stays = offload.stays(request.document)
        count = len(self._units.names)
        self._has_weights = sorted({unit for unit, stays in zip(self._units.unit_of_op, self._stays) if stays})
        # A unit in two parts: the ops that run, and the state that stays on the CPU if the unit is offloaded.
        self._half_of_op = [unit + count if stays else unit
                            for unit, stays in zip(self._units.unit_of_op, self._stays)]
        self._starts: list[Choices] = []
        self.notes.append(f"grain: {count} units of modules, {len(self._has_weights)} of them with weights")
        if not request.inference:
            self.notes.append("training: an offloaded weight is updated on the CPU, where its optimiser state is, and "
                              "copied for the forward and for the backward pass")

    def simulate(self, device_of_op: tuple[int, ...]) -> Outcome:
        document, origin = offload.with_buffers(self._document, device_of_op)
        with self._simulation_of(document) as simulation:
            return simulation.outcome([device_of_op[op] for op in origin])

    def alternatives(self) -> list[Row]:
        rows = []
        for device in self.first_of_kinds((*self._gpus, *self._cpus)):
            whole = (device,) * len(self._document["ops"])
            rows.append(Row(f"one device, {self.request.cluster.device_names[device]}", self.simulate(whole), whole,
                            whole))
        every = tuple(len(self._gpus) if unit in self._has_weights else 0 for unit in range(len(self._units.names)))
        return [*rows, self._row(f"all offloaded, {self.request.cluster.device_names[self._gpus[0]]}", every),
                *self._hooks()]

    def search(self) -> Row:
        end = time.monotonic() + self.request.seconds
        on_cpu = (2 * len(self._gpus),) * len(self._units.names)
        starts = [on_cpu, *self._starts, *self._spread(end)]

        def changed(here: Choices) -> list[Choices]:
            return [near for near in single_changes(here, self._options.all()) if self._makes_sense(near)]

        found, _ = climb(self._values, starts, [changed, lambda here: swaps(here, FAR)],
                         max(0.0, end - time.monotonic()),
                         lambda value: self.request.memory_only and value[0] == 0, BATCH)
        return self._row("found by the search", found)

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}.offload.json"
        write_json(path, self._plan(payload))
        return [path]

    def read(self, paths: list[str]) -> tuple[int, ...]:
        plan = read_json(paths[0])
        if plan.get("format") != FORMAT:
            raise PlaceFailure(f"{paths[0]}: 'format' is {plan.get('format')!r}; expected {FORMAT!r}")
        number = {name: index for index, name in enumerate(self.request.cluster.device_names)}
        found = device_map.read(self._document, {path: number[name] for path, name in plan["modules"].items()}, False)
        host = {name: number[device] for name, device in plan["host"].items()}
        labels = {op["colocate"]: host[op["name"]] for op in self._document["ops"]
                  if op["name"] in host and op.get("colocate")}
        for op in self._document["ops"]:
            if op["name"] in host:
                found[op["id"]] = host[op["name"]]
            elif self._stays[op["id"]] and op.get("colocate") in labels:
                found[op["id"]] = labels[op["colocate"]]
        return tuple(found)

    def _plan(self, device_of_op: tuple[int, ...]) -> dict[str, Any]:
        """Returns the file's content: each module's device, the state on the CPU, and the copies in program order."""
        names, ops, tensors = self.request.cluster.device_names, self._document["ops"], self._document["tensors"]
        runs = offload.runs_of(self._document)
        made = grain.producers(self._document)
        of_unit = self._units.contract([device if not stays else -1 for device, stays in
                                        zip(device_of_op, self._stays)]) or self._runs(device_of_op)
        plan: dict[str, list[dict[str, Any]]] = {}
        for load in offload.buffered(self._document, device_of_op, runs):
            device = names[device_of_op[runs[load.run].ops[0]]]
            copies = plan.setdefault(device, [])
            first = ops[runs[load.run].ops[0]]
            copies.append({
                "buffer": len(copies) % offload.BUFFERS, "for": modules.path_of(first),
                "pass": first.get("phase", "forward"), "bytes": sum(tensors[weight]["bytes"] for weight in load.weights),
                "weights": [ops[made[weight] or 0]["name"] for weight in load.weights],
                "after": None if load.after is None else ops[load.after]["name"]})
        host = {op["name"]: names[device_of_op[op["id"]]] for op in ops
                if offload.is_weight(self._document, op) and device_of_op[op["id"]] in self._cpus}
        return {"format": FORMAT, "version": 1, "graph": self._document["name"], "cluster": self.request.cluster.name,
                "buffers": offload.BUFFERS,
                "modules": device_map.write(self._units, [names[device] for device in of_unit]),
                "host": host, "loads": plan}

    def _runs(self, device_of_op: Sequence[int]) -> list[int]:
        """Returns [num_units] the device where each unit runs; a unit that runs nothing has that of its first op."""
        found = [-1] * len(self._units.names)
        for stays in (False, True):
            for unit, device, staying in zip(self._units.unit_of_op, device_of_op, self._stays):
                if staying == stays and found[unit] < 0:
                    found[unit] = device
        return found

    def _hooks(self) -> list[Row]:
        """Returns the rows for accelerate's hooks, by a search of its own and by accelerate's own map.

        They are not written here.
        """
        if not self.request.inference:
            return [Row("accelerate's hooks", None, default=True,
                        note="no backward pass for offloaded weights")]
        other = DeviceMapTarget(self.request)
        try:
            defaults = [row for row in other.alternatives() if row.default]
            rows = [other.search(), *defaults]
            for row in rows:
                if row.outcome is not None:
                    self._starts += [tuple(self._of_map(choice)) for choice in other.as_choices(row.device_of_op)]
            return [dataclasses.replace(row, payload=None, default=True,
                                        label=row.label if row.default else "the best map for accelerate's hooks")
                    for row in rows]
        finally:
            other.close()

    def _of_map(self, choices: Choices) -> Iterator[int]:
        """Yields choices for the units of a device_map.

        Units that accelerate offloads run on the lowest GPU that is used.
        """
        used = [self._gpus.index(device) for device in choices if device >= 0]
        main = min(used, default=0)
        for unit, device in enumerate(choices):
            offloaded = device < 0 and unit in self._has_weights
            yield main + len(self._gpus) if offloaded else main if device < 0 else self._gpus.index(device)

    def _makes_sense(self, choices: Choices) -> bool:
        return all(unit in self._has_weights or not self._options.is_offloaded(choice)
                   for unit, choice in enumerate(choices))

    def _spread(self, end: float) -> list[Choices]:
        """Returns even splits over 1, 2, ... GPUs with the fewest offloaded units that fit.

        The offloaded units are spread evenly or are at one end.
        """
        count, found = len(self._units.names), []
        weighted = len(self._has_weights)
        for used in range(1, min(len(self._gpus), count) + 1):
            where = [unit * used // count for unit in range(count)]
            for pattern in (_evenly, _first, _last):
                def choices(number: int, where: Sequence[int] = where, pattern: Any = pattern) -> Choices:
                    away = {self._has_weights[index] for index in pattern(weighted, number)}
                    return tuple(gpu + len(self._gpus) * (unit in away) for unit, gpu in enumerate(where))

                low, high = 0, weighted  # the least number that fits, if any does
                while low < high and time.monotonic() < end:
                    middle = (low + high) // 2
                    low, high = (low, middle) if self._values([choices(middle)])[0][0] == 0 else (middle + 1, high)
                found += [choices(number) for number in range(high, min(high + 3, weighted + 1))]
        return list(dict.fromkeys(found))

    def _row(self, label: str, choices: Choices) -> Row:
        device_of_op = self._placed(choices)
        found = self._outcome(choices)
        return Row(label, self.counted(found, device_of_op), device_of_op, device_of_op)

    def _placed(self, choices: Choices) -> tuple[int, ...]:
        """Returns [num_ops] the devices for choices."""
        runs = [self._options.runs_on(choice) for choice in choices]
        return tuple(self._cpus[0] if stays and self._options.is_offloaded(choices[unit]) else runs[unit]
                     for unit, stays in zip(self._units.unit_of_op, self._stays))

    def _values(self, candidates: Sequence[Choices]) -> list[tuple[int, int]]:
        found = [self._outcome(choices) for choices in candidates]
        return [(outcome.missing, outcome.time) for outcome in found]

    def _outcome(self, choices: Choices) -> Outcome:
        """Returns the outcome of one candidate, unit by unit."""
        device_of_op = self._placed(choices)
        document, origin = offload.with_buffers(self._document, device_of_op)
        halves = [self._half_of_op[op] for op in origin]
        number: dict[int, int] = {}
        units = Grain(document, [""] * len(set(halves)), [number.setdefault(half, len(number)) for half in halves])
        with self._simulation_of(document) as simulation:
            problem = simulation.of_units(units)
        device_of_half = {half: device_of_op[op] for half, op in zip(halves, origin)}
        half_of_unit = {unit: half for half, unit in number.items()}
        return outcomes(problem, [[device_of_half[half_of_unit[unit]]
                                   for unit in units_of_groups(problem, units)]])[0]

    def _simulation_of(self, document: dict[str, Any]) -> Simulation:
        return Simulation(document, self.request.cluster, self.request.costs, self.request.objective)


def _evenly(count: int, number: int) -> list[int]:
    return [index * count // number for index in range(number)]


def _first(count: int, number: int) -> list[int]:
    return list(range(number))


def _last(count: int, number: int) -> list[int]:
    return list(range(count - number, count))
