#pragma once

// The classes of work that ops fall into. A device kind tells its efficiency by class, a cost table
// fits ops by class; framework/cost/op_kind.h says which class an op is of.

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
  kUnknown,  ///< of a kind that no table lists
};
/// The name by which files call a class: "matmul".
std::string_view ToString(OpClass op_class);

/// All class names in the order of the enum, without "view", which costs nothing anywhere.
std::vector<std::string> OpClassNames();

/// The keys that `efficiency:` of a device kind may have: OpClassNames() and "memory".
const std::vector<std::string>& EfficiencyKeys();

}  // namespace emplace
