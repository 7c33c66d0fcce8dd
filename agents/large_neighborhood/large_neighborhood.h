#pragma once

// Adaptive large neighbourhood search.
//
// A step looks at the schedule of the current placement (schedule_view.h) and then makes `rounds`
// rounds. A round frees a window of groups (windows.h) and finds them places; how both are done is
// drawn by weights. A window has 2^U groups, U uniform up to the largest size.
//
// - together: `batch` windows of up to half of all groups; of each, all that may run there go to
//   one device: the idle one, that of a random neighbour or any other;
// - list: `batch` windows of up to `window` groups, each placed by list scheduling within the rest:
//   by their starts, each where it would finish first (by the estimates of schedule_view.h), or
//   with probability 1/4 on another device;
// - moves: `batch` proposals of common/moves.h, without a window;
// - greedy: one window of up to 4 groups, first put anywhere; then, as long as that helps, the
//   group and device of the window that help most, all of them evaluated;
// - exact: one window of so few groups that they have at most 4 * batch placements, all evaluated.
//
// Of those evaluated the best is what the round finds. Of a batch, the best two, four, ... and all
// of the candidates that are better than the current placement are also tried together.
//
// Acceptance (record-to-record travel): what a round finds becomes the current placement if it
// lacks no more memory than the best so far and is slower by at most threshold * (1 - p), p the
// share of the cycle that has passed. The first cycle has `cycle` evaluations, each further one
// twice as many, and begins at the best placement.
//
// Weights: a way to search is drawn in proportion to (0.05 + g / (largest g of all)) / n, so that
// evaluations go where they gain most. g, at first 0, and n, at first 1, become (1 - r) g + r ln(T
// / T') / e and (1 - r) n + r e behind a round of e batches that finds a step time T' below T, that
// of the current placement (1 instead of the logarithm where less memory is missing, 0 where
// nothing is better); r = 0.1.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// References: P. Shaw, Using Constraint Programming and Local Search Methods to Solve Vehicle
// Routing Problems, CP 1998; S. Ropke, D. Pisinger, An Adaptive Large Neighborhood Search
// Heuristic, Transportation Science 40 (2006); G. Dueck, New Optimization Heuristics, Journal of
// Computational Physics 104 (1993).

#include <cstdint>
#include <string>
#include <vector>

#include "agents/large_neighborhood/window_proposals.h"
#include "agents/shared/improvement/improvement_agent.h"
#include "agents/shared/moves.h"
#include "agents/starts/start_help.h"
#include "framework/config/fields.h"

namespace emplace {

struct LargeNeighborhoodConfig {
  std::vector<std::string> start = {"single", "contiguous", "heft", "etf", "random"};
  int rounds = 16;
  int batch = 32;
  int window = 64;
  double threshold = 0.005;
  std::int64_t cycle = 1024;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("rounds", rounds, Between(1, 1e6), "rounds per look at the schedule");
    v.Field("batch", batch, Between(1, 1e6), "candidates evaluated together");
    v.Field("window", window, Between(1, 1e9), "most groups that are placed by list scheduling");
    v.Field("threshold",
            threshold,
            Between(0, 1e3),
            "how much slower than the best at the beginning of a cycle");
    v.Field("cycle", cycle, Between(1, 1e12), "evaluations of the first cycle; doubles");
    v.Group(
        "moves", "what is proposed beside windows", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class LargeNeighborhoodAgent final : public ImprovementAgent {
 public:
  using Config = LargeNeighborhoodConfig;
  /// @throws SettingError for an unknown start
  LargeNeighborhoodAgent(const AgentContext& context, const Config& config);

 private:
  void Improve(Evaluator& evaluator) override;
  void VisitSearch(StateVisitor& v) override;

  void Round(Evaluator& evaluator);
  int DrawWay();
  // Ways to search: each ends with the best that it found in found_.
  void Together(WindowKind kind, Evaluator& evaluator);
  void List(WindowKind kind, Evaluator& evaluator);
  void Greedy(WindowKind kind, Evaluator& evaluator);
  void Exact(WindowKind kind, Evaluator& evaluator);
  void Moves(Evaluator& evaluator);

  /// Evaluates the neighbours of the current placement in batch_, then those better than it
  /// together; puts the best into found_.
  void EvaluateAndCombine(Evaluator& evaluator);
  /// Evaluates the neighbours of `base` in batch_, and puts the best of them into found_.
  void EvaluateBatch(const Placement& base, Evaluator& evaluator);

  Config config_;
  MoveProposer proposer_;
  WindowProposer windows_;
  std::vector<double> gains_, batches_;  // of the ways to search
  std::int64_t cycle_, used_ = 0;        // evaluations: of this cycle, and so far in it
  // Of one round.
  NeighborBatch batch_, combined_;
  ScoredPlacement found_;
  std::int64_t evaluations_ = 0;
};

}  // namespace emplace
