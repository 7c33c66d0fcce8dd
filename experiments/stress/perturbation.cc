#include "experiments/stress/perturbation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/random/normal_distribution.hpp>

#include "experiments/problem/changed_problem.h"
#include "framework/base/error.h"

namespace emplace {

std::vector<Outcome> SimulateCandidates(const std::shared_ptr<const Problem>& problem,
                                        const SimulatorOptions& how,
                                        const std::vector<Candidate>& candidates,
                                        const OutcomeDetail& detail) {
  SimulatorOptions options = how;
  options.order_may_change = true;
  const auto simulator = MakeSimulator(problem, options);
  std::vector<Outcome> outcomes;
  bool own_order = false;
  for (const Candidate& candidate : candidates) {
    if (own_order || !candidate.issue_order.empty()) {
      simulator->SetIssueOrder(candidate.issue_order);
      own_order = !candidate.issue_order.empty();
    }
    outcomes.push_back(simulator->Evaluate(candidate.placement, detail));
  }
  return outcomes;
}

Perturbation NoPerturbation(const Problem& problem) {
  return {std::vector<double>(problem.num_ops(), 1),
          std::vector<double>(problem.cluster().num_channels(), 1)};
}

Perturbation DrawPerturbation(const Problem& problem, double noise, Rng& rng) {
  Perturbation factors = NoPerturbation(problem);
  boost::random::normal_distribution<double> normal(0, noise);
  for (double& factor : factors.op) factor = std::exp(normal(rng));
  for (double& factor : factors.channel) factor = std::exp(normal(rng));
  return factors;
}

std::shared_ptr<const Problem> Perturb(const std::shared_ptr<const Problem>& problem,
                                       const Perturbation& factors) {
  const Cluster& cluster = problem->cluster();
  EMPLACE_CHECK(static_cast<int>(factors.op.size()) == problem->num_ops());
  EMPLACE_CHECK(static_cast<int>(factors.channel.size()) == cluster.num_channels());
  const auto times = [](Nanos time, double factor) {
    return factor == 1 ? time : std::llround(static_cast<double>(time) * factor);
  };
  Costs costs = problem->costs();
  for (int v = 0; v < costs.num_ops; ++v) {
    for (int d = 0; d < costs.num_devices; ++d) {
      if (!costs.allowed(v, d)) continue;
      Nanos& cost = costs.time[size_t(v) * costs.num_devices + d];
      cost = times(cost, factors.op[v]);
    }
  }
  std::vector<Channel> channels(cluster.channels().begin(), cluster.channels().end());
  for (size_t k = 0; k < channels.size(); ++k) {
    const double factor = factors.channel[k];
    if (factor == 1) continue;
    channels[k].latency = times(channels[k].latency, factor);
    channels[k].setup = times(channels[k].setup, factor);
    const double bandwidth = channels[k].bandwidth.BytesPerSecond() / factor;
    channels[k].bandwidth = {std::max<std::int64_t>(1, std::llround(bandwidth)), 1};
  }
  return ChangeProblem(problem,
                       {cluster.kinds().begin(), cluster.kinds().end()},
                       std::move(channels),
                       std::move(costs));
}

}  // namespace emplace
