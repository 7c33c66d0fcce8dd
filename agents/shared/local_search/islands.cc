#include "agents/shared/local_search/islands.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "agents/shared/local_search/counted_evaluator.h"
#include "framework/base/raw_stream.h"

namespace emplace {

Islands::Islands(std::function<std::unique_ptr<LocalSearchAgent>(std::uint64_t seed)> make,
                 int count,
                 std::int64_t exchange)
    : make_(std::move(make)), count_(count), exchange_(exchange) {
}

void Islands::Begin(const std::function<std::uint64_t()>& draw_seed) {
  if (!*this) return;
  islands_.clear();
  while (std::ssize(islands_) < count_) islands_.push_back(make_(draw_seed()));
  started_ = false;
}

const ScoredPlacement& Islands::Improve(Evaluator& evaluator, const ScoredPlacement& best) {
  if (!started_) {
    for (const auto& island : islands_) island->Adopt(best);
    started_ = true;
  }
  std::vector<Turn> turns(islands_.size());
  std::vector<ConcurrentSearch> searches;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    searches.push_back(MakeTurn(*islands_[i], exchange_, turns[i]));
  }
  evaluator.RunConcurrently(searches);
  std::vector<ScoredPlacement> found;
  for (const auto& island : islands_) found.push_back(island->best());
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (turns[i].stale) islands_[i]->Adopt(found[(i + found.size() - 1) % found.size()]);
  }
  const auto chosen = std::ranges::min_element(
      islands_, {}, [](const auto& island) { return island->best().score; });
  return (*chosen)->best();
}

void Islands::Adopt(const ScoredPlacement& found) {
  if (started_) islands_.front()->Adopt(found);
}

void Islands::VisitState(StateVisitor& v) {
  if (!*this) return;
  bool started = started_;
  v.Flag(started);
  if (v.reading()) Begin([] { return 0; });  // the generators are read below
  started_ = started;
  for (const auto& island : islands_) v.Nested("the state of an island", *island);
}

ConcurrentSearch MakeTurn(LocalSearchAgent& agent, std::int64_t enough, Turn& turn) {
  return {.run =
              [&agent, &turn, enough](Evaluator& own) {
                CountedEvaluator counted(own);
                const Score before = agent.best().score;
                do {
                  agent.Step(counted);
                } while (counted.count() < enough);
                turn = {counted.count(), agent.best().score >= before};
              },
          .save =
              [&agent, &turn](std::ostream& out) {
                std::ostringstream state;
                agent.Save(state);
                WriteRaw(out, turn.evaluations);
                WriteRaw(out, turn.stale);
                WriteRawText(out, state.str());
              },
          .load =
              [&agent, &turn](std::istream& in) {
                turn.evaluations = ReadRaw<std::int64_t>(in);
                turn.stale = ReadRaw<bool>(in);
                std::istringstream state(ReadRawText(in));
                agent.Load(state);
              }};
}

}  // namespace emplace
