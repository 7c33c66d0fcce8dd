#pragma once

// `emplace stress` of a sweep: for each problem, the best placements of all its runs, of every
// agent and seed, simulated together, so that all of them see the same draws of noise. That tells
// whether a comparison of methods depends on costs that are only estimates.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/stress/stress.h"

namespace emplace {

/// One problem of a sweep.
struct SweepStress {
  std::string title;                         ///< "nmt on 4xk80"
  std::vector<std::filesystem::path> files;  ///< results of its runs that are done
  StressResult result;                       ///< labels as in /agents of these files
};

/// Stresses every problem of the sweep and writes the same /stress into the files of all its runs
/// that are done. Problems of which no placement fits are left out, with a warning; files that are
/// damaged, too.
/// @param folder   of the sweep; locked meanwhile
/// @param options  `progress` is told of each problem anew
/// @param begin    called with the title of each problem before it is stressed
/// @throws InputError if no run is done or fits, if two runs of a problem have the same agent and
///   seed (they differ in another key), or if a graph, cluster or cost file has changed since
/// @throws RunError if options.stop says so; problems that are done stay written
std::vector<SweepStress> StressSweep(const std::filesystem::path& folder,
                                     const StressOptions& options,
                                     const std::function<void(const std::string& title)>& begin);

/// Markdown: a row per problem, what became of its winner under noise.
std::string SweepStressMarkdown(const std::vector<SweepStress>& problems);

}  // namespace emplace
