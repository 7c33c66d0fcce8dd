#pragma once

// Several ranks that make one and the same search: each runs all of it, from the same seed, and
// only the evaluations are shared out. So they reach the same places in the same order, and meet
// there.
//
// At every meeting each rank says where it is (the place, how much, a checksum of what), and rank 0
// whether the search goes on. What depends on a clock or a signal is decided by rank 0 alone: the
// others learn of it at the next meeting, so that no rank ever waits for one that does not come. If
// two ranks are at different places the run ends with an error that names both.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "framework/ranks/communicator.h"

namespace emplace {

/// Mixes bytes into a checksum that tells whether ranks are about the same thing.
std::uint64_t Checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// Where a rank is.
struct Place {
  /// What it does there, at most 15 letters: "evaluates rows".
  std::string_view what;
  std::uint64_t count = 0;     ///< how much: placements, searches, steps
  std::uint64_t checksum = 0;  ///< of what
};

class Lockstep {
 public:
  /// @param ranks  outlives this
  explicit Lockstep(Communicator& ranks) : ranks_(ranks) {}

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }

  /// A search begins. @param checksum  of all that it depends on
  /// @param wanted  of rank 0: false, and there will be none
  /// @return rank 0's `wanted`
  bool Begin(std::uint64_t checksum, bool wanted);
  /// Within a search: everyone gets what everyone hands in.
  /// @throws BudgetExhausted on other ranks if rank 0 has ended the search
  /// @throws RunError "ranks diverged ..."; "rank R: ..." if one has failed
  Gathered Meet(const Place& place, std::span<const std::byte> mine = {});
  /// The search has ended here: on rank 0 for all, on the others they expect rank 0 to say so.
  /// @throws RunError "ranks diverged ..." if rank 0 goes on; "rank R: ..."
  void End(std::string_view why);
  /// Outside searches: everyone's bytes become those of rank 0. @throws RunError "rank R: ..."
  void Broadcast(std::string_view what, std::vector<std::byte>& bytes);
  /// This rank cannot go on. The others' next meeting says so; nothing if that is what ended this
  /// one.
  void Fail(std::string_view error);
  /// An error has ended the meetings of all ranks.
  bool broken() const { return broken_; }

 private:
  /// Rank 0's word at the head of every message.
  enum class Word : std::uint32_t { kGoOn, kEnd };
  Gathered MeetAs(Word word, const Place& place, std::span<const std::byte> mine);

  Communicator& ranks_;
  std::uint64_t meetings_ = 0;  // so far
  bool searching_ = false;      // between Begin() and the end that rank 0 told
  bool broken_ = false;         // nobody comes to a meeting any more
};

}  // namespace emplace
