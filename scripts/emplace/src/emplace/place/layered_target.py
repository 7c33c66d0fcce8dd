"""Targets that give each device a run of layers: the base of llama.cpp, vLLM and DeepSpeed."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any, Iterator, Sequence

from ..importers.graph_file import RESIDENT_ROLES
from . import grain, layers
from .grain import Grain, PlaceFailure
from .local_search import climb
from .simulation import Outcome, Simulation, gpus, outcomes, units_of_groups
from .target import Request, Row, Target

Counts = tuple[int, ...]
MOST_LISTED = 20_000  # up to so many splits are all simulated
BATCH = 256


class LayeredTarget(Target):
    """Counts of layers for devices in their order. Subclasses define the items and the devices of both ends."""

    text_only = True
    inference_first = True
    least = 1  # least number of items of a device that has any
    serial = False  # whether parts run one after another

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.gpus = gpus(request.cluster)
        if not self.gpus:
            raise PlaceFailure(f"--for {self.name}: cluster {request.cluster.name!r} has no GPU")
        self._units = self.sequence()
        self._simulation = Simulation(self._units.document, request.cluster, request.costs, request.objective)
        self._problem = self._simulation.of_units(self._units)
        self._unit_of_group = units_of_groups(self._problem, self._units)

    # --- defined by the target ----------------------------------------------------------------

    def sequence(self) -> Grain:
        """Returns the parts in their order: those before the layers, each layer, those behind them."""
        document, parts, self.layers = layers.split(self.request.document)
        self.notes.append(f"grain: {self.layers} layers of {layers.container(document)[0]}, in their order")
        return layers.as_grain(grain.one_after_another(document, parts) if self.serial else document, parts,
                               self.layers)

    def places(self) -> list[int]:
        """Returns the devices in the order in which they get layers."""
        return list(self.gpus)

    def items(self) -> int:
        """Returns the number of items that are counted: layers, or more."""
        return self.layers

    def devices(self, counts: Counts) -> list[int]:
        """Returns [parts] the device of each part under counts [len(places())]."""
        raise NotImplementedError

    def defaults(self) -> list[tuple[str, Counts]]:
        """Returns the target's own counts."""
        raise NotImplementedError

    # --- common to all targets ----------------------------------------------------------------

    def simulate(self, device_of_op: tuple[int, ...]) -> Outcome:
        if self.request.objective == "step_time":
            return self._simulation.outcome(device_of_op)
        devices = self._units.contract(device_of_op)
        if devices is None:
            raise PlaceFailure("ops of one layer are on several devices")
        return self._of_units([devices])[0]

    def alternatives(self) -> list[Row]:
        rows = []
        for device in self.first_of_kinds(self.places()):
            counts = tuple(self.items() if place == device else 0 for place in self.places())
            rows.append(self._row(f"one device, {self.request.cluster.device_names[device]}", counts))
        return rows + [self._row(label, counts, default=True) for label, counts in self.defaults()]

    def search(self) -> Row:
        """Simulates all splits if they are few; else moves from even ones to better neighbours."""
        count, places = self.items(), len(self.places())
        end = time.monotonic() + self.request.seconds
        number = sum(math.comb(places, used) * math.comb(count - used * (self.least - 1) - 1, used - 1)
                     for used in range(1, places + 1) if count >= used * self.least)
        if number <= MOST_LISTED:
            candidates = self._all_splits(count, places)
            best: tuple[Any, Counts] | None = None
            while batch := list(itertools.islice(candidates, BATCH)):
                best = min([(value, counts) for value, counts in zip(self._values(batch), batch)]
                           + ([best] if best else []))
                if time.monotonic() > end:
                    self.notes.append(f"--seconds ended before all {number:,} splits were simulated")
                    break
            assert best is not None
            counts = best[1]
        else:
            counts, _ = climb(self._values, self._even_splits(count, places), [self._neighbours],
                              self.request.seconds)
        return self._row("found by the search", counts)

    def read(self, paths: list[str]) -> tuple[int, ...]:
        return tuple(self._units.expand(self.devices(self.read_counts(paths))))

    def read_counts(self, paths: list[str]) -> Counts:
        """Returns the counts that the target derives from its files."""
        raise NotImplementedError

    def names(self, counts: Counts) -> str:
        """Returns "gpu:0 8, gpu:1 8"."""
        names = self.request.cluster.device_names
        return ", ".join(f"{names[device]} {count}" for device, count in zip(self.places(), counts))

    def _row(self, label: str, counts: Counts, default: bool = False) -> Row:
        device_of_op = tuple(self._units.expand(self.devices(counts)))
        return Row(label, self.simulate(device_of_op), counts, device_of_op, default)

    def _values(self, candidates: Sequence[Counts]) -> list[tuple[int, int]]:
        told = self._of_units([self.devices(counts) for counts in candidates])
        return [(outcome.missing, outcome.time) for outcome in told]

    def _of_units(self, placements: Sequence[Sequence[int]]) -> list[Outcome]:
        return outcomes(self._problem, [[devices[unit] for unit in self._unit_of_group] for devices in placements])

    def _all_splits(self, count: int, places: int) -> Iterator[Counts]:
        if places == 1:
            if count == 0 or count >= self.least:
                yield (count,)
            return
        for first in (0, *range(self.least, count + 1)):
            for rest in self._all_splits(count - first, places - 1):
                yield (first, *rest)

    def _even_splits(self, count: int, places: int) -> list[Counts]:
        splits = []
        for used in range(1, min(places, count) + 1):
            cuts = [count * index // used for index in range(used + 1)]
            counts = [after - before for before, after in zip(cuts, cuts[1:])]
            splits.append(tuple(counts + [0] * (places - used)))
        return splits

    def _neighbours(self, counts: Counts) -> list[Counts]:
        found = []
        for source, target in itertools.permutations(range(len(counts)), 2):
            for moved in (1, 2, 4):
                near = list(counts)
                near[source] -= moved
                near[target] += moved
                if all(number == 0 or number >= self.least for number in near):
                    found.append(tuple(near))
        return found


class PipelineTarget(LayeredTarget):
    """Stages of a pipeline: every stage has layers and works on a step of its own.

    The period is the busy time of the busiest stage. In inference a stage holds the memory of one step. In training,
    where activations wait for the backward pass, stage s of S holds those of S - s steps, as in
    one-forward-one-backward schedules.
    """

    objectives = ("period", "step_time")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._steps = self._simulation.of_units(self._units, objective="step_time")
        tensors = self._units.document["tensors"]
        self._resident = [0] * len(self._units.names)  # for each part [B]
        for op, part in zip(self._units.document["ops"], self._units.unit_of_op):
            self._resident[part] += sum(tensors[tensor]["bytes"] for tensor in op["outputs"]
                                        if tensors[tensor].get("role") in RESIDENT_ROLES
                                        and tensors[tensor].get("alias_of") is None)
        if request.objective == "period":
            self.notes.append("memory: of one step" if request.inference else
                              "memory: stage s of S keeps the activations of S - s steps (one forward, one backward)")

    def _of_units(self, placements: Sequence[Sequence[int]]) -> list[Outcome]:
        told = super()._of_units(placements)
        if self.request.objective == "step_time":
            return told
        steps = outcomes(self._steps, [[devices[unit] for unit in self._unit_of_group] for devices in placements])
        return [self._pipelined(outcome.time, step, devices)
                for outcome, step, devices in zip(told, steps, placements)]

    def _pipelined(self, period: int, step: Outcome, devices: Sequence[int]) -> Outcome:
        stages = list(dict.fromkeys(devices))
        peaks = list(step.peaks)
        if not self.request.inference:
            for stage, device in enumerate(stages):
                resident = sum(size for size, other in zip(self._resident, devices) if other == device)
                peaks[device] = resident + (peaks[device] - resident) * (len(stages) - stage)
        missing = sum(max(0, peak - int(room)) for peak, room in zip(peaks, self.request.cluster.memory))
        return Outcome(period, tuple(peaks), missing)

    def used(self, counts: Counts) -> list[tuple[int, int]]:
        """Returns (device, count) of each stage."""
        return [(device, count) for device, count in zip(self.places(), counts) if count]

    def in_order(self, counts: Counts) -> list[int]:
        """Returns [items] the device of each item."""
        return [device for device, count in self.used(counts) for _ in range(count)]

    def of_stages(self, numbers: Sequence[int]) -> Counts:
        """Returns counts of stages on the first devices.

        Throws PlaceFailure for more stages than devices, or a wrong sum.
        """
        if len(numbers) > len(self.places()) or sum(numbers) != self.items() or min(numbers) < 1:
            raise PlaceFailure(f"--for {self.name}: got stages of {', '.join(map(str, numbers))}; expected at most "
                               f"{len(self.places())} of {self.items()} in all")
        return (*numbers, *[0] * (len(self.places()) - len(numbers)))

    def _all_splits(self, count: int, places: int) -> Iterator[Counts]:
        """Yields splits with stages on the first devices: no device between two stages is empty."""
        for used in range(1, min(places, count) + 1):
            for cuts in itertools.combinations(range(1, count), used - 1):
                bounds = (0, *cuts, count)
                numbers = [after - before for before, after in zip(bounds, bounds[1:])]
                yield (*numbers, *[0] * (places - used))

    def _neighbours(self, counts: Counts) -> list[Counts]:
        stages = len(self.used(counts))
        return [near for near in super()._neighbours(counts)
                if all(near[:stages]) or all(near[:max(i for i, n in enumerate(near) if n) + 1])]
