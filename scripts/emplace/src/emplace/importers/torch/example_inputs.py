"""Inputs for a model of Transformers, made from its config.

The inputs are those that forward() requires, the class's `main_input_name`, the decoder's tokens, and labels. If
the model reads token ids, masks or labels in Python, it gets example values: full sequences without padding that
end as the config says.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable, Mapping, Sequence

import torch

from .. import ImportFailure

DEFAULT_BATCH = 8
DEFAULT_TOKENS = 512      # or the number of positions of the model
DEFAULT_SAMPLES = 80_000  # raw audio: 5 s at 16 kHz
DEFAULT_FRAMES = 500      # audio features: 5 s, one every 10 ms
CHOICES = 4               # of a multiple-choice question
# Attributes of a config that limit the number of positions of a text.
_POSITIONS = ("max_target_positions", "max_position_embeddings", "n_positions", "max_source_positions")


class _Sizes:
    """Sizes of the inputs; notes whether --seq and --image were used."""

    def __init__(self, path: str, model: Any, given: Mapping[str, int]) -> None:
        self.path, self.model, self.config, self.given = path, model, model.config, given
        self.batch = given.get("batch", DEFAULT_BATCH)
        self.used_seq = self.used_image = False

    def of(self, *names: str) -> Any:
        """Returns the first of these attributes that the config, or a config inside it, has."""
        queue = [self.config]
        while queue:
            config = queue.pop(0)
            for name in names:
                value = getattr(config, name, None)
                if value is not None:
                    return value
            queue += [getattr(config, key) for key in getattr(config, "sub_configs", {})
                      if getattr(config, key, None) is not None]
        return None

    def need(self, what: str, *names: str) -> Any:
        value = self.of(*names)
        if value is None:
            raise ImportFailure(f"{self.path}: the config does not have the size of {what} (searched: "
                                f"{', '.join(names)}); import the model from a Python file instead")
        return value

    def seq(self, default: int) -> int:
        self.used_seq = True
        return self.given.get("seq", default)

    def image(self) -> list[int]:
        """Returns height and width [pixels]."""
        self.used_image = True
        side = self.given.get("image") or self.of("image_size")
        if side is None:
            raise ImportFailure(f"{self.path}: the config does not have the size of an image; give --image PIXELS")
        return [int(pixels) for pixels in side] if isinstance(side, (list, tuple)) else [int(side)] * 2

    def tokens(self) -> int:
        limit = self.of(*_POSITIONS)
        if not isinstance(limit, int) or limit <= 0:
            limit = None
        if self.of("model_type") in ("roberta", "xlm-roberta", "camembert", "longformer") and limit:
            limit -= self.of("pad_token_id") + 1  # positions start after the padding token's
        if limit is not None and self.given.get("seq", 0) > limit:
            raise ImportFailure(f"{self.path}: the model has {limit} positions, so --seq {self.given['seq']} "
                                "is too long")
        return self.seq(min(DEFAULT_TOKENS, limit or DEFAULT_TOKENS))


def make(path: str, model: Any, given: Mapping[str, int], labels: bool, more: Sequence[str] = ()
         ) -> dict[str, torch.Tensor]:
    """Returns inputs by the names of forward()'s arguments; `more`: optional ones that are also wanted.

    Throws ImportFailure for an input that cannot be made.
    """
    sizes = _Sizes(path, model, given)
    parameters = inspect.signature(model.forward).parameters
    main = model.main_input_name
    main = [main] if isinstance(main, str) else list(main)
    wanted = [name for name in main if name in parameters]
    wanted += [name for name, p in parameters.items() if p.default is p.empty and name not in wanted
               and p.kind is p.POSITIONAL_OR_KEYWORD]
    for name in more:
        if name not in parameters:
            raise ImportFailure(f"{path}: --input {name}: forward() of {type(model).__name__} has no such argument")
        if name not in wanted:
            wanted.append(name)
    answers = _labels(path, model, sizes, wanted, parameters) if labels else {}
    if getattr(model.config, "is_encoder_decoder", False) and "decoder_input_ids" in parameters \
            and ("labels" not in answers or sizes.of("decoder_start_token_id") is None):
        wanted.append("decoder_input_ids")  # otherwise the labels, shifted by one, are used
    inputs = {}
    for name in wanted:
        if name not in _RECIPES:
            raise ImportFailure(f"{path}: {type(model).__name__} needs an input {name!r}, which cannot be made from a "
                                f"config (those that can: {', '.join(sorted(_RECIPES))}); import the model from a "
                                "Python file instead")
        inputs[name] = _RECIPES[name](sizes)
    inputs.update((name, make_label()) for name, make_label in answers.items())
    for option, used, what in (("seq", sizes.used_seq, "sequence"), ("image", sizes.used_image, "image")):
        if option in given and not used:
            raise ImportFailure(f"{path}: {type(model).__name__} has no {what}, so --{option} does not apply")
    return inputs


# --- inputs -----------------------------------------------------------------------------------


def _input_ids(sizes: _Sizes) -> torch.Tensor:
    shape = [sizes.batch, sizes.tokens()]
    if type(sizes.model).__name__.endswith("ForMultipleChoice"):
        shape.insert(1, CHOICES)
    special = {value for name in dir(sizes.config) if name.endswith(("token_id", "token_index"))
               for value in [getattr(sizes.config, name)] if isinstance(value, int)}
    word = next(i for i in range(len(special) + 1) if i not in special)
    ids = torch.full(shape, word, dtype=torch.int64)
    end = sizes.of("eos_token_id")
    if isinstance(end, int):
        ids[..., -1] = end
    return ids


def _pixel_values(sizes: _Sizes) -> torch.Tensor:
    side = sizes.image()
    channels = sizes.of("num_channels", "in_channels") or 3
    frames = sizes.of("num_frames")
    return torch.empty([sizes.batch, *([frames] if frames else []), channels, *side])


def _input_features(sizes: _Sizes) -> torch.Tensor:
    bands, frames = sizes.of("num_mel_bins"), sizes.of("max_source_positions")
    if sizes.of("model_type") in ("whisper", "qwen2_audio"):  # bands first; two frames per position
        return torch.empty(sizes.batch, bands, 2 * frames)
    width = sizes.of("feature_projection_input_dim", "input_feat_per_channel") or bands or \
        sizes.need("a frame of audio", "feature_size", "input_dim")
    return torch.empty(sizes.batch, sizes.seq(DEFAULT_FRAMES), width)


def _input_values(sizes: _Sizes) -> torch.Tensor:
    if sizes.of("max_length") and sizes.of("num_mel_bins"):  # a spectrogram
        return torch.empty(sizes.batch, sizes.of("max_length"), sizes.of("num_mel_bins"))
    shape = [sizes.batch, sizes.seq(DEFAULT_SAMPLES)]
    if sizes.of("audio_channels"):
        shape.insert(1, sizes.of("audio_channels"))
    return torch.empty(shape)


def _of_each_word(value: int) -> Callable[[_Sizes], torch.Tensor]:
    return lambda sizes: torch.full([sizes.batch, sizes.tokens()], value, dtype=torch.int64)


_RECIPES: dict[str, Callable[[_Sizes], torch.Tensor]] = {
    "attention_mask": _of_each_word(1),
    "decoder_attention_mask": _of_each_word(1),
    "token_type_ids": _of_each_word(0),
    "position_ids": lambda sizes: torch.arange(sizes.tokens()).expand(sizes.batch, -1).contiguous(),
    "input_ids": _input_ids,
    "decoder_input_ids": _input_ids,
    "pixel_values": _pixel_values,
    "pixel_values_videos": _pixel_values,
    "input_features": _input_features,
    "input_values": _input_values,
}


# --- labels -----------------------------------------------------------------------------------


def _labels(path: str, model: Any, sizes: _Sizes, wanted: list[str], parameters: Mapping[str, Any]
            ) -> dict[str, Callable[[], torch.Tensor]]:
    """Returns the labels from which the class computes its loss, found by the name of the class."""
    name, batch = type(model).__name__, sizes.batch

    def classes(*shape: int) -> Callable[[], torch.Tensor]:
        return lambda: torch.zeros([batch, *shape], dtype=torch.int64)

    def has(*suffixes: str) -> bool:
        return name.endswith(suffixes)

    if "start_positions" in parameters and has("ForQuestionAnswering"):
        return {"start_positions": classes(), "end_positions": classes()}
    if has("ForMaskedImageModeling") and "bool_masked_pos" in parameters:
        patches = math.prod(s // sizes.of("patch_size") for s in sizes.image())
        return {"bool_masked_pos": lambda: torch.ones([batch, patches], dtype=torch.bool)}
    if "labels" in parameters:
        if has("ForSemanticSegmentation", "ForDepthEstimation"):
            return {"labels": classes(*sizes.image())}
        if has("ForCTC"):
            return {"labels": classes(32)}
        if has("ForConditionalGeneration", "ForSpeechSeq2Seq", "ForVision2Seq", "ForImageTextToText", "ForCausalLM",
               "ForMaskedLM", "LMHeadModel", "ForTokenClassification", "EncoderDecoderModel"):
            return {"labels": classes(sizes.tokens())}
        if has("ForNextSentencePrediction", "ForMultipleChoice"):
            return {"labels": classes()}
        if has("Classification", "ClassificationWithTeacher"):
            if sizes.of("num_labels") == 1 or sizes.of("problem_type") == "regression":
                return {"labels": lambda: torch.empty([batch] if sizes.of("num_labels") == 1
                                                      else [batch, sizes.of("num_labels")])}
            if sizes.of("problem_type") == "multi_label_classification":
                return {"labels": lambda: torch.empty([batch, sizes.of("num_labels")])}
            return {"labels": classes()}
        if has("ForPreTraining") and "next_sentence_label" in parameters:
            return {"labels": classes(sizes.tokens()), "next_sentence_label": classes()}
        if has("ForPreTraining") and "input_ids" in wanted:
            return {"labels": classes(sizes.tokens())}
        raise ImportFailure(f"{path}: the form of the labels of {name} is not known; give --loss mean, which needs "
                            "none, or import the model from a Python file")
    if has("ForPreTraining") and wanted == ["pixel_values"]:
        return {}  # masked images are their own labels
    raise ImportFailure(f"{path}: {name} computes no loss; give --loss mean for the mean of the squares of its "
                        "output, --inference for only the forward pass, or --class NAME for another class")
