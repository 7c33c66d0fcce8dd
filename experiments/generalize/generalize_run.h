#pragma once

// The generalisation experiment (NeurIPS 2019): policies are trained on graphs of a family and then
// place graphs of the family that were not in the training. Methods without training are compared
// with them.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/generalize/generalize_config.h"
#include "experiments/problem/load.h"
#include "experiments/run/search_run.h"
#include "framework/results/record.h"

namespace emplace {

/// The graphs of a family as problems.
struct Family {
  const FamilyPlan* plan = nullptr;
  std::vector<std::shared_ptr<const Problem>> train, test;  ///< as searched
};

/// Loads the graphs of a family.
/// @param strict  refuses graphs that cause warnings
/// @throws InputError as LoadGraph() and MakeProblem() do
Family LoadFamily(const FamilyPlan& plan, bool strict = false);

/// A training of one policy with one seed on the training graphs of a family.
struct Training {
  std::string label;            ///< "gnn.seed0"
  std::string agent, settings;  ///< registered name of the agent, all its settings
  UpdateTable updates;
  LongText policy;      ///< after all updates
  LongText checkpoint;  ///< of a stopped training
  double seconds = 0;   ///< over all parts of a resumed training [s]

  bool done() const { return !policy.text.empty(); }
  void Visit(RecordVisitor& v);
};

/// Trains until all updates are made or a stop is requested (StopRequest).
/// @param threads   number of threads of an update
/// @param training  in: empty except for its label, or an earlier part to resume; out: both parts
/// @param progress  called after each update with the number of updates made
/// @throws RunError naming label and family if the trainer fails
void Train(const Family& family,
           const TrainPlan& plan,
           std::uint64_t seed,
           int threads,
           Training& training,
           const std::function<void(std::int64_t)>& progress);

/// The result of one method on one unseen graph.
struct Test {
  int graph = 0, method = 0;  ///< indices into Family::test, GeneralizePlan::test
  std::uint64_t seed = 0;
  /// Step time of the method's result [ns]; NaN: the result does not fit. The result of a policy
  /// that ends after a number of updates is its last placement, the most probable one; the result
  /// of every other method is its best placement.
  double final_step_time = 0;
  double best_step_time = 0;  ///< of the best evaluated placement [ns]; NaN: none fits
  std::int64_t evaluations = 0;
  double seconds = 0;     ///< of searching [s]
  double best_known = 0;  ///< BestKnown() of the graph, in results [ns]

  void Visit(RecordVisitor& v);
};

/// Returns the settings of a method that starts with the policy in a file.
ConfigNode SettingsWithPolicy(const TestPlan& plan, const std::filesystem::path& policy_path);

/// Places a graph by a method.
/// @param graph        index into Family::test
/// @param policy_path  file with the trained policy; empty: the method uses none
/// @return none if the user stopped it, or the run before it began (StopRequest)
/// @throws RunError naming graph and method if the method fails
std::optional<Test> RunTest(const Family& family,
                            const TestPlan& plan,
                            int graph,
                            std::uint64_t seed,
                            const std::filesystem::path& policy_path);

/// Returns the least best_step_time of each test graph over all tests [ns]; NaN without tests.
/// @return [graphs]
std::vector<double> BestKnown(const std::vector<Test>& tests, int num_graphs);

}  // namespace emplace
