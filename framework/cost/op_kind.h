#pragma once

// What the kind of an op (Op::kind) says: which framework it is from, what the op is called there,
// and what class of work it does.

#include <cstdint>
#include <string_view>

#include "framework/cluster/op_class.h"

namespace emplace {

/// Whose name for an op a kind is.
enum class OpOrigin : std::uint8_t {
  kAten,        ///< PyTorch's operators: "aten.add.Tensor", "aten::relu_"
  kOptimizer,   ///< updates of parameters, named by the exporter for PyTorch: "optimizer.adam"
  kOnnx,        ///< ONNX's operators: "onnx.Conv", "onnx.com.microsoft.FusedConv"
  kJax,         ///< JAX's primitives: "jax.dot_general"
  kTensorFlow,  ///< any other kind: "AddV2"
};

/// A kind taken apart; the texts are parts of the kind's.
struct OpName {
  OpOrigin origin;
  /// ATen: without prefix and overload, "add", "relu_"; ONNX, JAX: without prefix; others: the kind
  std::string_view name;
  /// The op of which this one is a variant: "relu" for ATen's "relu_" (in place), "Add" for
  /// TensorFlow's "AddV2" (a version), "FusedConv" for ONNX's "com.microsoft.FusedConv" (the
  /// domain); else `name`.
  std::string_view base;
};
OpName ParseOpKind(std::string_view kind);

/// OpName::name of an ATen op, "t" of "aten.t.default"; empty for an op of another origin.
std::string_view AtenName(std::string_view kind);

/// The class of the ops of all origins; of a variant that no table lists the class of its base.
/// Storage ("parameter", "constant") counts as a view. kUnknown for a name that is in no table
/// (op_classes/*.yaml, in the program).
OpClass ClassifyOp(std::string_view kind);

}  // namespace emplace
