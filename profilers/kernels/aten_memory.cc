// PyTorch's copies, slices, indexing, constants and random numbers.

#include <utility>

#include "profilers/kernels/op_reader.h"
#include "profilers/kernels/shared_rules.h"

namespace emplace::internal {
namespace aten {
namespace {

using std::int64_t;
using Ints = Attributes::Ints;

// bernoulli(x); the values of x do not matter. floor(uniform + p) is 1 with probability p
void Bernoulli(OpReader& r) {
  const Argument out = r.Out(0);
  r.Emit(KernelKind::kRandomUniform, {}, {out});
  r.EmitElementwise(Function::kAdd, {out}, out, r.attributes().Number("p"));
  r.EmitElementwise(Function::kFloor, {out}, out);
}

// Returns the indices as one vector, with their rows. If no stride can join the indices (positions
// shared by all samples), returns a pair per index of the first axis.
std::vector<std::pair<Argument, Argument>> WithRows(const Argument& indices, const Argument& rows) {
  const std::vector<int64_t>& shape = indices.view.shape;
  if (TryReshape(indices.view, {indices.view.num_elements()}).has_value()) {
    return {{AsVector(indices), AsRows(rows)}};
  }
  Require(shape[0] == rows.view.shape[0], "rows of other indices");
  std::vector<std::pair<Argument, Argument>> pairs;
  for (int64_t i = 0; i < shape[0]; ++i) {
    pairs.emplace_back(AsVector(With(indices, Select(indices.view, 0, i))),
                       AsRows(With(rows, Select(rows.view, 0, i))));
  }
  return pairs;
}

// embedding(table, indices)
void Embedding(OpReader& r) {
  for (const auto& [indices, rows] : WithRows(r.In(1), r.Out(0))) {
    r.Emit(KernelKind::kGather, {r.In(0), indices}, {rows});
  }
}

// embedding_dense_backward(dy, indices)
void EmbeddingBackward(OpReader& r) {
  Require(!r.attributes().Bool("scale_grad_by_freq", false),
          "gradients that are scaled by frequency");
  KernelParams params{.alpha = 1, .zero_output = true};
  for (const auto& [indices, rows] : WithRows(r.In(1), r.In(0))) {
    r.Emit(KernelKind::kScatterAdd, {rows, indices}, {AsRows(r.Out(0))}, params);
    params.zero_output = false;  // later calls add to it
  }
  const int64_t padding = r.attributes().Int("padding_idx", -1);
  if (padding < 0) return;
  const Argument table = r.Out(0);  // the padding's row has no gradient
  r.Emit(KernelKind::kFill, {}, {With(table, Slice(table.view, 0, padding, 1))});
}

// masked_fill(x, mask), value as attribute "value" or as a third input
void MaskedFill(OpReader& r) {
  const Argument out = r.Out(0);
  KernelParams params;
  std::vector<Argument> inputs{Spread(r.In(1), out)};
  if (r.num_inputs() > 2) {
    inputs.push_back(Spread(r.In(2), out));
  } else {
    params.alpha = r.attributes().Number("value");
  }
  inputs.push_back(Spread(r.In(0), out));
  r.Emit(KernelKind::kSelect, std::move(inputs), {out}, params);
}

// cat(parts...)
void Cat(OpReader& r) {
  const Argument whole = r.Out(0);
  const int axis = OpReader::Axis(r.attributes().Int("dim", 0), Rank(whole));
  r.EmitParts(whole, r.Inputs(0, r.num_inputs()), axis, true);
}

// stack(parts...): each part is one step along a new axis
void Stack(OpReader& r) {
  const Argument whole = r.Out(0);
  const int axis = OpReader::Axis(r.attributes().Int("dim", 0), Rank(whole));
  std::vector<Argument> windows;
  for (int i = 0; i < r.num_inputs(); ++i) {
    windows.push_back(With(whole, Select(whole.view, axis, i)));
  }
  r.Emit(KernelKind::kCopy, r.Inputs(0, r.num_inputs()), std::move(windows));
}

// clone(x), contiguous(x)
void Clone(OpReader& r) {
  r.Emit(KernelKind::kCopy, {r.In(0)}, {r.Out(0)});
}

// fill(x, value)
void FillWith(OpReader& r) {
  if (r.num_inputs() < 2) return r.EmitFill(r.attributes().Number("value"));
  SpreadCopy<1>(r);
}

// scalar_tensor()
void ScalarTensor(OpReader& r) {
  r.EmitFill(r.attributes().Number("s"));
}

// arange()
void Range(OpReader& r) {
  const KernelParams params{.alpha = r.attributes().Number("start", 0),
                            .step = r.attributes().Number("step", 1)};
  r.Emit(KernelKind::kRange, {}, {r.Out(0)}, params);
}

// roll(x) by "shifts" along "dims": every shifted axis is split into two parts that are swapped
void Roll(OpReader& r) {
  const Argument x = r.In(0), out = r.Out(0);
  const Ints shifts = r.attributes().List("shifts"), dims = r.attributes().List("dims", Ints{});
  Require(shifts.size() == dims.size(), "a roll of the flat tensor");
  std::vector<Argument> from{x}, to{out};
  for (size_t i = 0; i < dims.size(); ++i) {
    const int axis = OpReader::Axis(dims[i], Rank(x));
    const int64_t size = x.view.shape[axis];
    const int64_t shift = size == 0 ? 0 : (shifts[i] % size + size) % size;
    std::vector<Argument> next_from, next_to;
    for (size_t part = 0; part < from.size(); ++part) {
      const auto add = [&](int64_t start, int64_t target, int64_t count) {
        next_from.push_back(With(from[part], Slice(from[part].view, axis, start, count)));
        next_to.push_back(With(to[part], Slice(to[part].view, axis, target, count)));
      };
      add(0, shift, size - shift);
      if (shift > 0) add(size - shift, 0, shift);
    }
    from = std::move(next_from);
    to = std::move(next_to);
  }
  r.Emit(KernelKind::kCopy, std::move(from), std::move(to));
}

// repeat(x): missing leading axes have size 1
void Repeat(OpReader& r) {
  const Argument x = r.In(0), out = r.Out(0);
  TensorView view = x.view;
  Require(Rank(x) <= Rank(out), "a repeat to a lower rank");
  view.shape.insert(view.shape.begin(), Rank(out) - Rank(x), 1);
  view.strides.insert(view.strides.begin(), Rank(out) - Rank(x), 0);
  r.EmitTile(With(x, view), out);
}

// Copies input 0 to the output, then input 1 to the part of it that `window` covers
void EmitScatter(OpReader& r, const TensorView& window) {
  r.Emit(KernelKind::kCopy, {r.In(0)}, {r.Out(0)});
  r.Emit(KernelKind::kCopy, {r.In(1)}, {With(r.Out(0), window)});
}

// Returns the part of `whole` that "start" and "step" select along "dim", as long as `part`.
// @param dim_if_missing  nullopt: NoKernel
TensorView SliceOf(OpReader& r,
                   const Argument& whole,
                   const Argument& part,
                   std::optional<int64_t> dim_if_missing = {}) {
  const Attributes& attributes = r.attributes();
  const int dim = OpReader::Axis(attributes.Int("dim", dim_if_missing), Rank(whole));
  Require(Rank(part) == Rank(whole), "a slice of another rank");
  int64_t start = attributes.Int("start", 0);
  if (start < 0) start += whole.view.shape[dim];
  return Slice(whole.view, dim, start, part.view.shape[dim], attributes.Int("step", 1));
}

// Returns the part of `whole` at "index" of "dim".
TensorView SelectionOf(OpReader& r, const Argument& whole) {
  const int dim = OpReader::Axis(r.attributes().Int("dim"), Rank(whole));
  return Select(
      whole.view, dim, OpReader::Axis(r.attributes().Int("index"), whole.view.shape[dim]));
}

// slice_scatter(old, part)
void SliceScatter(OpReader& r) {
  EmitScatter(r, SliceOf(r, r.Out(0), r.In(1), 0));
}

// select_scatter(old, part)
void SelectScatter(OpReader& r) {
  EmitScatter(r, SelectionOf(r, r.Out(0)));
}

// constant_pad_nd(x): "pad" has [begin, end] of the last axis, then of the one before, ...
void Pad(OpReader& r) {
  const Ints pad = r.attributes().List("pad");
  const Argument x = r.In(0), out = r.Out(0);
  Require(
      Rank(x) == Rank(out) && pad.size() % 2 == 0 && static_cast<int>(pad.size()) <= 2 * Rank(out),
      "a padding of other axes");
  TensorView window = out.view;
  for (size_t i = 0; i < pad.size(); i += 2) {
    const int axis = Rank(out) - 1 - static_cast<int>(i / 2);
    window = Slice(window, axis, pad[i], x.view.shape[axis]);
  }
  r.EmitFill(r.attributes().Number("value", 0));
  r.Emit(KernelKind::kCopy, {x}, {With(out, window)});
}

// index_select(x, indices)
void IndexSelect(OpReader& r) {
  const int dim = OpReader::Axis(r.attributes().Int("dim"), Rank(r.In(0)));
  r.Emit(KernelKind::kGather,
         {RowsAlong(r.In(0), dim), AsVector(r.In(1))},
         {RowsAlong(r.Out(0), dim)});
}

// index_add(old, indices, rows)
void IndexAdd(OpReader& r) {
  const int dim = OpReader::Axis(r.attributes().Int("dim"), Rank(r.In(0)));
  const KernelParams params{.alpha = r.attributes().Number("alpha", 1)};
  r.Emit(KernelKind::kCopy, {r.In(0)}, {r.Out(0)});
  r.Emit(KernelKind::kScatterAdd,
         {RowsAlong(r.In(2), dim), AsVector(r.In(1))},
         {RowsAlong(r.Out(0), dim)},
         params);
}

// index(x, indices) of the first axis, or of both axes of a matrix. The graph does not state which
// axes are indexed; indices that fit the first axis are taken to be its own
void Index(OpReader& r) {
  const Argument out = r.Out(0);
  if (r.num_inputs() == 3 && Rank(r.In(0)) == 2) {
    return r.Emit(
        KernelKind::kGatherPlaces, {r.In(0), Spread(r.In(1), out), Spread(r.In(2), out)}, {out});
  }
  Require(r.num_inputs() == 2 && r.In(1).view.dtype != DType::kBool, "indices of several axes");
  Require(r.In(0).view.shape[0] > 0 && Rank(r.Out(0)) == Rank(r.In(0)) + Rank(r.In(1)) - 1 &&
              r.In(1).view.num_elements() > 0,
          "indices of an axis other than the first");
  r.Emit(KernelKind::kGather,
         {RowsAlong(r.In(0), 0), AsVector(r.In(1))},
         {RowsFor(r.Out(0), r.In(1))});
}

// index_put(old, indices, rows) of the first axis, with accumulation
void IndexPut(OpReader& r) {
  Require(r.num_inputs() == 3 && r.In(1).view.dtype != DType::kBool, "indices of several axes");
  Require(r.attributes().Bool("accumulate", false), "values that replace the old ones");
  const Argument rows = r.In(2);
  Require(Rank(rows) == Rank(r.In(0)) + Rank(r.In(1)) - 1 && r.In(1).view.num_elements() > 0,
          "indices of an axis other than the first");
  const KernelParams params{.alpha = 1};
  r.Emit(KernelKind::kCopy, {r.In(0)}, {r.Out(0)});
  r.Emit(KernelKind::kScatterAdd,
         {RowsFor(rows, r.In(1)), AsVector(r.In(1))},
         {RowsAlong(r.Out(0), 0)},
         params);
}

// full(), full_like(x)
void Full(OpReader& r) {
  r.EmitFill(r.attributes().Number("fill_value"));
}

// slice_backward(dy)
void SliceBackward(OpReader& r) {
  r.EmitZeroPadded(r.In(0), r.Out(0), SliceOf(r, r.Out(0), r.In(0)));
}

// select_backward(dy)
void SelectBackward(OpReader& r) {
  r.EmitZeroPadded(r.In(0), r.Out(0), SelectionOf(r, r.Out(0)));
}

// rand(), rand_like(x), uniform(x)
void Random(OpReader& r) {
  Require(r.attributes().Number("from", 0) == 0 && r.attributes().Number("to", 1) == 1,
          "random numbers of another range");
  r.Emit(KernelKind::kRandomUniform, {}, {r.Out(0)});
}

constexpr WorkRule kMemoryRules[] = {
    {"arange", Range},
    {"bernoulli", Bernoulli},
    {"cat", Cat},
    {"clone", Clone},
    {"constant_pad_nd", Pad},
    {"contiguous", Clone},
    {"copy", SpreadCopy<1>},
    {"embedding", Embedding},
    {"embedding_dense_backward", EmbeddingBackward},
    {"expand_copy", SpreadCopy<0>},
    {"fill", FillWith},
    {"full", Full},
    {"full_like", Full},
    {"index", Index},
    {"index_add", IndexAdd},
    {"index_put", IndexPut},
    {"index_select", IndexSelect},
    {"masked_fill", MaskedFill},
    {"new_full", Full},
    {"new_ones", Constant<1>},
    {"new_zeros", Constant<0>},
    {"ones", Constant<1>},
    {"ones_like", Constant<1>},
    {"rand", Random},
    {"rand_like", Random},
    {"repeat", Repeat},
    {"roll", Roll},
    {"scalar_tensor", ScalarTensor},
    {"select_backward", SelectBackward},
    {"select_scatter", SelectScatter},
    {"slice_backward", SliceBackward},
    {"slice_scatter", SliceScatter},
    {"stack", Stack},
    {"uniform", Random},
    {"where", Where},
    {"zeros", Constant<0>},
    {"zeros_like", Constant<0>},
};

}  // namespace
}  // namespace aten

std::span<const WorkRule> AtenMemory() {
  return aten::kMemoryRules;
}

}  // namespace emplace::internal
