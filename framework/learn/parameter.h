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

/// The parameters of a model in the order of their creation. Their addresses stay valid.
class ParameterSet {
 public:
  /// Adds a matrix of zeros. CHECKs that the name is new.
  Parameter& Add(std::string name, int rows, int cols);
  /// Adds a matrix with entries uniform in [-bound, bound].
  Parameter& AddUniform(std::string name, int rows, int cols, float bound, Rng& rng);
  /// Adds a matrix with uniform entries, bound sqrt(6 / (rows + cols)) (Glorot and Bengio 2010).
  Parameter& AddGlorot(std::string name, int rows, int cols, Rng& rng);

  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Returns the number of entries of all matrices.
  std::int64_t num_values() const;

  void ClearGradients();
  /// Returns the Euclidean norm of all gradients, summed in double in a fixed order.
  double GradientNorm() const;

 private:
  std::deque<Parameter> parameters_;
};

}  // namespace emplace
