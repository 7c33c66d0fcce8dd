#pragma once

namespace emplace {

/// From now on the process keeps freed memory for its next allocations instead of returning it to
/// the system (glibc; with another C library nothing happens). Learning allocates the same matrices
/// at every step, and taking their pages anew costs more time than the arithmetic on them. To be
/// called once, by main().
void KeepFreedMemory();

}  // namespace emplace
