#pragma once

// Arithmetic over the columns of a table: "min(scotch, expert) / rl - 1".
//
// Formulas have numbers, names, + - * / ^ and parentheses (parsed by muParser), and the functions
// min, max, sum, avg, abs, sqrt, exp, log, round. The first four take any number of values and
// return NaN if a value is NaN. Other features of muParser, such as comparisons and assignments,
// are refused.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// A parsed formula. Copies share one parser.
class Formula {
 public:
  /// @param place  place of the text, for messages
  /// @throws InputError at `place` for an empty text, wrong syntax, or an unknown function
  Formula(const std::string& text, const ConfigNode& place);

  const std::string& text() const { return text_; }
  /// Returns the names in the formula, sorted.
  const std::vector<std::string>& names() const { return names_; }
  const ConfigNode& place() const { return place_; }

  /// Evaluates the formula. Infinities and NaN follow IEEE 754. Not thread-safe, also for copies.
  /// @param values  [names().size()], in the order of the names
  double Evaluate(std::span<const double> values) const;

  /// Returns whether formulas can use `name`: a letter or _, then letters, digits and _, and not
  /// the name of a function.
  static bool CanName(const std::string& name);

 private:
  struct Impl;
  std::string text_;
  ConfigNode place_;
  std::vector<std::string> names_;
  std::shared_ptr<Impl> impl_;
};

/// A comparison of a claim: "left <= right".
struct Comparison {
  Formula left;
  std::string op;  ///< "<", "<=", ">" or ">="
  Formula right;

  /// Returns whether the comparison holds for these values. It does not hold if a side is NaN, or
  /// if both are the same infinity: of two agents without a fitting placement neither is better.
  bool Holds(double left_value, double right_value) const;
};

/// Reads a comparison.
/// @throws InputError at `place` unless `text` consists of two formulas with one comparison between
///   them
Comparison ParseComparison(const std::string& text, const ConfigNode& place);

}  // namespace emplace
