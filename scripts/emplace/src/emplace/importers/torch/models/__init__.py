"""The models that `emplace import --from torch` offers by name.

A model is a function `build(batch[, seq]) -> TrainingSetup` and one line in `MODELS`.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any, Callable, Mapping

if TYPE_CHECKING:  # the registry itself works without torch, so --list always works
    import torch


@dataclasses.dataclass
class TrainingSetup:
    """The parts of one training step: `loss = loss_fn(module(*inputs), *targets)`, a scalar.

    The tensors' names are `input_names` and `target_names`, if given. With `keywords` the inputs are passed by
    their names; `a.b` is the entry "b" of an argument "a" that is a dictionary. loss_fn may be None for a step
    without a loss.
    examples: real tensors that provide values for inputs and targets, by name (`fake.ShapeMode`).
    notes: parts of the model that the set-up leaves out (part, count, reason), to be reported to the user.
    """

    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    targets: tuple[torch.Tensor, ...]
    loss_fn: Callable[..., torch.Tensor] | None
    input_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    keywords: bool = False
    examples: Mapping[str, torch.Tensor] = dataclasses.field(default_factory=dict)
    notes: tuple[tuple[str, int, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Source:
    """A model that was found: its builder, the requirements of the builder, and its entries in the graph's `source`.

    optimizer, dtype: defaults of a step; dtype None: as the model makes it.
    """

    name: str
    build: Callable[[], TrainingSetup]
    settings: dict[str, Any]
    packages: tuple[str, ...]
    optimizer: str
    dtype: str | None = None


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """A menu line: the place of the model's `build`, a description, and the defaults of its options."""

    file: str          # module of this package
    function: str      # its build function
    sentence: str
    batch: int         # samples per step
    seq: int | None    # tokens per sample; None: the model has no sequence
    optimizer: str
    max_seq: int | None = None
    packages: tuple[str, ...] = ("torch",)

    def build(self, **options: int) -> TrainingSetup:
        """Builds the model; `options` are `batch` and, for a sequence model, `seq`."""
        module: Any = importlib.import_module(f"{__name__}.{self.file}")
        return getattr(module, self.function)(**options)


_VISION = ("torch", "torchvision")
MODELS: dict[str, ModelEntry] = {
    "bert_base": ModelEntry(
        "bert", "build", "BERT-base, masked-language-model head: 12 layers, width 768 (110 M)",
        32, 128, "adamw", max_seq=512),
    "gpt2_mini": ModelEntry(
        "gpt2", "build_mini", "GPT-2 of 4 layers, width 256, 8,192 words (5.5 M), for small machines",
        4, 128, "adamw", max_seq=1024),
    "gpt2_small": ModelEntry(
        "gpt2", "build_small", "GPT-2 small, tied embedding: 12 layers, width 768, 12 heads (124 M)",
        8, 1024, "adamw", max_seq=1024),
    "inception_v3": ModelEntry(
        "vision", "build_inception_v3", "Inception-V3 with auxiliary classifier, 299x299 (27.2 M)",
        32, None, "momentum", packages=_VISION),
    "resnet50": ModelEntry(
        "vision", "build_resnet50", "ResNet-50, 224x224 (25.6 M)",
        32, None, "momentum", packages=_VISION),
}
