#include "framework/search/meter.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <span>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/raw_stream.h"
#include "framework/search/outcome_table.h"

namespace emplace {
namespace {

// Work between two calls of `cancelled`.
constexpr std::size_t kOps = std::size_t{1} << 20, kLeastPlacements = 64;

}  // namespace

MeteredEvaluator::MeteredEvaluator(Evaluator& inner,
                                   const Budget& budget,
                                   std::function<bool()> cancelled)
    : ForwardingEvaluator(inner),
      budget_(budget),
      cancelled_(std::move(cancelled)),
      start_(std::chrono::steady_clock::now()) {
}

void MeteredEvaluator::Restore(std::optional<Best> best,
                               std::vector<EvaluationRecord> records,
                               double seconds) {
  EMPLACE_CHECK(records_.empty());
  best_ = std::move(best);
  if (best_) best_->score = ScoreOf(best_->outcome);
  records_ = std::move(records);
  if (!records_.empty()) best_feasible_ = records_.back().best_step_time;
  start_ -= std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

double MeteredEvaluator::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::int64_t MeteredEvaluator::remaining() const {
  return std::min(inner().remaining(),
                  budget_.evaluations - static_cast<std::int64_t>(records_.size()));
}

void MeteredEvaluator::Record(double now, Nanos step_time, bool feasible) {
  if (feasible) best_feasible_ = std::min(best_feasible_, step_time);
  records_.push_back({now, step_time, best_feasible_, feasible});
}

void MeteredEvaluator::SetBest(Best best) {
  if (bests_) bests_->push_back(best);
  best_ = std::move(best);
}

const std::optional<MeteredEvaluator::Best>& MeteredEvaluator::best() const {
  if (!best_ || !best_->outcome.devices.empty()) return best_;
  const bool in_order = best_->issue_order == issue_order_;
  if (!in_order) inner().SetIssueOrder(best_->issue_order);
  best_->outcome = inner().Evaluate(best_->placement);
  best_->outcome.step_time = best_->score.step_time;  // a measuring evaluator may return another
  if (!in_order) inner().SetIssueOrder(issue_order_);
  return best_;
}

bool MeteredEvaluator::TimeIsOver() const {
  return ranks().rank == 0 && (seconds() >= budget_.seconds || (cancelled_ && cancelled_()));
}

void MeteredEvaluator::RequireTime() const {
  if (TimeIsOver()) throw BudgetExhausted();
}

template <class EvaluatePart>
void MeteredEvaluator::InParts(std::size_t size, const EvaluatePart& evaluate) {
  RequireTime();
  const auto allowed = static_cast<std::size_t>(
      std::clamp<std::int64_t>(remaining(), 0, static_cast<std::int64_t>(size)));
  // Parts consist of whole blocks of the engines on every rank.
  const std::size_t blocks = kOps / problem().num_ops() / kLeastPlacements;
  const std::size_t part = std::max<std::size_t>(blocks, 1) * kLeastPlacements * ranks().size;
  for (std::size_t first = 0; first < allowed; first += part) {
    if (first > 0 && cancelled_ && ranks().rank == 0 && cancelled_()) throw BudgetExhausted();
    evaluate(first, std::min(part, allowed - first));
  }
  if (allowed < size) throw BudgetExhausted();
}

template <class EvaluatePart, class PlacementAt>
void MeteredEvaluator::InParts(std::size_t size,
                               const OutcomeColumns& outcomes,
                               const EvaluatePart& evaluate,
                               const PlacementAt& placement) {
  const std::size_t num_devices = problem().num_devices();
  InParts(size, [&](std::size_t first, std::size_t count) {
    if (outcomes.step_time.empty()) step_time_.resize(count);
    if (outcomes.deficit.empty()) deficit_.resize(count);
    OutcomeColumns part = PartOfColumns(outcomes, first, count, num_devices);
    if (part.step_time.empty()) part.step_time = step_time_;
    if (part.deficit.empty()) part.deficit = deficit_;
    evaluate(first, count, part);
    const double now = seconds();
    const auto index = static_cast<std::int64_t>(records_.size());
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i) {
      const Score score{part.deficit[i], part.step_time[i]};
      Record(now, score.step_time, score.deficit == 0);
      if (best == count ? !best_ || score < best_->score
                        : score < Score{part.deficit[best], part.step_time[best]}) {
        best = i;
      }
    }
    if (best == count) return;
    const Score score{part.deficit[best], part.step_time[best]};
    Outcome outcome{.step_time = score.step_time, .feasible = score.feasible()};
    if (!part.peak.empty() && !part.busy.empty()) ReadOutcome(part, best, problem(), outcome);
    SetBest({placement(first + best),
             std::move(outcome),
             score,
             index + static_cast<std::int64_t>(best),
             issue_order_});
    if (ranks().size > 1) this->best();  // all ranks evaluate it
  });
}

void MeteredEvaluator::Evaluate(std::span<const Placement> placements,
                                std::span<Outcome> outcomes,
                                const OutcomeDetail& detail) {
  InParts(placements.size(), [&](std::size_t first, std::size_t count) {
    inner().Evaluate(placements.subspan(first, count), outcomes.subspan(first, count), detail);
    const double now = seconds();
    for (std::size_t i = first; i < first + count; ++i) {
      if (!best_ || ScoreOf(outcomes[i]) < best_->score) {
        SetBest({placements[i],
                 outcomes[i],
                 ScoreOf(outcomes[i]),
                 static_cast<std::int64_t>(records_.size()),
                 issue_order_});
      }
      Record(now, outcomes[i].step_time, outcomes[i].feasible);
    }
  });
}

bool MeteredEvaluator::SetIssueOrder(std::span<const int> order) {
  if (!inner().SetIssueOrder(order)) return false;
  issue_order_.assign(order.begin(), order.end());
  return true;
}

void MeteredEvaluator::RunConcurrently(std::span<const ConcurrentSearch> searches) {
  RequireTime();
  std::vector<std::optional<MeteredEvaluator>> parts(searches.size());
  std::vector<ConcurrentSearch> metered(searches.size());
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const auto make_part = [this, &part = parts[i]](Evaluator& evaluator) -> MeteredEvaluator& {
      part.emplace(evaluator, Budget{.seconds = budget_.seconds}, cancelled_);
      part->start_ = start_;
      part->best_ = best_;
      part->best_feasible_ = best_feasible_;
      part->issue_order_ = issue_order_;
      part->bests_.emplace();
      return *part;
    };
    metered[i].run = [make_part, &search = searches[i]](Evaluator& evaluator) {
      MeteredEvaluator& part = make_part(evaluator);
      try {
        search.run(part);
      } catch (const BudgetExhausted&) {
        part.ended_ = true;
      }
    };
    if (!searches[i].save) continue;
    metered[i].save = [&part = parts[i], &search = searches[i]](std::ostream& out) {
      part->SavePart(out);
      search.save(out);
    };
    metered[i].load = [this, make_part, &search = searches[i]](std::istream& in) {
      make_part(inner()).LoadPart(in);
      search.load(in);
    };
  }
  inner().RunConcurrently(metered);
  const bool complete = Merge(parts);
  if (ranks().size > 1) best();  // all ranks evaluate it
  const auto ended = [](const std::optional<MeteredEvaluator>& part) { return part->ended_; };
  if (!complete || std::ranges::any_of(parts, ended)) throw BudgetExhausted();
}

void MeteredEvaluator::SavePart(std::ostream& out) const {
  WriteRaw(out, ended_);
  WriteRawList(out, records_);
  WriteRaw(out, bests_->size());
  for (const Best& best : *bests_) WriteRawBest(out, best);
}

void MeteredEvaluator::LoadPart(std::istream& in) {
  ended_ = ReadRaw<bool>(in);
  records_ = ReadRawList<EvaluationRecord>(in);
  bests_->resize(ReadRaw<std::size_t>(in));
  for (Best& best : *bests_) best = ReadRawBest(in);
}

bool MeteredEvaluator::Merge(std::span<const std::optional<MeteredEvaluator>> parts) {
  const auto begin = static_cast<std::int64_t>(records_.size());
  const std::int64_t allowed = remaining();
  std::vector<std::vector<std::int64_t>> index(parts.size());  // of each record of each part
  std::int64_t total = 0;
  for (const auto& part : parts) total += static_cast<std::int64_t>(part->records_.size());
  for (std::size_t row = 0; std::cmp_less(records_.size() - begin, std::min(total, allowed));
       ++row) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::vector<EvaluationRecord>& records = parts[p]->records_;
      if (row >= records.size() || std::cmp_equal(records_.size() - begin, allowed)) continue;
      index[p].push_back(static_cast<std::int64_t>(records_.size()));
      const double latest = records_.empty() ? 0 : records_.back().wall_seconds;
      Record(std::max(latest, records[row].wall_seconds),
             records[row].step_time,
             records[row].feasible);
    }
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const Best& found : *parts[p]->bests_) {
      if (found.index >= std::ssize(index[p])) break;
      const std::int64_t at = index[p][found.index];
      if (best_ && std::pair(best_->score, best_->index) <= std::pair(found.score, at)) continue;
      SetBest(found);
      best_->index = at;
    }
  }
  return total <= allowed;
}

void MeteredEvaluator::EvaluateRows(const PlacementRows& placements,
                                    const OutcomeColumns& outcomes) {
  const std::size_t num_groups = placements.num_groups;
  InParts(
      placements.num_placements,
      outcomes,
      [&](std::size_t first, std::size_t count, const OutcomeColumns& part) {
        inner().EvaluateRows({placements.row(first), count, num_groups}, part);
      },
      [&](std::size_t i) {
        return Placement{{placements.row(i), placements.row(i) + num_groups}};
      });
}

void MeteredEvaluator::EvaluateNeighbors(const Neighbors& neighbors,
                                         const OutcomeColumns& outcomes) {
  InParts(
      neighbors.size(),
      outcomes,
      [&](std::size_t first, std::size_t count, const OutcomeColumns& part) {
        const auto begin = neighbors.begin.subspan(first, count + 1);
        inner().EvaluateNeighbors({neighbors.base, begin, neighbors.moves}, part);
      },
      [&](std::size_t i) {
        Placement placement;
        neighbors.Apply(i, placement.device);
        return placement;
      });
}

void WriteRawBest(std::ostream& out, const MeteredEvaluator::Best& best) {
  WriteRawList(out, best.placement.device);
  WriteRaw(out, best.outcome.step_time);
  WriteRaw(out, best.outcome.feasible);
  WriteRawList(out, best.outcome.devices);
  WriteRawList(out, best.outcome.channels);
  WriteRawList(out, best.outcome.start);
  WriteRawList(out, best.outcome.finish);
  WriteRaw(out, best.score);
  WriteRaw(out, best.index);
  WriteRawList(out, best.issue_order);
}

MeteredEvaluator::Best ReadRawBest(std::istream& in) {
  MeteredEvaluator::Best best;
  best.placement.device = ReadRawList<DeviceIndex>(in);
  best.outcome.step_time = ReadRaw<Nanos>(in);
  best.outcome.feasible = ReadRaw<bool>(in);
  best.outcome.devices = ReadRawList<DeviceOutcome>(in);
  best.outcome.channels = ReadRawList<ChannelOutcome>(in);
  best.outcome.start = ReadRawList<Nanos>(in);
  best.outcome.finish = ReadRawList<Nanos>(in);
  best.score = ReadRaw<Score>(in);
  best.index = ReadRaw<std::int64_t>(in);
  best.issue_order = ReadRawList<int>(in);
  return best;
}

}  // namespace emplace
