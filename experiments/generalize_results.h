#pragma once

// The generalisation experiment in HDF5 (layout: framework/results/results_file.h) and as a table.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/generalize_run.h"
#include "framework/results/results_file.h"

namespace emplace {

/// What is known of one family.
struct FamilyResults {
  std::vector<std::string> graphs;  ///< names of the unseen graphs
  std::vector<Training> trainings;  ///< complete or stopped
  std::vector<Test> tests;
};

/// Root and /config. @param yaml  resolved config
void WriteGeneralizeHeader(ResultsFile& file, const GeneralizePlan& plan);

/// /families/<family>, in the place of what is there.
void WriteFamily(ResultsFile& file,
                 const GeneralizePlan& plan,
                 const FamilyPlan& family,
                 const FamilyResults& results);

/// What an earlier, stopped or killed, part of the same experiment has done; by family.
/// @throws InputError if it was made with another config or other graphs
std::vector<FamilyResults> ReadEarlierFamilies(const std::filesystem::path& path,
                                               const GeneralizePlan& plan,
                                               const std::vector<Family>& families);

/// One row per method: final and best step time over the best known of each graph, as the 10 %, 50
/// % and 90 % quantiles over graphs and seeds; evaluations and seconds of a test.
std::string FormatFamily(const GeneralizePlan& plan,
                         const FamilyPlan& family,
                         const FamilyResults& results);

/// Linear interpolation between the sorted values; NaN counts as infinite. @param share  0 .. 1
double Quantile(std::vector<double> values, double share);

}  // namespace emplace
