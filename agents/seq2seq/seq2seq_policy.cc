#include "agents/seq2seq/seq2seq_policy.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "agents/policy_gradient/learner_state.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kMostGroups = 1 << 20;

// Settings that fix what the parameters mean.
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

Seq2SeqVocabulary ReadVocabulary(StateReader& reader) {
  Seq2SeqVocabulary vocabulary;
  vocabulary.num_devices = reader.Int("a number of devices", 1, 64);
  vocabulary.num_groups = reader.Int("a number of groups", 1, kMostGroups);
  for (int i = reader.Int("a number of types of ops", 1, kMostGroups); i > 0; --i) {
    vocabulary.kinds.push_back(reader.Text("a type of ops"));
  }
  if (!std::ranges::is_sorted(vocabulary.kinds)) reader.Fail("expected sorted types of ops");
  return vocabulary;
}

}  // namespace

void WriteSeq2SeqPolicy(std::ostream& out,
                        const Seq2SeqNetworkConfig& config,
                        const Seq2SeqVocabulary& vocabulary,
                        const ParameterSet& parameters) {
  StateWriter writer(out, "seq2seq");
  writer.Text(WriteFields(config));
  writer.Int(vocabulary.num_devices);
  writer.Int(vocabulary.num_groups);
  writer.Int(static_cast<std::int64_t>(vocabulary.kinds.size()));
  for (const std::string& kind : vocabulary.kinds) writer.Text(kind);
  SaveParameters(writer, parameters);
}

Seq2SeqPolicy ReadSeq2SeqPolicy(const std::string& path,
                                const Seq2SeqNetworkConfig& config,
                                const Problem& problem) {
  Seq2SeqPolicy policy;
  try {
    std::istringstream in(ReadFile(path));
    StateReader reader(in, "seq2seq");
    const std::string settings = reader.Text("settings");
    RequireSame(config,
                ReadFields<Seq2SeqNetworkConfig>(ConfigNode::FromString(settings, "its settings")),
                path);
    policy.vocabulary = ReadVocabulary(reader);
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
    LoadParameters(reader, policy.parameters);
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
