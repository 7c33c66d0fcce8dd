#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "framework/cost/op_kind.h"
#include "profilers/kernels/op_reader.h"

namespace emplace {
namespace internal {

using std::int64_t;

void Require(bool condition, std::string_view what) {
  if (!condition) throw NoKernel{std::string(what)};
}

Argument With(Argument argument, TensorView view) {
  argument.view = std::move(view);
  return argument;
}

TensorView Permute(const TensorView& view, const std::vector<int>& order) {
  const std::set<int> distinct(order.begin(), order.end());
  Require(order.size() == view.shape.size() && distinct.size() == order.size(),
          "a permutation of other axes");
  TensorView result = view;
  for (size_t i = 0; i < order.size(); ++i) {
    Require(order[i] >= 0 && order[i] < static_cast<int>(order.size()),
            "a permutation of other axes");
    result.shape[i] = view.shape[order[i]];
    result.strides[i] = view.strides[order[i]];
  }
  return result;
}

TensorView Broadcast(const TensorView& view, const std::vector<int64_t>& shape) {
  const size_t rank = view.shape.size();
  Require(rank <= shape.size(), "an operand of higher rank than the result");
  TensorView result{.dtype = view.dtype,
                    .shape = shape,
                    .strides = std::vector<int64_t>(shape.size(), 0),
                    .offset = view.offset};
  const size_t missing = shape.size() - rank;
  for (size_t i = 0; i < rank; ++i) {
    Require(view.shape[i] == shape[missing + i] || view.shape[i] == 1,
            "an operand whose shape does not broadcast to the result's");
    if (view.shape[i] == shape[missing + i]) result.strides[missing + i] = view.strides[i];
  }
  return result;
}

std::optional<TensorView> TryReshape(const TensorView& view, const std::vector<int64_t>& shape) {
  TensorView result = ContiguousView(view.dtype, shape);
  result.offset = view.offset;
  if (view.is_contiguous() || view.num_elements() == 0) return result;

  // Runs of axes that can be joined into one, from the last: [size, stride of the innermost].
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] == 1) continue;
    if (!runs.empty() && view.strides[i] == runs.back().first * runs.back().second) {
      runs.back().first *= view.shape[i];
    } else {
      runs.emplace_back(view.shape[i], view.strides[i]);
    }
  }
  // Every run must be split into complete new axes.
  size_t run = 0;
  int64_t taken = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (run < runs.size() && taken == runs[run].first) {
      ++run;
      taken = 1;
    }
    if (shape[i] == 1) {
      result.strides[i] = 1;
      continue;
    }
    if (run == runs.size() || runs[run].first % (taken * shape[i]) != 0) return std::nullopt;
    result.strides[i] = runs[run].second * taken;
    taken *= shape[i];
  }
  return result;
}

TensorView Reshape(const TensorView& view, const std::vector<int64_t>& shape) {
  Require(view.num_elements() == ContiguousView(view.dtype, shape).num_elements(),
          "a reshape to another number of elements");
  std::optional<TensorView> result = TryReshape(view, shape);
  Require(result.has_value(), "a layout whose axes cannot be joined");
  return *result;
}

TensorView Slice(const TensorView& view, int axis, int64_t start, int64_t size, int64_t step) {
  Require(axis >= 0 && axis < static_cast<int>(view.shape.size()) && start >= 0 && size >= 0 &&
              step >= 1 &&
              (size == 0 ||
               (start < view.shape[axis] && size - 1 <= (view.shape[axis] - 1 - start) / step)),
          "a slice beyond the tensor");
  TensorView result = view;
  result.shape[axis] = size;
  result.strides[axis] *= step;
  if (size > 0) result.offset += start * view.strides[axis];
  return result;
}

TensorView Select(const TensorView& view, int axis, int64_t index) {
  TensorView result = Slice(view, axis, index, 1);
  result.shape.erase(result.shape.begin() + axis);
  result.strides.erase(result.strides.begin() + axis);
  return result;
}

Argument AsRows(const Argument& argument) {
  const TensorView& view = argument.view;
  Require(!view.shape.empty(), "a tensor of too low a rank");
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < view.shape.size(); ++i) rows *= view.shape[i];
  return With(argument, Reshape(view, {rows, view.shape.back()}));
}

Argument AsVector(const Argument& argument) {
  return With(argument, Reshape(argument.view, {argument.view.num_elements()}));
}

Argument Spread(const Argument& argument, const Argument& target) {
  return With(argument, Broadcast(argument.view, target.view.shape));
}

int Rank(const Argument& argument) {
  return static_cast<int>(argument.view.shape.size());
}

std::vector<int64_t> AllAxes(const Argument& argument) {
  std::vector<int64_t> axes(argument.view.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

int64_t ClampIndex(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
}

Argument Image(const Argument& argument, std::string_view data_format) {
  Require(argument.view.shape.size() == 4, "images that are not of rank 4");
  if (data_format == "NCHW") return argument;
  Require(data_format == "NHWC", fmt::format("data format \"{}\"", data_format));
  return With(argument, Permute(argument.view, {0, 3, 1, 2}));
}

}  // namespace internal

namespace {

using internal::Attributes;
using internal::NoKernel;
using internal::OpReader;
using std::int64_t;

// Returns whether shape and dtype are known and need at most the tensor's bytes.
bool HasShape(const Tensor& tensor) {
  const std::optional<DType> dtype = ParseDType(tensor.dtype);
  if (!dtype) return false;
  int64_t bytes = SizeOf(*dtype);
  for (const int64_t size : tensor.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return false;
  }
  return std::ranges::count(tensor.shape, 0) > 0 || bytes <= tensor.bytes;
}

// Returns the layout of a tensor that owns its bytes: row-major, or plain bytes if it is unknown.
TensorView OwnLayout(const Tensor& tensor) {
  return HasShape(tensor) ? ContiguousView(*ParseDType(tensor.dtype), tensor.shape)
                          : ContiguousView(DType::kBool, {tensor.bytes});
}

// Returns the layout of output `position` of a viewing op, in its input's view.
TensorView ViewOf(const Op& op, int position, const Graph& graph, const TensorView& base) {
  const std::vector<int64_t>& shape = graph.tensor(op.outputs[position]).shape;
  const auto rank = static_cast<int64_t>(base.shape.size());
  const std::string_view name = AtenName(op.kind);
  const Attributes attributes(op.attributes);
  const auto axis = [&](std::string_view key, std::optional<int64_t> fallback = {}) {
    return OpReader::Axis(attributes.Int(key, fallback), rank);
  };
  const auto extent = [&](int dim) {
    internal::Require(shape.size() == base.shape.size(), "a view of another rank");
    return shape[dim];
  };
  const auto swap = [&](int a, int b) {
    std::vector<int> order(base.shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::swap(order[a], order[b]);
    return internal::Permute(base, order);
  };
  if (name == "t") return rank < 2 ? base : swap(0, 1);
  if (name == "transpose") return swap(axis("dim0"), axis("dim1"));
  if (name == "permute") {
    std::vector<int> order;
    for (const int64_t dim : attributes.List("dims")) order.push_back(OpReader::Axis(dim, rank));
    return internal::Permute(base, order);
  }
  if (name == "expand" || name == "expand_as") return internal::Broadcast(base, shape);
  if (name == "slice") {
    const int dim = axis("dim", 0);
    return internal::Slice(base,
                           dim,
                           internal::ClampIndex(attributes.Int("start", 0), base.shape[dim]),
                           extent(dim),
                           attributes.Int("step", 1));
  }
  if (name == "narrow") {
    const int dim = axis("dim");
    return internal::Slice(base, dim, attributes.Int("start"), extent(dim));
  }
  if (name == "select") {
    const int dim = axis("dim");
    return internal::Select(base, dim, OpReader::Axis(attributes.Int("index"), base.shape[dim]));
  }
  if (name == "as_strided") {
    TensorView view = base;
    view.shape = attributes.List("size");
    view.strides = attributes.List("stride");
    view.offset = attributes.Int("storage_offset", base.offset);
    internal::Require(view.shape.size() == view.strides.size() && view.offset >= 0 &&
                          std::ranges::all_of(view.strides, [](int64_t s) { return s >= 0; }),
                      "strides that do not fit the sizes");
    return view;
  }
  if (name == "unbind") return internal::Select(base, axis("dim", 0), position);
  if (name == "split" || name == "split_with_sizes" || name == "chunk") {
    const int dim = axis("dim", 0);
    int64_t start = 0;
    for (int i = 0; i < position; ++i) {
      const std::vector<int64_t>& sibling = graph.tensor(op.outputs[i]).shape;
      internal::Require(sibling.size() == base.shape.size(), "a view of another rank");
      start += sibling[dim];
    }
    return internal::Slice(base, dim, start, extent(dim));
  }
  if (base.shape == shape) return base;  // identity, update in place
  return internal::Reshape(base, shape);
}

bool Fits(const TensorView& view, int64_t bytes) {
  if (view.num_elements() == 0) return true;
  const int64_t limit = bytes / SizeOf(view.dtype);
  int64_t last = view.offset;
  if (last >= limit) return false;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    // Attributes may hold any number, so sizes are compared before they are multiplied.
    if (view.strides[i] > 0 && view.shape[i] - 1 > (limit - 1 - last) / view.strides[i])
      return false;
    last += (view.shape[i] - 1) * view.strides[i];
  }
  return true;
}

}  // namespace

TensorView LayoutOf(const Graph& graph, int tensor, const OwnLayouts& own) {
  // Goes from the root to the tensor, so that long alias chains need no recursion.
  std::vector<int> chain;
  for (int t = tensor; t >= 0; t = graph.tensor(t).alias_of) chain.push_back(t);
  const int64_t root_bytes = graph.tensor(chain.back()).bytes;
  const auto known = own.find(chain.back());
  TensorView view = known != own.end() ? known->second : OwnLayout(graph.tensor(chain.back()));
  for (size_t i = chain.size() - 1; i-- > 0;) {
    const Tensor& alias = graph.tensor(chain[i]);
    std::optional<TensorView> seen;
    if (alias.producer >= 0 && HasShape(alias) && ParseDType(alias.dtype) == view.dtype) {
      const Op& op = graph.op(alias.producer);
      const auto position = std::ranges::find(op.outputs, chain[i]) - op.outputs.begin();
      try {
        seen = ViewOf(op, static_cast<int>(position), graph, view);
        if (seen->shape != alias.shape) seen.reset();
      } catch (const NoKernel&) {  // strides cannot express it
      }
    }
    if (!seen || !Fits(*seen, root_bytes)) seen = OwnLayout(alias);
    if (!Fits(*seen, root_bytes)) std::ranges::fill(seen->strides, 0);
    view = *std::move(seen);
  }
  return view;
}

}  // namespace emplace
