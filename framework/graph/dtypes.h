#pragma once

// Element types: how graph files name them, and what frameworks call them. The Python importers
// have the same list (scripts/emplace/src/emplace/importers/dtypes.py); tests hold both to
// tests/golden/graph_doubts.json.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace emplace {

struct Dtype {
  std::string_view name;                       ///< in graph files: "f32"
  int bits;                                    ///< of an element; 0: no fixed size
  std::vector<std::string_view> aliases = {};  ///< other names, in lower case
};
std::span<const Dtype> Dtypes();

/// The element type that a text names: by the name of FORMAT.md, or as PyTorch, NumPy, JAX,
/// TensorFlow, ONNX, XLA or safetensors call it, in any case ("torch.float16", "half", "DT_HALF",
/// "FLOAT16" -> f16). A bare word means what PyTorch means by it: float is f32, int is i32.
/// @return nullptr for a text that names none
const Dtype* DtypeByName(std::string_view text);

}  // namespace emplace
