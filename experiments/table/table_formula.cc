#include "experiments/table/table_formula.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <muParser.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

using Values = std::span<const double>;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

bool AnyUndefined(Values values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

// muParser's own min and max drop or return a NaN, depending on its position.
double Min(const double* values, int count) {
  const Values all(values, count);
  return AnyUndefined(all) ? kNotANumber : *std::min_element(all.begin(), all.end());
}

double Max(const double* values, int count) {
  const Values all(values, count);
  return AnyUndefined(all) ? kNotANumber : *std::max_element(all.begin(), all.end());
}

double Sum(const double* values, int count) {
  double sum = 0;
  for (const double value : Values(values, count)) sum += value;
  return sum;
}

double Avg(const double* values, int count) {
  return Sum(values, count) / count;
}

// Has none of muParser's random numbers: the same runs give the same table.
mu::Parser MakeParser() {
  mu::Parser parser;
  parser.ClearFun();
  parser.DefineFun("min", Min);
  parser.DefineFun("max", Max);
  parser.DefineFun("sum", Sum);
  parser.DefineFun("avg", Avg);
  parser.DefineFun(
      "abs", +[](double value) { return std::abs(value); });
  parser.DefineFun(
      "sqrt", +[](double value) { return std::sqrt(value); });
  parser.DefineFun(
      "exp", +[](double value) { return std::exp(value); });
  parser.DefineFun(
      "log", +[](double value) { return std::log(value); });
  parser.DefineFun(
      "round", +[](double value) { return std::round(value); });
  parser.ClearConst();
  return parser;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  const mu::Parser parser = MakeParser();
  for (const auto& [name, function] : parser.GetFunDef()) names.push_back(name);
  return names;
}

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Refuses operators of muParser that change variables or compare.
void RequireArithmetic(const std::string& text, const ConfigNode& place) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) place.Fail("expected a formula");
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    return !IsNameCharacter(c) && std::string_view("+-*/^()., \t\n").find(c) == std::string::npos;
  });
  if (bad == text.end()) return;
  place.Fail(fmt::format(
      "formula \"{}\": unexpected '{}' at character {}; expected names of columns, numbers, "
      "+ - * / ^ ( ) and functions ({})",
      text,
      *bad,
      bad - text.begin() + 1,
      fmt::join(FunctionNames(), ", ")));
}

// Names an unknown function; muParser would report a syntax error at its parenthesis.
void RequireKnownFunctions(const std::string& text, const ConfigNode& place) {
  const std::vector<std::string> functions = FunctionNames();
  for (size_t open = text.find('('); open != std::string::npos; open = text.find('(', open + 1)) {
    const size_t last = open == 0 ? std::string::npos : text.find_last_not_of(" \t\n", open - 1);
    if (last == std::string::npos || !IsNameCharacter(text[last])) continue;
    size_t first = last;
    while (first > 0 && IsNameCharacter(text[first - 1])) --first;
    const std::string name = text.substr(first, last - first + 1);
    if (std::find(functions.begin(), functions.end(), name) == functions.end()) {
      ThrowUnknown(place.Where(), "function", name, functions);
    }
  }
}

}  // namespace

struct Formula::Impl {
  mu::Parser parser = MakeParser();
  std::vector<double> values;
};

Formula::Formula(const std::string& text, const ConfigNode& place)
    : text_(text), place_(place), impl_(std::make_shared<Impl>()) {
  RequireArithmetic(text, place);
  RequireKnownFunctions(text, place);
  try {
    impl_->parser.SetExpr(text);
    for (const auto& [name, address] : impl_->parser.GetUsedVar()) names_.push_back(name);
    impl_->values.assign(names_.size(), 1.0);
    for (size_t i = 0; i < names_.size(); ++i) {
      impl_->parser.DefineVar(names_[i], &impl_->values[i]);
    }
    impl_->parser.Eval();
    if (impl_->parser.GetNumResults() != 1) place.Fail("formula \"" + text + "\": has a comma");
  } catch (const mu::ParserError& error) {
    place.Fail(fmt::format("formula \"{}\": {}", text, error.GetMsg()));
  }
}

double Formula::Evaluate(Values values) const {
  EMPLACE_CHECK(values.size() == impl_->values.size());
  std::copy(values.begin(), values.end(), impl_->values.begin());
  return impl_->parser.Eval();
}

bool Formula::CanName(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) return false;
  const std::vector<std::string> functions = FunctionNames();
  return std::find(functions.begin(), functions.end(), name) == functions.end();
}

bool Comparison::Holds(double left_value, double right_value) const {
  if (std::isinf(left_value) && left_value == right_value) return false;
  if (op == "<") return left_value < right_value;
  if (op == "<=") return left_value <= right_value;
  if (op == ">") return left_value > right_value;
  return left_value >= right_value;
}

Comparison ParseComparison(const std::string& text, const ConfigNode& place) {
  const size_t begin = text.find_first_of("<>=!");
  const size_t end = text.find_first_not_of("<>=!", begin);
  static const std::set<std::string> kOperators = {"<", "<=", ">", ">="};
  const std::string op = begin == std::string::npos ? "" : text.substr(begin, end - begin);
  if (!kOperators.contains(op) || end == std::string::npos ||
      text.find_first_of("<>=!", end) != std::string::npos) {
    place.Fail(fmt::format(
        "expected one comparison of two formulas with <, <=, > or >=, as in \"rl <= expert\"; got "
        "\"{}\"",
        text));
  }
  return {Formula(text.substr(0, begin), place), op, Formula(text.substr(end), place)};
}

}  // namespace emplace
