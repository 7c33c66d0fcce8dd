#pragma once

// The training graph: ops, the tensors between them, and the dependencies. Immutable. graph_io.h
// reads and writes the file format `emplace-graph` (FORMAT.md).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

enum class TensorRole : std::uint8_t {
  kInput,
  kParameter,
  kBuffer,
  kActivation,
  kGradient,
  kOptimizerState,
  kOutput
};
enum class Phase : std::uint8_t { kForward, kBackward, kUpdate };

std::string_view ToString(TensorRole role);
std::string_view ToString(Phase phase);
std::optional<TensorRole> ParseTensorRole(std::string_view text);
std::optional<Phase> ParsePhase(std::string_view text);

/// A value that one op produces and others read; its id is its position in the graph's tensors.
struct Tensor {
  std::string name;  ///< may be empty
  std::vector<std::int64_t> shape;
  std::string dtype;       ///< "f32", "i64", ...; may be empty
  std::int64_t bytes = 0;  ///< [B], >= 0
  TensorRole role = TensorRole::kActivation;
  int alias_of = -1;  ///< tensor whose memory this one shares, or -1
  int producer = -1;  ///< op, or -1 for a graph input; filled in by Graph
  std::string extra;  ///< unknown keys of the file as a JSON object, or empty
};

/// One operation of a step; its id is its position in the graph's ops.
struct Op {
  std::string name;                  ///< unique, not empty
  std::string kind;                  ///< "Conv2D", "aten.mm", "parameter": framework/cost/op_kind.h
  std::vector<int> inputs, outputs;  ///< tensor ids in the framework's argument order
  std::vector<int> control_inputs;   ///< op ids that must finish before this op starts
  double flops = 0;                  ///< [FLOP], a multiply-add is two
  std::int64_t bytes_accessed = -1;  ///< [B]; -1 on construction: bytes of inputs plus outputs
  std::int64_t workspace_bytes = 0;  ///< [B]
  Phase phase = Phase::kForward;
  std::string colocate;                   ///< ops with the same label share a device; empty: none
  std::vector<std::string> device_kinds;  ///< classes or kind names it may run on; empty: any
  std::vector<std::string> devices;       ///< names or patterns of devices; empty: any
  std::vector<std::pair<std::string, double>> cost_ns;  ///< measured cost [ns] by device kind
  std::string attributes;                               ///< JSON object text, or empty
  std::string extra;  ///< unknown keys of the file as a JSON object, or empty

  /// True for parameters, optimizer state and constants, which occupy memory but do no work.
  bool IsStorage() const { return kind == "parameter" || kind == "constant"; }
};

/// Lists of integers in one array: row r is values[offsets[r], offsets[r + 1]).
struct Adjacency {
  std::vector<int> offsets{0}, values;
  std::span<const int> operator[](int row) const {
    return {values.data() + offsets[row], values.data() + offsets[row + 1]};
  }
};

class Graph {
 public:
  /// Computes producers, readers, dependencies and topological order. Ids are vector positions.
  /// @param where   stands for the file in messages
  /// @param source  JSON object text about the graph's origin, or empty
  /// @param extra   unknown keys of the file's outermost object as a JSON object, or empty
  /// @param ranks   devices that run the graph together, each with parts of the tensors
  /// @throws InputError naming `where`, op or tensor, and field: two producers, a dangling id, an
  ///   empty or duplicate op name, a negative or non-finite number, an alias cycle, a dependency
  ///   cycle (with the ops on it)
  Graph(std::string name,
        std::vector<Tensor> tensors,
        std::vector<Op> ops,
        std::string source = "",
        const std::string& where = "graph",
        std::string extra = "",
        int ranks = 1);

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  const std::string& extra() const { return extra_; }
  /// Returns the number of devices that run the graph together; the graph is that of rank 0.
  int ranks() const { return ranks_; }
  int num_ops() const { return static_cast<int>(ops_.size()); }
  int num_tensors() const { return static_cast<int>(tensors_.size()); }
  const Op& op(int id) const { return ops_[id]; }
  const Tensor& tensor(int id) const { return tensors_[id]; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Tensor> tensors() const { return tensors_; }

  /// Returns the op id of a name, or -1.
  int FindOp(std::string_view name) const;
  /// Returns the distinct ops that read a tensor, ascending.
  std::span<const int> readers(int tensor) const { return readers_[tensor]; }
  /// Returns the distinct tensors that an op reads, ascending.
  std::span<const int> reads(int op) const { return reads_[op]; }
  /// Returns the distinct ops with a control input on `op`, ascending.
  std::span<const int> control_readers(int op) const { return control_readers_[op]; }
  /// Returns the distinct ops that an op depends on through tensors or control inputs (successors:
  /// the ops that depend on it), ascending.
  std::span<const int> predecessors(int op) const { return predecessors_[op]; }
  std::span<const int> successors(int op) const { return successors_[op]; }
  /// Returns the tensor at the end of the chain of aliases; `tensor` itself if it is not an alias.
  int alias_root(int tensor) const { return alias_root_[tensor]; }
  /// Returns the ops in an order in which each op follows its predecessors. Among the ops whose
  /// predecessors have all been listed, the least id comes first.
  std::span<const int> topological_order() const { return topological_order_; }

 private:
  std::string name_, source_, extra_;
  int ranks_;
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  Adjacency readers_, reads_, control_readers_, predecessors_, successors_;
  std::vector<int> alias_root_, topological_order_;
  std::vector<int> by_name_;  // op ids sorted by name
};

}  // namespace emplace
