#pragma once

// Names of element types in graph files and in other frameworks. The Python importers have the same
// list (scripts/emplace/src/emplace/importers/dtypes.py); tests compare both with
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

/// Returns the element type of a name: the name in FORMAT.md, or a name in PyTorch, NumPy, JAX,
/// TensorFlow, ONNX, XLA or safetensors, in upper or lower case ("torch.float16", "half",
/// "DT_HALF", "FLOAT16" -> f16). A bare word has its meaning in PyTorch: float is f32, int is i32.
/// @return nullptr for an unknown name
const Dtype* DtypeByName(std::string_view text);

}  // namespace emplace
