#include "framework/cluster/cluster.h"

#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

// The arguments of a valid cluster, for one change at a time: a -> b takes p then q, b -> a takes
// q.
struct Parts {
  std::vector<DeviceKind> kinds{{.name = "k"}};
  std::vector<Device> devices{{.name = "a"}, {.name = "b"}};
  std::vector<Channel> channels{{.name = "p", .latency = 10, .bandwidth = {1'000'000'000, 1}},
                                {.name = "q", .latency = 5, .bandwidth = {3'000'000'000, 1}}};
  std::vector<std::vector<int>> routes{{}, {0, 1}, {1}, {}};

  Cluster Build() const { return Cluster("two", kinds, devices, channels, routes, "here"); }
};

void CheckRefused(const std::function<void(Parts&)>& change, const std::string& expected) {
  Parts parts;
  change(parts);
  const std::string message = testing::MessageOf<InputError>([&] { parts.Build(); });
  INFO("message: ", message);
  CHECK(message.find(expected) != std::string::npos);
}

TEST_CASE("what was given is found again") {
  const Cluster cluster = Parts{}.Build();
  CHECK(cluster.name() == "two");
  CHECK(cluster.num_devices() == 2);
  CHECK(cluster.num_channels() == 2);
  CHECK(cluster.FindDevice("b") == 1);
  CHECK(cluster.FindDevice("c") == -1);
  CHECK(cluster.DeviceNames() == std::vector<std::string>{"a", "b"});
  CHECK(cluster.route(0, 1).size() == 2);
  CHECK(cluster.route(1, 0)[0] == 1);
  CHECK(cluster.kind_of(1).name == "k");
  CHECK(cluster.device(0).memory == kUnlimitedMemory);
}

TEST_CASE("transfer time is the sum of the hops") {
  const Cluster cluster = Parts{}.Build();
  // 10 B: 10 + 10 / 1 = 20 on p, 5 + ceil(10 / 3) = 9 on q.
  CHECK(cluster.TransferTime(0, 1, 10) == 29);
  CHECK(cluster.TransferTime(1, 0, 10) == 9);
  CHECK(cluster.TransferTime(0, 0, 10) == 0);
  CHECK(cluster.TransferTime(0, 1, 0) == 15);
  Parts parts;
  parts.routes[1].clear();
  CHECK(parts.Build().TransferTime(0, 1, 10) == kMaxNanos);
}

TEST_CASE("bad parts are refused by name") {
  CheckRefused([](Parts& p) { p.devices.clear(); }, "here: there are no devices");
  CheckRefused([](Parts& p) { p.devices.resize(65, {.name = "x"}); },
               "here: 65 devices, expected at most 64");
  CheckRefused([](Parts& p) { p.devices[1].name = "a"; },
               "here: device \"a\": the name is used twice");
  CheckRefused([](Parts& p) { p.devices[1].name = ""; }, "here: device 1 has an empty name");
  CheckRefused([](Parts& p) { p.channels[1].name = "p"; },
               "here: channel \"p\": the name is used twice");
  CheckRefused([](Parts& p) { p.kinds.push_back({.name = "k"}); },
               "here: device kind \"k\": the name is used twice");
  CheckRefused([](Parts& p) { p.devices[0].kind = 1; }, "here: device \"a\": its kind is 1 of 1");
  CheckRefused([](Parts& p) { p.devices[0].slots = 0; },
               "here: device \"a\": slots is 0, expected at least 1");
  CheckRefused([](Parts& p) { p.devices[0].memory = -1; }, "device \"a\": memory is -1");
  CheckRefused([](Parts& p) { p.kinds[0].gap = -1; }, "device kind \"k\": gap is -1");
  CheckRefused([](Parts& p) { p.devices[0].neighbors = 1; },
               "device \"a\": device 0 cannot be its neighbour; neighbours are two devices that "
               "name each other");
  CheckRefused([](Parts& p) { p.devices[0].neighbors = 2; },
               "device \"a\": device 1 cannot be its neighbour; neighbours are two devices that "
               "name each other");
  CheckRefused([](Parts& p) { p.kinds[0].interference["view"] = {}; },
               "device kind \"k\": interference of \"view\"");
  CheckRefused(
      [](Parts& p) {
        p.kinds[0].interference["copy"] = {-1, 0};
      },
      "device kind \"k\": interference of copy is -1, expected 0 to 16384 (in 1/1024)");
  CheckRefused([](Parts& p) { p.channels[0].latency = -1; }, "channel \"p\": latency is -1");
  CheckRefused([](Parts& p) { p.channels[0].setup = -1; }, "channel \"p\": setup is -1");
  CheckRefused([](Parts& p) { p.channels[0].bandwidth = {}; },
               "channel \"p\": the bandwidth must be greater than 0");
  CheckRefused([](Parts& p) { p.routes.pop_back(); },
               "here: routes for 3 ordered pairs, expected 2 x 2");
  CheckRefused([](Parts& p) { p.routes[1] = {2}; },
               "here: route \"a -> b\": hop 0 is channel 2 of 2");
  CheckRefused([](Parts& p) { p.routes[0] = {0}; }, "a device has no route to itself");
  CheckRefused([](Parts& p) { p.channels[1].broadcast = true; },
               "here: route \"a -> b\": the broadcast channel \"q\" may only be a first hop");
  CheckRefused([](Parts& p) { p.channels[1].occupies = Occupies::kSource; },
               "here: route \"a -> b\": the channel \"q\" occupies its source and may only be a "
               "first hop, but it is hop 1 of 2");
  CheckRefused([](Parts& p) { p.channels[0].occupies = Occupies::kDestination; },
               "here: route \"a -> b\": the channel \"p\" occupies its destination and may only be "
               "a last hop, but it is hop 0 of 2");
  for (const int k : {0, 1}) {
    CheckRefused([k](Parts& p) { p.channels[k].occupies = Occupies::kBoth; },
                 "occupies its source and its destination and may only be the only hop of a route");
  }
  for (const Occupies occupies : {Occupies::kDestination, Occupies::kBoth}) {
    CheckRefused(
        [&](Parts& p) {
          p.channels[0].broadcast = true;
          p.channels[0].occupies = occupies;
        },
        "here: channel \"p\": a broadcast channel may occupy its source only, not");
  }
}

TEST_CASE("channels may occupy devices at the ends of their routes") {
  Parts parts;
  parts.channels[0].occupies = Occupies::kSource;  // first of a -> b
  parts.channels[0].broadcast = true;
  parts.channels[1].occupies = Occupies::kDestination;  // last of a -> b, and all of b -> a
  CHECK(parts.Build().channel(1).occupies == Occupies::kDestination);
  parts.channels[1].occupies = Occupies::kBoth;
  parts.routes[1] = {0};
  CHECK(parts.Build().channel(1).occupies == Occupies::kBoth);
}

TEST_CASE("a broadcast channel may begin a route, and 64 devices fit") {
  Parts parts;
  parts.channels[0].broadcast = true;
  CHECK(parts.Build().channel(0).broadcast);
  parts.devices.clear();
  for (int d = 0; d < kMaxDevices; ++d) parts.devices.push_back({.name = std::to_string(d)});
  parts.routes.assign(size_t(kMaxDevices) * kMaxDevices, {});
  CHECK(parts.Build().num_devices() == 64);
}

TEST_CASE("the time at a rate is the exact ceiling") {
  CHECK(TimeAtRate(0, {1, 1}) == 0);
  CHECK(TimeAtRate(7600, {7'600'000'000, 1}) == 1000);  // 7600 B at 7600 B/us
  CHECK(TimeAtRate(7601, {7'600'000'000, 1}) == 1001);  // 1000.13
  CHECK(TimeAtRate(1, {3, 1}) == 333'333'334);          // 10^9 / 3
  CHECK(TimeAtRate(1, {1, 3}) == 3'000'000'000);
  CHECK(TimeAtRate(2, {2, 3}) == 3'000'000'000);
  CHECK(TimeAtRate(1LL << 62, {1'000'000'000, 1}) == kMaxNanos);
  CHECK(TimeAtRate(1LL << 60, {1, 1LL << 62}) == kMaxNanos);
}

TEST_CASE("a setup is part of the wire time of whatever has a byte") {
  const Channel channel{.latency = 5, .setup = 700, .bandwidth = {7'600'000'000, 1}};
  CHECK(WireTime(0, channel) == 0);
  CHECK(WireTime(7601, channel) == 700 + 1001);
  CHECK(WireTime(1LL << 62, channel) == kMaxNanos);
  CHECK(WireTime(1, {.setup = kMaxNanos, .bandwidth = {1, 1}}) == kMaxNanos);
}

TEST_CASE("random: time t at a rate is the least with t * bandwidth >= bytes * 10^9") {
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t bytes = static_cast<std::int64_t>(Uniform01(rng) * 1e12);
    const Bandwidth bandwidth{1 + static_cast<std::int64_t>(Uniform01(rng) * 1e12),
                              1 + UniformInt(rng, 9)};
    const Nanos time = TimeAtRate(bytes, bandwidth);
    __extension__ using Wide = __int128;
    const Wide need = Wide(bytes) * 1'000'000'000 * bandwidth.per_seconds;
    REQUIRE(Wide(time) * bandwidth.bytes >= need);
    REQUIRE((time == 0 || Wide(time - 1) * bandwidth.bytes < need));
  }
}

}  // namespace
