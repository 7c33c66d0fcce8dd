#pragma once

// The process that reads a results file with HDF5 (reading_process.h): HDF5 1.10 trusts most
// addresses, sizes and indices that it finds in a file, and a damaged file ends the process or
// keeps it busy for ever. Internal to framework/results.

#include <memory>
#include <string>

#include "framework/results/reading_process.h"

namespace emplace::internal {

/// Starts the process that answers questions about an HDF5 file, in the form of results_wire.h:
///   ""      std::vector<StoredObject>: all groups and datasets, each after its group, and first
///   "/" a path  StoredValues of the dataset
/// @param name   of the file, for messages
/// @param image  the file, of which the process has a copy
/// @throws RunError
std::unique_ptr<ReadingProcess> StartResultsServer(const std::string& name,
                                                   const std::string& image);

}  // namespace emplace::internal
