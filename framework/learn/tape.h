#pragma once

// Reverse-mode automatic differentiation. A Tape records one node per matrix operation (ops.h) with
// its value and a closure that adds to the gradients of the operation's inputs; Backward() runs the
// closures in reverse order. Everything belongs to the tape that is passed; nothing is global.
//
//   Tape tape;
//   const Var y = MatMul(tape, tape.Constant(x), tape.Use(weights));
//   tape.Backward(SumAll(tape, Square(tape, y)));      // adds to weights.gradient
//
// Same operations, same bytes: a tape runs on the thread that calls it, and every sum has one
// order.

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/learn/matrix.h"
#include "framework/learn/parameter.h"

namespace emplace {

/// A value on a tape: the number of its node. Valid until the tape is cleared.
struct Var {
  int id = -1;
};

class Tape {
 public:
  Tape() = default;
  /// @param differentiable  false: parameters are constants; only values are wanted
  explicit Tape(bool differentiable) : differentiable_(differentiable) {}
  /// @param interrupt  asked at every node of the recording and of Backward(): both throw
  ///   Interrupted. What they were to compute is then unfinished.
  explicit Tape(const Interrupt& interrupt, bool differentiable = true)
      : interrupt_(interrupt), differentiable_(differentiable) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A leaf without gradient.
  Var Constant(Matrix value);
  /// A leaf without gradient that refers to a matrix which outlives the tape's content.
  Var ConstantView(const Matrix& value);
  /// The leaf of a parameter, the same for every use; its gradient is the parameter's.
  /// The parameter must not change before Clear().
  Var Use(Parameter& parameter);

  const Matrix& value(Var x) const { return *nodes_[x.id].value; }
  int rows(Var x) const { return static_cast<int>(value(x).rows()); }
  int cols(Var x) const { return static_cast<int>(value(x).cols()); }
  bool needs_gradient(Var x) const { return nodes_[x.id].needs_gradient; }
  /// Of the last Backward; empty if nothing reached the node. @param x not a parameter's leaf
  const Matrix& gradient(Var x) const { return nodes_[x.id].gradient; }

  /// Adds d loss / d p to the gradient of every parameter p in use. CHECKs that this is the first
  /// since Clear().
  /// @param loss  [1, 1]
  void Backward(Var loss);

  /// In words the first operation, in the order of recording, with a value that is not finite; if
  /// there is none, the first in the order of Backward with such a gradient; else "". For the
  /// message of a search that has to stop: "log_softmax [8, 3]: value", "lstm_cell [8, 256]:
  /// gradient". Values of -infinity count as finite: masked entries have them.
  std::string FirstNonFinite() const;

  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  /// Bytes of the values and gradients that the nodes hold. [B]
  std::int64_t bytes() const;
  void Clear();

  // For operations (ops_*.cc):

  /// Adds to the gradients of the inputs; `gradient` is that of the node's own value.
  using BackwardFunction = std::function<void(Tape& tape, const Matrix& gradient)>;
  /// @param op  static text for messages
  /// @param backward  dropped if no input needs a gradient
  Var Record(const char* op,
             Matrix value,
             std::initializer_list<Var> inputs,
             BackwardFunction backward);
  Var Record(const char* op,
             Matrix value,
             const std::vector<Var>& inputs,
             BackwardFunction backward);
  /// Where to add a node's gradient, zeros at first. @pre needs_gradient(x)
  Matrix& MutableGradient(Var x);
  /// The same for an operation that writes all of it: sized, its entries undefined. Null if there
  /// is something to be added to. @pre needs_gradient(x)
  Matrix* FreshGradient(Var x);
  /// MutableGradient(x) += expression; the first is written without zeros before it. Nothing
  /// happens, and the expression is not computed, if x needs no gradient.
  template <typename Expression>
  void AddGradient(Var x, const Expression& expression);
  /// AddGradient(w, x^T * dy). Products onto one node are gathered, and made as a single one when
  /// Backward reaches it: many steps of a recurrent network share their weights.
  /// @param x  [n, in]        @param dy  [n, out], the gradient that Backward passed: not copied
  void AddOuterProduct(Var w, Var x, const Matrix& dy);

 private:
  struct OuterProduct {
    const Matrix *x, *dy;  // a node's value and a node's gradient: they stay until Clear
  };
  struct Node {
    const char* op;
    Matrix own_value, gradient;
    const Matrix* value;             // own_value, a parameter's, or a view
    Parameter* parameter = nullptr;  // of a leaf
    bool needs_gradient = false;
    BackwardFunction backward;
    std::vector<OuterProduct> products;  // still to be added to the gradient
  };
  Var Add(Node node);
  Var Record(const char* op, Matrix value, std::span<const Var> inputs, BackwardFunction backward);
  static const Matrix& GradientOf(const Node& node);
  // sum += x^T dy of all of them, in blocks of stacked rows.
  static void AddProducts(Matrix& sum, const std::vector<OuterProduct>& products);

  std::deque<Node> nodes_;
  std::unordered_map<const Parameter*, int> leaves_;
  Interrupt interrupt_;
  bool differentiable_ = true, differentiated_ = false;
};

template <typename Expression>
void Tape::AddGradient(Var x, const Expression& expression) {
  Node& node = nodes_[x.id];
  if (!node.needs_gradient) return;
  if (node.parameter == nullptr && node.gradient.size() == 0) {
    node.gradient.noalias() = expression;
  } else {
    MutableGradient(x).noalias() += expression;
  }
}

}  // namespace emplace
