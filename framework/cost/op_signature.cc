#include "framework/cost/op_signature.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/cost/op_kind.h"

namespace emplace {
namespace {

// Attributes that change names, values or places, but not the work; and sizes that are also in the
// shapes of the op's tensors.
constexpr std::array<std::string_view, 19> kIrrelevant{"begin",
                                                       "betas",
                                                       "end",
                                                       "eps",
                                                       "epsilon",
                                                       "forward_op",
                                                       "index",
                                                       "learning_rate",
                                                       "lr",
                                                       "module",
                                                       "multiples",
                                                       "normalized_shape",
                                                       "seed",
                                                       "seed2",
                                                       "shape_is_bound",
                                                       "size",
                                                       "split_size",
                                                       "split_sizes",
                                                       "start"};
// Attributes of a view that give the dimensions that it changes.
constexpr std::array<std::string_view, 6> kDimensions{"dim",
                                                      "dim0",
                                                      "dim1",
                                                      "dims",
                                                      "perm",
                                                      "step"};

// Views that leave the elements in row-major order. TensorFlow's views all do.
constexpr std::array<std::string_view, 16> kReshapes{"_reshape_alias",
                                                     "_unsafe_view",
                                                     "alias",
                                                     "detach",
                                                     "flatten",
                                                     "getitem",
                                                     "lift",
                                                     "lift_fresh",
                                                     "lift_fresh_copy",
                                                     "reshape",
                                                     "squeeze",
                                                     "unflatten",
                                                     "unsqueeze",
                                                     "view",
                                                     "view_as",
                                                     "view_as_complex"};
constexpr std::array<std::string_view, 3> kTransposes{"permute", "t", "transpose"};

template <size_t n>
bool Contains(const std::array<std::string_view, n>& sorted, std::string_view text) {
  return std::binary_search(sorted.begin(), sorted.end(), text);
}

void AppendValue(std::string& text, const nlohmann::json& value) {
  text += value.is_string() ? value.get_ref<const std::string&>() : value.dump();
}

// Appends the attributes that `wanted` accepts, sorted by key: "{dim=1, keepdim=true}".
template <class Wanted>
void AppendAttributes(std::string& text, const Op& op, const Wanted& wanted) {
  text += '{';
  if (!op.attributes.empty()) {
    const nlohmann::json attributes = nlohmann::json::parse(op.attributes, nullptr, false);
    EMPLACE_CHECK(attributes.is_object(), op.name + ": attributes are not a JSON object");
    for (const auto& [key, value] : attributes.items()) {
      if (!wanted(key)) continue;
      if (text.back() != '{') text += ", ";
      text += key;
      text += '=';
      AppendValue(text, value);
    }
  }
  text += '}';
}

void AppendInteger(std::string& text, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  text.append(digits.begin(), end);
}

void AppendShape(std::string& text, const std::vector<std::int64_t>& shape) {
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    AppendInteger(text, shape[i]);
  }
  text += ']';
}

// Returns the bytes of an element from the digits of its name ("f32": 4); 0 if unknown.
std::int64_t ElementBytes(std::string_view dtype) {
  if (dtype == "bool") return 1;
  const size_t digits = dtype.find_first_of("0123456789");
  int bits = 0;
  if (digits == dtype.npos) return 0;
  std::from_chars(dtype.data() + digits, dtype.data() + dtype.size(), bits);
  return bits / 8;
}

// Returns whether the shape is known. An empty shape is that of a scalar, or is unknown; the size
// in bytes distinguishes the two.
bool HasShape(const Tensor& tensor) {
  return !tensor.dtype.empty() &&
         (!tensor.shape.empty() || tensor.bytes == ElementBytes(tensor.dtype));
}

void AppendTensor(std::string& text, const Tensor& tensor) {
  text += tensor.dtype.empty() ? "?" : tensor.dtype;
  if (HasShape(tensor)) return AppendShape(text, tensor.shape);
  AppendShape(text, tensor.shape);
  text.pop_back();
  if (!tensor.shape.empty()) text += "; ";
  AppendInteger(text, tensor.bytes);
  text += "B]";
}

// Returns whether an op that shares memory with its input changes the order of the elements. Ops in
// place and reshapes do not; an unknown op may.
bool ChangesLayout(const Op& op) {
  const std::string_view name = AtenName(op.kind);
  if (Contains(kReshapes, name)) return false;
  const OpClass op_class = ClassifyOp(op.kind);
  return op_class == OpClass::kUnknown || (op_class == OpClass::kView && !name.empty());
}

void AppendViews(std::string& text, const Graph& graph, int id) {
  const std::vector<std::int64_t>* shape = &graph.tensor(id).shape;  // the last one in the text
  for (; graph.tensor(id).alias_of >= 0; id = graph.tensor(id).alias_of) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer < 0 || !ChangesLayout(graph.op(tensor.producer))) continue;
    const Op& op = graph.op(tensor.producer);
    if (*shape != tensor.shape) AppendShape(text, tensor.shape);
    text += ':';
    text += op.kind;
    const size_t end = text.size();
    AppendAttributes(text, op, [](std::string_view key) { return Contains(kDimensions, key); });
    if (text.size() == end + 2) text.resize(end);  // no attributes
    shape = &tensor.shape;
    if (Contains(kTransposes, AtenName(op.kind))) continue;
    shape = &graph.tensor(tensor.alias_of).shape;
    AppendShape(text, *shape);
  }
}

// Appends a list of tensors. A tensor that is read again is written as "#0" (index of its first
// place in `ids`); a run of equal ones is counted ("f32[64,1024] x40").
void AppendTensors(std::string& text,
                   const Graph& graph,
                   const std::vector<int>& ids,
                   bool with_views) {
  std::string one, last;
  int count = 0;
  const auto flush = [&] {
    if (count == 0) return;
    text += last;
    if (count > 1) text += fmt::format(" x{}", count);
  };
  for (auto id = ids.begin(); id != ids.end(); ++id) {
    one.clear();
    const auto first = std::find(ids.begin(), id, *id);
    if (first != id) {
      one += '#';
      AppendInteger(one, first - ids.begin());
    } else {
      AppendTensor(one, graph.tensor(*id));
      if (with_views) AppendViews(one, graph, *id);
    }
    if (one == last) {
      ++count;
      continue;
    }
    flush();
    if (count > 0) text += ", ";
    std::swap(one, last);
    count = 1;
  }
  flush();
}

bool HasShapes(const Graph& graph, const Op& op) {
  const auto all = [&](const std::vector<int>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&](int id) { return HasShape(graph.tensor(id)); });
  };
  return !(op.inputs.empty() && op.outputs.empty()) && all(op.inputs) && all(op.outputs);
}

}  // namespace

std::string OpSignature(const Graph& graph, int id) {
  const Op& op = graph.op(id);
  std::string text;
  text.reserve(160);
  text = op.kind;
  text += '(';
  AppendTensors(text, graph, op.inputs, true);
  text += ") -> ";
  op.outputs.empty() ? void(text += "()") : AppendTensors(text, graph, op.outputs, false);
  text += ' ';
  AppendAttributes(text, op, [](std::string_view key) { return !Contains(kIrrelevant, key); });
  if (!HasShapes(graph, op)) text += fmt::format(" {} FLOP, {} B", op.flops, op.bytes_accessed);
  return text;
}

}  // namespace emplace
