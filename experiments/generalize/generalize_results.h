#pragma once

// The generalisation experiment in HDF5 (layout: framework/results/results_file.h) and as a table.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/generalize/generalize_run.h"
#include "framework/results/results_file.h"

namespace emplace {

/// What is known of one family.
struct FamilyResults {
  std::vector<std::string> graphs;  ///< names of the unseen graphs
  std::vector<Training> trainings;  ///< one per policy and seed; some not begun
  std::vector<Test> tests;
  std::vector<std::string> failures;  ///< of trainings and tests; --resume tries them again

  /// The one whose policy a method uses with this seed; nullptr if it uses none.
  const Training* FindTraining(const GeneralizePlan& plan,
                               const TestPlan& method,
                               std::uint64_t seed) const;
};

/// Root and /config.
void WriteGeneralizeHeader(ResultsFile& file, const GeneralizePlan& plan);

/// /families/<family>: its graphs and methods.
void WriteFamily(ResultsFile& file, const GeneralizePlan& plan, const Family& family);

/// /families/<family>/training/<label>, in the place of an earlier part of the same training.
void WriteTraining(ResultsFile& file,
                   const FamilyPlan& family,
                   const TrainPlan& plan,
                   const Training& training);

/// /families/<family>/tests and failures, in the place of earlier ones.
void WriteTests(ResultsFile& file, const FamilyPlan& family, const FamilyResults& results);

/// What an earlier, stopped or killed, part of the same experiment has done; by family.
/// @throws InputError if it was made with another config, other settings or graphs, or holds a
/// checkpoint that its trainer refuses
std::vector<FamilyResults> ReadEarlierFamilies(const std::filesystem::path& path,
                                               const GeneralizePlan& plan,
                                               const std::vector<Family>& families);

/// One row per method: final and best step time over the best known of each graph, as the 10 %,
/// 50 % and 90 % quantiles over graphs and seeds; evaluations and seconds of a test. Then one line
/// per failure.
std::string FormatFamily(const GeneralizePlan& plan,
                         const FamilyPlan& family,
                         const FamilyResults& results);

/// Linear interpolation between the sorted values; NaN counts as infinite. @param share  0 .. 1
double Quantile(std::vector<double> values, double share);

}  // namespace emplace
