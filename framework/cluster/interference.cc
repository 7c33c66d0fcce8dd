#include "framework/cluster/interference.h"

#include <cmath>

#include "framework/cluster/op_class.h"

namespace emplace {

std::optional<int> ParseInterference(double number) {
  const double figure = std::floor(number * kInterferenceOne + 0.5);
  if (!(figure >= 0 && figure <= kMostInterference) || number < 0) return std::nullopt;
  return static_cast<int>(figure);
}

double InterferenceNumber(int figure) {
  return static_cast<double>(figure) / kInterferenceOne;
}

const std::vector<std::string>& InterferenceKeys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names = OpClassNames();
    names.emplace_back(kTransferClass);
    return names;
  }();
  return keys;
}

}  // namespace emplace
