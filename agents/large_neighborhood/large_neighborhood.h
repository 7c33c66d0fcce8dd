#pragma once

// Adaptive large neighbourhood search.
//
// A step computes the schedule of the current placement (schedule_view.h) and then makes `rounds`
// rounds. A round frees a window of groups (windows.h) and places the groups again. The kind of
// window and the way to place it are drawn by weights. A window has 2^U groups, with U uniform up
// to the largest size.
//
// - together: `batch` windows of up to half of all groups. All groups of a window that may run
//   there go to one device: the idle one, that of a random neighbour, or any other.
// - list: `batch` windows of up to `window` groups, each placed by list scheduling among the other
//   groups. In the order of their starts, the groups go to the device where they would finish first
//   (by the estimates of schedule_view.h), or with probability 1/4 to another device.
// - moves: `batch` proposals of agents/shared/moves.h, without a window.
// - greedy: one window of up to 4 groups. All of them get random devices. Then the best change of
//   one group's device, found by evaluation of all such changes, is made for as long as it
//   improves.
// - exact: one window with so few groups that they have at most 4 * batch placements, which are all
//   evaluated.
//
// The result of a round is the best evaluated placement. From a batch, the candidates that are
// better than the current placement are also combined: the best two, the best four, ... and all of
// them are evaluated.
//
// Acceptance (record-to-record travel): the result of a round becomes the current placement if it
// lacks no more memory than the best so far and is slower by at most threshold * (1 - p), with p
// the elapsed share of the cycle. The first cycle has `cycle` evaluations; each further cycle has
// twice as many as the previous one and begins at the best placement.
//
// Weights: a way to search is drawn in proportion to (0.05 + g / (largest g of all)) / n, so that
// the ways that gain most get most evaluations. g is 0 and n is 1 at first. After a round of e
// batches, from step time T of the current placement to T',
//
//   g <- (1 - r) g + r ln(T / T') / e,     n <- (1 - r) n + r e,     r = 0.1
//
// The logarithm is replaced by 1 if less memory is missing, and by 0 if nothing is better.
//
// The agent ends by itself only if no group has a choice; otherwise the budget ends it.
//
// References: P. Shaw, Using Constraint Programming and Local Search Methods to Solve Vehicle
// Routing Problems, CP 1998; S. Ropke, D. Pisinger, An Adaptive Large Neighborhood Search
// Heuristic, Transportation Science 40 (2006); G. Dueck, New Optimization Heuristics, Journal of
// Computational Physics 104 (1993).

#include <cstdint>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/large_neighborhood/window_proposals.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"

namespace emplace {

struct LargeNeighborhoodConfig {
  std::vector<std::string> start = SearchStarts();
  int rounds = 16;
  int batch = 32;
  int window = 64;
  double threshold = 0.005;
  std::int64_t cycle = 1024;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("rounds", rounds, Between(1, 1e6), "rounds between two evaluations of the schedule");
    v.Field("batch", batch, Between(1, 1e6), "candidates evaluated together");
    v.Field("window",
            window,
            Between(1, 1e9),
            "largest number of groups in a window placed by list scheduling");
    v.Field("threshold",
            threshold,
            Between(0, 1e3),
            "accepted slowdown against the best placement at the beginning of a cycle");
    v.Field("cycle",
            cycle,
            Between(1, 1e12),
            "evaluations of the first cycle; doubles with each cycle");
    v.Group(
        "moves", "proposed moves other than windows", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class LargeNeighborhoodAgent final : public LocalSearchAgent {
 public:
  using Config = LargeNeighborhoodConfig;
  /// @throws SettingError for an unknown start
  LargeNeighborhoodAgent(const AgentContext& context, const Config& config);

 private:
  void Improve(Evaluator& evaluator) override;
  void VisitSearch(StateVisitor& v) override;

  void Round(Evaluator& evaluator);
  int DrawWay();
  // Ways to search: each puts its best placement into found_.
  void Together(WindowKind kind, Evaluator& evaluator);
  void List(WindowKind kind, Evaluator& evaluator);
  void Greedy(WindowKind kind, Evaluator& evaluator);
  void Exact(WindowKind kind, Evaluator& evaluator);
  void Moves(Evaluator& evaluator);

  /// Evaluates the neighbours of the current placement in batch_, then combinations of those that
  /// are better than it. Puts the best placement into found_.
  void EvaluateAndCombine(Evaluator& evaluator);
  /// Evaluates the neighbours of `base` in batch_, and puts the best of them into found_.
  void EvaluateBatch(const Placement& base, Evaluator& evaluator);

  Config config_;
  MoveProposer proposer_;
  WindowProposer windows_;
  std::vector<double> gains_, batches_;  // of the ways to search
  std::int64_t cycle_, used_ = 0;        // evaluations of this cycle, and those already made in it
  // Of one round.
  NeighborBatch batch_, combined_;
  ScoredPlacement found_;
  std::int64_t evaluations_ = 0;
};

}  // namespace emplace
