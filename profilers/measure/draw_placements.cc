#include "profilers/measure/draw_placements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/random.h"

namespace emplace {
namespace {

// A family that repeats known placements this often in a row is considered exhausted.
constexpr int kMaxFailures = 200;

class Drawer {
 public:
  Drawer(const Problem& problem, std::uint64_t seed) : problem_(problem), rng_(seed) {}

  Placement Single(int device) const { return Allowed(std::vector<int>(num_groups(), device)); }

  // Assigns blocks of the group order to distinct devices, in random order.
  std::vector<int> ContiguousDevices() {
    std::vector<int> devices(problem_.num_devices());
    std::iota(devices.begin(), devices.end(), 0);
    for (int i = static_cast<int>(devices.size()); i > 1; --i) {
      std::swap(devices[i - 1], devices[UniformInt(rng_, i)]);
    }
    const int most = std::min<int>(problem_.num_devices(), num_groups());
    const int blocks = most < 2 ? 1 : 2 + UniformInt(rng_, most - 1);
    return Blocks(blocks, [&](int block) { return devices[block]; });
  }
  Placement Contiguous() { return Allowed(ContiguousDevices()); }

  // Assigns many blocks of the group order, each to any device.
  Placement RandomBlocks() {
    const int blocks = 3 + UniformInt(rng_, 14);
    return Allowed(Blocks(blocks, [&](int) { return UniformInt(rng_, problem_.num_devices()); }));
  }

  // Draws a contiguous cut with up to a tenth of the groups elsewhere.
  Placement Moved() {
    std::vector<int> devices = ContiguousDevices();
    const int moves = 1 + UniformInt(rng_, std::max(1, num_groups() / 10));
    for (int i = 0; i < moves; ++i) {
      devices[UniformInt(rng_, num_groups())] = UniformInt(rng_, problem_.num_devices());
    }
    return Allowed(devices);
  }

  // Puts group after group on the device that finishes it first, by costs that are off by up to a
  // factor of two. A share of the groups, drawn for every placement, goes anywhere instead.
  Placement Scheduled() {
    const double anywhere = Uniform01(rng_);
    std::vector<int> devices(num_groups(), -1);
    std::vector<double> free(problem_.num_devices(), 0), finish(num_groups(), 0);
    for (const int group : problem_.group_order()) {
      const double factor = std::exp2(2 * Uniform01(rng_) - 1);
      const auto finish_on = [&](int device) {
        double ready = free[device];
        for (const Problem::Edge& edge : problem_.neighbors(group)) {
          const int from = devices[edge.neighbor];
          if (from < 0) continue;  // later in the order
          const Nanos transfer = problem_.cluster().TransferTime(from, device, edge.bytes);
          ready = std::max(ready, finish[edge.neighbor] + static_cast<double>(transfer));
        }
        return ready + factor * static_cast<double>(problem_.group_cost(group, device));
      };
      int best = UniformInt(rng_, problem_.num_devices());
      while (!problem_.allowed(group, best)) best = (best + 1) % problem_.num_devices();
      if (Uniform01(rng_) >= anywhere) {
        for (int d = 0; d < problem_.num_devices(); ++d) {
          if (problem_.allowed(group, d) && finish_on(d) < finish_on(best)) best = d;
        }
      }
      finish[group] = finish_on(best);
      free[best] = finish[group];
      devices[group] = best;
    }
    return Allowed(devices);
  }

  Placement Random() {
    std::vector<int> devices(num_groups());
    for (int& device : devices) device = UniformInt(rng_, problem_.num_devices());
    return Allowed(devices);
  }

 private:
  int num_groups() const { return problem_.num_groups(); }

  // Cuts the group order at random points. @param device  returns the device of a block
  std::vector<int> Blocks(int blocks, const std::function<int(int)>& device) {
    std::vector<int> cuts;
    for (int i = 1; i < blocks; ++i) cuts.push_back(UniformInt(rng_, num_groups() + 1));
    std::sort(cuts.begin(), cuts.end());
    cuts.push_back(num_groups());
    std::vector<int> devices(num_groups());
    int position = 0;
    for (int block = 0; block < blocks; ++block) {
      const int where = device(block);
      for (; position < cuts[block]; ++position) {
        devices[problem_.group_order()[position]] = where;
      }
    }
    return devices;
  }

  // Replaces each device that is not allowed by the next allowed one, cyclically.
  Placement Allowed(const std::vector<int>& wanted) const {
    Placement placement;
    for (int group = 0; group < num_groups(); ++group) {
      int device = wanted[group];
      while (!problem_.allowed(group, device)) device = (device + 1) % problem_.num_devices();
      placement.device.push_back(static_cast<DeviceIndex>(device));
    }
    return placement;
  }

  const Problem& problem_;
  Rng rng_;
};

}  // namespace

std::vector<LabelledPlacement> DrawPlacements(const Problem& problem,
                                              int count,
                                              std::uint64_t seed) {
  if (count < 0) {
    throw InputError(fmt::format("number of placements to draw: {}, expected at least 0", count));
  }
  Drawer drawer(problem, seed);
  std::vector<LabelledPlacement> drawn;
  const auto add = [&](std::string label, Placement placement) {
    const bool is_known =
        std::any_of(drawn.begin(), drawn.end(), [&](const LabelledPlacement& other) {
          return other.placement == placement;
        });
    if (is_known || static_cast<int>(drawn.size()) == count) {
      return false;
    }
    drawn.push_back({std::move(label), std::move(placement)});
    return true;
  };
  for (int d = 0; d < problem.num_devices(); ++d) {
    add("all on " + problem.cluster().device(d).name, drawer.Single(d));
  }

  struct Family {
    const char* name;
    std::function<Placement()> draw;
    int drawn = 0;
    bool is_exhausted = false;
  };
  std::vector<Family> families{
      {"contiguous", [&] { return drawer.Contiguous(); }},
      {"random", [&] { return drawer.Random(); }},
      {"moved", [&] { return drawer.Moved(); }},
      {"blocks", [&] { return drawer.RandomBlocks(); }},
      {"scheduled", [&] { return drawer.Scheduled(); }},
  };
  bool any_left = true;
  while (any_left && static_cast<int>(drawn.size()) < count) {
    any_left = false;
    for (Family& family : families) {
      for (int failures = 0; !family.is_exhausted && static_cast<int>(drawn.size()) < count;) {
        if (add(fmt::format("{} {}", family.name, family.drawn), family.draw())) {
          ++family.drawn;
          break;
        }
        family.is_exhausted = ++failures == kMaxFailures;
      }
      any_left |= !family.is_exhausted;
    }
  }
  return drawn;
}

}  // namespace emplace
