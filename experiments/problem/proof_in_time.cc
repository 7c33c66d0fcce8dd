#include "experiments/problem/proof_in_time.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/branch_and_bound/branch_and_bound.h"
#include "experiments/console/output.h"
#include "framework/bounds/partial_bound.h"
#include "framework/search/evaluator.h"
#include "framework/search/meter.h"

namespace emplace {
namespace {

const char* const kTreeName = "branch_and_bound";
constexpr double kTreeShare = 0.5;  // of the time, while other methods have steps left
constexpr double kTreeShareOfPeriod = 0.1;

// Returns whether a proof must hold in every issue order.
bool IsOfAnyOrder(const ProofTask& task) {
  return task.how.order_may_change && task.problem->objective() == Objective::kStepTime;
}

// Returns for each placement, instead of its step time, a bound that holds in every issue order.
// All placements count as fitting, since their transient memory depends on the order.
class BoundsOfAnyOrder final : public Evaluator {
 public:
  explicit BoundsOfAnyOrder(std::shared_ptr<const Problem> problem)
      : problem_(std::move(problem)), bound_(*problem_) {}

  const Problem& problem() const override { return *problem_; }
  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail&) override {
    for (std::size_t i = 0; i < placements.size(); ++i) {
      outcomes[i] = {};
      outcomes[i].step_time = bound_.OfPlacement(placements[i]);
      outcomes[i].devices.resize(problem_->num_devices());
    }
  }

 private:
  std::shared_ptr<const Problem> problem_;
  PartialBound bound_;
};

// Branch and bound that can be interrupted and resumed.
class TreeProof {
 public:
  explicit TreeProof(const ProofTask& task)
      : is_exact_(!IsOfAnyOrder(task)),
        placements_(is_exact_ ? MakeSimulator(task.problem, task.how)
                              : std::make_unique<BoundsOfAnyOrder>(task.problem)),
        evaluator_(*placements_, Budget{}),
        interrupt_(task.interrupt),
        agent_({.problem = task.problem,
                .end_construction = task.interrupt,
                .end_step = task.interrupt},
               {}) {}

  // Searches until the tree is complete or stop(bound), called between two steps, returns true.
  template <class Stop>
  void Search(const Stop& stop) {
    while (!agent_.Finished() && !stop(agent_.bound())) {
      interrupt_.Check();
      agent_.Step(evaluator_);
    }
  }

  bool complete() const { return agent_.Finished(); }
  // Returns whether the optimum is known after the search is complete.
  bool is_exact() const { return is_exact_; }
  Nanos bound() const { return agent_.bound(); }
  std::int64_t evaluations() const {
    return static_cast<std::int64_t>(evaluator_.records().size());
  }
  // Returns the objective of the best placement that fits; kMaxNanos if none was found.
  Nanos best() const {
    const auto& best = evaluator_.best();
    return is_exact_ && best && best->outcome.feasible ? best->outcome.step_time : kMaxNanos;
  }

 private:
  bool is_exact_;
  std::unique_ptr<Evaluator> placements_;
  MeteredEvaluator evaluator_;
  Interrupt interrupt_;
  BranchAndBoundAgent agent_;
};

}  // namespace

std::string FormatFound(const FoundPlacement& found, std::optional<Nanos> best) {
  return fmt::format(
      "the proof found a placement of {}, better than the best{}; a run of {} keeps it",
      FormatTime(found.objective),
      best ? fmt::format(" ({})", FormatTime(*best)) : "",
      found.agent);
}

Certificate ProveInTime(const ProofTask& task) {
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return task.seconds - passed.count();
  };
  const Nanos best = task.best.value_or(kMaxNanos);
  Certificate certificate{.bound = task.proved, .found = {}, .ended = {}};
  const auto take = [&](const LowerBound& bound) {
    if (bound.value <= certificate.bound.value && !certificate.bound.method.empty()) return;
    certificate.bound = bound;
    if (task.improved) task.improved(bound);
  };
  const auto end = [&](std::string why) {
    certificate.ended = certificate.bound.value >= best
                            ? "the best placement is proved optimal by " + certificate.bound.method
                            : std::move(why);
    return certificate;
  };
  Nanos known = best;  // including those that proofs find
  const auto add = [&](Nanos objective, const char* by) {
    if (objective >= known) return;
    known = objective;
    certificate.found = {objective, by};
  };
  const bool is_period = task.problem->objective() == Objective::kPeriod;
  const std::unique_ptr<Evaluator> placements =
      is_period ? MakeSimulator(task.problem, task.how) : nullptr;
  std::function<Nanos(const Placement&)> found;
  if (is_period) {
    found = [&](const Placement& placement) {
      const Outcome outcome = placements->Evaluate(placement);
      if (!outcome.feasible) return kMaxNanos;
      add(outcome.step_time, "period_mip");
      return outcome.step_time;
    };
  }
  const auto prove = [&](double seconds) {
    const Proof proof = ProveBound(*task.problem,
                                   {.seconds = seconds,
                                    .known = known,
                                    .proved = certificate.bound,
                                    .interrupt = task.interrupt,
                                    .improved = take,
                                    .found = found});
    take(proof);
    return proof.ended;
  };
  std::string others = prove(0);
  if (certificate.bound.value >= best) return end("");
  if (left() <= 0) return end("time is up");

  std::optional<TreeProof> tree;
  const int num_groups = task.problem->num_groups();
  if (num_groups <= kMostTreeGroups) tree.emplace(task);
  const auto search = [&](double seconds_left) {
    if (!tree) return;
    tree->Search([&](Nanos bound) {
      take({bound, kTreeName});
      return certificate.bound.value >= best || left() <= seconds_left;
    });
    take({tree->bound(), kTreeName});
    add(tree->best(), kTreeName);
  };
  search((1 - (is_period ? kTreeShareOfPeriod : kTreeShare)) * task.seconds);
  const auto is_decided = [&] {
    return certificate.bound.value >= known || (tree && tree->is_exact() && tree->complete());
  };
  if (!is_decided() && left() > 0) others = prove(left());
  if (!is_decided() && left() > 0) search(0);

  if (tree && tree->is_exact() && tree->complete()) {
    return end(tree->best() == kMaxNanos
                   ? "no placement fits (proved by branch_and_bound)"
                   : fmt::format("the optimum is {} (proved by branch_and_bound)",
                                 FormatTime(tree->best())));
  }
  if (certificate.bound.value >= known) {
    return end(fmt::format(
        "the optimum is {} (proved by {})", FormatTime(known), certificate.bound.method));
  }
  const std::string of_tree =
      !tree ? fmt::format("branch and bound takes at most {} groups; this problem has {}",
                          kMostTreeGroups,
                          num_groups)
      : tree->is_exact() ? fmt::format("{} placements in branch and bound", tree->evaluations())
      : tree->complete()
          ? "branch and bound is complete, with bounds that hold in every issue order"
          : fmt::format(
                "{} placements in branch and bound, with bounds that hold in every issue order",
                tree->evaluations());
  return end(
      fmt::format("{}; {}",
                  left() > 0 ? "every method has ended: " + others : std::string("time is up"),
                  of_tree));
}

}  // namespace emplace
