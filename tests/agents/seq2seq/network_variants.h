#pragma once

// Small networks with each of the options, for tests of their formulas.

#include <memory>

#include <doctest/doctest.h>

#include "agents/seq2seq/seq2seq_network.h"

namespace emplace::testing {

inline Seq2SeqNetworkConfig SmallConfig(bool aligned, bool bidirectional) {
  Seq2SeqNetworkConfig config;
  config.hidden = 4;
  config.attention = 3;
  config.type_vector = 2;
  config.device_vector = 2;
  config.aligned = aligned;
  config.bidirectional = bidirectional;
  return config;
}

/// A network with random weights on one problem.
struct Policy {
  Policy(std::shared_ptr<const Problem> of, const Seq2SeqNetworkConfig& config)
      : Policy(of, MakeSeq2SeqVocabulary({&of, 1}), config) {}
  Policy(std::shared_ptr<const Problem> of,
         Seq2SeqVocabulary known,
         const Seq2SeqNetworkConfig& config)
      : problem(std::move(of)),
        vocabulary(std::move(known)),
        rng(3),
        network(config, vocabulary, parameters, rng),
        inputs(*problem, vocabulary, config.features) {
    // Larger than the initial ones, so that no part is hidden by small logits.
    for (Parameter& parameter : parameters.all()) {
      for (int i = 0; i < parameter.value.size(); ++i) {
        parameter.value.data()[i] = static_cast<float>(1.6 * Uniform01(rng) - 0.8);
      }
    }
  }
  double LogProbability(const Placement& placement) {
    Tape tape;
    const auto rollout = network.Score(tape, inputs, {&placement, 1});
    CHECK(rollout.placements == std::vector<Placement>{placement});
    return tape.value(rollout.log_probability)(0, 0);
  }

  std::shared_ptr<const Problem> problem;
  Seq2SeqVocabulary vocabulary;
  ParameterSet parameters;
  Rng rng;
  Seq2SeqNetwork network;
  Seq2SeqInputs inputs;
};

/// Calls test(config) for networks with and without each of their options.
template <class F>
void ForAllVariants(const F& test) {
  for (const bool aligned : {false, true}) {
    for (const bool bidirectional : {false, true}) {
      CAPTURE(aligned);
      CAPTURE(bidirectional);
      Seq2SeqNetworkConfig config = SmallConfig(aligned, bidirectional);
      config.logit_bound = aligned ? 1.5 : 0;
      test(config);
    }
  }
}

}  // namespace emplace::testing
