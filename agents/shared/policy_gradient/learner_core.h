#pragma once

// What every learner does with a loss, whatever policy and method it came from: it takes steps of
// the optimizer, ends the search when a number is not finite, begins anew, keeps one row of numbers
// per update, and saves itself. The learners: policy_gradient.h (agents seq2seq and hierarchical),
// ../seq2seq/seq2seq_trainer.h, ../post/post_agent.h, ../placeto/placeto_learner.h.
//
// A learner of several problems gives each problem a copy of the parameters, so that problems can
// be differentiated at the same time:
//
//   core.AddCopy(problem.parameters);                            // once for every problem
//   core.DescendTogether(threads, update, divisor, [&](int i) {  // a step for all of them
//     ... Backward() through the loss of problem i, made with its copy ...
//   });
//
// Messages name the update in which something happened, counted from 0; learners say which it is.

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
/// apply. A learner has a struct with the numbers of one update, whose Fields() names each of them
/// once: the names of an empty struct are the columns of the table, a filled one is a row.
using UpdateFields = std::vector<std::pair<std::string, double>>;

/// Returns a table with these columns and no rows. The values are not read.
UpdateTable MakeUpdateTable(const UpdateFields& fields);

/// Appends a row. CHECKs that the names are the table's columns, in the same order.
void AddRow(UpdateTable& table, const UpdateFields& fields);

/// Ends a search in which a value, the loss or a gradient is not a finite number.
/// @param update  updates before this one
/// @param tape  the recording so far; names the operation
/// @param graph  of several, the one it happened on; "": there is one only
/// @throws RunError "update 17: not finite: log_softmax [8, 3]: value", "update 17: graph \"nmt\":
///   not finite: ..."; "the loss" where no operation is to blame
[[noreturn]] void ThrowNotFinite(std::int64_t update,
                                 const Tape& tape,
                                 const std::string& graph = "");

class LearnerCore {
 public:
  /// @param parameters  outlives this; complete
  /// @param columns  of the table
  /// @throws SettingError for a setting, under the keys "optimizer" and "ppo"
  LearnerCore(const OptimizerConfig& optimizer,
              const PpoConfig& ppo,
              ParameterSet& parameters,
              const UpdateFields& columns);

  /// One step down the gradient of a loss. Clears the tape.
  /// @param loss  [1, 1]
  /// @param controllers  share the parameters; nullptr: nobody does
  /// @throws RunError of ThrowNotFinite() if the loss or the gradient is not finite
  Optimizer::StepInfo Descend(Tape& tape,
                              Var loss,
                              std::int64_t update,
                              Controllers* controllers = nullptr);

  /// Another problem's copy of the parameters: gets their values now and after every change.
  /// @param copy  outlives this; names and shapes as those given to the constructor
  void AddCopy(ParameterSet& copy);
  /// One step down the sum of the copies' gradients, divided by `divisor`. They are added in the
  /// order of the copies: the number of threads changes no result.
  /// @param differentiate  adds to the gradients of copy i, which are zero before; called for all
  ///   copies, on `threads` threads
  /// @throws RunError "update 17: not finite: the sum of the gradients"; what `differentiate`
  /// throws
  Optimizer::StepInfo DescendTogether(int threads,
                                      std::int64_t update,
                                      float divisor,
                                      const std::function<void(int copy)>& differentiate);

  /// Of the optimizer: multiplies the rate of all further steps.
  void set_rate_factor(double factor) { optimizer_.set_rate_factor(factor); }
  /// Forgets what was learnt besides the parameters, whose values the learner has drawn anew: the
  /// optimizer's moments and its schedule, and the weight of PPO's penalty.
  void Restart();
  /// Since the last restart, each of `ppo.epochs` steps.
  std::int64_t updates() const { return optimizer_.updates() / ppo_.epochs(); }

  Ppo& ppo() { return ppo_; }
  const Ppo& ppo() const { return ppo_; }
  UpdateTable& table() { return table_; }
  const UpdateTable& table() const { return table_; }

  /// Parameters and optimizer as in learner_state.h. PPO's weight and the table are saved by the
  /// learner, each at its own place in the text.
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
