#pragma once

#include <functional>

namespace emplace {

/// Runs body(0) .. body(count - 1) on up to `threads` threads, this one among them, indices handed
/// out in ascending order; returns when all are done. The first exception (least index) is rethrown
/// after the others finished.
///
/// The other threads are kept for later calls: one that follows within 50 us finds them awake and
/// begins in about a microsecond; after that they sleep and cost nothing. They are never ended, and
/// the process may exit at any time. Calls may nest and may come from several threads at once: each
/// gets threads of its own, and fewer where the system grants no more. A forked process starts
/// afresh; it must not be forked within a body. With one thread, or one index, all runs on the
/// caller.
/// @param threads  0: as many as the machine has cores
void ParallelFor(int count, int threads, const std::function<void(int)>& body);

/// Number of cores this process may use, at least 1.
int NumCores();

}  // namespace emplace
