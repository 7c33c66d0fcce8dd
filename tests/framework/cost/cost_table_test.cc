#include "framework/cost/cost_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

// Any positive double, by magnitude.
double Amount(Rng& rng) {
  return std::ldexp(1 + Uniform01(rng), static_cast<int>(UniformInt(rng, 80)) - 30);
}

std::string Name(Rng& rng) {
  static const std::vector<std::string> kParts{
      "aten.mm", "(f32[2,3])", "\"", "\\", "é", "\n", "{}"};
  std::string name = "x";
  for (int i = 0; i < 4; ++i) name += kParts[UniformInt(rng, static_cast<int>(kParts.size()))];
  return name;
}

Timing RandomTiming(Rng& rng) {
  const double median = Amount(rng);
  return {median,
          median * Uniform01(rng),
          median * 1.5,
          static_cast<std::int64_t>(UniformInt(rng, 200))};
}

RooflineFit RandomFit(Rng& rng) {
  return {.overhead_ns = Amount(rng),
          .flops_per_second = Amount(rng),
          .flops_half = Amount(rng),
          .bytes_per_second = Amount(rng),
          .bytes_half = Amount(rng),
          .spill_bytes = Amount(rng),
          .spill_bytes_per_second = Amount(rng),
          .neighbour_length = UniformInt(rng, 2) == 0 ? 0 : Amount(rng),
          .samples = 7,
          .error = Amount(rng),
          .error_p90 = Amount(rng)};
}

KindCosts RandomKind(Rng& rng, const std::string& name) {
  KindCosts costs;
  costs.kind = {
      .name = name,
      .device_class = UniformInt(rng, 2) == 0 ? DeviceClass::kCpu : DeviceClass::kGpu,
      .peak = {{"f32", Amount(rng)}},
      .memory_bandwidth = Amount(rng),
      .overhead = static_cast<Nanos>(UniformInt(rng, 1000)),
      .gap = static_cast<Nanos>(UniformInt(rng, 1000)),
      .issue = static_cast<Nanos>(UniformInt(rng, 1000)),
      .launch = static_cast<Nanos>(UniformInt(rng, 1000)),
      .pays_transfers = UniformInt(rng, 2) == 0,
      .cold_read = UniformInt(rng, 2) == 0 ? std::nullopt : std::optional(Bandwidth{12345, 1}),
      .efficiency = {{"matmul", 0.5 + 0.5 * Uniform01(rng)}},
      .source = UniformInt(rng, 2) == 0 ? "" : Name(rng)};
  if (UniformInt(rng, 2) == 0) costs.kind.interference["transfer"] = {1, kMostInterference};
  for (int i = UniformInt(rng, 20); i > 0; --i) {
    OpMeasurement op{.signature = fmt::format("{} {:02}", Name(rng), i),
                     .kind = Name(rng),
                     .op_class = static_cast<OpClass>(UniformInt(rng, 11)),
                     .flops = Amount(rng),
                     .bytes = static_cast<std::int64_t>(UniformInt(rng, 1 << 30)),
                     .is_proxy = UniformInt(rng, 2) == 0};
    for (auto* timing : {&op.isolated, &op.cold, &op.in_situ}) {
      if (UniformInt(rng, 2) == 0) *timing = RandomTiming(rng);
    }
    if (UniformInt(rng, 2) == 0) op.apart_ns = Amount(rng);
    if (UniformInt(rng, 2) == 0) {
      op.interference = {UniformInt(rng, kMostInterference + 1), UniformInt(rng, 2)};
    }
    costs.ops.push_back(std::move(op));
  }
  std::sort(costs.ops.begin(), costs.ops.end(), [](const auto& a, const auto& b) {
    return a.signature < b.signature;
  });
  for (int i = UniformInt(rng, 4); i > 0; --i) costs.by_op[Name(rng)] = RandomFit(rng);
  if (UniformInt(rng, 2) == 0) costs.by_class["matmul"] = RandomFit(rng);
  return costs;
}

CostTable RandomTable(Rng& rng) {
  CostTable table;
  table.machine = Name(rng);
  table.complete = UniformInt(rng, 2) == 0;
  for (int i = UniformInt(rng, 4); i > 0; --i) {
    table.properties[Name(rng)] = Name(rng);
    table.warnings.push_back(Name(rng));
    table.kinds.push_back(RandomKind(rng, fmt::format("kind {}", i)));
    table.dispatch.push_back(
        {"kind", Amount(rng), Amount(rng), Amount(rng), Amount(rng), Amount(rng)});
    table.interference.push_back({Name(rng), Name(rng), Amount(rng)});
    if (i == 1) table.interference.push_back({Name(rng), "b", 1.5, 1.25, 1.75, 1.375});
    table.link_contention.push_back({Name(rng), Name(rng), Amount(rng)});
    LinkMeasurement link{.from = Name(rng), .to = Name(rng), .memory = "pinned"};
    link.max_relative_error = Amount(rng);
    for (std::int64_t bytes = 1; bytes < 100; bytes *= 4) {
      link.points.emplace_back(bytes, RandomTiming(rng));
      link.ranges.push_back({bytes, Amount(rng), Amount(rng)});
    }
    table.links.push_back(std::move(link));
    table.held_out.push_back({Name(rng),
                              fmt::format("random {}", i),
                              Amount(rng),
                              Amount(rng),
                              static_cast<std::int64_t>(UniformInt(rng, 100)),
                              i == 2 ? Amount(rng) : 0,
                              i > 1 ? Amount(rng) : 0});
  }
  return table;
}

TEST_CASE("a table written and read is written again the same") {
  Rng rng(7);
  for (int i = 0; i < 200 * EMPLACE_TEST_SCALE; ++i) {
    const CostTable table = RandomTable(rng);
    const std::string text = FormatCostTable(table);
    const CostTable read = ParseCostTable(text, "costs.json");
    CHECK(FormatCostTable(read) == text);
    CHECK(read.held_out == table.held_out);  // numbers are written in full
  }
}

TEST_CASE("the order of keys and of records is free; keys of later versions are ignored") {
  Rng rng(8);
  for (int i = 0; i < 50; ++i) {
    const CostTable table = RandomTable(rng);
    auto json = nlohmann::json::parse(FormatCostTable(table));  // sorts the keys
    std::reverse(json["ops"].begin(), json["ops"].end());
    json["later"] = {{"any", 1}};
    for (auto& op : json["ops"]) op["colour"] = "blue";
    CHECK(FormatCostTable(ParseCostTable(json.dump(1), "costs.json")) == FormatCostTable(table));
  }
}

TEST_CASE("the text is for people: a record per line") {
  CostTable table;
  table.machine = "box";
  table.properties["cpu"] = "C";
  table.kinds.push_back({.kind = {.name = "c1", .device_class = DeviceClass::kCpu}});
  table.kinds[0].ops.push_back({.signature = "s", .kind = "k", .flops = 0.5, .bytes = 3});
  table.kinds[0].ops.push_back(
      {.signature = "t", .kind = "k", .is_proxy = true, .cold = Timing{2.5, 1, 3, 9, 2}});
  CHECK(
      FormatCostTable(table) ==
      R"({"format": "emplace-costs",
"version": 1,
"machine": "box",
"complete": true,
"properties": {
  "cpu": "C"
},
"warnings": [],
"device_kinds": [
{"name": "c1", "class": "cpu", "peak": {}, "memory_bandwidth": 0, "overhead_ns": 0, "gap_ns": 0, )"
      R"("issue_ns": 0, "launch_ns": 0, "pays_transfers": true, "efficiency": {}}
],
"dispatch": [],
"fits": [],
"ops": [
{"device_kind": "c1", "signature": "s", "kind": "k", "class": "unknown", "flops": 0.5, "bytes": 3},
{"device_kind": "c1", "signature": "t", "kind": "k", "class": "unknown", "flops": 0, "bytes": 0, )"
      R"("proxy": true, "cold": {"median_ns": 2.5, "low_ns": 1, "high_ns": 3, "mean_ns": 2, "samples": 9}}
],
"links": [],
"link_contention": [],
"interference": [],
"held_out": []
}
)");
}

TEST_CASE("files are read plain and gzipped") {
  const testing::TempDir folder;
  Rng rng(9);
  const CostTable table = RandomTable(rng);
  for (const char* name : {"costs.json", "costs.json.gz"}) {
    WriteFileAtomically(folder / name, FormatCostTable(table));
    CHECK(FormatCostTable(ReadCostTable(folder / name)) == FormatCostTable(table));
  }
  CHECK(testing::MessageOf<InputError>([&] {
          ReadCostTable(folder / "none.json");
        }).find("none.json") != std::string::npos);
}

TEST_CASE("kinds and ops are found by name; the timing by rank") {
  CostTable table;
  table.kinds.resize(2);
  table.kinds[0].kind.name = "cpu";
  table.kinds[1].kind.name = "gpu";
  for (const char* signature : {"a", "b", "d"}) {
    table.kinds[1].ops.push_back({.signature = signature});
  }
  CHECK(table.Find("gpu") == &table.kinds[1]);
  CHECK(table.Find("tpu") == nullptr);
  CHECK(table.kinds[1].Find("b") == &table.kinds[1].ops[1]);
  CHECK(table.kinds[1].Find("d") == &table.kinds[1].ops[2]);
  for (const char* missing : {"", "aa", "c", "e"}) CHECK(table.kinds[1].Find(missing) == nullptr);
  CHECK(table.kinds[0].Find("a") == nullptr);

  OpMeasurement op;
  CHECK(op.Best() == nullptr);
  op.in_situ = Timing{1, 1, 1, 1};
  CHECK(op.Best(false) == &*op.in_situ);
  op.cold = Timing{2, 2, 2, 1};
  CHECK(op.Best(true) == &*op.in_situ);
  CHECK(op.Best(false) == &*op.cold);
  op.isolated = Timing{3, 3, 3, 1};
  CHECK(op.Best(true) == &*op.in_situ);
  CHECK(op.Best(false) == &*op.isolated);
  CHECK(op.Time(false) == 3);
  CHECK(op.Time() == 1);
  op.in_situ->mean = 1.5;  // in situ what adds up counts, alone the median
  op.isolated->mean = 3.5;
  CHECK(op.Time() == 1.5);
  CHECK(op.Time(false) == 3);
  CHECK(OpMeasurement{}.Time() == std::nullopt);
}

// A small valid file with one place changed.
const char* const kValid = R"({"format": "emplace-costs", "version": 1, "machine": "box",
"properties": {"cpu": "C"}, "warnings": ["w"],
"device_kinds": [{"name": "c1", "class": "cpu", "peak": {"f32": 1e9}, "efficiency": {"matmul": 0.5}}],
"ops": [{"device_kind": "c1", "signature": "s", "kind": "k", "class": "matmul", "flops": 1,
  "bytes": 2, "isolated": {"median_ns": 2, "low_ns": 1, "high_ns": 3, "samples": 10}}],
"fits": [{"device_kind": "c1", "scope": "class", "name": "matmul", "overhead_ns": 1,
  "flops_per_second": 1, "flops_half": 0, "bytes_per_second": 0, "bytes_half": 0, "samples": 3,
  "error": 0.1, "error_p90": 0.2}],
"links": [{"from": "a", "to": "b", "memory": "host",
  "points": [{"bytes": 1, "median_ns": 2, "low_ns": 1, "high_ns": 3, "samples": 10}],
  "ranges": [{"from_bytes": 0, "latency_ns": 1, "bytes_per_second": 5},
             {"from_bytes": 9, "latency_ns": 1, "bytes_per_second": 6}]}],
"interference": [{"victim": "a", "aggressor": "b", "factor": 1.5}]})";

std::string ErrorAfter(const std::string& from, const std::string& to) {
  std::string text = kValid;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return testing::MessageOf<InputError>([&] { ParseCostTable(text, "f.json"); });
}

TEST_CASE("what is wrong is told by file, record and field") {
  REQUIRE_NOTHROW(ParseCostTable(kValid, "f.json"));
  CHECK(ErrorAfter("\"machine\": \"box\"", "\"machine\": 3") ==
        "f.json: machine: got 3; expected a description of the machine (text)");
  CHECK(ErrorAfter("\"w\"", "7") == "f.json: warnings: got 7; expected a warning (text)");
  CHECK(ErrorAfter("\"C\"", "7") == "f.json: properties: got 7; expected a property (text)");
  CHECK(ErrorAfter("\"class\": \"cpu\"", "\"class\": \"tpu\"") ==
        "f.json: device_kinds[0] \"c1\": class: unknown device class \"tpu\"; did you mean "
        "\"cpu\"? choices: cpu, gpu, network");
  CHECK(
      ErrorAfter("\"f32\": 1e9", "\"f33\": 1e9")
          .find(
              "f.json: device_kinds[0] \"c1\": peak: unknown key \"f33\"; did you mean \"f32\"?") ==
      0);
  CHECK(ErrorAfter("\"f32\": 1e9", "\"f32\": 0") ==
        "f.json: device_kinds[0] \"c1\": peak: f32: got 0; expected a number > 0");
  CHECK(ErrorAfter("\"matmul\": 0.5", "\"matmul\": 1.5") ==
        "f.json: device_kinds[0] \"c1\": efficiency: matmul: got 1.5; expected a share in (0, 1]");
  CHECK(ErrorAfter("\"flops\": 1", "\"flops\": -1") ==
        "f.json: ops[0] \"s\": flops: got -1; expected a finite number >= 0");
  CHECK(ErrorAfter("\"class\": \"matmul\"", "\"class\": \"matmull\"")
            .find("f.json: ops[0] \"s\": class: unknown op class \"matmull\"; did you mean "
                  "\"matmul\"?") == 0);
  CHECK(ErrorAfter("\"low_ns\": 1", "\"low_ns\": 4") ==
        "f.json: ops[0] \"s\": isolated: got low_ns 4, median_ns 2, high_ns 3; expected them to "
        "ascend");
  CHECK(ErrorAfter("[{\"device_kind\": \"c1\", \"signature\"",
                   "[{\"device_kind\": \"c2\", \"signature\"") ==
        "f.json: ops[0]: device_kind: unknown device kind \"c2\"; did you mean \"c1\"? choices: "
        "c1");
  CHECK(ErrorAfter("\"scope\": \"class\"", "\"scope\": \"clas\"")
            .find("f.json: fits[0] \"matmul\": scope: unknown scope \"clas\"") == 0);
  CHECK(ErrorAfter("\"from_bytes\": 9", "\"from_bytes\": 0") ==
        "f.json: links[0]: ranges[1]: from_bytes: got 0 after 0; expected ranges to ascend");
  CHECK(ErrorAfter("\"bytes_per_second\": 6", "\"bytes_per_second\": 0") ==
        "f.json: links[0]: ranges[1]: bytes_per_second: got 0; expected a number > 0");
  CHECK(ErrorAfter("\"factor\": 1.5", "\"factor\": \"x\"") ==
        "f.json: interference[0]: factor: got \"x\"; expected a finite number >= 0");
}

TEST_CASE("version 2 has the class network, and other tables are written as version 1") {
  CostTable table;
  table.kinds.push_back({.kind = {.name = "c1", .device_class = DeviceClass::kCpu}});
  CHECK(FormatCostTable(table).find("\"version\": 1,") != std::string::npos);
  table.kinds.push_back({.kind = {.name = "ring", .device_class = DeviceClass::kNetwork}});
  const std::string text = FormatCostTable(table);
  CHECK(text.find("\"version\": 2,") != std::string::npos);
  CHECK(text.find("\"class\": \"network\"") != std::string::npos);
  const CostTable read = ParseCostTable(text, "f.json");
  CHECK(read.Find("c1")->kind.device_class == DeviceClass::kCpu);
  CHECK(read.Find("ring")->kind.device_class == DeviceClass::kNetwork);
  CHECK(FormatCostTable(read) == text);
  CHECK(ErrorAfter("\"version\": 1", "\"version\": 3") ==
        "f.json: version: expected at most 2, got 3: made by a newer version of emplace");
}

TEST_CASE("a record that is there twice is refused") {
  const auto valid = nlohmann::json::parse(kValid);
  const auto error = [](const nlohmann::json& json) {
    return testing::MessageOf<InputError>([&] { ParseCostTable(json.dump(), "f.json"); });
  };
  const auto twice = [&](const char* list) {
    nlohmann::json json = valid;
    json[list].push_back(json[list][0]);
    return error(json);
  };
  CHECK(twice("ops") == "f.json: ops: signature \"s\" of device kind \"c1\" is listed twice");
  CHECK(twice("device_kinds") == "f.json: device_kinds[1] \"c1\": the device kind is listed twice");
  CHECK(twice("fits") == "f.json: fits[1]: class \"matmul\" of device kind \"c1\" is listed twice");
  nlohmann::json json = valid;
  nlohmann::json step = {{"graph", "g"},
                         {"placement", "random 3"},
                         {"simulated_ns", 2},
                         {"measured_ns", 1},
                         {"samples", 3}};
  json["held_out"] = nlohmann::json::array({step});
  step["graph"] = "h";
  json["held_out"].push_back(step);
  CHECK(ParseCostTable(json.dump(), "f.json").held_out.size() == 2);
  json["held_out"].push_back(step);
  CHECK(error(json) ==
        "f.json: held_out[2]: placement \"random 3\" of graph \"h\" is listed twice");
  json["held_out"][1]["measured_ns"] = 0;
  CHECK(error(json) == "f.json: held_out[1]: measured_ns: got 0; expected a number > 0");
}

}  // namespace
