#pragma once

#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"
#include "framework/learn/optimizer.h"

namespace emplace {

/// Settings of the training of the network (learned_trainer.h).
struct MoveTrainingConfig {
  int samples = 256;
  int merged = 2;
  double growth = 0.25;
  int most_evaluations = 4000;
  int batch = 1024;
  double gain_exponent = 0.5;
  void Visit(FieldVisitor& v);
};

struct LearnedLocalSearchConfig {
  std::vector<std::string> start = SearchStarts();
  std::string policy = "default";
  std::string ranking = "network";
  int pool = 128;
  int tries = 32;
  int batch = 4;
  double temperature = 0.5;
  double explore = 0.5;
  int patience = 400;
  double perturbation = 0.05;
  double windows = 0.25, lists = 0.25;
  int coarsest = 64;
  int flat_cycles = 1;
  std::int64_t effort = 512;
  MoveConfig moves;
  MoveTrainingConfig training;
  OptimizerConfig optimizer;
  LearnedLocalSearchConfig();
  void Visit(FieldVisitor& v);
  /// @throws SettingError for an unknown ranking or method, or inconsistent shares and weights
  void Validate() const;
};

}  // namespace emplace
