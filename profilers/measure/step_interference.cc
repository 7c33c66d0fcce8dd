#include "profilers/measure/step_interference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "framework/base/quantile.h"
#include "framework/cluster/interference.h"

namespace emplace {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Runs whose time differs from the median of their op by more than this factor were interrupted.
constexpr double kOutlier = 4;
constexpr int kRounds = 20;

using Node = std::pair<std::string, std::string>;  // device kind, class

struct Run {
  double time = 0;                              // [ns]
  std::vector<std::pair<int, double>> overlap;  // node, share of the time
};

// All runs with the same work.
struct Work {
  int node = 0;
  std::vector<Run> runs;
};

std::string NodeName(const Node& node) {
  return fmt::format("{} {}", node.first, node.second);
}

class StepFit {
 public:
  StepFit(const TracedSteps& steps, const CostTable& table) : table_(table) {
    for (const auto& traced : steps) Collect(*traced);
    for (const KindCosts& costs : table.kinds) {
      if (!kinds_.contains(costs.kind.name)) continue;
      for (const auto& [name, figures] : costs.kind.interference) NodeOf({costs.kind.name, name});
    }
    for (auto& [key, work] : works_) DropInterrupted(work);
    std::erase_if(works_, [](const auto& entry) { return entry.second.runs.size() < 2; });
    SetPrior();
  }

  // @return whether the steps are sufficient for a kind
  bool Tells(const std::string& kind) const {
    double overlapped = 0;
    for (const auto& [key, work] : works_) {
      if (nodes_[work.node].first != kind) continue;
      for (const Run& run : work.runs) {
        for (const auto& [node, share] : run.overlap) overlapped += share * run.time;
      }
    }
    return overlapped >= kLeastNanos;
  }

  void Fit() {
    for (int round = 0; round < kRounds; ++round) {
      Accumulate(kPriorNanos);
      for (int v = 0; v < size(); ++v) {
        const double square = pressure_.dot(left_[v] * pressure_);
        sensitivity_[v] =
            square > 0 ? std::max(0.0, pressure_.dot(right_[v]) / square) : sensitivity_[v];
      }
      MatrixXd a = MatrixXd::Zero(size(), size());
      VectorXd b = VectorXd::Zero(size());
      for (int v = 0; v < size(); ++v) {
        a += sensitivity_[v] * sensitivity_[v] * left_[v];
        b += sensitivity_[v] * right_[v];
      }
      for (int pass = 0; pass < 50; ++pass) {  // coordinate descent, no pressure below 0
        for (int c = 0; c < size(); ++c) {
          if (!(a(c, c) > 0)) continue;
          pressure_[c] = std::max(0.0, pressure_[c] + (b[c] - a.row(c).dot(pressure_)) / a(c, c));
        }
      }
      const double most = pressure_.maxCoeff();
      if (!(most > 0)) return;
      pressure_ /= most;
      sensitivity_ *= most;
    }
  }

  void Write(const std::set<std::string>& told, CostTable& table) {
    for (KindCosts& costs : table.kinds) {
      if (!told.contains(costs.kind.name)) continue;
      for (OpMeasurement& op : costs.ops) op.interference.reset();
      for (int v = 0; v < size(); ++v) {
        if (nodes_[v].first != costs.kind.name) continue;
        costs.kind.interference[nodes_[v].second] = {NearestInterference(sensitivity_[v]),
                                                     NearestInterference(pressure_[v])};
      }
    }
    Accumulate(1);  // the matrix comes from the steps alone
    for (int v = 0; v < size(); ++v) {
      if (told.contains(nodes_[v].first)) WritePairs(v, table);
    }
  }

 private:
  int size() const { return static_cast<int>(nodes_.size()); }

  int NodeOf(const Node& node) {
    const auto [entry, is_new] = node_of_.emplace(node, size());
    if (is_new) nodes_.push_back(node);
    return entry->second;
  }

  void Collect(const TracedPlacement& traced) {
    std::vector<int> node_of;
    std::vector<Work*> work_of;
    for (const TracedSubject& subject : traced.subjects) {
      node_of.push_back(NodeOf({subject.kind, subject.work_class}));
      work_of.push_back(
          &works_[{subject.kind, subject.work_class, subject.signature, subject.bytes}]);
      work_of.back()->node = node_of.back();
      kinds_.insert(subject.kind);
    }
    ForEachActivity(traced, [&](int step, int d, const TracedActivity& activity) {
      Run run{.time = static_cast<double>(activity.finish - activity.start), .overlap = {}};
      std::map<int, double> shares;
      ForEachPiece(traced, step, d, activity, [&](std::span<const int> beside, Nanos length) {
        for (const int other : beside) {
          shares[node_of[other]] += static_cast<double>(length) / run.time;
        }
      });
      run.overlap.assign(shares.begin(), shares.end());
      work_of[activity.subject]->runs.push_back(std::move(run));
    });
  }

  static void DropInterrupted(Work& work) {
    std::vector<double> times;
    for (const Run& run : work.runs) times.push_back(run.time);
    const double median = Median(times);
    std::erase_if(work.runs, [&](const Run& run) {
      return run.time > kOutlier * median || run.time * kOutlier < median;
    });
  }

  void SetPrior() {
    sensitivity_ = pressure_ = VectorXd::Zero(size());
    for (int v = 0; v < size(); ++v) {
      const KindCosts* const costs = table_.Find(nodes_[v].first);
      if (costs == nullptr) continue;
      const auto known = costs->kind.interference.find(nodes_[v].second);
      if (known == costs->kind.interference.end()) continue;
      sensitivity_[v] = InterferenceNumber(known->second.sensitivity);
      pressure_[v] = InterferenceNumber(known->second.pressure);
    }
    prior_ = sensitivity_ * pressure_.transpose();
    if (!(pressure_.maxCoeff() > 0)) pressure_.setOnes();
  }

  // Returns the mean time of the runs, and their mean share of overlap with each class.
  std::pair<double, VectorXd> MeanOf(const Work& work) const {
    const auto count = static_cast<double>(work.runs.size());
    std::pair<double, VectorXd> mean{0, VectorXd::Zero(size())};
    for (const Run& run : work.runs) {
      mean.first += run.time / count;
      for (const auto& [node, share] : run.overlap) mean.second[node] += share / count;
    }
    return mean;
  }

  // Computes the normal equations of each class as victim: left_[v] e = right_[v] for its excesses
  // e caused by each class. The times of ops alone follow from the current fit.
  // @param weight  of the prior [ns]
  void Accumulate(double weight) {
    left_.assign(size(), MatrixXd::Identity(size(), size()) * weight);
    right_.clear();
    for (int v = 0; v < size(); ++v) right_.push_back(prior_.row(v).transpose() * weight);
    for (const auto& [key, work] : works_) {
      const auto count = static_cast<double>(work.runs.size());
      const auto [time, mean] = MeanOf(work);
      if (mean.isZero()) continue;
      const double alone = time / (1 + sensitivity_[work.node] * pressure_.dot(mean));
      MatrixXd& left = left_[work.node];
      VectorXd& right = right_[work.node];
      for (const Run& run : work.runs) {
        for (const auto& [i, share] : run.overlap) {
          right[i] += (run.time - time) * share;
          for (const auto& [j, other] : run.overlap) left(i, j) += alone * share * other;
        }
      }
      left -= alone * count * mean * mean.transpose();
    }
  }

  // Writes the slowdown of class v by each class, from the steps alone.
  void WritePairs(int v, CostTable& table) const {
    const Eigen::LDLT<MatrixXd> solver(left_[v]);
    const VectorXd excess = solver.solve(right_[v]);
    const MatrixXd inverse = solver.solve(MatrixXd::Identity(size(), size()));
    const MatrixXd covariance = Covariance(v, excess, inverse);
    for (int c = 0; c < size(); ++c) {
      if (left_[v](c, c) < kLeastNanos) continue;
      const double error = 1.96 * std::sqrt(covariance(c, c));
      table.interference.push_back({NodeName(nodes_[v]),
                                    NodeName(nodes_[c]),
                                    std::max(0.01, 1 + excess[c]),
                                    std::max(0.0, 1 + excess[c] - error),
                                    1 + excess[c] + error,
                                    1 + sensitivity_[v] * pressure_[c]});
    }
  }

  // Returns the covariance of the estimates `excess` without assumptions about the noise of each
  // op's times (the sandwich estimator of White, 1980).
  MatrixXd Covariance(int v, const VectorXd& excess, const MatrixXd& inverse) const {
    MatrixXd scores = MatrixXd::Zero(size(), size());
    for (const auto& [key, work] : works_) {
      if (work.node != v) continue;
      const auto [time, mean] = MeanOf(work);
      if (mean.isZero()) continue;
      const double alone = time / std::max(0.1, 1 + excess.dot(mean));
      for (const Run& run : work.runs) {
        VectorXd x = -mean;
        for (const auto& [node, share] : run.overlap) x[node] += share;
        const double error = run.time - time - alone * excess.dot(x);
        scores += error * error * x * x.transpose();
      }
    }
    return inverse * scores * inverse;
  }

  const CostTable& table_;
  std::set<std::string> kinds_;
  std::vector<Node> nodes_;
  std::map<Node, int> node_of_;
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, Work> works_;
  VectorXd sensitivity_, pressure_;  // [nodes]
  MatrixXd prior_;                   // [nodes, nodes] excesses
  std::vector<MatrixXd> left_;       // [nodes]
  std::vector<VectorXd> right_;      // [nodes]
};

}  // namespace

void WriteStepInterference(const TracedSteps& steps, CostTable& table) {
  if (steps.empty()) return;
  StepFit fit(steps, table);
  std::set<std::string> told;
  for (const KindCosts& costs : table.kinds) {
    if (fit.Tells(costs.kind.name)) told.insert(costs.kind.name);
  }
  std::erase_if(table.interference, [&](const Slowdown& slowdown) {
    return std::ranges::any_of(
        told, [&](const std::string& kind) { return slowdown.victim.starts_with(kind + " "); });
  });
  if (told.empty()) return;
  fit.Fit();
  fit.Write(told, table);
}

}  // namespace emplace
