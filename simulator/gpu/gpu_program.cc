#include "simulator/gpu/gpu_program.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace emplace {
namespace {

constexpr size_t kTableAlignment = 16;

// Most devices in a mask of a kernel that is not general.
constexpr int kMostDirectDevices = 32;

bool HasAllRoutes(const LaneProgram& lanes) {
  for (int from = 0; from < lanes.num_devices; ++from) {
    for (int to = 0; to < lanes.num_devices; ++to) {
      const int pair = from * lanes.num_devices + to;
      if (from != to && lanes.route_begin[pair] == lanes.route_begin[pair + 1]) return false;
    }
  }
  return true;
}

}  // namespace

GpuTables::GpuTables(const LaneProgram& lanes,
                     const std::vector<std::uint64_t>& allowed,
                     const std::vector<std::int64_t>& memory_bytes) {
  GpuProgram& p = program_;
  p.num_ops = lanes.num_ops;
  p.num_groups = lanes.num_groups;
  p.num_devices = lanes.num_devices;
  p.num_channels = lanes.num_channels;
  p.num_slots = lanes.num_slots;
  p.num_rows = lanes.num_rows;
  p.num_rates = lanes.num_rates;
  p.num_channel_rows = std::max(lanes.num_channel_rows, lanes.num_channels);
  p.num_inputs = static_cast<std::int32_t>(lanes.inputs.size());
  p.num_classes = static_cast<std::int32_t>(lanes.classes.size());
  p.memory = lanes.memory;
  p.time_limit = lanes.time_limit;
  p.unit = lanes.unit;
  p.has_host = lanes.has_host;
  p.has_gaps = lanes.has_gaps;
  p.count_gaps = lanes.count_gaps;
  p.contention = lanes.contention;
  p.one_speed = lanes.one_speed;
  p.matrix = lanes.matrix;
  p.general = lanes.general || lanes.num_devices > kMostDirectDevices;
  p.has_broadcast = std::count(lanes.broadcast.begin(), lanes.broadcast.end(), 0) !=
                    static_cast<std::ptrdiff_t>(lanes.broadcast.size());
  p.all_routes = HasAllRoutes(lanes);
  p.speed = lanes.speed;
  Add(lanes.ops, p.ops);
  Add(lanes.singles, p.singles);
  Add(lanes.blocks, p.blocks);
  Add(lanes.cost, p.cost);
  Add(lanes.has_gaps ? lanes.occupancy : lanes.cost, p.occupancy);
  Add(lanes.own_bytes, p.own_bytes);
  Add(lanes.workspace, p.workspace);
  Add(lanes.items, p.items);
  Add(lanes.entry_group, p.entry_group);
  Add(lanes.entry_position, p.entry_position);
  Add(lanes.releases, p.releases);
  Add(lanes.issue, p.issue);
  Add(lanes.launch, p.launch);
  Add(lanes.wire, p.wire);
  Add(lanes.latency, p.latency);
  Add(lanes.channel_gap, p.channel_gap);
  Add(lanes.slot_begin, p.slot_begin);
  Add(lanes.rate, p.rate);
  Add(lanes.broadcast, p.broadcast);
  Add(lanes.occupies_source, p.occupies_source);
  Add(lanes.occupies_destination, p.occupies_destination);
  Add(lanes.route_begin, p.route_begin);
  Add(lanes.routes, p.routes);
  Add(lanes.channel_row, p.channel_row);
  Add(lanes.rate_from, p.rate_from);
  Add(lanes.latency_from, p.latency_from);
  Add(lanes.gap_from, p.gap_from);
  Add(lanes.resident, p.resident);
  Add(lanes.inputs, p.inputs);
  Add(lanes.input_groups, p.input_groups);
  Add(lanes.classes, p.classes);
  Add(lanes.shared_items, p.shared_items);
  Add(lanes.touched, p.touched);
  Add(allowed, p.allowed);
  Add(memory_bytes, p.memory_bytes);
}

template <class T>
void GpuTables::Add(const std::vector<T>& table, const T*& pointer) {
  static_assert(std::is_trivially_copyable_v<T>);
  const size_t begin = bytes_.size(), size = table.size() * sizeof(T);
  bytes_.resize(begin + (size + kTableAlignment - 1) / kTableAlignment * kTableAlignment);
  if (size > 0) std::memcpy(bytes_.data() + begin, table.data(), size);
  tables_.push_back({static_cast<size_t>(reinterpret_cast<std::byte*>(&pointer) -
                                         reinterpret_cast<std::byte*>(&program_)),
                     begin});
}

GpuProgram GpuTables::At(const std::byte* base) const {
  GpuProgram program = program_;
  for (const Table& table : tables_) {
    const std::byte* const begin = base + table.begin;
    std::memcpy(reinterpret_cast<std::byte*>(&program) + table.member, &begin, sizeof(begin));
  }
  return program;
}

}  // namespace emplace
