#include "experiments/info/cluster_info.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "experiments/problem/load.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

std::shared_ptr<const Cluster> Made(const std::string& yaml) {
  return MakeCluster(ConfigNode::FromString(yaml, "cluster.yaml"));
}

// A host and two boards with two GPUs each.
std::shared_ptr<const Cluster> Boards() {
  return Made(
      "name: boards\n"
      "device_kinds:\n"
      "  c: {class: cpu}\n"
      "  g: {class: gpu, peak: {f32: 2.8TFLOP/s, f16: 31.2TFLOP/s}, memory_bandwidth: 240GB/s, "
      "overhead: 8us}\n"
      "devices:\n"
      "  - {name: \"cpu:0\", kind: c}\n"
      "  - {name: \"gpu:0\", kind: g, memory: 11GiB}\n"
      "  - {name: \"gpu:1\", kind: g, memory: 11GiB}\n"
      "  - {name: \"gpu:2\", kind: g, memory: 11GiB}\n"
      "  - {name: \"gpu:3\", kind: g, memory: 11GiB}\n"
      "channels:\n"
      "  - {name: host, latency: 25us, bandwidth: 6GB/s, gap: 1us}\n"
      "  - {name: board0, latency: 15us, bandwidth: 10GB/s}\n"
      "  - {name: board1, latency: 15us, bandwidth: 10GB/s}\n"
      "  - {name: up, latency: 5us, bandwidth: 12GB/s}\n"
      "  - {name: down, latency: 5us, bandwidth: 12GB/s}\n"
      "routes:\n"
      "  - {from: \"gpu:*\", to: \"gpu:*\", via: [up, down]}\n"
      "  - {from: [\"gpu:0\", \"gpu:1\"], to: [\"gpu:0\", \"gpu:1\"], via: [board0]}\n"
      "  - {from: [\"gpu:2\", \"gpu:3\"], to: [\"gpu:2\", \"gpu:3\"], via: [board1]}\n"
      "  - {from: \"cpu:0\", to: \"gpu:*\", via: [host]}\n"
      "  - {from: \"gpu:*\", to: \"cpu:0\", via: [host]}\n");
}

// So many equal devices with a private channel for each pair.
std::shared_ptr<const Cluster> Equal(int count) {
  std::string yaml = "name: equal\ndevice_kinds: {g: {class: gpu}}\ndevices:\n";
  for (int d = 0; d < count; ++d) yaml += fmt::format("  - {{name: \"gpu:{}\", kind: g}}\n", d);
  return Made(yaml + "all_to_all: {latency: 5us, bandwidth: 50GB/s}\n");
}

int NumLines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("what a long transfer reaches: hops are taken one after another") {
  const auto cluster = Boards();
  CHECK(RouteBandwidth(*cluster, 1, 2) == doctest::Approx(10e9));
  CHECK(RouteBandwidth(*cluster, 1, 3) == doctest::Approx(6e9));  // 1 / (1 / 12 + 1 / 12)
  // 12 MB take 1 ms on each hop, and 5 us of latency.
  CHECK(cluster->TransferTime(1, 3, 12'000'000) == 2 * (1'000'000 + 5'000));
  const auto apart = Made(
      "name: apart\ndevice_kinds: {g: {class: gpu}}\n"
      "devices: [{name: a, kind: g}, {name: b, kind: g}]\n");
  CHECK(RouteBandwidth(*apart, 0, 1) == 0);
  CHECK(FormatBandwidths(*apart, 0) ==
        "from \\ to  a  b\n"
        "a          .  -\n"
        "b          -  .\n");
}

TEST_CASE("names in short") {
  const auto cluster = Boards();
  CHECK(ShortNames(*cluster, {0, 1, 2, 3, 4}) == "cpu:0, gpu:0-3");
  CHECK(ShortNames(*cluster, {1, 3, 4}) == "gpu:0, gpu:2-3");
  CHECK(ShortNames(*cluster, {2}) == "gpu:1");
}

TEST_CASE("a cluster for people") {
  CHECK(FormatClusterInfo(*Boards(), 0) ==
        "boards: 5 devices, 5 channels\n"
        "\ndevices  number  kind  class     memory  slots\n"
        "cpu:0         1     c    cpu   no limit      1\n"
        "gpu:0-3       4     g    gpu  11.00 GiB      1\n"
        "\nc: no figures; the costs come from the graph or a cost table\n"
        "g: f16 31.2, f32 2.8 TFLOP/s; memory 240 GB/s; overhead 8.000 us\n"
        "\nchannel  bandwidth   latency  serves\n"
        "host        6 GB/s  25.00 us  cpu:0 <-> gpu:0-3; gap 1.000 us\n"
        "board0     10 GB/s  15.00 us  gpu:0 <-> gpu:1\n"
        "board1     10 GB/s  15.00 us  gpu:2 <-> gpu:3\n"
        "up         12 GB/s  5.000 us  gpu:0-1 <-> gpu:2-3\n"
        "down       12 GB/s  5.000 us  gpu:0-1 <-> gpu:2-3\n"
        "\nbandwidth of a long transfer [GB/s]\n"
        "from \\ to  cpu:0  gpu:0  gpu:1  gpu:2  gpu:3\n"
        "cpu:0          .      6      6      6      6\n"
        "gpu:0          6      .     10      6      6\n"
        "gpu:1          6     10      .      6      6\n"
        "gpu:2          6      6      6      .     10\n"
        "gpu:3          6      6      6     10      .\n");
}

TEST_CASE("devices that can be exchanged share a row where each alone would not fit") {
  // A board's two GPUs can be exchanged.
  CHECK(FormatBandwidths(*Boards(), 43) ==
        "from \\ to  cpu:0  gpu:0-1  gpu:2-3\n"
        "cpu:0          .        6        6\n"
        "gpu:0-1        6       10        6\n"
        "gpu:2-3        6        6       10\n");
  // 8 ordered pairs of a board or with the host beside 4 of a board's two.
  CHECK(FormatBandwidths(*Boards(), 20) ==
        "GB/s  pairs\n"
        "10        4\n"
        "6        16\n");
}

TEST_CASE("a large cluster takes few lines") {
  const std::string text = FormatClusterInfo(*Equal(64), 80);
  CHECK(Contains(text, "equal: 64 devices, 4032 channels\n"));
  CHECK(Contains(text, "gpu:0-63      64     g    gpu  no limit      1\n"));
  CHECK(Contains(text, "gpu:0->gpu:1 and 4031 more    50 GB/s  5.000 us  one pair each\n"));
  CHECK(Contains(text, "from \\ to  gpu:0-63\ngpu:0-63         50\n"));
  CHECK(NumLines(text) < 20);
  CHECK(Contains(FormatClusterInfo(*Equal(1), 80), "equal: 1 devices, 0 channels\n"));
}

TEST_CASE("lines fit, texts are broken") {
  const std::string text = FormatClusterInfo(*Boards(), 60);
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    CHECK(TextWidth(text.substr(begin, end - begin)) <= 60);
  }
}

TEST_CASE("a cluster for programs") {
  const auto json = nlohmann::json::parse(FormatClusterInfoJson(*Boards()));
  CHECK(json["name"] == "boards");
  CHECK(json["devices"].size() == 5);
  CHECK(json["devices"][0]["memory_bytes"].is_null());
  CHECK(json["devices"][1]["memory_bytes"] == std::int64_t{11} << 30);
  CHECK(json["kinds"][1]["peak_flops_per_s"]["f32"] == 2.8e12);
  CHECK(json["kinds"][0]["memory_bytes_per_s"].is_null());
  CHECK(json["channels"][0]["gap_ns"] == 1000);
  CHECK(json["routes"].size() == 20);
  const auto& route = json["routes"][6];  // 4 from cpu:0, gpu:0 to cpu:0 and gpu:1
  CHECK(route["from"] == "gpu:0");
  CHECK(route["to"] == "gpu:2");
  CHECK(route["via"] == nlohmann::json({"up", "down"}));
  CHECK(route["bytes_per_s"].get<double>() == doctest::Approx(6e9));
  CHECK(route["latency_ns"] == 10'000);
}

}  // namespace
