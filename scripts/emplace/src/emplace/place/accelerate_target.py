"""Target `transformers`: a device_map of modules in the format of accelerate and transformers."""

from __future__ import annotations

import logging
from typing import Any, Sequence

from . import device_map, grain, modules, offload
from .grain import Grain, PlaceFailure
from .local_search import Choices, climb, single_changes, swaps
from .simulation import Outcome, Simulation, cpus, gpus, outcomes, searched, units_of_groups
from .target import Request, Row, Target, read_json, write_json

SWAPPED_WITH_ALL = 64  # units; with more units, each is swapped only with its neighbours
OFFLOADED = -1  # as a unit's choice: its weights stay in the CPU's memory


class DeviceMapTarget(Target):
    """A device_map: {"model.layers.0": 0, ...}."""

    name = "transformers"
    sentence = "a device_map for transformers and accelerate: from_pretrained(..., device_map=...)"
    inference_first = True
    offloads = True
    _computing: list[str] | None = ["gpu"]  # classes of devices that compute if there are GPUs

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._gpus, self._cpus = gpus(request.cluster), cpus(request.cluster)
        self._module = request.module() if request.module else None
        units = modules.find(request.document, self._no_split())
        document = grain.one_after_another(request.document, units.unit_of_op)
        origin = list(range(len(document["ops"])))
        self._default_choices: list[Choices] = []
        self._can_offload = self.offloads and request.inference and bool(self._gpus and self._cpus)
        if self._can_offload:
            document, origin = offload.with_hooks(document)
        self._units = Grain(document, units.names, [units.unit_of_op[op] for op in origin])
        self._simulation = Simulation(document, request.cluster, request.costs, request.objective)
        self.notes.append(f"grain: {len(units.names)} units of modules; one runs after another, as hooks run them")
        if not request.inference and self.offloads:
            self.notes.append("training: weights are not offloaded, because the hooks that offload them have no "
                              "backward pass")

    def alternatives(self) -> list[Row]:
        rows = [self._row(f"one device, {self.request.cluster.device_names[device]}", {"": self._called(device)})
                for device in self.first_of_kinds((*self._gpus, *self._cpus))]
        return rows + self._defaults()

    def search(self) -> Row:
        found, outcome = self._on_gpus() if self._gpus else ([self._cpus[0]] * len(self._units.names), None)
        if self._can_offload and outcome is not None and not outcome.fits:
            found, outcome = self._with_offload()
        return self._row("found by the search", self._map(found), outcome)

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}.device_map.json"
        write_json(path, payload)
        return [path]

    def read(self, paths: list[str]) -> tuple[int, ...]:
        return self._devices(read_json(paths[0]))

    def _devices(self, entries: dict[str, Any]) -> tuple[int, ...]:
        """Returns [num_ops] the devices of a map. Throws PlaceFailure for a device that the cluster lacks."""
        number = {self._called(device): device for device in (*self._gpus, *self._cpus[:1])}
        try:
            return tuple(number[device] for device in device_map.read(self._units.document, entries,
                                                                            self.offloads))
        except KeyError as error:
            raise PlaceFailure(f"device_map: device {error.args[0]!r} does not exist on cluster "
                               f"{self.request.cluster.name!r}") from None

    def _called(self, device: int) -> Any:
        """Returns the name of a device in a map."""
        return self._gpus.index(device) if device in self._gpus else "cpu"

    def _row(self, label: str, entries: dict[str, Any], outcome: Outcome | None = None, default: bool = False,
             note: str = "") -> Row:
        device_of_op = self._devices(entries)
        return Row(label, self.counted(outcome, device_of_op), entries, device_of_op, default, note)

    def _map(self, found: Sequence[int]) -> dict[str, Any]:
        """Returns the map of units' choices.

        It has an entry for every parameter of the module, including unread ones.
        """
        if len(set(found)) == 1 and found[0] != OFFLOADED:
            return {"": self._called(found[0])}
        entries = device_map.write(self._units, ["cpu" if device == OFFLOADED else self._called(device)
                                                 for device in found])
        if self._module is not None:
            main = device_map.main_device(entries)
            for name in self._module.state_dict():
                if device_map.lookup(name, entries) is None:
                    entries[name] = main
        return entries

    def _on_gpus(self) -> tuple[list[int], Outcome]:
        """Returns units on GPUs and their outcome, found by `learned_local_search`.

        If only memory matters, or if nothing fits, the placement with the least missing memory is returned.
        """
        problem = self._simulation.of_units(self._units, self._computing)
        unit_of_group = units_of_groups(problem, self._units)
        found = None
        if not self.request.memory_only:
            devices, fits = searched(problem, self.request.seconds, self.request.seed)
            if fits:
                found = [0] * len(unit_of_group)
                for unit, device in zip(unit_of_group, devices):
                    found[unit] = device
        if found is None:
            found = list(self._least_missing(problem, unit_of_group))
        return found, outcomes(problem, [[found[unit] for unit in unit_of_group]])[0]

    def _least_missing(self, problem: Any, unit_of_group: Sequence[int]) -> Choices:
        def evaluate(candidates: Sequence[Choices]) -> list[Any]:
            told = outcomes(problem, [[choices[unit] for unit in unit_of_group] for choices in candidates])
            return [(outcome.missing, outcome.time) for outcome in told]

        starts = [tuple(split) for split in self._even_splits(len(self._units.names))]
        devices = self._gpus if self._computing else [*self._gpus, *self._cpus[:1]]
        return climb(evaluate, starts, [lambda here: single_changes(here, devices), swaps], self.request.seconds,
                     lambda value: value[0] == 0)[0]

    def _with_offload(self) -> tuple[list[int], Outcome]:
        """Returns units on GPUs, some of them with their weights on the CPU, and the outcome.

        Units with offloaded weights run on the lowest GPU that is used.
        """
        count = len(self._units.names)
        document = self._units.document
        parts = [unit + count if offload.is_weight(document, op) else unit
                 for op, unit in zip(document["ops"], self._units.unit_of_op)]
        numbers: dict[int, int] = {}
        halves = Grain(document, [""] * len(set(parts)), [numbers.setdefault(part, len(numbers)) for part in parts])
        problem = self._simulation.of_units(halves)
        part_of_half = {number: part for part, number in numbers.items()}
        part_of_group = [part_of_half[half] for half in units_of_groups(problem, halves)]

        def placement(choices: Choices) -> list[int]:
            main = min((device for device in choices if device != OFFLOADED), default=self._gpus[0])
            runs = [main if device == OFFLOADED else device for device in choices]
            stays = [self._cpus[0] if device == OFFLOADED else device for device in choices]
            return [runs[part] if part < count else stays[part - count] for part in part_of_group]

        def evaluate(candidates: Sequence[Choices]) -> list[tuple[int, int]]:
            told = outcomes(problem, [placement(choices) for choices in candidates])
            return [(outcome.missing, outcome.time) for outcome in told]

        has_weights = {part - count for part in parts if part >= count}
        starts = []
        for kept in range(count, 0, -1):
            for split in self._even_splits(kept):
                rest = [OFFLOADED if unit in has_weights else split[-1] for unit in range(kept, count)]
                starts.append((*split, *rest))
        starts += self._default_choices
        reach = None if count <= SWAPPED_WITH_ALL else 2

        def changed(here: Choices) -> list[Choices]:
            near = single_changes(here, [OFFLOADED, *self._gpus])
            return [choices for choices in near if any(device != OFFLOADED for device in choices)]

        found, _ = climb(evaluate, starts, [changed, lambda here: swaps(here, reach)], self.request.seconds,
                         lambda value: self.request.memory_only and value[0] == 0)
        return list(found), outcomes(problem, [placement(found)])[0]

    def _even_splits(self, count: int) -> list[list[int]]:
        """Returns splits of the first `count` units into runs of equal length on the first 1, 2, ... GPUs."""
        return [[self._gpus[unit * used // count] for unit in range(count)]
                for used in range(1, min(len(self._gpus), count) + 1)]

    def _no_split(self) -> list[str]:
        """Returns the paths of the modules whose classes must not be split, as the model declares."""
        if self._module is None:
            return []
        classes = set(getattr(self._module, "_no_split_modules", None) or ())
        return [path for path, module in self._module.named_modules() if type(module).__name__ in classes]

    def _defaults(self) -> list[Row]:
        label = "accelerate.infer_auto_device_map"
        if self._module is None:
            return [Row(label, None, default=True, note="no module: MODEL is a graph file")]
        try:
            from accelerate import infer_auto_device_map  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            return [Row(label, None, default=True, note="the package accelerate is not installed")]
        cluster = self.request.cluster
        room = {self._called(device): int(cluster.memory[device]) for device in (*self._gpus, *self._cpus[:1])}
        logging.getLogger("accelerate").setLevel(logging.ERROR)  # it reports that this machine does not have these GPUs
        entries = dict(infer_auto_device_map(self._module, max_memory=room, no_split_module_classes=list(
            getattr(self._module, "_no_split_modules", None) or ())))
        if "disk" in entries.values():
            return [Row(label, None, default=True, note="it needs a disk, which the cluster does not have")]
        if "cpu" in entries.values() and len(set(entries.values())) > 1 and not self._can_offload:
            return [Row(label, None, default=True, note="it offloads weights, which is not possible in training")]
        row = self._row(label, entries, default=True)
        self._default_choices = [*self._default_choices, *self.as_choices(row.device_of_op)]
        return [row]

    def as_choices(self, device_of_op: Sequence[int]) -> list[Choices]:
        """Returns the choices of units that give a placement; none if it splits a unit."""
        runs: dict[int, int] = {}
        stays: dict[int, int] = {}
        for op, unit, device in zip(self._units.document["ops"], self._units.unit_of_op, device_of_op):
            table = stays if offload.is_weight(self._units.document, op) else runs
            if table.setdefault(unit, device) != device:
                return []
        choices = []
        for unit in range(len(self._units.names)):
            run = runs.get(unit, self._gpus[0])
            stay = stays.get(unit, run)
            offloaded = stay in self._cpus and run in self._gpus
            choices.append(OFFLOADED if offloaded else stay)
        return [tuple(choices)] if all(device == OFFLOADED or device in self._gpus for device in choices) else []
