#include "framework/graph/graph_doubts.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/base/json.h"
#include "framework/graph/coarsen_internal.h"
#include "framework/graph/dtypes.h"

namespace emplace {
namespace {

constexpr double kDoubtFactor = 1.9;
constexpr double kAllocatorRounding = 512;  // [B]

// Kinds of products by ProductBase(), with the index of the first factor among the inputs.
const std::map<std::string_view, size_t> kProductKinds = {{"matmul", 0},
                                                          {"batchmatmul", 0},
                                                          {"mm", 0},
                                                          {"bmm", 0},
                                                          {"gemm", 0},
                                                          {"linear", 0},
                                                          {"addmm", 1},
                                                          {"baddbmm", 1}};
constexpr std::string_view kConvolutionKinds[] = {"conv",
                                                  "conv1d",
                                                  "conv2d",
                                                  "conv3d",
                                                  "convolution"};
// Prefixes of other kinds that have FLOPs but no formula here.
constexpr std::string_view kOtherWork[] = {"convolution_backward",
                                           "convtranspose",
                                           "dot_general",
                                           "conv_general_dilated",
                                           "conv2dbackprop",
                                           "conv3dbackprop",
                                           "depthwiseconv2dnative"};

// Returns "addmm" for "aten.addmm.default", "batchmatmul" for "BatchMatMulV2", "conv" for
// "onnx.Conv".
std::string ProductBase(std::string_view kind) {
  std::string_view name = kind;
  if (kind.starts_with("aten.") || kind.starts_with("aten::")) {
    name.remove_prefix(kind[4] == ':' ? 6 : 5);
    name = name.substr(0, name.find('.'));
    if (name.ends_with('_')) name.remove_suffix(1);
  } else if (kind.starts_with("onnx.")) {
    name.remove_prefix(5);
    name = name.substr(name.rfind('.') + 1);
  } else if (kind.starts_with("jax.")) {
    name.remove_prefix(4);
  }
  const size_t letters = name.find_last_not_of("0123456789");
  if (letters != name.npos && letters + 1 < name.size() && name[letters] == 'V') {
    name = name.substr(0, letters);
  }
  std::string base(name);
  std::ranges::transform(base, base.begin(), [](unsigned char c) { return std::tolower(c); });
  return base;
}

bool IsConvolution(std::string_view base) {
  return std::ranges::find(kConvolutionKinds, base) != std::end(kConvolutionKinds);
}

bool HasWork(std::string_view base) {
  return kProductKinds.contains(base) || IsConvolution(base) ||
         std::ranges::any_of(kOtherWork, [&](auto begin) { return base.starts_with(begin); });
}

using Shape = std::vector<std::int64_t>;

double Elements(std::span<const std::int64_t> shape) {
  double count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
  return count;
}

// Returns `; did you mean "x"?` if a choice has a similar spelling, else "".
std::string Guess(const std::string& value, const std::vector<std::string>& choices) {
  const std::string hint = ChoicesHint(value, choices);
  if (!hint.starts_with("; did you mean \"")) return "";
  return hint.substr(0, hint.find("\"? ") + 2);
}

// Returns whether the ops of the graph stand for groups of ops.
bool IsContracted(const Graph& graph) {
  if (graph.source().find("\"contracted\"") == std::string::npos) return false;
  const Json source = Json::parse(graph.source(), nullptr, /*allow_exceptions=*/false);
  return source.is_object() && source.value("contracted", Json()) == true;
}

class Doubts {
 public:
  explicit Doubts(const Graph& graph) : graph_(graph) {}

  std::vector<std::string> FindAll() {
    for (const Op& op : graph_.ops()) base_.push_back(ProductBase(op.kind));
    Roles();
    NoFlops();
    Flops();
    Bytes();
    ForwardOps();
    Labels();
    Gradients();
    return std::move(lines_);
  }

  std::vector<std::string> FindDeviceKinds(std::span<const std::string> known) {
    const std::vector<std::string> choices = Sorted({known.begin(), known.end()});
    Lines lines(*this);
    for (int v = 0; v < graph_.num_ops(); ++v) {
      for (const std::string& name : graph_.op(v).device_kinds) {
        if (std::ranges::find(known, name) != known.end()) continue;
        std::string lower = name;
        std::ranges::transform(
            lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
        lines.Add("{}: device_kinds: no device is of the class or kind {}{}",
                  AtOp(v),
                  QuoteJson(name),
                  std::ranges::find(known, lower) != known.end()
                      ? fmt::format("; did you mean {}?", QuoteJson(lower))
                      : Guess(name, choices));
      }
    }
    lines.End();
    return std::move(lines_);
  }

  std::vector<std::string> FindDevices(const std::vector<std::string>& devices) {
    Lines lines(*this);
    for (int v = 0; v < graph_.num_ops(); ++v) {
      for (const std::string& pattern : graph_.op(v).devices) {
        if (std::ranges::any_of(
                devices, [&](const std::string& device) { return MatchesGlob(pattern, device); })) {
          continue;
        }
        lines.Add("{}: devices: no device matches {}{}",
                  AtOp(v),
                  QuoteJson(pattern),
                  Guess(pattern, devices));
      }
    }
    lines.End();
    return std::move(lines_);
  }

 private:
  // The places of one kind of doubt: writes the first and counts the others.
  class Lines {
   public:
    explicit Lines(Doubts& doubts) : doubts_(doubts) {}
    template <class... Parts>
    void Add(fmt::format_string<Parts...> text, Parts&&... parts) {
      if (count_++ == 0) first_ = fmt::format(text, std::forward<Parts>(parts)...);
    }
    // Counts a further place if there is a first one. Returns whether there is.
    bool CountFurther() { return count_ > 0 && ++count_ > 0; }
    void End() {
      if (count_ == 0) return;
      if (count_ > 1) first_ += fmt::format(" (and {} more)", count_ - 1);
      doubts_.lines_.push_back(std::move(first_));
    }

   private:
    Doubts& doubts_;
    std::string first_;
    int count_ = 0;
  };

  static std::vector<std::string> Sorted(std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  }

  std::string AtOp(int v) const {
    return fmt::format("ops[{}] {}", v, QuoteJson(graph_.op(v).name));
  }
  std::string AtTensor(int t) const {
    const std::string& name = graph_.tensor(t).name;
    return fmt::format("tensors[{}]{}", t, name.empty() ? std::string() : " " + QuoteJson(name));
  }

  template <class Visit>
  void ForTensors(const Visit& visit) {
    Lines lines(*this);
    for (int t = 0; t < graph_.num_tensors(); ++t) visit(t, graph_.tensor(t), lines);
    lines.End();
  }
  template <class Visit>
  void ForOps(const Visit& visit) {
    Lines lines(*this);
    for (int v = 0; v < graph_.num_ops(); ++v) visit(v, graph_.op(v), lines);
    lines.End();
  }

  void Roles() {
    ForTensors([&](int t, const Tensor& tensor, Lines& lines) {
      if (tensor.producer >= 0 || tensor.role == TensorRole::kInput) return;
      lines.Add(
          "{}: role: got {}, but no op produces the tensor, so every device has it at no cost; "
          "expected input",
          AtTensor(t),
          ToString(tensor.role));
    });
    ForTensors([&](int t, const Tensor& tensor, Lines& lines) {
      if (tensor.producer < 0 || tensor.role != TensorRole::kInput) return;
      lines.Add("{}: role: got input, but {} produces the tensor; expected another role",
                AtTensor(t),
                AtOp(tensor.producer));
    });
    ForTensors([&](int t, const Tensor& tensor, Lines& lines) {
      if (tensor.alias_of < 0) return;
      if (tensor.producer >= 0) {
        const Op& op = graph_.op(tensor.producer);
        for (const std::vector<int>* tensors : {&op.inputs, &op.outputs}) {
          if (std::ranges::find(*tensors, tensor.alias_of) != tensors->end()) return;
        }
      }
      lines.Add("{}: alias_of: got {}; expected a tensor that the alias's producer reads or makes",
                AtTensor(t),
                tensor.alias_of);
    });
    ForTensors([&](int t, const Tensor& tensor, Lines& lines) {
      const bool is_resident = tensor.role == TensorRole::kParameter ||
                               tensor.role == TensorRole::kBuffer ||
                               tensor.role == TensorRole::kOptimizerState;
      if (!is_resident || tensor.producer < 0 || tensor.alias_of >= 0) return;
      const Op& op = graph_.op(tensor.producer);
      if (op.IsStorage()) return;
      lines.Add(
          "{}: role: got {}, but {} of kind {} makes it in every step; expected an op of kind "
          "parameter or constant, or an alias_of",
          AtTensor(t),
          ToString(tensor.role),
          AtOp(tensor.producer),
          op.kind);
    });
    ForOps([&](int v, const Op& op, Lines& lines) {
      if (!op.IsStorage() || (op.inputs.empty() && op.flops == 0)) return;
      lines.Add(
          "{}: kind: a {} costs nothing; expected neither inputs nor flops", AtOp(v), op.kind);
    });
  }

  // Returns possible FLOPs of a product or convolution, likeliest first; empty: no formula.
  std::vector<double> ExpectedFlops(int v) const {
    const Op& op = graph_.op(v);
    const auto product = kProductKinds.find(base_[v]);
    const size_t first = product != kProductKinds.end() ? product->second : 0;
    if (op.outputs.size() != 1 || op.inputs.size() < first + 2) return {};
    const Shape& a = graph_.tensor(op.inputs[first]).shape;
    const Shape& b = graph_.tensor(op.inputs[first + 1]).shape;
    const Shape& out = graph_.tensor(op.outputs[0]).shape;
    if (std::min({a.size(), b.size(), out.size()}) < 2) return {};
    const double size_a = Elements(a), size_b = Elements(b), size_out = Elements(out);
    if (size_a * size_b * size_out == 0) return {};
    if (product != kProductKinds.end()) {
      // One matrix for each element of the batch, or 1: the same matrix for all.
      const double batch = Elements(std::span(b).first(b.size() - 2));
      if (batch != 1 && batch != Elements(std::span(a).first(a.size() - 2))) return {};
      // (batch m k) (batch k n) / (batch m n) = batch k^2 for every transposition of the factors.
      const double inner = std::sqrt(size_a * size_b / size_out / batch);
      for (const std::int64_t size : std::span(a).last(2)) {
        const bool in_b = size == b[b.size() - 2] || size == b.back();
        const auto k = static_cast<double>(size);
        if (in_b && std::abs(k - inner) < 0.5) return {2 * size_out * k};
      }
      return {};
    }
    if (!IsConvolution(base_[v])) return {};
    // The filters are [filters, channels, ...] in PyTorch and ONNX, else [..., channels, filters].
    std::vector<std::int64_t> filters{b.back(), b.front()};
    if (op.kind.starts_with("aten") || op.kind.starts_with("onnx")) std::ranges::reverse(filters);
    std::vector<double> found;
    for (const std::int64_t count : filters) {
      if (std::ranges::find(out, count) == out.end()) continue;
      found.push_back(2 * size_out * size_b / static_cast<double>(count));
    }
    if (!found.empty())
      found.push_back(2 * size_a * size_b / static_cast<double>(b[0]));  // transposed
    return found;
  }

  std::string Factors(const Op& op) const {
    std::vector<std::string> shapes;
    for (const int t : op.inputs) {
      const Shape& shape = graph_.tensor(t).shape;
      if (shape.size() > 1) shapes.push_back(fmt::format("[{}]", fmt::join(shape, ", ")));
    }
    return fmt::format("{}", fmt::join(shapes, " x "));
  }

  void NoFlops() {
    ForOps([&](int v, const Op& op, Lines& lines) {
      if (op.flops != 0 || !op.cost_ns.empty() || !HasWork(base_[v])) return;
      if (std::ranges::none_of(op.outputs, [&](int t) { return graph_.tensor(t).bytes > 0; })) {
        return;
      }
      const std::vector<double> expected = ExpectedFlops(v);
      lines.Add("{}: flops: got 0, so only the bytes of this {} have a cost; expected {}",
                AtOp(v),
                op.kind,
                expected.empty() ? "its FLOPs, a multiply-add counting two"
                                 : fmt::format("about {:.0f} for {}", expected[0], Factors(op)));
    });
  }

  void Flops() {
    ForOps([&](int v, const Op& op, Lines& lines) {
      if (op.flops == 0 || !op.cost_ns.empty() || !HasWork(base_[v])) return;
      const std::vector<double> expected = ExpectedFlops(v);
      if (expected.empty()) return;
      const double spare = 3 * Elements(graph_.tensor(op.outputs[0]).shape);  // a bias, a scale
      if (std::ranges::any_of(expected, [&](double count) {
            return count <= kDoubtFactor * op.flops && op.flops <= kDoubtFactor * count + spare;
          })) {
        return;
      }
      lines.Add("{}: flops: got {:.0f}; expected about {:.0f} for {}, a multiply-add counting two",
                AtOp(v),
                op.flops,
                expected[0],
                Factors(op));
    });
  }

  void Bytes() {
    ForTensors([&](int t, const Tensor& tensor, Lines& lines) {
      const Dtype* dtype = DtypeByName(tensor.dtype);
      if (tensor.shape.empty() || dtype == nullptr || dtype->bits == 0) return;
      const double expected = Elements(tensor.shape) * dtype->bits / 8;
      const auto bytes = static_cast<double>(tensor.bytes);
      if (bytes <= std::max(kDoubtFactor * expected, expected + kAllocatorRounding) &&
          kDoubtFactor * bytes >= expected) {
        return;
      }
      lines.Add("{}: bytes: got {}; expected about {:.0f} for [{}] of {}",
                AtTensor(t),
                tensor.bytes,
                std::ceil(expected),
                fmt::join(tensor.shape, ", "),
                dtype->name);
    });
  }

  void ForwardOps() {
    ForOps([&](int v, const Op& op, Lines& lines) {
      const std::optional<std::string> forward = internal::TextAttribute(op, "forward_op");
      if (!forward || graph_.FindOp(*forward) >= 0) return;
      if (lines.CountFurther()) return;
      std::vector<std::string> names;
      for (const Op& other : graph_.ops()) names.push_back(other.name);
      lines.Add("{}: attributes.forward_op: no op is called {}{}",
                AtOp(v),
                QuoteJson(*forward),
                Guess(*forward, Sorted(std::move(names))));
    });
  }

  void Labels() {
    std::map<std::string_view, int> count;
    for (const Op& op : graph_.ops()) count[op.colocate] += !op.colocate.empty();
    ForOps([&](int v, const Op& op, Lines& lines) {
      if (op.colocate.empty() || count[op.colocate] > 1) return;
      if (lines.CountFurther()) return;
      std::vector<std::string> others;
      for (const auto& [label, ops] : count) {
        if (ops > 0 && label != op.colocate) others.emplace_back(label);
      }
      lines.Add("{}: colocate: no other op has the label {}{}",
                AtOp(v),
                QuoteJson(op.colocate),
                Guess(op.colocate, others));
    });
  }

  void Gradients() {
    const auto is_read = [&](int t) { return !graph_.readers(t).empty(); };
    ForTensors([&](int t, const Tensor& tensor, Lines& lines) {
      const int v = tensor.producer;
      if (v < 0 || tensor.bytes == 0 || is_read(t) || !graph_.control_readers(v).empty()) return;
      const Op& op = graph_.op(v);
      const bool is_result = op.phase == Phase::kBackward &&
                             tensor.role == TensorRole::kActivation &&
                             std::ranges::none_of(op.outputs, is_read);
      if (tensor.role != TensorRole::kGradient && !is_result) return;
      lines.Add("{}: no op reads this gradient of {}; expected an op that does, or the role output",
                AtTensor(t),
                AtOp(v));
    });
  }

  const Graph& graph_;
  std::vector<std::string> base_;  // [num_ops] ProductBase()
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> FindDoubts(const Graph& graph) {
  if (IsContracted(graph)) return {};
  return Doubts(graph).FindAll();
}

std::vector<std::string> FindUnknownDeviceKinds(const Graph& graph,
                                                std::span<const std::string> known) {
  return Doubts(graph).FindDeviceKinds(known);
}

std::vector<std::string> FindUnmatchedDevices(const Graph& graph,
                                              const std::vector<std::string>& devices) {
  return Doubts(graph).FindDevices(devices);
}

}  // namespace emplace
