#pragma once

// Processes ("ranks") that work on one search and hand each other bytes. Every function is called
// by all ranks, in the same order; it returns when the caller has what it asked for.

#include <cstddef>
#include <span>
#include <vector>

namespace emplace {

/// What each rank handed in, in the order of ranks.
struct Gathered {
  std::vector<std::byte> bytes;    ///< all of it, one rank behind the other
  std::vector<std::size_t> begin;  ///< [size + 1] where that of each rank begins in `bytes`

  std::span<const std::byte> of(int rank) const {
    return std::span(bytes).subspan(begin[rank], begin[rank + 1] - begin[rank]);
  }
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< of this process, from 0
  virtual int size() const = 0;  ///< number of ranks, at least 1

  /// Everyone's `bytes` become those of rank 0.
  /// @throws RunError if the ranks cannot be reached
  virtual void Broadcast(std::vector<std::byte>& bytes) = 0;

  /// Everyone gets what everyone hands in; it may be of another size on each rank.
  /// @throws RunError if the ranks cannot be reached
  virtual Gathered AllGather(std::span<const std::byte> mine) = 0;
};

}  // namespace emplace
