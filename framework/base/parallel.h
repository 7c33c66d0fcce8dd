#pragma once

#include <functional>

namespace emplace {

/// Runs body(0) .. body(count - 1) on up to `threads` threads, including the calling one. Starts
/// the indices in ascending order and returns when all are done. If bodies throw, rethrows the
/// exception of the least index after the others have finished.
///
/// The other threads are kept for later calls. A call within 50 us finds them awake and begins in
/// about a microsecond; after that time they sleep and cost nothing. They are never ended, and the
/// process may exit at any time. Calls may nest and may come from several threads at once; each
/// call gets its own threads, or fewer if the system grants no more. A forked process starts with
/// no such threads; a body must not fork. With one thread or index, everything runs on the caller.
/// @param threads  0: number of cores that this process may use
void ParallelFor(int count, int threads, const std::function<void(int)>& body);

/// Returns the number of cores that this process may use, at least 1.
int NumCores();

}  // namespace emplace
