#pragma once

// A LaneProgram (simulator/lanes/lane_program.h) as one piece of memory that a GPU can read: the
// same tables, with pointers instead of vectors. LaneProgram documents the tables.
//
// Internal to the simulator. Plain C++: the GPU's compiler reads it too.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/lanes/lane_program.h"

namespace emplace {

/// The fields are those of LaneProgram unless a comment says otherwise.
struct GpuProgram {
  std::int32_t num_ops = 0, num_groups = 0, num_devices = 0, num_channels = 0, num_slots = 0;
  std::int32_t num_rows = 0, num_rates = 0;
  std::int32_t num_channel_rows = 0;  ///< at least the number of channels
  std::int32_t num_inputs = 0, num_classes = 0;
  LaneMemory memory = LaneMemory::kNone;
  std::uint32_t time_limit = 0;
  std::int64_t unit = 1;
  bool has_host = false, has_gaps = false, count_gaps = false, contention = true;
  bool one_speed = false, matrix = false;
  bool general = false;  ///< also true if there are more devices than bits in a 32-bit mask
  bool has_broadcast = false;
  bool all_routes = false;  ///< between any two devices
  LaneProgram::Speed speed;

  const LaneProgram::Op* ops = nullptr;
  const std::int32_t *singles = nullptr, *blocks = nullptr;
  const std::uint32_t *cost = nullptr, *occupancy = nullptr;
  const std::int64_t *own_bytes = nullptr, *workspace = nullptr;
  const LaneProgram::Item* items = nullptr;
  const std::int32_t *entry_group = nullptr, *entry_position = nullptr;
  const LaneProgram::Release* releases = nullptr;
  const std::uint32_t *issue = nullptr, *launch = nullptr, *wire = nullptr;
  const std::uint32_t *latency = nullptr, *channel_gap = nullptr;
  const std::int32_t *slot_begin = nullptr, *rate = nullptr;
  const std::uint8_t *broadcast = nullptr, *occupies_source = nullptr,
                     *occupies_destination = nullptr;
  const std::int32_t *route_begin = nullptr, *routes = nullptr, *channel_row = nullptr;
  const std::uint32_t *rate_from = nullptr, *latency_from = nullptr, *gap_from = nullptr;
  const std::int64_t* resident = nullptr;
  const LaneProgram::Input* inputs = nullptr;
  const std::int32_t* input_groups = nullptr;
  const LaneProgram::SharedClass* classes = nullptr;
  const LaneProgram::SharedItem* shared_items = nullptr;
  const std::int32_t* touched = nullptr;
  const std::uint64_t* allowed = nullptr;      ///< [num_groups] masks of devices
  const std::int64_t* memory_bytes = nullptr;  ///< [num_devices] limits [B]
};

class GpuTables {
 public:
  /// @param lanes         possible; needed only during the call
  /// @param allowed       [num_groups] masks of devices
  /// @param memory_bytes  [num_devices] limits [B]
  GpuTables(const LaneProgram& lanes,
            const std::vector<std::uint64_t>& allowed,
            const std::vector<std::int64_t>& memory_bytes);

  /// Returns all tables.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Returns the program whose tables are a copy of bytes() at `base`, aligned to 16 bytes.
  GpuProgram At(const std::byte* base) const;

 private:
  template <class T>
  void Add(const std::vector<T>& table, const T*& pointer);

  struct Table {
    std::size_t member;  // offset of its pointer in GpuProgram [B]
    std::size_t begin;   // offset in bytes_
  };
  GpuProgram program_;  // without pointers
  std::vector<Table> tables_;
  std::vector<std::byte> bytes_;
};

}  // namespace emplace
