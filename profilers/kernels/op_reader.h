#pragma once

// How the op tables (aten_work.cc, tensorflow_work.cc, optimizer_work.cc) read an op and write its
// calls. Private to profilers/kernels.
//
// Graphs are the user's: attributes may be missing, of a wrong type or contradict the shapes.
// Whatever the kernels cannot do, or what does not fit, throws NoKernel and makes the op a proxy;
// nothing in a graph may become a call that reads outside its tensors.

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

/// Thrown where no kernels can do an op; says why.
struct NoKernel {
  std::string reason;  ///< "a scaled product"
};

/// An op's attributes by name. Each getter throws NoKernel for a value of another type, and for a
/// missing one if no fallback is given.
class Attributes {
 public:
  /// @param json  text of a JSON object as Op::attributes has it, or empty: none
  explicit Attributes(const std::string& json);

  bool Has(std::string_view key) const;
  std::int64_t Int(std::string_view key, std::optional<std::int64_t> fallback = {}) const;
  bool Bool(std::string_view key, bool fallback) const;
  /// A number, or one of the strings "inf", "-inf" and "nan" (JSON has no such numbers).
  double Number(std::string_view key, std::optional<double> fallback = {}) const;
  std::string Text(std::string_view key, std::optional<std::string> fallback = {}) const;
  std::vector<bool> Flags(std::string_view key, const std::vector<bool>& fallback) const;
  using Ints = std::vector<std::int64_t>;
  /// One integer counts as a list of one.
  Ints List(std::string_view key, std::optional<Ints> fallback = {}) const;
  /// Two integers, [h, w]; one integer counts for both.
  Ints Pair(std::string_view key, std::optional<Ints> fallback = {}) const;
  /// A list of pairs: [[0, 1], [2, 3]].
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
  /// Input or output `index` of the op in its layout (LayoutOf()).
  /// @throws NoKernel if there is none, or its dtype or shape is unknown
  Argument In(int index) const;
  Argument Out(int index) const;
  /// In(i), Out(i) for i in [begin, end). @throws NoKernel likewise
  std::vector<Argument> Inputs(int begin, int end) const;
  std::vector<Argument> Outputs(int begin, int end) const;
  /// Whether output `index` lies in the storage of input `input`.
  bool IsInPlace(int index, int input) const;
  /// An axis as frameworks give it, from the front (0) or from the back (-1), as one from the
  /// front.
  /// @throws NoKernel unless -rank <= axis < rank
  static int Axis(std::int64_t axis, std::int64_t rank);

  /// Adds a call. Of a copy, pairs of arguments without elements are left out. Any other call is
  /// dropped if none of its outputs has elements.
  /// @throws NoKernel if only some of its arguments have elements
  void Emit(KernelKind kind,
            std::vector<Argument> inputs,
            std::vector<Argument> outputs,
            const KernelParams& params = {});
  /// kElementwise over the output's shape; inputs are broadcast to it. @throws NoKernel if one
  /// cannot be
  void EmitElementwise(Function function,
                       std::vector<Argument> inputs,
                       Argument output,
                       double alpha = 0);
  /// kReduce over `axes`, counted from the front or the back. The output may lack the reduced axes
  /// or have them with size 1.
  void EmitReduce(Function function,
                  const Argument& input,
                  const Argument& output,
                  const std::vector<std::int64_t>& axes);
  /// `value` everywhere in output 0.
  void EmitFill(double value);
  /// One kCopy between `whole` and `parts`, which lie in it one behind the other along `axis`.
  /// @param join  true: from the parts to the whole (concatenation); false: the reverse (split)
  /// @throws NoKernel if the parts do not fill the whole
  void EmitParts(const Argument& whole, const std::vector<Argument>& parts, int axis, bool join);
  /// `input` copied to the part of `output` that `window` sees, zeros everywhere else.
  void EmitZeroPadded(const Argument& input, const Argument& output, const TensorView& window);
  /// `input` repeated along its axes to fill `output`. @throws NoKernel if it does not do so a
  /// whole number of times
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

/// Emits the calls of an op. @throws NoKernel if they cannot be expressed
using OpRuleFunction = void (*)(OpReader&);
/// A line of an op table.
struct WorkRule {
  std::string_view name;
  OpRuleFunction emit;
};
/// The tables, each sorted by name. ATen's names are without "aten." and without overload ("add"
/// for "aten.add.Tensor"); it has five tables, for the length of their files.
std::span<const WorkRule> AtenWork();
std::span<const WorkRule> AtenElementwise();
std::span<const WorkRule> AtenMemory();
std::span<const WorkRule> AtenAttention();
std::span<const WorkRule> AtenNorms();
std::span<const WorkRule> TensorFlowWork();
std::span<const WorkRule> OptimizerWork();

// Views of views. Each throws NoKernel if the shapes do not allow it.

/// Axis i of the result is axis order[i] of `view`.
TensorView Permute(const TensorView& view, const std::vector<int>& order);
/// Broadcast as in NumPy: missing leading axes and axes of size 1 get stride 0.
TensorView Broadcast(const TensorView& view, const std::vector<std::int64_t>& shape);
/// The same elements in row-major order with another shape. @throws NoKernel also if strides cannot
/// express it
TensorView Reshape(const TensorView& view, const std::vector<std::int64_t>& shape);
/// Reshape() of equally many elements; nullopt if strides cannot express it.
std::optional<TensorView> TryReshape(const TensorView& view,
                                     const std::vector<std::int64_t>& shape);
/// `size` elements along `axis`: start, start + step, ...
TensorView Slice(const TensorView& view,
                 int axis,
                 std::int64_t start,
                 std::int64_t size,
                 std::int64_t step = 1);
/// The part at `index` of `axis`, without that axis.
TensorView Select(const TensorView& view, int axis, std::int64_t index);
/// All but the last `trailing` axes joined into one: [rows, ...].
TensorView Rows(const TensorView& view, int trailing = 1);
/// All axes joined into one.
TensorView Flat(const TensorView& view);

// The same argument through another view.

Argument With(Argument argument, TensorView view);
Argument AsRows(const Argument& argument);    ///< Rows(): [rows, width]
Argument AsVector(const Argument& argument);  ///< Flat(): [n]
/// Broadcast() to the shape of `target`.
Argument Spread(const Argument& argument, const Argument& target);
int Rank(const Argument& argument);
/// 0, 1, ... rank - 1.
std::vector<std::int64_t> AllAxes(const Argument& argument);

/// An image as [n, c, h, w], whatever order its data format gives the axes.
/// @param data_format  "NHWC" or "NCHW" @throws NoKernel for any other, or a rank that is not 4
Argument Image(const Argument& argument, std::string_view data_format);
/// What every rule checks before it emits. @throws NoKernel with the reason `what` unless
/// `condition`
void Require(bool condition, std::string_view what);

}  // namespace emplace::internal
