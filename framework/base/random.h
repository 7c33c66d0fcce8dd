#pragma once

// Portable random numbers. Boost.Random's engines and distributions give the same numbers with
// every compiler and library; the standard distributions do not guarantee that. A generator is
// always passed in, and nothing is seeded from a clock.

#include <cstdint>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/uniform_int_distribution.hpp>

namespace emplace {

/// A generator that can be seeded and copied; operator<< and >> save and restore its state.
using Rng = boost::random::mt19937_64;

/// Returns a uniform integer in [0, n). @param n at least 1
inline int UniformInt(Rng& rng, int n) {
  return boost::random::uniform_int_distribution<int>(0, n - 1)(rng);
}

/// Returns a uniform real in [0, 1).
inline double Uniform01(Rng& rng) {
  return boost::random::uniform_01<double>()(rng);
}

}  // namespace emplace
