#pragma once

// Reverse-mode automatic differentiation. A Tape records one node for each matrix operation
// (ops.h), with its value and a closure that adds to the gradients of the operation's inputs.
// Backward() runs the closures in reverse order. A Tape holds all of its state; nothing is global.
//
//   Tape tape;
//   const Var y = MatMul(tape, tape.Constant(x), tape.Use(weights));
//   tape.Backward(SumAll(tape, Square(tape, y)));      // adds to weights.gradient
//
// Results are deterministic to the byte: the caller's thread runs a tape, and sums have fixed
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
  /// @param differentiable  false: parameters are constants, and only values are computed
  explicit Tape(bool differentiable) : differentiable_(differentiable) {}
  /// @param interrupt  checked at every node, during recording and in Backward(); both throw
  ///   Interrupted. Their results are unfinished then.
  explicit Tape(const Interrupt& interrupt, bool differentiable = true)
      : interrupt_(interrupt), differentiable_(differentiable) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds a leaf without gradient.
  Var Constant(Matrix value);
  /// Adds a leaf without gradient that views a matrix, which must outlive the content of the tape.
  Var ConstantView(const Matrix& value);
  /// Returns the leaf of a parameter, the same for every use. Its gradient is the parameter's
  /// gradient. The parameter must not change before Clear().
  Var Use(Parameter& parameter);

  const Matrix& value(Var x) const { return *nodes_[x.id].value; }
  int rows(Var x) const { return static_cast<int>(value(x).rows()); }
  int cols(Var x) const { return static_cast<int>(value(x).cols()); }
  /// Returns the transposed value, which is computed once until Clear().
  const Matrix& Transposed(Var x);
  bool needs_gradient(Var x) const { return nodes_[x.id].needs_gradient; }
  /// Returns the gradient of the last Backward(); empty if no gradient reached the node.
  /// @param x not a parameter's leaf
  const Matrix& gradient(Var x) const { return nodes_[x.id].gradient; }

  /// Adds d loss / d p to the gradient of every parameter p in use. CHECKs that this is the first
  /// call since Clear().
  /// @param loss  [1, 1]
  void Backward(Var loss);

  /// Describes the first operation, in the order of recording, with a value that is not finite. If
  /// there is none, describes the first operation, in the order of Backward(), with such a
  /// gradient, else returns "". For error messages of a search: "log_softmax [8, 3]: value",
  /// "lstm_cell [8, 256]: gradient". Values of -infinity count as finite, because masked entries
  /// have them.
  std::string FirstNonFinite() const;

  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  /// Returns the bytes of the values and gradients that the nodes hold. [B]
  std::int64_t bytes() const;
  void Clear();

  // For operations (ops_*.cc):

  /// Adds to the gradients of the inputs; `gradient` is the gradient of the node's value.
  using BackwardFunction = std::function<void(Tape& tape, const Matrix& gradient)>;
  /// @param op  static text for messages
  /// @param backward  ignored if no input needs a gradient
  Var Record(const char* op,
             Matrix value,
             std::initializer_list<Var> inputs,
             BackwardFunction backward);
  Var Record(const char* op,
             Matrix value,
             const std::vector<Var>& inputs,
             BackwardFunction backward);
  /// Returns the gradient of a node, to be added to; initially zeros. @pre needs_gradient(x)
  Matrix& MutableGradient(Var x);
  /// Returns the gradient of a node for an operation that writes all of it: resized, with undefined
  /// entries. Returns nullptr if the operation must add to an existing gradient.
  /// @pre needs_gradient(x)
  Matrix* FreshGradient(Var x);
  /// Computes MutableGradient(x) += expression, without zeros for the first term. Does nothing, and
  /// does not evaluate the expression, if x needs no gradient.
  template <typename Expression>
  void AddGradient(Var x, const Expression& expression);
  /// Computes AddGradient(w, x^T * dy). Products for one node are collected and computed as one
  /// product when Backward() reaches the node: steps of a recurrent network share their weights.
  /// @param x  [n, in]        @param dy  [n, out], the gradient that Backward() passed; not copied
  void AddOuterProduct(Var w, Var x, const Matrix& dy);

 private:
  struct OuterProduct {
    const Matrix *x, *dy;  // the value of a node and the gradient of a node, valid until Clear()
  };
  struct Node {
    const char* op;
    Matrix own_value, gradient, transposed;
    const Matrix* value;             // own_value, a parameter's, or a view
    Parameter* parameter = nullptr;  // of a leaf
    bool needs_gradient = false;
    BackwardFunction backward;
    std::vector<OuterProduct> products;  // still to be added to the gradient
  };
  Var Add(Node node);
  Var Record(const char* op, Matrix value, std::span<const Var> inputs, BackwardFunction backward);
  static const Matrix& GradientOf(const Node& node);
  // Adds x^T dy of all products to `sum`, in blocks of stacked rows.
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
