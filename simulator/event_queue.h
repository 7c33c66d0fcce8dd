#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/radix_sort.h"

namespace emplace {

/// Priority queue of keys, least first. Keys are unique, so the order of pushing never matters.
///
/// An implicit heap of four children per node: half as deep as a binary one, with the children of a
/// node beside one another in memory. A key's children are those at 4 i + 1 .. 4 i + 4. Holds its
/// memory between runs.
template <class Key>
class EventHeap {
 public:
  bool empty() const { return size_ == 0; }
  /// The least key. Only when not empty.
  Key top() const { return keys_[0]; }
  void clear() { size_ = 0; }

  void Push(Key key) {
    if (size_ == keys_.size()) keys_.resize(keys_.size() * 2 + 16);
    size_t hole = size_++;
    while (hole > 0) {
      const size_t parent = (hole - 1) / 4;
      if (!(key < keys_[parent])) break;
      keys_[hole] = keys_[parent];
      hole = parent;
    }
    keys_[hole] = key;
  }

  /// Takes the least key out. Only when not empty.
  Key Pop() {
    const Key least = keys_[0];
    const Key last = keys_[--size_];
    size_t hole = 0;
    for (;;) {
      const size_t first = hole * 4 + 1;
      if (first >= size_) break;
      size_t child = first;
      const size_t end = first + 4 < size_ ? first + 4 : size_;
      for (size_t other = first + 1; other < end; ++other) {
        child = keys_[other] < keys_[child] ? other : child;
      }
      if (!(keys_[child] < last)) break;
      keys_[hole] = keys_[child];
      hole = child;
    }
    keys_[hole] = last;
    return least;
  }

 private:
  std::vector<Key> keys_ = std::vector<Key>(64);
  size_t size_ = 0;
};

/// The part of an EventQueue that lies in memory. It is made for keys that mostly rise: those above
/// all that stood in the queue at some time are only collected, and sorted when their turn comes.
class EventBacklog {
 public:
  using Key = std::int64_t;
  static constexpr Key kNone = INT64_MAX;  ///< above every key

  /// Nothing but `sorted`, ascending keys; read until the next Reset().
  void Reset(std::span<const Key> sorted) {
    run_ = sorted;
    run_end_ = sorted.empty() ? -1 : sorted.back();
    below_.clear();
    num_later_ = 0;
  }
  [[gnu::noinline]] void Push(Key key) {
    if (key < run_end_) {
      below_.Push(key);
    } else {
      if (num_later_ == later_.size()) later_.resize(later_.size() * 2);
      later_[num_later_++] = key;
    }
  }
  /// The least key; kNone if there is none.
  Key Least() {
    if (run_.empty() && below_.empty()) {
      if (num_later_ == 0) return kNone;
      SortLater();
    }
    return std::min(run_.empty() ? kNone : run_[0], below_.empty() ? kNone : below_.top());
  }
  /// Takes some of the least keys out, at most `wanted`. @return how many: none if there is none
  int Take(int wanted, Key* keys) {
    if (Least() == kNone) return 0;
    if (below_.empty()) {
      const size_t taken = std::min(run_.size(), static_cast<size_t>(wanted));
      std::copy_n(run_.begin(), taken, keys);
      run_ = run_.subspan(taken);
      return static_cast<int>(taken);
    }
    int taken = 0;
    while (taken < wanted && !(run_.empty() && below_.empty())) {
      if (!run_.empty() && (below_.empty() || run_[0] < below_.top())) {
        keys[taken++] = run_[0];
        run_ = run_.subspan(1);
      } else {
        keys[taken++] = below_.Pop();
      }
    }
    return taken;
  }

 private:
  void SortLater() {
    sorted_.resize(later_.size());
    RadixSort(
        later_, sorted_, num_later_, 0, [](Key key) { return static_cast<std::uint64_t>(key); });
    later_.swap(sorted_);
    run_ = std::span(sorted_).first(num_later_);
    run_end_ = run_.back();
    num_later_ = 0;
  }

  std::span<const Key> run_;  // ascending
  Key run_end_ = -1;          // its last key, even if that has been taken out
  EventHeap<Key> below_;      // keys less than run_end_
  std::vector<Key> later_ = std::vector<Key>(64), sorted_;  // others, in any order
  size_t num_later_ = 0;
};

/// Priority queue of keys of 63 bits for runs in which few of them wait at a time: the least 16
/// stand sorted in two vector registers, where pushing and taking out are a few instructions
/// without a branch, the others in a backlog. To be a local variable of the loop that it serves.
///
/// No key of the registers is above `limit_`, the least key of the backlog: a key above it goes to
/// the backlog at once.
class EventQueue {
 public:
  using Key = EventBacklog::Key;
  static constexpr Key kNone = EventBacklog::kNone;
  using Backlog = EventBacklog;

  /// Holds what the backlog holds. @param backlog  outlives the queue, which alone changes it
  explicit EventQueue(EventBacklog& backlog) : backlog_(&backlog), limit_(backlog.Least()) {}

  /// @param key  less than kNone
  [[gnu::always_inline]] void Push(Key key) {
    if (key >= limit_) [[unlikely]] {
      backlog_->Push(key);
      return;
    }
    // Sorted insertion: what is less than the key stays, the others move up by one.
    const Key out = high_[7];
    const Keys all = Fill(key), lowest = Fill(INT64_MIN);
    const Keys low_lesser = low_ < all ? low_ : all, high_lesser = high_ < all ? high_ : all;
    const Keys low_shifted = __builtin_shufflevector(low_, lowest, 8, 0, 1, 2, 3, 4, 5, 6);
    const Keys high_shifted = __builtin_shufflevector(low_, high_, 7, 8, 9, 10, 11, 12, 13, 14);
    low_ = low_shifted > low_lesser ? low_shifted : low_lesser;
    high_ = high_shifted > high_lesser ? high_shifted : high_lesser;
    if (out != kNone) [[unlikely]] {
      limit_ = std::max(out, key);
      backlog_->Push(limit_);
    }
  }

  /// Takes the least key out; kNone if there is none.
  [[gnu::always_inline]] Key Pop() {
    if (low_[0] == kNone) [[unlikely]] {
      Key taken[16];
      limit_ = Take(*backlog_, taken);
      __builtin_memcpy(&low_, taken, sizeof low_);
      __builtin_memcpy(&high_, taken + 8, sizeof high_);
    }
    const Key least = low_[0];
    low_ = __builtin_shufflevector(low_, high_, 1, 2, 3, 4, 5, 6, 7, 8);
    high_ = __builtin_shufflevector(high_, Fill(kNone), 1, 2, 3, 4, 5, 6, 7, 8);
    return least;
  }

  /// Puts all keys into the backlog, for another queue. Ends the use of this one.
  void HandBack() {
    Key keys[16];
    __builtin_memcpy(keys, &low_, sizeof low_);
    __builtin_memcpy(keys + 8, &high_, sizeof high_);
    for (int i = 0; i < 16 && keys[i] != kNone; ++i) backlog_->Push(keys[i]);
  }

 private:
  typedef Key Keys __attribute__((vector_size(8 * sizeof(Key))));

  [[gnu::always_inline]] static Keys Fill(Key key) {
    return Keys{key, key, key, key, key, key, key, key};
  }
  // Fills 16 places. @return the least key left
  [[gnu::noinline]] static Key Take(EventBacklog& backlog, Key* taken) {
    std::fill(taken + backlog.Take(16, taken), taken + 16, kNone);
    return backlog.Least();
  }

  EventBacklog* backlog_;
  Key limit_;
  Keys low_ = Fill(kNone), high_ = Fill(kNone);
};

/// In EventQueue's place for keys of 127 bits: a heap that is its own backlog.
class WideEventQueue {
 public:
  using Key = __int128;
  static constexpr Key kNone = static_cast<Key>(~static_cast<unsigned __int128>(0) >> 1);
  class Backlog {
   public:
    void Reset(std::span<const EventBacklog::Key> sorted) {
      heap_.clear();
      for (const auto key : sorted) heap_.Push(key);
    }

   private:
    friend WideEventQueue;
    EventHeap<Key> heap_;
  };

  explicit WideEventQueue(Backlog& backlog) : heap_(&backlog.heap_) {}
  void Push(Key key) { heap_->Push(key); }
  Key Pop() { return heap_->empty() ? kNone : heap_->Pop(); }

 private:
  EventHeap<Key>* heap_;
};

}  // namespace emplace
