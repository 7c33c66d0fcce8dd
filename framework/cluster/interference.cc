#include "framework/cluster/interference.h"

#include <algorithm>
#include <cmath>

#include "framework/cluster/op_class.h"

namespace emplace {

std::optional<int> ParseInterference(double number) {
  if (!(number >= 0 && number <= InterferenceNumber(kMostInterference))) return std::nullopt;
  const double exact = number * kInterferenceOne, below = std::floor(exact);
  return static_cast<int>(below) + (exact - below >= 0.5 ? 1 : 0);
}

double InterferenceNumber(int figure) {
  return static_cast<double>(figure) / kInterferenceOne;
}

int NearestInterference(double number) {
  return ParseInterference(std::min(number, InterferenceNumber(kMostInterference))).value_or(0);
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
