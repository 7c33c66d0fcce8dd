#include "framework/search/meter.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"

namespace emplace {
namespace {

// Placements between two looks at `cancelled`: a large batch of a large graph takes seconds.
constexpr size_t kPart = 16;

}  // namespace

MeteredEvaluator::MeteredEvaluator(Evaluator& inner,
                                   const Budget& budget,
                                   std::function<bool()> cancelled)
    : inner_(inner),
      budget_(budget),
      cancelled_(std::move(cancelled)),
      start_(std::chrono::steady_clock::now()) {
}

void MeteredEvaluator::Restore(std::optional<Best> best,
                               std::vector<EvaluationRecord> records,
                               double seconds) {
  EMPLACE_CHECK(records_.empty());
  best_ = std::move(best);
  records_ = std::move(records);
  if (!records_.empty()) best_feasible_ = records_.back().best_step_time;
  start_ -= std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

double MeteredEvaluator::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::int64_t MeteredEvaluator::remaining() const {
  return std::min(inner_.remaining(),
                  budget_.evaluations - static_cast<std::int64_t>(records_.size()));
}

void MeteredEvaluator::Evaluate(std::span<const Placement> placements,
                                std::span<Outcome> outcomes,
                                const OutcomeDetail& detail) {
  if (seconds() >= budget_.seconds || (cancelled_ && cancelled_())) throw BudgetExhausted();
  const size_t allowed = static_cast<size_t>(
      std::clamp<std::int64_t>(remaining(), 0, static_cast<std::int64_t>(placements.size())));
  for (size_t first = 0; first < allowed; first += kPart) {
    if (first > 0 && cancelled_ && cancelled_()) throw BudgetExhausted();
    const size_t count = std::min(kPart, allowed - first);
    EvaluatePart(placements.subspan(first, count), outcomes.subspan(first, count), detail);
  }
  if (allowed < placements.size()) throw BudgetExhausted();
}

void MeteredEvaluator::EvaluatePart(std::span<const Placement> placements,
                                    std::span<Outcome> outcomes,
                                    const OutcomeDetail& detail) {
  inner_.Evaluate(placements, outcomes, detail);
  const double now = seconds();
  for (size_t i = 0; i < placements.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.feasible) best_feasible_ = std::min(best_feasible_, outcome.step_time);
    if (!best_ || Better(outcome, best_->outcome)) {
      best_ = Best{placements[i], outcome, static_cast<std::int64_t>(records_.size())};
    }
    records_.push_back({now, outcome.step_time, best_feasible_, outcome.feasible});
  }
}

}  // namespace emplace
