#pragma once

namespace emplace {

/// Makes the process keep freed memory for its next allocations instead of returning it to the
/// system (glibc only; no effect with other C libraries). Learning allocates the same matrices at
/// every step, and getting their pages again from the system takes longer than the arithmetic on
/// them. Called once, by main().
void KeepFreedMemory();

}  // namespace emplace
