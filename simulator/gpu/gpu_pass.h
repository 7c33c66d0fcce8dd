#pragma once

// Stream semantics and its memory as simulator/README.md defines them, for one placement: the work
// of one thread of a GPU. The CPU can run the same functions, so tests compare them, thread by
// thread, with the plain implementation on machines without a GPU.
//
// All threads process the same ops in the same order and read the same records; only the devices
// differ. The numbers of a thread are a column: number r of thread t is at r * stride + t, so that
// the threads of a warp access neighbouring words.
//
// Internal to the simulator. Plain C++ but for EMPLACE_GPU.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifndef __CUDA_ARCH__
#include <bit>
#endif

#include "framework/search/evaluator.h"
#include "simulator/gpu/gpu_program.h"

#ifdef __CUDACC__
#define EMPLACE_GPU __host__ __device__ __forceinline__
#else
#define EMPLACE_GPU inline
#endif

namespace emplace {

/// The 32-bit numbers of one thread.
struct GpuColumn {
  std::uint32_t* first = nullptr;
  int stride = 0;
  EMPLACE_GPU std::uint32_t& operator[](int row) const { return first[row * stride]; }
};

/// Offsets of a placement's data in its columns. [words]
struct GpuLayout {
  /// @param busy_wanted  busy times are requested
  GpuLayout(const GpuProgram& program, bool busy_wanted) {
    const int bytes = program.memory == LaneMemory::kNone ? 0
                      : program.memory == LaneMemory::k32 ? 1
                                                          : 2;
    const auto add = [this](int count) {
      const int begin = words;
      words += count;
      return begin;
    };
    slot_free = add(program.num_slots);
    channel_free = add(program.num_channel_rows);
    broadcast = add(program.has_broadcast ? 2 * program.num_channels : 0);
    busy = busy_wanted ? add(program.num_devices) : -1;
    used = add(bytes * program.num_devices);
    peak = add(bytes * program.num_devices);
    arrivals = program.num_rows;
  }
  GpuLayout() = default;

  int slot_free = 0, channel_free = 0;
  int broadcast = 0;  ///< by channel: 1 + the item that it last broadcast; its arrival
  int busy = -1;      ///< -1: not requested
  int used = 0, peak = 0;
  /// Length of the column with all of the above: the state of the placement.
  int words = 0;
  /// Length of the column of arrivals: LaneProgram::num_rows. A separate column, since it is
  /// larger.
  int arrivals = 0;
};

/// The arguments of a launch: the placements and all addresses, in the memory of the GPU.
struct GpuLaunch {
  GpuProgram program;
  GpuLayout layout;
  std::int32_t count = 0;    ///< placements, one per thread
  std::int32_t stride = 0;   ///< of scratch columns by thread; at least `count`
  std::int32_t threads = 0;  ///< in a block
  /// The columns that are in the block's shared memory, the state first.
  bool state_in_shared = false, arrivals_in_shared = false;

  // Placements as rows, or as neighbours of a base.
  const std::uint8_t* rows = nullptr;   ///< [count, num_groups]; nullptr: neighbours
  const std::uint8_t* base = nullptr;   ///< [num_groups]
  const std::int32_t* begin = nullptr;  ///< [count + 1] into `moves`, beginning with begin[0]
  const Move* moves = nullptr;

  // Scratch.
  std::uint8_t* devices = nullptr;  ///< [num_groups, stride]
  /// [num_classes, num_devices, stride] position + 1; 0: never released
  std::uint32_t* last_use = nullptr;
  /// [length of the column, stride], unless in shared memory
  std::uint32_t *state = nullptr, *arrivals = nullptr;

  // Columns of OutcomeColumns; nullptr: not requested.
  Nanos* step_time = nullptr;  ///< always requested; may be kLeftToCpu
  std::int64_t *deficit = nullptr, *peak = nullptr;
  Nanos* busy = nullptr;
};

/// Returns the shared memory of a block. [words]
inline int SharedWords(const GpuLaunch& launch) {
  return launch.threads * ((launch.state_in_shared ? launch.layout.words : 0) +
                           (launch.arrivals_in_shared ? launch.layout.arrivals : 0));
}

/// Step time of a placement that another engine has to evaluate: its times do not fit into 32 bits,
/// or it is invalid (a forbidden device, a missing route).
inline constexpr Nanos kLeftToCpu = -1;

/// The number types for bytes.
struct GpuNoBytes {
  static constexpr bool kCounts = false;
  using Number = std::uint32_t;
};
struct GpuBytes32 {
  static constexpr bool kCounts = true;
  using Number = std::uint32_t;
  EMPLACE_GPU static Number Load(const GpuColumn& column, int begin, int i) {
    return column[begin + i];
  }
  EMPLACE_GPU static void Store(const GpuColumn& column, int begin, int i, Number x) {
    column[begin + i] = x;
  }
};
struct GpuBytes64 {
  static constexpr bool kCounts = true;
  using Number = std::uint64_t;
  EMPLACE_GPU static Number Load(const GpuColumn& column, int begin, int i) {
    return column[begin + 2 * i] | Number{column[begin + 2 * i + 1]} << 32;
  }
  EMPLACE_GPU static void Store(const GpuColumn& column, int begin, int i, Number x) {
    column[begin + 2 * i] = static_cast<std::uint32_t>(x);
    column[begin + 2 * i + 1] = static_cast<std::uint32_t>(x >> 32);
  }
};

/// @tparam Bytes     GpuNoBytes, GpuBytes32 or GpuBytes64
/// @tparam kGeneral  GpuProgram::general
template <class Bytes, bool kGeneral>
class GpuPass {
  using Number = typename Bytes::Number;
  using Mask = std::conditional_t<kGeneral, std::uint64_t, std::uint32_t>;  // of devices

 public:
  /// @param thread  index in the launch, below `count`
  /// @param state, arrivals  the columns of the thread
  EMPLACE_GPU GpuPass(const GpuLaunch& launch,
                      int thread,
                      const GpuColumn& state,
                      const GpuColumn& arrivals)
      : l_(launch),
        p_(launch.program),
        at_(launch.layout),
        thread_(thread),
        column_(state),
        arrivals_(arrivals) {}

  EMPLACE_GPU void Run() {
    LoadPlacement();
    for (int i = 0; i < at_.words; ++i) column_[i] = 0;
    if constexpr (Bytes::kCounts) {
      AddResidents();
      for (int c = 0; c < p_.num_classes; ++c) FindLastUses(c);
    }
    const int n = p_.num_devices;
    LaneProgram::Op op = p_.ops[0];
    for (int position = 0; position < p_.num_ops; ++position) {
      const LaneProgram::Op next = p_.ops[position + 1];
      const int d = device_ = DeviceOf(op.group);
      std::uint32_t start = 0;
      if (p_.has_host) start = Issue(d);
      for (int r = op.single_begin; r < next.single_begin; ++r) {
        start = Max(start, arrivals_[p_.singles[r]]);
      }
      for (int r = op.block_begin; r < next.block_begin; ++r) {
        start = Max(start, arrivals_[p_.blocks[r] + d]);
      }
      const int slot = at_.slot_free + FirstFree(d);
      start = Max(start, column_[slot]);
      const std::size_t figure = static_cast<std::size_t>(position) * n + d;
      const std::uint32_t cost = p_.cost[figure];
      column_[slot] = start + (p_.has_gaps ? p_.occupancy[figure] : cost);
      finish_ = start + cost;
      latest_ = Max(latest_, finish_);
      if (at_.busy >= 0) column_[at_.busy + d] += cost;
      if (op.finish_row >= 0) arrivals_[op.finish_row] = finish_;
      if constexpr (Bytes::kCounts) Allocate(position);
      for (int i = op.item_begin; i < next.item_begin; ++i) Make(p_.items[i]);
      if constexpr (Bytes::kCounts) Release(op, next, position);
      op = next;
    }
    if (p_.count_gaps) {
      for (int i = 0; i < p_.num_slots; ++i) latest_ = Max(latest_, column_[at_.slot_free + i]);
      for (int i = 0; i < p_.num_channel_rows; ++i) {
        latest_ = Max(latest_, column_[at_.channel_free + i]);
      }
    }
    Write();
  }

 private:
  template <class T>
  EMPLACE_GPU static T Max(T a, T b) {
    return a < b ? b : a;
  }
  EMPLACE_GPU static int LowestBit(Mask mask) {
#ifdef __CUDA_ARCH__
    return sizeof(Mask) == 8 ? __ffsll(static_cast<long long>(mask)) - 1
                             : __ffs(static_cast<int>(mask)) - 1;
#else
    return std::countr_zero(mask);
#endif
  }
  EMPLACE_GPU static Mask Bit(int d) {
    return Mask{1} << d;
  }

  EMPLACE_GPU std::uint8_t& DeviceAt(int group) const {
    return l_.devices[static_cast<std::size_t>(group) * l_.stride + thread_];
  }
  EMPLACE_GPU int DeviceOf(int group) const {
    return DeviceAt(group);
  }

  // Puts a group on a device. A forbidden device becomes device 0; any device would do, since the
  // result is discarded.
  EMPLACE_GPU void Put(int group, int d) {
    const bool allowed = d < p_.num_devices && (p_.allowed[group] >> d & 1) != 0;
    DeviceAt(group) = static_cast<std::uint8_t>(allowed ? d : 0);
    left_ |= !allowed;
  }
  EMPLACE_GPU void LoadPlacement() {
    const int num_groups = p_.num_groups;
    if (l_.rows != nullptr) {
      const std::uint8_t* row = l_.rows + static_cast<std::size_t>(thread_) * num_groups;
      for (int group = 0; group < num_groups; ++group) Put(group, row[group]);
      return;
    }
    for (int group = 0; group < num_groups; ++group) Put(group, l_.base[group]);
    const std::int32_t first = l_.begin[0], end = l_.begin[thread_ + 1];
    for (int m = l_.begin[thread_]; m < end; ++m) {
      const Move move = l_.moves[m - first];
      Put(move.group, move.device);
    }
  }

  // Issues a command of the host for a device. @return its earliest start [ns]
  EMPLACE_GPU std::uint32_t Issue(int d) {
    host_ += p_.issue[d];
    return host_ + p_.launch[d];
  }

  // Returns the slot of a device that is free first, the least one on ties.
  EMPLACE_GPU int FirstFree(int d) const {
    if constexpr (!kGeneral) return d;
    int best = p_.slot_begin[d];
    for (int s = best + 1; s < p_.slot_begin[d + 1]; ++s) {
      if (column_[at_.slot_free + s] < column_[at_.slot_free + best]) best = s;
    }
    return best;
  }

  // Sends the copies of an item and notes its arrivals.
  EMPLACE_GPU void Make(const LaneProgram::Item& item) {
    Mask need = 0;  // devices where it has readers
    for (int entry = item.entry_begin; entry < item.entry_end; ++entry) {
      need |= Bit(DeviceOf(p_.entry_group[entry]));
    }
    if constexpr (Bytes::kCounts) {
      if ((need & Bit(device_)) == 0) change_ -= static_cast<Number>(item.released_bytes);
    }
    if (item.block < 0 && item.num_readers == 0) return;
    Note(item, device_, finish_);
    need &= ~Bit(device_);
    if constexpr (kGeneral) broadcast_ = item.index + 1;
    for (; need != 0; need &= need - 1) {
      const int to = LowestBit(need);
      if constexpr (Bytes::kCounts) {
        if (item.bytes > 0) Receive(item, to);
      }
      if constexpr (kGeneral) {
        SendAlongRoute(item, to);
      } else {
        SendDirect(item, to);
      }
    }
  }

  // Notes the item's arrival at a device for its readers there.
  EMPLACE_GPU void Note(const LaneProgram::Item& item, int d, std::uint32_t time) {
    if (item.block >= 0) {
      arrivals_[item.block + d] = time;
      return;
    }
    for (int i = 0; i < item.num_readers; ++i) {
      if (DeviceOf(item.reader[i]) == d) arrivals_[item.reader_row[i]] = time;
    }
  }

  EMPLACE_GPU bool HasRoute(int to) const {
    const int pair = device_ * p_.num_devices + to;
    return p_.all_routes || p_.route_begin[pair] < p_.route_begin[pair + 1];
  }

  EMPLACE_GPU void SendDirect(const LaneProgram::Item& item, int to) {
    if (!HasRoute(to)) {
      left_ = true;
      return;
    }
    const int pair = to * p_.num_devices + device_;
    const int row = at_.channel_free + (p_.matrix ? pair : p_.channel_row[pair]);
    LaneProgram::Speed speed = p_.speed;
    if (!p_.one_speed) speed = {p_.rate_from[pair], p_.latency_from[pair], p_.gap_from[pair]};
    std::uint32_t start = Max(finish_, column_[row]);
    if (p_.has_host) start = Max(start, Issue(device_));
    const std::uint32_t sent = start + WireTime(item, speed.rate);
    column_[row] = sent + speed.gap;
    latest_ = Max(latest_, sent + speed.latency);
    Note(item, to, sent + speed.latency);
  }

  EMPLACE_GPU std::uint32_t WireTime(const LaneProgram::Item& item, std::uint32_t rate) const {
    return p_.wire[static_cast<std::size_t>(item.index) * p_.num_rates + rate];
  }

  // Sends an item hop by hop. A first hop that broadcasts serves all its destinations at once.
  EMPLACE_GPU void SendAlongRoute(const LaneProgram::Item& item, int to) {
    if (!HasRoute(to)) {
      left_ = true;
      return;
    }
    const int pair = device_ * p_.num_devices + to;
    const int begin = p_.route_begin[pair], end = p_.route_begin[pair + 1];
    std::uint32_t at = 0;
    for (int i = begin; i < end; ++i) {
      const int k = p_.routes[i];
      const bool first = i == begin, broadcasts = first && p_.broadcast[k] != 0;
      const int noted = at_.broadcast + 2 * k;
      if (broadcasts && column_[noted] == static_cast<std::uint32_t>(broadcast_)) {
        at = column_[noted + 1];
        continue;
      }
      if (first) at = p_.has_host ? Max(finish_, Issue(device_)) : finish_;
      at = Hop(item, k, at, first ? device_ : -1, i + 1 == end ? to : -1);
      if (broadcasts) {
        column_[noted] = static_cast<std::uint32_t>(broadcast_);
        column_[noted + 1] = at;
      }
    }
    Note(item, to, at);
  }

  // Makes a transfer over channel k. @param from, to  the devices that it may occupy, or -1
  // @return arrival
  EMPLACE_GPU std::uint32_t Hop(const LaneProgram::Item& item,
                                int k,
                                std::uint32_t ready,
                                int from,
                                int to) {
    if (p_.occupies_source[k] == 0) from = -1;
    if (p_.occupies_destination[k] == 0) to = -1;
    const std::uint32_t wire = WireTime(item, static_cast<std::uint32_t>(p_.rate[k]));
    std::uint32_t& channel = column_[at_.channel_free + k];
    std::uint32_t start = p_.contention ? Max(ready, channel) : ready;
    int from_slot = 0, to_slot = 0;
    if (from >= 0) {
      from_slot = at_.slot_free + FirstFree(from);
      start = Max(start, column_[from_slot]);
    }
    if (to >= 0) {
      to_slot = at_.slot_free + FirstFree(to);
      start = Max(start, column_[to_slot]);
    }
    const std::uint32_t sent = start + wire;
    if (from >= 0) WorkOnTransfer(from, from_slot, wire, sent);
    if (to >= 0) WorkOnTransfer(to, to_slot, wire, sent);
    channel = Max(channel, sent + p_.channel_gap[k]);
    const std::uint32_t arrival = sent + p_.latency[k];
    latest_ = Max(latest_, arrival);
    return arrival;
  }
  EMPLACE_GPU void WorkOnTransfer(int d, int slot, std::uint32_t wire, std::uint32_t until) {
    column_[slot] = until;
    if (at_.busy >= 0) column_[at_.busy + d] += wire;
  }

  // Memory, by issue order.

  EMPLACE_GPU Number Used(int d) const {
    return Bytes::Load(column_, at_.used, d);
  }
  EMPLACE_GPU void SetUsed(int d, Number x) {
    Bytes::Store(column_, at_.used, d, x);
  }
  EMPLACE_GPU void Peak(int d, Number x) {
    if (x > Bytes::Load(column_, at_.peak, d)) Bytes::Store(column_, at_.peak, d, x);
  }

  EMPLACE_GPU void AddResidents() {
    for (int group = 0; group < p_.num_groups; ++group) {
      const auto bytes = static_cast<Number>(p_.resident[group]);
      if (bytes == 0) continue;
      const int d = DeviceOf(group);
      SetUsed(d, Used(d) + bytes);
    }
    for (int i = 0; i < p_.num_inputs; ++i) {
      const LaneProgram::Input input = p_.inputs[i];
      Mask readers = 0;
      for (int g = input.begin; g < input.end; ++g) readers |= Bit(DeviceOf(p_.input_groups[g]));
      for (; readers != 0; readers &= readers - 1) {
        const int d = LowestBit(readers);
        SetUsed(d, Used(d) + static_cast<Number>(input.bytes));
      }
    }
    for (int d = 0; d < p_.num_devices; ++d) Peak(d, Used(d));
  }

  // Allocates the op's outputs and workspace, and updates the peak. The bytes that the op leaves in
  // use on its device are added up in change_ until Release().
  EMPLACE_GPU void Allocate(int position) {
    change_ = static_cast<Number>(p_.own_bytes[position]);
    const Number taken = change_ + static_cast<Number>(p_.workspace[position]);
    if (taken != 0) Peak(device_, Used(device_) + taken);
  }

  EMPLACE_GPU void Receive(const LaneProgram::Item& item, int to) {
    const Number used = Used(to) + static_cast<Number>(item.bytes);
    SetUsed(to, used);
    Peak(to, used);
  }

  // Frees the buffers whose last user is the op; Make() has already released its own outputs that
  // no op on its device reads. Each reader looks for a later reader on its device and stops at the
  // first one, so the readers are passed once per device in total.
  EMPLACE_GPU void Release(const LaneProgram::Op& op, const LaneProgram::Op& next, int position) {
    for (int r = op.release_begin; r < next.release_begin; ++r) {
      const LaneProgram::Release release = p_.releases[r];
      const LaneProgram::Item& item = p_.items[release.item];
      int entry = release.entry + 1;
      while (entry < item.entry_end && DeviceOf(p_.entry_group[entry]) != device_) ++entry;
      if (entry < item.entry_end) continue;
      change_ -= static_cast<Number>(DeviceOf(item.producer) == device_ ? item.released_bytes
                                                                        : item.bytes);
    }
    SetUsed(device_, Used(device_) + change_);
    for (int i = op.class_begin; i < next.class_begin; ++i) ReleaseShared(p_.touched[i], position);
  }

  EMPLACE_GPU std::uint32_t& LastUse(int c, int d) const {
    return l_.last_use[(static_cast<std::size_t>(c) * p_.num_devices + d) * l_.stride + thread_];
  }
  EMPLACE_GPU void Extend(int c, int d, int position) const {
    LastUse(c, d) = Max(LastUse(c, d), static_cast<std::uint32_t>(position + 1));
  }

  // Finds the last op that makes or reads a tensor in a buffer
  // (framework/schedule/stream_memory.h).
  EMPLACE_GPU void FindLastUses(int c) const {
    const LaneProgram::SharedClass shared = p_.classes[c];
    const int home = DeviceOf(shared.producer);
    Mask read = 0, pinned = shared.pinned ? Bit(home) : 0;
    for (int d = 0; d < p_.num_devices; ++d) LastUse(c, d) = 0;
    const LaneProgram::SharedItem root = p_.shared_items[shared.item_begin];
    for (int entry = root.entry_begin; entry < root.entry_end; ++entry) {
      const int d = DeviceOf(p_.entry_group[entry]);
      read |= Bit(d);
      Extend(c, d, p_.entry_position[entry]);
    }
    for (int i = shared.item_begin; i < shared.item_end; ++i) {
      const LaneProgram::SharedItem item = p_.shared_items[i];
      const int made = DeviceOf(item.producer);
      int last = item.position;
      for (int entry = item.entry_begin; entry < item.entry_end; ++entry) {
        if (DeviceOf(p_.entry_group[entry]) == made) last = Max(last, p_.entry_position[entry]);
      }
      // The alias lives where it is made if the root was received there, else on the root's device.
      const int lives = (read & Bit(made)) != 0 ? made : home;
      if (item.pins) pinned |= Bit(lives);
      Extend(c, lives, last);
    }
    for (; pinned != 0; pinned &= pinned - 1) LastUse(c, LowestBit(pinned)) = 0;
  }

  // Frees the buffers of an alias class whose last user is the current op, on any device.
  EMPLACE_GPU void ReleaseShared(int c, int position) {
    const LaneProgram::SharedClass shared = p_.classes[c];
    const int home = DeviceOf(shared.producer);
    for (int d = 0; d < p_.num_devices; ++d) {
      if (LastUse(c, d) != static_cast<std::uint32_t>(position + 1)) continue;
      SetUsed(d, Used(d) - static_cast<Number>(d == home ? shared.held : shared.bytes));
    }
  }

  EMPLACE_GPU void Write() const {
    const int n = p_.num_devices;
    const std::size_t first = static_cast<std::size_t>(thread_) * n;
    l_.step_time[thread_] =
        left_ || latest_ >= p_.time_limit ? kLeftToCpu : static_cast<Nanos>(latest_);
    std::int64_t missing = 0;
    for (int d = 0; d < n; ++d) {
      std::int64_t peak = 0;
      if constexpr (Bytes::kCounts) {
        peak = static_cast<std::int64_t>(Bytes::Load(column_, at_.peak, d)) * p_.unit;
        missing += Max(std::int64_t{0}, peak - p_.memory_bytes[d]);
      }
      if (l_.peak != nullptr) l_.peak[first + d] = peak;
      if (at_.busy >= 0) l_.busy[first + d] = column_[at_.busy + d];
    }
    if (l_.deficit != nullptr) l_.deficit[thread_] = missing;
  }

  const GpuLaunch& l_;
  const GpuProgram& p_;
  const GpuLayout& at_;
  const int thread_;
  const GpuColumn column_, arrivals_;
  std::uint32_t host_ = 0, latest_ = 0;
  bool left_ = false;
  // State of the current op.
  int device_ = 0;
  std::uint32_t finish_ = 0;
  Number change_ = 0;           // of the bytes in use on its device
  std::int32_t broadcast_ = 0;  // 1 + its current item
};

/// Calls use<GpuPass of the launch's program>().
template <class Use>
void WithGpuPass(const GpuProgram& program, Use&& use) {
  const auto with = [&]<class Bytes>() {
    if (program.general) {
      use.template operator()<GpuPass<Bytes, true>>();
    } else {
      use.template operator()<GpuPass<Bytes, false>>();
    }
  };
  switch (program.memory) {
    case LaneMemory::kNone:
      return with.template operator()<GpuNoBytes>();
    case LaneMemory::k32:
      return with.template operator()<GpuBytes32>();
    case LaneMemory::k64:
      return with.template operator()<GpuBytes64>();
  }
}

}  // namespace emplace
