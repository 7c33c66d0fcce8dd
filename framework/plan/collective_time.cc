#include "framework/plan/collective_time.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr std::int64_t kHopBytes = 1 << 20;
constexpr int kMostSteps = 1000;
constexpr std::size_t kMostRings = 8;

using Ring = std::vector<int>;  // places of members
using Rings = std::vector<Ring>;

// Times of kHopBytes from member to member.
class Hops {
 public:
  Hops(const Cluster& cluster, std::span<const int> members)
      : cluster_(cluster), members_(members), count_(static_cast<int>(members.size())) {
    for (int from : members) {
      for (int to : members) times_.push_back(cluster.TransferTime(from, to, kHopBytes));
    }
  }

  Rings Nodes() const {
    Nanos slowest = 0;
    for (Nanos time : times_) slowest = time < kMaxNanos ? std::max(slowest, time) : slowest;
    std::vector<int> node(count_);
    std::iota(node.begin(), node.end(), 0);
    for (int b = 0; b < count_; ++b) {
      for (int a = 0; a < b; ++a) {
        if (2 * std::max(Time(a, b), Time(b, a)) > slowest) continue;
        const int joined = node[a], old = node[b];
        std::ranges::replace(node, old, joined);
      }
    }
    Rings nodes;
    for (int i = 0; i < count_; ++i) {
      const auto same = [&](const Ring& other) { return node[other.front()] == node[i]; };
      const auto found = std::ranges::find_if(nodes, same);
      (found == nodes.end() ? nodes.emplace_back() : *found).push_back(i);
    }
    return nodes;
  }

  // Returns the ring with the least slowest hop that is found, or none.
  Ring FindRing() const {
    std::vector<Nanos> most;
    std::ranges::copy_if(
        times_, std::back_inserter(most), [](Nanos time) { return time > 0 && time < kMaxNanos; });
    std::ranges::sort(most);
    most.erase(std::unique(most.begin(), most.end()), most.end());
    Ring best;
    std::size_t low = 0, high = most.size();  // `best` has hops of at most most[high]
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      Ring ring = {0};
      int steps = kMostSteps;
      if (Extend(ring, most[middle], steps)) {
        best = std::move(ring);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return best;
  }

  // Removes the hops that share a channel with a ring.
  void Remove(const Ring& ring) {
    std::set<int> used;
    for (int i = 0; i < count_; ++i) {
      for (int channel : Route(ring[i], ring[(i + 1) % count_])) used.insert(channel);
    }
    for (int from = 0; from < count_; ++from) {
      for (int to = 0; to < count_; ++to) {
        const auto taken = [&](int channel) { return used.contains(channel); };
        if (std::ranges::any_of(Route(from, to), taken)) times_[from * count_ + to] = kMaxNanos;
      }
    }
  }

 private:
  Nanos Time(int from, int to) const { return times_[from * count_ + to]; }
  std::span<const int> Route(int from, int to) const {
    return cluster_.route(members_[from], members_[to]);
  }

  // Extends the beginning of a ring to a whole one, with hops of at most `most`. Returns false if
  // there is none, or all steps are used.
  bool Extend(Ring& ring, Nanos most, int& steps) const {
    const int last = ring.back();
    if (static_cast<int>(ring.size()) == count_) return Time(last, ring.front()) <= most;
    std::vector<int> next;
    for (int i = 0; i < count_; ++i) {
      if (Time(last, i) <= most && std::ranges::find(ring, i) == ring.end()) next.push_back(i);
    }
    std::ranges::stable_sort(next, {}, [&](int i) { return Time(last, i); });
    for (int i : next) {
      if (--steps < 0) return false;
      ring.push_back(i);
      if (Extend(ring, most, steps)) return true;
      ring.pop_back();
    }
    return false;
  }

  const Cluster& cluster_;
  std::span<const int> members_;
  int count_;
  std::vector<Nanos> times_;  // [from][to]; kMaxNanos: no route
};

}  // namespace

// The rounds of one collective. Times are kMaxNanos or more if a route is missing.
class CollectiveTimes::Rounds {
 public:
  Rounds(const CollectiveTimes& of, std::string_view name, std::int64_t bytes)
      : of_(of), name_(name), bytes_(bytes), count_(of.Count()) {}

  Nanos ByRings(std::size_t k) const {
    const Rings rings(of_.rings_.begin(), of_.rings_.begin() + static_cast<std::ptrdiff_t>(k));
    const std::int64_t part = Part(count_ * static_cast<int>(k));
    if (name_ != "all_to_all") return Passes() * TimeOnce(rings, part);
    Nanos time = 0;
    for (int shift = 1; shift < count_; ++shift) time += Time(rings, shift, part);
    return time;
  }

  bool HasTree() const { return name_ == "all_reduce"; }
  Nanos ByTree() const {
    Nanos time = 0;
    for (int distance = 1; distance < count_; distance *= 2) {
      Transfers sums, results;
      for (int i = 0; i + distance < count_; i += 2 * distance) {
        sums.emplace_back(i + distance, i);
        results.emplace_back(i, i + distance);
      }
      time += Time(sums, bytes_) + Time(results, bytes_);
    }
    return time;
  }

  bool HasTwoLevels() const {
    const std::size_t size = of_.nodes_.front().size();
    const auto equal = [&](const Ring& node) { return node.size() == size; };
    return name_ != "all_to_all" && of_.nodes_.size() > 1 && size > 1 &&
           std::ranges::all_of(of_.nodes_, equal);
  }
  Nanos ByTwoLevels() const {
    const int size = static_cast<int>(of_.nodes_.front().size());
    Rings across(size);
    for (const Ring& node : of_.nodes_) {
      for (int place = 0; place < size; ++place) across[place].push_back(node[place]);
    }
    return Passes() * (TimeOnce(of_.nodes_, Part(size)) + TimeOnce(across, Part(count_)));
  }

 private:
  using Transfers = std::vector<std::pair<int, int>>;  // places in members_, from and to

  int Passes() const { return name_ == "all_reduce" ? 2 : 1; }
  std::int64_t Part(int parts) const { return (bytes_ + parts - 1) / parts; }

  // Returns the time of a round.
  Nanos Time(const Transfers& transfers, std::int64_t bytes) const {
    const Cluster& cluster = of_.cluster_;
    const auto route = [&](const std::pair<int, int>& transfer) {
      return cluster.route(of_.members_[transfer.first], of_.members_[transfer.second]);
    };
    std::unordered_map<int, Nanos> busy;  // of a channel
    for (const auto& transfer : transfers) {
      if (route(transfer).empty()) return kMaxNanos;
      for (int channel : route(transfer)) {
        Nanos& time = busy[channel];
        time = std::min(kMaxNanos, time + WireTime(bytes, cluster.channel(channel)));
      }
    }
    Nanos slowest = 0;
    for (const auto& transfer : transfers) {
      Nanos time = 0;
      for (int channel : route(transfer)) {
        time += cluster.channel(channel).latency + busy.at(channel);
      }
      slowest = std::max(slowest, time);
    }
    return std::min(kMaxNanos, slowest);
  }

  // Returns the time of a round in which each member of each ring sends to another one of its ring,
  // `shift` places further.
  Nanos Time(const Rings& rings, int shift, std::int64_t bytes) const {
    Transfers transfers;
    for (const Ring& ring : rings) {
      for (std::size_t i = 0; i < ring.size(); ++i) {
        transfers.emplace_back(ring[i], ring[(i + shift) % ring.size()]);
      }
    }
    return Time(transfers, bytes);
  }

  // Returns the time of a part's way once round the rings.
  Nanos TimeOnce(const Rings& rings, std::int64_t bytes) const {
    return static_cast<Nanos>(rings.front().size() - 1) * Time(rings, 1, bytes);
  }

  const CollectiveTimes& of_;
  std::string_view name_;
  std::int64_t bytes_;
  int count_;
};

const std::vector<std::string>& CollectiveNames() {
  static const std::vector<std::string> names = {
      "all_gather", "all_reduce", "all_to_all", "reduce_scatter"};
  return names;
}

CollectiveTimes::CollectiveTimes(const Cluster& cluster, std::vector<int> members)
    : cluster_(cluster), members_(std::move(members)) {
  Hops hops(cluster, members_);
  nodes_ = hops.Nodes();
  for (Ring ring; rings_.size() < kMostRings; hops.Remove(ring)) {
    ring = hops.FindRing();
    if (ring.empty()) break;
    rings_.push_back(ring);
  }
  if (!rings_.empty()) return;
  Ring& given = rings_.emplace_back(members_.size());
  std::iota(given.begin(), given.end(), 0);
}

std::vector<std::vector<int>> FindNodes(const Cluster& cluster, std::span<const int> devices) {
  return Hops(cluster, devices).Nodes();
}

std::vector<AlgorithmTime> CollectiveTimes::Of(std::string_view name, std::int64_t bytes) const {
  if (Count() < 2) return {{"ring", 0}};
  const Rounds rounds(*this, name, bytes);
  std::vector<AlgorithmTime> times = {{"ring", rounds.ByRings(1)}};
  Nanos rings = kMaxNanos;
  for (std::size_t k = 2; k <= rings_.size(); ++k) rings = std::min(rings, rounds.ByRings(k));
  if (rings_.size() > 1) times.push_back({"rings", rings});
  if (rounds.HasTree()) times.push_back({"tree", rounds.ByTree()});
  if (rounds.HasTwoLevels()) times.push_back({"two_levels", rounds.ByTwoLevels()});
  std::erase_if(times, [](const AlgorithmTime& each) { return each.time >= kMaxNanos; });
  if (times.empty()) Refuse(name, bytes);
  return times;
}

Nanos CollectiveTimes::Least(std::string_view name, std::int64_t bytes) const {
  return std::ranges::min(Of(name, bytes), {}, &AlgorithmTime::time).time;
}

void CollectiveTimes::Refuse(std::string_view name, std::int64_t bytes) const {
  for (int from : members_) {
    for (int to : members_) {
      if (from == to || !cluster_.route(from, to).empty()) continue;
      throw InputError(fmt::format("cluster \"{}\": no route from {} to {}, for {}",
                                   cluster_.name(),
                                   cluster_.device(from).name,
                                   cluster_.device(to).name,
                                   name));
    }
  }
  throw InputError(fmt::format(
      "cluster \"{}\": {} of {} B takes longer than 2 years", cluster_.name(), name, bytes));
}

}  // namespace emplace
