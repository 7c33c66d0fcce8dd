"""A denoiser or autoencoder of diffusers from its config, with inputs and loss: nothing is downloaded.

The loss is that of training with noise: the mean square of the prediction minus a target of the input's shape
(the noise; for an autoencoder the image).
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Mapping

import diffusers
import torch
import torch.nn.functional as F

from .. import ImportFailure
from .models import TrainingSetup

DEFAULT_BATCH = 8
DEFAULT_TOKENS = 77  # length of the text that CLIP encodes


def build(path: str, values: Mapping[str, Any], class_name: str, given: Mapping[str, int],
          training: bool) -> TrainingSetup:
    """Returns the step of the model that a config describes; must be called under a ShapeMode.

    Throws ImportFailure.
    """
    cls = getattr(diffusers, str(class_name), None)
    if not inspect.isclass(cls) or not issubclass(cls, diffusers.ModelMixin):
        raise ImportFailure(f"{path}: diffusers {diffusers.__version__} has no model class {class_name!r}")
    try:
        model = cls.from_config(dict(values))
    except (TypeError, ValueError) as error:
        raise ImportFailure(f"{path}: {class_name} refuses it: {' '.join(str(error).split())}") from error
    inputs = _Inputs(path, model, given).make()
    target = next(iter(inputs.values()))
    return TrainingSetup(model, tuple(inputs.values()), (torch.empty_like(target),) if training else (), _loss,
                         tuple(inputs), ("target",), keywords=True)


def _loss(output: Any, target: torch.Tensor) -> torch.Tensor:
    """Returns the loss of the model's prediction.

    A model that also predicts a variance has additional channels for it.
    """
    prediction = output[0]
    if prediction.shape[1] > target.shape[1]:
        prediction = prediction[:, :target.shape[1]]
    return F.mse_loss(prediction, target)


class _Inputs:
    """Makes tensors for the arguments of forward() that are required, or that the config requests."""

    def __init__(self, path: str, model: Any, given: Mapping[str, int]) -> None:
        self._path, self._model, self._config, self._given = path, model, model.config, given
        self._batch = given.get("batch", DEFAULT_BATCH)
        self._used: set[str] = set()

    def make(self) -> dict[str, torch.Tensor]:
        inputs = {}
        for name, parameter in inspect.signature(self._model.forward).parameters.items():
            wanted = parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            recipe = _RECIPES.get(name)
            if recipe is not None and (wanted or name in _BY_CONFIG):
                tensor = recipe(self)
                wanted = wanted and tensor is None
                if tensor is not None:
                    inputs[name] = tensor
            if wanted and name not in inputs:
                raise ImportFailure(f"{self._path}: {type(self._model).__name__} needs an input {name!r}, which cannot "
                                    f"be made from this config (those that can: {', '.join(_RECIPES)}); import the "
                                    "model from a Python file instead")
        if self._config.get("addition_embed_type") == "text_time":  # of SDXL
            sizes, width = 6, self._config["addition_time_embed_dim"]
            text = self._config["projection_class_embeddings_input_dim"] - sizes * width
            inputs["added_cond_kwargs.text_embeds"] = torch.empty(self._batch, text)
            inputs["added_cond_kwargs.time_ids"] = torch.empty(self._batch, sizes)
        for option in ("seq", "image"):
            if option in self._given and option not in self._used:
                raise ImportFailure(f"{self._path}: {type(self._model).__name__} does not use --{option}")
        return inputs

    def _option(self, name: str, default: Any) -> Any:
        self._used.add(name)
        return self._given.get(name, default)

    def picture(self) -> torch.Tensor | None:
        """Returns [batch, channels, height, width] of an image or of latents."""
        side = self._option("image", self._config.get("sample_size"))
        channels = self._config.get("in_channels")
        if channels is None or self._config.get("axes_dims_rope"):  # these models take images packed into tokens
            return None
        if side is None:
            raise ImportFailure(f"{self._path}: the config has no `sample_size`; say --image PIXELS (of the latents)")
        height, width = side if isinstance(side, (list, tuple)) else (side, side)
        return torch.empty(self._batch, channels, height, width)

    def timestep(self) -> torch.Tensor:
        return torch.zeros(self._batch, dtype=torch.int64)

    def text(self) -> torch.Tensor | None:
        for name in ("encoder_hid_dim", "caption_channels", "joint_attention_dim", "cross_attention_dim"):
            width = self._config.get(name)
            if isinstance(width, (list, tuple)):
                width = width[0]
            if width is not None:
                return torch.empty(self._batch, self._option("seq", DEFAULT_TOKENS), width)
        return None

    def pooled(self) -> torch.Tensor | None:
        width = self._config.get("pooled_projection_dim")
        return None if width is None else torch.empty(self._batch, width)

    def labels(self) -> torch.Tensor | None:
        classes = self._config.get("num_class_embeds") or self._config.get("num_embeds_ada_norm")
        return None if classes is None else torch.zeros(self._batch, dtype=torch.int64)


_RECIPES: dict[str, Callable[[_Inputs], torch.Tensor | None]] = {
    "sample": _Inputs.picture, "hidden_states": _Inputs.picture, "timestep": _Inputs.timestep,
    "encoder_hidden_states": _Inputs.text, "pooled_projections": _Inputs.pooled, "class_labels": _Inputs.labels,
}
# Arguments with a default that a model needs if its config has a size for them.
_BY_CONFIG = ("timestep", "encoder_hidden_states", "pooled_projections", "class_labels")
