"""The torch.nn.Module of a model, without elements, for code that inspects the module."""

from __future__ import annotations

import argparse
from typing import Any, Callable


def maker(model: str, options: argparse.Namespace) -> Callable[[], Any]:
    """Returns a function that makes the module.

    It is the module that `emplace import --from torch` imports, with its parameters' types.
    """
    def make() -> Any:
        from ..importers.torch import fake, sources, step

        source = sources.find(model, options)
        dtype = options.dtype or source.dtype
        with fake.shape_world():
            module = source.build().module
            if dtype:
                for parameter in module.parameters():
                    if parameter.is_floating_point():
                        parameter.data = parameter.data.to(step.DTYPES[dtype])
            return module
    return make
