#pragma once

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <string>
#include <string_view>

#include "framework/base/random.h"
#include "framework/learn/matrix.h"

namespace emplace {

/// A trainable matrix and the gradient that Tape::Backward adds to.
struct Parameter {
  std::string name;
  Matrix value, gradient;  ///< same shape
};

/// The parameters of a model, in order of creation; addresses stay valid.
class ParameterSet {
 public:
  /// A matrix of zeros. CHECKs that the name is new.
  Parameter& Add(std::string name, int rows, int cols);
  /// Uniform in [-bound, bound].
  Parameter& AddUniform(std::string name, int rows, int cols, float bound, Rng& rng);
  /// Uniform with bound sqrt(6 / (rows + cols)) (Glorot and Bengio 2010).
  Parameter& AddGlorot(std::string name, int rows, int cols, Rng& rng);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Entries of all matrices together.
  std::int64_t num_values() const;

  void ClearGradients();
  /// Euclidean norm over all gradients; summed in double in a fixed order.
  double GradientNorm() const;

 private:
  std::deque<Parameter> parameters_;
};

}  // namespace emplace
