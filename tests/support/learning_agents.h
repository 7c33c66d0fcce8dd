#pragma once

// What the tests of agents that learn have in common.

#include <cstdint>
#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/search/policy_trainer.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"
#include "tests/support/states.h"
#include "tests/support/toy_problems.h"

namespace emplace::testing {

using ProblemList = std::vector<std::shared_ptr<const Problem>>;

/// Groups of about two ops on a CPU and GPUs, all of one seed.
inline std::shared_ptr<const Problem> SmallProblem(int num_gpus = 2,
                                                   int num_ops = 16,
                                                   std::int64_t memory = kUnlimitedMemory) {
  Rng rng(3);
  return MixedProblem(rng, num_ops, num_gpus, memory);
}

/// Problems of different sizes and equal devices, one of them short of memory.
inline ProblemList ThreeProblems() {
  Rng rng(5);
  return {MixedProblem(rng, 20, 2, kUnlimitedMemory),
          MixedProblem(rng, 33, 2, 500),
          MixedProblem(rng, 7, 2, kUnlimitedMemory)};
}

/// A simulator of each problem, as a trainer's Step wants them.
struct Simulators {
  explicit Simulators(const ProblemList& problems) {
    for (const auto& problem : problems) {
      owned.push_back(MakeSimulator(problem, {}));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<Evaluator>> owned;
  std::vector<Evaluator*> all;
};

/// Records what is evaluated for each problem.
struct Recorders {
  explicit Recorders(const ProblemList& problems) : simulators(problems) { Clear(); }
  void Clear() {
    recorders.clear();
    all.clear();
    for (Evaluator* simulator : simulators.all) all.push_back(&recorders.emplace_back(*simulator));
  }
  Simulators simulators;
  std::deque<RecordingEvaluator> recorders;
  std::vector<Evaluator*> all;
};

inline std::string PolicyOf(PolicyTrainer& trainer) {
  std::ostringstream out;
  trainer.SavePolicy(out);
  return out.str();
}

/// A column by its name.
inline std::vector<double> Column(const UpdateTable& table, const std::string& name) {
  const std::size_t width = table.columns.size();
  std::size_t column = 0;
  while (column < width && table.columns[column] != name) ++column;
  REQUIRE_MESSAGE(column < width, "no column " << name);
  std::vector<double> values;
  for (std::size_t i = column; i < table.values.size(); i += width) {
    values.push_back(table.values[i]);
  }
  return values;
}

/// Mean of `count` entries from `begin` on.
inline double Mean(const std::vector<double>& values, std::size_t begin, std::size_t count) {
  REQUIRE(begin + count <= values.size());
  double sum = 0;
  for (std::size_t i = begin; i < begin + count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

/// With each of the seeds (slow tests: 200) the agent evaluates an optimum of every toy problem;
/// one seed in twenty may need more evaluations than these.
/// @param settings  YAML map
inline void CheckFindsOptima(const AgentEntry& entry,
                             const std::string& settings,
                             std::int64_t evaluations) {
  constexpr std::uint64_t kSeeds = 10 * EMPLACE_TEST_SCALE;
  for (const ToyProblem& toy : ToyProblems()) {
    CAPTURE(toy.name);
    std::string missed;
    std::uint64_t misses = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto agent =
          entry.make({toy.problem, seed}, ConfigNode::FromString(settings, "contract"));
      const std::unique_ptr<Evaluator> simulator = MakeSimulator(toy.problem, {});
      MeteredEvaluator metered(*simulator, {.evaluations = evaluations});
      const auto reached = [&] {
        return metered.best() && metered.best()->outcome.step_time == toy.optimum;
      };
      try {
        while (!reached() && metered.remaining() > 0) agent->Step(metered);
      } catch (const BudgetExhausted&) {  // within an episode
      }
      if (reached()) continue;
      missed += " " + std::to_string(seed);
      ++misses;
    }
    CAPTURE(missed);
    CHECK(misses <= kSeeds / 20);
  }
}

}  // namespace emplace::testing
