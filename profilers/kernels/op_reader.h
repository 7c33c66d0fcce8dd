#pragma once

// How the op tables (aten_work.cc, tensorflow_work.cc, optimizer_work.cc) read an op and write its
// calls. Private to profilers/kernels. Whatever is beyond the kernels ends in NoKernel, which makes
// the op a proxy: graphs are the user's, and nothing in them may become a call that reads outside
// of its tensors.

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

/// No kernels do this op; why.
struct NoKernel {
  std::string reason;
};

/// An op's attributes. A value of a wrong type and a missing one without fallback throw NoKernel.
class Attributes {
 public:
  /// @param json  object text, or empty
  explicit Attributes(const std::string& json);

  bool Has(std::string_view key) const;
  std::int64_t Int(std::string_view key, std::optional<std::int64_t> fallback = {}) const;
  bool Bool(std::string_view key, bool fallback) const;
  /// Also "inf", "-inf" and "nan", which JSON has as strings.
  double Number(std::string_view key, std::optional<double> fallback = {}) const;
  std::string Text(std::string_view key, std::optional<std::string> fallback = {}) const;
  /// A list of booleans.
  std::vector<bool> Flags(std::string_view key, const std::vector<bool>& fallback) const;
  using Ints = std::vector<std::int64_t>;
  /// One integer counts as a list of one.
  Ints List(std::string_view key, std::optional<Ints> fallback = {}) const;
  /// A list of one or two integers for [h, w].
  Ints Pair(std::string_view key, std::optional<Ints> fallback = {}) const;
  /// A list of pairs: [[0, 1], [2, 3]].
  std::vector<Ints> Pairs(std::string_view key) const;

 private:
  const Json& Get(std::string_view key) const;
  std::shared_ptr<const Json> values_;
};

/// An op on its way to calls.
class OpReader {
 public:
  OpReader(const Graph& graph, int op, const std::vector<bool>& dense_input);

  const Op& op() const { return op_; }
  const Attributes& attributes() const { return attributes_; }
  int num_inputs() const { return static_cast<int>(op_.inputs.size()); }
  int num_outputs() const { return static_cast<int>(op_.outputs.size()); }
  /// @throws NoKernel if there is none, or its dtype or shape is unknown
  Argument In(int index) const;
  Argument Out(int index) const;
  /// Whether output `index` lies in the storage of input `input`.
  bool IsInPlace(int index, int input) const;
  /// `axis` counted from the front. @throws NoKernel if it is none of `rank`
  static int Axis(std::int64_t axis, std::int64_t rank);

  /// Adds a call. Pairs without elements are left out of copies; any other call must have some.
  void Emit(KernelKind kind,
            std::vector<Argument> inputs,
            std::vector<Argument> outputs,
            const KernelParams& params = {});
  /// Elementwise over the output's shape; inputs are broadcast to it.
  void EmitElementwise(Function function,
                       std::vector<Argument> inputs,
                       Argument output,
                       double alpha = 0);
  /// @param axes  reduced, counted from the front or the back
  void EmitReduce(Function function,
                  const Argument& input,
                  const Argument& output,
                  const std::vector<std::int64_t>& axes);
  /// Copies the parts of `whole` along `axis` to or from `parts`, in order.
  void EmitParts(const Argument& whole, const std::vector<Argument>& parts, int axis, bool join);
  /// Zeros everywhere but in the window of `output`, which gets `input`.
  void EmitZeroPadded(const Argument& input, const Argument& output, const TensorView& window);
  /// `input` repeated along axes to `output`'s shape.
  void EmitTile(const Argument& input, const Argument& output);

  OpWork TakeWork() { return std::move(work_); }

 private:
  Argument Make(bool is_output, int index) const;

  const Graph& graph_;
  const Op& op_;
  Attributes attributes_;
  const std::vector<bool>& dense_input_;
  OpWork work_;
};

/// Emits the calls of an op. @throws NoKernel
using OpRuleFunction = void (*)(OpReader&);
struct WorkRule {
  std::string_view name;
  OpRuleFunction emit;
};
/// Sorted by name. ATen's names are without "aten." and overload.
std::span<const WorkRule> AtenWork();
std::span<const WorkRule> TensorFlowWork();
std::span<const WorkRule> OptimizerWork();

// Views of views. Each throws NoKernel if the shape does not allow it.

TensorView Permute(const TensorView& view, const std::vector<int>& order);
/// Numpy's broadcasting: missing leading axes and axes of size 1 get stride 0.
TensorView Broadcast(const TensorView& view, const std::vector<std::int64_t>& shape);
/// @throws NoKernel if strides cannot express it
TensorView Reshape(const TensorView& view, const std::vector<std::int64_t>& shape);
/// nullopt if strides cannot express it.
std::optional<TensorView> TryReshape(const TensorView& view,
                                     const std::vector<std::int64_t>& shape);
TensorView Slice(const TensorView& view,
                 int axis,
                 std::int64_t start,
                 std::int64_t size,
                 std::int64_t step = 1);
/// Axis `axis` at `index`, removed.
TensorView Select(const TensorView& view, int axis, std::int64_t index);
/// All but the last `trailing` axes made one: [rows, ...].
TensorView Rows(const TensorView& view, int trailing = 1);
/// One axis.
TensorView Flat(const TensorView& view);

/// The same argument through another view.
Argument With(Argument argument, TensorView view);

/// Dimensions a framework calls NHWC seen as [n, c, h, w]; NCHW unchanged. @throws NoKernel
Argument Image(const Argument& argument, std::string_view data_format);
/// @throws NoKernel "`what`" unless `condition`
void Require(bool condition, std::string_view what);

}  // namespace emplace::internal
