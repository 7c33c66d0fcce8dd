#include "tests/fuzz/targets.h"

#include <array>

#include "framework/base/error.h"

namespace emplace::fuzz {

std::span<const FuzzTarget> FuzzTargets() {
  static const std::array kAll = {kAgentStateTarget,
                                  kClusterTarget,
                                  kCostTableTarget,
                                  kDeviceKindsTarget,
                                  kGraphTarget,
                                  kGraphGzipTarget,
                                  kPlacementTarget,
                                  kPolicyTarget,
                                  kResultsTarget,
                                  kRunConfigTarget,
                                  kSweepConfigTarget,
                                  kTableLayoutTarget};
  return kAll;
}

const FuzzTarget* FindTarget(std::string_view name) {
  for (const FuzzTarget& target : FuzzTargets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

bool Reads(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

void Promise(bool holds, const char* words) {
  EMPLACE_CHECK(holds, words);
}

}  // namespace emplace::fuzz
