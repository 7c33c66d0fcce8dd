#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace emplace {

/// The part of an EventQueue that is in memory: a radix heap. It suits keys that mostly increase: a
/// key moves only a few times from one bucket to another, without a search.
///
/// Bucket b holds the keys whose highest bit that differs from `base_` is bit b (bucket 0 also the
/// base itself), in any order. So all keys of a bucket are below those of the next one. To remove
/// the least key, the first bucket is spread over the ones before it, with its least key as new
/// base.
class EventBacklog {
 public:
  using Key = std::int64_t;
  static constexpr Key kNone = INT64_MAX;  ///< above every key

  /// Replaces all keys by `sorted`, which ascends and is read until the next Reset().
  void Reset(std::span<const Key> sorted) {
    sorted_ = sorted;
    for (; filled_ != 0; filled_ &= filled_ - 1) buckets_[std::countr_zero(filled_)].clear();
    base_ = sorted.empty() ? 0 : sorted[0];
  }
  [[gnu::noinline]] void Push(Key key) {
    if (key < base_) [[unlikely]]
      SetBase(key);
    Put(key);
  }
  /// Returns a lower bound of all keys; kNone if there is no key.
  [[gnu::noinline]] Key Bound() const {
    return std::min(sorted_.empty() ? kNone : sorted_[0], LeastOfBuckets());
  }
  /// Removes some of the least keys, in ascending order, at most `room` >= 4. @return their number,
  /// 0 only if there is no key
  int Take(int room, Key* keys) {
    int taken = 0;
    while (taken < room) {
      const Key bound = LeastOfBuckets();
      for (; taken < room && !sorted_.empty() && sorted_[0] < bound; sorted_ = sorted_.subspan(1)) {
        keys[taken++] = sorted_[0];
      }
      if (taken == room || filled_ == 0) break;
      const int first = std::countr_zero(filled_);
      std::vector<Key>& bucket = buckets_[first];
      const Key last = bucket[0] | static_cast<Key>((std::uint64_t{1} << first) - 1);
      for (; !sorted_.empty() && sorted_[0] <= last; sorted_ = sorted_.subspan(1)) {
        bucket.push_back(sorted_[0]);
      }
      if (static_cast<int>(bucket.size()) <= room - taken) {
        std::copy(bucket.begin(), bucket.end(), keys + taken);
        std::sort(keys + taken, keys + taken + bucket.size());
        taken += static_cast<int>(bucket.size());
      } else if (taken < room / 2) {
        base_ = *std::min_element(bucket.begin(), bucket.end());
        for (const Key key : bucket) Put(key);
      } else {
        break;
      }
      bucket.clear();
      filled_ &= ~(std::uint64_t{1} << first);
    }
    return taken;
  }

 private:
  void Put(Key key) {
    const int bucket = std::bit_width(static_cast<std::uint64_t>(key ^ base_) | 1) - 1;
    buckets_[bucket].push_back(key);
    filled_ |= std::uint64_t{1} << bucket;
  }
  // Returns Bound() of the keys in buckets.
  Key LeastOfBuckets() const {
    if (filled_ == 0) return kNone;
    const int first = std::countr_zero(filled_);
    return first == 0 ? base_ : buckets_[first][0] >> first << first;
  }
  // Lowers the base to `key`.
  [[gnu::noinline]] void SetBase(Key key) {
    spare_.clear();
    for (; filled_ != 0; filled_ &= filled_ - 1) {
      std::vector<Key>& bucket = buckets_[std::countr_zero(filled_)];
      spare_.insert(spare_.end(), bucket.begin(), bucket.end());
      bucket.clear();
    }
    base_ = key;
    for (const Key other : spare_) Put(other);
  }

  std::span<const Key> sorted_;  // ascending
  Key base_ = 0;                 // at most every key in a bucket
  std::uint64_t filled_ = 0;     // bit b: bucket b is not empty
  std::array<std::vector<Key>, 64> buckets_;
  std::vector<Key> spare_;
};

/// Priority queue of 63-bit keys for runs in which few keys wait at a time. The 16 least keys are
/// sorted in vector registers (two of AVX-512 or four of AVX2), where insertion and removal take a
/// few instructions without a branch; the others are in a backlog. It should be a local variable of
/// the loop that uses it.
///
/// No key in the registers is above `limit_`, and no key in the backlog is below it. A key that is
/// not below it is added to the backlog directly.
class EventQueue {
 public:
  using Key = EventBacklog::Key;
  static constexpr Key kNone = EventBacklog::kNone;
  using Backlog = EventBacklog;

  /// Begins with the keys of the backlog. @param backlog  outlives the queue, which alone changes
  /// it
  explicit EventQueue(EventBacklog& backlog) : backlog_(&backlog), limit_(backlog.Bound()) {
    std::fill(keys_, keys_ + kRegisters, Fill(kNone));
  }

  /// @param key  less than kNone
  [[gnu::always_inline]] void Push(Key key) {
    if (key >= limit_) [[unlikely]] {
      backlog_->Push(key);
      return;
    }
    // Sorted insertion: smaller keys stay, the others move up by one place.
    const Key out = keys_[kRegisters - 1][kLanes - 1];
    const Keys all = Fill(key);
    for (int r = kRegisters - 1; r >= 0; --r) {
      const Keys below = r > 0 ? keys_[r - 1] : Fill(INT64_MIN);
      const Keys lesser = keys_[r] < all ? keys_[r] : all;
      const Keys shifted = LastThen(below, keys_[r]);
      keys_[r] = shifted > lesser ? shifted : lesser;
    }
    if (out != kNone) [[unlikely]] {
      limit_ = std::max(out, key);
      backlog_->Push(limit_);
    }
  }

  /// Removes and returns the least key; kNone if there is none.
  [[gnu::always_inline]] Key Pop() {
    if (keys_[0][0] == kNone) [[unlikely]] {
      Key taken[kSize];
      limit_ = Take(*backlog_, taken);
      __builtin_memcpy(keys_, taken, sizeof keys_);
    }
    const Key least = keys_[0][0];
    for (int r = 0; r < kRegisters; ++r) {
      const Keys above = r + 1 < kRegisters ? keys_[r + 1] : Fill(kNone);
      keys_[r] = ButFirst(keys_[r], above);
    }
    return least;
  }

  /// Moves all keys to the backlog, for another queue. This queue must not be used afterwards.
  [[gnu::noinline]] void HandBack() {
    Key keys[kSize];
    __builtin_memcpy(keys, keys_, sizeof keys_);
    for (int i = 0; i < kSize && keys[i] != kNone; ++i) backlog_->Push(keys[i]);
  }

 private:
#ifdef __AVX512F__
  static constexpr int kLanes = 8;
#else
  static constexpr int kLanes = 4;  // compilers split wider vectors into scalars
#endif
  static constexpr int kSize = 16, kRegisters = kSize / kLanes;
  typedef Key Keys __attribute__((vector_size(kLanes * sizeof(Key))));

  [[gnu::always_inline]] static Keys Fill(Key key) {
    return key - Keys{};
  }
  // Returns the last key of `low`, followed by all keys of `high` but the last.
  [[gnu::always_inline]] static Keys LastThen(Keys low, Keys high) {
#ifdef __AVX512F__
    return __builtin_shufflevector(low, high, 7, 8, 9, 10, 11, 12, 13, 14);
#else
    return __builtin_shufflevector(low, high, 3, 4, 5, 6);
#endif
  }
  // Returns all keys of `low` but the first, followed by the first key of `high`.
  [[gnu::always_inline]] static Keys ButFirst(Keys low, Keys high) {
#ifdef __AVX512F__
    return __builtin_shufflevector(low, high, 1, 2, 3, 4, 5, 6, 7, 8);
#else
    return __builtin_shufflevector(low, high, 1, 2, 3, 4);
#endif
  }
  // Fills kSize places. @return Bound() of the remaining keys
  [[gnu::noinline]] static Key Take(EventBacklog& backlog, Key* taken) {
    std::fill(taken + backlog.Take(kSize, taken), taken + kSize, kNone);
    return backlog.Bound();
  }

  EventBacklog* backlog_;
  Key limit_;
  Keys keys_[kRegisters];  // ascending, followed by kNone
};

/// Replaces EventQueue for keys of 127 bits: a heap that is its own backlog.
class WideEventQueue {
 public:
  using Key = __int128;
  static constexpr Key kNone = static_cast<Key>(~static_cast<unsigned __int128>(0) >> 1);
  class Backlog {
   public:
    void Reset(std::span<const EventBacklog::Key> sorted) {
      keys_.assign(sorted.begin(), sorted.end());  // ascending keys are a heap
    }

   private:
    friend WideEventQueue;
    std::vector<Key> keys_;
  };

  explicit WideEventQueue(Backlog& backlog) : keys_(&backlog.keys_) {}
  void Push(Key key) {
    keys_->push_back(key);
    std::push_heap(keys_->begin(), keys_->end(), std::greater<>());
  }
  Key Pop() {
    if (keys_->empty()) return kNone;
    std::pop_heap(keys_->begin(), keys_->end(), std::greater<>());
    const Key least = keys_->back();
    keys_->pop_back();
    return least;
  }

 private:
  std::vector<Key>* keys_;
};

}  // namespace emplace
