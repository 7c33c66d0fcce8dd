#include "agents/graph_policy/graph_policy_agent.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr double kUnitGain = 0.01, kMostGain = 0.05;
constexpr float kStayWithoutNetwork = 3;
constexpr double kLeastSpread = 1e-3;  // least deviation of f over a batch
constexpr int kPerturbations = 4;      // a restart continues from the best of so many

struct GraphPolicyRow {
  double batch = 0;
  double loss = 0;
  double gaining = 0;
  double best_gain = 0;
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  double best_step_time_ns = 0;
  UpdateFields Fields() const {
    return {{"batch", batch},
            {"loss", loss},
            {"gaining", gaining},
            {"best_gain", best_gain},
            {"gradient_norm", gradient_norm},
            {"learning_rate", learning_rate},
            {"best_step_time_ns", best_step_time_ns}};
  }
};

const GraphPolicyConfig& Checked(const GraphPolicyConfig& config) {
  RequireChoice("network", config.network, {"policy", "random", "none"});
  if (config.learn && config.network == "none") {
    throw SettingError("learn", "expected false with \"network: none\", got true");
  }
  config.optimizer.Validate("optimizer");
  return config;
}

std::shared_ptr<PairNetwork> NetworkOf(const GraphPolicyConfig& config, std::uint64_t seed) {
  if (config.network == "none") return nullptr;
  if (config.network == "policy") return PairNetwork::Read(config.policy);
  Rng rng(seed);
  return std::make_shared<PairNetwork>(config.width, config.rounds, rng);
}

}  // namespace

GraphPolicyAgent::GraphPolicyAgent(const AgentContext& context, const Config& config)
    : GraphPolicyAgent(context, Checked(config), NetworkOf(config, context.seed), nullptr) {
}

GraphPolicyAgent::GraphPolicyAgent(const AgentContext& context,
                                   const Config& config,
                                   std::shared_ptr<const PairNetwork> network)
    : GraphPolicyAgent(context, Checked(config), nullptr, std::move(network)) {
}

GraphPolicyAgent::GraphPolicyAgent(const AgentContext& context,
                                   const Config& config,
                                   std::shared_ptr<PairNetwork> own,
                                   std::shared_ptr<const PairNetwork> network)
    : LocalSearchAgent("graph_policy", context, config.start),
      config_(config),
      proposer_(*context.problem, config.edits),
      perturber_(*context.problem, {.part = 0}, "moves"),
      features_(*context.problem),
      own_(std::move(own)),
      network_(own_ != nullptr ? own_ : std::move(network)),
      restarts_(config.perturbation),
      patience_(std::min<std::int64_t>(config.patience, 8 + 6 * proposer_.num_single_moves())) {
  if (config.learn && own_ != nullptr) {
    core_.emplace(config.optimizer, PpoConfig{}, own_->parameters(), GraphPolicyRow().Fields());
  }
}

bool GraphPolicyAgent::Finished() const {
  return LocalSearchAgent::Finished() || (config_.batches && batches_ >= *config_.batches);
}

void GraphPolicyAgent::Adopted() {
  current() = best();
  stale_ = 0;
  tried_.clear();
  restarts_.Found();
}

void GraphPolicyAgent::MoveTo(const ScoredPlacement& to) {
  current() = to;
  tried_.clear();
  if (Note(to)) restarts_.Found();
}

const PairFeatures& GraphPolicyAgent::Look(Evaluator& evaluator) {
  features_.Set(current().placement, evaluator.Evaluate(current().placement, {.op_times = true}));
  return features_;
}

Var GraphPolicyAgent::Logits(Tape& tape) const {
  if (network_ != nullptr) return network_->Logits(tape, features_);
  Matrix stay = Matrix::Zero(problem().num_groups(), problem().num_devices());
  for (int g = 0; g < problem().num_groups(); ++g) {
    stay(g, features_.placement().device[g]) = kStayWithoutNetwork;
  }
  return tape.Constant(std::move(stay));
}

double GraphPolicyAgent::Gain(const Score& score) const {
  const Score& here = current().score;
  if (score.deficit != here.deficit) return score.deficit < here.deficit ? 1 : -1;
  return static_cast<double>(here.step_time - score.step_time) /
         static_cast<double>(std::max<Nanos>(1, here.step_time));
}

Var GraphPolicyAgent::Loss(Tape& tape, Var logits, const std::vector<double>& gains) const {
  std::vector<double> cost;
  double mean = 0, squares = 0;
  for (const double gain : gains) {
    cost.push_back(gain > 0 ? -std::sqrt(std::min(gain, kMostGain) / kUnitGain)
                            : -std::max(gain, -kUnitGain) / (2 * kUnitGain));
    mean += cost.back() / static_cast<double>(gains.size());
  }
  for (const double c : cost) squares += (c - mean) * (c - mean);
  const double deviation =
      std::max(kLeastSpread, std::sqrt(squares / static_cast<double>(gains.size())));
  std::vector<int> size(gains.size());
  for (const EditBatch::Decision& decision : edits_.decisions) ++size[decision.edit];
  Matrix weight(std::ssize(edits_.decisions), 1);
  for (std::ptrdiff_t i = 0; i < weight.rows(); ++i) {
    const int edit = edits_.decisions[i].edit;
    weight(i, 0) = static_cast<float>((cost[edit] - mean) / deviation / std::sqrt(size[edit]) /
                                      static_cast<double>(gains.size()));
  }
  const Var likelihood = proposer_.LogProbability(tape, logits, features_.placement(), edits_);
  return SumAll(tape, Multiply(tape, likelihood, tape.Constant(std::move(weight))));
}

std::optional<ScoredPlacement> GraphPolicyAgent::Merged(Evaluator& evaluator,
                                                        const std::vector<double>& gains) {
  std::vector<int> order(gains.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int i) { return gains[i] <= 0; });
  std::ranges::stable_sort(order, std::greater(), [&](int i) { return gains[i]; });
  const Neighbors edits = edits_.moves.Of(features_.placement());
  std::vector<char> touched(problem().num_groups(), 0);
  std::vector<int> apart;  // edits with disjoint groups
  for (const int i : order) {
    const auto moves = edits.of(i);
    if (std::ranges::any_of(moves, [&](const Move& move) { return touched[move.group] != 0; })) {
      continue;
    }
    for (const Move& move : moves) touched[move.group] = 1;
    apart.push_back(i);
  }
  if (apart.size() < 2) return {};
  MoveLists& lists = candidates_.moves();
  lists.Clear();
  for (std::size_t count = 2;; count = std::min(2 * count, apart.size())) {
    for (std::size_t i = 0; i < count; ++i) {
      for (const Move& move : edits.of(apart[i])) lists.Add(move.group, move.device);
    }
    lists.End();
    if (count == apart.size()) break;
  }
  candidates_.Evaluate(features_.placement(), evaluator);
  ScoredPlacement best{features_.placement(), {}};
  candidates_.MoveTo(candidates_.IndexOfBest(), best);
  return best;
}

std::optional<GraphPolicyAgent::Batch> GraphPolicyAgent::Advance(Tape& tape, Evaluator& evaluator) {
  if (stale_ >= patience_) {
    Restart(evaluator);
    return {};
  }
  Look(evaluator);
  Batch batch{current().placement, Logits(tape), {}};
  const Matrix allowed = AllowedPairs(problem());
  Tape values(/*differentiable=*/false);
  const Matrix probability = values.value(
      Exp(values, LogSoftmax(values, values.ConstantView(tape.value(batch.logits)), &allowed)));
  const auto count = std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.samples);
  proposer_.Draw(
      rng(), batch.base, probability, static_cast<int>(count), network_ != nullptr, tried_, edits_);
  if (edits_.size() == 0) {  // no new edit is left to try
    stale_ = patience_;
    return batch;
  }
  candidates_.moves() = edits_.moves;
  candidates_.Evaluate(batch.base, evaluator);
  std::vector<double> gains;
  for (std::size_t i = 0; i < candidates_.size(); ++i) gains.push_back(Gain(candidates_.score(i)));
  for (const double gain : gains) batch.gaining += (gain > 0) / static_cast<double>(gains.size());
  if (!edits_.decisions.empty()) batch.loss = Loss(tape, batch.logits, gains);

  stale_ += static_cast<std::int64_t>(candidates_.size());
  ScoredPlacement best{batch.base, {}};
  candidates_.MoveTo(candidates_.IndexOfBest(), best);
  if (config_.merge) {
    const auto merged = Merged(evaluator, gains);
    if (merged && merged->score < best.score) best = *merged;
  }
  if (best.score > current().score) return batch;
  if (best.score < current().score) stale_ = 0;
  batch.best_gain = std::max(0.0, Gain(best.score));
  MoveTo(best);
  return batch;
}

void GraphPolicyAgent::Improve(Evaluator& evaluator) {
  if (Finished()) return;
  Tape tape(core_.has_value());
  const std::optional<Batch> batch = Advance(tape, evaluator);
  if (!batch) return;
  if (core_ && batch->loss) {
    GraphPolicyRow row;
    row.batch = static_cast<double>(batches_);
    row.loss = tape.value(*batch->loss)(0, 0);
    row.gaining = batch->gaining;
    row.best_gain = batch->best_gain;
    row.best_step_time_ns = static_cast<double>(best().score.step_time);
    const Optimizer::StepInfo info = core_->Descend(tape, *batch->loss, batches_);
    row.gradient_norm = info.gradient_norm;
    row.learning_rate = info.learning_rate;
    AddRow(core_->table(), row.Fields());
  }
  ++batches_;
}

void GraphPolicyAgent::Restart(Evaluator& evaluator) {
  current() = best();
  const auto count = std::clamp<std::int64_t>(evaluator.remaining(), 1, kPerturbations);
  restarts_.Propose(perturber_, rng(), best().placement, count, candidates_.moves());
  candidates_.Evaluate(current().placement, evaluator);
  ScoredPlacement to = current();
  candidates_.MoveTo(candidates_.IndexOfBest(), to);
  MoveTo(to);
  stale_ = 0;
}

void GraphPolicyAgent::VisitSearch(StateVisitor& v) {
  v.Count("a number of evaluations", stale_);
  v.Count("a number of batches", batches_);
  restarts_.VisitState(v);
  v.Set("a number of edits", tried_);
  if (core_) {
    core_->VisitState(v);
    v.Table(core_->table());
  } else if (HasDrawnWeights()) {
    VisitParameters(v, own_->parameters());
  }
}

}  // namespace emplace
