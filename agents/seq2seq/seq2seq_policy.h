#pragma once

// Shared by the agent and the trainer: the file of a trained policy, and the conversion of a
// rollout to the sample of an update.

#include <iosfwd>
#include <string>

#include "agents/seq2seq/seq2seq_network.h"
#include "agents/shared/policy_gradient/policy_loss.h"

namespace emplace {

/// The parameters of a network without a graph, as needed on another problem.
struct Seq2SeqPolicy {
  Seq2SeqVocabulary vocabulary;
  ParameterSet parameters;
};

/// Writes the settings of the network, the vocabulary and the parameters.
void WriteSeq2SeqPolicy(std::ostream& out,
                        const Seq2SeqNetworkConfig& config,
                        Seq2SeqVocabulary& vocabulary,
                        ParameterSet& parameters);

/// Reads a policy and checks that it fits the settings and the problem.
/// @param path  of the file, which may be compressed
/// @throws SettingError: for key "policy" if the file does not exist, is not a policy, is the
///   policy of another agent, or was trained for another number of devices than the problem has
///   (both named); for the key of the first setting of the network that differs from `config` (both
///   values named)
Seq2SeqPolicy ReadSeq2SeqPolicy(const std::string& path,
                                const Seq2SeqNetworkConfig& config,
                                const Problem& problem);

/// Returns the first `samples` rows of a rollout as the sample of an update. A further row, if
/// there is one, is the placement to imitate.
/// @param decisions  fills PolicySample::decisions with the decisions of the groups that have a
///   choice
PolicySample MakePolicySample(Tape& tape,
                              const Seq2SeqInputs& inputs,
                              const Seq2SeqNetwork::Rollout& rollout,
                              int samples,
                              bool decisions);

}  // namespace emplace
