#include "experiments/plan/plan_stages.h"

#include <algorithm>
#include <cstddef>

namespace emplace {
namespace {

// The best stages of the last layers with a number of used devices of each class.
struct Suffix {
  Nanos slowest = kMaxNanos;
  int end = 0, from = 0;  // of the first of these stages: its last layer, and the state after it
};

}  // namespace

int Stages::num_devices() const {
  if (device.empty()) return 0;
  return static_cast<int>(std::find(device.begin() + 1, device.end(), device[0]) - device.begin());
}

bool TooManyClasses(const std::vector<std::vector<int>>& classes) {
  std::size_t states = 1;
  for (const std::vector<int>& devices : classes) {
    states *= devices.size() + 1;
    if (states > 4096) return true;
  }
  return false;
}

std::vector<BalancedStages> BalanceStages(int num_layers,
                                          const std::vector<std::vector<int>>& classes,
                                          const StageTime& time) {
  // A state is the numbers of used devices in mixed radix, and the class of the last one.
  const int num_classes = static_cast<int>(classes.size());
  std::vector<int> unit(num_classes);
  int count = 1, num_devices = 0;
  for (int k = num_classes - 1; k >= 0; --k) {
    unit[k] = count * num_classes;
    count *= static_cast<int>(classes[k].size()) + 1;
    num_devices += static_cast<int>(classes[k].size());
  }
  const auto used = [&](int state, int k) {
    return state / unit[k] % (static_cast<int>(classes[k].size()) + 1);
  };
  const auto stages_of = [&](int state) {
    int stages = 0;
    for (int k = 0; k < num_classes; ++k) stages += used(state, k);
    return stages;
  };
  const auto device = [&](int state) {
    const std::vector<int>& of_class = classes[state % num_classes];
    const int number = used(state, state % num_classes);
    return number > 0 ? of_class[of_class.size() - number] : -1;
  };
  const int num_states = count * num_classes;
  std::vector<std::vector<Suffix>> best(num_layers + 1, std::vector<Suffix>(num_states));
  best[num_layers][0].slowest = 0;
  for (int end = num_layers; end > 0; --end) {
    for (int state = 0; state < num_states; ++state) {
      const Nanos slowest = best[end][state].slowest;
      if (slowest == kMaxNanos) continue;
      StageChoice choice{.begin = 0, .end = end, .device = 0, .next = device(state)};
      choice.following = stages_of(state);
      for (int k = 0; k < num_classes; ++k) {
        if (used(state, k) == static_cast<int>(classes[k].size())) continue;
        const int before = state - state % num_classes + unit[k] + k;
        choice.device = device(before);
        for (choice.begin = end - 1; choice.begin >= 0; --choice.begin) {
          const Nanos own = time(choice);
          if (own == kMaxNanos) break;
          Suffix& to = best[choice.begin][before];
          if (std::max(slowest, own) < to.slowest) to = {std::max(slowest, own), end, state};
        }
      }
    }
  }
  std::vector<BalancedStages> result(std::min(num_devices, num_layers));
  std::vector<int> first(result.size());
  for (int state = 1; state < num_states; ++state) {
    const Nanos slowest = best[0][state].slowest;
    if (slowest == kMaxNanos) continue;
    const int stages = stages_of(state);
    if (slowest >= result[stages - 1].slowest) continue;
    result[stages - 1].slowest = slowest;
    first[stages - 1] = state;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<int> next(num_classes);  // device of each class
    for (int begin = 0, state = first[i]; state != 0;) {
      const Suffix& suffix = best[begin][state];
      result[i].stages.end.push_back(suffix.end);
      const int k = state % num_classes;
      result[i].stages.device.push_back(classes[k][next[k]++]);
      begin = suffix.end;
      state = suffix.from;
    }
  }
  return result;
}

Stages EvenStages(int num_layers,
                  const std::vector<int>& devices,
                  int num_stages,
                  int virtual_stages) {
  Stages stages;
  const int count = num_stages * virtual_stages;
  for (int s = 0; s < count; ++s) {
    stages.end.push_back((s + 1) * num_layers / count);
    stages.device.push_back(devices[s % num_stages]);
  }
  return stages;
}

std::vector<Stages> NeighborsOf(const Stages& stages,
                                int num_layers,
                                const std::vector<int>& devices,
                                const std::vector<int>& alike) {
  std::vector<Stages> neighbors;
  const int count = static_cast<int>(stages.end.size());
  for (int s = 0; s + 1 < count; ++s) {
    for (const int by : {-2, -1, 1, 2}) {
      const int end = stages.end[s] + by;
      const int low = s > 0 ? stages.end[s - 1] : 0;
      const int high = s + 2 < count ? stages.end[s + 1] : num_layers;
      if (low < end && end < high) neighbors.emplace_back(stages).end[s] = end;
    }
  }
  const int used = stages.num_devices();
  const auto exchange = [&](int a, int b) {
    if (alike[a] == alike[b]) return;
    for (int& device : neighbors.emplace_back(stages).device) {
      device = device == a ? b : device == b ? a : device;
    }
  };
  for (int s = 0; s < used; ++s) {
    for (int t = s + 1; t < used; ++t) exchange(stages.device[s], stages.device[t]);
    for (int d : devices) {
      if (std::ranges::find(stages.device, d) == stages.device.end()) exchange(stages.device[s], d);
    }
  }
  return neighbors;
}

std::vector<Stages> AllStages(int num_layers,
                              const std::vector<int>& devices,
                              int num_stages,
                              const std::vector<int>& alike,
                              std::size_t most,
                              int virtual_stages) {
  const int count = num_stages * virtual_stages;
  std::vector<std::vector<int>> ends, orders;
  std::vector<int> part;
  const std::function<void(int)> cut = [&](int begin) {
    if (ends.size() > most) return;
    if (static_cast<int>(part.size()) + 1 == count) {
      ends.push_back(part);
      ends.back().push_back(num_layers);
      return;
    }
    for (int end = begin + 1; end < num_layers; ++end) {
      part.push_back(end);
      cut(end);
      part.pop_back();
    }
  };
  cut(0);
  const auto unused = [&](int d) { return std::ranges::find(part, d) == part.end(); };
  // Of devices that are alike, the first unused one.
  const std::function<void()> choose = [&] {
    if (orders.size() > most) return;
    if (static_cast<int>(part.size()) == num_stages) {
      std::vector<int>& order = orders.emplace_back(part);
      for (int s = num_stages; s < count; ++s) order.push_back(part[s % num_stages]);
      return;
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const int d = devices[i];
      const auto before = [&](int other) { return unused(other) && alike[other] == alike[d]; };
      if (!unused(d) || std::any_of(devices.begin(), devices.begin() + i, before)) continue;
      part.push_back(d);
      choose();
      part.pop_back();
    }
  };
  choose();
  std::vector<Stages> all;
  if (ends.size() * orders.size() > most) return all;
  for (const std::vector<int>& end : ends) {
    for (const std::vector<int>& order : orders) all.push_back({end, order});
  }
  return all;
}

}  // namespace emplace
