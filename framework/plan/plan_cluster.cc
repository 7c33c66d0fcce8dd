#include "framework/plan/plan_cluster.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {

int NetworkDevice(const Cluster& cluster) {
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) return d;
  }
  return -1;
}

std::shared_ptr<const Cluster> WithNetwork(const Cluster& cluster,
                                           const std::string& name,
                                           const std::string& kind,
                                           int slots) {
  if (cluster.num_devices() >= kMaxDevices) {
    throw InputError(
        fmt::format("cluster \"{}\" has {} devices; a plan of several replicas adds a device of "
                    "class network, and {} devices are the most; choices: collectives: tree, fewer "
                    "devices",
                    cluster.name(),
                    cluster.num_devices(),
                    kMaxDevices));
  }
  std::vector<DeviceKind> kinds(cluster.kinds().begin(), cluster.kinds().end());
  const auto found = std::ranges::find(kinds, kind, &DeviceKind::name);
  std::vector<Device> devices(cluster.devices().begin(), cluster.devices().end());
  devices.push_back(
      {.name = name, .kind = static_cast<int>(found - kinds.begin()), .slots = slots});
  if (found == kinds.end()) {
    DeviceKind added;
    added.name = kind;
    added.device_class = DeviceClass::kNetwork;
    added.source = "a plan: communicators whose times are those of rings over the channels";
    kinds.push_back(std::move(added));
  }
  std::vector<Channel> channels(cluster.channels().begin(), cluster.channels().end());
  const int count = cluster.num_devices();
  std::vector<std::vector<int>> routes((count + 1) * (count + 1));
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      const auto route = cluster.route(from, to);
      routes[from * (count + 1) + to].assign(route.begin(), route.end());
    }
    const std::string& device = cluster.device(from).name;
    for (const bool towards : {true, false}) {
      const int route = towards ? from * (count + 1) + count : count * (count + 1) + from;
      routes[route] = {static_cast<int>(channels.size())};
      channels.push_back({.name = towards ? device + "->" + name : name + "->" + device,
                          .bandwidth = {.bytes = 1'000'000'000'000'000}});
    }
  }
  return std::make_shared<Cluster>(
      cluster.name(), std::move(kinds), std::move(devices), std::move(channels), std::move(routes));
}

std::shared_ptr<const Cluster> WithDevices(const Cluster& cluster,
                                           const std::vector<int>& some,
                                           const std::string& name) {
  std::vector<int> kept = some;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) kept.push_back(d);
  }
  std::vector<Device> devices;
  std::vector<std::vector<int>> routes;
  for (int from : kept) {
    devices.push_back(cluster.device(from));
    std::uint64_t neighbors = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (devices.back().neighbors >> kept[i] & 1) neighbors |= std::uint64_t{1} << i;
    }
    devices.back().neighbors = neighbors;
    for (int to : kept) {
      const auto route = from == to ? std::span<const int>() : cluster.route(from, to);
      routes.emplace_back(route.begin(), route.end());
    }
  }
  return std::make_shared<const Cluster>(
      name,
      std::vector<DeviceKind>(cluster.kinds().begin(), cluster.kinds().end()),
      std::move(devices),
      std::vector<Channel>(cluster.channels().begin(), cluster.channels().end()),
      std::move(routes));
}

}  // namespace emplace
