// Pooling in hand-written loops over any strides, because oneDNN does not support the first-maximum
// rule and the index output. Up to 64 windows are computed at once: those of neighbouring channels
// if channels are contiguous (NHWC), else those of neighbouring columns.

#include <algorithm>
#include <cstddef>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

constexpr std::int64_t kLanes = 64;  // windows at once

struct Strides {  // of a [n, c, h, w] view
  explicit Strides(const TensorView& view)
      : n(view.strides[0]), c(view.strides[1]), h(view.strides[2]), w(view.strides[3]) {}
  std::int64_t n, c, h, w;
};

struct Range {
  std::int64_t begin = 0, end = 0;
};

// Windows of one image and one row: of channels [channel, channel + lanes) at a column, or of
// columns [column, column + lanes) of a channel.
struct Tile {
  std::int64_t image, channel, row, column, lanes;
};

// The geometry that all pooling kernels share. x stands for x and dx, y for y and dy.
class Geometry {
 public:
  Geometry(const KernelCall& call, const TensorView& x, const TensorView& y)
      : x_(x), window_(call.params.window) {
    images_ = x.shape[0];
    channels_ = x.shape[1];
    height_ = x.shape[2];
    width_ = x.shape[3];
    out_height_ = y.shape[2];
    out_width_ = y.shape[3];
    over_channels_ = x.strides[1] == 1 && channels_ > 1;
  }

  std::int64_t plane_size() const { return height_ * width_; }
  std::int64_t width() const { return width_; }
  const Strides& x() const { return x_; }

  /// Calls f(tile) for all windows, spread over the threads by image and channels.
  template <typename F>
  void ForEachTile(int threads, const F& f) const {
    const std::int64_t channels = over_channels_ ? kLanes : 1,
                       columns = over_channels_ ? 1 : kLanes;
    const std::int64_t blocks = (channels_ + channels - 1) / channels;
    ParallelRanges(threads, images_ * blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t channel = i % blocks * channels;
        for (std::int64_t row = 0; row < out_height_; ++row)
          for (std::int64_t column = 0; column < out_width_; column += columns)
            f(Tile{i / blocks,
                   channel,
                   row,
                   column,
                   over_channels_ ? std::min(channels, channels_ - channel)
                                  : std::min(columns, out_width_ - column)});
      }
    });
  }

  /// Returns the offset of a tile's first element in a view of the output's shape; Step() returns
  /// that from lane to lane.
  std::int64_t First(const Tile& tile, const Strides& y) const {
    return tile.image * y.n + tile.channel * y.c + tile.row * y.h + tile.column * y.w;
  }
  std::int64_t Step(const Strides& y) const { return over_channels_ ? y.c : y.w; }

  /// Returns the offset in x of the plane of a tile's lane.
  std::int64_t Plane(const Tile& tile, std::int64_t lane) const {
    return tile.image * x_.n + (tile.channel + (over_channels_ ? lane : 0)) * x_.c;
  }

  /// Calls visit(lanes, offset in x and its step per lane, place in the plane and its step per
  /// lane), row-major, for every element of the windows of a tile that is inside the input.
  template <typename Visit>
  void ForEachElement(const Tile& tile, const Visit& visit) const {
    const std::int64_t plane = Plane(tile, 0);
    const std::int64_t stride = window_.stride[1], pad = window_.pad_begin[1];
    const Range rows = Rows(tile.row);
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      if (over_channels_) {
        const Range columns = Columns(tile.column);
        for (std::int64_t w = columns.begin; w < columns.end; ++w)
          visit(Range{0, tile.lanes}, plane + h * x_.h + w * x_.w, 1, h * width_ + w, 0);
        continue;
      }
      for (std::int64_t s = 0; s < window_.size[1]; ++s) {
        const std::int64_t first = tile.column * stride - pad + s;  // of lane 0
        const Range lanes{
            std::min(tile.lanes, first < 0 ? (-first + stride - 1) / stride : 0),
            std::clamp((width_ - first + stride - 1) / stride, std::int64_t{0}, tile.lanes)};
        visit(lanes, plane + h * x_.h + first * x_.w, stride * x_.w, h * width_ + first, stride);
      }
    }
  }

  /// Computes the weight of one element of each window of a tile in an average.
  void Shares(const Tile& tile, float* shares) const {
    const Range rows = Rows(tile.row);
    for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
      const Range columns = Columns(tile.column + (over_channels_ ? 0 : lane));
      const std::int64_t count = window_.count_include_pad
                                     ? window_.size[0] * window_.size[1]
                                     : (rows.end - rows.begin) * (columns.end - columns.begin);
      shares[lane] = 1 / static_cast<float>(count);
    }
  }

 private:
  Range Inside(int axis, std::int64_t position, std::int64_t size) const {
    const std::int64_t first = position * window_.stride[axis] - window_.pad_begin[axis];
    return {std::max<std::int64_t>(first, 0), std::min(first + window_.size[axis], size)};
  }
  Range Rows(std::int64_t row) const { return Inside(0, row, height_); }
  Range Columns(std::int64_t column) const { return Inside(1, column, width_); }

  Strides x_;
  Window window_;
  std::int64_t images_, channels_, height_, width_, out_height_, out_width_;
  bool over_channels_;
};

// The first maximum of each window of a tile, and its place in the plane (row * width + column).
struct Maxima {
  float values[kLanes];
  std::int32_t places[kLanes];
};

inline void FindMaxima(const Geometry& geometry, const Tile& tile, const float* x, Maxima& best) {
  std::fill_n(best.places, tile.lanes, -1);
  std::fill_n(best.values, tile.lanes, 0.F);
  geometry.ForEachElement(
      tile,
      [&](Range lanes,
          std::int64_t offset,
          std::int64_t step,
          std::int64_t place,
          std::int64_t place_step) {
        const auto keep_better = [&](std::int64_t lane, float value) {
          const bool better = (best.places[lane] < 0) | (value > best.values[lane]);
          best.values[lane] = better ? value : best.values[lane];
          best.places[lane] =
              better ? static_cast<std::int32_t>(place + lane * place_step) : best.places[lane];
        };
        const float* from = x + offset;
        if (step == 1) {
#pragma omp simd
          for (std::int64_t i = lanes.begin; i < lanes.end; ++i) keep_better(i, from[i]);
        } else if (step == 2) {
#pragma omp simd
          for (std::int64_t i = lanes.begin; i < lanes.end; ++i) keep_better(i, from[2 * i]);
        } else {
          for (std::int64_t i = lanes.begin; i < lanes.end; ++i) keep_better(i, from[i * step]);
        }
      });
}

// Adds each lane's dy to the element of dx at its place.
inline void Scatter(const Geometry& geometry,
                    const Tile& tile,
                    const std::int32_t* places,
                    const float* dy,
                    std::int64_t dy_step,
                    float* dx) {
  const auto width = static_cast<std::int32_t>(geometry.width());
  for (std::int64_t lane = 0; lane < tile.lanes; ++lane)
    dx[geometry.Plane(tile, lane) + places[lane] / width * geometry.x().h +
       places[lane] % width * geometry.x().w] += dy[lane * dy_step];
}

std::unique_ptr<ViewKernel> MakeMaxForward(const KernelCall& call, int threads) {
  const TensorView& y_view = call.outputs[0].view;
  const Geometry geometry(call, call.inputs[0].view, y_view);
  const bool has_indices = call.outputs.size() == 2;
  const Strides y(y_view), indices(call.outputs.back().view);
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    const std::int64_t step = geometry.Step(y), index_step = geometry.Step(indices);
    geometry.ForEachTile(threads, [&](const Tile& tile) {
      Maxima best;
      FindMaxima(geometry, tile, As<float>(in[0]), best);
      float* to = As<float>(out[0]) + geometry.First(tile, y);
      for (std::int64_t i = 0; i < tile.lanes; ++i) to[i * step] = best.values[i];
      if (!has_indices) return;
      std::int64_t* index = As<std::int64_t>(out[1]) + geometry.First(tile, indices);
      for (std::int64_t i = 0; i < tile.lanes; ++i) index[i * index_step] = best.places[i];
    });
  });
}

// Clears dx, the only output, and calls run(in, out).
template <typename Run>
std::unique_ptr<ViewKernel> MakeAccumulating(const KernelCall& call, int threads, Run run) {
  const std::shared_ptr<ViewKernel> clear =
      MakeFill(PartCall(KernelKind::kFill, {}, {call.outputs[0].view}), threads);
  return MakeKernel([=](void* const* in, void* const* out, void* scratch) {
    clear->Run(nullptr, out, scratch);
    run(in, out);
  });
}

std::unique_ptr<ViewKernel> MakeMaxBackward(const KernelCall& call, int threads) {
  const TensorView &x = call.inputs[0].view, &dy_view = call.inputs[2].view,
                   &dx = call.outputs[0].view;
  const Geometry geometry(call, x, dy_view), target(call, dx, dy_view);
  if (!HaveEqualSteps(x, dx))  // the same tiles for both
    return PackUnless(&IsContiguous, &MakePooling, call, threads);
  const Strides dy(dy_view);
  return MakeAccumulating(call, threads, [=](void* const* in, void* const* out) {
    geometry.ForEachTile(threads, [&](const Tile& tile) {
      Maxima best;
      FindMaxima(geometry, tile, As<float>(in[0]), best);
      Scatter(target,
              tile,
              best.places,
              As<float>(in[2]) + geometry.First(tile, dy),
              geometry.Step(dy),
              As<float>(out[0]));
    });
  });
}

std::unique_ptr<ViewKernel> MakeMaxBackwardIndices(const KernelCall& call, int threads) {
  const TensorView& index_view = call.inputs[1].view;
  const Geometry geometry(call, call.outputs[0].view, call.inputs[0].view);
  const Strides dy(call.inputs[0].view), indices(index_view);
  return MakeAccumulating(call, threads, [=](void* const* in, void* const* out) {
    const std::int64_t index_step = geometry.Step(indices);
    geometry.ForEachTile(threads, [&](const Tile& tile) {
      const auto* from = As<std::int64_t>(in[1]) + geometry.First(tile, indices);
      std::int32_t places[kLanes];
      // Indices come from a forward pass. Clamping keeps arbitrary bytes inside the plane.
      for (std::int64_t i = 0; i < tile.lanes; ++i)
        places[i] = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(from[i * index_step], 0, geometry.plane_size() - 1));
      Scatter(geometry,
              tile,
              places,
              As<float>(in[0]) + geometry.First(tile, dy),
              geometry.Step(dy),
              As<float>(out[0]));
    });
  });
}

std::unique_ptr<ViewKernel> MakeAverageForward(const KernelCall& call, int threads) {
  const Geometry geometry(call, call.inputs[0].view, call.outputs[0].view);
  const Strides y(call.outputs[0].view);
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    const std::int64_t step = geometry.Step(y);
    geometry.ForEachTile(threads, [&](const Tile& tile) {
      float sums[kLanes] = {}, shares[kLanes];
      geometry.ForEachElement(
          tile,
          [&](Range lanes, std::int64_t offset, std::int64_t x_step, std::int64_t, std::int64_t) {
            const float* from = As<float>(in[0]) + offset;
            if (x_step == 1) {
#pragma omp simd
              for (std::int64_t i = lanes.begin; i < lanes.end; ++i) sums[i] += from[i];
            } else {
              for (std::int64_t i = lanes.begin; i < lanes.end; ++i) sums[i] += from[i * x_step];
            }
          });
      geometry.Shares(tile, shares);
      float* to = As<float>(out[0]) + geometry.First(tile, y);
      for (std::int64_t i = 0; i < tile.lanes; ++i) to[i * step] = sums[i] * shares[i];
    });
  });
}

std::unique_ptr<ViewKernel> MakeAverageBackward(const KernelCall& call, int threads) {
  const Geometry geometry(call, call.outputs[0].view, call.inputs[0].view);
  const Strides dy(call.inputs[0].view);
  return MakeAccumulating(call, threads, [=](void* const* in, void* const* out) {
    const std::int64_t step = geometry.Step(dy);
    geometry.ForEachTile(threads, [&](const Tile& tile) {
      float shares[kLanes];
      geometry.Shares(tile, shares);
      const float* from = As<float>(in[0]) + geometry.First(tile, dy);
      for (std::int64_t i = 0; i < tile.lanes; ++i) shares[i] *= from[i * step];
      geometry.ForEachElement(
          tile,
          [&](Range lanes, std::int64_t offset, std::int64_t x_step, std::int64_t, std::int64_t) {
            float* to = As<float>(out[0]) + offset;
            if (x_step == 1) {
#pragma omp simd
              for (std::int64_t i = lanes.begin; i < lanes.end; ++i) to[i] += shares[i];
            } else {
              for (std::int64_t i = lanes.begin; i < lanes.end; ++i) to[i * x_step] += shares[i];
            }
          });
    });
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakePooling(const KernelCall& call, int threads) {
  switch (call.kind) {
    case KernelKind::kMaxPoolForward:
      return MakeMaxForward(call, threads);
    case KernelKind::kMaxPoolBackward:
      return MakeMaxBackward(call, threads);
    case KernelKind::kMaxPoolBackwardIndices:
      return MakeMaxBackwardIndices(call, threads);
    case KernelKind::kAvgPoolForward:
      return MakeAverageForward(call, threads);
    default:
      return MakeAverageBackward(call, threads);
  }
}

}  // namespace emplace::cpu
