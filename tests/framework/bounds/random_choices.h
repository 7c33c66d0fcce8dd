#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/bounds/mip.h"

namespace emplace::testing {

// Choices with random costs, and rows that couple them.
struct RandomChoices {
  explicit RandomChoices(Rng& rng) {
    const int period = model.AddColumn(1, 0, 1000);
    const int count = 1 + UniformInt(rng, 5);
    for (int i = 0; i < count; ++i) {
      choices.emplace_back();
      std::vector<std::pair<int, double>> one;
      for (int c = 1 + UniformInt(rng, 3); c > 0; --c) {
        choices.back().push_back(model.AddColumn(UniformInt(rng, 5), 0, 1));
        one.emplace_back(choices.back().back(), 1);
      }
      model.AddRow(1, 1, one);
      weight.push_back(Uniform01(rng));
    }
    for (int r = 0; r < 3; ++r) {
      std::vector<std::pair<int, double>> load{{period, 1}};
      std::vector<std::pair<int, double>> room;
      for (int c = 1; c < model.num_columns(); ++c) {
        load.emplace_back(c, -UniformInt(rng, 10));
        room.emplace_back(c, UniformInt(rng, 4));
      }
      model.AddRow(0, kNoLimit, load);
      if (r == 0) model.AddRow(-kNoLimit, 3 + UniformInt(rng, 4), room);
    }
  }

  // The least value with these columns, [num_columns] 0 or 1; kNoLimit if they violate a row.
  double ValueOf(std::vector<double> x) const {
    x[0] = 0;
    for (int i = 0; i < model.num_rows(); ++i) {
      double sum = 0;
      bool has_period = false;
      for (int e = model.row_begin[i]; e < model.row_begin[i + 1]; ++e) {
        sum += model.value[e] * x[model.column[e]];
        has_period |= model.column[e] == 0;
      }
      if (has_period) x[0] = std::max(x[0], -sum + x[0]);
      if (!has_period && (sum < model.row_lower[i] || sum > model.row_upper[i])) return kNoLimit;
    }
    double value = 0;
    for (int c = 0; c < model.num_columns(); ++c) value += model.cost[c] * x[c];
    return value;
  }

  // The least value of all choices; kNoLimit if none keeps the rows.
  double Least() const {
    std::vector<double> x(model.num_columns(), 0);
    double best = kNoLimit;
    const auto visit = [&](auto&& self, std::size_t choice) -> void {
      if (choice == choices.size()) {
        best = std::min(best, ValueOf(x));
        return;
      }
      for (const int c : choices[choice]) {
        x[c] = 1;
        self(self, choice + 1);
        x[c] = 0;
      }
    };
    visit(visit, 0);
    return best;
  }

  LinearModel model;
  std::vector<std::vector<int>> choices;
  std::vector<double> weight;
};

}  // namespace emplace::testing
