#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {
namespace {

using std::int64_t;
using Shape = std::vector<int64_t>;
using Order = std::vector<int>;  // axes from the slowest to the fastest in memory

constexpr int kRandomCallsPerKind = 10;
constexpr double kLarge = 0.2;  // share of calls that keep several blocks of a parallel kernel busy

constexpr DType kTypes[] = {DType::kF32, DType::kI32, DType::kI64, DType::kBool};

// The functions of kElementwise, or of kReduce.
std::vector<Function> FunctionsOf(KernelKind kind) {
  std::vector<Function> functions;
  for (const FunctionDescription& function : kFunctionTable) {
    const bool is_reduction = function.arity == Arity::kReduction;
    if (function.arity == Arity::kNone || is_reduction != (kind == KernelKind::kReduce)) continue;
    functions.push_back(function.function);
  }
  return functions;
}

class Builder {
 public:
  Builder(KernelKind kind, Rng& rng) : rng_(rng) { sample_.call.kind = kind; }

  KernelParams& params() { return sample_.call.params; }
  int Int(int low, int high) { return low + UniformInt(rng_, high - low + 1); }
  bool Chance(double probability) { return Uniform01(rng_) < probability; }

  void Say(const std::string& word) { words_ += " " + word; }

  SampleCall Finish() {
    sample_.name = fmt::format("{}:{}", ToString(sample_.call.kind), words_);
    return std::move(sample_);
  }

  // A view of `shape` whose axes lie in `order`, sometimes as a slice of something larger.
  TensorView View(DType dtype, const Shape& shape, Order order, bool may_have_holes = true) {
    TensorView view{.dtype = dtype, .shape = shape, .strides = Shape(shape.size(), 1)};
    const bool has_holes = may_have_holes && Chance(0.25);
    const int sliced =
        has_holes && shape.size() > 1 ? Int(1, static_cast<int>(shape.size()) - 1) : 0;
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      view.strides[order[i]] = stride;
      stride *= shape[order[i]] + (sliced > 0 && static_cast<int>(i) == sliced ? Int(1, 3) : 0);
    }
    if (has_holes) view.offset = Int(1, 5);
    return view;
  }
  TensorView Dense(DType dtype, const Shape& shape) { return ContiguousView(dtype, shape); }

  Order RandomOrder(size_t rank) {
    Order order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int>(i);
    for (size_t i = rank; i > 1; --i)
      std::swap(order[i - 1], order[UniformInt(rng_, static_cast<int>(i))]);
    return order;
  }
  Order RowMajor(size_t rank) {
    Order order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int>(i);
    return order;
  }
  Shape RandomShape(int min_rank, int max_rank, int max_size) {
    Shape shape(Int(min_rank, max_rank));
    for (int64_t& size : shape) size = Int(1, max_size);
    return shape;
  }

  // A tensor of the op as a further input or output of the call.
  int In(const TensorView& view) {
    const int index = AddInput(view);
    sample_.call.inputs.push_back({.is_output = false, .index = index, .view = view});
    return index;
  }
  int AddInput(const TensorView& view) {
    sample_.input_bytes.push_back(view.end_bytes() + Slack());
    return static_cast<int>(sample_.input_bytes.size()) - 1;
  }
  int Out(const TensorView& view) {
    const int index = AddOutput(view);
    sample_.call.outputs.push_back({.is_output = true, .index = index, .view = view});
    return index;
  }
  int AddOutput(const TensorView& view) {
    sample_.output_bytes.push_back(view.end_bytes() + Slack());
    sample_.shared.push_back(-1);
    return static_cast<int>(sample_.output_bytes.size()) - 1;
  }
  // An output that has the storage of an op's input: as an alias, or (TensorFlow's state) with no
  // output of the op at all.
  void InPlace(int input, const TensorView& view, bool as_op_output) {
    if (!as_op_output) {
      sample_.call.outputs.push_back({.is_output = false, .index = input, .view = view});
      return;
    }
    sample_.output_bytes.push_back(0);
    sample_.shared.push_back(input);
    sample_.call.outputs.push_back(
        {.is_output = true, .index = static_cast<int>(sample_.shared.size()) - 1, .view = view});
  }
  KernelCall& call() { return sample_.call; }

 private:
  int64_t Slack() { return Chance(0.5) ? 8 * Int(1, 8) : 0; }

  Rng& rng_;
  SampleCall sample_;
  std::string words_;
};

Order ImageOrder(Builder& b) {
  const bool nhwc = b.Chance(0.5);
  b.Say(nhwc ? "nhwc" : "nchw");
  return nhwc ? Order{0, 2, 3, 1} : Order{0, 1, 2, 3};
}

std::string Text(const Shape& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return "[" + text + "]";
}

void MakeMatmul(Builder& b) {
  const int most = b.Chance(kLarge) ? 160 : 18;
  const int64_t batch = b.Chance(0.5) ? 1 : b.Int(2, 4), m = b.Int(1, most), k = b.Int(1, most),
                n = b.Int(1, most);
  b.Say(fmt::format("{} x {} x {} x {}", batch, m, k, n));
  const auto order = [&](const char* name) {
    const int which = b.Int(0, 3);
    if (which == 3) return b.Say(fmt::format("{} transposed", name)), Order{0, 2, 1};
    if (which == 2) return b.Say(fmt::format("{} with inner batch", name)), Order{1, 0, 2};
    return Order{0, 1, 2};
  };
  b.In(b.View(DType::kF32, {batch, m, k}, order("a")));
  TensorView right = b.View(DType::kF32, {batch, k, n}, order("b"));
  if (batch > 1 && b.Chance(0.15)) {
    right.strides[0] = 0;
    b.Say("b shared by the batch");
  }
  b.In(right);
  if (b.Chance(0.4)) {
    TensorView bias = b.Dense(DType::kF32, {n});
    bias.shape = {batch, m, n};
    bias.strides = {0, 0, 1};
    b.In(bias);
    b.Say("bias");
  }
  b.Out(b.Dense(DType::kF32, {batch, m, n}));
}

// Sizes of a window over [h, w] and what comes out of it.
Shape MakeWindow(Builder& b, Shape image, bool is_pool) {
  Window& w = b.params().window;
  Shape out(2);
  for (int i = 0; i < 2; ++i) {
    w.size[i] = b.Int(1, 4);
    w.stride[i] = b.Int(1, 3);
    w.dilation[i] = is_pool || b.Chance(0.7) ? 1 : 2;
    const int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    w.pad_begin[i] = b.Chance(0.4) ? 0 : b.Int(0, static_cast<int>(w.size[i]) - 1);
    w.pad_end[i] = b.Chance(0.5) ? w.pad_begin[i] : b.Int(0, static_cast<int>(w.size[i]) - 1);
    while (image[i] + w.pad_begin[i] + w.pad_end[i] < reach) ++w.pad_end[i];
    out[i] = (image[i] + w.pad_begin[i] + w.pad_end[i] - reach) / w.stride[i] + 1;
  }
  b.Say(fmt::format("window {} stride {} pads {} {} dilation {}",
                    Text(w.size),
                    Text(w.stride),
                    Text(w.pad_begin),
                    Text(w.pad_end),
                    Text(w.dilation)));
  return out;
}

void MakeConv(Builder& b, KernelKind kind) {
  const Order order = ImageOrder(b);
  const int side = b.Chance(kLarge) ? 40 : 11;
  const int64_t height = b.Int(4, side), width = b.Int(4, side), batch = b.Int(1, 3);
  int64_t c = b.Int(1, 9), k = b.Int(1, 9);
  if (b.Chance(0.25)) {
    b.params().groups = c;
    k = c * b.Int(1, 2);
    b.Say(fmt::format("depthwise {}", c));
  } else if (b.Chance(0.25)) {
    b.params().groups = b.Int(2, 3);
    c = b.params().groups * b.Int(1, 3);
    k = b.params().groups * b.Int(1, 3);
    b.Say(fmt::format("groups {}", b.params().groups));
  }
  const Shape out = MakeWindow(b, {height, width}, false);
  const Window& window = b.params().window;
  const Shape shapes[] = {{batch, c, height, width},
                          {k, c / b.params().groups, window.size[0], window.size[1]},
                          {batch, k, out[0], out[1]}};
  b.Say(fmt::format("x {} w {}", Text(shapes[0]), Text(shapes[1])));
  const Order filter = order[1] == 1 ? Order{0, 1, 2, 3} : Order{2, 3, 1, 0};
  const auto view = [&](int which, bool may_have_holes) {
    return b.View(
        DType::kF32, shapes[which], which == 1 ? filter : order, may_have_holes && which != 1);
  };
  const bool holes = b.Chance(0.4);
  if (kind == KernelKind::kConvForward) {
    b.In(view(0, holes));
    b.In(view(1, false));
    if (b.Chance(0.3)) {
      b.In(b.Dense(DType::kF32, {k}));
      b.Say("bias");
    }
    b.Out(view(2, false));
  } else if (kind == KernelKind::kConvBackwardData) {
    b.In(view(2, holes));
    b.In(view(1, false));
    b.Out(view(0, false));
  } else {
    b.In(view(0, holes));
    b.In(view(2, holes));
    b.Out(view(1, false));
  }
}

void MakePool(Builder& b, KernelKind kind) {
  const Order order = ImageOrder(b);
  const int side = b.Chance(kLarge) ? 60 : 11;
  const Shape image{b.Int(4, side), b.Int(4, side)};
  const Shape out = MakeWindow(b, image, true);
  const int64_t batch = b.Int(1, 3), c = b.Int(1, 9);
  const Shape x{batch, c, image[0], image[1]}, y{batch, c, out[0], out[1]};
  b.Say("x " + Text(x));
  b.params().window.count_include_pad = b.Chance(0.5);
  if (kind == KernelKind::kAvgPoolForward || kind == KernelKind::kAvgPoolBackward) {
    b.Say(b.params().window.count_include_pad ? "counts padding" : "leaves padding out");
  }
  const auto f32 = [&](const Shape& shape) { return b.View(DType::kF32, shape, order); };
  const auto dense = [&](DType type, const Shape& shape) {
    return b.View(type, shape, order, false);
  };
  switch (kind) {
    case KernelKind::kMaxPoolForward:
      b.In(f32(x));
      b.Out(dense(DType::kF32, y));
      if (b.Chance(0.5)) {
        b.Out(dense(DType::kI64, y));
        b.Say("indices");
      }
      break;
    case KernelKind::kAvgPoolForward:
      b.In(f32(x));
      b.Out(dense(DType::kF32, y));
      break;
    case KernelKind::kMaxPoolBackward:
      b.In(f32(x));
      b.In(f32(y));
      b.In(f32(y));
      b.Out(dense(DType::kF32, x));
      break;
    case KernelKind::kMaxPoolBackwardIndices:
      b.In(f32(y));
      b.In(dense(DType::kI64, y));
      b.Out(dense(DType::kF32, x));
      break;
    default:
      b.In(f32(y));
      b.Out(dense(DType::kF32, x));
  }
}

void MakeBatchNorm(Builder& b, bool forward) {
  const Order order = ImageOrder(b);
  const int side = b.Chance(kLarge) ? 40 : 5;
  const Shape x{b.Int(2, 4), b.Int(1, 9), b.Int(1, side), b.Int(2, side)}, c{x[1]};
  b.Say(Text(x));
  b.params().epsilon = 1e-3;
  b.params().momentum = 0.1 + 0.2 * b.Int(0, 2);
  b.params().saves_inverse_std = b.Chance(0.5);
  if (b.params().saves_inverse_std) b.Say("saves 1 / std");
  const TensorView vector = b.Dense(DType::kF32, c);
  const auto image = [&](bool holes) { return b.View(DType::kF32, x, order, holes); };
  if (!forward) {
    b.In(image(true));
    b.In(image(true));
    for (int i = 0; i < 3; ++i) b.In(vector);
    b.Out(image(false));
    for (int i = 0; i < 2; ++i) b.Out(vector);
    return;
  }
  b.In(image(true));
  for (int i = 0; i < 2; ++i) b.In(vector);
  const int running = b.Int(0, 3);
  if (running >= 2) {
    for (int i = 0; i < 2; ++i) b.In(vector);
  }
  b.Out(image(false));
  for (int i = 0; i < 2; ++i) b.Out(vector);
  if (running == 0) return;
  b.Say(running == 1 ? "batch statistics" : running == 2 ? "running" : "running in place");
  for (int i = 0; i < 2; ++i) {
    if (running == 3) {
      b.InPlace(3 + i, vector, true);
    } else {
      b.Out(vector);
    }
  }
}

TensorView Operand(Builder& b, DType dtype, const Shape& shape) {
  if (b.Chance(0.3)) {
    TensorView view = b.View(dtype, shape, b.RandomOrder(shape.size()), false);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (b.Chance(0.5)) view.strides[i] = 0;
    }
    b.Say("broadcast");
    return view;
  }
  if (b.Chance(0.3)) {
    b.Say("permuted");
    return b.View(dtype, shape, b.RandomOrder(shape.size()));
  }
  return b.View(dtype, shape, b.RowMajor(shape.size()));
}

void MakeElementwise(Builder& b, Function function) {
  b.params().function = function;
  b.params().alpha = function == Function::kReluGrad ? 0.25 * b.Int(0, 1) : 0.5 + b.Int(1, 3);
  const Shape shape = b.Chance(kLarge) ? b.RandomShape(2, 2, 300) : b.RandomShape(0, 5, 7);
  b.Say(fmt::format("{} {}", ToString(function), Text(shape)));
  const FunctionDescription& description = DescriptionOf(function);
  DType in = DType::kF32, out = DType::kF32;
  const bool compares = description.types == FunctionTypes::kComparison;
  if ((compares || description.types == FunctionTypes::kNumber) && b.Chance(0.25)) {
    in = out = kTypes[b.Int(1, 2)];
  }
  if (in != DType::kF32) b.params().alpha = b.Int(1, 3);
  if (compares) out = DType::kBool;
  if (description.types == FunctionTypes::kLogic) in = out = DType::kBool;
  if (description.types == FunctionTypes::kCast) {
    in = kTypes[b.Int(0, 3)];
    out = kTypes[b.Int(0, 3)];
  }
  b.Say(fmt::format("{} -> {}", ToString(in), ToString(out)));
  const Arity arity = description.arity;
  int count = arity == Arity::kUnary ? 1 : arity == Arity::kTwo || b.Chance(0.7) ? 2 : 1;
  if (arity == Arity::kSum && b.Chance(0.3)) count = b.Int(3, 9);
  const bool in_place = in == out && b.Chance(0.25);
  const TensorView target = b.View(out, shape, b.RowMajor(shape.size()));
  for (int i = 0; i < count; ++i) b.In(in_place && i == 0 ? target : Operand(b, in, shape));
  if (count == 1) b.Say("alone");
  if (in_place) {
    b.Say("in place");
    b.InPlace(0, target, true);
  } else {
    b.Out(target);
  }
}

void MakeReduce(Builder& b, Function function) {
  b.params().function = function;
  const Shape shape = b.Chance(kLarge) ? b.RandomShape(2, 3, 100) : b.RandomShape(1, 4, 9);
  Shape reduced = shape;
  const bool all = b.Chance(0.2);
  const int one = b.Int(0, static_cast<int>(shape.size()) - 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (all || static_cast<int>(i) == one || b.Chance(0.4)) reduced[i] = 1;
  }
  b.Say(fmt::format("{} {} -> {}", ToString(function), Text(shape), Text(reduced)));
  b.In(b.View(
      DType::kF32, shape, b.Chance(0.5) ? b.RowMajor(shape.size()) : b.RandomOrder(shape.size())));
  b.Out(b.Dense(DType::kF32, reduced));
}

void MakeScatterAdd(Builder& b) {
  const int most = b.Chance(kLarge) ? 500 : 25;
  const int64_t v = b.Int(1, 20), width = b.Int(1, most), n = b.Int(1, most);
  b.params().alpha = b.Chance(0.5) ? 1 : -0.5;
  const TensorView table = b.Dense(DType::kF32, {v, width});
  const bool in_place = b.Chance(0.6);
  b.params().zero_output = !in_place;
  b.Say(fmt::format("{} into {} x {}{}", n, v, width, in_place ? " in place" : " zeroed"));
  const int storage = in_place ? b.AddInput(table) : -1;
  b.In(b.View(DType::kF32, {n, width}, {0, 1}));
  b.In(b.Dense(b.Chance(0.5) ? DType::kI32 : DType::kI64, {n}));
  if (in_place) {
    b.InPlace(storage, table, b.Chance(0.5));
  } else {
    b.Out(table);
  }
}

// Parts of one tensor along an axis on one side, tensors of their own on the other.
void MakeCopy(Builder& b) {
  const DType dtype = kTypes[b.Int(0, 3)];
  const bool is_concat = b.Chance(0.6);
  const int parts = b.Chance(0.2) ? 20 : b.Int(1, 5);
  Shape shape = b.Chance(kLarge) ? b.RandomShape(2, 3, 60) : b.RandomShape(1, 4, 5);
  const int axis = b.Int(0, static_cast<int>(shape.size()) - 1);
  std::vector<int64_t> sizes(parts);
  shape[axis] = 0;
  for (int64_t& size : sizes) shape[axis] += size = b.Int(1, 4);
  b.Say(fmt::format("{} {} {} parts of {} along {}",
                    ToString(dtype),
                    is_concat ? "concat" : "split",
                    parts,
                    Text(shape),
                    axis));
  const TensorView whole = b.View(dtype, shape, b.RandomOrder(shape.size()));
  const int index = is_concat ? b.AddOutput(whole) : b.AddInput(whole);
  int64_t start = 0;
  for (const int64_t size : sizes) {
    TensorView window = whole;
    window.shape[axis] = size;
    window.offset += start * whole.strides[axis];
    start += size;
    if (is_concat) {
      b.In(Operand(b, dtype, window.shape));
      b.call().outputs.push_back({.is_output = true, .index = index, .view = window});
    } else {
      b.call().inputs.push_back({.is_output = false, .index = index, .view = window});
      b.Out(b.View(dtype, window.shape, b.RandomOrder(shape.size())));
    }
  }
}

void MakeUpdate(Builder& b, KernelKind kind) {
  const Shape shape = b.Chance(kLarge) ? b.RandomShape(2, 2, 300) : b.RandomShape(1, 4, 8);
  b.Say(Text(shape));
  KernelParams& p = b.params();
  p.learning_rate = 0.125;
  p.momentum = 0.75;
  p.beta1 = 0.75;
  p.beta2 = 0.875;
  p.epsilon = 1e-3;
  p.weight_decay = kind != KernelKind::kRmsProp && b.Chance(0.5) ? 0.25 : 0;
  const TensorView view = b.Dense(DType::kF32, shape);
  // Positions of what is updated among the inputs; the rest is the gradient.
  const std::vector<int> updated = kind == KernelKind::kMomentum  ? std::vector<int>{0, 2}
                                   : kind == KernelKind::kRmsProp ? std::vector<int>{0, 1, 2}
                                   : kind == KernelKind::kAdam    ? std::vector<int>{0, 2, 3}
                                                                  : std::vector<int>{0};
  const int inputs = static_cast<int>(updated.size()) + 1;
  for (int i = 0; i < inputs; ++i) b.In(view);
  const int style = b.Int(0, 2);
  b.Say(style == 0 ? "all aliases" : style == 1 ? "state without outputs" : "not in place");
  for (const int input : updated) {
    if (style == 2) {
      b.Out(view);
    } else {
      b.InPlace(input, view, style == 0 || input == 0);
    }
  }
}

void MakeProxy(Builder& b) {
  for (int i = b.Int(0, 3); i > 0; --i) {
    b.In(b.Dense(b.Chance(0.5) ? DType::kBool : DType::kF32, b.RandomShape(0, 3, 20)));
  }
  for (int i = b.Int(1, 2); i > 0; --i) b.Out(b.Dense(DType::kI64, b.RandomShape(0, 3, 20)));
  b.params().alpha = 1000.0 * b.Int(0, 10);
}

// What `alpha` may be; +-infinity fills masks.
double MakeAlpha(Builder& b, KernelKind kind, DType dtype) {
  switch (kind) {
    case KernelKind::kDropoutForward:
      return 0.25 * b.Int(0, 3);
    case KernelKind::kSelect:
      if (dtype == DType::kF32 && b.Chance(0.5)) return -std::numeric_limits<double>::infinity();
      [[fallthrough]];
    default:
      return dtype == DType::kF32 ? 0.5 + b.Int(0, 3) : b.Int(0, 1);
  }
}

// A call as the kernel's signature allows it: a size per letter, one shape for all [*], dtypes and
// optional arguments drawn; strided inputs, dense outputs.
void MakeBySignature(Builder& b, KernelKind kind) {
  const KernelDescription& kernel = DescriptionOf(kind);
  const bool is_large = b.Chance(kLarge);
  const auto any_shape = [&] {
    return is_large ? b.RandomShape(2, 2, 300) : b.RandomShape(0, 4, 7);
  };
  const Shape shared = any_shape();
  const DType same = kTypes[b.Int(0, 3)];
  std::map<char, int64_t> sizes;
  std::set<char> letters;
  for (const Signature* signature : {&kernel.inputs, &kernel.outputs}) {
    for (const ArgumentRule& rule : signature->rules()) {
      letters.insert(rule.sizes.begin(), rule.sizes.end());
    }
  }
  const bool has_many = letters.size() > 3;
  const auto shape_of = [&](const ArgumentRule& rule) {
    if (rule.shape == ArgumentRule::Shape::kShared) return shared;
    if (rule.shape == ArgumentRule::Shape::kAny) return any_shape();
    Shape shape;
    for (const char letter : rule.sizes) {
      const bool is_width = letter == 'w', is_batch = letter == 'b';
      const int most = is_batch   ? 3
                       : has_many ? (is_large ? 12 : 5)
                       : is_large ? (is_width ? 3000 : 300)
                       : is_width ? 70
                                  : 25;
      shape.push_back(sizes.try_emplace(letter, b.Int(is_width ? 2 : 1, most)).first->second);
    }
    return shape;
  };
  DType dtype = DType::kF32;  // of the result
  const auto dtype_of = [&](const ArgumentRule& rule) {
    switch (rule.type) {
      case TypeRule::kF32:
        return DType::kF32;
      case TypeRule::kBool:
        return DType::kBool;
      case TypeRule::kI64:
        return DType::kI64;
      case TypeRule::kIndex:
        return b.Chance(0.5) ? DType::kI32 : DType::kI64;
      case TypeRule::kSame:
        return dtype = same;
      case TypeRule::kAny:
        return dtype = kTypes[b.Int(0, 3)];
    }
    std::abort();
  };
  for (const bool is_output : {false, true}) {
    const Signature& signature = is_output ? kernel.outputs : kernel.inputs;
    const std::size_t count =
        signature.least() + (signature.most() - signature.least()) * b.Int(0, 1);
    for (std::size_t i = 0; i < count; ++i) {
      const ArgumentRule& rule = signature.RuleOf(i, count);
      const Shape shape = shape_of(rule);
      const DType type = dtype_of(rule);
      b.Say(fmt::format("{} {} {}", rule.name, ToString(type), Text(shape)));
      if (!is_output && rule.shape == ArgumentRule::Shape::kShared) {
        b.In(Operand(b, type, shape));
      } else if (!is_output) {
        b.In(b.View(type, shape, b.RowMajor(shape.size()), shape.size() > 1));
      } else if (rule.shape == ArgumentRule::Shape::kAny) {
        b.Out(b.View(type, shape, b.RandomOrder(shape.size())));
      } else {
        b.Out(b.Dense(type, shape));
      }
    }
  }
  b.params().epsilon = 1e-3;
  b.params().alpha = MakeAlpha(b, kind, dtype);
  b.params().step = b.Int(1, 3);
  b.params().causal = b.Chance(0.5);
}

SampleCall MakeOnce(KernelKind kind, Function function, Rng& rng) {
  Builder b(kind, rng);
  switch (kind) {
    case KernelKind::kMatmul:
      MakeMatmul(b);
      break;
    case KernelKind::kConvForward:
    case KernelKind::kConvBackwardData:
    case KernelKind::kConvBackwardFilter:
      MakeConv(b, kind);
      break;
    case KernelKind::kMaxPoolForward:
    case KernelKind::kMaxPoolBackward:
    case KernelKind::kMaxPoolBackwardIndices:
    case KernelKind::kAvgPoolForward:
    case KernelKind::kAvgPoolBackward:
      MakePool(b, kind);
      break;
    case KernelKind::kBatchNormForward:
    case KernelKind::kBatchNormBackward:
      MakeBatchNorm(b, kind == KernelKind::kBatchNormForward);
      break;
    case KernelKind::kElementwise:
      MakeElementwise(b, function);
      break;
    case KernelKind::kReduce:
      MakeReduce(b, function);
      break;
    case KernelKind::kScatterAdd:
      MakeScatterAdd(b);
      break;
    case KernelKind::kCopy:
      MakeCopy(b);
      break;
    case KernelKind::kMomentum:
    case KernelKind::kRmsProp:
    case KernelKind::kAdam:
    case KernelKind::kGradientDescent:
      MakeUpdate(b, kind);
      break;
    case KernelKind::kProxy:
      MakeProxy(b);
      break;
    default:  // the signature says all
      MakeBySignature(b, kind);
  }
  return b.Finish();
}

// A signature allows more than a rule beside it: until both do.
SampleCall Make(KernelKind kind, Function function, Rng& rng) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    SampleCall sample = MakeOnce(kind, function, rng);
    if (WhyMalformed(sample.call).empty()) return sample;
  }
  EMPLACE_CHECK(false, "no sample of " + std::string(ToString(kind)));
}

}  // namespace

SampleCall RandomCall(KernelKind kind, Rng& rng) {
  const std::vector<Function> functions = FunctionsOf(kind);
  return Make(kind, functions[UniformInt(rng, static_cast<int>(functions.size()))], rng);
}

std::vector<SampleCall> SampleCalls(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<SampleCall> samples;
  for (const KernelDescription& kernel : kKernelTable) {
    for (int i = 0; i < kRandomCallsPerKind; ++i) samples.push_back(RandomCall(kernel.kind, rng));
  }
  for (int i = 0; i < 3; ++i) {
    for (const KernelKind kind : {KernelKind::kElementwise, KernelKind::kReduce}) {
      for (const Function function : FunctionsOf(kind)) {
        samples.push_back(Make(kind, function, rng));
      }
    }
  }
  return samples;
}

}  // namespace emplace::testing
