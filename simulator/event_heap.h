#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Priority queue of the Q semantics: least (time, rank) first. A 4-ary implicit heap over 16-byte
/// entries; ranks are unique, so the order is total. Holds its memory between runs.
class EventHeap {
 public:
  struct Entry {
    Nanos time;
    std::uint64_t rank;
  };

  bool empty() const { return size_ == 0; }
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

  static bool Less(const Entry& a, const Entry& b) {
    using Wide = unsigned __int128;
    return (static_cast<Wide>(a.time) << 64 | a.rank) < (static_cast<Wide>(b.time) << 64 | b.rank);
  }

 private:
  std::vector<Entry> entries_ = std::vector<Entry>(64);
  size_t size_ = 0;
};

}  // namespace emplace
