#include "agents/hybrid/coupled_draws.h"

namespace emplace {

Placement CoupledDraws::Draw(const Matrix& probabilities, Rng& rng) const {
  const int num_groups = problem_.num_groups(), num_devices = problem_.num_devices();
  std::vector<double> number(num_groups, -1);  // not drawn yet: negative
  Placement placement;
  placement.device.resize(num_groups);
  for (const int group : problem_.group_order()) {
    int drawn_neighbors = 0;
    double& u = number[group];
    for (const Problem::Edge& edge : problem_.neighbors(group)) {
      const double other = number[edge.neighbor];
      if (other >= 0 && UniformInt(rng, ++drawn_neighbors) == 0) u = other;
    }
    if (u < 0 || Uniform01(rng) >= cohesion_) u = Uniform01(rng);
    int device = -1;
    double left = u;
    for (int d = 0; d < num_devices && (device < 0 || left >= 0); ++d) {
      if (!problem_.allowed(group, d)) continue;
      device = d;  // the last one takes what rounding leaves
      left -= static_cast<double>(probabilities(group, d));
    }
    placement.device[group] = static_cast<DeviceIndex>(device);
  }
  return placement;
}

}  // namespace emplace
