#include "profilers/cuda/kernels/conv_layout.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

// cuDNN's number of windows.
std::int64_t WindowsOf(std::int64_t size,
                       std::int64_t pad,
                       std::int64_t span,
                       std::int64_t stride) {
  return (size + 2 * pad - span) / stride + 1;
}

TEST_CASE("paddings by hand") {
  using cuda::AxisPadding;
  using cuda::DecomposePadding;
  // Symmetric: 3 taps, 1 on both sides.
  CHECK(DecomposePadding(8, 1, 3, 1, 8) == AxisPadding{1, 0, 0});
  // SAME with stride 2 on an even size: 0 before, 1 after. One row more at the end.
  CHECK(DecomposePadding(8, 0, 3, 2, 4) == AxisPadding{0, 0, 1});
  // 2 before, 3 after.
  CHECK(DecomposePadding(10, 2, 6, 1, 10) == AxisPadding{2, 0, 1});
  // 1 before, 0 after, stride 1: cuDNN would count a window too many with 1 on both sides.
  CHECK(DecomposePadding(8, 1, 3, 1, 7) == AxisPadding{0, 1, 0});
  // 1 before, 0 after, stride 2 on 7: windows start at -1, 1, 3; with 1 on both sides there would
  // be a fourth at 5 that ends in the padding.
  CHECK(DecomposePadding(7, 1, 3, 2, 3) == AxisPadding{0, 1, 0});
  // A row at the end that no window reaches: cuDNN leaves it over too.
  CHECK(DecomposePadding(8, 0, 3, 2, 3) == AxisPadding{0, 0, 0});
  // Three rows that no window reaches: cut off.
  CHECK(DecomposePadding(8, 0, 3, 2, 2) == AxisPadding{0, 0, -3});
}

TEST_CASE("decomposed paddings put every window where it was") {
  for (std::int64_t size = 1; size <= 12; ++size) {
    for (std::int64_t begin = 0; begin <= 4; ++begin) {
      for (std::int64_t span = 1; span <= 6; ++span) {
        for (std::int64_t stride = 1; stride <= 4; ++stride) {
          for (std::int64_t outputs = 1; (outputs - 1) * stride - begin < size; ++outputs) {
            const cuda::AxisPadding p = cuda::DecomposePadding(size, begin, span, stride, outputs);
            const std::int64_t padded = size + p.extra_begin + p.extra_end;
            CHECK(p.pad >= 0);
            CHECK(p.extra_begin >= 0);
            CHECK(p.pad + p.extra_begin == begin);  // windows start where they did
            CHECK(WindowsOf(padded, p.pad, span, stride) == outputs);
            // What is cut off is out of the last window's reach.
            const std::int64_t reach = (outputs - 1) * stride + span - begin;
            if (p.extra_end < 0) CHECK(size + p.extra_end >= std::min(size, reach));
          }
        }
      }
    }
  }
}

// What cuDNN does with a layout: a convolution with symmetric padding on packed tensors.
class HostConvolution {
 public:
  HostConvolution(const KernelCall& call, bool channels_last) : call_(call) {
    switch (call.kind) {
      case KernelKind::kConvForward:
        roles_ = {call.inputs[0], call.inputs[1], call.outputs[0]};
        break;
      case KernelKind::kConvBackwardData:
        roles_ = {call.outputs[0], call.inputs[1], call.inputs[0]};
        break;
      default:
        roles_ = {call.inputs[0], call.outputs[0], call.inputs[1]};
    }
    layout_ = cuda::PlanConvolution(
        roles_[0].view, roles_[1].view, roles_[2].view, call.params, channels_last);
    for (int axis = 0; axis < 2; ++axis) {
      const int d = 2 + axis;
      const std::int64_t span = (layout_.w.shape[d] - 1) * layout_.dilation[axis] + 1;
      CHECK(WindowsOf(layout_.x.shape[d], layout_.pad[axis], span, layout_.stride[axis]) ==
            layout_.y.shape[d]);
    }
  }
  std::int64_t scratch_bytes() const { return 0; }

  void Launch(void* const* inputs, void* const* outputs, void*, void*) {
    const auto storage = [&](const Argument& argument) {
      return (argument.is_output ? outputs : inputs)[argument.index];
    };
    std::vector<float> x(layout_.x.num_elements()), w(layout_.w.num_elements()),
        y(layout_.y.num_elements());
    // Into cuDNN's tensors.
    const Argument& x_argument = roles_[0];
    TensorView common = layout_.x_common_outer;
    common.offset += x_argument.view.offset;
    testing::WriteElements(
        layout_.x_common_inner, testing::ReadElements(common, storage(x_argument)), x.data());
    testing::WriteElements(
        layout_.w, testing::ReadElements(roles_[1].view, storage(roles_[1])), w.data());
    testing::WriteElements(
        layout_.y, testing::ReadElements(roles_[2].view, storage(roles_[2])), y.data());
    // The same kind of call on them, with padding as cuDNN has it.
    KernelCall packed = call_;
    for (int axis = 0; axis < 2; ++axis) {
      packed.params.window.pad_begin[axis] = layout_.pad[axis];
      packed.params.window.pad_end[axis] = layout_.pad[axis];
    }
    const auto view = [&](const Argument& argument) -> const TensorView& {
      const bool is_x = &argument == &X(packed), is_w = &argument == &W(packed);
      return is_x ? layout_.x : is_w ? layout_.w : layout_.y;
    };
    const auto data = [&](const Argument& argument) -> void* {
      const bool is_x = &argument == &X(packed), is_w = &argument == &W(packed);
      return is_x ? x.data() : is_w ? w.data() : y.data();
    };
    std::vector<void*> in, out;
    for (auto* arguments : {&packed.inputs, &packed.outputs}) {
      auto& pointers = arguments == &packed.inputs ? in : out;
      for (std::size_t i = 0; i < arguments->size(); ++i) {
        Argument& argument = (*arguments)[i];
        if (arguments == &packed.inputs && i == 2) {  // bias
          pointers.push_back(storage(call_.inputs[2]));
        } else {
          pointers.push_back(data(argument));
          argument.view = view(argument);
        }
        argument.is_output = arguments == &packed.outputs;
        argument.index = static_cast<int>(i);
      }
    }
    testing::RunReference(packed, in.data(), out.data());
    // And the result back.
    if (call_.kind == KernelKind::kConvForward) {
      testing::WriteElements(
          roles_[2].view, testing::ReadElements(layout_.y, y.data()), storage(roles_[2]));
    } else if (call_.kind == KernelKind::kConvBackwardFilter) {
      testing::WriteElements(
          roles_[1].view, testing::ReadElements(layout_.w, w.data()), storage(roles_[1]));
    } else {
      testing::WriteElements(x_argument.view,
                             std::vector<double>(x_argument.view.num_elements()),
                             storage(x_argument));
      testing::WriteElements(
          common, testing::ReadElements(layout_.x_common_inner, x.data()), storage(x_argument));
    }
  }

 private:
  static const Argument& X(const KernelCall& call) {
    return call.kind == KernelKind::kConvBackwardData ? call.outputs[0] : call.inputs[0];
  }
  static const Argument& W(const KernelCall& call) {
    return call.kind == KernelKind::kConvBackwardFilter ? call.outputs[0] : call.inputs[1];
  }

  KernelCall call_;
  std::vector<Argument> roles_;
  cuda::ConvLayout layout_;
};

TEST_CASE("cuDNN's terms of random convolutions give what the reference gives") {
  for (const bool channels_last : {false, true}) {
    const int checked = testing::CheckSamples(
        {KernelKind::kConvForward, KernelKind::kConvBackwardData, KernelKind::kConvBackwardFilter},
        [&](const KernelCall& call) {
          return std::make_unique<HostConvolution>(call, channels_last);
        });
    CHECK(checked > 30);
  }
}

TEST_CASE("rows that no window reaches") {
  Rng rng(1);
  KernelParams params;
  params.window.size = {3, 2};
  params.window.stride = {4, 9};  // row 10 and columns 2 to 8 and 11 lie in no window
  params.window.pad_begin = {1, 0};
  const TensorView x = Floats({2, 3, 11, 12}), w = Floats({4, 3, 3, 2}), y = Floats({2, 4, 3, 2});
  const auto prepare = [](const KernelCall& call) {
    return std::make_unique<HostConvolution>(call, false);
  };
  testing::CheckSample(CallOf(KernelKind::kConvForward, params, {x, w}, {y}), rng, prepare);
  testing::CheckSample(CallOf(KernelKind::kConvBackwardData, params, {y, w}, {x}), rng, prepare);
  testing::CheckSample(CallOf(KernelKind::kConvBackwardFilter, params, {x, y}, {w}), rng, prepare);
}

TEST_CASE("an HWIO filter is KRSC or KCRS only after a copy, an OIHW one is KCRS as it is") {
  KernelParams params;
  params.window.size = {3, 5};
  params.window.pad_begin = params.window.pad_end = {1, 2};
  const TensorView hwio = testing::Permuted(Floats({3, 5, 8, 16}), {3, 2, 0, 1});  // [16, 8, 3, 5]
  const TensorView x = testing::Nhwc(2, 8, 9, 9), y = testing::Nhwc(2, 16, 9, 9);
  CHECK(cuda::PrefersChannelsLast(x, y));
  const cuda::ConvLayout nhwc = cuda::PlanConvolution(x, hwio, y, params, true);
  CHECK(nhwc.x.strides == x.strides);  // as they are
  CHECK(nhwc.y.strides == y.strides);
  // [k, c, r, s] with c innermost, then s, r, k.
  CHECK(nhwc.w.strides == std::vector<std::int64_t>{3 * 5 * 8, 1, 5 * 8, 8});
  CHECK_FALSE(nhwc.pads_x);
  const cuda::ConvLayout nchw = cuda::PlanConvolution(x, hwio, y, params, false);
  CHECK(nchw.w == Floats({16, 8, 3, 5}));
  CHECK(nchw.x == Floats({2, 8, 9, 9}));
}

TEST_CASE("the layout that both tensors have is taken; 1 x 1 planes have both") {
  CHECK_FALSE(cuda::PrefersChannelsLast(Floats({2, 8, 9, 9}), Floats({2, 4, 9, 9})));
  CHECK_FALSE(cuda::PrefersChannelsLast(testing::Nhwc(2, 8, 9, 9), Floats({2, 4, 9, 9})));
  CHECK_FALSE(cuda::PrefersChannelsLast(Floats({2, 8, 1, 1}), Floats({2, 4, 1, 1})));
  CHECK(cuda::PrefersChannelsLast(testing::Nhwc(2, 8, 9, 9), Floats({2, 4, 1, 1})));
}

}  // namespace
