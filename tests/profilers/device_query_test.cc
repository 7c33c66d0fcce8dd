#include "profilers/device_query.h"

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("GPUs that are there have figures; none are there without CUDA") {
  const std::vector<GpuInfo> gpus = QueryGpus();
  if (!HasCuda()) CHECK(gpus.empty());
  for (const GpuInfo& gpu : gpus) {
    CAPTURE(gpu.name);
    CHECK(!gpu.name.empty());
    CHECK(gpu.compute_major >= 3);
    CHECK(gpu.sm_count > 0);
    CHECK(gpu.memory_bytes > (std::int64_t{1} << 28));
    CHECK(gpu.driver.find('.') != std::string::npos);
  }
}

}  // namespace
