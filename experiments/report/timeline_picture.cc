#include "experiments/report/timeline_picture.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace emplace {
namespace {

constexpr int kMemoryBuckets = 1000;

// Returns the indices of events in order of start, then of lane.
template <class Event, class LaneOf>
std::vector<int> InOrder(const std::vector<Event>& events, const LaneOf& lane_of) {
  std::vector<int> order(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(events[a].start, lane_of(events[a])) <
           std::pair(events[b].start, lane_of(events[b]));
  });
  return order;
}

Json OpsJson(const Timeline& timeline, const std::vector<int>& first_lane) {
  const auto lane = [&](const OpEvent& event) { return first_lane[event.device] + event.slot; };
  std::vector<std::int64_t> op, lanes, start, duration, wait;
  Nanos before = 0;
  for (const int i : InOrder(timeline.ops, lane)) {
    const OpEvent& event = timeline.ops[i];
    op.push_back(event.op);
    lanes.push_back(lane(event));
    start.push_back(event.start - before);
    duration.push_back(event.finish - event.start);
    wait.push_back(event.start - event.ready);
    before = event.start;
  }
  return {{"op", op}, {"lane", lanes}, {"start", start}, {"duration", duration}, {"wait", wait}};
}

Json TransfersJson(const Timeline& timeline, const std::vector<int>& lane_of_channel) {
  const auto lane = [&](const TransferEvent& event) { return lane_of_channel[event.channel]; };
  std::vector<std::int64_t> op, lanes, start, wire, latency, wait, bytes;
  Json to = Json::array();
  Nanos before = 0;
  for (const int i : InOrder(timeline.transfers, lane)) {
    const TransferEvent& event = timeline.transfers[i];
    op.push_back(event.producer);
    lanes.push_back(lane(event));
    start.push_back(event.start - before);
    wire.push_back(event.wire);
    latency.push_back(event.arrival - event.start - event.wire);
    wait.push_back(event.start - event.ready);
    bytes.push_back(event.bytes);
    to.push_back(event.destinations);
    before = event.start;
  }
  return {{"lane", lanes},
          {"op", op},
          {"start", start},
          {"wire", wire},
          {"latency", latency},
          {"wait", wait},
          {"bytes", bytes},
          {"to", std::move(to)}};
}

}  // namespace

std::vector<MemoryCurve> DrawMemory(const Timeline& timeline, int num_devices, int buckets) {
  std::vector<std::vector<MemoryEvent>> events(num_devices);
  for (const MemoryEvent& event : timeline.memory) events[event.device].push_back(event);
  const Nanos width = std::max<Nanos>(1, timeline.outcome.step_time / buckets + 1);
  std::vector<MemoryCurve> curves(num_devices);
  for (int d = 0; d < num_devices; ++d) {
    const auto keep = [&](const MemoryEvent& event) {
      curves[d].time.push_back(event.time);
      curves[d].bytes.push_back(event.bytes);
    };
    for (size_t begin = 0, end; begin < events[d].size(); begin = end) {
      size_t largest = begin;
      for (end = begin;
           end < events[d].size() && events[d][end].time / width == events[d][begin].time / width;
           ++end) {
        if (events[d][end].bytes > events[d][largest].bytes) largest = end;
      }
      keep(events[d][largest]);
      if (largest + 1 < end) keep(events[d][end - 1]);
    }
  }
  return curves;
}

Json TimelineJson(const Problem& problem, const Timeline& timeline) {
  const Cluster& cluster = problem.cluster();
  Json lanes = Json::array();
  std::vector<int> first_lane, lane_of_channel(cluster.num_channels(), -1);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const Device& device = cluster.device(d);
    int slots = 1;  // slots in use
    for (const OpEvent& event : timeline.ops) {
      if (event.device == d) slots = std::max(slots, event.slot + 1);
    }
    first_lane.push_back(static_cast<int>(lanes.size()));
    for (int slot = 0; slot < slots; ++slot) {
      lanes.push_back(
          {{"name", slots > 1 ? fmt::format("{} slot {}", device.name, slot) : device.name},
           {"device", d}});
    }
  }
  for (const TransferEvent& event : timeline.transfers) lane_of_channel[event.channel] = 0;
  for (int k = 0; k < cluster.num_channels(); ++k) {
    if (lane_of_channel[k] < 0) continue;
    lane_of_channel[k] = static_cast<int>(lanes.size());
    lanes.push_back({{"name", cluster.channel(k).name}, {"device", nullptr}});
  }
  Json memory = Json::array();
  const auto curves = DrawMemory(timeline, cluster.num_devices(), kMemoryBuckets);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const std::int64_t capacity = cluster.device(d).memory;
    memory.push_back({{"device", d},
                      {"capacity", capacity == kUnlimitedMemory ? Json(nullptr) : Json(capacity)},
                      {"time", curves[d].time},
                      {"bytes", curves[d].bytes}});
  }
  return {{"step_time_ns", timeline.outcome.step_time},
          {"lanes", std::move(lanes)},
          {"ops", OpsJson(timeline, first_lane)},
          {"transfers", TransfersJson(timeline, lane_of_channel)},
          {"memory", std::move(memory)}};
}

}  // namespace emplace
