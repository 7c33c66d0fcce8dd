#pragma once

// Portable randomness: Boost.Random's engines and distributions give the same numbers with every
// compiler and library, which the standard distributions do not promise. A generator is always
// passed in, nothing seeds itself from a clock.

#include <cstdint>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/uniform_int_distribution.hpp>

namespace emplace {

/// Seedable, copyable, streamable (operator<< and >> save and restore it).
using Rng = boost::random::mt19937_64;

/// Uniform integer in [0, n). @param n at least 1
inline int UniformInt(Rng& rng, int n) {
  return boost::random::uniform_int_distribution<int>(0, n - 1)(rng);
}

/// Uniform real in [0, 1).
inline double Uniform01(Rng& rng) {
  return boost::random::uniform_01<double>()(rng);
}

}  // namespace emplace
