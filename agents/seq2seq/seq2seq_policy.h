#pragma once

// What agent and trainer share: the file of a trained policy, and the way from a rollout to a loss.

#include <iosfwd>
#include <string>

#include "agents/seq2seq/seq2seq_network.h"
#include "agents/shared/policy_gradient/policy_loss.h"

namespace emplace {

/// A network without a graph: all that acting on another problem needs.
struct Seq2SeqPolicy {
  Seq2SeqVocabulary vocabulary;
  ParameterSet parameters;
};

/// Settings of the network, vocabulary, parameters.
void WriteSeq2SeqPolicy(std::ostream& out,
                        const Seq2SeqNetworkConfig& config,
                        Seq2SeqVocabulary& vocabulary,
                        ParameterSet& parameters);

/// @param path  of the file, perhaps compressed
/// @throws SettingError: for key "policy" if there is no such file, it is no policy or that of
///   another agent, or it was trained for another number of devices than the problem has (both
///   named); for the key of the setting of the network in which it differs from `config` (both
///   values named)
Seq2SeqPolicy ReadSeq2SeqPolicy(const std::string& path,
                                const Seq2SeqNetworkConfig& config,
                                const Problem& problem);

/// The first `samples` rows of a rollout as an update's, the one behind them, if there is one, as
/// that to imitate.
/// @param decisions  make PolicySample::decisions: those of the groups that have a choice
PolicySample MakePolicySample(Tape& tape,
                              const Seq2SeqInputs& inputs,
                              const Seq2SeqNetwork::Rollout& rollout,
                              int samples,
                              bool decisions);

}  // namespace emplace
