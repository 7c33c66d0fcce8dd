#include "agents/shared/devices.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "framework/base/glob.h"
#include "framework/config/setting_error.h"

namespace emplace {

std::vector<int> ComputingDevices(const Cluster& cluster) {
  std::vector<int> devices;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class != DeviceClass::kNetwork) devices.push_back(d);
  }
  return devices.empty() ? DevicesOfClass(cluster, DeviceClass::kNetwork) : devices;
}

std::vector<int> SelectDevices(const Cluster& cluster,
                               const std::string& key,
                               const std::string& text) {
  std::vector<int> devices;
  if (text == "gpu") {
    devices = DevicesOfClass(cluster, DeviceClass::kGpu);
  } else if (text == "cpu") {
    devices = DevicesOfClass(cluster, DeviceClass::kCpu);
  } else if (text == "all") {
    devices = ComputingDevices(cluster);
  } else {
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (MatchesGlob(text, cluster.device(d).name)) devices.push_back(d);
    }
  }
  if (!devices.empty()) return devices;
  if (text == "gpu" || text == "cpu") {
    throw SettingError(key,
                       fmt::format("cluster \"{}\" has no device of class {}; its devices: {}",
                                   cluster.name(),
                                   text,
                                   JoinChoices(cluster.DeviceNames())));
  }
  std::vector<std::string> choices = cluster.DeviceNames();
  choices.insert(choices.end(), {"gpu", "cpu", "all"});
  throw SettingError(key,
                     fmt::format("cluster \"{}\" has no device \"{}\"{}",
                                 cluster.name(),
                                 text,
                                 ChoicesHint(text, choices)));
}

std::uint64_t MaskOf(const std::vector<int>& devices) {
  std::uint64_t mask = 0;
  for (int d : devices) mask |= std::uint64_t{1} << d;
  return mask;
}

int FirstDevice(std::uint64_t mask) {
  EMPLACE_DCHECK(mask != 0);
  return std::countr_zero(mask);
}

int NumChoices(const Problem& problem) {
  int choices = 0;
  for (int group = 0; group < problem.num_groups(); ++group) {
    if (!std::has_single_bit(problem.allowed_devices(group))) ++choices;
  }
  return choices;
}

std::uint64_t Candidates(const Problem& problem, int group, std::uint64_t preferred) {
  const std::uint64_t both = problem.allowed_devices(group) & preferred;
  return both != 0 ? both : problem.allowed_devices(group);
}

double MeanCost(const Problem& problem, int group, std::uint64_t mask) {
  mask &= problem.allowed_devices(group);
  EMPLACE_DCHECK(mask != 0);
  double sum = 0;
  for (std::uint64_t m = mask; m != 0; m &= m - 1) {
    sum += static_cast<double>(problem.group_cost(group, FirstDevice(m)));
  }
  return sum / std::popcount(mask);
}

std::vector<double> MeanCosts(const Problem& problem) {
  std::vector<double> costs;
  for (int g = 0; g < problem.num_groups(); ++g) {
    costs.push_back(MeanCost(problem, g, ~std::uint64_t{0}));
  }
  return costs;
}

std::vector<double> DeviceSpeeds(const Problem& problem, const std::vector<int>& devices) {
  const std::uint64_t mask = MaskOf(devices);
  std::vector<double> speeds;
  for (int d : devices) {
    double mean = 0, own = 0;
    for (int g = 0; g < problem.num_groups(); ++g) {
      if (!problem.allowed(g, d)) continue;
      mean += MeanCost(problem, g, mask);
      own += static_cast<double>(problem.group_cost(g, d));
    }
    const double ratio = own > 0 && mean > 0 ? mean / own : 1;
    speeds.push_back(ratio * problem.cluster().device(d).slots);
  }
  double sum = 0;
  for (double speed : speeds) sum += speed;
  for (double& speed : speeds) speed *= static_cast<double>(devices.size()) / sum;
  return speeds;
}

int CheapestSingleDevice(const Problem& problem) {
  int best = -1;
  double best_total = 0;
  for (const int d : ComputingDevices(problem.cluster())) {
    double total = 0;
    for (int g = 0; g < problem.num_groups(); ++g) {
      Nanos cost = kMaxNanos;
      for (int e = 0; e < problem.num_devices(); ++e) {
        cost = std::min(cost, problem.group_cost(g, e));
      }
      total += static_cast<double>(problem.allowed(g, d) ? problem.group_cost(g, d) : cost);
    }
    if (best < 0 || total < best_total) {
      best = d;
      best_total = total;
    }
  }
  return best;
}

}  // namespace emplace
