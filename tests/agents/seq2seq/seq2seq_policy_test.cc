#include "agents/seq2seq/seq2seq_policy.h"

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "agents/seq2seq/seq2seq_agent.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"
#include "tests/agents/seq2seq/small_seq2seq.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// A policy trained for a few updates on Sorting("abba"), in a file.
struct Trained {
  explicit Trained(const Seq2SeqConfig& settings = SmallSeq2Seq(), int updates = 5)
      : problem(Sorting("abba")), config(settings) {
    Seq2SeqTrainer trainer({{problem}, 1}, config);
    Simulators simulators({problem});
    for (int update = 0; update < updates; ++update) trainer.Step(simulators.all);
    WriteFileAtomically(path(), PolicyOf(trainer));
    config.policy = path();
  }
  std::string path() const { return (folder / "some.policy").string(); }

  TempDir folder;
  std::shared_ptr<const Problem> problem;
  Seq2SeqConfig config;  // of agents that start from it
};

TEST_CASE("a file has vocabulary and parameters exactly, compressed or not") {
  const Trained trained;
  Seq2SeqPolicy policy =
      ReadSeq2SeqPolicy(trained.path(), trained.config.network, *trained.problem);
  CHECK(policy.vocabulary == MakeSeq2SeqVocabulary({&trained.problem, 1}));
  std::ostringstream again;
  WriteSeq2SeqPolicy(again, trained.config.network, policy.vocabulary, policy.parameters);
  CHECK(again.str() == ReadFile(trained.path()));
  WriteFileAtomically(trained.folder / "some.policy.gz", again.str());
  const std::string compressed = (trained.folder / "some.policy.gz").string();
  const auto same = ReadSeq2SeqPolicy(compressed, trained.config.network, *trained.problem);
  for (std::size_t i = 0; i < policy.parameters.all().size(); ++i) {
    CHECK(same.parameters.all()[i].value == policy.parameters.all()[i].value);
  }
}

TEST_CASE("types of ops may have any name") {
  Seq2SeqVocabulary vocabulary{{"", " two words ", "\xc3\xbc\n"}, 2, 2};
  ParameterSet parameters;
  Rng rng(1);
  const Seq2SeqNetworkConfig config = SmallSeq2Seq().network;
  Seq2SeqNetwork(config, vocabulary, parameters, rng);
  std::ostringstream out;
  WriteSeq2SeqPolicy(out, config, vocabulary, parameters);
  const TempDir folder;
  WriteFileAtomically(folder / "policy", out.str());
  CHECK(ReadSeq2SeqPolicy((folder / "policy").string(), config, *Sorting("ab")).vocabulary ==
        vocabulary);
}

TEST_CASE("an agent begins with the file's policy, and goes back to it at a restart") {
  Trained trained;
  trained.config.learning.patience = 1;
  Seq2SeqAgent agent({Sorting("bbaa"), 3}, trained.config);
  Rng rng(3);
  const auto problem = Sorting("bbaa");
  // log p of an agent's first samples is that of the file's network: their mean in the table.
  Seq2SeqPolicy policy =
      ReadSeq2SeqPolicy(trained.path(), trained.config.network, *trained.problem);
  ParameterSet parameters;
  const Seq2SeqNetwork network(trained.config.network, policy.vocabulary, parameters, rng);
  CopyValues(policy.parameters, parameters);
  const Seq2SeqInputs inputs(*problem, policy.vocabulary, trained.config.network.features);
  const auto simulator = MakeSimulator(problem, {});
  const auto entropy_of = [&](const std::vector<Placement>& placements) {
    Tape tape;
    const auto rollout = network.Score(tape, inputs, placements);
    return tape.value(MeanAll(tape, rollout.entropy))(0, 0) / 4;
  };
  int restarts = 0;
  for (int update = 0; update < 30; ++update) {
    RecordingEvaluator recording(*simulator);
    agent.Step(recording);
    const double before = Column(*agent.updates(), "restarts").back();
    if (update > 0 && before == restarts) continue;
    restarts = static_cast<int>(before);
    CHECK(Column(*agent.updates(), "entropy").back() ==
          doctest::Approx(entropy_of(recording.placements())).epsilon(1e-4));
  }
  CHECK(restarts > 2);
}

TEST_CASE("with updates it ends after one greedy placement more") {
  Trained trained;
  for (const bool from_file : {false, true}) {
    for (const int updates : {0, 1, 3}) {
      Seq2SeqConfig config = trained.config;
      if (!from_file) config.policy.clear();
      config.updates = updates;
      const auto problem = Sorting("aabb");
      Seq2SeqAgent agent({problem, 1}, config);
      const SearchTrace trace = RunAgent(agent, problem, 1000);
      CHECK(trace.finished);
      CHECK(static_cast<int>(trace.placements.size()) == updates * 8 + 1);
      CHECK(agent.updates()->num_rows() == updates);
    }
  }
  trained.config.updates.reset();  // the budget ends it
  const auto problem = Sorting("aabb");
  Seq2SeqAgent agent({problem, 1}, trained.config);
  CHECK_FALSE(RunAgent(agent, problem, 50).finished);
}

TEST_CASE("files that do not fit are refused with what was expected and what was found") {
  Trained trained;
  const auto refusal = [&](const auto& change) {
    Seq2SeqConfig config = trained.config;
    change(config);
    return MessageOf<SettingError>([&] { Seq2SeqAgent({Sorting("ab"), 1}, config); });
  };
  const std::string missing = (trained.folder / "missing").string();
  CHECK(refusal([&](auto& c) { c.policy = missing; }).find("policy: \"" + missing + "\": ") == 0);
  const std::string in_policy = " as in the policy \"" + trained.path() + "\", got ";
  CHECK(refusal([](auto& c) { c.network.hidden = 16; }) == "hidden: expected 8" + in_policy + "16");
  CHECK(refusal([](auto& c) { c.network.features.position = false; }) ==
        "features.position: expected true" + in_policy + "false");
  CHECK(refusal([](auto& c) { c.network.logit_bound = 0; }) ==
        "logit_bound: expected 5" + in_policy + "0");

  Rng rng(1);
  const auto larger = MixedProblem(rng, 9, 2, kUnlimitedMemory);
  CHECK(MessageOf<SettingError>([&] {
          Seq2SeqAgent({larger, 1}, trained.config);
        }) == "policy: \"" + trained.path() + "\" was trained for 2 devices, cluster \"" +
                  larger->cluster().name() + "\" has 3");

  const std::string text = ReadFile(trained.path());
  const auto refusal_of = [&](const std::string& content) {
    WriteFileAtomically(trained.folder / "other", content);
    const std::string path = (trained.folder / "other").string();
    const std::string message = refusal([&](auto& c) { c.policy = path; });
    const std::string prefix = "policy: \"" + path + "\": policy: ";
    CHECK(message.find(prefix) == 0);
    return message.substr(std::min(message.size(), prefix.size()));
  };
  CHECK(refusal_of("") == "expected the header, got the end of the text");
  CHECK(refusal_of("emplace-policy 1 placeto\n") ==
        "expected that of agent seq2seq, got that of agent placeto");
  CHECK(refusal_of("emplace-policy 2 seq2seq\n") ==
        "version: expected at most 1, got 2: made by a newer version of emplace");
  CHECK(refusal_of("emplace-agent-state 1 seq2seq 0\n").find("expected \"emplace-policy 1") == 0);
  CHECK(refusal_of(text.substr(0, text.size() / 2)).find("expected") == 0);
  for (std::size_t words = 4, end = 0; words < 9; ++words) {  // cut behind a word of the beginning
    end = 0;
    for (std::size_t i = 0; i < words; ++i) end = text.find_first_of(" \n", end + 1);
    CHECK(refusal_of(text.substr(0, end)).find("expected") == 0);
  }
}

TEST_CASE("in a run config a file that does not fit is refused at its place") {
  const ConfigNode settings =
      ConfigNode::FromString("{updates: 0, policy: no_such_file}", "run.yaml");
  CHECK(MessageOf<InputError>([&] {
          AllAgents().Find("seq2seq", "test").make({Sorting("ab"), 1}, settings);
        }).find("run.yaml:1:22: policy: \"no_such_file\"") == 0);
}

TEST_CASE("a sample's decisions are those of the groups with a choice, without the imitated row") {
  ProblemBuilder builder = Gpus(2);
  builder.Op("op0", {1, 2});
  builder.Op("op1", {kMaxNanos, 2});
  builder.Op("op2", {1, 2});
  const auto problem = builder.Build();
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&problem, 1});
  const Seq2SeqNetworkConfig config = SmallSeq2Seq().network;
  ParameterSet parameters;
  Rng rng(1);
  const Seq2SeqNetwork network(config, vocabulary, parameters, rng);
  const Seq2SeqInputs inputs(*problem, vocabulary, config.features);
  const std::vector<Placement> placements = {{{0, 1, 0}}, {{1, 1, 0}}, {{1, 1, 1}}};
  Tape tape;
  const auto rollout = network.Score(tape, inputs, placements);
  const PolicySample sample = MakePolicySample(tape, inputs, rollout, 2, true);
  CHECK(sample.num_decisions == 2);
  CHECK(tape.rows(sample.log_probability) == 2);
  REQUIRE(sample.best_log_probability);
  CHECK(tape.value(*sample.best_log_probability)(0, 0) ==
        tape.value(rollout.log_probability)(2, 0));
  REQUIRE(sample.decisions);
  CHECK(sample.decisions->sample == std::vector<int>{0, 1, 0, 1});
  const Matrix& steps = tape.value(sample.decisions->log_probability);
  REQUIRE(steps.rows() == 4);
  for (int i = 0; i < 2; ++i) {  // the group without a choice is certain
    CHECK(steps(i, 0) + steps(2 + i, 0) ==
          doctest::Approx(tape.value(sample.log_probability)(i, 0)));
  }
  const Matrix& distributions = tape.value(sample.decisions->log_distribution);
  CHECK(distributions(1, 1) == steps(1, 0));
  CHECK_FALSE(MakePolicySample(tape, inputs, rollout, 3, false).best_log_probability);
  CHECK_FALSE(MakePolicySample(tape, inputs, rollout, 3, false).decisions);
}

}  // namespace
