#pragma once

#include "framework/ranks/communicator.h"

namespace emplace {

/// How many cores each rank on this machine may use: those that the ranks of this machine may run
/// on, divided by their number, and no more than this process may run on; at least 1. All ranks
/// call it together.
int CoresPerRank(Communicator& ranks);

}  // namespace emplace
