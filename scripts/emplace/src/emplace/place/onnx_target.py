"""Targets `onnxruntime` and `onnx`: nodes of an .onnx model on devices.

onnxruntime: nodes on the CPU or on the GPU, as annotations of the model and as a session option. A session has one
provider of each kind, so a model is on the CPU and on one GPU, the first of the cluster. Its executor runs one node
after another.

onnx: a pipeline of GPUs, as the multi-device configurations of ONNX IR 11 express it (onnx 1.18 and later). The model
gets a DeviceConfigurationProto with the names of the GPUs. Each node gets its pipeline stage, and a sharding
specification of its outputs that names the one device of the stage and shards nothing.
"""

from __future__ import annotations

import os
from typing import Any, Sequence

from . import grain, layers, ort_check, ort_rules
from .grain import Grain, PlaceFailure, is_source
from .layered_target import Counts, PipelineTarget
from .simulation import Outcome, Simulation, cpus, gpus, outcomes, part_of, searched, units_of_groups
from .target import Request, Row, Target, read_json, write_json

CONFIGURATION = "emplace"  # name of the DeviceConfigurationProto
LEAST_IR_VERSION = 11
MOST_RUNS = 48  # of nodes, so that all splits into four stages can be simulated
PROVIDERS = {"cpu": "CPUExecutionProvider", "gpu": "CUDAExecutionProvider"}


class OnnxRuntimeTarget(Target):
    """An annotated copy of the model, and session options for the copy or for the unchanged model."""

    name = "onnxruntime"
    sentence = "session options of ONNX Runtime: CPU or GPU for each node, by annotation and by name"

    def __init__(self, request: Request) -> None:
        _require_onnx(request, self.name)
        wanted = [*cpus(request.cluster)[:1], *gpus(request.cluster)[:1]]
        names = request.cluster.device_names
        cluster = part_of(request.cluster, [names[device] for device in wanted])
        super().__init__(Request(**{**vars(request), "cluster": cluster}))
        if len(names) > len(wanted):
            self.notes.append(f"devices: {', '.join(cluster.device_names)}; a session has one provider of each kind")
        self._nodes = _nodes(request)
        unit_of_op = _units(request.document)
        document = grain.one_after_another(request.document, unit_of_op)
        self._units = grain.make(document, [op["name"] for op in document["ops"]], unit_of_op)
        self._simulation = Simulation(document, cluster, request.costs, request.objective)
        self.notes.append(f"grain: {len(self._units.names)} nodes with their weights; one runs after another")
        self.notes.append("ONNX Runtime's default: nodes for which the GPU's provider has kernels; simulated as all")

    def alternatives(self) -> list[Row]:
        cluster = self.request.cluster
        rows = []
        for device, kind in sorted(enumerate(cluster.device_classes), key=lambda entry: entry[1] == "cpu"):
            label = f"one device, {cluster.device_names[device]}{' (the default)' if kind == 'gpu' else ''}"
            rows.append(self._row(label, [device] * len(self._units.names), kind == "gpu"))
        return rows

    def search(self) -> Row:
        problem = self._simulation.of_units(self._units)
        unit_of_group = units_of_groups(problem, self._units)
        found, fits = searched(problem, self.request.seconds, self.request.seed)
        devices = [0] * len(unit_of_group)
        for unit, device in zip(unit_of_group, found):
            devices[unit] = device
        return self._row("found by the search", devices, outcome=outcomes(problem, [found])[0] if fits else None)

    def write(self, payload: Any, stem: str) -> list[str]:
        import onnx  # type: ignore[import-not-found,unused-ignore]

        model = _to_annotate(self.request.model, stem)
        classes = self.request.cluster.device_classes
        by_name: dict[str, list[str]] = {}
        for node, op in zip(model.graph.node, self._nodes):
            if op is None:
                continue  # computed when the session is created
            kind = classes[payload[self._units.unit_of_op[op]]]
            for old in [entry for entry in node.metadata_props if entry.key == ort_rules.KEY]:
                node.metadata_props.remove(old)
            node.metadata_props.add(key=ort_rules.KEY, value=f"emplace_{kind}")
            by_name.setdefault(kind, []).append(node.name)
        settings = "; ".join(f"{kind}(=emplace_{kind})" for kind in sorted(by_name, reverse=True))
        providers = [PROVIDERS[kind] for kind in ("gpu", "cpu") if kind in classes]
        options: dict[str, Any] = {"annotated_model": {
            "model": os.path.basename(f"{stem}.placed.onnx"), "providers": providers,
            "session_options": {ort_rules.BY_ANNOTATION: settings}}}
        named = [name for names in by_name.values() for name in names]
        if len(set(named)) == len(named) and all(map(ort_rules.can_be_pattern, named)):
            rules = "; ".join(f"{kind}({', '.join(by_name[kind])})" for kind in sorted(by_name, reverse=True))
            options["model_as_it_is"] = {"model": os.path.basename(self.request.model), "providers": providers,
                                         "session_options": {ort_rules.BY_NAME: rules}}
        else:
            self.notes.append("no rules by name: names of nodes are missing or not unique, or contain special "
                              "characters of rules")
        onnx.save_model(model, f"{stem}.placed.onnx")
        write_json(f"{stem}.session_options.json", options)
        return [f"{stem}.placed.onnx", f"{stem}.session_options.json"]

    def read(self, paths: list[str]) -> tuple[int, ...]:
        """Returns the devices by the annotated model and its rules; the rules by name must give the same devices."""
        import onnx

        model = onnx.load_model(paths[0], load_external_data=False)
        options = read_json(paths[1])
        rules = ort_rules.parse(options["annotated_model"]["session_options"][ort_rules.BY_ANNOTATION])
        named = ort_rules.parse(options.get("model_as_it_is", {}).get("session_options", {}).get(ort_rules.BY_NAME, ""))
        number = {kind: device for device, kind in enumerate(self.request.cluster.device_classes)}
        device_of_op: list[int | None] = [None] * len(self._units.document["ops"])
        for node, op in zip(model.graph.node, self._nodes):
            if op is None:
                continue
            annotation = next((entry.value for entry in node.metadata_props if entry.key == ort_rules.KEY), "")
            device = ort_rules.device_by_annotation(annotation, rules)
            if named and ort_rules.device_by_name(node.name, named) != device:
                raise PlaceFailure(f"rules by name put node {node.name!r} on another device than its annotation")
            device_of_op[op] = number[device] if device else None
        return tuple(_with_sources(self._units.document, device_of_op))

    def try_out(self, paths: list[str]) -> str:
        return ort_check.run(self.request.model, paths, [tensor for tensor in self.request.document["tensors"]
                                                         if tensor.get("role") == "input"])

    def _row(self, label: str, devices: Sequence[int], default: bool = False, outcome: Outcome | None = None) -> Row:
        device_of_op = tuple(self._units.expand(devices))
        return Row(label, self.counted(outcome, device_of_op), list(devices), device_of_op, default)


class OnnxTarget(PipelineTarget):
    """Stages of consecutive nodes on the GPUs in their order."""

    name = "onnx"
    sentence = "device and pipeline stage of each node in the model itself (ONNX IR 11)"
    text_only = False

    def sequence(self) -> Grain:
        """Returns at most MOST_RUNS runs of consecutive nodes that take about the same time on the first GPU."""
        import emplace
        import onnx

        request = self.request
        _require_onnx(request, self.name)
        if not hasattr(onnx, "NodeDeviceConfigurationProto"):
            raise PlaceFailure(f"--for onnx: onnx {onnx.__version__} has no multi-device configurations; expected "
                               "1.18 or later")
        self._nodes = _nodes(request)
        times = emplace.Costs(grain.compiled(request.document), request.cluster, request.costs).time[:, self.gpus[0]]
        ops = [op for op in self._nodes if op is not None]
        total, before = max(1, sum(int(times[op]) for op in ops)), 0
        runs: list[int | None] = [None] * len(request.document["ops"])
        for place, op in enumerate(ops):
            # Without times, runs have equal numbers of nodes.
            share = (before + int(times[op]) / 2) / total if total > 1 else place / len(ops)
            runs[op] = min(int(share * MOST_RUNS), MOST_RUNS - 1)
            before += int(times[op])
        number = {run: place for place, run in enumerate(sorted({run for run in runs if run is not None}))}
        parts = _with_sources(request.document, [None if run is None else number[run] for run in runs])
        document, parts = layers.untied(request.document, parts)
        self._runs = len(number)
        self.notes.append(f"grain: {self._runs} runs of {len(ops)} nodes in their order")
        return Grain(document, [f"run {run}" for run in range(self._runs)], parts)

    def items(self) -> int:
        return self._runs

    def devices(self, counts: Counts) -> list[int]:
        return self.in_order(counts)

    def defaults(self) -> list[tuple[str, Counts]]:
        stages = min(len(self.gpus), self.items())
        numbers = [self.items() // stages + (stage < self.items() % stages) for stage in range(stages)]
        return [(f"{stages} stages of about equal time", self.of_stages(numbers))]

    def write(self, payload: Any, stem: str) -> list[str]:
        import onnx

        model = _to_annotate(self.request.model, stem)
        model.ir_version = max(model.ir_version, LEAST_IR_VERSION)
        for old in [entry for entry in model.configuration if entry.name == CONFIGURATION]:
            model.configuration.remove(old)
        names = self.request.cluster.device_names
        model.configuration.add(name=CONFIGURATION, num_devices=len(self.gpus),
                                device=[names[device] for device in self.gpus])
        stage_of = {device: stage for stage, (device, _) in enumerate(self.used(payload))}
        of_run = self.devices(payload)
        for node, op in zip(model.graph.node, self._nodes):
            for old in [entry for entry in node.device_configurations if entry.configuration_id == CONFIGURATION]:
                node.device_configurations.remove(old)
            if op is None:
                continue  # computed when the session is created
            device = of_run[self._units.unit_of_op[op]]
            entry = node.device_configurations.add(configuration_id=CONFIGURATION, pipeline_stage=stage_of[device])
            for tensor in filter(None, node.output):
                entry.sharding_spec.add(tensor_name=tensor, device=[self.gpus.index(device)])
        onnx.save_model(model, f"{stem}.stages.onnx")
        return [f"{stem}.stages.onnx"]

    def read(self, paths: list[str]) -> tuple[int, ...]:
        """Returns the devices that the model's configuration gives its nodes.

        Throws PlaceFailure if a node has none or several, or if stages and devices do not match.
        """
        import onnx

        model = onnx.load_model(paths[0], load_external_data=False)
        configuration = next(entry for entry in model.configuration if entry.name == CONFIGURATION)
        number = {name: device for device, name in enumerate(self.request.cluster.device_names)}
        device_of_op: list[int | None] = [None] * len(self._units.document["ops"])
        stages: dict[int, int] = {}
        for node, op in zip(model.graph.node, self._nodes):
            if op is None:
                continue
            entries = [entry for entry in node.device_configurations if entry.configuration_id == CONFIGURATION]
            places = {(entry.pipeline_stage, *spec.device) for entry in entries for spec in entry.sharding_spec}
            if len(places) != 1 or len(place := next(iter(places))) != 2:
                raise PlaceFailure(f"{paths[0]}: node {node.name!r} has {len(places)} places; expected one stage on "
                                   "one device")
            if stages.setdefault(place[0], place[1]) != place[1]:
                raise PlaceFailure(f"{paths[0]}: stage {place[0]} of node {node.name!r} is on several devices")
            device_of_op[op] = number[configuration.device[place[1]]]
        return tuple(_with_sources(self._units.document, device_of_op))

    def try_out(self, paths: list[str]) -> str:
        import onnx

        try:
            onnx.checker.check_model(paths[0])
        except onnx.checker.ValidationError as error:
            raise PlaceFailure(f"onnx {onnx.__version__} refuses {paths[0]}: {str(error).splitlines()[0]}") from error
        return f"onnx {onnx.__version__}: its checker accepts the annotated model"


def _require_onnx(request: Request, target: str) -> None:
    if not request.model.endswith(".onnx"):
        raise PlaceFailure(f"--for {target}: expected an .onnx file, got {request.model}")


def _to_annotate(path: str, stem: str) -> Any:
    """Returns the model. Throws PlaceFailure if its copy in the folder of `stem` would lack its external weights."""
    import onnx

    model = onnx.load_model(path, load_external_data=False)
    folder, other = (os.path.realpath(os.path.dirname(os.path.abspath(file))) for file in (path, stem))
    if any(tensor.data_location == 1 for tensor in model.graph.initializer) and folder != other:
        raise PlaceFailure(f"-o {stem}: the weights of {path} are in files of its folder, so its annotated copy must "
                           "be in the same folder")
    return model


def _nodes(request: Request) -> list[int | None]:
    """Returns [nodes of the model] the op of each node; None: the node is computed when the model is loaded.

    Throws PlaceFailure for a model with functions, whose nodes are not in the model itself.
    """
    import onnx

    model = onnx.load_model(request.model, load_external_data=False)
    if model.functions:
        raise PlaceFailure(f"{request.model}: has functions, whose nodes cannot be annotated one by one; inline them "
                           "with onnx.inliner.inline_local_functions first")
    made = {request.document["tensors"][tensor]["name"]: op["id"] for op in request.document["ops"]
            for tensor in op["outputs"]}
    found: list[int | None] = []
    for node in model.graph.node:
        op = next((made[name] for name in node.output if name in made), None)
        if op is None:
            raise PlaceFailure(f"{request.model}: node {node.name!r} of type {node.op_type} is not in the graph")
        found.append(None if is_source(request.document["ops"][op]) else op)
    return found


def _units(document: dict[str, Any]) -> list[int]:
    """Returns [num_ops] the unit of each op: the op itself; for weights and constants their first reader."""
    numbered: list[int | None] = [None if is_source(op) else op["id"] for op in document["ops"]]
    return _with_sources(document, numbered)


def _with_sources(document: dict[str, Any], values: Sequence[int | None]) -> list[int]:
    """Fills in the values of sources.

    A source gets the value of its first reader; without a reader, the value of the first op that computes.
    """
    found = list(values)
    made = grain.producers(document)
    first = next((value for value in values if value is not None), 0)
    for op in reversed(grain.order(document)):
        for tensor in document["ops"][op]["inputs"]:
            source = made[tensor]
            if source is not None and is_source(document["ops"][source]):
                found[source] = found[op]  # the last one in reversed order is the first reader
    return [first if value is None else value for value in found]
