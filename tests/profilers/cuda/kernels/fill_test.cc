// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/fill.cu"

#include <cmath>

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("the same numbers every time, spread over [0, 1)") {
  std::vector<float> a(20000), b(20000);
  cuda::LaunchRandomUniform(a.data(), 20000, nullptr);
  cuda::LaunchRandomUniform(b.data(), 20000, nullptr);
  CHECK(a == b);
  double sum = 0;
  std::vector<int> tenths(10);
  for (const float x : a) {
    CHECK(x >= 0);
    CHECK(x < 1);
    sum += x;
    ++tenths[static_cast<int>(x * 10)];
  }
  // Standard error of the mean: 0.2887 / sqrt(20000) = 0.002; of a tenth's count: 42.
  CHECK(std::abs(sum / 20000 - 0.5) < 0.01);
  for (const int count : tenths) CHECK(std::abs(count - 2000) < 220);
}

TEST_CASE("dropping everything gives zeros, not NaN") {
  const std::vector<float> x(100, 1e30f);
  std::vector<float> y(100, -1);
  std::vector<std::uint8_t> mask(100, 7);
  cuda::LaunchDropoutForward(x.data(), y.data(), mask.data(), 1.0, 100, nullptr);
  CHECK(y == std::vector<float>(100, 0.0f));
  CHECK(mask == std::vector<std::uint8_t>(100, 0));
}

}  // namespace
