#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// The priority queue of queue semantics: least (time, rank) first. Ranks are unique, so the order
/// is total and the order of pushing never matters.
///
/// An implicit heap of four children per node over entries of 16 bytes: half as deep as a binary
/// one, with the children of a node beside one another in memory. An entry's children are those at
/// 4 i + 1 .. 4 i + 4. Holds its memory between runs.
class EventHeap {
 public:
  struct Entry {
    Nanos time;          ///< [ns], >= 0
    std::uint64_t rank;  ///< decides between equal times; queue_engine.cc says what it encodes
  };

  bool empty() const { return size_ == 0; }
  /// The least entry. Only when not empty.
  const Entry& top() const { return entries_[0]; }
  void clear() { size_ = 0; }

  void Push(Entry entry) {
    if (size_ == entries_.size()) entries_.resize(entries_.size() * 2 + 16);
    size_t hole = size_++;
    while (hole > 0) {
      const size_t parent = (hole - 1) / 4;
      if (!Less(entry, entries_[parent])) break;
      entries_[hole] = entries_[parent];
      hole = parent;
    }
    entries_[hole] = entry;
  }

  /// Takes the least entry out. Only when not empty.
  Entry Pop() {
    const Entry least = entries_[0];
    const Entry last = entries_[--size_];
    size_t hole = 0;
    for (;;) {
      const size_t first = hole * 4 + 1;
      if (first >= size_) break;
      size_t child = first;
      const size_t end = first + 4 < size_ ? first + 4 : size_;
      for (size_t other = first + 1; other < end; ++other) {
        child = Less(entries_[other], entries_[child]) ? other : child;
      }
      if (!Less(entries_[child], last)) break;
      entries_[hole] = entries_[child];
      hole = child;
    }
    entries_[hole] = last;
    return least;
  }

  /// By time, then by rank; compared as one number of 128 bits, without a branch.
  static bool Less(const Entry& a, const Entry& b) {
    using Wide = unsigned __int128;
    return (static_cast<Wide>(a.time) << 64 | a.rank) < (static_cast<Wide>(b.time) << 64 | b.rank);
  }

 private:
  std::vector<Entry> entries_ = std::vector<Entry>(64);
  size_t size_ = 0;
};

}  // namespace emplace
