#pragma once

// A graph of a few ops with values, run op by op through WorkOf and the reference kernels.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/graph/graph.h"
#include "profilers/kernels/op_work.h"
#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {

class TinyGraph {
 public:
  using Shape = std::vector<std::int64_t>;
  using Values = std::vector<double>;

  /// A graph input. @return tensor id
  int Input(const Shape& shape, const Values& values, DType dtype = DType::kF32) {
    const int id = AddTensor(shape, dtype, -1);
    values_[id] = values;
    return id;
  }

  struct Output {
    Shape shape;
    DType dtype = DType::kF32;
    int alias_of = -1;
  };
  /// @param attributes  JSON object text  @return tensor ids of the outputs
  std::vector<int> AddOp(const std::string& kind,
                         const std::string& attributes,
                         const std::vector<int>& inputs,
                         const std::vector<Output>& outputs) {
    Op op;
    op.name = "op" + std::to_string(ops_.size());
    op.kind = kind;
    op.attributes = attributes;
    op.inputs = inputs;
    for (const Output& output : outputs) {
      op.outputs.push_back(AddTensor(output.shape, output.dtype, output.alias_of));
    }
    ops_.push_back(op);
    return op.outputs;
  }

  Graph Build() const { return Graph("tiny", tensors_, ops_); }

  /// Runs all ops, none of which may be a proxy, from fresh storage with random bytes.
  void Run() {
    graph_.emplace(Build());
    Rng rng(1);
    storage_.clear();
    for (int t = 0; t < graph_->num_tensors(); ++t) {
      if (graph_->alias_root(t) != t) continue;
      Buffer& buffer = storage_[t];
      buffer.resize(graph_->tensor(t).bytes);
      for (std::byte& byte : buffer) byte = static_cast<std::byte>(UniformInt(rng, 256));
    }
    for (const auto& [id, values] : values_) {
      WriteElements(LayoutOf(*graph_, id), values, storage_[id].data());
    }
    for (const int op : graph_->topological_order()) {
      REQUIRE_EQ(WhyProxy(*graph_, op), "");
      std::vector<void*> inputs, outputs;
      for (const int id : graph_->op(op).inputs) inputs.push_back(StorageOf(id));
      for (const int id : graph_->op(op).outputs) outputs.push_back(StorageOf(id));
      for (const KernelCall& call : WorkOf(*graph_, op).calls) {
        RunReference(call, inputs.data(), outputs.data());
      }
    }
  }

  /// A tensor's elements after Run(), row-major.
  Values Read(int id) { return ReadElements(LayoutOf(*graph_, id), StorageOf(id)); }

 private:
  int AddTensor(const Shape& shape, DType dtype, int alias_of) {
    Tensor tensor;
    tensor.shape = shape;
    tensor.dtype = ToString(dtype);
    tensor.alias_of = alias_of;
    tensor.bytes = ContiguousView(dtype, shape).num_elements() * SizeOf(dtype);
    tensors_.push_back(tensor);
    return static_cast<int>(tensors_.size()) - 1;
  }
  void* StorageOf(int id) { return storage_.at(graph_->alias_root(id)).data(); }

  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::map<int, Values> values_;
  std::map<int, Buffer> storage_;
  std::optional<Graph> graph_;
};

/// One op alone: its outputs' values.
inline std::vector<TinyGraph::Values> RunOp(
    const std::string& kind,
    const std::string& attributes,
    const std::vector<std::pair<TinyGraph::Shape, TinyGraph::Values>>& inputs,
    const std::vector<TinyGraph::Shape>& outputs) {
  TinyGraph graph;
  std::vector<int> ids;
  for (const auto& [shape, values] : inputs) ids.push_back(graph.Input(shape, values));
  std::vector<TinyGraph::Output> described;
  for (const TinyGraph::Shape& shape : outputs) described.push_back({.shape = shape});
  const std::vector<int> results = graph.AddOp(kind, attributes, ids, described);
  graph.Run();
  std::vector<TinyGraph::Values> values;
  for (const int id : results) values.push_back(graph.Read(id));
  return values;
}

/// Uniform in [-1, 1), as f32.
inline TinyGraph::Values RandomValues(const TinyGraph::Shape& shape, Rng& rng) {
  TinyGraph::Values values(ContiguousView(DType::kF32, shape).num_elements());
  for (double& value : values) value = static_cast<float>(2 * Uniform01(rng) - 1);
  return values;
}

inline double Dot(const TinyGraph::Values& a, const TinyGraph::Values& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// d<f(x), dy> / dx by central differences.
inline TinyGraph::Values Gradient(
    TinyGraph::Values x,
    const TinyGraph::Values& dy,
    const std::function<TinyGraph::Values(const TinyGraph::Values&)>& f) {
  const double h = 1.0 / 64;
  TinyGraph::Values gradient;
  for (double& value : x) {
    const double was = value;
    value = was + h;
    const double above = Dot(f(x), dy);
    value = was - h;
    gradient.push_back((above - Dot(f(x), dy)) / (2 * h));
    value = was;
  }
  return gradient;
}

inline void CheckNear(const TinyGraph::Values& actual,
                      const TinyGraph::Values& expected,
                      double tolerance = 1e-5) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(tolerance).scale(1));
  }
}

}  // namespace emplace::testing
