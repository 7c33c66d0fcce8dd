#pragma once

#include "agents/seq2seq/seq2seq_trainer.h"
#include "tests/support/learning_agents.h"

namespace emplace::testing {

/// Narrow layers; the same search whatever the budget is.
inline Seq2SeqConfig SmallSeq2Seq() {
  Seq2SeqConfig config;
  config.network.hidden = config.network.attention = 8;
  config.network.type_vector = config.network.device_vector = 4;
  config.learning.samples = 8;
  config.learning.entropy_weight = 0.005;
  config.learning.entropy_control.begin = 0;
  config.learning.start.fresh_share = 1;
  config.learning.start.settle_share = 0;
  config.parts.share = 0;
  return config;
}

}  // namespace emplace::testing
