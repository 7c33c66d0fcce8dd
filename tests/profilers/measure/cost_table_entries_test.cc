#include "profilers/measure/cost_table_entries.h"

#include <doctest/doctest.h>

#include "framework/cost/op_signature.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;

TEST_CASE("records are found again, and ops stay sorted by signature") {
  CostTable table;
  DeviceKind kind;
  kind.name = "cpu";
  KindCosts& costs = KindIn(table, kind);
  for (const char* signature : {"m", "a", "z", "c", "m"}) {
    OpMeasurement op;
    op.signature = signature;
    op.flops = 5;
    OpIn(costs, op).bytes += 1;
  }
  CHECK(&KindIn(table, kind) == &costs);
  REQUIRE(costs.ops.size() == 4);
  CHECK(costs.ops[0].signature == "a");
  CHECK(costs.ops[1].signature == "c");
  CHECK(costs.ops[3].signature == "z");
  REQUIRE(costs.Find("m") != nullptr);
  CHECK(costs.Find("m")->bytes == 2);
  CHECK(costs.Find("m")->flops == 5);

  DispatchIn(table, "cpu").wait_ns = 3;
  CHECK(DispatchIn(table, "cpu").wait_ns == 3);
  CHECK(table.dispatch.size() == 1);

  table.links.push_back({.from = "a", .to = "b", .memory = "host"});
  CHECK(FindLink(table, "a", "b", "host") == &table.links[0]);
  CHECK(FindLink(table, "b", "a", "host") == nullptr);
  CHECK(FindLink(table, "a", "b", "pinned") == nullptr);
}

TEST_CASE("a new measurement tells the op's work") {
  testing::ProblemBuilder b;
  b.Device("d");
  const int op = b.Op("a", {1}, {}, 64);
  b.op(op).kind = "aten.mm";
  b.op(op).flops = 1000;
  b.op(op).bytes_accessed = 640;
  const auto graph = b.BuildGraph();
  const OpMeasurement measurement = NewMeasurement(*graph, op);
  CHECK(measurement.signature == OpSignature(*graph, op));
  CHECK(measurement.kind == "aten.mm");
  CHECK(measurement.op_class == OpClass::kMatmul);
  CHECK(measurement.flops == 1000);
  CHECK(measurement.bytes == 640);
  CHECK(measurement.Best() == nullptr);
}

}  // namespace
