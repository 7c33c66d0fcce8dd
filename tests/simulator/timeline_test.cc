// Golden timelines as text, and the Perfetto trace. `scripts/update_golden` rewrites the golden
// files; review the diff.

#include "simulator/timeline.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "framework/base/file.h"
#include "tests/simulator/simulate.h"
#include "tests/support/paths.h"
#include "tests/support/timeline_text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

void CheckGolden(const std::string& name, const std::string& text) {
  const auto path = SourceDir() / "tests" / "golden" / (name + ".txt");
  if (std::getenv("EMPLACE_UPDATE_GOLDEN") != nullptr) WriteFileAtomically(path, text);
  CHECK(ReadFile(path) == text);
}

// A training step in small: two layers, a parameter each, their gradients and updates in place.
std::shared_ptr<const Problem> TrainingStep() {
  ProblemBuilder b;
  b.Device("cpu:0");
  b.Device("gpu:0", 5000);
  b.Device("gpu:1");
  b.kind(1).gap = 1;
  b.kind(2).issue = 1;
  b.kind(2).launch = 4;
  const int host = b.Channel("host", 5, kGigabytePerSecond, 2);
  const int p2p = b.Channel("p2p", 1, {2'000'000'000, 1});
  for (int gpu : {1, 2}) {
    b.Route(0, gpu, {host});
    b.Route(gpu, 0, {host});
  }
  b.Route(1, 2, {p2p});
  b.Route(2, 1, {p2p});
  const int x = b.Input("x", 64);
  const int w1 = b.Op("w1", {0}, {}, 400);
  const int w2 = b.Op("w2", {0}, {}, 200);
  const int h = b.Op("h", {90, 30, 30}, {w1}, 128);
  const int y = b.Op("y", {60, 20, 20}, {h, w2}, 32);
  const int dy = b.Op("dy", {5, 4, 4}, {y}, 32);
  const int dw2 = b.Op("dw2", {60, 20, 20}, {dy, h}, 200);
  const int dh = b.Op("dh", {60, 20, 20}, {dy, w2}, 128);
  const int dw1 = b.Op("dw1", {90, 30, 30}, {dh}, 400);
  const int u2 = b.Op("w2/update", {8, 3, 3}, {w2, dw2}, 200);
  const int u1 = b.Op("w1/update", {8, 3, 3}, {w1, dw1}, 400);
  b.op(h).inputs.push_back(x);
  b.op(dw1).inputs.push_back(x);
  for (int w : {w1, w2}) b.output(w).role = TensorRole::kParameter;
  b.output(u1).alias_of = b.op(w1).outputs[0];
  b.output(u2).alias_of = b.op(w2).outputs[0];
  b.output(y).role = TensorRole::kOutput;
  b.op(dw2).workspace_bytes = 1000;
  b.op(u1).control_inputs = {u2};
  return b.Build();
}

// w1, h, dw1, dh and w1/update on gpu:0; the rest on gpu:1, dy on the CPU.
const std::vector<DeviceIndex> kSplit = {1, 2, 1, 2, 0, 2, 1, 1, 2, 1};

TEST_CASE("golden: a training step split over three devices, queue semantics") {
  const auto problem = TrainingStep();
  CheckGolden("training_step_queue", FormatTimeline(*problem, Simulate(problem, kSplit, kQ)));
}

TEST_CASE("golden: a training step split over three devices, stream semantics") {
  const auto problem = TrainingStep();
  CheckGolden("training_step_stream", FormatTimeline(*problem, Simulate(problem, kSplit, kS)));
}

TEST_CASE("golden: a random problem with hops, slots and broadcasts") {
  Rng rng(99);
  const auto problem = RandomProblem(rng, {.num_ops = 14, .num_devices = 3});
  const Placement placement = RandomPlacement(rng, *problem);
  CheckGolden("random_queue", FormatTimeline(*problem, Simulate(problem, placement.device, kQ)));
  CheckGolden("random_stream", FormatTimeline(*problem, Simulate(problem, placement.device, kS)));
}

TEST_CASE(
    "the trace is JSON with a row per slot and channel, flows in pairs, and memory counters") {
  const auto problem = TrainingStep();
  const Timeline t = Simulate(problem, kSplit, kQ);
  const auto trace = nlohmann::json::parse(FormatTrace(*problem, t));
  CHECK(trace.at("otherData").at("step_time_ns") == t.outcome.step_time);
  int ops = 0, transfers = 0, rows = 0, begins = 0, ends = 0;
  std::map<std::string, std::int64_t> peak;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "X") ++(event.at("pid") == 1 ? ops : transfers);
    if (phase == "M" && event.at("name") == "thread_name") ++rows;
    begins += phase == "s";
    ends += phase == "f";
    if (phase == "C") {
      auto& largest = peak[event.at("name")];
      largest = std::max<std::int64_t>(largest, event.at("args").at("bytes"));
    }
    if (phase == "X" && event.at("name") == "h") {
      // h runs when its input w1 is there, 30 ns long; the trace counts in microseconds.
      CHECK(event.at("ts") == doctest::Approx(t.outcome.start[2] / 1000.0));
      CHECK(event.at("dur") == doctest::Approx(0.030));
    }
  }
  CHECK(ops == problem->num_ops());
  CHECK(transfers == static_cast<int>(t.transfers.size()));
  CHECK(rows == 3 + 2);
  CHECK(begins == ends);
  // An arrow belongs to the bar that it begins or ends in: before the bar's end.
  for (const auto& arrow : trace.at("traceEvents")) {
    if (arrow.at("ph") != "s" && arrow.at("ph") != "f") continue;
    bool bound = false;
    for (const auto& bar : trace.at("traceEvents")) {
      if (bar.at("ph") != "X" || bar.at("pid") != arrow.at("pid")) continue;
      if (bar.at("tid") != arrow.at("tid")) continue;
      const double start = bar.at("ts"), length = bar.at("dur"), at = arrow.at("ts");
      bound = bound || (start <= at && (at < start + length || (length == 0 && at == start)));
    }
    CHECK(bound);
  }
  CHECK(begins >= 2 * transfers);
  for (int d = 0; d < problem->num_devices(); ++d) {
    CHECK(peak["memory " + problem->cluster().device(d).name] == t.outcome.devices[d].peak);
  }
}

TEST_CASE("a transfer is drawn in the rows of the slots that it occupies, too") {
  ProblemBuilder b;
  b.Device("g0");
  b.Device("g1", kUnlimitedMemory, 2);
  const int k = b.Channel("copy", 3, kGigabytePerSecond);
  b.channel(k).occupies = Occupies::kBoth;
  b.Route(0, 1, {k});
  b.Op("a", {10}, {}, 20);
  b.Op("b", {40});
  b.Op("c", {1}, {0});
  const auto problem = b.Build(Grouping::Identity(3), ProblemChecks::kPlacementOnly);
  // a 0-10 on g0; b on slot 0 of g1. The transfer 10-30 on g0 and slot 1 of g1, which is row 2.
  const Timeline t = Simulate(problem, {0, 1, 1}, kQ);
  CHECK(FormatTimeline(*problem, t)
            .find("10       33  copy       a:0 -> g1 20 B hop 0 (ready 10) on g0/0 g1/1\n") !=
        std::string::npos);
  std::vector<int> rows;
  const auto trace = nlohmann::json::parse(FormatTrace(*problem, t));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("pid") != 1 || event.at("cat") != "transfer") continue;
    rows.push_back(event.at("tid"));
    CHECK(event.at("name") == "a:0");
    CHECK(event.at("ts") == doctest::Approx(0.010));
    CHECK(event.at("dur") == doctest::Approx(0.020));
    CHECK(event.at("args").at("bytes") == 20);
    CHECK(event.at("args").at("channel") == "copy");
  }
  CHECK(rows == std::vector<int>{0, 2});
}

}  // namespace
