#include "framework/cluster/cluster_io.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/random.h"
#include "framework/cluster/device_kind_io.h"
#include "framework/cluster/interference.h"
#include "framework/cluster/op_class.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

std::map<std::string, DeviceKind> Library() {
  DeviceKind cpu{.name = "haswell_18c", .device_class = DeviceClass::kCpu};
  DeviceKind gpu{.name = "k80", .device_class = DeviceClass::kGpu};
  gpu.peak["f32"] = 2.8e12;
  return {{cpu.name, cpu}, {gpu.name, gpu}};
}

Cluster Parse(const std::string& text) {
  return ParseCluster(ConfigNode::FromString(text, "c.yaml"), Library());
}

void CheckTextRefused(const std::string& text, const std::string& expected) {
  const std::string message = testing::MessageOf<InputError>([&] { Parse(text); });
  INFO("message:  ", message);
  INFO("expected: ", expected);
  CHECK(message.find(expected) != std::string::npos);
}

std::vector<int> Route(const Cluster& cluster, int from, int to) {
  return {cluster.route(from, to).begin(), cluster.route(from, to).end()};
}

const std::string kDevices =
    "name: c\n"
    "devices:\n"
    "  - {name: \"cpu:0\", kind: haswell_18c}\n"
    "  - {name: \"gpu:0\", kind: k80}\n"
    "  - {name: \"gpu:1\", kind: k80}\n";

TEST_CASE("the documented example") {
  const Cluster cluster = Parse(
      "name: 2xk80\n"
      "devices:\n"
      "  - {name: \"cpu:0\", kind: haswell_18c, memory: 64GiB, slots: 1}\n"
      "  - {name: \"gpu:0\", kind: k80, memory: 11GiB}\n"
      "  - {name: \"gpu:1\", kind: k80, memory: 11GiB}\n"
      "channels:\n"
      "  - {name: host,  latency: 25us, bandwidth: 6.0GB/s, gap: 0us}\n"
      "  - {name: p2p,   latency: 15us, bandwidth: 10GB/s}\n"
      "routes:\n"
      "  - {from: \"cpu:0\", to: \"gpu:*\", via: [host]}\n"
      "  - {from: \"gpu:*\", to: \"cpu:0\", via: [host]}\n"
      "  - {from: \"gpu:*\", to: \"gpu:*\", via: [p2p]}\n");
  CHECK(cluster.name() == "2xk80");
  CHECK(cluster.DeviceNames() == std::vector<std::string>{"cpu:0", "gpu:0", "gpu:1"});
  CHECK(cluster.device(0).memory == 64LL << 30);
  CHECK(cluster.device(1).memory == 11LL << 30);
  CHECK(cluster.kind_of(0).device_class == DeviceClass::kCpu);
  CHECK(cluster.kind_of(2).peak.at("f32") == 2.8e12);
  CHECK(cluster.kinds().size() == 2);
  CHECK(cluster.channel(0).latency == 25'000);
  CHECK(cluster.channel(0).bandwidth == Bandwidth{6'000'000'000, 1});
  CHECK(cluster.channel(1).gap == 0);
  CHECK_FALSE(cluster.channel(1).broadcast);
  CHECK(Route(cluster, 0, 2) == std::vector<int>{0});
  CHECK(Route(cluster, 2, 0) == std::vector<int>{0});
  CHECK(Route(cluster, 1, 2) == std::vector<int>{1});
  CHECK(Route(cluster, 1, 1).empty());
}

TEST_CASE("all_to_all gives every ordered pair a channel, later routes replace it") {
  const Cluster cluster =
      Parse(kDevices +
            "channels: [{name: slow, bandwidth: 1B/s}]\n"
            "all_to_all: {latency: 3us, setup: 2us, bandwidth: 5GB/s, gap: 1us}\n"
            "routes: [{from: \"cpu:*\", to: \"gpu:1\", via: [slow]}]\n");
  REQUIRE(cluster.num_channels() == 7);
  const Channel& channel = cluster.channel(cluster.route(1, 2)[0]);
  CHECK(channel.name == "gpu:0->gpu:1");
  CHECK(channel.latency == 3000);
  CHECK(channel.setup == 2000);
  CHECK(channel.gap == 1000);
  CHECK(channel.bandwidth == Bandwidth{5'000'000'000, 1});
  CHECK(Route(cluster, 0, 2) == std::vector<int>{0});
  CHECK(Route(cluster, 0, 1) != Route(cluster, 1, 0));
}

TEST_CASE("devices that share something are neighbours: all that one list matches") {
  const Cluster cluster = Parse(kDevices + "shares: [[\"cpu:0\", \"gpu:0\"], \"gpu:*\"]\n");
  const std::string text = FormatCluster(cluster);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    for (int e = 0; e < cluster.num_devices(); ++e) {
      const std::string &a = cluster.device(d).name, &b = cluster.device(e).name;
      const bool is_pair = (a == "cpu:0" && b == "gpu:0") || (a == "gpu:0" && b == "cpu:0");
      const bool expected = d != e && (a.substr(0, 3) == b.substr(0, 3) || is_pair);
      CAPTURE(a + " " + b);
      CHECK((cluster.device(d).neighbors >> e & 1) == expected);
    }
  }
  CHECK(cluster.has_neighbors());
  CHECK_FALSE(Parse(kDevices).has_neighbors());
  CheckTextRefused(
      kDevices + "shares: [\"cpu:0\"]\n",
      "shares.0: expected at least two devices, which share caches or memory bandwidth");
  CheckTextRefused(kDevices + "shares: [tpu]\n", "shares.0: no device matches \"tpu\"");
}

TEST_CASE("figures of interference, to the nearest 1/1024") {
  const auto kinds = ParseDeviceKinds(ConfigNode::FromString(
      "k: {class: cpu, interference: {transfer: {pressure: 0.0004883}, matmul: {sensitivity: 16}}}",
      "kinds"));
  const auto& figures = kinds.at("k").interference;
  CHECK(figures.at("transfer") == Interference{0, 1});  // 0.50002 / 1024
  CHECK(figures.at("matmul") == Interference{16384, 0});
  CHECK(ParseInterference(0.5 / 1024) == 1);
  CHECK(ParseInterference(0.49999999999999994 / 1024) == 0);
  CHECK_FALSE(ParseInterference(16.0004));
  CHECK(NearestInterference(0.5 / 1024) == 1);
  CHECK(NearestInterference(16) == kMostInterference);
  CHECK(NearestInterference(1e300) == kMostInterference);
  CHECK(NearestInterference(-0.1) == 0);
  CHECK(NearestInterference(std::nan("")) == 0);
  const auto message = [](const std::string& entry) {
    return testing::MessageOf<InputError>([&] {
      ParseDeviceKinds(
          ConfigNode::FromString("k: {class: cpu, interference: {" + entry + "}}", "kinds"));
    });
  };
  CHECK(message("matmul: {sensitivity: 16.1}").find("expected a number from 0 to 16, got 16.1") !=
        std::string::npos);
  CHECK(message("matmul: {pressure: -1}").find("expected a number from 0 to 16, got -1") !=
        std::string::npos);
  CHECK(message("view: {pressure: 1}").find("unknown key \"view\"") != std::string::npos);
  CHECK(message("copy: {strength: 1}").find("choices: sensitivity, pressure") != std::string::npos);
}

TEST_CASE("a channel says which devices it occupies, a shorthand for all of its channels") {
  const std::string names[] = {"none", "source", "destination", "both"};
  for (int i = 0; i < 4; ++i) {
    const std::string occupies = "occupies: " + names[i];
    const auto expected = static_cast<Occupies>(i);
    CHECK(ToString(expected) == names[i]);
    const Cluster listed = Parse(kDevices + "channels: [{name: x, bandwidth: 1B/s, " + occupies +
                                 "}]\nroutes: [{from: \"cpu:0\", to: \"gpu:0\", via: [x]}]\n");
    CHECK(listed.channel(0).occupies == expected);
    const bool is_written = FormatCluster(listed).find(occupies) != std::string::npos;
    CHECK(is_written == (i > 0));
    const Cluster all = Parse(kDevices + "all_to_all: {bandwidth: 1B/s, " + occupies + "}\n");
    CHECK(all.channel(5).occupies == expected);
    const Cluster bus = Parse(kDevices + "egress_bus: {bandwidth: 1B/s, " + occupies + "}\n");
    CHECK(bus.channel(2).occupies == expected);
  }
  CheckTextRefused(kDevices + "channels: [{name: x, bandwidth: 1B/s, occupies: sink}]\n",
                   "channels.0.occupies: expected none, source, destination, both, got \"sink\"");
  CheckTextRefused(kDevices + "egress_bus: {bandwidth: 1B/s, broadcast: true, occupies: both}\n",
                   "egress_bus.occupies: a broadcast channel may occupy its source only, got both");
  CheckTextRefused(kDevices +
                       "channels: [{name: x, bandwidth: 1B/s, occupies: source}]\n"
                       "routes: [{from: \"cpu:0\", to: \"gpu:1\", via: [x, x]}]\n",
                   "c.yaml:1:1: route \"cpu:0 -> gpu:1\": the channel \"x\" occupies its source "
                   "and may only be a first hop, but it is hop 1 of 2");
}

TEST_CASE("egress_bus gives every source a channel") {
  const Cluster cluster =
      Parse(kDevices + "egress_bus: {bandwidth: 7600B/us, gap: 25us, broadcast: true}\n");
  REQUIRE(cluster.num_channels() == 3);
  CHECK(cluster.channel(1).name == "gpu:0->*");
  CHECK(cluster.channel(1).broadcast);
  CHECK(cluster.channel(1).gap == 25'000);
  CHECK(Route(cluster, 1, 0) == std::vector<int>{1});
  CHECK(Route(cluster, 1, 2) == std::vector<int>{1});
  CHECK(Route(cluster, 2, 1) == std::vector<int>{2});
}

TEST_CASE("patterns: globs, lists of globs, the later route wins") {
  const std::string channels =
      "channels: [{name: x, bandwidth: 1B/s}, {name: y, bandwidth: 1B/s}]\n";
  const Cluster cluster = Parse(kDevices + channels +
                                "routes:\n"
                                "  - {from: \"*\", to: \"*\", via: [x]}\n"
                                "  - {from: \"?pu:0\", to: [\"gpu:1\"], via: [y, x]}\n"
                                "  - {from: [\"g*1\", \"cpu:0\"], to: \"gpu:0\", via: [y]}\n");
  CHECK(Route(cluster, 0, 1) == std::vector<int>{1});
  CHECK(Route(cluster, 0, 2) == std::vector<int>{1, 0});
  CHECK(Route(cluster, 1, 0) == std::vector<int>{0});
  CHECK(Route(cluster, 1, 2) == std::vector<int>{1, 0});
  CHECK(Route(cluster, 2, 1) == std::vector<int>{1});
  CHECK(Route(cluster, 2, 2).empty());
}

TEST_CASE("inline kinds win over the library, which needs only a class") {
  const Cluster cluster = Parse(
      "name: c\n"
      "device_kinds:\n"
      "  k80: {class: cpu, gap: 5.7us, issue: 1us, launch: 2us, overhead: 3us, pays_transfers: "
      "no, cold_read: 1.5GB/s,\n"
      "        efficiency: {matmul: 0.7}, memory_bandwidth: 160GB/s, peak: {bf16: 1GFLOPS}, "
      "source: x}\n"
      "devices: [{name: d, kind: k80}]\n");
  const DeviceKind& kind = cluster.kind_of(0);
  CHECK(kind.device_class == DeviceClass::kCpu);
  CHECK(kind.gap == 5700);
  CHECK(kind.issue == 1000);
  CHECK(kind.launch == 2000);
  CHECK(kind.overhead == 3000);
  CHECK_FALSE(kind.pays_transfers);
  CHECK(kind.cold_read == Bandwidth{1'500'000'000, 1});
  CHECK(kind.efficiency.at("matmul") == 0.7);
  CHECK(kind.memory_bandwidth == 160e9);
  CHECK(kind.peak.at("bf16") == 1e9);
  CHECK(kind.peak.count("f32") == 0);
  CHECK(kind.source == "x");
  CHECK(Parse("name: c\ndevice_kinds: {tpu: {class: gpu}}\ndevices: [{name: d, kind: tpu}]\n")
            .kind_of(0)
            .peak.empty());
}

TEST_CASE("what is wrong is refused at its place") {
  CheckTextRefused("name: c\ndevices: []\n", "c.yaml:2:10: devices: expected at least one device");
  CheckTextRefused("name: c\ndevices: [{kind: k80}]\n",
                   "c.yaml:2:11: devices.0: the required key \"name\" is missing");
  CheckTextRefused("name: c\ndevices: [{name: a, kind: k80}, {name: a, kind: k80}]\n",
                   "c.yaml:2:40: devices.1.name: duplicate device name \"a\"");
  CheckTextRefused("name: c\ndevices: [{name: \"a*\", kind: k80}]\n",
                   "expected a name without * and ?, got \"a*\"");
  CheckTextRefused(
      "name: c\ndevices: [{name: a, kind: k8O}]\n",
      "c.yaml:2:27: devices.0.kind: unknown device kind \"k8O\"; did you mean \"k80\"? "
      "choices: haswell_18c, k80");
  CheckTextRefused(
      "name: c\ndevices: [{name: a, kind: k80, memory: 11}]\n",
      "devices.0.memory: expected a number of bytes with a unit such as 11GiB, got \"11\"");
  CheckTextRefused("name: c\ndevices: [{name: a, kind: k80, slots: 0}]\n",
                   "devices.0.slots: expected 1 to 65536 slots, got 0");
  CheckTextRefused("name: c\ndevices: [{name: a, kind: k80, slot: 2}]\n",
                   "unknown key \"slot\"; did you mean \"slots\"?");
  CheckTextRefused(kDevices + "chanels: []\n",
                   "unknown key \"chanels\"; did you mean \"channels\"?");
  CheckTextRefused(
      kDevices + "channels: [{name: x, bandwidth: 6}]\n",
      "channels.0.bandwidth: expected a bandwidth with a unit such as 7.6GB/s, got \"6\"");
  CheckTextRefused(kDevices + "channels: [{name: x, bandwidth: 6GB/s, latency: 25}]\n",
                   "channels.0.latency: expected a time with a unit such as 25us, got \"25\"");
  CheckTextRefused(
      kDevices + "channels: [{name: x, bandwidth: 1B/s}, {name: x, bandwidth: 1B/s}]\n",
      "channels.1.name: duplicate channel name \"x\"");
  CheckTextRefused(kDevices + "all_to_all: {bandwidth: 1B/s}\negress_bus: {bandwidth: 1B/s}\n",
                   "expected either all_to_all or egress_bus, got both");
  CheckTextRefused(kDevices + "all_to_all: {bandwidth: 1B/s, broadcast: true}\n",
                   "all_to_all: unknown key \"broadcast\"");
  CheckTextRefused(kDevices +
                       "channels: [{name: \"gpu:0->*\", bandwidth: 1B/s}]\n"
                       "egress_bus: {bandwidth: 1B/s}\n",
                   "egress_bus: duplicate channel name \"gpu:0->*\"");
}

TEST_CASE("bad routes are refused at their place") {
  const std::string text = kDevices +
                           "channels: [{name: pcie, bandwidth: 1B/s},\n"
                           "           {name: bus, bandwidth: 1B/s, broadcast: true}]\nroutes:\n";
  CheckTextRefused(text + "  - {from: \"cpu:0\", to: \"gpu:*\", via: [pcle]}\n",
                   "c.yaml:9:40: routes.0.via.0: unknown channel \"pcle\"; did you mean \"pcie\"?");
  CheckTextRefused(text + "  - {from: \"cpu:0\", to: \"tpu:*\", via: [pcie]}\n",
                   "c.yaml:9:25: routes.0.to: no device matches \"tpu:*\"");
  CheckTextRefused(
      text + "  - {from: \"cpu:0\", to: [\"gpu:*\", \"gpu:7\"], via: [pcie]}\n",
      "routes.0.to.1: no device matches \"gpu:7\"; did you mean \"gpu:0\"? choices: cpu:0, "
      "gpu:0, gpu:1");
  CheckTextRefused(text + "  - {from: [], to: \"gpu:*\", via: [pcie]}\n",
                   "routes.0.from: expected at least one device pattern");
  CheckTextRefused(text + "  - {from: \"cpu:0\", to: \"gpu:*\", via: []}\n",
                   "routes.0.via: expected at least one channel, got an empty list");
  CheckTextRefused(text + "  - {from: \"cpu:0\", to: \"gpu:*\", via: pcie}\n",
                   "routes.0.via: expected a list, got \"pcie\"");
  CheckTextRefused(text + "  - {from: \"cpu:0\", to: \"gpu:*\", via: [pcie, bus]}\n",
                   "routes.0.via.1: the broadcast channel \"bus\" may only be a first hop");
  Parse(text + "  - {from: \"cpu:0\", to: \"gpu:*\", via: [bus, pcie]}\n");
}

TEST_CASE("bad kinds are refused at their place") {
  const std::string devices = "devices: [{name: d, kind: x}]\n";
  CheckTextRefused("name: c\ndevice_kinds: {x: {class: gppu}}\n" + devices,
                   "device_kinds.x.class: unknown device class \"gppu\"; did you mean \"gpu\"? "
                   "choices: cpu, gpu, network");
  CheckTextRefused("name: c\ndevice_kinds: {x: {class: gpu, peak: {fp32: 1TFLOP/s}}}\n" + devices,
                   "device_kinds.x.peak: unknown key \"fp32\"; did you mean \"f32\"?");
  CheckTextRefused("name: c\ndevice_kinds: {x: {class: gpu, peak: {f32: 1e12}}}\n" + devices,
                   "expected a FLOP rate with a unit such as 2.8TFLOP/s");
  CheckTextRefused(
      "name: c\ndevice_kinds: {x: {class: gpu, efficiency: {matmull: 0.5}}}\n" + devices,
      "efficiency: unknown key \"matmull\"; did you mean \"matmul\"?");
  CheckTextRefused(
      "name: c\ndevice_kinds: {x: {class: gpu, efficiency: {matmul: 1.5}}}\n" + devices,
      "device_kinds.x.efficiency.matmul: expected a share of the peak in (0, 1], got 1.5");
  CheckTextRefused("name: c\ndevice_kinds: {x: {class: gpu, efficiency: {matmul: 0}}}\n" + devices,
                   "expected a share of the peak in (0, 1], got 0");
  CheckTextRefused("name: c\ndevice_kinds: {x: {class: gpu, overhaed: 1us}}\n" + devices,
                   "unknown key \"overhaed\"; did you mean \"overhead\"?");
}

TEST_CASE("more than 64 devices are refused") {
  std::string text = "name: c\ndevices:\n";
  for (int d = 0; d < 65; ++d) text += fmt::format("  - {{name: d{}, kind: k80}}\n", d);
  CheckTextRefused(text, "c.yaml:3:3: devices: expected at most 64 devices, got 65");
}

TEST_CASE("the library: every file of the folder, no kind twice") {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder / "device_kinds");
  std::ofstream(folder / "device_kinds" / "a.yaml") << "device_kinds: {a: {class: gpu}}\n";
  std::ofstream(folder / "device_kinds" / "b.yaml")
      << "device_kinds: {b: {class: cpu}, c: {class: gpu}}\n";
  std::ofstream(folder / "device_kinds" / "notes.txt") << "not YAML: [";
  CHECK(ReadDeviceKinds(folder.path()).size() == 3);
  CHECK(ReadDeviceKinds(folder / "device_kinds").at("b").device_class == DeviceClass::kCpu);
  std::ofstream(folder / "device_kinds" / "d.yaml") << "device_kinds: {a: {class: gpu}}\n";
  const std::string twice = testing::MessageOf<InputError>([&] { ReadDeviceKinds(folder.path()); });
  CHECK(twice.find("d.yaml:1:19: device_kinds.a: duplicate device kind \"a\", first in ") !=
        std::string::npos);
  CHECK(twice.find("a.yaml") != std::string::npos);
  const std::string missing =
      testing::MessageOf<InputError>([&] { ReadDeviceKinds(folder / "none"); });
  CHECK(missing.find("none: expected a folder of device kinds (*.yaml)") != std::string::npos);
}

Cluster RandomCluster(Rng& rng) {
  std::vector<DeviceKind> kinds(1 + UniformInt(rng, 2));
  for (size_t k = 0; k < kinds.size(); ++k) {
    kinds[k].name = fmt::format("kind {}", k);
    kinds[k].device_class = static_cast<DeviceClass>(UniformInt(rng, 3));
    if (UniformInt(rng, 2)) kinds[k].peak["f32"] = Uniform01(rng) * 1e13 + 1;
    if (UniformInt(rng, 2)) kinds[k].efficiency["memory"] = 1 - Uniform01(rng);
    kinds[k].memory_bandwidth = UniformInt(rng, 1'000'000'000);
    kinds[k].overhead = UniformInt(rng, 10'000);
    kinds[k].gap = UniformInt(rng, 10'000);
    kinds[k].issue = UniformInt(rng, 10'000);
    kinds[k].launch = UniformInt(rng, 10'000);
    kinds[k].pays_transfers = UniformInt(rng, 2);
    if (UniformInt(rng, 2)) kinds[k].cold_read = Bandwidth{1 + 7 * UniformInt(rng, 1'000'000), 7};
    kinds[k].source = UniformInt(rng, 2) ? "a \"sheet\"\n\\ é: #" : "";
  }
  std::vector<Device> devices;
  for (int d = 1 + UniformInt(rng, 4); d >= 0; --d) {
    // Each kind is used, the first by the first device: the order in which kinds are read.
    const int used = static_cast<int>(std::min(devices.size(), kinds.size() - 1));
    devices.push_back({fmt::format("dev:{}", d),
                       devices.size() < kinds.size() ? used : UniformInt(rng, used + 1),
                       UniformInt(rng, 2) ? kUnlimitedMemory : UniformInt(rng, 1 << 30),
                       1 + UniformInt(rng, 3)});
  }
  std::vector<Channel> channels;
  for (int k = UniformInt(rng, 4); k >= 0; --k) {
    const std::int64_t odd = 2 * UniformInt(rng, 100'000) + 1;
    const Bandwidth bandwidth =
        UniformInt(rng, 2) ? Bandwidth{odd, 1} : Bandwidth{1 << UniformInt(rng, 20), odd};
    channels.push_back({.name = fmt::format("c{}->*", k),
                        .latency = UniformInt(rng, 1000),
                        .setup = UniformInt(rng, 3),
                        .bandwidth = bandwidth,
                        .gap = UniformInt(rng, 1000),
                        .broadcast = UniformInt(rng, 2) == 1});
    const int choices = channels.back().broadcast ? 2 : 4;
    channels.back().occupies = static_cast<Occupies>(UniformInt(rng, choices));
  }
  std::vector<std::vector<int>> routes(devices.size() * devices.size());
  for (size_t from = 0; from < devices.size(); ++from) {
    for (size_t to = 0; to < devices.size(); ++to) {
      for (int hop = UniformInt(rng, 4); from != to && hop > 0; --hop) {
        const int channel = UniformInt(rng, static_cast<int>(channels.size()));
        std::vector<int>& route = routes[from * devices.size() + to];
        const bool is_over = !route.empty() && OccupiesDestination(channels[route.back()].occupies);
        const bool only_first =
            channels[channel].broadcast || OccupiesSource(channels[channel].occupies);
        if (route.empty() || !(is_over || only_first)) route.push_back(channel);
      }
    }
  }
  return Cluster("random", kinds, devices, channels, routes);
}

TEST_CASE("random: FormatCluster reads back equal") {
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const Cluster cluster = RandomCluster(rng);
    const std::string text = FormatCluster(cluster);
    const Cluster again = ParseCluster(ConfigNode::FromString(text, "again"), {});
    CHECK(FormatCluster(again) == text);
    CHECK(again.kinds()[0].peak == cluster.kinds()[0].peak);  // numbers are written in full
    CHECK(again.kinds()[0].device_class == cluster.kinds()[0].device_class);
  }
}

TEST_CASE("every cluster of configs/ reads, starts with a sentence, and connects all devices") {
  const auto library = ReadDeviceKinds(testing::SourceDir() / "configs");
  CHECK(library.size() >= 9);
  for (const auto& [name, kind] : library) {
    INFO(name);
    CHECK(kind.peak.count("f32") == 1);
    CHECK(kind.memory_bandwidth > 0);
    CHECK(kind.overhead > 0);
    CHECK(kind.efficiency.size() == EfficiencyKeys().size() - 1);  // all but "unknown"
    CHECK_FALSE(kind.source.empty());
  }
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::SourceDir() /
                                                                         "configs" / "clusters")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    INFO(entry.path().string());
    const Cluster cluster = ParseCluster(ConfigNode::FromFile(entry.path()), library);
    CHECK(cluster.name() == entry.path().stem().string());
    CHECK(ReadFile(entry.path()).starts_with("# "));
    for (int from = 0; from < cluster.num_devices(); ++from) {
      CHECK(cluster.device(from).memory < kUnlimitedMemory);
      for (int to = 0; to < cluster.num_devices(); ++to) {
        CHECK(cluster.route(from, to).empty() == (from == to));
      }
    }
    const std::string text = FormatCluster(cluster);
    CHECK(FormatCluster(ParseCluster(ConfigNode::FromString(text, "again"), {})) == text);
  }
  CHECK(count >= 80);
}

}  // namespace
