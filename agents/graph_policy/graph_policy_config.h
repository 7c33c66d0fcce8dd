#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "framework/config/fields.h"
#include "framework/learn/optimizer.h"

namespace emplace {

/// Relative frequencies of the kinds of edits (edits.h).
struct EditConfig {
  double single = 2;
  double neighbors = 3;
  double block = 5;
  double whole = 1;
  double attraction = 8;
  void Visit(FieldVisitor& v);
};

/// Settings of the training (graph_policy_trainer.h).
struct EditTrainingConfig {
  int teacher_evaluations = 4000;
  int search_evaluations = 6000;
  int problems = 8;
  double imitation = 1;
  double imitation_share = 0.3;
  double imitation_later = 0.1;
  double reinforcement = 1;
  double entropy = 0;
  void Visit(FieldVisitor& v);
};

struct GraphPolicyConfig {
  std::vector<std::string> start = SearchStarts();
  std::string policy = "default";
  std::string network = "policy";
  int samples = 64;
  std::optional<int> batches;
  bool learn = false;
  bool merge = true;
  int width = 32;
  int rounds = 3;
  EditConfig edits;
  int patience = 640;
  double perturbation = 0.05;
  EditTrainingConfig training;
  OptimizerConfig optimizer;
  GraphPolicyConfig();
  void Visit(FieldVisitor& v);
};

}  // namespace emplace
