#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace emplace {

/// The part of an EventQueue that is in memory: keys that were known at first, and a radix heap.
/// The heap suits keys that mostly increase: a key moves only a few times from one bucket to
/// another, without a search.
///
/// Bucket b holds the keys whose highest bit that differs from `base_` is bit b (bucket 0 also the
/// base itself), in any order. So all keys of a bucket are below those of the next one. To remove
/// the least key, the first bucket is spread over the ones before it, with its least key as new
/// base.
class EventBacklog {
 public:
  using Key = std::int64_t;
  /// Above every key. Its bits are those of an infinite floating-point number (EventQueue::Less()).
  static constexpr Key kNone = 0x7ff0'0000'0000'0000;

  /// Replaces all keys by `sorted`.
  /// @param sorted  ascends and ends with kNone; read until the next Reset()
  void Reset(std::span<const Key> sorted) {
    sorted_ = sorted.data();
    for (; filled_ != 0; filled_ &= filled_ - 1) buckets_[std::countr_zero(filled_)].clear();
    base_ = 0;
  }
  [[gnu::noinline]] void Push(Key key) {
    if (key < base_) [[unlikely]]
      SetBase(key);
    Put(key);
  }
  /// Returns a number that no key of the heap is below; kNone if the heap is empty.
  Key Bound() const {
    if (filled_ == 0) return kNone;
    const int first = std::countr_zero(filled_);
    return first == 0 ? base_ : buckets_[first][0] >> first << first;
  }
  /// Removes the least keys of the heap and writes them in ascending order.
  /// @param room  the most keys to remove; at least 4
  /// @return the number of removed keys; 0 if and only if the heap is empty
  int Take(int room, Key* keys) {
    int taken = 0;
    while (taken < room && filled_ != 0) {
      const int first = std::countr_zero(filled_);
      std::vector<Key>& bucket = buckets_[first];
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
  friend class EventQueue;

  void Put(Key key) {
    const int bucket = std::bit_width(static_cast<std::uint64_t>(key ^ base_) | 1) - 1;
    buckets_[bucket].push_back(key);
    filled_ |= std::uint64_t{1} << bucket;
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

  static constexpr Key kEmpty[] = {kNone};
  const Key* sorted_ = kEmpty;  // ascending, up to kNone
  Key base_ = 0;                // at most every key in a bucket
  std::uint64_t filled_ = 0;    // bit b: bucket b is not empty
  std::array<std::vector<Key>, 64> buckets_;
  std::vector<Key> spare_;
};

/// Priority queue of 62-bit keys for runs in which few keys wait at a time. The 16 least keys are
/// sorted in vector registers (two of AVX-512 or four of AVX2), where insertion and removal take a
/// few instructions without a branch; the others are in a backlog. It should be a local variable of
/// the loop that uses it.
///
/// No key in the registers is above `limit_`, and no key in the backlog's heap is below it. A key
/// that is not below it is added to the heap directly.
class EventQueue {
 public:
  using Key = EventBacklog::Key;
  static constexpr Key kNone = EventBacklog::kNone;
  static constexpr int kKeyBits = 62;
  using Backlog = EventBacklog;

  /// Begins with the keys of the backlog. @param backlog  outlives the queue, which alone changes
  /// it
  [[gnu::always_inline]] explicit EventQueue(EventBacklog& backlog)
      : backlog_(&backlog), sorted_(backlog.sorted_), next_(*sorted_), limit_(backlog.Bound()) {
    ForRegisters([&](auto r) __attribute__((always_inline)) { keys_[r] = Fill(kNone); });
  }

  /// @param key  of which the lowest 62 bits count
  [[gnu::always_inline]] void Push(Key key) {
    key &= (Key{1} << kKeyBits) - 1;
    if (key >= limit_) [[unlikely]] {
      backlog_->Push(key);
      return;
    }
    // Sorted insertion: smaller keys stay, the others move up by one place.
    const Key out = keys_[kRegisters - 1][kLanes - 1];
    const Keys all = Fill(key);
    ForRegisters([&](auto i) __attribute__((always_inline)) {
      constexpr int r = kRegisters - 1 - i;
      Keys below = Fill(0);
      if constexpr (r > 0) below = keys_[r - 1];
      keys_[r] = Greater(LastThen(below, keys_[r]), Less(keys_[r], all));
    });
    if (out != kNone) [[unlikely]] {
      limit_ = std::max(out, key);
      backlog_->Push(limit_);
    }
  }

  /// Removes and returns the least key; kNone if there is none.
  [[gnu::always_inline]] Key Pop() {
    if (keys_[0][0] >= next_) [[unlikely]] {
      if (limit_ != kNone && keys_[0][0] == kNone) {
        Keys taken[kRegisters];
        limit_ = Take(*backlog_, taken);
        ForRegisters([&](auto r) __attribute__((always_inline)) { keys_[r] = taken[r]; });
      }
      if (keys_[0][0] >= next_) {
        const Key least = next_;
        sorted_ += least != kNone;
        next_ = *sorted_;
        return least;
      }
    }
    const Key least = keys_[0][0];
    ForRegisters([&](auto r) __attribute__((always_inline)) {
      Keys above = Fill(kNone);
      if constexpr (r + 1 < kRegisters) above = keys_[r + 1];
      keys_[r] = ButFirst(keys_[r], above);
    });
    return least;
  }

  /// Moves all keys to the backlog, for another queue. This queue must not be used afterwards.
  [[gnu::always_inline]] void HandBack() {
    backlog_->sorted_ = sorted_;
    ForRegisters([&](auto r) __attribute__((always_inline)) { PushAll(*backlog_, keys_[r]); });
  }

 private:
#ifdef __AVX512F__
  static constexpr int kLanes = 8;
#else
  static constexpr int kLanes = 4;  // compilers split wider vectors into scalars
#endif
  static constexpr int kSize = 16, kRegisters = kSize / kLanes;
  typedef Key Keys __attribute__((vector_size(kLanes * sizeof(Key))));

  // Calls step(r) for each register, with a constant r: a register of variable index would be in
  // memory.
  template <class Step>
  [[gnu::always_inline]] static void ForRegisters(const Step& step) {
    [&]<int... r>(std::integer_sequence<int, r...>) __attribute__((always_inline)) {
      (step(std::integral_constant<int, r>()), ...);
    }
    (std::make_integer_sequence<int, kRegisters>());
  }

  [[gnu::always_inline]] static Keys Fill(Key key) {
    return key - Keys{};
  }
  // Returns the lesser keys, place by place. Positive numbers are ordered as floating-point numbers
  // of the same bits are, for which AVX has the instruction.
  [[gnu::always_inline]] static Keys Less(Keys x, Keys y) {
#if defined(__AVX__) && !defined(__AVX512F__)
    return (Keys)_mm256_min_pd((__m256d)x, (__m256d)y);
#else
    return x < y ? x : y;
#endif
  }
  // Returns the greater keys, place by place.
  [[gnu::always_inline]] static Keys Greater(Keys x, Keys y) {
#if defined(__AVX__) && !defined(__AVX512F__)
    return (Keys)_mm256_max_pd((__m256d)x, (__m256d)y);
#else
    return x > y ? x : y;
#endif
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
  // Fills all registers. @return Bound() of the remaining keys
  [[gnu::noinline]] static Key Take(EventBacklog& backlog, Keys* registers) {
    Key taken[kSize];
    std::fill(taken + backlog.Take(kSize, taken), taken + kSize, kNone);
    __builtin_memcpy(registers, taken, sizeof taken);
    return backlog.Bound();
  }
  // Adds the keys before the first kNone to the heap.
  [[gnu::noinline]] static void PushAll(EventBacklog& backlog, Keys keys) {
    for (int i = 0; i < kLanes && keys[i] != kNone; ++i) backlog.Push(keys[i]);
  }

  EventBacklog* backlog_;
  const Key* sorted_;  // the backlog's, from `next_` on
  Key next_;           // the least of them
  Key limit_;
  Keys keys_[kRegisters];  // ascending, followed by kNone
};

/// Replaces EventQueue for keys of 127 bits: a heap that is its own backlog.
class WideEventQueue {
 public:
  using Key = __int128;
  static constexpr int kKeyBits = 127;
  static constexpr Key kNone = static_cast<Key>(~static_cast<unsigned __int128>(0) >> 1);
  class Backlog {
   public:
    void Reset(std::span<const EventBacklog::Key> sorted) {
      keys_.assign(sorted.begin(), sorted.end() - 1);  // ascending keys are a heap
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
