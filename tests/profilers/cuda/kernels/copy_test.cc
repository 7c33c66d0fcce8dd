// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/copy.cc"

#include "profilers/cuda/kernels/copy.cu"
#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;
using emplace::testing::Permuted;

namespace {

TEST_CASE("the path follows from how source and destination lie") {
  const TensorView dense = Floats({40, 50}), transposed = Permuted(Floats({50, 40}), {1, 0});
  CHECK(cuda::PlanCopy(dense, dense).path == cuda::CopyPath::kFlat);
  CHECK(cuda::PlanCopy(transposed, transposed).path == cuda::CopyPath::kFlat);
  const cuda::CopyJob tiled = cuda::PlanCopy(dense, transposed);
  CHECK(tiled.path == cuda::CopyPath::kTiled);
  CHECK(tiled.source_dim == 0);
  CHECK(cuda::TilesOf(tiled) == 4);  // 2 x 2 tiles of 32 x 32
  // Too narrow for tiles: 4 columns.
  CHECK(cuda::PlanCopy(Floats({40, 4}), Permuted(Floats({4, 40}), {1, 0})).path ==
        cuda::CopyPath::kGeneral);
  TensorView bytes = dense, bytes_transposed = transposed;
  bytes.dtype = bytes_transposed.dtype = DType::kBool;
  CHECK(cuda::PlanCopy(bytes, bytes_transposed).path == cuda::CopyPath::kGeneral);
}

TEST_CASE("transposes of several tiles, batched, in both directions") {
  Rng rng(1);
  const TensorView nchw = Floats({2, 33, 5, 9}), nhwc = testing::Nhwc(2, 33, 5, 9);
  const TensorView wide = Floats({70, 45}), high = Permuted(Floats({45, 70}), {1, 0});
  for (const auto& [to, from] : {std::pair{nchw, nhwc}, {nhwc, nchw}, {wide, high}, {high, wide}}) {
    CHECK(cuda::PlanCopy(to, from).path == cuda::CopyPath::kTiled);
    testing::CheckSample(CallOf(KernelKind::kCopy, {}, {from}, {to}), rng, cuda::PrepareOwnKernel);
  }
}

TEST_CASE("more pairs than a launch takes, of different sizes, dtypes and kinds") {
  Rng rng(2);
  std::vector<TensorView> from, to;
  for (int i = 0; i < 40; ++i) {
    const DType dtype = static_cast<DType>(i % 4);
    TensorView a = ContiguousView(dtype, {3 + i, 11 + i}), b = a;
    if (i % 3 == 0) a = Permuted(ContiguousView(dtype, {11 + i, 3 + i}), {1, 0});
    if (i % 5 == 0) b.offset = 1;  // no vectors
    from.push_back(a);
    to.push_back(b);
  }
  testing::CheckSample(CallOf(KernelKind::kCopy, {}, from, to), rng, cuda::PrepareOwnKernel);
}

TEST_CASE("a copy of more than all threads of a launch take at once") {
  Rng rng(3);
  TensorView every_third = Floats({100, 30000});
  every_third.shape[1] = 10000;
  every_third.strides[1] = 3;
  testing::CheckSample(CallOf(KernelKind::kCopy, {}, {every_third}, {Floats({100, 10000})}),
                       rng,
                       cuda::PrepareOwnKernel);
}

}  // namespace
