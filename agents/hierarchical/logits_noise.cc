#include "agents/hierarchical/logits_noise.h"

#include <cmath>
#include <utility>

#include <boost/random/normal_distribution.hpp>

#include "framework/learn/ops.h"

namespace emplace {

Var WithNoise(Tape& tape, Var logits, double relative, Rng& rng) {
  if (relative == 0) return logits;
  const Matrix& values = tape.value(logits);
  const double mean_square =
      values.cast<double>().squaredNorm() / static_cast<double>(values.size());
  const double deviation = relative * std::sqrt(mean_square);
  boost::random::normal_distribution<double> normal(0, 1);
  Matrix noise(values.rows(), values.cols());
  for (float& x : noise.reshaped<Eigen::RowMajor>()) {
    x = static_cast<float>(deviation * normal(rng));
  }
  return Add(tape, logits, tape.Constant(std::move(noise)));
}

}  // namespace emplace
