#include "agents/post/post_agent.h"

#include <bit>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/initial_placements/initial_placements.h"
#include "framework/base/error.h"
#include "simulator/simulator.h"
#include "tests/agents/post/small_post.h"
#include "tests/support/paths.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("after placements without a better one it begins anew from uniform distributions") {
  const auto problem = SmallProblem();
  PostConfig config = SmallConfig();
  config.patience = 24;
  PostAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 1200);
  const std::vector<double> restarts = Column(*agent.updates(), "restarts");
  const std::vector<double> entropy = Column(*agent.updates(), "entropy");
  const std::vector<double> best = Column(*agent.updates(), "best_step_time_ns");
  CHECK(restarts.back() > 3);
  for (std::size_t row = 1; row < restarts.size(); ++row) {
    if (restarts[row] == restarts[row - 1]) {
      CHECK(best[row] <= best[row - 1]);
      continue;
    }
    CHECK(Logits(trace.states[row - 1], *problem, config).isZero());
    CHECK(entropy[row] == entropy[0]);
  }
  config.patience = 0;
  PostAgent patient({problem, 1}, config);
  RunAgent(patient, problem, 1200);
  CHECK(Column(*patient.updates(), "restarts").back() == 0);
}

// A chain of 100 ops whose tensors take longer to send than the ops take: one GPU is best, and a
// placement with the ops at random on four takes many times as long.
TEST_CASE("a search from nothing first learns to use one device") {
  ProblemBuilder builder = Gpus(4);
  for (int i = 0; i < 100; ++i) {
    const std::vector<int> inputs = i == 0 ? std::vector<int>() : std::vector<int>{i - 1};
    builder.Op(fmt::format("op{}", i), {1000, 1000, 1000, 1000}, inputs, 10'000);
  }
  const auto problem = builder.Build();
  const auto simulator = MakeSimulator(problem, {});
  const Placement one{std::vector<DeviceIndex>(100, 0)};
  const Nanos single = simulator->Evaluate(one).step_time;
  const auto best_of = [&](PostConfig config) {
    PostAgent agent({problem, 1}, config);
    RunAgent(agent, problem, 1000);
    return Column(*agent.updates(), "best_step_time_ns").back();
  };
  CHECK(best_of({}) == static_cast<double>(single));
  PostConfig without;
  without.first_sharing = 0;
  CHECK(best_of(without) > 1.02 * static_cast<double>(single));
}

TEST_CASE("it returns to the best placement, and begins anew when that led to nothing better") {
  const auto problem = SmallProblem();
  PostConfig config = SmallConfig();
  config.method = "ce_only";
  config.patience = 12;  // one batch: a restart follows those that find nothing better
  config.return_probability = 1;
  PostAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 1200);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  const std::vector<double> restarts = Column(*agent.updates(), "restarts");
  const std::vector<double> entropy = Column(*agent.updates(), "entropy");
  int returns = 0, anew = 0;
  bool returned = false;
  for (std::size_t row = 1; row < restarts.size(); ++row) {
    const auto first = trace.placements.begin() + static_cast<std::ptrdiff_t>(12 * row);
    if (restarts[row] == restarts[row - 1]) continue;
    if (returned) {  // nothing but the best itself was drawn
      CHECK(entropy[row] == entropy[0]);
      returned = false;
      ++anew;
      continue;
    }
    returned = true;
    ++returns;
    // the best since it began anew
    const double time = Column(*agent.updates(), "best_step_time_ns")[row - 1];
    for (auto placement = first; placement != first + 12; ++placement) {
      CHECK(static_cast<double>(simulator->Evaluate(*placement).step_time) == time);
    }
  }
  CHECK(returns > 3);
  CHECK(anew >= returns - 1);
}

TEST_CASE("with a start it begins near it, also after a restart, and is never worse") {
  // About 40 groups and 48 samples: 90 % of 1,920 draws are the start's device, with a standard
  // deviation of sqrt(0.9 * 0.1 / 1,920) = 0.7 %.
  Rng rng(7);
  const auto problem = MixedProblem(rng, 80, 2, kUnlimitedMemory);
  PostConfig config = SmallConfig();
  config.start = {"single_cpu", "single_gpu"};
  config.start_probability = 0.9;
  config.method = "ce_only";
  config.cross_entropy.samples = 48;
  config.patience = 1;  // a restart after every 48, unless the last of them is the best so far
  PostAgent agent({problem, 3}, config);
  const SearchTrace trace = RunAgent(agent, problem, 2 + 3 * 48);
  const std::vector<Placement> starts = MakeStarts(*problem, config.start, rng);
  REQUIRE(trace.placements[0] == starts[0]);
  REQUIRE(trace.placements[1] == starts[1]);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  const std::vector<Outcome> outcomes = simulator->Evaluate(starts);
  const Placement& best = starts[Better(outcomes[1], outcomes[0])];
  std::vector<int> choices;
  for (int g = 0; g < problem->num_groups(); ++g) {
    if (!std::has_single_bit(problem->allowed_devices(g))) choices.push_back(g);
  }
  REQUIRE(Column(*agent.updates(), "restarts") == std::vector<double>{0, 1, 2});
  for (int round = 0; round < 3; ++round) {
    int same = 0;
    for (int i = 0; i < 48; ++i) {
      for (int g : choices)
        same += trace.placements[2 + 48 * round + i].device[g] == best.device[g];
    }
    CHECK(same / (48.0 * static_cast<double>(choices.size())) ==
          doctest::Approx(0.9).epsilon(0.03));
  }
  CHECK(Column(*agent.updates(), "evaluations")[0] == 50);
  const double first = StepTimeOrNan(ScoreOf(outcomes[Better(outcomes[1], outcomes[0])]));
  for (double time : Column(*agent.updates(), "best_step_time_ns")) CHECK(time <= first);
}

TEST_CASE("a state of another place in the search is refused") {
  const auto problem = SmallProblem();
  PostAgent agent({problem, 1}, SmallConfig());
  std::string state = Saved(agent);
  // finished, generator, 1 parameter, its name and value, sgd, 0 updates, 0 moments, baseline,
  // weight; evaluations, since the restart, without a better one, restarts, not improved, no start,
  // no best, samples, used
  const std::string counts = "\n0\n0\n0\n0\n0\n0\n0\n0\n0\n";
  REQUIRE(state.find(counts) != std::string::npos);
  for (const auto& [spoilt, message] : std::vector<std::pair<std::string, std::string>>{
           {"\n0\n-4\n0\n0\n0\n0\n0\n0\n0\n", "expected a number of evaluations, got -4"},
           {"\n0\n0\n0\n0\n0\n0\n0\n0\n7\n",
            "expected a number of placements from 0 to 0, got 7"}}) {
    std::string text = state;
    text.replace(text.find(counts), counts.size(), spoilt);
    CHECK(MessageOf<InputError>([&] { LoadFrom(agent, text); }) == "agent state: " + message);
  }
}

TEST_CASE("a ratio beyond all numbers stops the search with the update named") {
  PostConfig config = SmallConfig();
  config.method = "ppo_only";
  config.ratio = "placement";
  config.normalize_advantages = true;
  config.ppo.kl_weight = 0;
  config.optimizer.schedule.learning_rate = 1e6;
  config.ppo_samples = 2;  // the better one is all that counts
  Rng rng(7);              // about 300 groups on two or three devices: far beyond 1e38
  const auto problem = MixedProblem(rng, 600, 2, kUnlimitedMemory);
  PostAgent agent({problem, 1}, config);
  const std::string message = MessageOf<RunError>([&] { RunAgent(agent, problem, 400); });
  CAPTURE(message);
  CHECK(message.find("update ") == 0);
  CHECK(message.find(": not finite: ") != std::string::npos);
}

}  // namespace
