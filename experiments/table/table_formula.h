#pragma once

// Arithmetic over the columns of a table: "min(scotch, expert) / rl - 1".
//
// Numbers, names, + - * / ^ and parentheses (muParser reads them), and the functions min, max, sum,
// avg, abs, sqrt, exp, log, round. The first four take any number of values and are NaN if one of
// them is. What else muParser knows, such as comparisons and assignments, is refused.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// A formula that was read and can be evaluated.
class Formula {
 public:
  /// @param place  where the text stands, for messages
  /// @throws InputError at `place` for an empty text, wrong syntax, a function that does not exist
  Formula(const std::string& text, const ConfigNode& place);
  ~Formula();
  Formula(const Formula& other);
  Formula& operator=(const Formula& other);
  Formula(Formula&&) noexcept;
  Formula& operator=(Formula&&) noexcept;

  const std::string& text() const { return text_; }
  /// The names it uses, sorted.
  const std::vector<std::string>& names() const { return names_; }
  const ConfigNode& place() const { return place_; }

  /// Infinities and NaN follow IEEE 754. Not for two threads at once.
  /// @param values  [names().size()], of the names in their order
  double Evaluate(std::span<const double> values) const;

  /// Is `name` one that formulas can use: a letter or _, then letters, digits and _, and none of
  /// the functions?
  static bool CanName(const std::string& name);

 private:
  struct Impl;
  std::string text_;
  ConfigNode place_;
  std::vector<std::string> names_;
  std::unique_ptr<Impl> impl_;
};

/// What a claim says: "left <= right".
struct Comparison {
  Formula left;
  std::string op;  ///< "<", "<=", ">" or ">="
  Formula right;

  /// Does it hold for these values of both sides? Not if a side is NaN, and not if both are the
  /// same infinity: of two agents that both do not fit none is better.
  bool Holds(double left_value, double right_value) const;
};

/// Reads a comparison.
/// @throws InputError at `place` unless `text` is two formulas with one comparison between them
Comparison ParseComparison(const std::string& text, const ConfigNode& place);

}  // namespace emplace
