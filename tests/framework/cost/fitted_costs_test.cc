#include "framework/cost/fitted_costs.h"

#include <cmath>
#include <string>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

OpMeasurement Measured(const std::string& signature,
                       double bytes,
                       double isolated,
                       double in_situ) {
  OpMeasurement op{.signature = signature,
                   .kind = signature.substr(0, signature.find('(')),
                   .op_class = OpClass::kElementwise,
                   .bytes = static_cast<std::int64_t>(bytes)};
  op.isolated = Timing{isolated, isolated, isolated, 9};
  op.in_situ = Timing{in_situ, in_situ, in_situ, 9};
  return op;
}

// 100 ns + B / 1 GB/s for the class.
KindCosts MakeCosts(double length) {
  KindCosts costs;
  costs.ops = {Measured("add(f32[250]) -> () {}", 1000, 1100, 2200)};
  costs.by_class["elementwise"] = {
      .overhead_ns = 100, .bytes_per_second = 1e9, .neighbour_length = length, .error = 0.1};
  return costs;
}

double Nanos(const KindCosts& costs, bool in_situ, const char* signature, double bytes) {
  FittedCosts fitted(costs, in_situ);
  const auto found =
      fitted.Find(std::string(signature).substr(0, 3), OpClass::kElementwise, signature, 0, bytes);
  REQUIRE(found);
  return found->nanos;
}

TEST_CASE("without a length the fit alone decides, with one the ops of the same kind") {
  const char* const measured = "add(f32[250]) -> () {}";
  CHECK(Nanos(MakeCosts(0), true, measured, 1000) == doctest::Approx(1100));
  // Measured twice what the fit says: 1100 ns * 2^(1 / 1.04).
  CHECK(Nanos(MakeCosts(3), true, measured, 1000) == doctest::Approx(1100 * std::pow(2, 1 / 1.04)));
  CHECK(Nanos(MakeCosts(3), false, measured, 1000) == doctest::Approx(1100));
  // An op of another kind hears nothing of it.
  CHECK(Nanos(MakeCosts(3), true, "mul(f32[250]) -> () {}", 1000) == doctest::Approx(1100));
  // Four times the bytes and the dimension, nearly: log(4001 / 1001), log(1001 / 251).
  const double near =
      0.5 * std::exp(-std::log(4001 / 1001.0) / 3) + 0.5 * std::exp(-std::log(1001 / 251.0) / 3);
  CHECK(Nanos(MakeCosts(3), true, "add(f32[1000]) -> () {}", 4000) ==
        doctest::Approx(4100 * std::pow(2, near / 1.04)));
}

TEST_CASE("stand-ins tell nothing, and the fit of a kind comes first") {
  KindCosts costs = MakeCosts(3);
  costs.ops[0].is_proxy = true;
  CHECK(Nanos(costs, true, "add(f32[250]) -> () {}", 1000) == doctest::Approx(1100));
  FittedCosts fitted(costs, true);
  CHECK(!fitted.Find("add", OpClass::kElementwise, "", 0, 8)->is_of_kind);
  CHECK(!fitted.Find("mm", OpClass::kMatmul, "", 0, 8).has_value());
  costs.by_op["add"] = {.overhead_ns = 7};
  FittedCosts of_kind(costs, true);
  const auto found = of_kind.Find("add", OpClass::kElementwise, "", 0, 8);
  CHECK(found->is_of_kind);
  CHECK(found->nanos == 7);
  CHECK(found->fit == &costs.by_op.at("add"));
}

}  // namespace
