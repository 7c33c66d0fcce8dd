#pragma once

// Post once more, in double loops and with gradients written out by hand: given the placements an
// agent drew and their outcomes, the logits it should have after each update.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "agents/post/post_agent.h"

namespace emplace::testing {

class PlainPost {
 public:
  PlainPost(const PostConfig& config, const Problem& problem)
      : config_(config), reward_(config.reward, problem, "reward"), beta_(config.ppo.kl_weight) {
    for (int g = 0; g < problem.num_groups(); ++g) {
      std::vector<bool> allowed;
      for (int d = 0; d < problem.num_devices(); ++d) allowed.push_back(problem.allowed(g, d));
      if (std::count(allowed.begin(), allowed.end(), true) < 2) continue;
      groups_.push_back(g);
      allowed_.push_back(allowed);
      u_.emplace_back(problem.num_devices(), 0.0);
    }
  }

  /// Takes the next placement; updates when n says so. @return whether it did
  bool Take(const Placement& placement, const Score& score) {
    all_.push_back({placement, reward_.Cost(score)});
    fresh_.push_back(all_.back());
    ++n_;
    const int k = config_.ppo_samples, big_n = config_.cross_entropy.samples;
    const bool entropy = config_.method != "ppo_only" && n_ % big_n == 0;
    const bool ppo = !entropy && config_.method != "ce_only" && n_ % k == 0;
    if (!entropy && !ppo) return false;
    const std::vector<double> advantages = Advantages();
    if (entropy) CrossEntropy();
    if (ppo) Ppo(advantages);
    fresh_.clear();
    return true;
  }

  const std::vector<std::vector<double>>& u() const { return u_; }
  double beta() const { return beta_; }
  double kl() const { return kl_; }

 private:
  struct Sample {
    Placement placement;
    double cost;
  };
  using Table = std::vector<std::vector<double>>;  // [decisions][devices]

  std::vector<double> Advantages() {  // of a moving average
    double mean = 0, squares = 0;
    for (const Sample& s : fresh_) mean += s.cost / static_cast<double>(fresh_.size());
    if (std::isnan(average_)) average_ = mean;
    std::vector<double> advantages;
    for (const Sample& s : fresh_) {
      advantages.push_back(s.cost - average_);
      squares += advantages.back() * advantages.back() / static_cast<double>(fresh_.size());
    }
    if (config_.normalize_advantages) {
      for (double& a : advantages) a /= std::sqrt(squares);
    }
    average_ = config_.baseline.decay * average_ + (1 - config_.baseline.decay) * mean;
    return advantages;
  }

  Table Probabilities() const {
    Table p = u_;
    for (std::size_t m = 0; m < p.size(); ++m) {
      double sum = 0;
      for (std::size_t d = 0; d < p[m].size(); ++d) {
        p[m][d] = allowed_[m][d] ? std::exp(u_[m][d]) : 0;
        sum += p[m][d];
      }
      for (double& value : p[m]) value /= sum;
    }
    return p;
  }

  void Ppo(const std::vector<double>& advantages) {
    const bool whole = config_.ratio == "placement";
    const double decisions = static_cast<double>(u_.size());
    const double count = static_cast<double>(fresh_.size());
    const Table old = Probabilities();
    const auto divergence = [&](const Table& p) {
      double sum = 0;
      for (std::size_t m = 0; m < p.size(); ++m) {
        for (std::size_t d = 0; d < p[m].size(); ++d) {
          if (allowed_[m][d]) sum += old[m][d] * std::log(old[m][d] / p[m][d]);
        }
      }
      return whole ? sum : sum / decisions;
    };
    for (int epoch = 0; epoch < config_.ppo.epochs; ++epoch) {
      const Table p = Probabilities();
      Table gradient(u_.size(), std::vector<double>(u_[0].size(), 0.0));
      for (std::size_t i = 0; i < fresh_.size(); ++i) {
        const double a = advantages[i];
        double product = 1;
        for (std::size_t m = 0; m < p.size(); ++m) {
          const int drawn = fresh_[i].placement.device[groups_[m]];
          product *= p[m][drawn] / old[m][drawn];
        }
        for (std::size_t m = 0; m < p.size(); ++m) {
          const int drawn = fresh_[i].placement.device[groups_[m]];
          const double r = whole ? product : p[m][drawn] / old[m][drawn];
          const bool cut = config_.ppo.penalty == "clip" &&
                           (a > 0 ? r < 1 - config_.ppo.clip : r > 1 + config_.ppo.clip);
          const double weight = cut ? 0 : r * a / (whole ? count : count * decisions);
          for (std::size_t d = 0; d < p[m].size(); ++d) {
            gradient[m][d] += weight * ((static_cast<int>(d) == drawn) - p[m][d]);
          }
        }
      }
      for (std::size_t m = 0; m < p.size(); ++m) {
        for (std::size_t d = 0; d < p[m].size(); ++d) {
          if (config_.ppo.penalty == "kl") {
            gradient[m][d] += beta_ * (p[m][d] - old[m][d]) / (whole ? 1 : decisions);
          }
          u_[m][d] -= config_.optimizer.schedule.learning_rate * gradient[m][d];  // sgd
        }
      }
    }
    kl_ = divergence(Probabilities());
    if (config_.ppo.penalty != "kl") return;
    if (kl_ > 1.5 * config_.ppo.kl_target) beta_ *= 2;
    if (kl_ < config_.ppo.kl_target / 1.5) beta_ /= 2;
  }

  void CrossEntropy() {
    const CrossEntropyConfig& config = config_.cross_entropy;
    const int rank = static_cast<int>(std::ceil(config.elite_share * config.samples - 1e-9));
    std::vector<Sample> sorted = all_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Sample& a, const Sample& b) {
      return a.cost < b.cost;
    });
    const double gamma = sorted[rank - 1].cost;
    const double epsilon =
        config.epsilon * std::max(0.0, 1 - static_cast<double>(n_) / config.epsilon_samples);
    const Table old = Probabilities();
    for (std::size_t m = 0; m < u_.size(); ++m) {
      const auto devices = std::count(allowed_[m].begin(), allowed_[m].end(), true);
      for (std::size_t d = 0; d < u_[m].size(); ++d) {
        int elites = 0, here = 0;
        for (const Sample& s : all_) {
          elites += s.cost <= gamma;
          here += s.cost <= gamma && s.placement.device[groups_[m]] == d;
        }
        const double mixed = config.step * here / elites + (1 - config.step) * old[m][d];
        const double f = (1 - epsilon) * mixed + epsilon / static_cast<double>(devices);
        if (allowed_[m][d]) u_[m][d] = std::log(std::max(f, 1e-8));
      }
    }
    all_.clear();
    for (const Sample& s : sorted) {
      const bool full = static_cast<int>(all_.size()) == rank || s.cost > gamma;
      bool known = false;
      for (const Sample& other : all_) known |= other.placement == s.placement;
      if (config.keep_elites && !full && !known) all_.push_back(s);
    }
  }

  PostConfig config_;
  Reward reward_;
  std::vector<int> groups_;                 // with a choice
  std::vector<std::vector<bool>> allowed_;  // [decisions][devices]
  Table u_;
  std::vector<Sample> all_, fresh_;  // since the last cross-entropy step, since the last update
  int n_ = 0;
  double average_ = std::numeric_limits<double>::quiet_NaN(), beta_, kl_ = 0;
};

}  // namespace emplace::testing
