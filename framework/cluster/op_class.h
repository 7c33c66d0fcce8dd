#pragma once

// Classes of ops. A device kind has an efficiency for each class, and a cost table fits ops by
// class. framework/cost/op_kind.h determines the class of an op.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

enum class OpClass : std::uint8_t {
  kMatmul,
  kConvolution,
  kElementwise,
  kReduction,
  kNormalization,
  kPooling,
  kGather,
  kCopy,
  kUpdate,
  kView,     ///< no work: reshapes, constants, storage
  kUnknown,  ///< a kind that is not listed in any table
};
/// Returns the name of a class in files: "matmul".
std::string_view ToString(OpClass op_class);

/// Returns all class names in the order of the enum, except "view", which never costs anything.
std::vector<std::string> OpClassNames();

/// Returns the allowed keys of `efficiency:` of a device kind: OpClassNames() and "memory".
const std::vector<std::string>& EfficiencyKeys();

}  // namespace emplace
