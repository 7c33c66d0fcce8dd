#pragma once

// `emplace stress` of a sweep. For each problem, the best placements of all its runs, of every
// agent and seed, are simulated together with the same draws of noise. The result shows whether a
// comparison of methods depends on the errors of estimated costs.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/stress/stress.h"

namespace emplace {

struct SweepStress {
  std::string title;                         ///< "nmt on 4xk80"
  std::vector<std::filesystem::path> files;  ///< results of its done runs
  StressResult result;                       ///< labels as in /agents of these files
};

/// Stresses every problem of the sweep and writes the same /stress to the files of all its done
/// runs. Problems without a fitting placement and damaged files are left out, with a warning.
/// @param folder   of the sweep; locked during the call
/// @param options  `progress` starts again for each problem
/// @param begin    called with the title of each problem before it is stressed
/// @throws InputError if no run is done or fits, if two runs of a problem have the same agent and
///   seed (and differ in another key), or if a graph, cluster or cost file has changed since
/// @throws RunError if options.stop returns true; results of finished problems stay in the files
std::vector<SweepStress> StressSweep(const std::filesystem::path& folder,
                                     const StressOptions& options,
                                     const std::function<void(const std::string& title)>& begin);

/// Returns Markdown: a row per problem with the result of its winner under noise.
std::string SweepStressMarkdown(const std::vector<SweepStress>& problems);

}  // namespace emplace
