"""Checks files with the installed ONNX Runtime: it loads them, and the results equal those of the model."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Sequence

from .grain import PlaceFailure

_TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}


def run(model: str, paths: Sequence[str], inputs: Sequence[Mapping[str, Any]]) -> str:
    """Runs the model, its annotated copy and the rules by name on the CPU provider; returns a sentence on the result.

    inputs: tensors of the graph (name, shape, dtype). Throws PlaceFailure if ONNX Runtime refuses the files or the
    results differ.
    """
    try:
        import numpy as np
        import onnxruntime  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return "onnxruntime is not installed: the files were not loaded"
    if any(tensor["dtype"] not in _TYPES for tensor in inputs):
        return "the model was not run: it has inputs of a type without a NumPy type"
    random = np.random.default_rng(0)
    feeds = {tensor["name"]: (random.standard_normal(tensor["shape"]) if tensor["dtype"].startswith("f") else
                              np.zeros(tensor["shape"])).astype(_TYPES[tensor["dtype"]]) for tensor in inputs}
    try:
        expected = _session(onnxruntime, model, {}).run(None, feeds)
    except Exception as error:  # a weight file that is missing, a type without a kernel
        return f"not run: ONNX Runtime {onnxruntime.__version__} does not run the model itself ({_first_line(error)})"
    with open(paths[1], encoding="utf-8") as file:
        options = json.load(file)
    tried = [(paths[0], options["annotated_model"])]
    if "model_as_it_is" in options:
        tried.append((model, options["model_as_it_is"]))
    for path, entry in tried:
        try:
            session = _session(onnxruntime, path, entry["session_options"])
            results = session.run(None, feeds)
        except Exception as error:
            raise PlaceFailure(f"ONNX Runtime {onnxruntime.__version__} refuses {path}: "
                               f"{_first_line(error)}") from error
        if not all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(expected, results)):
            raise PlaceFailure(f"ONNX Runtime {onnxruntime.__version__}: {path} gives other results than {model}")
    names = " and ".join(next(iter(entry["session_options"])) for _, entry in tried)
    return (f"ONNX Runtime {onnxruntime.__version__} takes {names}; on its CPU provider the results are equal to"
            " the model's")


def _session(onnxruntime: Any, path: str, entries: Mapping[str, str]) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # suppresses the warning that the GPU of a rule is missing
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]

