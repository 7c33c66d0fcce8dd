#pragma once

// Communication between processes ("ranks") that work on one search. All ranks call each function,
// in the same order. A function returns when the caller has its result.

#include <cstddef>
#include <span>
#include <vector>

namespace emplace {

/// The contributions of all ranks, in the order of ranks.
struct Gathered {
  std::vector<std::byte> bytes;    ///< all contributions, one after another
  std::vector<std::size_t> begin;  ///< [size + 1] start of each rank's contribution in `bytes`

  std::span<const std::byte> of(int rank) const {
    return std::span(bytes).subspan(begin[rank], begin[rank + 1] - begin[rank]);
  }
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< of this process, from 0
  virtual int size() const = 0;  ///< number of ranks, at least 1

  /// Replaces the `bytes` of all ranks by those of rank 0.
  /// @throws RunError if the ranks cannot be reached
  virtual void Broadcast(std::vector<std::byte>& bytes) = 0;

  /// Returns the bytes of all ranks to each rank. Sizes may differ between ranks.
  /// @throws RunError if the ranks cannot be reached
  virtual Gathered AllGather(std::span<const std::byte> mine) = 0;
};

/// Returns the number of cores that each rank on this machine may use: the number of cores that the
/// ranks of this machine may run on together, divided by the number of these ranks. At most the
/// number of cores that this process may run on, and at least 1. All ranks call it together.
int CoresPerRank(Communicator& ranks);

}  // namespace emplace
