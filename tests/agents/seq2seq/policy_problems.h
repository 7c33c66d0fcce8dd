#pragma once

// Graphs of one family, and a policy trained on some of them: what tests of policies over several
// problems have in common.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agents/seq2seq/seq2seq_trainer.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

/// One op for each letter, nothing between them: 'a' takes 10 ms on "gpu:0" and 40 ms on "gpu:1",
/// 'b' the reverse. Every op on its fast device is the only optimum if there are as many 'a' as
/// 'b': 10 ms times their number.
inline std::shared_ptr<const Problem> Sorting(const std::string& letters) {
  ProblemBuilder builder;
  for (int d = 0; d < 2; ++d) builder.Device("gpu:" + std::to_string(d));
  builder.AllToAll(1, kGigabytePerSecond);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    constexpr Nanos kFast = 10'000'000, kSlow = 40'000'000;
    const bool first = letters[i] == 'a';
    const int op =
        builder.Op("op" + std::to_string(i), {first ? kFast : kSlow, first ? kSlow : kFast});
    builder.op(op).kind = std::string(1, letters[i]);
  }
  return builder.Build();
}

/// Devices of the optimum of Sorting(letters).
inline Placement Sorted(const std::string& letters) {
  Placement placement;
  for (char letter : letters) placement.device.push_back(letter == 'a' ? 0 : 1);
  return placement;
}

inline Seq2SeqConfig SmallSeq2Seq() {
  Seq2SeqConfig config;
  config.network.hidden = config.network.attention = 8;
  config.network.type_vector = config.network.device_vector = 4;
  return config;
}

/// Simulators of some problems, as a trainer's Step wants them.
struct Simulators {
  explicit Simulators(const std::vector<std::shared_ptr<const Problem>>& problems) {
    for (const auto& problem : problems) {
      owned.push_back(MakeSimulator(problem, {}));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<Evaluator>> owned;
  std::vector<Evaluator*> all;
};

inline void WritePolicy(const PolicyTrainer& trainer, const std::filesystem::path& path) {
  std::ofstream file(path);
  trainer.SavePolicy(file);
}

}  // namespace emplace::testing
