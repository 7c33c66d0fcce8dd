#include "profilers/cuda/kernels/gemm_layout.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;
using emplace::testing::Permuted;

namespace {

// What BLAS does with a layout, in plain loops over column-major memory.
class HostGemm {
 public:
  explicit HostGemm(const KernelCall& call) : call_(call) {
    layout_ = cuda::PlanGemm(call.inputs[0].view,
                             call.inputs[1].view,
                             call.outputs[0].view,
                             call.inputs.size() > 2 ? &call.inputs[2].view : nullptr);
  }
  std::int64_t scratch_bytes() const { return 0; }

  void Launch(void* const* inputs, void* const* outputs, void*, void*) {
    const auto storage = [&](const Argument& argument) {
      return (argument.is_output ? outputs : inputs)[argument.index];
    };
    const Argument &a = call_.inputs[0], &b = call_.inputs[1], &c = call_.outputs[0];
    std::vector<float> packed_a = Packed(a, storage(a)), packed_b = Packed(b, storage(b));
    std::vector<float> packed_c(c.view.num_elements());
    const auto pick = [&](const Argument& argument, bool copies, std::vector<float>& packed) {
      return copies ? packed.data() : static_cast<float*>(storage(argument)) + argument.view.offset;
    };
    float* left = pick(a, layout_.copies_a, packed_a);
    float* right = pick(b, layout_.copies_b, packed_b);
    if (layout_.is_swapped) std::swap(left, right);
    float* result = pick(c, layout_.copies_c, packed_c);

    for (const cuda::GemmOperand* operand : {&layout_.left, &layout_.right, &layout_.result}) {
      CHECK(operand->leading >= operand->rows);  // what BLAS asks for
    }
    std::vector<double> bias;
    if (call_.inputs.size() > 2) {
      bias = testing::ReadElements(call_.inputs[2].view, storage(call_.inputs[2]));
      CHECK(layout_.bias != cuda::GemmBias::kNone);
    }
    for (std::int64_t n = 0; n < layout_.batch; ++n) {
      for (std::int64_t i = 0; i < layout_.rows; ++i) {
        for (std::int64_t j = 0; j < layout_.columns; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < layout_.depth; ++k) {
            sum += double{At(left, layout_.left, n, i, k)} * At(right, layout_.right, n, k, j);
          }
          if (!bias.empty()) {
            // In the call's row-major order; a vector over rows is the same for all columns.
            const std::int64_t column = layout_.bias == cuda::GemmBias::kRows ? 0 : j;
            const std::int64_t batch = layout_.bias == cuda::GemmBias::kRows ? 0 : n;
            sum += layout_.is_swapped ? bias[(batch * layout_.columns + column) * layout_.rows + i]
                                      : bias[(batch * layout_.rows + i) * layout_.columns + column];
          }
          At(result, layout_.result, n, i, j) = static_cast<float>(sum);
        }
      }
    }
    if (layout_.copies_c) {
      testing::WriteElements(c.view, {packed_c.begin(), packed_c.end()}, storage(c));
    }
  }

 private:
  static std::vector<float> Packed(const Argument& argument, const void* storage) {
    const std::vector<double> values = testing::ReadElements(argument.view, storage);
    return {values.begin(), values.end()};
  }
  // Element (i, j) of op(operand) in batch n.
  static float& At(float* data,
                   const cuda::GemmOperand& operand,
                   std::int64_t n,
                   std::int64_t i,
                   std::int64_t j) {
    if (operand.is_transposed) std::swap(i, j);
    EMPLACE_CHECK(i < operand.rows && j < operand.columns);
    return data[n * operand.batch_stride + j * operand.leading + i];
  }

  KernelCall call_;
  cuda::GemmLayout layout_;
};

TEST_CASE("BLAS terms of random matmuls give what the reference gives") {
  const int checked = testing::CheckSamples({KernelKind::kMatmul}, [](const KernelCall& call) {
    return std::make_unique<HostGemm>(call);
  });
  CHECK(checked > 10);
}

TEST_CASE("a random matmul of any strides, broadcast and sizes of 1") {
  Rng rng(3);
  for (int round = 0; round < 300 * EMPLACE_TEST_SCALE; ++round) {
    const auto size = [&] { return 1 + UniformInt(rng, 4); };
    const std::int64_t b = size(), m = size(), k = size(), n = size();
    const auto view = [&](std::vector<std::int64_t> shape, bool may_broadcast) {
      std::vector<int> order = {0, 1, 2};
      for (int d = 2; d > 0; --d) std::swap(order[d], order[UniformInt(rng, d + 1)]);
      TensorView result = Floats(shape);
      std::int64_t stride = UniformInt(rng, 4) == 0 ? 2 : 1;
      for (const int d : order) {
        const bool is_broadcast = may_broadcast && UniformInt(rng, 4) == 0;
        result.strides[d] = is_broadcast ? 0 : stride;
        if (!is_broadcast) stride *= shape[d] + (UniformInt(rng, 4) == 0 ? 1 : 0);
      }
      return result;
    };
    std::vector<TensorView> inputs = {view({b, m, k}, true), view({b, k, n}, true)};
    if (UniformInt(rng, 2) == 0) {
      inputs.push_back(view({b, m, n}, true));
      inputs[2].strides[0] = inputs[2].strides[1] = 0;  // a row
    }
    CAPTURE(round);
    testing::CheckSample(CallOf(KernelKind::kMatmul, {}, inputs, {view({b, m, n}, false)}),
                         rng,
                         [](const KernelCall& call) { return std::make_unique<HostGemm>(call); });
  }
}

TEST_CASE("row-major C = A B is column-major C^T = B^T A^T without copies") {
  // A [2, 3], B [3, 4]: left is B, 4 x 3 with leading dimension 4; right is A, 3 x 2.
  const cuda::GemmLayout layout =
      cuda::PlanGemm(Floats({1, 2, 3}), Floats({1, 3, 4}), Floats({1, 2, 4}), nullptr);
  CHECK(layout.is_swapped);
  CHECK(layout.rows == 4);
  CHECK(layout.columns == 2);
  CHECK(layout.depth == 3);
  CHECK_FALSE(layout.left.is_transposed);
  CHECK(layout.left.rows == 4);
  CHECK(layout.left.columns == 3);
  CHECK(layout.left.leading == 4);
  CHECK_FALSE(layout.right.is_transposed);
  CHECK(layout.right.leading == 3);
  CHECK(layout.result.leading == 4);
  CHECK_FALSE((layout.copies_a || layout.copies_b || layout.copies_c));
}

TEST_CASE("transposed operands are flags, not copies") {
  const TensorView a = Permuted(Floats({5, 3, 2}), {0, 2, 1});  // [5, 2, 3], column-major
  const TensorView b = Permuted(Floats({4, 3, 5}), {2, 1, 0});  // batch innermost: no matrix
  const cuda::GemmLayout layout = cuda::PlanGemm(a, b, Floats({5, 2, 4}), nullptr);
  CHECK(layout.is_swapped);
  CHECK(layout.right.is_transposed);
  CHECK(layout.right.leading == 2);
  CHECK(layout.right.batch_stride == 6);
  CHECK_FALSE(layout.copies_a);
  CHECK(layout.copies_b);
  // A column-major result is written as it is.
  const cuda::GemmLayout direct = cuda::PlanGemm(
      Floats({1, 2, 3}), Floats({1, 3, 4}), Permuted(Floats({1, 4, 2}), {0, 2, 1}), nullptr);
  CHECK_FALSE(direct.is_swapped);
  CHECK(direct.left.is_transposed);
  CHECK_FALSE(direct.copies_c);
}

TEST_CASE("a bias along the result's runs goes into the epilogue, any other is added before") {
  const TensorView a = Floats({1, 2, 3}), b = Floats({1, 3, 4}), c = Floats({1, 2, 4});
  TensorView along_n = c, along_m = c, full = c;
  along_n.strides = {0, 0, 1};
  along_m.strides = {0, 1, 0};
  CHECK(cuda::PlanGemm(a, b, c, &along_n).bias == cuda::GemmBias::kRows);
  CHECK(cuda::PlanGemm(a, b, c, &along_m).bias == cuda::GemmBias::kFull);
  CHECK(cuda::PlanGemm(a, b, c, &full).bias == cuda::GemmBias::kFull);
  CHECK(cuda::PlanGemm(a, b, c, nullptr).bias == cuda::GemmBias::kNone);
}

}  // namespace
