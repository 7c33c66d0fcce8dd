#include "agents/seq2seq/seq2seq_policy.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kMostGroups = 1 << 20;

// Requires equal values of the settings on which the meaning of the parameters depends.
void RequireSame(const Seq2SeqNetworkConfig& config,
                 const Seq2SeqNetworkConfig& trained,
                 const std::string& path) {
  const std::vector<FieldHelp> ours = DescribeFields(config), theirs = DescribeFields(trained);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].default_value == theirs[i].default_value) continue;
    throw SettingError(ours[i].key,
                       fmt::format("expected {} as in the policy \"{}\", got {}",
                                   theirs[i].default_value,
                                   path,
                                   ours[i].default_value));
  }
}

// Visits the part of a policy's text before the parameters.
void VisitHead(StateVisitor& v, std::string& settings, Seq2SeqVocabulary& vocabulary) {
  v.Begin("seq2seq");
  v.Text("settings", settings);
  v.Int("a number of devices", vocabulary.num_devices, 1, 64);
  v.Int("a number of groups", vocabulary.num_groups, 1, kMostGroups);
  v.List("a number of types of ops", vocabulary.kinds, 1, kMostGroups, [&](std::string& kind) {
    v.Text("a type of ops", kind);
  });
  if (!std::ranges::is_sorted(vocabulary.kinds)) v.Fail("expected sorted types of ops");
}

}  // namespace

void WriteSeq2SeqPolicy(std::ostream& out,
                        const Seq2SeqNetworkConfig& config,
                        Seq2SeqVocabulary& vocabulary,
                        ParameterSet& parameters) {
  StateVisitor v(out);
  std::string settings = WriteFields(config);
  VisitHead(v, settings, vocabulary);
  VisitParameters(v, parameters);
}

Seq2SeqPolicy ReadSeq2SeqPolicy(const std::string& path,
                                const Seq2SeqNetworkConfig& config,
                                const Problem& problem) {
  Seq2SeqPolicy policy;
  try {
    std::istringstream in(ReadFile(path));
    StateVisitor v(in);
    std::string settings;
    VisitHead(v, settings, policy.vocabulary);
    RequireSame(config,
                ReadFields<Seq2SeqNetworkConfig>(ConfigNode::FromString(settings, "its settings")),
                path);
    if (policy.vocabulary.num_devices != problem.num_devices()) {
      throw SettingError("policy",
                         fmt::format("\"{}\" was trained for {} devices, cluster \"{}\" has {}",
                                     path,
                                     policy.vocabulary.num_devices,
                                     problem.cluster().name(),
                                     problem.num_devices()));
    }
    Rng unused;
    Seq2SeqNetwork(config, policy.vocabulary, policy.parameters, unused);
    VisitParameters(v, policy.parameters);
  } catch (const SettingError&) {
    throw;
  } catch (const InputError& error) {
    throw SettingError("policy", fmt::format("\"{}\": {}", path, error.what()));
  }
  return policy;
}

PolicySample MakePolicySample(Tape& tape,
                              const Seq2SeqInputs& inputs,
                              const Seq2SeqNetwork::Rollout& rollout,
                              int samples,
                              bool decisions) {
  const auto has_choice = [&](int t) { return inputs.allowed[t].sum() > 1; };
  const int rows = tape.rows(rollout.log_probability);
  const int steps = static_cast<int>(inputs.order.size());
  PolicySample sample;
  sample.log_probability = SliceRows(tape, rollout.log_probability, 0, samples);
  sample.entropy = MeanAll(tape, SliceRows(tape, rollout.entropy, 0, samples));
  if (rows > samples) {
    sample.best_log_probability = SliceRows(tape, rollout.log_probability, samples, 1);
  }
  std::vector<int> chosen, of_sample;
  sample.num_decisions = 0;
  for (int t = 0; t < steps; ++t) {
    if (!has_choice(t)) continue;
    ++sample.num_decisions;
    for (int i = 0; i < samples; ++i) {
      chosen.push_back(t * rows + i);
      of_sample.push_back(i);
    }
  }
  if (!decisions) return sample;
  sample.decisions.emplace();
  sample.decisions->log_probability = Gather(tape, rollout.step_log_probability, chosen);
  sample.decisions->log_distribution = Gather(tape, rollout.step_log_distribution, chosen);
  sample.decisions->sample = std::move(of_sample);
  return sample;
}

}  // namespace emplace
