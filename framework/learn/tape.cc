#include "framework/learn/tape.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/learn/products.h"

namespace emplace {
namespace {

// Limit of rows to stack. Stacking copies rows, and a product of more rows is not faster.
constexpr Eigen::Index kStackedRows = 2048;

std::string Place(const char* op, const Parameter* parameter, const Matrix& m, const char* what) {
  const std::string name = parameter != nullptr ? fmt::format(" \"{}\"", parameter->name) : "";
  return fmt::format("{}{} [{}, {}]: {}", op, name, m.rows(), m.cols(), what);
}

}  // namespace

Var Tape::Add(Node node) {
  Node& added = nodes_.emplace_back(std::move(node));
  if (added.value == nullptr) added.value = &added.own_value;
  return {num_nodes() - 1};
}

Var Tape::Constant(Matrix value) {
  return Add({.op = "constant", .own_value = std::move(value), .value = nullptr});
}

Var Tape::ConstantView(const Matrix& value) {
  return Add({.op = "constant", .value = &value});
}

Var Tape::Use(Parameter& parameter) {
  const auto [leaf, is_new] = leaves_.try_emplace(&parameter, num_nodes());
  if (!is_new) return {leaf->second};
  EMPLACE_CHECK(parameter.gradient.rows() == parameter.value.rows() &&
                    parameter.gradient.cols() == parameter.value.cols(),
                parameter.name);
  return Add({.op = "parameter",
              .value = &parameter.value,
              .parameter = &parameter,
              .needs_gradient = differentiable_});
}

const Matrix& Tape::Transposed(Var x) {
  Node& node = nodes_[x.id];
  if (node.transposed.size() == 0) node.transposed = node.value->transpose();
  return node.transposed;
}

Var Tape::Record(const char* op,
                 Matrix value,
                 std::initializer_list<Var> inputs,
                 BackwardFunction backward) {
  return Record(
      op, std::move(value), std::span(inputs.begin(), inputs.size()), std::move(backward));
}

Var Tape::Record(const char* op,
                 Matrix value,
                 const std::vector<Var>& inputs,
                 BackwardFunction backward) {
  return Record(op, std::move(value), std::span(inputs), std::move(backward));
}

Var Tape::Record(const char* op,
                 Matrix value,
                 std::span<const Var> inputs,
                 BackwardFunction backward) {
  interrupt_.Check();
  Node node{.op = op, .own_value = std::move(value), .value = nullptr};
  for (const Var x : inputs) node.needs_gradient |= needs_gradient(x);
  if (node.needs_gradient) node.backward = std::move(backward);
  return Add(std::move(node));
}

Matrix& Tape::MutableGradient(Var x) {
  Node& node = nodes_[x.id];
  EMPLACE_DCHECK(node.needs_gradient, node.op);
  if (node.parameter != nullptr) return node.parameter->gradient;
  if (node.gradient.size() == 0) node.gradient.setZero(node.value->rows(), node.value->cols());
  return node.gradient;
}

Matrix* Tape::FreshGradient(Var x) {
  Node& node = nodes_[x.id];
  EMPLACE_DCHECK(node.needs_gradient, node.op);
  if (node.parameter != nullptr || node.gradient.size() > 0) return nullptr;
  node.gradient.resize(node.value->rows(), node.value->cols());
  return &node.gradient;
}

void Tape::AddOuterProduct(Var w, Var x, const Matrix& dy) {
  if (needs_gradient(w)) nodes_[w.id].products.push_back({&value(x), &dy});
}

void Tape::Backward(Var loss) {
  EMPLACE_CHECK(rows(loss) == 1 && cols(loss) == 1,
                Place(nodes_[loss.id].op, nullptr, value(loss), "a loss is [1, 1]"));
  EMPLACE_CHECK(!differentiated_, "Backward again without Clear()");
  differentiated_ = true;
  AddGradient(loss, Matrix::Ones(1, 1));
  for (int id = loss.id; id >= 0; --id) {
    // All users of a node come after it, so its gradient is complete here.
    interrupt_.Check();
    const Node& node = nodes_[id];
    if (!node.products.empty()) AddProducts(MutableGradient({id}), node.products);
    if (node.backward && node.gradient.size() > 0) node.backward(*this, node.gradient);
  }
}

void Tape::AddProducts(Matrix& sum, const std::vector<OuterProduct>& products) {
  if (IsNarrow(sum)) {
    for (const auto& [x, dy] : products) AddNarrowOuterProducts(*x, *dy, sum);
    return;
  }
  Matrix x, dy;
  for (size_t begin = 0, end = 0; begin < products.size(); begin = end) {
    Eigen::Index rows = products[end++].x->rows();
    while (end < products.size() && rows + products[end].x->rows() <= kStackedRows) {
      rows += products[end++].x->rows();
    }
    if (end == begin + 1) {
      sum.noalias() += products[begin].x->transpose() * *products[begin].dy;
      continue;
    }
    x.resize(rows, sum.rows());
    dy.resize(rows, sum.cols());
    for (Eigen::Index row = 0; begin < end; row += products[begin++].x->rows()) {
      x.middleRows(row, products[begin].x->rows()) = *products[begin].x;
      dy.middleRows(row, products[begin].x->rows()) = *products[begin].dy;
    }
    sum.noalias() += x.transpose() * dy;
  }
}

const Matrix& Tape::GradientOf(const Node& node) {
  return node.parameter != nullptr ? node.parameter->gradient : node.gradient;
}

std::string Tape::FirstNonFinite() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Node& node : nodes_) {
    // The comparison is false for NaN too.
    if (!(node.value->array() < kInfinity).all()) {
      return Place(node.op, node.parameter, *node.value, "value");
    }
  }
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!(GradientOf(*node).array().abs() < kInfinity).all()) {
      return Place(node->op, node->parameter, *node->value, "gradient");
    }
  }
  return "";
}

std::int64_t Tape::bytes() const {
  std::int64_t entries = 0;
  for (const Node& node : nodes_) entries += node.own_value.size() + node.gradient.size();
  return entries * static_cast<std::int64_t>(sizeof(float));
}

void Tape::Clear() {
  nodes_.clear();
  leaves_.clear();
  differentiated_ = false;
}

}  // namespace emplace
