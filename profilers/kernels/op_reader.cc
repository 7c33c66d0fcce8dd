#include "profilers/kernels/op_reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace emplace::internal {

using std::int64_t;

OpReader::OpReader(const Graph& graph, int op, const OwnLayouts& own)
    : graph_(graph), op_(graph.op(op)), attributes_(graph.op(op).attributes), own_(own) {
}

Argument OpReader::Make(bool is_output, int index) const {
  const char* const what = is_output ? "output" : "input";
  const std::vector<int>& tensors = is_output ? op_.outputs : op_.inputs;
  if (index >= static_cast<int>(tensors.size())) {
    throw NoKernel{fmt::format("{} {} is missing", what, index)};
  }
  const int id = tensors[index];
  const Tensor& tensor = graph_.tensor(id);
  const std::optional<DType> dtype = ParseDType(tensor.dtype);
  if (!dtype) throw NoKernel{fmt::format("no kernels for dtype \"{}\"", tensor.dtype)};
  const TensorView layout = LayoutOf(graph_, id, own_);
  if (layout.shape != tensor.shape || layout.dtype != *dtype ||
      layout.num_elements() * SizeOf(*dtype) != tensor.bytes) {
    throw NoKernel{fmt::format("{} {}: shape and bytes do not fit", what, index)};
  }
  return {.is_output = is_output, .index = index, .view = layout};
}

Argument OpReader::In(int index) const {
  return Make(false, index);
}

Argument OpReader::Out(int index) const {
  return Make(true, index);
}

std::vector<Argument> OpReader::Inputs(int begin, int end) const {
  std::vector<Argument> inputs;
  for (int i = begin; i < end; ++i) inputs.push_back(In(i));
  return inputs;
}

std::vector<Argument> OpReader::Outputs(int begin, int end) const {
  std::vector<Argument> outputs;
  for (int i = begin; i < end; ++i) outputs.push_back(Out(i));
  return outputs;
}

bool OpReader::IsInPlace(int index, int input) const {
  return graph_.alias_root(op_.outputs[index]) == graph_.alias_root(op_.inputs[input]);
}

int OpReader::Axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    throw NoKernel{fmt::format("axis {} of a tensor of rank {}", axis, rank)};
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void OpReader::Emit(KernelKind kind,
                    std::vector<Argument> inputs,
                    std::vector<Argument> outputs,
                    const KernelParams& params) {
  const auto is_empty = [](const Argument& a) { return a.view.num_elements() == 0; };
  KernelCall call{.kind = kind, .params = params, .inputs = {}, .outputs = {}};
  if (kind == KernelKind::kCopy) {
    Require(inputs.size() == outputs.size(), "parts that do not fit");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_empty(inputs[i]) && is_empty(outputs[i])) continue;
      call.inputs.push_back(std::move(inputs[i]));
      call.outputs.push_back(std::move(outputs[i]));
    }
    if (call.outputs.empty()) return;
  } else {
    if (std::ranges::all_of(outputs, is_empty)) return;
    Require(std::ranges::none_of(inputs, is_empty) && std::ranges::none_of(outputs, is_empty),
            "tensors without elements");
    call.inputs = std::move(inputs);
    call.outputs = std::move(outputs);
  }
  work_.calls.push_back(std::move(call));
}

void OpReader::EmitElementwise(Function function,
                               std::vector<Argument> inputs,
                               Argument output,
                               double alpha) {
  const KernelParams params{.function = function, .alpha = alpha};
  for (Argument& input : inputs) input.view = Broadcast(input.view, output.view.shape);
  Emit(KernelKind::kElementwise, std::move(inputs), {std::move(output)}, params);
}

void OpReader::EmitReduce(Function function,
                          const Argument& input,
                          const Argument& output,
                          const std::vector<int64_t>& axes) {
  const auto rank = static_cast<int64_t>(input.view.shape.size());
  std::vector<int64_t> kept = input.view.shape;
  for (const int64_t axis : axes) kept[Axis(axis, rank)] = 1;
  // The output has the same elements in the same order with or without the reduced axes.
  const KernelParams params{.function = function};
  Emit(KernelKind::kReduce, {input}, {With(output, Reshape(output.view, kept))}, params);
}

void OpReader::EmitFill(double value) {
  const KernelParams params{.alpha = value};
  Emit(KernelKind::kFill, {}, {Out(0)}, params);
}

void OpReader::EmitParts(const Argument& whole,
                         const std::vector<Argument>& parts,
                         int axis,
                         bool join) {
  std::vector<Argument> windows;
  int64_t start = 0;
  for (const Argument& part : parts) {
    Require(part.view.shape.size() == whole.view.shape.size(), "parts of another rank");
    const int64_t size = part.view.shape[axis];
    windows.push_back(With(whole, Slice(whole.view, axis, start, size)));
    start += size;
  }
  Require(start == whole.view.shape[axis], "parts that do not fill the whole");
  Emit(KernelKind::kCopy, join ? parts : windows, join ? windows : parts);
}

void OpReader::EmitZeroPadded(const Argument& input,
                              const Argument& output,
                              const TensorView& window) {
  if (input.view.num_elements() < output.view.num_elements()) {
    Emit(KernelKind::kFill, {}, {output});
  }
  Emit(KernelKind::kCopy, {input}, {With(output, window)});
}

void OpReader::EmitTile(const Argument& input, const Argument& output) {
  const std::vector<int64_t>&from = input.view.shape, &to = output.view.shape;
  Require(from.size() == to.size(), "a tile of another rank");
  // A repeated axis becomes two, [repeats, size], the first with stride 0.
  TensorView source{.dtype = input.view.dtype, .shape = {}, .strides = {}};
  source.offset = input.view.offset;
  TensorView target = source;
  target.offset = output.view.offset;
  for (size_t i = 0; i < from.size(); ++i) {
    Require(from[i] > 0 && to[i] % from[i] == 0, "a tile whose sizes are not multiples");
    const int64_t repeats = to[i] / from[i];
    if (repeats > 1) {
      source.shape.push_back(repeats);
      source.strides.push_back(0);
      target.strides.push_back(from[i] * output.view.strides[i]);
    }
    if (repeats == 1 || from[i] > 1) {
      source.shape.push_back(from[i]);
      source.strides.push_back(input.view.strides[i]);
      target.strides.push_back(output.view.strides[i]);
    }
  }
  target.shape = source.shape;
  Emit(KernelKind::kCopy, {With(input, source)}, {With(output, target)});
}

}  // namespace emplace::internal
