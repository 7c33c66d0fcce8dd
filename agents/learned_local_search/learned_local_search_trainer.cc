#include "agents/learned_local_search/learned_local_search_trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "agents/multilevel/levels.h"
#include "agents/shared/devices.h"
#include "agents/shared/local_search/counted_evaluator.h"
#include "agents/shared/move_features.h"
#include "agents/shared/moves.h"
#include "framework/base/parallel.h"

namespace emplace {
namespace {

constexpr std::int64_t kLeastEvaluations = 64;  // least number for a search between two updates
constexpr double kUnitGain = 0.002;             // gain that weighs as much as a move without gain
constexpr double kMostWeight = 25;
constexpr double kLargestGroup = 4;  // of merged groups, relative to their mean
constexpr int kRanked = 32;          // moves per best-ranked one in the table

}  // namespace

UpdateFields MoveTrainingRow::Fields() const {
  return {{"samples", samples},
          {"gaining", gaining},
          {"gaining_top", gaining_top},
          {"loss", loss},
          {"evaluations", evaluations}};
}

LearnedLocalSearchTrainer::LearnedLocalSearchTrainer(const TrainerContext& context,
                                                     const LearnedLocalSearchConfig& config)
    : problems_(context.problems),
      config_(config),
      threads_(context.threads),
      rng_(context.seed),
      scorer_(std::make_shared<MoveScorer>(rng_)),
      core_(config.optimizer, PpoConfig{}, scorer_->parameters(), MoveTrainingRow().Fields()),
      searches_(problems_.size()) {
  config.Validate();
  for (int problem = 0; problem < std::ssize(problems_); ++problem) {
    searches_[problem].drawn = Rng(rng_());
    Begin(problem);
  }
}

void LearnedLocalSearchTrainer::Begin(int problem) {
  Search& search = searches_[problem];
  Rng rng = search.drawn;
  search.level = problems_[problem];
  const std::vector<double> costs = MeanCosts(*search.level);
  const double cost = std::accumulate(costs.begin(), costs.end(), 0.0);
  for (int merged = UniformInt(rng, config_.training.merged + 1); merged > 0; --merged) {
    const double limit = kLargestGroup * cost / (0.5 * search.level->num_groups());
    auto coarser = CoarserProblem(*search.level, nullptr, limit, rng);
    if (coarser == nullptr) break;
    search.level = std::move(coarser);
  }
  search.samples = Rng(rng());
  search.evaluations = 0;
  search.agent =
      std::make_unique<RankedSearch>(AgentContext{search.level, rng(), {}, {}}, config_, scorer_);
}

RankedSearch::Samples LearnedLocalSearchTrainer::Advance(int problem, Evaluator& evaluator) {
  Search& search = searches_[problem];
  const auto wanted = std::max(
      kLeastEvaluations,
      static_cast<std::int64_t>(config_.training.growth * static_cast<double>(search.evaluations)));
  CountedEvaluator counted(evaluator);
  LevelEvaluator levelled(counted, *search.level);
  while (counted.count() < wanted && !search.agent->Finished()) search.agent->Step(levelled);
  search.evaluations += counted.count();
  return search.agent->Sample(config_.training.samples, levelled, search.samples);
}

Var LearnedLocalSearchTrainer::Loss(Tape& tape, std::span<const int> rows) const {
  const auto count = std::ssize(rows);
  Matrix features(count, features_.cols()), gains(count, 1), weights(count, 1);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    features.row(i) = features_.row(rows[i]);
    gains(i, 0) = gains_(rows[i], 0);
    weights(i, 0) = weights_(rows[i], 0);
  }
  // log(1 + exp(s)) - y s is -log sigmoid(s) for y = 1 and -log sigmoid(-s) for y = 0.
  const Matrix sign = gains.unaryExpr([](float gain) { return gain > 0 ? 1.0F : -1.0F; });
  const Var score = Multiply(tape, scorer_->Score(tape, features), tape.Constant(sign));
  const Var likelihood = Log(tape, Clamp(tape, Sigmoid(tape, score), 1e-7F, 1.0F));
  return Scale(tape, MeanAll(tape, Multiply(tape, likelihood, tape.Constant(weights))), -1);
}

void LearnedLocalSearchTrainer::Step(std::span<Evaluator* const> evaluators) {
  for (int problem = 0; problem < std::ssize(problems_); ++problem) {
    if (searches_[problem].evaluations < config_.training.most_evaluations) continue;
    searches_[problem].drawn = Rng(rng_());
    Begin(problem);
  }
  for (const Search& search : searches_) evaluations_ -= search.evaluations;
  std::vector<RankedSearch::Samples> samples(problems_.size());
  ParallelFor(static_cast<int>(problems_.size()), threads_, [&](int problem) {
    samples[problem] = Advance(problem, *evaluators[problem]);
  });

  for (const Search& search : searches_) evaluations_ += search.evaluations;

  const auto rows = std::ssize(problems_) * config_.training.samples;
  features_.resize(rows, MoveFeatures::kCount);
  gains_.resize(rows, 1);
  weights_.setOnes(rows, 1);
  MoveTrainingRow row;
  row.samples = static_cast<double>(rows);
  std::ptrdiff_t next = 0;
  for (const RankedSearch::Samples& of : samples) {
    features_.middleRows(next, of.features.rows()) = of.features;
    for (const double gain : of.gains) {
      gains_(next, 0) = static_cast<float>(gain);
      if (gain > 0) {
        const double weight = std::pow(gain / kUnitGain, config_.training.gain_exponent);
        weights_(next, 0) = static_cast<float>(std::min(weight, kMostWeight));
        row.gaining += 1 / row.samples;
      }
      ++next;
    }
  }
  if (core_.table().num_rows() == 0) scorer_->Normalize(features_);

  std::vector<int> order(rows);
  std::iota(order.begin(), order.end(), 0);
  {
    Tape tape(/*differentiable=*/false);
    row.loss = tape.value(Loss(tape, order))(0, 0);
    const std::vector<float> score = scorer_->Score(features_);
    const auto count = std::max<std::ptrdiff_t>(1, rows / kRanked);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const auto begin = score.begin() + i * kRanked;
      const auto end = score.begin() + std::min<std::ptrdiff_t>(rows, (i + 1) * kRanked);
      const auto best = std::max_element(begin, end) - score.begin();
      row.gaining_top += (gains_(best, 0) > 0) / static_cast<double>(count);
    }
  }
  Shuffle(order, rng_);
  for (std::ptrdiff_t first = 0; first < rows; first += config_.training.batch) {
    const auto count = std::min<std::ptrdiff_t>(config_.training.batch, rows - first);
    Tape tape;
    const Var loss = Loss(tape, {order.data() + first, static_cast<std::size_t>(count)});
    core_.Descend(tape, loss, core_.table().num_rows());
  }
  row.evaluations = static_cast<double>(evaluations_);
  AddRow(core_.table(), row.Fields());
}

void LearnedLocalSearchTrainer::VisitState(StateVisitor& v) {
  v.Begin("learned_local_search", problems_);
  v.Generator(rng_);
  core_.VisitState(v);
  scorer_->VisitScale(v);
  v.Count("a number of evaluations", evaluations_);
  for (int problem = 0; problem < std::ssize(problems_); ++problem) {
    Search& search = searches_[problem];
    v.Generator(search.drawn);
    if (v.reading()) Begin(problem);
    v.Generator(search.samples);
    v.Count("a number of evaluations", search.evaluations);
    v.Nested("the state of a search", *search.agent);
  }
  v.Table(core_.table());
}

}  // namespace emplace
