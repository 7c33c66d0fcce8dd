#pragma once

// The generalisation experiment (NeurIPS 2019): train policies on graphs of a family, then place
// graphs of the family that training never saw, beside methods that start from nothing.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/generalize/generalize_config.h"
#include "experiments/problem/load.h"
#include "experiments/run/search_run.h"

namespace emplace {

/// The graphs of a family as problems.
struct Family {
  const FamilyPlan* plan = nullptr;
  std::vector<std::shared_ptr<const Problem>> train, test;  ///< what is searched
};

/// Loads the graphs of a family.
/// @param strict  refuses graphs of which there is something to warn
/// @throws InputError as LoadGraph() and MakeProblem() do
Family LoadFamily(const FamilyPlan& plan, bool strict = false);

/// A training of one policy with one seed on the training graphs of a family.
struct Training {
  std::string label;  ///< "gnn.seed0"
  UpdateTable updates;
  std::string policy;      ///< text, once all updates are made
  std::string checkpoint;  ///< of one that was stopped
  double seconds = 0;      ///< over all parts of a resumed training [s]
  bool done() const { return !policy.empty(); }
};

/// Trains until all updates are made or a stop is requested (StopRequest).
/// @param threads   that one update may use
/// @param training  in: empty but for its label, or an earlier part to go on from; out: both
/// @param progress  called after each update with the number of updates made
/// @throws RunError naming label and family if the trainer fails
void Train(const Family& family,
           const TrainPlan& plan,
           std::uint64_t seed,
           int threads,
           Training& training,
           const std::function<void(std::int64_t)>& progress);

/// What one method found on one unseen graph.
struct Test {
  int graph = 0, method = 0;  ///< indices into Family::test, GeneralizePlan::test
  std::uint64_t seed = 0;
  /// Of the placement that the method hands over [ns]; NaN: it does not fit. A policy that ends
  /// after a number of updates hands over the last placement, its most probable one; every other
  /// method hands over the best.
  double final_step_time = 0;
  double best_step_time = 0;  ///< of the best evaluated [ns]; NaN: none fits
  std::int64_t evaluations = 0;
  double seconds = 0;  ///< of search [s]
};

/// The settings of a method that begins with the policy in a file.
ConfigNode SettingsWithPolicy(const TestPlan& plan, const std::filesystem::path& policy_path);

/// Places a graph by a method.
/// @param graph        index into Family::test
/// @param policy_path  file with the trained policy; empty: the method uses none
/// @return nothing if the user cut it short (StopRequest)
/// @throws RunError naming graph and method if the method fails
std::optional<Test> RunTest(const Family& family,
                            const TestPlan& plan,
                            int graph,
                            std::uint64_t seed,
                            const std::filesystem::path& policy_path);

/// Least best_step_time of each test graph over all tests [ns]; NaN without any. @return [graphs]
std::vector<double> BestKnown(const std::vector<Test>& tests, int num_graphs);

}  // namespace emplace
