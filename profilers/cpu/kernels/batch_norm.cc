// Batch norm in training mode. NHWC uses oneDNN. NCHW uses hand-written loops, plane by plane,
// which are much faster than oneDNN's plain implementation. Both work with mean and variance. Other
// statistics are derived from these, or converted to them for the gradient.

#include <algorithm>
#include <array>
#include <cmath>

#include "profilers/cpu/kernels/onednn_program.h"
#include "profilers/cpu/kernels/simd.h"

namespace emplace::cpu {
namespace {

using Desc = dnnl::memory::desc;
const auto kFlags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;

bool IsChannelsLast(const TensorView& view) {
  if (view.shape.size() != 4) return view.is_contiguous();  // statistics
  return HaveEqualSteps(view, ChannelsLastView(view.dtype, view.shape));
}

bool AllAre(bool (*suits)(const TensorView&), const KernelCall& call) {
  const auto fits = [&](const Argument& argument) { return suits(argument.view); };
  return std::ranges::all_of(call.inputs, fits) && std::ranges::all_of(call.outputs, fits);
}

// [n, c, plane] of an NCHW tensor. ForEach() calls f(plane's offset) for all images of a channel.
struct Planes {
  explicit Planes(const TensorView& x)
      : images(x.shape[0]), channels(x.shape[1]), size(x.shape[2] * x.shape[3]) {}
  template <typename F>
  void ForEach(std::int64_t channel, const F& f) const {
    for (std::int64_t n = 0; n < images; ++n) f((n * channels + channel) * size);
  }
  std::int64_t images, channels, size;
};

// Sums over a plane. These are separate functions with arguments by value, because GCC does not
// vectorise sums whose operands are captured by a lambda.
inline float Sum(const float* x, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}
inline float SumOfSquaredDeviations(const float* x, float mean, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}
inline float SumOfProducts(const float* dy, const float* x, float mean, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += dy[i] * (x[i] - mean);
  return sum;
}

// in: x, scale, offset; out: y, mean, variance.
std::unique_ptr<ViewKernel> MakePlaneForward(const KernelCall& call, int threads) {
  const Planes planes(call.inputs[0].view);
  const auto epsilon = static_cast<float>(call.params.epsilon);
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    const float *x = As<float>(in[0]), *scale = As<float>(in[1]), *offset = As<float>(in[2]);
    float *y = As<float>(out[0]), *means = As<float>(out[1]), *variances = As<float>(out[2]);
    const auto count = static_cast<double>(planes.images * planes.size);
    ParallelRanges(threads, planes.channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        double total = 0, squares = 0;
        planes.ForEach(c, [&](std::int64_t plane) { total += Sum(x + plane, planes.size); });
        const auto mean = static_cast<float>(total / count);
        planes.ForEach(c, [&](std::int64_t plane) {
          squares += SumOfSquaredDeviations(x + plane, mean, planes.size);
        });
        const auto variance = static_cast<float>(squares / count);
        const float factor = scale[c] / std::sqrt(variance + epsilon), shift = offset[c];
        planes.ForEach(c, [&](std::int64_t plane) {
#pragma omp simd
          for (std::int64_t i = 0; i < planes.size; ++i)
            y[plane + i] = (x[plane + i] - mean) * factor + shift;
        });
        means[c] = mean;
        variances[c] = variance;
      }
    });
  });
}

// in: dy, x, scale, mean, variance; out: dx, dscale, doffset.
std::unique_ptr<ViewKernel> MakePlaneBackward(const KernelCall& call, int threads) {
  const Planes planes(call.inputs[1].view);
  const auto epsilon = static_cast<float>(call.params.epsilon);
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    const float *dy = As<float>(in[0]), *x = As<float>(in[1]), *scale = As<float>(in[2]),
                *means = As<float>(in[3]), *variances = As<float>(in[4]);
    float *dx = As<float>(out[0]), *dscale = As<float>(out[1]), *doffset = As<float>(out[2]);
    const auto count = static_cast<double>(planes.images * planes.size);
    ParallelRanges(threads, planes.channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        const float mean = means[c], inverse_std = 1 / std::sqrt(variances[c] + epsilon);
        double total = 0, total_z = 0;
        planes.ForEach(c, [&](std::int64_t plane) {
          total += Sum(dy + plane, planes.size);
          total_z += inverse_std * SumOfProducts(dy + plane, x + plane, mean, planes.size);
        });
        const auto mean_dy = static_cast<float>(total / count);
        const auto mean_dyz = static_cast<float>(total_z / count);
        const float factor = scale[c] * inverse_std;
        planes.ForEach(c, [&](std::int64_t plane) {
#pragma omp simd
          for (std::int64_t i = 0; i < planes.size; ++i)
            dx[plane + i] =
                factor * (dy[plane + i] - mean_dy - (x[plane + i] - mean) * inverse_std * mean_dyz);
        });
        dscale[c] = static_cast<float>(total_z);
        doffset[c] = static_cast<float>(total);
      }
    });
  });
}

dnnl::batch_normalization_forward::primitive_desc OnednnForwardDesc(const Desc& x, float epsilon) {
  return {
      {dnnl::prop_kind::forward_training, x, epsilon, kFlags}, OnednnAttributes(), OnednnEngine()};
}

// Arguments as for MakePlaneForward.
std::unique_ptr<ViewKernel> MakeOnednnNormForward(const KernelCall& call) {
  const TensorView& view = call.inputs[0].view;
  const Desc x(view.shape, kOnednnF32, dnnl::memory::format_tag::nhwc);
  const Desc line({view.shape[1]}, kOnednnF32, dnnl::memory::format_tag::x);
  const auto desc = OnednnForwardDesc(x, static_cast<float>(call.params.epsilon));
  return MakeOnednn<dnnl::batch_normalization_forward>(
      desc,
      {{DNNL_ARG_SRC, x, {Place::kInput, 0}},
       {DNNL_ARG_SCALE, line, {Place::kInput, 1}},
       {DNNL_ARG_SHIFT, line, {Place::kInput, 2}}},
      {{DNNL_ARG_DST, x, {Place::kOutput, 0}},
       {DNNL_ARG_MEAN, line, {Place::kOutput, 1}},
       {DNNL_ARG_VARIANCE, line, {Place::kOutput, 2}}});
}

// Arguments as for MakePlaneBackward.
std::unique_ptr<ViewKernel> MakeOnednnNormBackward(const KernelCall& call) {
  const TensorView& view = call.inputs[1].view;
  const Desc x(view.shape, kOnednnF32, dnnl::memory::format_tag::nhwc);
  const Desc line({view.shape[1]}, kOnednnF32, dnnl::memory::format_tag::x);
  const auto epsilon = static_cast<float>(call.params.epsilon);
  const dnnl::batch_normalization_backward::primitive_desc desc(
      {dnnl::prop_kind::backward, x, x, epsilon, kFlags},
      OnednnAttributes(),
      OnednnEngine(),
      OnednnForwardDesc(x, epsilon));
  return MakeOnednn<dnnl::batch_normalization_backward>(
      desc,
      {{DNNL_ARG_DIFF_DST, x, {Place::kInput, 0}},
       {DNNL_ARG_SRC, x, {Place::kInput, 1}},
       {DNNL_ARG_SCALE, line, {Place::kInput, 2}},
       {DNNL_ARG_SHIFT, line, {Place::kInput, 2}},  // oneDNN requires it, its value is unused
       {DNNL_ARG_MEAN, line, {Place::kInput, 3}},
       {DNNL_ARG_VARIANCE, line, {Place::kInput, 4}}},
      {{DNNL_ARG_DIFF_SRC, x, {Place::kOutput, 0}},
       {DNNL_ARG_DIFF_SCALE, line, {Place::kOutput, 1}},
       {DNNL_ARG_DIFF_SHIFT, line, {Place::kOutput, 2}}});
}

std::unique_ptr<ViewKernel> MakeBatchNormForward(const KernelCall& call, int threads) {
  const TensorView& x = call.inputs[0].view;
  const std::int64_t channels = x.shape[1], count = x.num_elements() / channels;
  const bool updates = call.outputs.size() == 5, has_running = call.inputs.size() == 5;
  const std::shared_ptr<ViewKernel> normalise =
      AllAre(&IsContiguous, call) ? MakePlaneForward(call, threads) : MakeOnednnNormForward(call);
  const bool saves_inverse_std = call.params.saves_inverse_std;
  const auto epsilon = static_cast<float>(call.params.epsilon);
  const auto momentum = static_cast<float>(has_running ? call.params.momentum : 1);
  const float unbiased =
      static_cast<float>(count) / static_cast<float>(std::max<std::int64_t>(1, count - 1));
  return MakeKernel(
      [=](void* const* in, void* const* out, void* scratch) {
        normalise->Run(in, out, scratch);
        const float* mean = As<float>(out[1]);
        float* variance = As<float>(out[2]);
        if (updates) {
          float *running_mean = As<float>(out[3]), *running_variance = As<float>(out[4]);
          const float* old_mean = has_running ? As<float>(in[3]) : mean;
          const float* old_variance = has_running ? As<float>(in[4]) : variance;
          for (std::int64_t c = 0; c < channels; ++c) {
            running_mean[c] = (1 - momentum) * old_mean[c] + momentum * mean[c];
            running_variance[c] =
                (1 - momentum) * old_variance[c] + momentum * unbiased * variance[c];
          }
        }
        if (saves_inverse_std)
          for (std::int64_t c = 0; c < channels; ++c)
            variance[c] = 1 / std::sqrt(variance[c] + epsilon);
      },
      normalise->scratch_bytes());
}

std::unique_ptr<ViewKernel> MakeBatchNormBackward(const KernelCall& call, int threads) {
  const std::int64_t channels = call.inputs[1].view.shape[1];
  const std::shared_ptr<ViewKernel> differentiate =
      AllAre(&IsContiguous, call) ? MakePlaneBackward(call, threads) : MakeOnednnNormBackward(call);
  if (!call.params.saves_inverse_std)
    return MakeKernel(
        [=](void* const* in, void* const* out, void* scratch) {
          differentiate->Run(in, out, scratch);
        },
        differentiate->scratch_bytes());
  const auto epsilon = static_cast<float>(call.params.epsilon);
  const std::int64_t bytes = Aligned(channels * SizeOf(DType::kF32));
  return MakeKernel(
      [=](void* const* in, void* const* out, void* scratch) {
        const float* inverse_std = As<float>(in[4]);
        float* variance = As<float>(scratch);
        for (std::int64_t c = 0; c < channels; ++c)
          variance[c] = 1 / (inverse_std[c] * inverse_std[c]) - epsilon;
        const std::array<void*, 5> inputs{in[0], in[1], in[2], in[3], variance};
        differentiate->Run(inputs.data(), out, At(scratch, bytes));
      },
      bytes + differentiate->scratch_bytes());
}

}  // namespace

std::unique_ptr<ViewKernel> MakeBatchNorm(const KernelCall& call, int threads) {
  const bool is_forward = call.kind == KernelKind::kBatchNormForward;
  if (!AllAre(&IsChannelsLast, call))
    if (auto packed = PackUnless(&IsContiguous, &MakeBatchNorm, call, threads)) return packed;
  return is_forward ? MakeBatchNormForward(call, threads) : MakeBatchNormBackward(call, threads);
}

}  // namespace emplace::cpu
