#pragma once

#include <doctest/doctest.h>

#include "profilers/cuda/device_query.h"

namespace emplace {

/// False, with a line that says so, where there is no GPU: `if (!GpuIsThere()) return;`
inline bool GpuIsThere() {
  const bool found = !cuda::QueryGpus().gpus.empty();
  if (!found) MESSAGE("skipped: no GPU");
  return found;
}

}  // namespace emplace
