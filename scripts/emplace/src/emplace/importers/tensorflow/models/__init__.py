"""The networks of `emplace import --from tensorflow`, as functions that build a forward pass.

A model is a module with `build(options) -> loss`, which adds ops to the default `tf.Graph` with
`tf.compat.v1` variables and returns the scalar loss; one entry of `MODELS` names it. TensorFlow is
imported only when a model is built, so the list can be shown without it.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
from typing import Any, Mapping


@dataclasses.dataclass(frozen=True)
class Model:
    """A registered network; `defaults` are the options it takes, with their default values.

    `fixed` distinguishes it from other networks of its module and is not an option.
    """

    name: str
    sentence: str
    module: str
    defaults: Mapping[str, Any]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def build(self, options: Mapping[str, Any]) -> Any:
        """Builds the forward pass into the default graph; returns the scalar loss tensor."""
        everything = types.SimpleNamespace(**options, **self.fixed)
        return importlib.import_module(f"{__name__}.{self.module}").build(everything)


# Optimiser, clipping and aggregation belong to a model's usual training step, so they are here.
# aggregation: how the gradients of one value that is read many times are summed. "add_n",
# TensorFlow's default, keeps all of them until the last exists; "tree" adds them one by one. RNNLM
# needs "tree": its 80 LSTM steps make 80 gradients of 134 MB each, and the papers ran it on one
# 12 GB GPU.
_IMAGE = {"clip": None, "aggregation": "add_n"}
_TEXT = {"clip": 5.0}

MODELS = (
    Model("inception_v3", "Inception-V3 with auxiliary head, 299x299 images, 1000 classes",
          "inception_v3", {"batch": 32, "optimizer": "rmsprop", "aux": True, **_IMAGE}),
    Model("nasnet", "NASNet-A: mobile (4 @ 1056, 224x224) or large (6 @ 4032, 331x331)",
          "nasnet", {"batch": 32, "optimizer": "rmsprop", "variant": "mobile", **_IMAGE}),
    Model("nmt", "translation: LSTM encoder and decoder with additive attention, unrolled",
          "nmt", {"batch": 64, "optimizer": "adam", "layers": 2, "unroll": 40, "hidden": 1024,
                  "vocab": 32000, "dropout": 0.2, "aggregation": "add_n", **_TEXT}),
    *(Model(f"resnet{depth}",
            f"ResNet-{depth} v1.5, stride in the 3x3 convolution, 224x224 images, 1000 classes",
            "resnet", {"batch": 32, "optimizer": "momentum", **_IMAGE}, {"depth": depth})
      for depth in (50, 101, 152)),
    Model("rnnlm", "LSTM language model, unrolled, with full softmax",
          "rnnlm", {"batch": 64, "optimizer": "sgd", "layers": 2, "unroll": 40, "hidden": 2048,
                    "vocab": 10000, "dropout": 0.65, "aggregation": "tree", **_TEXT}),
)
