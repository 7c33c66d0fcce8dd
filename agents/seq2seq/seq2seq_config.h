#pragma once

#include <string>

#include "agents/seq2seq/seq2seq_network.h"
#include "agents/shared/policy_gradient/policy_gradient_config.h"

namespace emplace {

/// Settings of the agent seq2seq and of its trainer.
struct Seq2SeqConfig {
  Seq2SeqNetworkConfig network;
  PolicyGradientConfig learning;
  std::string policy;  ///< file of Seq2SeqTrainer::SavePolicy to start from; "": random weights
  int updates = -1;    ///< updates before the final greedy placement; -1: no end but the budget's
  Seq2SeqConfig();
  void Visit(FieldVisitor& v);
};

}  // namespace emplace
