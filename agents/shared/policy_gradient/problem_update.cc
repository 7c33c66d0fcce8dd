#include "agents/shared/policy_gradient/problem_update.h"

#include <algorithm>

#include "framework/base/error.h"

namespace emplace {

Var ProblemUpdate::FirstLoss(Tape& tape,
                             const PolicySample& sample,
                             std::span<const Placement> placements,
                             std::span<const Score> scores,
                             std::int64_t update) {
  EMPLACE_CHECK(tape.rows(sample.log_probability) == static_cast<int>(placements.size()));
  const bool again = config_.ppo.epochs > 1;
  EMPLACE_CHECK(!again || sample.decisions);
  batch_ = signal_.Take(placements, scores, update);
  entropy_ = tape.value(sample.entropy)(0, 0) / std::max(sample.num_decisions, 1);
  drawn_ = again ? DrawnDecisions(tape, *sample.decisions) : DrawnDecisions();
  kl_ = 0;
  const Var surrogate = GradientSurrogate(tape, config_, sample, batch_.weights);
  const Var loss = PolicyLoss(tape, config_, sample, surrogate, update, entropy_factor_);
  loss_ = tape.value(loss)(0, 0);
  return loss;
}

Var ProblemUpdate::NextLoss(Tape& tape,
                            const PolicySample& scored,
                            const Ppo& ppo,
                            std::int64_t update) {
  const Var surrogate = PpoSurrogate(tape, config_, ppo, scored, batch_.weights, drawn_, kl_);
  return PolicyLoss(tape, config_, scored, surrogate, update, entropy_factor_);
}

}  // namespace emplace
