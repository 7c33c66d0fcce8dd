#pragma once

#include "framework/ranks/communicator.h"

namespace emplace {

/// Returns the number of cores that each rank on this machine may use: the number of cores that the
/// ranks of this machine may run on together, divided by the number of these ranks. At most the
/// number of cores that this process may run on, and at least 1. All ranks call it together.
int CoresPerRank(Communicator& ranks);

}  // namespace emplace
