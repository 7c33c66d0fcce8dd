#pragma once

// Datasets in chunks with shuffle and deflate, for hdf5_structure.h.

#include <cstdint>
#include <vector>

#include "framework/results/hdf5_fields.h"
#include "framework/results/hdf5_types.h"

namespace emplace::internal::hdf5 {

struct Filter {
  int id;
  std::uint64_t parameter;
};

/// The filters of a dataset. @param fields  the message of its object header
/// @throws Damage for those that emplace does not use
std::vector<Filter> TakeFilters(FieldReader fields);

/// Checks that every chunk of a dataset is there and unpacks to its size.
/// @param sizes   rows, columns
/// @param layout  the message of its object header, behind the storage that it names
/// @throws Damage, also if all would unpack to more than 2 GiB
void CheckChunks(ClaimedFile& file,
                 const ElementType& type,
                 const std::vector<std::uint64_t>& sizes,
                 const std::vector<Filter>& filters,
                 FieldReader layout);

}  // namespace emplace::internal::hdf5
