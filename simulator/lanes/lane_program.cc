#include "simulator/lanes/lane_program.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace emplace {
namespace {

constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
// Vector loads of a table by device may read this far beyond its end.
constexpr size_t kPadding = 16;

std::int64_t Largest(std::span<const std::int64_t> values) {
  std::int64_t largest = 0;
  for (const std::int64_t value : values) {
    if (value != kMaxNanos) largest = std::max(largest, value);
  }
  return largest;
}

// Converts times to 32 bits. Costs of forbidden devices, which no placement uses, become 0.
std::vector<std::uint32_t> Ticks(std::span<const Nanos> times, bool padded) {
  std::vector<std::uint32_t> ticks;
  ticks.reserve(times.size() + kPadding);
  for (const Nanos time : times) {
    ticks.push_back(time == kMaxNanos ? 0 : static_cast<std::uint32_t>(time));
  }
  if (padded) ticks.resize(ticks.size() + kPadding);
  return ticks;
}

// Assigns rows of arrival times to producers until their last reader has been issued. The row that
// was freed last is assigned first, since it is still in the cache.
class Rows {
 public:
  int Take() {
    if (free_.empty()) return count_++;
    const int row = free_.back();
    free_.pop_back();
    return row;
  }
  void GiveBack(int row) { free_.push_back(row); }
  int count() const { return count_; }

 private:
  std::vector<int> free_;
  int count_ = 0;
};

class Compiler {
 public:
  Compiler(const CompiledProblem& problem, const EngineOptions& options, LaneProgram& program)
      : p_(problem), out_(program), memory_(options.memory) {
    out_.count_gaps = options.count_gaps;
    out_.contention = options.channel_contention;
    out_.num_ops = p_.num_ops;
    out_.num_devices = p_.num_devices;
    out_.num_channels = p_.num_channels;
    for (const int group : p_.group_at) out_.num_groups = std::max(out_.num_groups, group + 1);
  }

  void Compile() {
    if (!SetTimeLimit()) return;
    out_.possible = true;
    CompileMachine();
    if (memory_) {
      SetUnit();
      CompileAliasClasses();
      CompileResidents();
    }
    CompileItems();
    CompileOps();
    CompileGroups();
  }

 private:
  // From the latest time so far, an op or a transfer ends at most `step` later. If that time is
  // below the limit, the new one does not overflow; otherwise the overflow is noticed.
  bool SetTimeLimit() {
    out_.step_besides_cost = Largest(p_.gap) + Largest(p_.issue) + Largest(p_.launch) +
                             Largest(p_.wire) + Largest(p_.latency) + Largest(p_.channel_gap);
    out_.most_slots = *std::max_element(p_.slots.begin(), p_.slots.end());
    out_.largest_cost.assign(p_.num_devices, 0);
    out_.cost_before.assign(p_.num_devices, 0);
    for (size_t i = 0; i < p_.cost.size(); ++i) {
      const std::int64_t cost = p_.cost[i] == kMaxNanos ? 0 : p_.cost[i];
      std::int64_t& largest = out_.largest_cost[i % p_.num_devices];
      largest = std::max(largest, cost);
      out_.cost_before.push_back(out_.cost_before[i] + cost);
    }
    const std::int64_t step = out_.step_besides_cost + Largest(p_.cost);
    if (step > kMost32 / 4 * 3 || out_.most_slots > 16) return false;
    out_.time_limit = out_.TimeLimit(~std::uint64_t{0});
    return true;
  }

  void CompileMachine() {
    out_.has_host = p_.has_host;
    out_.has_gaps = Largest(p_.gap) > 0;
    out_.has_channel_gaps = Largest(p_.channel_gap) > 0;
    out_.issue = Ticks(p_.issue, true);
    out_.launch = Ticks(p_.launch, true);
    out_.slot_begin = {0};
    for (const int slots : p_.slots) out_.slot_begin.push_back(out_.slot_begin.back() + slots);
    out_.num_slots = out_.slot_begin.back();
    out_.wire = Ticks(p_.wire, true);
    out_.num_rates = p_.num_rates;
    out_.latency = Ticks(p_.latency, true);
    out_.channel_gap = Ticks(p_.channel_gap, true);
    out_.rate.assign(p_.rate.begin(), p_.rate.end());
    out_.rate.resize(p_.rate.size() + kPadding);
    out_.broadcast = p_.broadcast;
    out_.occupies_source = p_.occupies_source;
    out_.occupies_destination = p_.occupies_destination;
    out_.route_begin.assign(p_.route_begin.begin(), p_.route_begin.end());
    out_.routes.assign(p_.routes.begin(), p_.routes.end());
    out_.general = p_.has_slots || p_.has_occupies || !out_.contention;
    for (int from = 0; from < p_.num_devices; ++from) {
      for (int to = 0; to < p_.num_devices; ++to) {
        const bool direct = p_.direct_channel[from * p_.num_devices + to] >= 0;
        out_.general |= !direct && !p_.route(from, to).empty();
      }
    }
    out_.num_channel_rows = out_.num_channels;
    if (!out_.general) CompileChannels();
  }

  void CompileChannels() {
    const int num_devices = p_.num_devices;
    out_.one_speed = true;
    out_.matrix = true;
    std::vector<bool> taken(p_.num_channels, false);
    int first = -1;  // some channel that is used
    for (int to = 0; to < num_devices; ++to) {
      for (int from = 0; from < num_devices; ++from) {
        const int k = p_.direct_channel[from * num_devices + to];
        out_.channel_row.push_back(k);
        out_.rate_from.push_back(k < 0 ? 0 : out_.rate[k]);
        out_.latency_from.push_back(k < 0 ? 0 : out_.latency[k]);
        out_.gap_from.push_back(k < 0 ? 0 : out_.channel_gap[k]);
        if (k < 0) continue;
        if (first < 0) first = k;
        out_.one_speed &= out_.rate[k] == out_.rate[first] &&
                          out_.latency[k] == out_.latency[first] &&
                          out_.channel_gap[k] == out_.channel_gap[first];
        out_.matrix &= !taken[k];
        taken[k] = true;
      }
    }
    if (out_.matrix) {
      out_.num_channel_rows = std::max(p_.num_channels, num_devices * num_devices);
      std::iota(out_.channel_row.begin(), out_.channel_row.end(), 0);
    }
    if (first >= 0) {
      out_.speed = {static_cast<std::uint32_t>(out_.rate[first]),
                    out_.latency[first],
                    out_.channel_gap[first]};
    }
    for (auto* table : {&out_.rate_from, &out_.latency_from, &out_.gap_from}) {
      table->resize(table->size() + kPadding);
    }
    out_.channel_row.resize(out_.channel_row.size() + kPadding);
  }

  // Sets the unit of all sizes, and whether 32 bits hold every peak in this unit.
  void SetUnit() {
    std::int64_t unit = 0, most = MostInUse();
    for (const auto& item : p_.items) unit = std::gcd(unit, std::gcd(item.bytes, item.held));
    for (const std::int64_t bytes : p_.workspace) unit = std::gcd(unit, bytes);
    const auto count = [&](std::int64_t bytes) {
      unit = std::gcd(unit, bytes);
      most += bytes;
    };
    for (const auto& resident : p_.residents) count(resident.bytes);
    for (const std::int64_t bytes : p_.input_bytes) count(bytes);
    unit = std::max<std::int64_t>(unit, 1);
    out_.memory = most / unit < kMost32 ? LaneMemory::k32 : LaneMemory::k64;
    out_.unit = unit;
    out_.own_bytes = InUnits(p_.own_bytes);
    out_.workspace = InUnits(p_.workspace);
  }

  // Returns the most bytes that can be in use at once on any device, whatever the placement: a
  // device holds an item at most once, from its producer to its last reader, and longer if aliases
  // share it. [B]
  std::int64_t MostInUse() const {
    std::vector<int> last(p_.num_items);
    for (int item = 0; item < p_.num_items; ++item) {
      const auto& from = p_.items[item];
      const bool read = p_.reader_begin[item] < p_.reader_begin[item + 1];
      last[item] = read ? p_.readers[p_.reader_begin[item + 1] - 1] : from.producer;
      if (from.alias_class < 0 && from.released_bytes < from.held) last[item] = p_.num_ops;
    }
    for (const auto& shared : p_.alias_classes) {
      if (shared.root < 0) continue;
      const auto& pins = shared.pins;
      const bool pinned =
          shared.root_pinned || std::find(pins.begin(), pins.end(), 1) != pins.end();
      for (const int item : shared.members)
        last[shared.root] = std::max(last[shared.root], last[item]);
      if (pinned) last[shared.root] = p_.num_ops;
    }
    std::vector<std::int64_t> change(p_.num_ops + 2, 0);
    for (int item = 0; item < p_.num_items; ++item) {
      const std::int64_t bytes = std::max(p_.items[item].bytes, p_.items[item].held);
      change[p_.items[item].producer] += bytes;
      change[last[item] + 1] -= bytes;
    }
    std::int64_t in_use = 0, most = 0;
    for (int position = 0; position < p_.num_ops; ++position) {
      in_use += change[position];
      most = std::max(most, in_use + p_.workspace[position]);
    }
    return most;
  }

  std::vector<std::int64_t> InUnits(std::vector<std::int64_t> bytes) const {
    for (std::int64_t& b : bytes) b /= out_.unit;
    return bytes;
  }

  void CompileResidents() {
    out_.resident.assign(out_.num_groups, 0);
    for (const auto& resident : p_.residents) {
      out_.resident[p_.group_at[resident.position]] += resident.bytes / out_.unit;
    }
    for (size_t i = 0; i < p_.input_bytes.size(); ++i) {
      std::vector<std::int32_t> groups;
      for (int r = p_.input_begin[i]; r < p_.input_begin[i + 1]; ++r) {
        groups.push_back(p_.group_at[p_.input_readers[r]]);
      }
      std::sort(groups.begin(), groups.end());
      groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
      const auto begin = static_cast<std::int32_t>(out_.input_groups.size());
      out_.input_groups.insert(out_.input_groups.end(), groups.begin(), groups.end());
      out_.inputs.push_back({begin,
                             static_cast<std::int32_t>(out_.input_groups.size()),
                             p_.input_bytes[i] / out_.unit});
    }
  }

  void CompileAliasClasses() {
    shared_of_.assign(p_.num_items, -1);
    class_of_.assign(p_.num_items, -1);
    is_alias_.assign(p_.num_items, false);
    for (const auto& shared : p_.alias_classes) {
      for (const int item : shared.members) is_alias_[item] = true;
      if (shared.root < 0) continue;
      LaneProgram::SharedClass to{.producer = GroupOfProducer(shared.root),
                                  .pinned = shared.root_pinned,
                                  .held = p_.items[shared.root].held / out_.unit,
                                  .bytes = p_.items[shared.root].bytes / out_.unit,
                                  .item_begin = static_cast<int>(out_.shared_items.size())};
      const auto add = [&](int item, bool pins) {
        shared_of_[item] = static_cast<int>(out_.shared_items.size());
        class_of_[item] = static_cast<int>(out_.classes.size());
        out_.shared_items.push_back(
            {.producer = GroupOfProducer(item), .position = p_.items[item].producer, .pins = pins});
      };
      add(shared.root, false);
      for (size_t i = 0; i < shared.members.size(); ++i) add(shared.members[i], shared.pins[i]);
      to.item_end = static_cast<int>(out_.shared_items.size());
      out_.classes.push_back(to);
    }
    out_.has_aliases = !out_.classes.empty();
  }

  int GroupOfProducer(int item) const { return p_.group_at[p_.items[item].producer]; }

  // Compiles the readers of items by group, and selects the rules of an item in a pass.
  void CompileItems() {
    item_at_.assign(p_.num_items, -1);
    releases_at_.resize(p_.num_ops);
    std::vector<int> seen(out_.num_groups, -1);  // item that the group was last seen to read
    for (int item = 0; item < p_.num_items; ++item) {
      const auto& from = p_.items[item];
      const int producer = GroupOfProducer(item);
      LaneProgram::Item to{.index = item, .producer = producer, .block = -1};
      to.entry_begin = static_cast<std::int32_t>(out_.entry_group.size());
      int remote = 0;  // groups other than the producer's
      for (int r = p_.reader_begin[item + 1] - 1; r >= p_.reader_begin[item]; --r) {
        const int group = p_.group_at[p_.readers[r]];
        if (seen[group] == item) continue;
        seen[group] = item;
        out_.entry_group.push_back(group);
        out_.entry_position.push_back(p_.readers[r]);
        remote += group != producer;
      }
      for (auto* entries : {&out_.entry_group, &out_.entry_position}) {
        std::reverse(entries->begin() + to.entry_begin, entries->end());
      }
      to.entry_end = static_cast<std::int32_t>(out_.entry_group.size());
      bool counted = false;  // as its own buffer, or as copies
      if (memory_) {
        to.bytes = from.bytes / out_.unit;
        const bool is_root = class_of_[item] >= 0 && !is_alias_[item];
        counted = to.bytes > 0 && !is_root;
        if (class_of_[item] < 0) to.released_bytes = from.released_bytes / out_.unit;
        if (class_of_[item] >= 0) {
          out_.shared_items[shared_of_[item]].entry_begin = to.entry_begin;
          out_.shared_items[shared_of_[item]].entry_end = to.entry_end;
        }
      }
      to.all_away = remote == to.entry_end - to.entry_begin;
      if (counted) CompileReleases(item, to);
      if (remote == 0) {
        if (!memory_ || class_of_[item] < 0) {
          out_.entry_group.resize(to.entry_begin);
          out_.entry_position.resize(to.entry_begin);
        }
        continue;
      }
      // Separate steps for two readers visit every channel twice: too slow in a matrix.
      if (remote > (out_.matrix ? 1 : LaneProgram::kFewReaders)) {
        to.block = 0;  // CompileOps() sets the block and the rows of readers
      } else {
        for (int entry = to.entry_begin; entry < to.entry_end; ++entry) {
          if (out_.entry_group[entry] == producer) continue;
          to.reader[to.num_readers++] = out_.entry_group[entry];
        }
      }
      item_at_[item] = static_cast<std::int32_t>(out_.items.size());
      out_.items.push_back(to);
    }
  }

  // Finds the ops after which an item's buffers are released, surely or perhaps. The last reader of
  // all is the last on its device; an earlier reader is the last in some lanes.
  void CompileReleases(int item, const LaneProgram::Item& of) {
    const int begin = of.entry_begin, end = of.entry_end;
    const auto over = [&](int position, std::int64_t bytes) {
      out_.own_bytes[position] -= bytes;
      out_.workspace[position] += bytes;
    };
    if (begin == end) over(p_.items[item].producer, of.released_bytes);
    for (int entry = begin; entry < end; ++entry) {
      const int position = out_.entry_position[entry];
      const bool local = out_.entry_group[entry] == of.producer;
      if (entry + 1 == end && (local || of.released_bytes == of.bytes)) {
        over(position, of.released_bytes);
      } else if (!local || of.released_bytes > 0) {
        releases_at_[position].push_back({static_cast<std::int32_t>(out_.items.size()), entry});
      }
    }
  }

  // Assigns rows and compiles the inputs that an op awaits. The rows of an item, and the row of an
  // op's finish, are free again after their last reader.
  void CompileOps() {
    const int num_devices = p_.num_devices;
    out_.cost = Ticks(p_.cost, true);
    if (out_.has_gaps) {
      out_.occupancy = out_.cost;
      for (size_t i = 0; i < p_.cost.size(); ++i) {
        if (out_.cost[i] > 0) {
          out_.occupancy[i] += static_cast<std::uint32_t>(p_.gap[i % num_devices]);
        }
      }
    }
    Rows blocks, singles;
    // The last reader of the op's finish in its own group, and of an item outside of it.
    std::vector<int> last_own(p_.num_ops, -1), last_other(p_.num_items, -1);
    for (int item = 0; item < p_.num_items; ++item) {
      for (int r = p_.reader_begin[item]; r < p_.reader_begin[item + 1]; ++r) {
        const bool own = p_.group_at[p_.readers[r]] == GroupOfProducer(item);
        int& last = own ? last_own[p_.items[item].producer] : last_other[item];
        last = std::max(last, p_.readers[r]);
      }
    }
    std::vector<std::vector<int>> blocks_end(p_.num_ops), singles_end(p_.num_ops);
    std::vector<int> finish_row(p_.num_ops, -1);
    const auto take_single = [&](int to) {
      const int row = singles.Take();
      singles_end[to].push_back(row);
      return row;
    };
    int next_item = 0;
    for (int position = 0; position <= p_.num_ops; ++position) {
      LaneProgram::Op op{.group = 0, .finish_row = -1};
      op.single_begin = static_cast<std::int32_t>(out_.singles.size());
      op.block_begin = static_cast<std::int32_t>(out_.blocks.size());
      op.release_begin = static_cast<std::int32_t>(out_.releases.size());
      op.class_begin = static_cast<std::int32_t>(out_.touched.size());
      op.item_begin = next_item;
      if (position == p_.num_ops) {
        out_.ops.push_back(op);
        break;
      }
      op.group = p_.group_at[position];
      const auto await_single = [&](int row) {
        const auto begin = out_.singles.begin() + op.single_begin;
        if (std::find(begin, out_.singles.end(), row) == out_.singles.end()) {
          out_.singles.push_back(row);
        }
      };
      for (int r = p_.read_begin[position]; r < p_.read_begin[position + 1]; ++r) {
        const int item = p_.reads[r];
        if (GroupOfProducer(item) == op.group) {
          await_single(finish_row[p_.items[item].producer]);
        } else if (const LaneProgram::Item& from = out_.items[item_at_[item]]; from.block >= 0) {
          out_.blocks.push_back(from.block);
        } else {
          const auto reader = std::find(from.reader, from.reader + from.num_readers, op.group);
          await_single(from.reader_row[reader - from.reader]);
        }
      }
      for (const LaneProgram::Release& release : releases_at_[position]) {
        out_.releases.push_back(release);
      }
      if (out_.has_aliases) AddTouchedClasses(position, op.class_begin);
      for (const int row : blocks_end[position]) blocks.GiveBack(row);
      for (const int row : singles_end[position]) singles.GiveBack(row);
      if (last_own[position] >= 0) {
        op.finish_row = finish_row[position] = take_single(last_own[position]);
      }
      for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
        if (item_at_[item] < 0) continue;
        ++next_item;
        LaneProgram::Item& to = out_.items[item_at_[item]];
        if (to.block >= 0) {
          to.block = blocks.Take();
          blocks_end[last_other[item]].push_back(to.block);
        }
        for (int i = 0; i < to.num_readers; ++i) {
          const auto entries = out_.entry_group.begin();
          const auto entry =
              std::find(entries + to.entry_begin, entries + to.entry_end, to.reader[i]);
          to.reader_row[i] = take_single(out_.entry_position[entry - entries]);
        }
      }
      out_.ops.push_back(op);
    }
    // Rows of blocks come first, then single rows.
    const int num_block_rows = blocks.count() * num_devices;
    for (LaneProgram::Item& item : out_.items) {
      if (item.block >= 0) item.block *= num_devices;
      for (int i = 0; i < item.num_readers; ++i) item.reader_row[i] += num_block_rows;
    }
    for (std::int32_t& row : out_.blocks) row *= num_devices;
    for (std::int32_t& row : out_.singles) row += num_block_rows;
    for (LaneProgram::Op& op : out_.ops) {
      if (op.finish_row >= 0) op.finish_row += num_block_rows;
    }
    out_.num_rows = num_block_rows + singles.count();
  }

  void AddTouchedClasses(int position, int begin) {
    const auto touch = [&](int item) {
      const int c = class_of_[item];
      auto& touched = out_.touched;
      if (c < 0 || std::find(touched.begin() + begin, touched.end(), c) != touched.end()) return;
      touched.push_back(c);
    };
    for (int r = p_.read_begin[position]; r < p_.read_begin[position + 1]; ++r) touch(p_.reads[r]);
    for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
      touch(item);
    }
  }

  // Compiles the tables that depend on the device of a group.
  void CompileGroups() {
    out_.first_effect.assign(out_.num_groups, p_.num_ops);
    std::vector<std::vector<int>> items(out_.num_groups), classes(out_.num_groups);
    for (int position = 0; position < p_.num_ops; ++position) {
      int& first = out_.first_effect[p_.group_at[position]];
      first = std::min(first, position);
      for (int r = p_.read_begin[position]; r < p_.read_begin[position + 1]; ++r) {
        first = std::min(first, p_.items[p_.reads[r]].producer);
      }
    }
    if (memory_) {
      for (size_t i = 0; i < out_.items.size(); ++i) {
        for (int entry = out_.items[i].entry_begin; entry < out_.items[i].entry_end; ++entry) {
          items[out_.entry_group[entry]].push_back(static_cast<int>(i));
        }
      }
      for (size_t c = 0; c < out_.classes.size(); ++c) {
        for (int i = out_.classes[c].item_begin; i < out_.classes[c].item_end; ++i) {
          const LaneProgram::SharedItem& item = out_.shared_items[i];
          // The device of an alias decides whether it lives in the root's buffer.
          const int root = out_.shared_items[out_.classes[c].item_begin].position;
          out_.first_effect[item.producer] = std::min(out_.first_effect[item.producer], root);
          classes[item.producer].push_back(static_cast<int>(c));
          for (int entry = item.entry_begin; entry < item.entry_end; ++entry) {
            classes[out_.entry_group[entry]].push_back(static_cast<int>(c));
          }
        }
      }
    }
    Flatten(items, out_.group_item_begin, out_.group_items);
    Flatten(classes, out_.group_class_begin, out_.group_classes);
  }
  static void Flatten(std::vector<std::vector<int>>& lists,
                      std::vector<std::int32_t>& begin,
                      std::vector<std::int32_t>& all) {
    begin = {0};
    for (std::vector<int>& list : lists) {
      list.erase(std::unique(list.begin(), list.end()), list.end());  // the list ascends
      all.insert(all.end(), list.begin(), list.end());
      begin.push_back(static_cast<std::int32_t>(all.size()));
    }
  }

  const CompiledProblem& p_;
  LaneProgram& out_;
  const bool memory_;
  std::vector<std::int32_t> item_at_;  // [num_items] index into out_.items, -1: left out
  std::vector<std::int32_t> shared_of_, class_of_;  // [num_items] in out_.shared_items, classes
  std::vector<bool> is_alias_;                      // [num_items]
  std::vector<std::vector<LaneProgram::Release>> releases_at_;  // [num_ops]
};

}  // namespace

LaneProgram::LaneProgram(const CompiledProblem& problem, const EngineOptions& options) {
  if (problem.has_cold) return;
  Compiler(problem, options, *this).Compile();
}

std::uint32_t LaneProgram::TimeLimit(std::uint64_t in_use) const {
  std::int64_t step = 0;
  for (int d = 0; d < num_devices; ++d) {
    if (in_use >> d & 1) step = std::max(step, largest_cost[d]);
  }
  // The busy time of a device with several slots may exceed the step time.
  return static_cast<std::uint32_t>((kMost32 - step_besides_cost - step) / most_slots);
}

std::int64_t LaneProgram::Growth(int begin, int end, std::uint64_t in_use) const {
  std::int64_t growth = 0;
  for (int d = 0; d < num_devices; ++d) {
    if (!(in_use >> d & 1)) continue;
    growth = std::max(
        growth,
        cost_before[size_t(end) * num_devices + d] - cost_before[size_t(begin) * num_devices + d]);
  }
  return growth;
}

}  // namespace emplace
