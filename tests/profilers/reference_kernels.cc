#include "tests/profilers/reference_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "framework/base/error.h"
#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/reference_internal.h"

namespace emplace::testing {
namespace {

using internal::ElementOffsets;
using std::int64_t;

// All elements of a view, row-major, and its shape.
struct Dense {
  std::vector<int64_t> shape;
  std::vector<double> values;

  Dense() = default;
  explicit Dense(const std::vector<int64_t>& shape, double fill = 0)
      : shape(shape),
        values(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()), fill) {
  }

  template <typename... Index>
  double& operator()(Index... index) {
    EMPLACE_CHECK(sizeof...(index) == shape.size());
    size_t flat = 0;
    [[maybe_unused]] size_t axis = 0;
    ((EMPLACE_CHECK(index >= 0 && index < shape[axis]), flat = flat * shape[axis++] + index), ...);
    return values[flat];
  }
  template <typename... Index>
  double operator()(Index... index) const {
    return const_cast<Dense&>(*this)(index...);
  }
};

double Unit(std::uint64_t counter) {  // splitmix64
  std::uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return static_cast<double>((z ^ (z >> 31)) >> 40) * 0x1p-24;
}

int64_t Modulo(double index, int64_t count) {
  const auto i = static_cast<int64_t>(index);
  return ((i % count) + count) % count;
}

// Calls visit(window row, window column, input row, input column) for the window of (p, q).
template <typename Visit>
void ForWindow(const Window& w, int64_t p, int64_t q, int64_t height, int64_t width, Visit visit) {
  for (int64_t r = 0; r < w.size[0]; ++r) {
    for (int64_t s = 0; s < w.size[1]; ++s) {
      const int64_t h = p * w.stride[0] - w.pad_begin[0] + r * w.dilation[0];
      const int64_t v = q * w.stride[1] - w.pad_begin[1] + s * w.dilation[1];
      if (h >= 0 && h < height && v >= 0 && v < width) visit(r, s, h, v);
    }
  }
}

template <typename Visit>
void For4(const std::vector<int64_t>& shape, Visit visit) {
  for (int64_t a = 0; a < shape[0]; ++a) {
    for (int64_t b = 0; b < shape[1]; ++b) {
      for (int64_t c = 0; c < shape[2]; ++c) {
        for (int64_t d = 0; d < shape[3]; ++d) visit(a, b, c, d);
      }
    }
  }
}

class Reference {
 public:
  Reference(const KernelCall& call, void* const* inputs, void* const* outputs)
      : call_(call), params_(call.params), op_inputs_(inputs), op_outputs_(outputs) {}

  void Run() {
    EMPLACE_CHECK(WhyMalformed(call_).empty(), Describe(call_) + ": " + WhyMalformed(call_));
    if (call_.kind == KernelKind::kCopy) return Copy();
    for (const Argument& argument : call_.inputs) in_.push_back(Read(argument));
    for (const Argument& argument : call_.outputs) out_.emplace_back(argument.view.shape);
    Compute();
    for (size_t i = 0; i < out_.size(); ++i) {
      const Argument& argument = call_.outputs[i];
      WriteElements(argument.view, out_[i].values, Storage(argument));
    }
  }

 private:
  void* Storage(const Argument& argument) const {
    return (argument.is_output ? op_outputs_ : op_inputs_)[argument.index];
  }
  Dense Read(const Argument& argument) const {
    Dense dense;
    dense.shape = argument.view.shape;
    dense.values = ReadElements(argument.view, Storage(argument));
    return dense;
  }
  void Compute() {
    switch (call_.kind) {
      case KernelKind::kMatmul:
        return Matmul();
      case KernelKind::kConvForward:
        ForConv(in_[0].shape, in_[1].shape, out_[0].shape, [&](auto x, auto w, auto y) {
          out_[0].values[y] += in_[0].values[x] * in_[1].values[w];
        });
        if (in_.size() > 2) {
          For4(out_[0].shape,
               [&](auto n, auto k, auto p, auto q) { out_[0](n, k, p, q) += in_[2](k); });
        }
        return;
      case KernelKind::kConvBackwardData:
        return ForConv(out_[0].shape, in_[1].shape, in_[0].shape, [&](auto x, auto w, auto y) {
          out_[0].values[x] += in_[0].values[y] * in_[1].values[w];
        });
      case KernelKind::kConvBackwardFilter:
        return ForConv(in_[0].shape, out_[0].shape, in_[1].shape, [&](auto x, auto w, auto y) {
          out_[0].values[w] += in_[1].values[y] * in_[0].values[x];
        });
      case KernelKind::kMaxPoolForward:
        return MaxPoolForward();
      case KernelKind::kMaxPoolBackward:
        return MaxPoolBackward();
      case KernelKind::kMaxPoolBackwardIndices:
        return MaxPoolBackwardIndices();
      case KernelKind::kAvgPoolForward:
        return AvgPoolForward();
      case KernelKind::kAvgPoolBackward:
        return AvgPoolBackward();
      case KernelKind::kBatchNormForward:
        return BatchNormForward();
      case KernelKind::kBatchNormBackward:
        return BatchNormBackward();
      case KernelKind::kLayerNormForward:
        return LayerNormForward();
      case KernelKind::kLayerNormBackward:
        return LayerNormBackward();
      case KernelKind::kGroupNormForward:
        return GroupNormForward();
      case KernelKind::kGroupNormBackward:
        return GroupNormBackward();
      case KernelKind::kSoftmax:
      case KernelKind::kLogSoftmax:
        return Softmax();
      case KernelKind::kSoftmaxBackward:
      case KernelKind::kLogSoftmaxBackward:
        return SoftmaxBackward();
      case KernelKind::kSparseCrossEntropy:
        return SparseCrossEntropy();
      case KernelKind::kNllLossForward:
        return NllLossForward();
      case KernelKind::kNllLossBackward:
        return NllLossBackward();
      case KernelKind::kElementwise:
        return Elementwise();
      case KernelKind::kSelect:
        return Select();
      case KernelKind::kAttentionForward:
        return AttentionForward();
      case KernelKind::kAttentionBackward:
        return AttentionBackward();
      case KernelKind::kDropoutForward:
        return DropoutForward();
      case KernelKind::kDropoutBackward:
        for (size_t i = 0; i < out_[0].values.size(); ++i) {
          out_[0].values[i] = in_[1].values[i] != 0 ? in_[0].values[i] * params_.alpha : 0;
        }
        return;
      case KernelKind::kRandomUniform:
        for (size_t i = 0; i < out_[0].values.size(); ++i) out_[0].values[i] = Unit(i);
        return;
      case KernelKind::kFill:
        std::ranges::fill(out_[0].values, params_.alpha);
        return;
      case KernelKind::kRange:
        for (int64_t i = 0; i < out_[0].shape[0]; ++i) {
          out_[0](i) = params_.alpha + params_.step * static_cast<double>(i);
        }
        return;
      case KernelKind::kCumulativeSum:
        return CumulativeSum();
      case KernelKind::kReduce:
        return Reduce();
      case KernelKind::kGather:
        return Gather();
      case KernelKind::kGatherPlaces: {
        const auto &table = in_[0].values, &rows = in_[1].values, &columns = in_[2].values;
        for (size_t i = 0; i < out_[0].values.size(); ++i) {
          const double place = rows[i] * static_cast<double>(in_[0].shape[1]) + columns[i];
          out_[0].values[i] = table[Modulo(place, static_cast<int64_t>(table.size()))];
        }
        return;
      }
      case KernelKind::kScatterAdd:
        return ScatterAdd();
      case KernelKind::kMomentum:
      case KernelKind::kRmsProp:
      case KernelKind::kAdam:
      case KernelKind::kGradientDescent:
        return Update();
      case KernelKind::kCopy:
      case KernelKind::kProxy:
        return;
    }
  }

  // Bytes, which need not be numbers.
  void Copy() {
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const Argument &from = call_.inputs[i], &to = call_.outputs[i];
      const int64_t size = SizeOf(from.view.dtype);
      const std::vector<int64_t> sources = ElementOffsets(from.view);
      const std::vector<int64_t> targets = ElementOffsets(to.view);
      for (size_t k = 0; k < sources.size(); ++k) {
        std::memcpy(static_cast<std::byte*>(Storage(to)) + targets[k] * size,
                    static_cast<const std::byte*>(Storage(from)) + sources[k] * size,
                    static_cast<size_t>(size));
      }
    }
  }

  void Matmul() {
    Dense& c = out_[0];
    for (int64_t b = 0; b < c.shape[0]; ++b) {
      for (int64_t i = 0; i < c.shape[1]; ++i) {
        for (int64_t j = 0; j < c.shape[2]; ++j) {
          double sum = in_.size() > 2 ? in_[2](b, i, j) : 0;
          for (int64_t k = 0; k < in_[0].shape[2]; ++k) sum += in_[0](b, i, k) * in_[1](b, k, j);
          c(b, i, j) = sum;
        }
      }
    }
  }

  // visit(flat index of x, of w, of y) for every multiplication of a convolution.
  template <typename Visit>
  void ForConv(const std::vector<int64_t>& x,
               const std::vector<int64_t>& w,
               const std::vector<int64_t>& y,
               Visit visit) {
    const int64_t per_group = w[0] / params_.groups;
    For4(y, [&](auto n, auto k, auto p, auto q) {
      for (int64_t c = 0; c < w[1]; ++c) {
        const int64_t channel = k / per_group * w[1] + c;
        ForWindow(params_.window, p, q, x[2], x[3], [&](auto r, auto s, auto h, auto v) {
          visit(((n * x[1] + channel) * x[2] + h) * x[3] + v,
                ((k * w[1] + c) * w[2] + r) * w[3] + s,
                ((n * y[1] + k) * y[2] + p) * y[3] + q);
        });
      }
    });
  }

  // The first maximum of a window as h * width + w.
  int64_t FirstMaximum(const Dense& x, int64_t n, int64_t c, int64_t p, int64_t q) {
    int64_t best = -1;
    ForWindow(params_.window, p, q, x.shape[2], x.shape[3], [&](auto, auto, auto h, auto w) {
      if (best < 0 || x(n, c, h, w) > x(n, c, best / x.shape[3], best % x.shape[3])) {
        best = h * x.shape[3] + w;
      }
    });
    EMPLACE_CHECK(best >= 0, "a pooling window without elements");
    return best;
  }

  void MaxPoolForward() {
    const Dense& x = in_[0];
    For4(out_[0].shape, [&](auto n, auto c, auto p, auto q) {
      const int64_t best = FirstMaximum(x, n, c, p, q);
      out_[0](n, c, p, q) = x(n, c, best / x.shape[3], best % x.shape[3]);
      if (out_.size() > 1) out_[1](n, c, p, q) = static_cast<double>(best);
    });
  }

  void MaxPoolBackward() {
    const Dense& x = in_[0];
    const Dense& dy = in_[2];
    For4(dy.shape, [&](auto n, auto c, auto p, auto q) {
      const int64_t best = FirstMaximum(x, n, c, p, q);
      out_[0](n, c, best / x.shape[3], best % x.shape[3]) += dy(n, c, p, q);
    });
  }

  void MaxPoolBackwardIndices() {
    For4(in_[0].shape, [&](auto n, auto c, auto p, auto q) {
      const auto best = static_cast<int64_t>(in_[1](n, c, p, q));
      const int64_t width = out_[0].shape[3];
      out_[0](n, c, best / width, best % width) += in_[0](n, c, p, q);
    });
  }

  // Elements an average divides by.
  double Count(int64_t p, int64_t q, int64_t height, int64_t width) {
    const Window& window = params_.window;
    if (window.count_include_pad) return static_cast<double>(window.size[0] * window.size[1]);
    double count = 0;
    ForWindow(window, p, q, height, width, [&](auto, auto, auto, auto) { ++count; });
    EMPLACE_CHECK(count > 0, "a pooling window without elements");
    return count;
  }

  void AvgPoolForward() {
    const Dense& x = in_[0];
    For4(out_[0].shape, [&](auto n, auto c, auto p, auto q) {
      double& y = out_[0](n, c, p, q);
      ForWindow(params_.window, p, q, x.shape[2], x.shape[3], [&](auto, auto, auto h, auto w) {
        y += x(n, c, h, w);
      });
      y /= Count(p, q, x.shape[2], x.shape[3]);
    });
  }

  void AvgPoolBackward() {
    Dense& dx = out_[0];
    For4(in_[0].shape, [&](auto n, auto c, auto p, auto q) {
      const double share = in_[0](n, c, p, q) / Count(p, q, dx.shape[2], dx.shape[3]);
      ForWindow(params_.window, p, q, dx.shape[2], dx.shape[3], [&](auto, auto, auto h, auto w) {
        dx(n, c, h, w) += share;
      });
    });
  }

  void BatchNormForward() {
    const Dense& x = in_[0];
    const auto count = static_cast<double>(x.shape[0] * x.shape[2] * x.shape[3]);
    Dense mean({x.shape[1]}), variance({x.shape[1]});
    For4(x.shape, [&](auto n, auto c, auto h, auto w) { mean(c) += x(n, c, h, w) / count; });
    For4(x.shape, [&](auto n, auto c, auto h, auto w) {
      variance(c) += std::pow(x(n, c, h, w) - mean(c), 2) / count;
    });
    For4(x.shape, [&](auto n, auto c, auto h, auto w) {
      const double z = (x(n, c, h, w) - mean(c)) / std::sqrt(variance(c) + params_.epsilon);
      out_[0](n, c, h, w) = z * in_[1](c) + in_[2](c);
    });
    for (int64_t c = 0; c < x.shape[1]; ++c) {
      out_[1](c) = mean(c);
      out_[2](c) =
          params_.saves_inverse_std ? 1 / std::sqrt(variance(c) + params_.epsilon) : variance(c);
      if (out_.size() == 3) continue;
      const double unbiased = variance(c) * count / std::max(1.0, count - 1);
      const bool has_running = in_.size() == 5;
      const double m = has_running ? params_.momentum : 1;
      out_[3](c) = (has_running ? (1 - m) * in_[3](c) : 0) + m * mean(c);
      out_[4](c) = (has_running ? (1 - m) * in_[4](c) : 0) + m * unbiased;
    }
  }

  void BatchNormBackward() {
    const Dense &dy = in_[0], &x = in_[1];
    const auto count = static_cast<double>(x.shape[0] * x.shape[2] * x.shape[3]);
    const auto inverse_std = [&](int64_t c) {
      return params_.saves_inverse_std ? in_[4](c) : 1 / std::sqrt(in_[4](c) + params_.epsilon);
    };
    const auto z = [&](auto n, auto c, auto h, auto w) {
      return (x(n, c, h, w) - in_[3](c)) * inverse_std(c);
    };
    For4(x.shape, [&](auto n, auto c, auto h, auto w) {
      out_[1](c) += dy(n, c, h, w) * z(n, c, h, w);
      out_[2](c) += dy(n, c, h, w);
    });
    For4(x.shape, [&](auto n, auto c, auto h, auto w) {
      out_[0](n, c, h, w) =
          in_[2](c) * inverse_std(c) *
          (dy(n, c, h, w) - out_[2](c) / count - z(n, c, h, w) * out_[1](c) / count);
    });
  }

  // Batch and rows of the arguments, if they have both, as one axis.
  void JoinRows() {
    for (std::vector<Dense>* arguments : {&in_, &out_}) {
      for (Dense& argument : *arguments) {
        if (argument.shape.size() < 2) continue;
        argument.shape[1] *= argument.shape[0];
        argument.shape.erase(argument.shape.begin());
      }
    }
  }

  void LayerNormForward() {
    JoinRows();
    const Dense& x = in_[0];
    const auto width = static_cast<double>(x.shape[1]);
    for (int64_t r = 0; r < x.shape[0]; ++r) {
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < x.shape[1]; ++i) mean += x(r, i) / width;
      for (int64_t i = 0; i < x.shape[1]; ++i) variance += std::pow(x(r, i) - mean, 2) / width;
      const double inverse_std = 1 / std::sqrt(variance + params_.epsilon);
      for (int64_t i = 0; i < x.shape[1]; ++i) {
        out_[0](r, i) = (x(r, i) - mean) * inverse_std * in_[1](i) + in_[2](i);
      }
      out_[1](r) = mean;
      out_[2](r) = inverse_std;
    }
  }

  void LayerNormBackward() {
    JoinRows();
    const Dense &dy = in_[0], &x = in_[1];
    const auto width = static_cast<double>(x.shape[1]);
    for (int64_t r = 0; r < x.shape[0]; ++r) {
      double mean_g = 0, mean_gz = 0;
      for (int64_t i = 0; i < x.shape[1]; ++i) {
        const double z = (x(r, i) - in_[2](r)) * in_[3](r), g = dy(r, i) * in_[4](i);
        mean_g += g / width;
        mean_gz += g * z / width;
        out_[1](i) += dy(r, i) * z;
        out_[2](i) += dy(r, i);
      }
      for (int64_t i = 0; i < x.shape[1]; ++i) {
        const double z = (x(r, i) - in_[2](r)) * in_[3](r), g = dy(r, i) * in_[4](i);
        out_[0](r, i) = (g - mean_g - z * mean_gz) * in_[3](r);
      }
    }
  }

  // visit(n, group, c, l) for every element of [n, c, l].
  template <typename Visit>
  static void ForGroups(const Dense& x, const Dense& statistic, Visit visit) {
    const int64_t per_group = x.shape[1] / statistic.shape[1];
    for (int64_t n = 0; n < x.shape[0]; ++n) {
      for (int64_t c = 0; c < x.shape[1]; ++c) {
        for (int64_t l = 0; l < x.shape[2]; ++l) visit(n, c / per_group, c, l);
      }
    }
  }

  void GroupNormForward() {
    const Dense& x = in_[0];
    Dense &mean = out_[1], &inverse_std = out_[2];
    const auto count =
        static_cast<double>(x.values.size()) / static_cast<double>(mean.values.size());
    Dense variance(mean.shape);
    ForGroups(x, mean, [&](auto n, auto g, auto c, auto l) { mean(n, g) += x(n, c, l) / count; });
    ForGroups(x, mean, [&](auto n, auto g, auto c, auto l) {
      variance(n, g) += std::pow(x(n, c, l) - mean(n, g), 2) / count;
    });
    for (size_t i = 0; i < variance.values.size(); ++i) {
      inverse_std.values[i] = 1 / std::sqrt(variance.values[i] + params_.epsilon);
    }
    ForGroups(x, mean, [&](auto n, auto g, auto c, auto l) {
      const double z = (x(n, c, l) - mean(n, g)) * inverse_std(n, g);
      out_[0](n, c, l) = in_.size() > 1 ? z * in_[1](c) + in_[2](c) : z;
    });
  }

  void GroupNormBackward() {
    const Dense &dy = in_[0], &x = in_[1], &mean = in_[2], &inverse_std = in_[3];
    const auto count =
        static_cast<double>(x.values.size()) / static_cast<double>(mean.values.size());
    Dense mean_d(mean.shape), mean_dz(mean.shape);
    const auto z = [&](auto n, auto g, auto c, auto l) {
      return (x(n, c, l) - mean(n, g)) * inverse_std(n, g);
    };
    const auto d = [&](auto n, auto c, auto l) {
      return in_.size() > 4 ? dy(n, c, l) * in_[4](c) : dy(n, c, l);
    };
    ForGroups(x, mean, [&](auto n, auto g, auto c, auto l) {
      mean_d(n, g) += d(n, c, l) / count;
      mean_dz(n, g) += d(n, c, l) * z(n, g, c, l) / count;
      if (out_.size() == 1) return;
      out_[1](c) += dy(n, c, l) * z(n, g, c, l);
      out_[2](c) += dy(n, c, l);
    });
    ForGroups(x, mean, [&](auto n, auto g, auto c, auto l) {
      out_[0](n, c, l) =
          (d(n, c, l) - mean_d(n, g) - z(n, g, c, l) * mean_dz(n, g)) * inverse_std(n, g);
    });
  }

  // log sum exp of a row
  static double LogSum(const Dense& x, int64_t row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < x.shape[1]; ++i) largest = std::max(largest, x(row, i));
    for (int64_t i = 0; i < x.shape[1]; ++i) sum += std::exp(x(row, i) - largest);
    return largest + std::log(sum);
  }

  void Softmax() {
    for (int64_t r = 0; r < in_[0].shape[0]; ++r) {
      const double log_sum = LogSum(in_[0], r);
      for (int64_t i = 0; i < in_[0].shape[1]; ++i) {
        const double log_y = in_[0](r, i) - log_sum;
        out_[0](r, i) = call_.kind == KernelKind::kSoftmax ? std::exp(log_y) : log_y;
      }
    }
  }

  void SoftmaxBackward() {
    const Dense &dy = in_[0], &y = in_[1];
    const bool is_log = call_.kind == KernelKind::kLogSoftmaxBackward;
    for (int64_t r = 0; r < y.shape[0]; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < y.shape[1]; ++i) sum += is_log ? dy(r, i) : dy(r, i) * y(r, i);
      for (int64_t i = 0; i < y.shape[1]; ++i) {
        out_[0](r, i) = is_log ? dy(r, i) - std::exp(y(r, i)) * sum : y(r, i) * (dy(r, i) - sum);
      }
    }
  }

  void SparseCrossEntropy() {
    const Dense& logits = in_[0];
    for (int64_t r = 0; r < logits.shape[0]; ++r) {
      const double log_sum = LogSum(logits, r);
      const int64_t label = Modulo(in_[1](r), logits.shape[1]);
      out_[0](r) = log_sum - logits(r, label);
      for (int64_t i = 0; i < logits.shape[1]; ++i) {
        out_[1](r, i) = std::exp(logits(r, i) - log_sum) - (i == label ? 1 : 0);
      }
    }
  }

  void NllLossForward() {
    JoinRows();
    const int64_t rows = in_[0].shape[0];
    for (int64_t r = 0; r < rows; ++r) {
      out_[0]() -= in_[0](r, Modulo(in_[1](r), in_[0].shape[1])) / static_cast<double>(rows);
    }
    out_[1]() = static_cast<double>(rows);
  }

  void NllLossBackward() {
    JoinRows();
    for (int64_t r = 0; r < out_[0].shape[0]; ++r) {
      out_[0](r, Modulo(in_[1](r), out_[0].shape[1])) = -in_[0]() / in_[2]();
    }
  }

  void Elementwise() {
    for (size_t i = 0; i < out_[0].values.size(); ++i) {
      double value = in_[0].values[i];
      if (in_.size() == 1)
        value = internal::Evaluate(params_.function, value, params_.alpha, params_.alpha);
      for (size_t k = 1; k < in_.size(); ++k) {
        value = internal::Evaluate(params_.function, value, in_[k].values[i], params_.alpha);
      }
      out_[0].values[i] = value;
    }
  }

  void Select() {
    for (size_t i = 0; i < out_[0].values.size(); ++i) {
      const double a = in_.size() == 3 ? in_[1].values[i] : params_.alpha;
      out_[0].values[i] = in_[0].values[i] != 0 ? a : in_.back().values[i];
    }
  }

  // Scores s [m, n] of a batch and head.
  Dense AttentionScores(const Dense& q,
                        const Dense& k,
                        const Dense* mask,
                        int64_t b,
                        int64_t h) const {
    Dense s({q.shape[2], k.shape[2]});
    for (int64_t m = 0; m < q.shape[2]; ++m) {
      for (int64_t n = 0; n < k.shape[2]; ++n) {
        for (int64_t d = 0; d < q.shape[3]; ++d) s(m, n) += q(b, h, m, d) * k(b, h, n, d);
        s(m, n) = params_.alpha * s(m, n) + (mask != nullptr ? (*mask)(b, h, m, n) : 0);
        if (params_.causal && n > m) s(m, n) = -std::numeric_limits<double>::infinity();
      }
    }
    return s;
  }

  void AttentionForward() {
    const Dense &q = in_[0], &k = in_[1], &v = in_[2];
    Dense& y = out_[0];
    For4(y.shape, [&](auto b, auto h, auto m, auto e) {
      if (e > 0) return;
      const Dense s = AttentionScores(q, k, in_.size() > 3 ? &in_[3] : nullptr, b, h);
      const double log_sum = LogSum(s, m);
      if (out_.size() > 1) out_[1](b, h, m) = log_sum;
      for (int64_t n = 0; n < k.shape[2]; ++n) {
        const double p = std::exp(s(m, n) - log_sum);
        for (int64_t c = 0; c < y.shape[3]; ++c) y(b, h, m, c) += p * v(b, h, n, c);
      }
    });
  }

  void AttentionBackward() {
    const Dense &dy = in_[0], &q = in_[1], &k = in_[2], &v = in_[3];
    For4(q.shape, [&](auto b, auto h, auto m, auto first) {
      if (first > 0) return;
      const Dense s = AttentionScores(q, k, in_.size() > 4 ? &in_[4] : nullptr, b, h);
      const double log_sum = LogSum(s, m);
      Dense dp({k.shape[2]});
      double mean = 0;  // sum over n of p dp
      for (int64_t n = 0; n < k.shape[2]; ++n) {
        const double p = std::exp(s(m, n) - log_sum);
        for (int64_t e = 0; e < v.shape[3]; ++e) {
          dp(n) += dy(b, h, m, e) * v(b, h, n, e);
          out_[2](b, h, n, e) += p * dy(b, h, m, e);
        }
        mean += p * dp(n);
      }
      for (int64_t n = 0; n < k.shape[2]; ++n) {
        const double ds = std::exp(s(m, n) - log_sum) * (dp(n) - mean) * params_.alpha;
        for (int64_t d = 0; d < q.shape[3]; ++d) {
          out_[0](b, h, m, d) += ds * k(b, h, n, d);
          out_[1](b, h, n, d) += ds * q(b, h, m, d);
        }
      }
    });
  }

  void CumulativeSum() {
    for (int64_t r = 0; r < in_[0].shape[0]; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < in_[0].shape[1]; ++i) out_[0](r, i) = sum += in_[0](r, i);
    }
  }

  void DropoutForward() {
    for (size_t i = 0; i < out_[0].values.size(); ++i) {
      out_[1].values[i] = Unit(i) >= params_.alpha ? 1 : 0;
      out_[0].values[i] = out_[1].values[i] * in_[0].values[i] / (1 - params_.alpha);
    }
  }

  void Reduce() {
    // The output seen with the input's shape: stride 0 along reduced axes.
    TensorView target = ContiguousView(DType::kF32, out_[0].shape);
    for (size_t axis = 0; axis < target.shape.size(); ++axis) {
      if (target.shape[axis] == 1) target.strides[axis] = 0;
    }
    target.shape = in_[0].shape;
    const std::vector<int64_t> offsets = ElementOffsets(target);
    const double terms =
        static_cast<double>(in_[0].values.size()) / static_cast<double>(out_[0].values.size());
    if (params_.function == Function::kMax) {
      std::ranges::fill(out_[0].values, -std::numeric_limits<double>::infinity());
    }
    for (size_t i = 0; i < offsets.size(); ++i) {
      const double x = in_[0].values[i];
      double& y = out_[0].values[offsets[i]];
      if (params_.function == Function::kSum) {
        y += x;
      } else if (params_.function == Function::kMean) {
        y += x / terms;
      } else if (params_.function == Function::kMax) {
        y = std::max(y, x);
      } else {
        EMPLACE_CHECK(params_.function == Function::kHalfSumOfSquares);
        y += x * x / 2;
      }
    }
  }

  void Gather() {
    for (int64_t i = 0; i < out_[0].shape[0]; ++i) {
      const int64_t row = Modulo(in_[1](i), in_[0].shape[0]);
      for (int64_t k = 0; k < out_[0].shape[1]; ++k) out_[0](i, k) = in_[0](row, k);
    }
  }

  void ScatterAdd() {
    if (!params_.zero_output) out_[0] = Read(call_.outputs[0]);
    for (int64_t i = 0; i < in_[0].shape[0]; ++i) {
      const int64_t row = Modulo(in_[1](i), out_[0].shape[0]);
      for (int64_t k = 0; k < out_[0].shape[1]; ++k) {
        out_[0](row, k) += params_.alpha * in_[0](i, k);
      }
    }
  }

  void Update() {
    const KernelParams& p = params_;
    const double rate = p.learning_rate;
    for (size_t i = 0; i < in_[0].values.size(); ++i) {
      const auto in = [&](int k) { return in_[k].values[i]; };
      const auto out = [&](int k) -> double& { return out_[k].values[i]; };
      switch (call_.kind) {
        case KernelKind::kMomentum:
          out(1) = p.momentum * in(2) + in(1) + p.weight_decay * in(0);
          out(0) = in(0) - rate * out(1);
          break;
        case KernelKind::kRmsProp:
          out(1) = p.beta2 * in(1) + (1 - p.beta2) * in(3) * in(3);
          out(2) = p.momentum * in(2) + rate * in(3) / std::sqrt(out(1) + p.epsilon);
          out(0) = in(0) - out(2);
          break;
        case KernelKind::kAdam:
          out(1) = p.beta1 * in(2) + (1 - p.beta1) * in(1);
          out(2) = p.beta2 * in(3) + (1 - p.beta2) * in(1) * in(1);
          out(0) =
              in(0) * (1 - rate * p.weight_decay) - rate * out(1) / (std::sqrt(out(2)) + p.epsilon);
          break;
        default:
          out(0) = in(0) - rate * (in(1) + p.weight_decay * in(0));
      }
    }
  }

  const KernelCall& call_;
  const KernelParams& params_;
  void* const* op_inputs_;
  void* const* op_outputs_;
  std::vector<Dense> in_, out_;
};

}  // namespace

void RunReference(const KernelCall& call, void* const* inputs, void* const* outputs) {
  Reference(call, inputs, outputs).Run();
}

void RunReference(const KernelCall& call, OpBuffers& buffers) {
  RunReference(call, buffers.inputs().data(), buffers.outputs().data());
}

}  // namespace emplace::testing
