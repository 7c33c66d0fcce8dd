#include "agents/mcmc/mcmc.h"

#include <cmath>

namespace emplace {
namespace {

constexpr int kProposalsPerStep = 64;

}  // namespace

McmcAgent::McmcAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("mcmc", context, config.start),
      config_(config),
      proposer_(
          *context.problem,
          {.single = 1, .swap = 0, .neighbors = 0, .block = 0, .part = 0, .toward_neighbors = 0},
          "moves") {
}

double McmcAgent::Cost(const Score& score) const {
  return 1e-6 * (static_cast<double>(score.step_time) +
                 config_.penalty * static_cast<double>(score.deficit));
}

void McmcAgent::Improve(Evaluator& evaluator) {
  for (int i = 0; i < kProposalsPerStep; ++i) {
    if (since_reset_ == config_.reset) {
      current() = best();
      since_reset_ = 0;
    }
    ++since_reset_;
    proposal_.moves().Clear();
    proposer_.Propose(rng(), current().placement, proposal_.moves());
    proposal_.Evaluate(current().placement, evaluator);
    NoteBestOf(proposal_, current().placement);
    const double change = Cost(proposal_.score(0)) - Cost(current().score);
    if (Uniform01(rng()) < std::exp(-config_.beta * change)) proposal_.MoveTo(0, current());
  }
}

}  // namespace emplace
