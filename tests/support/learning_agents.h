#pragma once

// What the tests of agents that learn have in common. `A` is an agent with a Config, built from an
// AgentContext and that.

#include <cstdint>
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
template <class A>
void CheckFindsOptima(const typename A::Config& config,
                      std::int64_t evaluations,
                      std::uint64_t seeds = 10 * EMPLACE_TEST_SCALE) {
  for (const ToyProblem& toy : ToyProblems()) {
    CAPTURE(toy.name);
    std::vector<std::uint64_t> missed;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      A agent({toy.problem, seed}, config);
      const std::unique_ptr<Evaluator> simulator = MakeSimulator(toy.problem, {});
      MeteredEvaluator metered(*simulator, {.evaluations = evaluations});
      const auto reached = [&] {
        return metered.best() && metered.best()->outcome.step_time == toy.optimum;
      };
      try {
        while (!reached() && metered.remaining() > 0) agent.Step(metered);
      } catch (const BudgetExhausted&) {  // within an episode
      }
      if (!reached()) missed.push_back(seed);
    }
    std::string seeds_that_missed_it;
    for (const std::uint64_t seed : missed) seeds_that_missed_it += " " + std::to_string(seed);
    CAPTURE(seeds_that_missed_it);
    CHECK(missed.size() <= seeds / 20);
  }
}

/// Two ops that may run on one device each: the agent evaluates that placement and ends, also once
/// it is restored. @return rows of its updates()
template <class A>
std::int64_t CheckEndsWithoutChoice(const typename A::Config& config = {}) {
  ProblemBuilder builder = Gpus(2);
  builder.Op("a", {kMaxNanos, 5});
  builder.Op("b", {5, kMaxNanos});
  const auto problem = builder.Build();
  A agent({problem, 1}, config);
  CHECK_FALSE(agent.Finished());
  const SearchTrace trace = RunAgent(agent, problem, 10);
  CHECK(trace.finished);
  CHECK(trace.placements == std::vector<Placement>{{{1, 0}}});
  A restored({problem, 2}, config);
  LoadFrom(restored, trace.states.back());
  CHECK(restored.Finished());
  return agent.updates()->num_rows();
}

/// An agent of another seed, restored from any of the trace's states, makes the next step as the
/// agent did that left them.
/// @param trace  of a budget that cut no step short
template <class A>
void CheckGoesOn(std::shared_ptr<const Problem> problem,
                 const typename A::Config& config,
                 const SearchTrace& trace) {
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  for (std::size_t step = 0; step < trace.states.size(); ++step) {
    CAPTURE(step);
    A restored({problem, 1234}, config);
    LoadFrom(restored, trace.states[step]);
    CHECK(Saved(restored) == trace.states[step]);
    const bool is_last = step + 1 == trace.states.size();
    CHECK(restored.Finished() == (is_last && trace.finished));
    if (is_last) break;
    restored.Step(*simulator);
    CHECK(Saved(restored) == trace.states[step + 1]);
  }
}

}  // namespace emplace::testing
