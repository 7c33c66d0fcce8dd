#pragma once

// The parts of an op's kind (Op::kind): its framework, the op's name there, and its class of work.

#include <cstdint>
#include <string_view>

#include "framework/cluster/op_class.h"

namespace emplace {

/// The framework whose names for ops a kind uses.
enum class OpOrigin : std::uint8_t {
  kAten,        ///< PyTorch's operators: "aten.add.Tensor", "aten::relu_"
  kOptimizer,   ///< updates of parameters, named by the exporter for PyTorch: "optimizer.adam"
  kOnnx,        ///< ONNX's operators: "onnx.Conv", "onnx.com.microsoft.FusedConv"
  kJax,         ///< JAX's primitives: "jax.dot_general"
  kTensorFlow,  ///< any other kind: "AddV2"
};

/// A parsed kind. The texts are substrings of the kind.
struct OpName {
  OpOrigin origin;
  /// ATen: without prefix and overload, "add", "relu_"; ONNX, JAX: without prefix; others: the kind
  std::string_view name;
  /// The op of which this one is a variant: "relu" for ATen's "relu_" (in place), "Add" for
  /// TensorFlow's "AddV2" (a version), "FusedConv" for ONNX's "com.microsoft.FusedConv" (the
  /// domain). Equal to `name` for other ops.
  std::string_view base;
};
OpName ParseOpKind(std::string_view kind);

/// Returns OpName::name of an ATen op, "t" of "aten.t.default"; empty for an op of another origin.
std::string_view AtenName(std::string_view kind);

/// Returns the class of an op of any origin. A variant that no table lists has the class of its
/// base. Storage ("parameter", "constant") counts as a view. kUnknown for a name that is in no
/// table (op_classes/*.yaml, embedded in the program).
OpClass ClassifyOp(std::string_view kind);

}  // namespace emplace
