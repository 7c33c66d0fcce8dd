#include "experiments/table/table_formula.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
const double kUndefined = std::nan("");

Formula Parse(const std::string& text) {
  return {text, ConfigNode::FromString(QuoteYaml(text), "t.yaml")};
}

double Value(const std::string& text, const std::vector<double>& values = {}) {
  return Parse(text).Evaluate(values);
}

std::string FormulaRefusal(const std::string& text) {
  return MessageOf<InputError>([&] { Parse(text); });
}

TEST_CASE("names come sorted, and values in their order") {
  const Formula formula = Parse("min(single_gpu, expert) / rl - 1");
  CHECK(formula.names() == std::vector<std::string>{"expert", "rl", "single_gpu"});
  // ICML 2017, table 1, Inception-V3 with 4 GPUs: 4.60 / 3.85 - 1.
  CHECK(formula.Evaluate(std::vector<double>{10.65, 3.85, 4.60}) == doctest::Approx(0.1948052));
  const Formula copy = formula;
  CHECK(copy.Evaluate(std::vector<double>{2, 1, 4}) == 1);
  CHECK(formula.Evaluate(std::vector<double>{10.65, 3.85, 4.60}) == doctest::Approx(0.1948052));
}

TEST_CASE("arithmetic") {
  CHECK(Value("1 + 2 * 3 ^ 2") == 19);
  CHECK(Value("-a ^ 2", {3}) == -9);
  CHECK(Value("avg(1, 2, 6) + sum(1, 2) + abs(-1) + max(1, 5, 2)") == 12);
  CHECK(Value("sqrt(16) + log(exp(2)) + round(2.6)") == doctest::Approx(9));
  CHECK(Value("1.5e-3") == 0.0015);
}

TEST_CASE("infinite and undefined values") {
  CHECK(Value("min(a, b)", {kInfinite, 2}) == 2);
  CHECK(Value("min(a, b)", {kInfinite, kInfinite}) == kInfinite);
  CHECK(Value("a / b - 1", {3, kInfinite}) == -1);
  CHECK(std::isnan(Value("a / b", {kInfinite, kInfinite})));
  CHECK(Value("a / b", {1, 0}) == kInfinite);
  for (const char* text : {"min(a, b)", "min(b, a)", "max(a, b)", "max(b, a)", "sum(a, b)"}) {
    CAPTURE(text);
    CHECK(std::isnan(Value(text, {kUndefined, 1})));
  }
}

TEST_CASE("what is no formula is refused at its place") {
  CHECK(FormulaRefusal("") == "t.yaml:1:1: expected a formula");
  const std::string assignment = FormulaRefusal("rl = 3");
  CHECK(assignment.find("t.yaml:1:1: formula \"rl = 3\": unexpected '=' at character 4") == 0);
  CHECK(assignment.find("abs, avg, exp, log, max, min, round, sqrt, sum") != std::string::npos);
  CHECK(FormulaRefusal("a < b").find("unexpected '<'") != std::string::npos);
  CHECK(FormulaRefusal("a ? b : c").find("unexpected '?'") != std::string::npos);
  CHECK(FormulaRefusal("abss(a)").find("unknown function \"abss\"; did you mean \"abs\"?") !=
        std::string::npos);
  CHECK(FormulaRefusal("rnd(1)").find("unknown function \"rnd\"") != std::string::npos);
  for (const char* text : {"a +", "(a", "a)", "a b", "a, b", "min()", "abs(1, 2)", "2(3)"}) {
    CAPTURE(text);
    CHECK(FormulaRefusal(text).find("t.yaml:1:1: ") == 0);
  }
}

TEST_CASE("names that formulas can use") {
  for (const char* name : {"rl", "_x", "single_gpu2"}) CHECK(Formula::CanName(name));
  for (const char* name : {"", "2x", "a b", "a-b", "seq2seq hidden=64", "min"}) {
    CAPTURE(name);
    CHECK_FALSE(Formula::CanName(name));
  }
}

TEST_CASE("a comparison has two sides") {
  const ConfigNode place = ConfigNode::FromString("x", "t.yaml");
  const auto holds = [&](const std::string& op, double left, double right) {
    return ParseComparison("a " + op + " 2 * b", place).Holds(left, right);
  };
  CHECK(holds("<", 1, 2));
  CHECK_FALSE(holds("<", 2, 2));
  CHECK(holds("<=", 2, 2));
  CHECK(holds(">", 3, 2));
  CHECK(holds(">=", 2, 2));
  CHECK_FALSE(holds(">=", 1, 2));
  CHECK(holds("<", 1, kInfinite));
  CHECK_FALSE(holds("<=", kInfinite, kInfinite));
  CHECK_FALSE(holds("<=", kUndefined, 1));
  CHECK_FALSE(holds(">", kUndefined, 1));
  const Comparison comparison = ParseComparison("rl<=expert + 1", place);
  CHECK(comparison.left.text() == "rl");
  CHECK(comparison.op == "<=");
  CHECK(comparison.right.names() == std::vector<std::string>{"expert"});
  for (const char* text :
       {"rl", "a < b < c", "a == b", "a != b", "a =< b", "< b", "a <", "a <> b"}) {
    CAPTURE(text);
    CHECK(MessageOf<InputError>([&] { ParseComparison(text, place); }).find("t.yaml:1:1: ") == 0);
  }
}

}  // namespace
