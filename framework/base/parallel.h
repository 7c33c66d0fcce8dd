#pragma once

#include <functional>

namespace emplace {

/// Runs body(0) .. body(count - 1) on up to `threads` threads, indices handed out in ascending
/// order; returns when all are done. The first exception (least index) is rethrown after the others
/// finished.
/// @param threads  0: as many as the machine has cores
void ParallelFor(int count, int threads, const std::function<void(int)>& body);

/// Number of cores this process may use, at least 1.
int NumCores();

}  // namespace emplace
