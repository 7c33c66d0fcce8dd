#include "agents/order_search/order_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

#include <boost/random/normal_distribution.hpp>

#include "agents/initial_placements/initial_placements.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/graph/op_order.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/upward_rank.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

std::vector<int> PositionsOf(const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  return position;
}

}  // namespace

OrderSearchAgent::OrderSearchAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_construction),
      config_(config),
      proposer_(*problem_, config.moves, "moves"),
      rng_(context.seed) {
  ValidateStarts(*problem_, "start", config.start);
}

void OrderSearchAgent::NoteBest() {
  if (started_ && current_.score >= best_.score) return;
  best_ = current_;
  restarts_ = 0;
}

void OrderSearchAgent::Begin(Evaluator& evaluator) {
  const std::vector<Placement> starts = MakeStarts(*problem_, config_.start, rng_, interrupt_);
  std::vector<std::vector<int>> orders{{}};
  has_orders_ = evaluator.SetIssueOrder({});
  if (has_orders_) {
    orders.push_back(
        IssueOrder(problem_->graph(),
                   IntegerUpwardRanks(problem_->graph(), problem_->cluster(), problem_->costs())));
  }
  bool first = true;
  for (const std::vector<int>& order : orders) {
    if (has_orders_) evaluator.SetIssueOrder(order);
    const std::vector<Score> scores = evaluator.Scores(starts);
    const std::size_t best = IndexOfBest(scores);
    if (!first && scores[best] >= current_.score) continue;
    current_ = {starts[best], order, scores[best]};
    first = false;
  }
  NoteBest();
  started_ = true;
}

void OrderSearchAgent::MoveGroups(Evaluator& evaluator) {
  ++batches_;
  candidates_.Clear();
  for (int i = 0; i < config_.batch; ++i) proposer_.Propose(rng_, current_.placement, candidates_);
  evaluator.EvaluateNeighbors(candidates_.Of(current_.placement),
                              outcomes_.ScoreColumns(candidates_.size()));
  const std::size_t chosen = outcomes_.IndexOfBest();
  const Score there = outcomes_.score(chosen);
  if (there > current_.score) return;
  if (there < current_.score) stale_ = 0;
  candidates_.Apply(chosen, current_.placement.device);
  current_.score = there;
  NoteBest();
}

std::vector<std::int64_t> OrderSearchAgent::Ranks(const Placement& placement) const {
  const Graph& graph = problem_->graph();
  const auto device = ExpandPlacement(placement, problem_->grouping());
  std::vector<std::int64_t> rank(graph.num_ops(), 0);
  for (const int v : std::views::reverse(graph.topological_order())) {
    Nanos behind = 0;
    const auto add_item = [&](std::int64_t bytes, std::span<const int> readers) {
      for (const int reader : readers) {
        const Nanos transfer = problem_->cluster().TransferTime(device[v], device[reader], bytes);
        behind = std::max(behind, transfer + rank[reader]);
      }
    };
    for (const int t : graph.op(v).outputs) add_item(graph.tensor(t).bytes, graph.readers(t));
    add_item(0, graph.control_readers(v));
    rank[v] = problem_->costs().at(v, device[v]) + behind;
  }
  return rank;
}

std::vector<int> OrderSearchAgent::ProposeOrder() {
  const Graph& graph = problem_->graph();
  const int kind = proposed_++ % config_.orders;
  if (kind == 0) return IssueOrder(graph, Ranks(current_.placement));
  if (kind % 2 == 1) {
    std::vector<std::int64_t> priority = Ranks(current_.placement);
    const double scale = 0.003 * std::pow(100.0, Uniform01(rng_));
    boost::random::normal_distribution<double> normal;
    for (std::int64_t& rank : priority) {
      rank = std::llround(static_cast<double>(rank) * (1 + scale * normal(rng_)));
    }
    return IssueOrder(graph, priority);
  }
  std::vector<int> order = current_.order.empty() ? IssueOrder(graph) : current_.order;
  const std::vector<int> position = PositionsOf(order);
  const int op = UniformInt(rng_, graph.num_ops());
  const double longest = std::log2(std::max(2.0, graph.num_ops() / 2.0));
  const int target =
      std::max(0, position[op] - static_cast<int>(std::exp2(longest * Uniform01(rng_))));
  // Moves all ops at or after the target from which a path leads to the op to the target, in order.
  std::vector<char> moved(graph.num_ops(), 0);
  moved[op] = 1;
  for (int i = position[op]; i >= target; --i) {
    if (!moved[order[i]]) continue;
    for (const int before : graph.predecessors(order[i])) moved[before] = 1;
  }
  std::stable_partition(order.begin() + target, order.begin() + position[op] + 1, [&](int v) {
    return moved[v] != 0;
  });
  return order;
}

void OrderSearchAgent::MoveOps(Evaluator& evaluator) {
  batches_ = 0;
  ++stale_;
  Pair best = current_;
  bool found = false;
  for (int i = 0; i < config_.orders; ++i) {
    std::vector<int> order = ProposeOrder();
    evaluator.SetIssueOrder(order);
    const Score score = evaluator.ScoreAt(current_.placement);
    if (score > best.score) continue;
    found = found || score < best.score;
    best.order = std::move(order);
    best.score = score;
  }
  current_ = std::move(best);
  if (found) stale_ = 0;
  NoteBest();
}

void OrderSearchAgent::Restart(Evaluator& evaluator) {
  const double share = std::min(1.0, config_.perturbation * std::exp2(restarts_));
  restarts_ = share < 1 && share > 0 ? restarts_ + 1 : 0;
  if (has_orders_) evaluator.SetIssueOrder(best_.order);
  candidates_.Clear();
  for (int i = 0; i < config_.batch; ++i) {
    proposer_.Perturb(rng_, share, best_.placement, candidates_);
  }
  evaluator.EvaluateNeighbors(candidates_.Of(best_.placement),
                              outcomes_.ScoreColumns(candidates_.size()));
  const std::size_t chosen = outcomes_.IndexOfBest();
  current_ = best_;
  candidates_.Apply(chosen, current_.placement.device);
  current_.score = outcomes_.score(chosen);
  NoteBest();
  stale_ = 0;
}

void OrderSearchAgent::Step(Evaluator& evaluator) {
  if (!started_) {
    Begin(evaluator);
    return;
  }
  const bool moves = proposer_.any();
  if (!moves && !has_orders_) return;
  if (moves && stale_ >= config_.patience) {
    Restart(evaluator);
  } else if (moves && batches_ < config_.batches) {
    if (has_orders_) evaluator.SetIssueOrder(current_.order);
    MoveGroups(evaluator);
  } else if (has_orders_) {
    MoveOps(evaluator);
  } else {
    batches_ = 0;
    ++stale_;
  }
}

void OrderSearchAgent::VisitState(StateVisitor& v) {
  v.Begin("order_search", *problem_);
  v.Generator(rng_);
  v.Flag(started_);
  if (!started_) return;
  v.Flag(has_orders_);
  for (int* const count : {&batches_, &stale_, &restarts_, &proposed_}) {
    v.Count("a number of rounds", *count);
  }
  const int num_ops = problem_->graph().num_ops();
  for (Pair* const pair : {&current_, &best_}) {
    v.Devices(pair->placement);
    v.Amount("missing bytes", pair->score.deficit);
    v.Amount("a step time", pair->score.step_time);
    bool has_order = !pair->order.empty();
    v.Flag(has_order);
    pair->order.resize(has_order ? num_ops : 0);
    for (int& op : pair->order) v.Int("an op", op, 0, num_ops - 1);
    if (!v.reading() || !has_order) continue;
    try {
      RequireOpOrder(problem_->graph(), pair->order, "issue order");
    } catch (const InputError& error) {
      v.Fail(error.what());
    }
  }
}

}  // namespace emplace
