#pragma once

// Global heaps, which hold the texts of variable length, for hdf5_structure.h.

#include <cstdint>
#include <map>

#include "framework/results/hdf5_fields.h"
#include "framework/results/hdf5_types.h"

namespace emplace::internal::hdf5 {

class GlobalHeaps {
 public:
  /// @param file  must outlive this
  explicit GlobalHeaps(ClaimedFile& file) : file_(file) {}

  /// Checks the texts of an attribute or dataset: each is in its heap with its length and no
  /// other's, or a short list would be one long text a million times. Nothing for other types.
  /// @param values  `count` references into heaps
  /// @throws Damage
  void CheckTexts(const ElementType& type, std::uint64_t count, FieldReader values);

 private:
  struct Text {
    std::uint64_t length;   // [B]
    bool is_taken = false;  // by an attribute or dataset
  };

  // The texts in a heap by their indices.
  std::map<std::uint64_t, Text>& TextsOf(Address address);

  ClaimedFile& file_;
  std::map<Address, std::map<std::uint64_t, Text>> heaps_;
};

}  // namespace emplace::internal::hdf5
