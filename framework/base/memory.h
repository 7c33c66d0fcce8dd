#pragma once

namespace emplace {

/// Keeps freed memory for the next allocations of the process instead of returning it to the system
/// (glibc; elsewhere nothing): learning allocates the same matrices at every step, and taking their
/// pages anew costs more time than the arithmetic on them. For main().
void KeepFreedMemory();

}  // namespace emplace
