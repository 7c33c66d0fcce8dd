// Updates of placeto_learner.h against the same formulas in plain loops.

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>

#include <doctest/doctest.h>

#include "tests/agents/placeto/plain_placeto.h"
#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

void Copy(const ParameterSet& from, ParameterSet& to) {
  to.all().clear();
  for (const Parameter& parameter : from.all()) to.all().push_back(parameter);
}

// The loss of placeto_learner.h in plain loops: of the episodes that an update drew, told by the
// placements it evaluated.
class PlainLoss {
 public:
  PlainLoss(const PlacetoConfig& config, const ProblemList& problems)
      : config_(config), problems_(problems), gains_(problems.size()) {
    Rng rng(1);
    for (const auto& problem : problems) {
      tasks_.emplace_back(problem, config.episode, config.network, rng);
    }
    best_.resize(problems.size());
  }

  /// Takes the episodes of one update. Each evaluates the start first and never comes back to it.
  /// @param drawn  parameters that drew them
  void Take(const Recorders& recorders, const ParameterSet& drawn) {
    played_.clear();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const std::vector<Placement>& placements = recorders.recorders[i].placements();
      const auto same = [&](const Placement& other) { return other == placements.front(); };
      REQUIRE(std::ranges::count_if(placements, same) == config_.episodes);
      const std::unique_ptr<Evaluator> simulator = MakeSimulator(problems_[i], {});
      for (auto begin = placements.begin(); begin != placements.end();) {
        const auto end = std::find_if(begin + 1, placements.end(), same);
        Played played{i, {}, {}, {}};
        played.episode = RunEpisode(
            tasks_[i],
            *begin,
            [&](const PlacetoState& state) { return (end - 1)->device[state.current]; },
            *simulator);
        REQUIRE(played.episode.evaluations == end - begin);
        if (!best_[i] || Better(played.episode.best_outcome, best_outcome_[i])) {
          best_[i] = played.episode.best;
          best_outcome_[i] = played.episode.best_outcome;
        }
        gains_[i].emplace_back();
        for (const EpisodeStep& step : played.episode.steps) gains_[i].back().push_back(step.gain);
        played.old = Choices(played, drawn);
        played_.push_back(std::move(played));
        begin = end;
      }
    }
    for (Played& played : played_) Weigh(played);
  }

  /// @param epoch  0: the policy gradient; later ones: PPO
  double At(const ParameterSet& parameters, int epoch) const {
    double loss = 0;
    for (const Played& played : played_) {
      const std::vector<plain::Row> choices = Choices(played, parameters);
      double sum = 0;
      for (std::size_t t = 0; t < choices.size(); ++t) {
        const int device = played.episode.steps[t].device;
        const double advantage = played.advantages[t];
        if (epoch == 0) {
          sum -= advantage * choices[t][device];
        } else {
          const double ratio = std::exp(choices[t][device] - played.old[t][device]);
          const double clip = config_.ppo.clip;
          const double clipped = std::clamp(ratio, 1 - clip, 1 + clip);
          sum -= config_.ppo.penalty == "kl" ? ratio * advantage
                                             : std::min(ratio * advantage, clipped * advantage);
        }
        for (std::size_t d = 0; d < choices[t].size(); ++d) {
          if (std::isinf(choices[t][d])) continue;
          sum += config_.entropy_weight * std::exp(choices[t][d]) * choices[t][d];
          if (epoch > 0 && config_.ppo.penalty == "kl") {
            const double old = played.old[t][d];
            sum += config_.ppo.kl_weight * std::exp(old) * (old - choices[t][d]);
          }
        }
        const int best = best_[played.task]->device[played.episode.steps[t].state.current];
        sum -= config_.imitation_weight * choices[t][best];
      }
      loss += sum / static_cast<double>(choices.size() * played_.size());
    }
    return loss;
  }

  /// Compares steps of plain gradient descent with finite differences of the loss, at some entries
  /// of every kind of network.
  void CheckStep(const ParameterSet& before, const ParameterSet& after, double rate, int epoch) {
    ParameterSet moved;
    Copy(before, moved);
    Rng rng(7);
    double largest = 0;
    for (const std::string name : {"embed.0.weights",
                                   "parents.before.0.weights",
                                   "children.after.1.weights",
                                   "ancestors.before.0.bias",
                                   "descendants.after.1.bias",
                                   "parallel.before.1.weights",
                                   "head.0.weights",
                                   "head.2.weights",
                                   "head.2.bias"}) {
      CAPTURE(name);
      for (std::size_t p = 0; p < before.all().size(); ++p) {
        if (before.all()[p].name != name) continue;
        const int i = UniformInt(rng, static_cast<int>(before.all()[p].value.size()));
        float& entry = moved.all()[p].value.data()[i];
        const float kept = entry;
        entry = kept + 5e-4F;
        const double up = entry, above = At(moved, epoch);
        entry = kept - 5e-4F;
        const double below = At(moved, epoch), down = entry;
        entry = kept;
        const double difference = (above - below) / (up - down);
        const double step = (kept - after.all()[p].value.data()[i]) / rate;
        CHECK(std::abs(step - difference) < 2e-4 + 0.01 * std::abs(difference));
        largest = std::max(largest, std::abs(difference));
      }
    }
    CHECK(largest > 0.01);
  }

 private:
  struct Played {
    std::size_t task = 0;
    Episode episode;
    std::vector<plain::Row> old;  // log-probabilities when it was drawn
    std::vector<double> advantages;
  };

  // From mean and deviation of the gains at each step over the last episodes, those of this update
  // among them.
  void Weigh(Played& played) const {
    const auto& gains = gains_[played.task];
    const auto window =
        std::min<std::size_t>(gains.size(), std::max(config_.baseline_episodes, config_.episodes));
    double squares = 0;
    for (std::size_t t = 0; t < played.episode.steps.size(); ++t) {
      double mean = 0, variance = 0;
      for (std::size_t i = gains.size() - window; i < gains.size(); ++i) mean += gains[i][t];
      mean /= static_cast<double>(window);
      for (std::size_t i = gains.size() - window; i < gains.size(); ++i) {
        variance += (gains[i][t] - mean) * (gains[i][t] - mean) / static_cast<double>(window);
      }
      double advantage = played.episode.steps[t].gain;
      if (config_.baseline_episodes > 0) advantage -= mean;
      if (config_.advantage == "standardized") {
        advantage = variance > 1e-12 ? advantage / std::sqrt(variance) : 0;
      }
      played.advantages.push_back(advantage);
      squares += advantage * advantage;
    }
    if (!config_.normalize_advantages) return;
    const double rms = std::sqrt(squares / static_cast<double>(played.advantages.size()));
    for (double& advantage : played.advantages) advantage /= rms > 0 ? rms : 1;
  }

  std::vector<plain::Row> Choices(const Played& played, const ParameterSet& parameters) const {
    std::vector<plain::Row> choices;
    for (const EpisodeStep& step : played.episode.steps) {
      const PlacetoState* state = &step.state;
      const PlacetoBatch batch = tasks_[played.task].features().Batch({&state, 1});
      choices.push_back(plain::LogProbabilities(*problems_[played.task],
                                                parameters,
                                                config_.network,
                                                step.state,
                                                plain::TableOf(batch.groups),
                                                plain::TableOf(batch.devices)));
    }
    return choices;
  }

  PlacetoConfig config_;
  const ProblemList& problems_;
  std::deque<EpisodeProblem> tasks_;
  std::vector<Played> played_;
  std::vector<std::vector<std::vector<double>>> gains_;  // of each problem's episodes
  std::vector<std::optional<Placement>> best_;
  std::map<std::size_t, Outcome> best_outcome_;
};

// Biases that are not zero: where a group has no neighbours, a relu would be at its corner.
void DrawBiases(PlacetoLearner& learner, const ProblemList& problems) {
  Rng rng(1);
  for (Parameter& parameter : learner.parameters().all()) {
    if (parameter.value.rows() > 1) continue;
    parameter.value = RandomMatrix(1, static_cast<int>(parameter.value.cols()), rng, 0, 0.3);
  }
  Load(learner, problems, Saved(learner, problems));
}

constexpr double kRate = 0.25;

PlacetoConfig Descent() {
  PlacetoConfig config = PlainPlaceto();
  config.network.width = 4;
  config.network.logit_scale = 1;
  config.network.stay = 0.5;
  config.entropy_weight = 0.3;
  config.baseline_episodes = 2;
  config.optimizer.method = "sgd";
  config.optimizer.schedule.learning_rate = kRate;
  config.optimizer.clip_norm = 0;
  return config;
}

TEST_CASE("pitfall: the baseline is that of the last episodes at the same step") {
  const ProblemList problems = {SmallProblem(2, 10)};
  for (const int episodes : {1, 2}) {
    for (const std::string advantage : {"difference", "standardized"}) {
      CAPTURE(episodes);
      CAPTURE(advantage);
      PlacetoConfig config = Descent();
      config.baseline_episodes = 3;
      config.episodes = episodes;
      config.advantage = advantage;
      PlacetoLearner learner(config, problems, 3, 1);
      DrawBiases(learner, problems);
      Recorders recorders(problems);
      PlainLoss loss(config, problems);
      for (int update = 0; update < 4; ++update) {  // the last one's baseline leaves out the first
        CAPTURE(update);
        recorders.Clear();
        ParameterSet before;
        Copy(learner.parameters(), before);
        learner.Update(recorders.all);
        loss.Take(recorders, before);
        loss.CheckStep(before, learner.parameters(), kRate, 0);
      }
    }
  }
}

TEST_CASE("in the first episode only the entropy counts: the baseline is that episode") {
  const ProblemList problems = {SmallProblem(2, 10)};
  PlacetoConfig config = Descent();
  config.entropy_weight = config.entropy_final = 0;
  PlacetoLearner learner(config, problems, 3, 1);
  Simulators simulators(problems);
  for (int update = 0; update < 2; ++update) learner.Update(simulators.all);
  const std::vector<double> norm = Column(learner.table(), "gradient_norm");
  CHECK(norm[0] == 0);
  CHECK(norm[1] > 0);
}

TEST_CASE("an update over several graphs is a step on the mean of their losses") {
  const ProblemList problems = ThreeProblems();
  for (const bool ours : {false, true}) {
    CAPTURE(ours);
    PlacetoConfig config = Descent();
    config.baseline_episodes = 0;
    if (ours) {
      config.normalize_advantages = true;
      config.imitation_weight = 0.4;
      config.network.features.devices = "scored";
      config.network.aggregation = "sum";
      config.episode.discount = 1;
    }
    PlacetoLearner learner(config, problems, 4, 1);
    DrawBiases(learner, problems);
    Recorders recorders(problems);
    PlainLoss loss(config, problems);
    ParameterSet before;
    Copy(learner.parameters(), before);
    learner.Update(recorders.all);
    loss.Take(recorders, before);
    loss.CheckStep(before, learner.parameters(), kRate, 0);
  }
}

TEST_CASE("a second step of descent on the same episode is PPO's") {
  const ProblemList problems = {SmallProblem(2, 10)};
  for (const std::string penalty : {"clip", "kl"}) {
    CAPTURE(penalty);
    PlacetoConfig config = Descent();
    config.ppo.penalty = penalty;
    config.baseline_episodes = 0;
    config.ppo.clip = 0.01;  // some ratios are clipped
    // The same seed draws the same episode.
    PlacetoLearner once(config, problems, 3, 1);
    config.ppo.epochs = 2;
    PlacetoLearner twice(config, problems, 3, 1);
    DrawBiases(once, problems);
    DrawBiases(twice, problems);
    Recorders recorders(problems), ignored(problems);
    PlainLoss loss(config, problems);
    ParameterSet before;
    Copy(once.parameters(), before);
    once.Update(recorders.all);
    twice.Update(ignored.all);
    loss.Take(recorders, before);
    loss.CheckStep(once.parameters(), twice.parameters(), kRate, 1);
  }
}

}  // namespace
