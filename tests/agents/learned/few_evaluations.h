#pragma once

#include "agents/learned/learned_config.h"

namespace emplace::testing {

/// Settings for small problems: the search begins at one device, and steps and levels are short.
inline LearnedConfig FewEvaluations(const char* ranking = "network") {
  LearnedConfig config;
  config.start = {"single"};
  config.ranking = ranking;
  config.pool = 16;
  config.tries = 6;
  config.patience = 30;
  config.coarsest = 4;
  config.effort = 16;
  return config;
}

}  // namespace emplace::testing
