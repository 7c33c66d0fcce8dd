"""The menu of targets."""

from __future__ import annotations

import importlib

from .grain import PlaceFailure
from .target import Target

TARGETS = {"transformers": ("accelerate_target", "DeviceMapTarget"), "pytorch": ("torch_target", "ModulesTarget"),
           "onnxruntime": ("onnx_target", "OnnxRuntimeTarget"), "onnx": ("onnx_target", "OnnxTarget"),
           "tensorflow": ("tensorflow_target", "TensorFlowTarget"),
           "llama.cpp": ("llama_cpp_target", "LlamaCppTarget"), "vllm": ("pipeline_targets", "VllmTarget"),
           "deepspeed": ("pipeline_targets", "DeepSpeedTarget"),
           "offload": ("offload_target", "OffloadTarget")}


def find(name: str) -> type[Target]:
    """Returns the class of a target. Throws PlaceFailure with the choices."""
    if name not in TARGETS:
        raise PlaceFailure(f"--for {name}: no such target; choices: {', '.join(TARGETS)}")
    module, kind = TARGETS[name]
    found: type[Target] = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
    return found
