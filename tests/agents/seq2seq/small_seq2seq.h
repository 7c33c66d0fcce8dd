#pragma once

#include "agents/seq2seq/seq2seq_trainer.h"
#include "tests/support/learning_agents.h"

namespace emplace::testing {

/// Narrow layers.
inline Seq2SeqConfig SmallSeq2Seq() {
  Seq2SeqConfig config;
  config.network.hidden = config.network.attention = 8;
  config.network.type_vector = config.network.device_vector = 4;
  return config;
}

}  // namespace emplace::testing
