// Composed kernels as calls of other kernels.

#include <algorithm>
#include <limits>
#include <utility>

#include "profilers/kernels/kernel_table.h"
#include "profilers/kernels/op_reader.h"

namespace emplace::compositions {
namespace {

using internal::Permute;
using internal::Reshape;
using internal::TryReshape;
using internal::With;
using std::int64_t;
using Shape = std::vector<int64_t>;

class Parts {
 public:
  explicit Parts(const KernelCall& call) {
    for (const auto* arguments : {&call.inputs, &call.outputs}) {
      for (const Argument& argument : *arguments) {
        if (!argument.is_output) continue;
        result_.first_temporary = std::max(result_.first_temporary, argument.index + 1);
      }
    }
  }

  Argument Temporary(const Shape& shape, DType dtype = DType::kF32) {
    const int index = result_.first_temporary + static_cast<int>(result_.temporary_bytes.size());
    Argument argument{.is_output = true, .index = index, .view = ContiguousView(dtype, shape)};
    result_.temporary_bytes.push_back(argument.view.end_bytes());
    return argument;
  }

  void Emit(KernelKind kind,
            std::vector<Argument> inputs,
            std::vector<Argument> outputs,
            const KernelParams& params = {}) {
    result_.parts.push_back({kind, params, std::move(inputs), std::move(outputs)});
  }
  void EmitFunction(KernelKind kind,
                    Function function,
                    std::vector<Argument> inputs,
                    Argument output,
                    double alpha = 0) {
    const KernelParams params{.function = function, .alpha = alpha};
    Emit(kind, std::move(inputs), {std::move(output)}, params);
  }

  void Compute(Function function, std::vector<Argument> inputs, Argument output, double alpha = 0) {
    EmitFunction(KernelKind::kElementwise, function, std::move(inputs), std::move(output), alpha);
  }

  // Returns the argument in another shape, as a view, or as a copy if strides do not allow a view.
  Argument Reshaped(const Argument& argument, const Shape& shape) {
    std::optional<TensorView> view = TryReshape(argument.view, shape);
    if (view) return With(argument, *view);
    const Argument copy = Temporary(argument.view.shape, argument.view.dtype);
    Emit(KernelKind::kCopy, {argument}, {copy});
    return With(copy, Reshape(copy.view, shape));
  }

  // Returns `output` itself if it can be viewed as `shape`, else a temporary to be copied there.
  Argument OutputOrTemporary(const Argument& output, const Shape& shape) {
    return TryReshape(output.view, shape) ? output : Temporary(output.view.shape);
  }
  void EmitCopyUnlessSame(const Argument& from, const Argument& to) {
    const bool is_same = from.is_output == to.is_output && from.index == to.index;
    if (!is_same) Emit(KernelKind::kCopy, {from}, {to});
  }

  // Returns [b, h, m, d] as matrices [b h, m, d].
  Argument Matrices(const Argument& argument) {
    const Shape& shape = argument.view.shape;
    return Reshaped(argument, {shape[0] * shape[1], shape[2], shape[3]});
  }

  // Computes output [b, h, m, n] = a b of matrices [b h, m, k], [b h, k, n].
  void EmitProduct(const Argument& a, const Argument& b, const Argument& output) {
    const Shape& shape = output.view.shape;
    const Shape joined{shape[0] * shape[1], shape[2], shape[3]};
    std::optional<TensorView> view = TryReshape(output.view, joined);
    if (view) return Emit(KernelKind::kMatmul, {a, b}, {With(output, *view)});
    const Argument product = Temporary(shape);
    Emit(KernelKind::kMatmul, {a, b}, {With(product, Reshape(product.view, joined))});
    Emit(KernelKind::kCopy, {product}, {output});
  }

  Composition Take() { return std::move(result_); }

 private:
  Composition result_;
};

// The shape of group norms: [n, c, l] in g groups.
struct Groups {
  int64_t n, c, l, g;
  Groups(const Argument& x, const Argument& statistic)
      : n(x.view.shape[0]), c(x.view.shape[1]), l(x.view.shape[2]), g(statistic.view.shape[1]) {}
  Shape shape() const { return {n, c, l}; }
  Shape rows() const { return {n, g, c / g * l}; }
  // Broadcasts a vector per channel, or a number per group, to every element.
  Argument PerChannel(const Argument& vector) const {
    return With(vector, internal::Broadcast(Reshape(vector.view, {c, 1}), shape()));
  }
  Argument PerRow(const Argument& statistic) const {
    return With(statistic, internal::Broadcast(Reshape(statistic.view, {n, g, 1}), rows()));
  }
};

Argument TransposedMatrices(const Argument& matrices) {
  return With(matrices, Permute(matrices.view, {0, 2, 1}));
}

// Intermediate results that forward and backward both compute first.
struct Scores {
  Argument q;     // [b h, m, d], times the scale
  Argument s, p;  // [b h, m, n]
};

// @param k  [b h, n, d]
Scores EmitScores(Parts& parts,
                  const KernelCall& call,
                  const Argument& q,
                  const Argument& k,
                  const Argument* mask) {
  const Shape& shape = q.view.shape;
  const int64_t b = shape[0], h = shape[1], m = shape[2], d = shape[3], n = k.view.shape[1];
  const Argument scaled = parts.Temporary(shape);
  parts.Compute(Function::kMul, {q}, scaled, call.params.alpha);
  Scores scores{.q = With(scaled, Reshape(scaled.view, {b * h, m, d})),
                .s = parts.Temporary({b * h, m, n}),
                .p = parts.Temporary({b * h, m, n})};
  parts.Emit(KernelKind::kMatmul, {scores.q, TransposedMatrices(k)}, {scores.s});
  if (mask != nullptr) {
    const Argument s = With(scores.s, Reshape(scores.s.view, {b, h, m, n}));
    parts.Compute(Function::kAdd, {s, *mask}, s);
  }
  if (call.params.causal) {
    const Argument rows = parts.Temporary({m}, DType::kI64),
                   columns = parts.Temporary({n}, DType::kI64),
                   is_hidden = parts.Temporary({m, n}, DType::kBool);
    parts.Emit(KernelKind::kRange, {}, {rows});
    parts.Emit(KernelKind::kRange, {}, {columns});
    TensorView row_of = is_hidden.view, column_of = is_hidden.view;
    row_of.dtype = column_of.dtype = DType::kI64;
    row_of.strides = {1, 0};
    column_of.strides = {0, 1};
    parts.Compute(Function::kLess, {With(rows, row_of), With(columns, column_of)}, is_hidden);
    const KernelParams hides{.alpha = -std::numeric_limits<double>::infinity()};
    const TensorView everywhere = internal::Broadcast(is_hidden.view, scores.s.view.shape);
    parts.Emit(KernelKind::kSelect, {With(is_hidden, everywhere), scores.s}, {scores.s}, hides);
  }
  parts.Emit(KernelKind::kSoftmax, {internal::AsRows(scores.s)}, {internal::AsRows(scores.p)});
  return scores;
}

}  // namespace

Composition GatherPlaces(const KernelCall& call) {
  Parts parts(call);
  const Argument &table = call.inputs[0], &y = call.outputs[0];
  const int64_t u = table.view.shape[0], v = table.view.shape[1];
  const int64_t count = y.view.num_elements();
  const Argument places = parts.Temporary(y.view.shape, DType::kI64);
  const Argument values = parts.Temporary({count, 1}, y.view.dtype);
  parts.Compute(Function::kMul, {call.inputs[1]}, places, static_cast<double>(v));
  parts.Compute(Function::kAdd, {places, call.inputs[2]}, places);
  parts.Emit(KernelKind::kGather,
             {parts.Reshaped(table, {u * v, 1}), With(places, Reshape(places.view, {count}))},
             {values});
  parts.Emit(KernelKind::kCopy, {With(values, Reshape(values.view, y.view.shape))}, {y});
  return parts.Take();
}

Composition GroupNormForward(const KernelCall& call) {
  Parts parts(call);
  const Groups groups(call.inputs[0], call.outputs[1]);
  const int64_t width = groups.rows()[2];
  const Argument x = parts.Reshaped(call.inputs[0], groups.rows());
  const Argument& y = call.outputs[0];
  const Argument ones = parts.Temporary({width}), zeros = parts.Temporary({width}),
                 z = parts.OutputOrTemporary(y, groups.rows());
  parts.EmitFunction(KernelKind::kFill, Function::kNone, {}, ones, 1);
  parts.EmitFunction(KernelKind::kFill, Function::kNone, {}, zeros, 0);
  parts.Emit(KernelKind::kLayerNormForward,
             {x, ones, zeros},
             {With(z, Reshape(z.view, groups.rows())), call.outputs[1], call.outputs[2]},
             call.params);
  if (call.inputs.size() == 1) {
    parts.EmitCopyUnlessSame(z, y);
    return parts.Take();
  }
  parts.Compute(Function::kMul, {z, groups.PerChannel(call.inputs[1])}, y);
  parts.Compute(Function::kAdd, {y, groups.PerChannel(call.inputs[2])}, y);
  return parts.Take();
}

Composition GroupNormBackward(const KernelCall& call) {
  Parts parts(call);
  const Groups groups(call.inputs[0], call.inputs[2]);
  const int64_t width = groups.rows()[2];
  const Argument dy = call.inputs[0], x = parts.Reshaped(call.inputs[1], groups.rows());
  const Argument &mean = call.inputs[2], &inverse_std = call.inputs[3];
  Argument gradient = dy;  // of z
  if (call.inputs.size() > 4) {
    gradient = parts.Temporary(groups.shape());
    parts.Compute(Function::kMul, {dy, groups.PerChannel(call.inputs[4])}, gradient);
  }
  const Argument ones = parts.Temporary({width}),
                 dx = parts.OutputOrTemporary(call.outputs[0], groups.rows());
  parts.EmitFunction(KernelKind::kFill, Function::kNone, {}, ones, 1);
  parts.Emit(KernelKind::kLayerNormBackward,
             {parts.Reshaped(gradient, groups.rows()), x, mean, inverse_std, ones},
             {With(dx, Reshape(dx.view, groups.rows())),
              parts.Temporary({width}),    // its gradients of scale and
              parts.Temporary({width})});  // offset are not per channel
  parts.EmitCopyUnlessSame(dx, call.outputs[0]);
  if (call.outputs.size() == 1) return parts.Take();
  const Argument z = parts.Temporary(groups.shape());
  const Argument z_rows = With(z, Reshape(z.view, groups.rows()));
  parts.Compute(Function::kSub, {x, groups.PerRow(mean)}, z_rows);
  parts.Compute(Function::kMul, {z_rows, groups.PerRow(inverse_std)}, z_rows);
  parts.Compute(Function::kMul, {z, dy}, z);
  const auto emit_sum = [&](const Argument& of, const Argument& to) {
    parts.EmitFunction(
        KernelKind::kReduce, Function::kSum, {of}, With(to, Reshape(to.view, {1, groups.c, 1})));
  };
  emit_sum(z, call.outputs[1]);
  emit_sum(dy, call.outputs[2]);
  return parts.Take();
}

Composition AttentionForward(const KernelCall& call) {
  Parts parts(call);
  const Argument k = parts.Matrices(call.inputs[1]), v = parts.Matrices(call.inputs[2]);
  const Argument* const mask = call.inputs.size() > 3 ? &call.inputs[3] : nullptr;
  const Scores scores = EmitScores(parts, call, call.inputs[0], k, mask);
  parts.EmitProduct(scores.p, v, call.outputs[0]);
  if (call.outputs.size() == 1) return parts.Take();
  // log sum exp(s) = max s - log max p
  const Shape& shape = call.outputs[1].view.shape;
  const auto emit_maxima = [&](const Argument& of) {
    const Argument rows = internal::AsRows(of);
    const Argument maxima = parts.Temporary({rows.view.shape[0], 1});
    parts.EmitFunction(KernelKind::kReduce, Function::kMax, {rows}, maxima);
    return With(maxima, Reshape(maxima.view, shape));
  };
  const Argument max_s = emit_maxima(scores.s), max_p = emit_maxima(scores.p);
  parts.Compute(Function::kLog, {max_p}, max_p);
  parts.Compute(Function::kSub, {max_s, max_p}, call.outputs[1]);
  return parts.Take();
}

Composition AttentionBackward(const KernelCall& call) {
  Parts parts(call);
  const Argument dy = parts.Matrices(call.inputs[0]), k = parts.Matrices(call.inputs[2]),
                 v = parts.Matrices(call.inputs[3]);
  const Argument* const mask = call.inputs.size() > 4 ? &call.inputs[4] : nullptr;
  const Scores scores = EmitScores(parts, call, call.inputs[1], k, mask);
  const Argument &dq = call.outputs[0], &dk = call.outputs[1], &dv = call.outputs[2];
  const Argument ds = parts.Temporary(scores.s.view.shape), &dp = scores.s;  // overwrites s
  parts.EmitProduct(TransposedMatrices(scores.p), dy, dv);
  parts.Emit(KernelKind::kMatmul, {dy, TransposedMatrices(v)}, {dp});
  parts.Emit(KernelKind::kSoftmaxBackward,
             {internal::AsRows(dp), internal::AsRows(scores.p)},
             {internal::AsRows(ds)});
  parts.EmitProduct(ds, k, dq);
  parts.Compute(Function::kMul, {dq}, dq, call.params.alpha);
  parts.EmitProduct(TransposedMatrices(ds), scores.q, dk);
  return parts.Take();
}

}  // namespace emplace::compositions
