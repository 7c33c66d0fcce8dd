#pragma once

// Parts that all learners share, independent of policy and method: optimizer steps on a loss,
// errors for numbers that are not finite, restarts, a table with one row of numbers per update, and
// saving. The learners: policy_gradient.h (agents seq2seq and hierarchical),
// ../seq2seq/seq2seq_trainer.h, ../post/post_agent.h, ../placeto/placeto_learner.h.
//
// A learner of several problems gives each problem a copy of the parameters, so that the gradients
// of the problems can be computed concurrently:
//
//   core.AddCopy(problem.parameters);                            // once for every problem
//   core.DescendTogether(threads, update, divisor, [&](int i) {  // a step for all of them
//     ... Backward() through the loss of problem i, made with its copy ...
//   });
//
// Messages name the update in which an error occurred, counted from 0.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agents/shared/policy_gradient/controllers.h"
#include "agents/shared/policy_gradient/ppo.h"
#include "framework/learn/optimizer.h"
#include "framework/learn/tape.h"
#include "framework/search/state.h"

namespace emplace {

/// Numbers of one update with their names, in the order of the table's columns; NaN: does not
/// apply. A learner has a struct with the numbers of one update, whose Fields() returns their names
/// and values. The names from a default-constructed struct are the columns of the table; a filled
/// struct is a row.
using UpdateFields = std::vector<std::pair<std::string, double>>;

/// Returns a table with these columns and no rows. The values are not read.
UpdateTable MakeUpdateTable(const UpdateFields& fields);

/// Appends a row. CHECKs that the names are the table's columns, in the same order.
void AddRow(UpdateTable& table, const UpdateFields& fields);

/// Throws the error for a value, loss or gradient that is not finite.
/// @param update  number of updates before this one
/// @param tape  the recording so far, from which the operation is found
/// @param graph  name of the graph on which the error occurred; "" if there is only one graph
/// @throws RunError "update 17: not finite: log_softmax [8, 3]: value", "update 17: graph \"nmt\":
///   not finite: ..."; "the loss" stands for the operation if none is found
[[noreturn]] void ThrowNotFinite(std::int64_t update,
                                 const Tape& tape,
                                 const std::string& graph = "");

class LearnerCore {
 public:
  /// @param parameters  must outlive this object; complete
  /// @param columns  columns of the table
  /// @throws SettingError for a setting, under the keys "optimizer" and "ppo"
  LearnerCore(const OptimizerConfig& optimizer,
              const PpoConfig& ppo,
              ParameterSet& parameters,
              const UpdateFields& columns);

  /// Makes one optimizer step on a loss. Clears the tape.
  /// @param loss  [1, 1]
  /// @param controllers  controllers that share the parameters; nullptr if there are none
  /// @throws RunError of ThrowNotFinite() if the loss or the gradient is not finite
  Optimizer::StepInfo Descend(Tape& tape,
                              Var loss,
                              std::int64_t update,
                              Controllers* controllers = nullptr);

  /// Adds a problem's copy of the parameters. It receives their values now and after every change.
  /// @param copy  must outlive this object; same names and shapes as the constructor's parameters
  void AddCopy(ParameterSet& copy);
  /// Makes one optimizer step on the sum of the copies' gradients divided by `divisor`. The
  /// gradients are added in the order of the copies, so the number of threads does not affect the
  /// result.
  /// @param differentiate  adds to the gradients of copy i, which are zero before; called for all
  ///   copies, on `threads` threads
  /// @throws RunError "update 17: not finite: the sum of the gradients"; exceptions of
  ///   `differentiate`
  Optimizer::StepInfo DescendTogether(int threads,
                                      std::int64_t update,
                                      float divisor,
                                      const std::function<void(int copy)>& differentiate);

  /// Sets the factor of the optimizer's learning rate for all further steps.
  void set_rate_factor(double factor) { optimizer_.set_rate_factor(factor); }
  /// Resets the optimizer's moments and schedule and the weight of PPO's penalty. The learner sets
  /// new parameter values itself.
  void Restart();
  /// Returns the number of updates since the last restart; each has `ppo.epochs` steps.
  std::int64_t updates() const { return optimizer_.updates() / ppo_.epochs(); }

  Ppo& ppo() { return ppo_; }
  const Ppo& ppo() const { return ppo_; }
  UpdateTable& table() { return table_; }
  const UpdateTable& table() const { return table_; }

  /// Visits the parameters and the optimizer as in learner_state.h. The learner saves PPO's weight
  /// and the table itself, each at its own position.
  void VisitState(StateVisitor& v);

 private:
  void UpdateCopies();

  ParameterSet& parameters_;
  Optimizer optimizer_;
  Ppo ppo_;
  std::vector<ParameterSet*> copies_;
  UpdateTable table_;
};

}  // namespace emplace
