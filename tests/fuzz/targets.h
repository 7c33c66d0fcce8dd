#pragma once

// The targets, one per source file; targets.cc lists them.

#include "tests/fuzz/fuzz_target.h"

namespace emplace::fuzz {

extern const FuzzTarget kAgentStateTarget, kClusterTarget, kCostTableTarget, kDeviceKindsTarget,
    kGraphTarget, kGraphGzipTarget, kPlacementTarget, kPolicyTarget, kResultsTarget,
    kRunConfigTarget, kSweepConfigTarget, kTableLayoutTarget;

}  // namespace emplace::fuzz
