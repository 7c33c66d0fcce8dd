#!/usr/bin/env python3
"""Times and traces training steps of PyTorch on a GPU, for comparison with simulations of the same graphs.

    PYTHONPATH=scripts/emplace/src python3 scripts/torch_steps.py -o steps gpt2_small@8 resnet50@32
                                            needs: a CUDA GPU, pip install -r scripts/requirements-torch.txt

A CASE is MODEL or MODEL@BATCH; MODEL is a name of `emplace import --from torch --list`, FILE.py:FUNCTION or a
CONFIG.json. The step is that of the imported graph: forward, loss, backward and the fused update of the model's default
optimizer, in f32 without TF32, on random data. DIR/steps.json gets one row a case:

  eager_ns     median over rounds of the time of one step, launched op by op, without waiting between steps
  graph_ns     the same of one step captured as a CUDA graph, which has no time of the host; null: cannot be captured
  peak_bytes   most memory that tensors took during an eager step, without what earlier cases left behind;
               state_bytes: before it
  trace        file of torch.profiler in DIR, for `emplace costs`
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import statistics
import sys
from typing import Any, Callable

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from emplace.importers import ImportFailure
from emplace.importers import torch as importer
from emplace.importers.torch import sources
from emplace.importers.torch.models import Source, TrainingSetup
from emplace.importers.torch.training import nested

# Integers below which the values of an input are drawn, by its name: vocabularies and classes of the menu.
VALUES = {"tokens": 8000, "next_tokens": 8000, "labels": 1000, "input_ids": 1000}
OTHER_VALUES = 2
WARM_UP, ROUNDS, TRACED = 8, 7, 3


class Step:
    """One training step of a model on the GPU, ready to run."""

    def __init__(self, source: Source, dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        setup = source.build()
        self.setup = setup
        self.module = setup.module.train().to("cuda", dtype)
        self.inputs = _filled(setup.inputs, setup.input_names, setup, dtype)
        self.targets = _filled(setup.targets, setup.target_names, setup, dtype)
        self.optimizer = _optimizer(source.optimizer, [p for p in self.module.parameters() if p.requires_grad])

    def run(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        if self.setup.keywords:
            output = self.module(**nested(dict(zip(self.setup.input_names, self.inputs, strict=True))))
        else:
            output = self.module(*self.inputs)
        self.setup.loss_fn(output, *self.targets).backward()
        self.optimizer.step()


def _filled(tensors: tuple[torch.Tensor, ...], names: tuple[str, ...], setup: TrainingSetup,
            dtype: torch.dtype) -> list[torch.Tensor]:
    filled = []
    for place, tensor in enumerate(tensors):
        name = names[place] if place < len(names) else ""
        if name in setup.examples:
            value = setup.examples[name].to("cuda")
        elif tensor.is_floating_point():
            value = torch.randn(tensor.shape, device="cuda", dtype=dtype)
        else:
            value = torch.randint(0, VALUES.get(name, OTHER_VALUES), tensor.shape, device="cuda", dtype=tensor.dtype)
        filled.append(value)
    return filled


def _optimizer(name: str, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    if name in ("sgd", "momentum"):
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9 if name == "momentum" else 0.0, fused=True)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    return kind(parameters, lr=1e-4, fused=True, capturable=True)


def timed(run: Callable[[], None], seconds: float) -> float:
    """Returns the median time of `run` over ROUNDS [ns], each of as many runs as fit into its share of `seconds`."""
    def once(count: int) -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        for _ in range(count):
            run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e6 / count

    count = max(3, int(seconds / ROUNDS * 1e9 / once(3)))
    return statistics.median(once(count) for _ in range(ROUNDS))


def captured(step: Step) -> Callable[[], None]:
    """Returns the replay of a step as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step.run()
    torch.cuda.current_stream().wait_stream(side)
    step.optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step.run()
    return graph.replay


def trace(step: Step, path: pathlib.Path) -> None:
    """Writes a trace of TRACED steps."""
    rule = schedule(wait=1, warmup=2, active=TRACED, repeat=1)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, schedule=rule, record_shapes=True) as profiler:
        for left in reversed(range(3 + TRACED)):
            step.run()
            torch.cuda.synchronize()
            if left == 0:
                profiler.add_metadata("torch_version", torch.__version__)
            profiler.step()
    profiler.export_chrome_trace(str(path))


def measured(case: str, dtype_name: str, seconds: float, folder: pathlib.Path) -> dict[str, Any]:
    """Returns the row of one case. Throws ImportFailure and errors of PyTorch."""
    model, _, batch = case.partition("@")
    parser = argparse.ArgumentParser()
    importer.add_arguments(parser)
    source = sources.find(model, parser.parse_args(["--batch", batch] if batch else []))
    gc.collect()
    before = torch.cuda.memory_allocated()
    step = Step(source, {"f32": torch.float32, "bf16": torch.bfloat16}[dtype_name])
    for _ in range(WARM_UP):
        step.run()
    torch.cuda.synchronize()
    step.optimizer.zero_grad(set_to_none=True)
    state = torch.cuda.memory_allocated() - before
    torch.cuda.reset_peak_memory_stats()
    step.run()
    torch.cuda.synchronize()
    name = f"{source.name}_b{source.settings.get('batch', batch or 0)}_{dtype_name}"
    row: dict[str, Any] = {"case": name, "settings": source.settings, "optimizer": source.optimizer,
                           "dtype": dtype_name, "state_bytes": state,
                           "peak_bytes": torch.cuda.max_memory_allocated() - before,
                           "eager_ns": round(timed(step.run, seconds)), "trace": f"{name}.trace.json.gz"}
    trace(step, folder / row["trace"])
    try:
        row["graph_ns"] = round(timed(captured(step), seconds))
    except RuntimeError as error:
        row["graph_ns"], row["not_captured"] = None, str(error).splitlines()[0]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", metavar="CASE", help="MODEL or MODEL@BATCH")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, metavar="DIR",
                        help="folder for steps.json and the traces (made if absent)")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="of the model (default: f32)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of each measurement (default: 2)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_steps: PyTorch sees no GPU")
    os.makedirs(options.output, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    properties = torch.cuda.get_device_properties(0)
    document: dict[str, Any] = {"gpu": properties.name, "torch": torch.__version__, "cuda": torch.version.cuda,
                                "cudnn": torch.backends.cudnn.version(), "steps": []}
    failed = False
    for case in options.cases:
        try:
            row = measured(case, options.dtype, options.seconds, options.output)
        except (ImportFailure, RuntimeError) as error:
            failed = True
            print(f"torch_steps: {case}: {error}", file=sys.stderr)
            continue
        finally:
            torch.cuda.empty_cache()
        document["steps"].append(row)
        print(json.dumps(row), flush=True)
        (options.output / "steps.json").write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
