#include "experiments/report/timeline_picture.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "experiments/report/placement_picture.h"
#include "simulator/reference/reference.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("memory curves have few points and the exact peak") {
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    Timeline timeline;
    timeline.outcome.step_time = 100000;
    std::vector<std::int64_t> peak(2, 0), last(2, 0);
    for (int d = 0; d < 2; ++d) {
      Nanos time = 0;
      for (int i = 0; i < 3000; ++i) {
        time = std::min<Nanos>(100000, time + UniformInt(rng, 60));
        last[d] = UniformInt(rng, 1 << 30);
        peak[d] = std::max(peak[d], last[d]);
        timeline.memory.push_back({d, time, last[d]});
      }
    }
    const auto curves = DrawMemory(timeline, 2, 50);
    REQUIRE(curves.size() == 2);
    for (int d = 0; d < 2; ++d) {
      CHECK(curves[d].time.size() <= 102);
      CHECK(std::is_sorted(curves[d].time.begin(), curves[d].time.end()));
      CHECK(*std::max_element(curves[d].bytes.begin(), curves[d].bytes.end()) == peak[d]);
      CHECK(curves[d].bytes.back() == last[d]);
    }
  }
}

TEST_CASE("few events are drawn as they are") {
  Timeline timeline;
  timeline.outcome.step_time = 1000;
  timeline.memory = {{0, 0, 5}, {0, 400, 9}, {0, 900, 2}};
  const auto curves = DrawMemory(timeline, 2, 100);
  CHECK(curves[0].time == std::vector<Nanos>{0, 400, 900});
  CHECK(curves[0].bytes == std::vector<std::int64_t>{5, 9, 2});
  CHECK(curves[1].time.empty());
}

TEST_CASE("two ops on two devices") {
  // a on gpu:0 from 0 to 10; its 50 B go to gpu:1 (latency 1, 1 B/ns): 10 to 60, there at 61; b
  // from 61 to 66.
  ProblemBuilder builder = Gpus(2);
  builder.Op("a", {10}, {}, 50);
  builder.Op("b", {5}, {0});
  const auto problem = builder.Build();
  const std::vector<DeviceIndex> devices = {0, 1};
  const Timeline timeline = SimulateReference(*problem, devices, {});
  const Json json = TimelineJson(*problem, timeline);
  CHECK(json["step_time_ns"] == 66);
  REQUIRE(json["lanes"].size() == 3);
  CHECK(json["lanes"][1]["name"] == "gpu:1");
  CHECK(json["lanes"][2]["device"].is_null());
  CHECK(json["ops"].dump() ==
        R"({"op":[0,1],"lane":[0,1],"start":[0,61],"duration":[10,5],"wait":[0,0]})");
  CHECK(
      json["transfers"].dump() ==
      R"({"lane":[2],"op":[0],"start":[10],"wire":[50],"latency":[1],"wait":[0],"bytes":[50],"to":[[1]]})");
  CHECK(json["memory"][0]["capacity"].is_null());
}

TEST_CASE("every op and transfer of random problems is there") {
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    const auto problem = RandomProblem(rng, {});
    const std::vector<DeviceIndex> devices = RandomPlacement(rng, *problem).device;
    const Timeline timeline = SimulateReference(*problem, devices, {});
    const Json json = TimelineJson(*problem, timeline);
    CHECK(json["transfers"]["op"].size() == timeline.transfers.size());
    REQUIRE(json["ops"]["op"].size() == timeline.ops.size());
    std::vector<const OpEvent*> event_of(problem->num_ops());
    for (const OpEvent& event : timeline.ops) event_of[event.op] = &event;
    Nanos start = 0;
    for (size_t i = 0; i < timeline.ops.size(); ++i) {
      const OpEvent& event = *event_of[json["ops"]["op"][i].get<int>()];
      start += json["ops"]["start"][i].get<Nanos>();
      CHECK(start == event.start);
      CHECK(json["ops"]["duration"][i] == event.finish - event.start);
      CHECK(json["ops"]["wait"][i] == event.start - event.ready);
      CHECK(json["lanes"][json["ops"]["lane"][i].get<int>()]["device"] == event.device);
    }
  }
}

TEST_CASE("front coding") {
  CHECK(FrontCoded({"net/a/x", "net/a/y", "net/a/y", "other"}).dump() ==
        R"([0,"net/a/x",6,"y",7,"",0,"other"])");
  // No part of a character of several bytes is shared.
  CHECK(FrontCoded({"ä", "ö"}).dump() == "[0,\"ä\",0,\"ö\"]");
}

}  // namespace
