#include "framework/cluster/symmetry.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace emplace {
namespace {

bool Alike(const Channel& a, const Channel& b) {
  return a.latency == b.latency && a.setup == b.setup && a.bandwidth == b.bandwidth &&
         a.gap == b.gap && a.broadcast == b.broadcast && a.occupies == b.occupies;
}

bool Alike(const Cluster& cluster, int a, int b) {
  const Device &x = cluster.device(a), &y = cluster.device(b);
  const DeviceKind &kind = cluster.kind_of(a), &other = cluster.kind_of(b);
  return x.memory == y.memory && x.slots == y.slots && kind.gap == other.gap &&
         kind.issue == other.issue && kind.launch == other.launch &&
         kind.pays_transfers == other.pays_transfers && kind.cold_read == other.cold_read &&
         kind.interference == other.interference;
}

// Assigns images to devices 0, 1, ... one after another, and to their channels.
class SymmetrySearch {
 public:
  // @param label  must outlive this
  SymmetrySearch(const Cluster& cluster, std::span<const int> label)
      : cluster_(cluster), label_(label) {}

  // Finds the symmetries that fix the devices below `fixed`. Returns false if there are more than
  // `most`, or if the search takes too long.
  bool Find(int fixed, std::size_t most, std::vector<DevicePermutation>& found) {
    found.clear();
    Begin();
    tries_ = 0;
    return Extend(fixed, most, found);
  }

  bool IsSymmetry(const DevicePermutation& permutation) {
    Begin();
    return std::ranges::all_of(permutation, [&](int image) { return Add(image); });
  }

 private:
  static constexpr std::int64_t kMostTries = 1'000'000;

  void Begin() {
    image_.clear();
    channel_.assign(cluster_.num_channels(), -1);
    taken_.assign(cluster_.num_channels(), false);
  }

  bool Extend(int fixed, std::size_t most, std::vector<DevicePermutation>& found) {
    const int d = static_cast<int>(image_.size());
    if (d == cluster_.num_devices()) {
      if (found.size() == most) return false;
      found.push_back(image_);
      return true;
    }
    for (int image = d < fixed ? d : 0; image < (d < fixed ? d + 1 : cluster_.num_devices());
         ++image) {
      if (++tries_ > kMostTries) return false;
      const std::vector<int> channel = channel_;
      const std::vector<bool> taken = taken_;
      if (Add(image)) {
        if (!Extend(fixed, most, found)) return false;
        image_.pop_back();
      }
      channel_ = channel;
      taken_ = taken;
    }
    return true;
  }

  // Returns whether the next device can have this image. If not, the channels are left undefined.
  bool Add(int image) {
    const int d = static_cast<int>(image_.size());
    if (label_[image] != label_[d] || !Alike(cluster_, image, d) ||
        std::ranges::count(image_, image) > 0) {
      return false;
    }
    const auto are_neighbors = [&](int a, int b) {
      return (cluster_.device(a).neighbors >> b & 1) != 0;
    };
    for (int e = 0; e < d; ++e) {
      if (are_neighbors(d, e) != are_neighbors(image, image_[e])) return false;
      if (!Map(d, e, image, image_[e]) || !Map(e, d, image_[e], image)) return false;
    }
    image_.push_back(image);
    return true;
  }

  // Maps the channels of one route to those of another. Returns false if that is impossible.
  bool Map(int from, int to, int from_image, int to_image) {
    const auto route = cluster_.route(from, to), image = cluster_.route(from_image, to_image);
    if (route.size() != image.size()) return false;
    for (std::size_t hop = 0; hop < route.size(); ++hop) {
      const int a = route[hop], b = image[hop];
      if (channel_[a] == b) continue;
      if (channel_[a] >= 0 || taken_[b] || !Alike(cluster_.channel(a), cluster_.channel(b))) {
        return false;
      }
      channel_[a] = b;
      taken_[b] = true;
    }
    return true;
  }

  const Cluster& cluster_;
  std::span<const int> label_;
  std::int64_t tries_ = 0;
  DevicePermutation image_;
  std::vector<int> channel_;  // image of each, or -1
  std::vector<bool> taken_;   // channels that are images
};

}  // namespace

std::vector<DevicePermutation> Symmetries(const Cluster& cluster,
                                          std::span<const int> label,
                                          std::size_t most) {
  SymmetrySearch search(cluster, label);
  std::vector<DevicePermutation> found;
  for (int fixed = 0; !search.Find(fixed, most, found);) ++fixed;
  return found;
}

std::vector<int> InterchangeableDevices(const Cluster& cluster, std::span<const int> label) {
  SymmetrySearch search(cluster, label);
  std::vector<int> least(cluster.num_devices());
  std::iota(least.begin(), least.end(), 0);
  const DevicePermutation identity = least;
  for (int b = 0; b < cluster.num_devices(); ++b) {
    for (int a = 0; a < b && least[b] == b; ++a) {
      DevicePermutation exchange = identity;
      std::swap(exchange[a], exchange[b]);
      if (least[a] == a && search.IsSymmetry(exchange)) least[b] = a;
    }
  }
  return least;
}

bool OrderMatters(const Cluster& cluster, int from, int a, int b) {
  const auto to_a = cluster.route(from, a), to_b = cluster.route(from, b);
  const auto occupied = [&](int k) { return OccupiesSource(cluster.channel(k).occupies); };
  return cluster.kind_of(from).issue > 0 || (occupied(to_a[0]) && occupied(to_b[0])) ||
         std::ranges::find_first_of(to_a, to_b) != to_a.end();
}

}  // namespace emplace
