#pragma once

// What each framework calls its ops, by class. Private to framework/cost.

#include <span>
#include <string_view>

#include "framework/cluster/op_class.h"

namespace emplace::internal {

/// A rule: `name` is a kind, or the beginning of kinds if it ends in '*'. Tables are sorted by
/// name.
struct OpRule {
  std::string_view name;
  OpClass op_class;
};

/// TensorFlow's op types, without the version at their end ("V2").
std::span<const OpRule> TensorFlowOps();
/// ATen's ops without "aten." or "aten::" and the overload.
std::span<const OpRule> AtenOps();
/// ONNX's op types without "onnx." and the domain.
std::span<const OpRule> OnnxOps();
/// JAX's primitives without "jax.".
std::span<const OpRule> JaxOps();

}  // namespace emplace::internal
