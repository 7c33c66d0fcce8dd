"""Target `pytorch`: a Python file that moves modules to their devices, and the inputs of modules with them."""

from __future__ import annotations

import json
from typing import Any

from .accelerate_target import DeviceMapTarget
from .target import Row, read_constant

FILE = '''"""Devices of the modules of {model}, found by emplace.

    from {module} import place_modules
    place_modules(model)      # moves parameters; hooks move the inputs of modules with their own device

Targets of a loss must be where the model's output is. "cpu" means that the module computes there.
"""

import torch

DEVICE_OF = {device_of}


def place_modules(model, device_of=DEVICE_OF):
    """Moves each module, parameter or buffer that device_of names, the outer before the inner ones."""
    for path in sorted(device_of, key=lambda path: path.count(".") + bool(path)):
        device = torch.device(device_of[path])
        owner, _, name = path.rpartition(".")
        state = {{**dict(model.named_parameters(remove_duplicate=False)),
                 **dict(model.named_buffers(remove_duplicate=False))}}
        if path in state:
            holder = model.get_submodule(owner)
            if name in holder._parameters:
                holder._parameters[name].data = holder._parameters[name].data.to(device)
            else:
                holder._buffers[name] = holder._buffers[name].to(device)
            continue
        module = model.get_submodule(path)
        module.to(device)
        module.register_forward_pre_hook(_mover(device), with_kwargs=True)
    return model


def _mover(device):
    def move(value):
        if isinstance(value, torch.Tensor):
            return value.to(device)
        if isinstance(value, dict):
            return {{key: move(item) for key, item in value.items()}}
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(move(item) for item in value)
        return value

    return lambda module, args, kwargs: (move(args), move(kwargs))
'''


class ModulesTarget(DeviceMapTarget):
    """Devices of modules for PyTorch itself; a module on the CPU computes there."""

    name = "pytorch"
    sentence = "a Python file whose place_modules(model) moves modules and adds hooks that move their inputs"
    inference_first = False
    offloads = False
    _computing = None

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}_devices.py"
        module = path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".py")
        text = FILE.format(model=self.request.document["name"], module=module,
                           device_of=json.dumps(payload, indent=4))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return [path]

    def read(self, paths: list[str]) -> tuple[int, ...]:
        return self._devices(read_constant(paths[0], "DEVICE_OF"))

    def _called(self, device: int) -> str:
        return f"cuda:{self._gpus.index(device)}" if device in self._gpus else "cpu"

    def _defaults(self) -> list[Row]:
        return []  # PyTorch itself places everything on one device
