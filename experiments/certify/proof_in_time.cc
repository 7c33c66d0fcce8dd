#include "experiments/certify/proof_in_time.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "agents/branch_and_bound/branch_and_bound.h"
#include "experiments/output.h"
#include "framework/search/meter.h"

namespace emplace {
namespace {

const char* const kTreeName = "branch_and_bound";
constexpr double kTreeShare = 0.5;  // of the time, as long as other methods have something to try

// Why branch and bound proves nothing of the problem; empty: it may.
std::string WhyNoTree(const ProofTask& task) {
  if (task.how.order_may_change && task.problem->objective() == Objective::kStepTime) {
    return "branch and bound proves bounds of one issue order, and this run searches the order";
  }
  if (task.problem->num_groups() > kMostTreeGroups) {
    return fmt::format("branch and bound takes at most {} groups, this problem has {}",
                       kMostTreeGroups,
                       task.problem->num_groups());
  }
  return "";
}

// Branch and bound, a part of the time after another.
class TreeProof {
 public:
  explicit TreeProof(const ProofTask& task)
      : simulator_(MakeSimulator(task.problem, task.how)),
        evaluator_(*simulator_, Budget{}),
        interrupt_(task.interrupt),
        agent_({.problem = task.problem,
                .end_construction = task.interrupt,
                .end_step = task.interrupt},
               {}) {}

  // Searches until the tree is complete, or stop(bound) wants an end, which it is asked between two
  // steps.
  template <class Stop>
  void Search(const Stop& stop) {
    while (!agent_.Finished() && !stop(agent_.bound())) {
      interrupt_.Check();
      agent_.Step(evaluator_);
    }
  }

  bool complete() const { return agent_.Finished(); }
  Nanos bound() const { return agent_.bound(); }
  std::int64_t evaluations() const {
    return static_cast<std::int64_t>(evaluator_.records().size());
  }
  // The best placement that fits; kMaxNanos: none was found.
  Nanos best() const {
    const auto& best = evaluator_.best();
    return best && best->outcome.feasible ? best->outcome.step_time : kMaxNanos;
  }

 private:
  std::unique_ptr<Evaluator> simulator_;
  MeteredEvaluator evaluator_;
  Interrupt interrupt_;
  BranchAndBoundAgent agent_;
};

}  // namespace

Certificate ProveInTime(const ProofTask& task) {
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return task.seconds - passed.count();
  };
  const Nanos best = task.best.value_or(kMaxNanos);
  Certificate certificate{.bound = task.proved, .better = {}, .ended = {}};
  const auto take = [&](const LowerBound& bound) {
    if (bound.value <= certificate.bound.value && !certificate.bound.method.empty()) return;
    certificate.bound = bound;
    if (task.improved) task.improved(bound);
  };
  const auto end = [&](std::string why) {
    certificate.ended = certificate.bound.value >= best
                            ? "the best placement is proven optimal by " + certificate.bound.method
                            : std::move(why);
    return certificate;
  };
  Nanos known = best;  // with those that the tree finds
  const auto prove = [&](double seconds) {
    const Proof proof = ProveBound(*task.problem,
                                   {.seconds = seconds,
                                    .known = known,
                                    .proved = certificate.bound,
                                    .interrupt = task.interrupt,
                                    .improved = take});
    take(proof);
    return proof.ended;
  };
  std::string others = prove(0);
  if (certificate.bound.value >= best) return end("");
  if (left() <= 0) return end("time is up");

  std::string why_no_tree = WhyNoTree(task);
  std::optional<TreeProof> tree;
  if (why_no_tree.empty()) tree.emplace(task);
  const auto search = [&](double seconds_left) {
    if (!tree) return;
    tree->Search([&](Nanos bound) {
      take({bound, kTreeName});
      return certificate.bound.value >= best || left() <= seconds_left;
    });
    take({tree->bound(), kTreeName});
    known = std::min(known, tree->best());
    if (known < best) certificate.better = known;
  };
  search((1 - kTreeShare) * task.seconds);
  const auto is_decided = [&] {
    return certificate.bound.value >= known || (tree && tree->complete());
  };
  if (!is_decided() && left() > 0) others = prove(left());
  if (!is_decided() && left() > 0) search(0);

  if (tree && tree->complete()) {
    return end(tree->best() == kMaxNanos
                   ? "no placement fits, as branch_and_bound has proven"
                   : fmt::format("the optimum is {}, as branch_and_bound has proven",
                                 FormatTime(tree->best())));
  }
  if (certificate.bound.value >= known) {
    return end(fmt::format(
        "the optimum is {}, as {} has proven", FormatTime(known), certificate.bound.method));
  }
  if (left() > 0) return end(fmt::format("nothing is left to try: {}; {}", others, why_no_tree));
  return end(tree ? fmt::format("time is up, after {} evaluations of branch_and_bound",
                                tree->evaluations())
                  : "time is up; " + why_no_tree);
}

}  // namespace emplace
