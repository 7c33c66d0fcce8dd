// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/softmax.cu"

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("rows longer than a warp takes, and many rows") {
  Rng rng(1);
  const auto check = [&](KernelKind kind,
                         const std::vector<TensorView>& inputs,
                         const std::vector<TensorView>& outputs) {
    testing::CheckSample(CallOf(kind, {}, inputs, outputs), rng, cuda::PrepareOwnKernel);
  };
  for (const auto& [rows, width] : {std::pair<std::int64_t, std::int64_t>{3, 1024},
                                    {3, 1025},
                                    {2, 5000},
                                    {300, 1},
                                    {300, 33}}) {
    CAPTURE(rows);
    CAPTURE(width);
    const TensorView x = Floats({rows, width});
    const TensorView labels = ContiguousView(DType::kI32, {rows});
    check(KernelKind::kSoftmax, {x}, {x});
    check(KernelKind::kLogSoftmax, {x}, {x});
    check(KernelKind::kSoftmaxBackward, {x, x}, {x});
    check(KernelKind::kLogSoftmaxBackward, {x, x}, {x});
    check(KernelKind::kSparseCrossEntropy, {x, labels}, {Floats({rows}), x});
    const TensorView batch = Floats({1, rows, width});
    const TensorView of_batch = ContiguousView(DType::kI32, {1, rows});
    check(KernelKind::kNllLossForward, {batch, of_batch}, {Floats({}), Floats({})});
    check(KernelKind::kNllLossBackward, {Floats({}), of_batch, Floats({})}, {batch});
  }
}

TEST_CASE("large logits overflow nothing") {
  // softmax of (1000, 0, ...) = (1, 0, ...); its log = (0, -1000, ...).
  std::vector<float> x(40, 0.0f), y(40), log_y(40);
  x[0] = 1000;
  const cuda::RowsShape shape{1, 40};
  cuda::LaunchSoftmax(x.data(), y.data(), false, shape, nullptr);
  cuda::LaunchSoftmax(x.data(), log_y.data(), true, shape, nullptr);
  CHECK(y[0] == 1.0f);
  CHECK(y[1] == 0.0f);
  CHECK(log_y[0] == 0.0f);
  CHECK(log_y[39] == -1000.0f);
}

}  // namespace
