#pragma once

// Types and dimensions of attributes and datasets, for hdf5_structure.h: those that emplace writes.

#include <cstdint>
#include <vector>

#include "framework/results/hdf5_fields.h"

namespace emplace::internal::hdf5 {

/// One value of an attribute or dataset.
struct ElementType {
  enum class Kind : std::uint8_t { kPlain, kText, kTable };  ///< kText: of variable length
  Kind kind = Kind::kPlain;
  std::uint64_t size = 0;  ///< [B], never 0
};

/// @throws Damage for a type that emplace does not write
ElementType TakeType(FieldReader& fields);

/// Numbers of rows, columns, ...; none for a single value. @throws Damage
std::vector<std::uint64_t> TakeDimensions(FieldReader& fields);

/// The product, at most 2^48: more values lie in no file. @throws Damage for a larger one
std::uint64_t Product(const std::vector<std::uint64_t>& factors, const FieldReader& fields);

}  // namespace emplace::internal::hdf5
