#include "agents/shared/features.h"

#include <cmath>
#include <numbers>

namespace emplace {

void DivideByLargest(Matrix& x) {
  const float largest = x.size() == 0 ? 0 : x.maxCoeff();
  if (largest > 0) x /= largest;
}

Matrix PositionWaves(std::span<const double> p, int octaves) {
  Matrix waves(std::ssize(p), 1 + 2 * octaves);
  for (int i = 0; i < waves.rows(); ++i) {
    waves(i, 0) = static_cast<float>(p[i]);
    for (int k = 0; k < octaves; ++k) {
      const double angle = std::numbers::pi * std::ldexp(p[i], k);
      waves(i, 1 + 2 * k) = static_cast<float>(std::sin(angle));
      waves(i, 2 + 2 * k) = static_cast<float>(std::cos(angle));
    }
  }
  return waves;
}

}  // namespace emplace
