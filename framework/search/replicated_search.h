#pragma once

// Several ranks that make the same search. Each rank runs all of it, from the same seed, and only
// the evaluations are split. So all ranks reach the same places in the same order, and meet there.
//
// At every meeting each rank sends its place (the activity, a count, a checksum of its data), and
// rank 0 sends whether the search continues. Rank 0 alone makes the decisions that depend on a
// clock or a signal. The others learn of them at the next meeting, so that no rank waits for one
// that does not come. If two ranks are at different places, the run ends with an error that names
// both.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "framework/ranks/communicator.h"

namespace emplace {

/// Returns a checksum of bytes, by which ranks check that they work on the same data.
std::uint64_t Checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// The place of a rank in the search.
struct Place {
  /// The activity, at most 15 letters: "evaluates rows".
  std::string_view what;
  std::uint64_t count = 0;     ///< number of placements, searches or steps
  std::uint64_t checksum = 0;  ///< of the data
};

class ReplicatedSearch {
 public:
  /// @param ranks  outlives this
  explicit ReplicatedSearch(Communicator& ranks) : ranks_(ranks) {}

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }

  /// Begins a search. @param checksum  of all data on which it depends
  /// @param wanted  on rank 0: whether the search shall run
  /// @return rank 0's `wanted`
  bool Begin(std::uint64_t checksum, bool wanted);
  /// Meets the other ranks within a search: every rank gets the bytes of all ranks.
  /// @throws BudgetExhausted on other ranks if rank 0 has ended the search
  /// @throws RunError "ranks diverged ..."; "rank R: ..." if one has failed
  Gathered Meet(const Place& place, std::span<const std::byte> mine = {});
  /// Ends the search on this rank. Rank 0 ends it for all; other ranks wait for rank 0 to do so.
  /// @throws RunError "ranks diverged ..." if rank 0 continues; "rank R: ..."
  void End(std::string_view why);
  /// Replaces the bytes of every rank by those of rank 0, outside searches.
  /// @throws RunError "rank R: ..."
  void Broadcast(std::string_view what, std::vector<std::byte>& bytes);
  /// Reports at the others' next meeting that this rank has failed. Does nothing after a failed
  /// meeting.
  void Fail(std::string_view error);
  /// Returns whether an error has ended the meetings of all ranks.
  bool broken() const { return broken_; }

 private:
  /// Rank 0's decision, at the beginning of every message.
  enum class Word : std::uint32_t { kGoOn, kEnd };
  Gathered MeetAs(Word word, const Place& place, std::span<const std::byte> mine);

  Communicator& ranks_;
  std::uint64_t meetings_ = 0;  // number so far
  bool searching_ = false;      // between Begin() and the end announced by rank 0
  bool broken_ = false;         // no more meetings take place
};

}  // namespace emplace
