#pragma once

// Used by the op tables (aten_work.cc, tensorflow_work.cc, optimizer_work.cc) to read an op and to
// write its calls. Private to profilers/kernels.
//
// Graphs come from the user: attributes may be missing, have a wrong type or contradict the shapes.
// An op that the kernels cannot do, or that is inconsistent, throws NoKernel and becomes a proxy.
// No graph may lead to a call that reads outside its tensors.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/json.h"
#include "framework/graph/graph.h"
#include "profilers/kernels/op_work.h"

namespace emplace::internal {

/// Thrown if no kernels can do an op; gives the reason.
struct NoKernel {
  std::string reason;  ///< "a scaled product"
};

/// An op's attributes by name. Each getter throws NoKernel for a value of another type, and for a
/// missing value if no fallback is given.
class Attributes {
 public:
  /// @param json  text of a JSON object as Op::attributes has it, or empty: none
  explicit Attributes(const std::string& json);

  bool Has(std::string_view key) const;
  std::int64_t Int(std::string_view key, std::optional<std::int64_t> fallback = {}) const;
  bool Bool(std::string_view key, bool fallback) const;
  /// Returns a number. Accepts the strings "inf", "-inf" and "nan", too (JSON has no such numbers).
  double Number(std::string_view key, std::optional<double> fallback = {}) const;
  std::string Text(std::string_view key, std::optional<std::string> fallback = {}) const;
  std::vector<bool> Flags(std::string_view key, const std::vector<bool>& fallback) const;
  using Ints = std::vector<std::int64_t>;
  /// A single integer counts as a list of one.
  Ints List(std::string_view key, std::optional<Ints> fallback = {}) const;
  /// Returns two integers, [h, w]; a single integer counts for both.
  Ints Pair(std::string_view key, std::optional<Ints> fallback = {}) const;
  /// Returns a list of pairs: [[0, 1], [2, 3]].
  std::vector<Ints> Pairs(std::string_view key) const;

 private:
  const Json& Get(std::string_view key) const;
  std::shared_ptr<const Json> values_;
};

/// Reads one op and collects the calls that its rule emits.
class OpReader {
 public:
  /// @param graph  outlives this    @param own  as WorkOf(); outlives this
  OpReader(const Graph& graph, int op, const OwnLayouts& own);

  const Op& op() const { return op_; }
  const Attributes& attributes() const { return attributes_; }
  int num_inputs() const { return static_cast<int>(op_.inputs.size()); }
  int num_outputs() const { return static_cast<int>(op_.outputs.size()); }
  /// Returns input or output `index` of the op in its layout (LayoutOf()).
  /// @throws NoKernel if there is none, or its dtype or shape is unknown
  Argument In(int index) const;
  Argument Out(int index) const;
  /// Return In(i) or Out(i) for i in [begin, end). @throws NoKernel likewise
  std::vector<Argument> Inputs(int begin, int end) const;
  std::vector<Argument> Outputs(int begin, int end) const;
  /// Returns whether output `index` lies in the storage of input `input`.
  bool IsInPlace(int index, int input) const;
  /// Converts an axis from a framework, which may count from the back (-1 is the last), to one that
  /// counts from the front.
  /// @throws NoKernel unless -rank <= axis < rank
  static int Axis(std::int64_t axis, std::int64_t rank);

  /// Adds a call. In a copy, pairs of arguments without elements are left out. Any other call is
  /// dropped if none of its outputs has elements.
  /// @throws NoKernel if only some of its arguments have elements
  void Emit(KernelKind kind,
            std::vector<Argument> inputs,
            std::vector<Argument> outputs,
            const KernelParams& params = {});
  /// Adds kElementwise over the output's shape; inputs are broadcast to it. @throws NoKernel if an
  /// input cannot be broadcast
  void EmitElementwise(Function function,
                       std::vector<Argument> inputs,
                       Argument output,
                       double alpha = 0);
  /// Adds kReduce over `axes`, which count from the front or the back. The output may lack the
  /// reduced axes or have them with size 1.
  void EmitReduce(Function function,
                  const Argument& input,
                  const Argument& output,
                  const std::vector<std::int64_t>& axes);
  /// Fills output 0 with `value`.
  void EmitFill(double value);
  /// Adds one kCopy between `whole` and `parts`, which lie in it one after another along `axis`.
  /// @param join  true: from the parts to the whole (concatenation); false: the reverse (split)
  /// @throws NoKernel if the parts do not fill the whole
  void EmitParts(const Argument& whole, const std::vector<Argument>& parts, int axis, bool join);
  /// Copies `input` to the part of `output` that `window` covers, and writes zeros everywhere else.
  void EmitZeroPadded(const Argument& input, const Argument& output, const TensorView& window);
  /// Repeats `input` along its axes to fill `output`. @throws NoKernel unless the numbers of
  /// repeats are integers
  void EmitTile(const Argument& input, const Argument& output);

  OpWork TakeWork() { return std::move(work_); }

 private:
  Argument Make(bool is_output, int index) const;

  const Graph& graph_;
  const Op& op_;
  Attributes attributes_;
  const OwnLayouts& own_;
  OpWork work_;
};

/// Emits the calls of an op. @throws NoKernel if there are none for it
using OpRuleFunction = void (*)(OpReader&);
/// A line of an op table.
struct WorkRule {
  std::string_view name;
  OpRuleFunction emit;
};
/// The tables, each sorted by name. ATen's names lack "aten." and the overload ("add" for
/// "aten.add.Tensor"). ATen has five tables, to keep the files short.
std::span<const WorkRule> AtenWork();
std::span<const WorkRule> AtenElementwise();
std::span<const WorkRule> AtenMemory();
std::span<const WorkRule> AtenAttention();
std::span<const WorkRule> AtenNorms();
std::span<const WorkRule> TensorFlowWork();
std::span<const WorkRule> OptimizerWork();

// Views of views. Each function throws NoKernel if the shapes do not allow it.

/// Axis i of the result is axis order[i] of `view`.
TensorView Permute(const TensorView& view, const std::vector<int>& order);
/// Broadcasts as in NumPy: missing leading axes and axes of size 1 get stride 0.
TensorView Broadcast(const TensorView& view, const std::vector<std::int64_t>& shape);
/// Returns the same elements in row-major order with another shape. @throws NoKernel also if
/// strides cannot express it
TensorView Reshape(const TensorView& view, const std::vector<std::int64_t>& shape);
/// Like Reshape(), for the same number of elements; nullopt if strides cannot express it.
std::optional<TensorView> TryReshape(const TensorView& view,
                                     const std::vector<std::int64_t>& shape);
/// Returns `size` elements along `axis`: start, start + step, ...
TensorView Slice(const TensorView& view,
                 int axis,
                 std::int64_t start,
                 std::int64_t size,
                 std::int64_t step = 1);
/// Returns the part at `index` of `axis`, without that axis.
TensorView Select(const TensorView& view, int axis, std::int64_t index);

// The functions below return the same argument with another view.

Argument With(Argument argument, TensorView view);
/// Joins all but the last axis into one: [rows, width].
Argument AsRows(const Argument& argument);
/// Joins all axes into one: [n].
Argument AsVector(const Argument& argument);
/// Broadcasts to the shape of `target`.
Argument Spread(const Argument& argument, const Argument& target);
int Rank(const Argument& argument);
/// Returns 0, 1, ... rank - 1.
std::vector<std::int64_t> AllAxes(const Argument& argument);

/// Converts the start or end of a slice: from the back if negative, clamped to the axis.
std::int64_t ClampIndex(std::int64_t index, std::int64_t size);

/// Returns an image as [n, c, h, w] for any data format.
/// @param data_format  "NHWC" or "NCHW" @throws NoKernel for any other, or a rank that is not 4
Argument Image(const Argument& argument, std::string_view data_format);
/// Throws NoKernel with the reason `what` unless `condition` holds. Rules call it before they emit.
void Require(bool condition, std::string_view what);

}  // namespace emplace::internal
