#include "framework/cluster/op_class.h"

#include <array>

namespace emplace {
namespace {

constexpr std::array<std::string_view, 11> kClassNames{"matmul",
                                                       "convolution",
                                                       "elementwise",
                                                       "reduction",
                                                       "normalization",
                                                       "pooling",
                                                       "gather",
                                                       "copy",
                                                       "update",
                                                       "view",
                                                       "unknown"};

}  // namespace

std::string_view ToString(OpClass op_class) {
  return kClassNames[static_cast<size_t>(op_class)];
}

std::vector<std::string> OpClassNames() {
  std::vector<std::string> names;
  for (const std::string_view name : kClassNames) {
    if (name != ToString(OpClass::kView)) names.emplace_back(name);
  }
  return names;
}

const std::vector<std::string>& EfficiencyKeys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names = OpClassNames();
    names.emplace_back("memory");
    return names;
  }();
  return keys;
}

}  // namespace emplace
